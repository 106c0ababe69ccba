"""A comparison as rows of text: one row per number of a run, with what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

HEAD = (
    "section",
    "key",
    "label",
    "of",
    "run",
    "name",
    "unit",
    "value",
    "difference",
    "low",
    "high",
    "smallest",
    "word",
    "text",
)
"""value in the unit's base; difference, low, high and smallest as shares of the first run's value. Unknown is empty."""


def rows(found: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    """The head, then verdicts, numbers, nodes, fingerprint, roofline and references."""
    names = {run["id"]: run["name"] for run in found["runs"]}
    yield HEAD
    for one in _cells(found):
        told = {"name": names.get(one.get("run"), ""), **one}
        yield [_text(told.get(key)) for key in HEAD]


def _text(value: Any) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _cells(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in found["verdicts"]:
        told = {name: one[name] for name in ("run", "label", "unit", "difference", "low", "high", "smallest", "word")}
        yield {"section": "verdict", "key": one["measure"], **told, "value": one["values"][1], "text": one["text"]}
    for section in ("table", "nodes"):
        for line in found[section]:
            yield from _line(section, line, found["runs"])
    for field in found["fingerprint"]:
        for run, value in zip(found["runs"], field["values"], strict=True):
            told = {"key": field["key"], "label": field["label"], "unit": field["unit"], "text": value}
            yield {"section": "fingerprint", "run": run["id"], **told}
    for one in found["roofline"]:
        told = {"key": "share", "label": "Share of the roofline", "unit": "ratio"}
        yield {"section": "roofline", "run": one["run"], **told, "value": one["share"], "text": one["why"]}
    for one in found["references"]:
        yield from _reference(one)


def _line(section: str, line: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    told = {"section": section, **{name: line[name] for name in ("key", "label", "of", "unit")}}
    for run, value, difference, note in zip(runs, line["values"], line["differences"], line["notes"], strict=True):
        yield {**told, "run": run["id"], "value": value, "difference": difference, "text": note}


def _reference(one: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("decode", "peak", "prefill"):
        if one[key] is not None:
            low, high = one[key]
            told = {"key": key, "name": one["name"], "unit": "tokens_per_second", "low": low, "high": high}
            yield {"section": "reference", **told, "text": f"{one['source']}; {one['caveat']}"}
