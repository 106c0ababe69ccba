"""How often a target was read, where that was not as it is now: a fact of imported hours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from storage import schema
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Ints

INTERVAL_FACT = "imported_interval_ms"
FACT = schema.fact.c
Stretch = tuple[int, int, float]
"""start ≤ tick < end, and what is a gap there, in milliseconds."""


def stretches(connection: Connection, targets: Sequence[str], start: int, end: int) -> dict[str, list[Stretch]]:
    """Of each target, the stretches of a range in which it was read at another interval than it is now."""
    query = select(FACT.target, FACT.start_ms, FACT.end_ms, FACT.value).where(
        FACT.target.in_(sorted(set(targets))), FACT.name == INTERVAL_FACT, FACT.start_ms <= end, FACT.end_ms > start
    )
    found: dict[str, list[Stretch]] = {}
    for target, first, last, interval_ms in connection.execute(query).all():
        found.setdefault(target, []).append((first, last, NOMINAL_PER_GAP * float(interval_ms)))
    return found


def own_gaps(ticks: Ints, gap_ms: float, other: Sequence[Stretch]) -> Floats:
    """What is a gap around each tick: never shorter than by the interval of its stretch."""
    own = np.full(len(ticks), gap_ms)
    for first, last, longer in other:
        inside = slice(*np.searchsorted(ticks, (first, last)).tolist())
        own[inside] = np.maximum(own[inside], longer)
    return own
