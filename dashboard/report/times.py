"""Times of a report: the day and hour in UTC, which it names, and what passed since the run's start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from runs.bounds import LATEST_MS

STEPS_S = (10, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400, 604_800)
MOST_LABELS = 8


def instant(ms: int) -> str:
    """2026-11-30 02:45:13 UTC."""
    return f"{_moment(ms):%Y-%m-%d %H:%M:%S} UTC"


def iso(ms: int) -> str:
    """For machines."""
    return _moment(ms).isoformat(timespec="milliseconds")


def _moment(ms: int) -> datetime:
    """Of an instant that a calendar has: what lies beyond comes from a store that lies."""
    return datetime.fromtimestamp(min(ms, LATEST_MS) / 1000, UTC)


def stretch(run: Mapping[str, Any], written_ms: int) -> tuple[int, int]:
    """Begin and end of what a run's numbers are of; the end of one that goes on is when this is written."""
    start, end = run["stretch"]
    return start, max(start, written_ms) if end is None else end


def whole(run: Mapping[str, Any]) -> str:
    """From when to when a run was of which that is only a part; "" where it is all of it."""
    start, end = run["start"], run["end"]
    if run["stretch"] == [start, end]:
        return ""
    until = "and goes on" if end is None else f"to {instant(end)}"
    return f"trimmed, the whole run is from {instant(start)} {until}"


def since(ms: float) -> str:
    """Passed time as a clock.

    >>> since(0), since(754_000), since(5_400_000)
    ('00:00:00', '00:12:34', '01:30:00')
    """
    seconds = int(ms // 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def short(seconds: int) -> str:
    """A label of an axis.

    >>> short(0), short(90), short(600), short(5_400), short(7_200)
    ('0', '1:30', '10 min', '1:30 h', '2 h')
    """
    if seconds == 0:
        return "0"
    if seconds % 60:
        return f"{seconds // 60}:{seconds % 60:02d}"
    if seconds < 3600:
        return f"{seconds // 60} min"
    minutes = seconds // 60 % 60
    return f"{seconds // 3600}:{minutes:02d} h" if minutes else f"{seconds // 3600} h"


def labels(span_ms: float) -> list[tuple[float, str]]:
    """(share of the width, text) of an axis that begins with 0.

    >>> labels(120_000)
    [(0.0, '0'), (0.25, '0:30'), (0.5, '1 min'), (0.75, '1:30'), (1.0, '2 min')]
    """
    seconds = max(span_ms / 1000.0, 1.0)
    longest = STEPS_S[-1] * math.ceil(seconds / STEPS_S[-1] / MOST_LABELS)
    step = next((one for one in STEPS_S if seconds / one <= MOST_LABELS), longest)
    return [(at / seconds, short(at)) for at in range(0, int(seconds) + 1, step)]
