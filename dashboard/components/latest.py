"""The newest values of one node, looked up by metric and labels, and shown with their unit or their reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from telemetry import formatting
from telemetry.model import Metric, Ratio, Unit

Entry = Mapping[str, Any]


def labels_of(entry: Entry) -> dict[str, str]:
    """Labels of a value beside the name of its target."""
    return {key: value for key, value in entry["labels"].items() if key != "target"}


class Latest:
    """Values as /api/v1/latest tells them: [{metric, unit, labels, t, v, state, reason}]."""

    def __init__(self, values: Sequence[Entry]) -> None:
        self._by_metric: dict[str, list[Entry]] = {}
        for entry in values:
            self._by_metric.setdefault(entry["metric"], []).append(entry)

    def __iter__(self) -> Iterator[Entry]:
        for entries in self._by_metric.values():
            yield from entries

    def all(self, metric: Metric | Ratio, **labels: str) -> list[Entry]:
        """Values of a metric whose labels include these; also the one that says why there is none."""
        found = self._by_metric.get(metric.name, [])
        return [entry for entry in found if all(entry["labels"].get(key) == value for key, value in labels.items())]

    def value(self, metric: Metric | Ratio, **labels: str) -> float | None:
        """Sum of the values with these labels; None when one of them, or all, are not known."""
        values = [entry["v"] for entry in self.all(metric, **labels)]
        return None if not values or None in values else float(sum(values))

    def why_not(self, metric: Metric | Ratio) -> str:
        """Why none of a metric's values is known; "" where one is, or nothing is told of it."""
        found = self.all(metric)
        return "" if any(entry["v"] is not None for entry in found) else next((one["reason"] for one in found), "")

    def shown(self, metric: Metric | Ratio, **labels: str) -> Component:
        """The first value with these labels, or a dash with the reason."""
        found = self.all(metric, **labels) or [entry for entry in self.all(metric) if not labels_of(entry)]
        return shown(found[0]) if found else unknown("not offered")


def shown(entry: Entry) -> Component:
    """Number and unit of a value, with its state; the reason as a title where it is not known."""
    if "text" in entry:
        number, unit = entry["text"], ""
    else:
        number, unit = formatting.show(entry["v"], Unit(entry["unit"]))
    return value_cell(number, unit, entry["state"], entry["reason"])


def unknown(reason: str) -> Component:
    """A dash with its reason."""
    return value_cell(formatting.UNKNOWN_TEXT, "", "unknown", reason)


def value_cell(number: str, unit: str, state: str = "ok", reason: str = "") -> Component:
    """A cell with its text in it, looking like the live ones."""
    return html.Span(
        [html.B(number), html.I(formatting.beside(unit))],
        className="cell",
        **{"data-state": state, **({"title": reason} if reason else {})},
    )


def number_cell(value: float | None, unit: Unit, reason: str = "not known") -> Component:
    """A cell of a value in its base unit."""
    number, unit_text = formatting.show(value, unit)
    known = number != formatting.UNKNOWN_TEXT
    return value_cell(number, unit_text, "ok" if known else "unknown", "" if known else reason)
