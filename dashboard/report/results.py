"""Benchmarks in a report: a client's numbers beside the engine's, and what only the client knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.report.tags import Entry, Html, cell, inner, shown, table, tag
from dashboard.report.times import instant
from exchange.benchmarks.beside import apart
from exchange.benchmarks.record import APART

LEFT_OUT = ("_std", "_median")
"""Ends the keys of numbers that are kept, and would only make the page long."""
LEVELS = ("_p50", "_p95", "_p99")
BUCKETS = "Percentiles of the engine lie somewhere in a bucket of its histogram."


def result(one: Mapping[str, Any]) -> Html:
    """All of one result."""
    said = " ".join(part for part in (one["tool"], one["version"]) if part)
    where = one["overlay"]["how"] if one["overlay"] is not None else APART
    when = "".join(f"; {told}" for told in [minutes(one)] if told)
    head = inner(tag("h3", said), tag("p", f"{one['file'] or 'imported'}: {where}{when}", class_="note"))
    parts = [_beside(one["beside"])] if one["beside"] else []
    rest = [entry for entry in one["rest"] if not entry["key"].endswith(LEFT_OUT)]
    tests = [entry for entry in rest if entry.get("of")]
    parts += [_tests(tests)] if tests else []
    parts += [_few("Only the client tells", [(entry["label"], shown(entry)) for entry in rest if not entry.get("of")])]
    parts += [_few("How it was measured", [(name, inner(text)) for name, text in sorted(one["protocol"].items())])]
    return tag("div", head, *parts, class_="beside")


def minutes(one: Mapping[str, Any]) -> str:
    """Of when the engine's numbers beside are; "" where there are none."""
    if one.get("engine") is None or all(pair["server"] is None for pair in one["beside"]):
        return ""
    start, end = instant(one["engine"]["start"]), instant(one["engine"]["end"])
    return f"the engine's numbers are of {one['engine']['of']}, {start} to {end}"


def _beside(pairs: Sequence[Mapping[str, Any]]) -> Html:
    rows, before = [], ""
    for pair in pairs:
        detail = pair["client"]["key"].endswith(LEVELS)
        rows.append(
            tag(
                "tr",
                tag("th", pair["label"], scope="row"),
                cell("", pair["client"]),
                cell("", pair["server"]),
                tag("td", apart(pair["difference"]), class_="number"),
                tag("td", "" if detail or pair["note"] == before else pair["note"], class_="note why-apart"),
                class_="detail" if detail else None,
            )
        )
        before = before if detail else pair["note"]
    return inner(
        table(("", "Client", "Engine", "Apart", "Why they differ"), rows, class_="both"),
        tag("p", BUCKETS, class_="note"),
    )


def _tests(entries: Sequence[Entry]) -> Html:
    """Results of single tests: a row per test and number."""
    rows = [
        tag(
            "tr",
            tag("th", entry["of"], scope="row"),
            tag("td", entry["label"]),
            cell("", entry),
            tag("td", entry.get("note", ""), class_="note"),
        )
        for entry in entries
    ]
    return table(("Test", "", "Mean", "Spread"), rows, class_="tests")


def _few(title: str, pairs: Sequence[tuple[str, Html]]) -> Html:
    """A few values in one paragraph."""
    if not pairs:
        return Html("")
    said = [tag("span", f"{name}\u00a0", tag("b", value)) for name, value in pairs]
    return tag("div", tag("span", title, class_="label"), tag("div", *said, class_="many"), class_="few")
