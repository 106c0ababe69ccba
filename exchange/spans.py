"""Times in a bundle: each an instant that a run can have, and everything of the run where the run is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runs.bounds import BESIDE_MS, DAY_MS, EARLIEST_MS, LATEST_MS, LONGEST_MS


def instant(value: Any, name: str) -> int:
    """Epoch milliseconds up to `LATEST_MS`; ValueError with a sentence for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LATEST_MS:
        raise ValueError(f"“{name}” is expected to be an instant, a whole number of milliseconds since 1970")
    return value


def span(data: Mapping[str, Any], what: str) -> tuple[int, int]:
    """“start” and “end” of something as long as a run may be; ValueError with a sentence for what cannot be."""
    start, end = (instant(data.get(name), name) for name in ("start", "end"))
    if end < start:
        raise ValueError(f"{what} ends before it begins")
    if start < EARLIEST_MS:
        raise ValueError(f"{what} begins before 2015")
    if end - start > LONGEST_MS:
        raise ValueError(f"{what} is longer than a run can be ({LONGEST_MS // DAY_MS} days)")
    return start, end


def within(about: Mapping[str, Any], parts: Mapping[str, Any], marks: Iterable[int]) -> None:
    """ValueError with a sentence where something of a run lies outside of it, or its charts do not touch it."""
    summary, events = parts["summary"], parts["events"]
    _inside(about, "summary", [summary["start"], summary["end"]])
    _inside(about, "trim_start", [about["trim_start"]])
    _inside(about, "trim_end", [about["trim_end"]])
    _inside(about, "marks", marks)
    _inside(about, "events", [one["t"] for one in events])
    _inside(about, "alerts", [one["t"] for one in parts.get("alerts", ())])
    charts = parts.get("charts")
    if charts is None or not charts["series"]:
        return
    length = charts["step_ms"] * len(charts["series"][0]["v"])
    apart = charts["start"] > about["end"] + BESIDE_MS or charts["start"] + length < about["start"] - BESIDE_MS
    if apart or length > LONGEST_MS + charts["step_ms"]:
        raise ValueError("“charts” are not of the run's time")


def _inside(about: Mapping[str, Any], name: str, instants: Iterable[int | None]) -> None:
    low, high = about["start"] - BESIDE_MS, about["end"] + BESIDE_MS
    if not all(one is None or low <= one <= high for one in instants):
        raise ValueError(f"“{name}” has a time outside of the run")
