"""How often a target was read, where that was not as it is now: facts of imported hours, and of the collector's own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, bindparam, select

from storage import schema
from storage.asking import fetched
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Ints

INTERVAL_FACT = "imported_interval_ms"
OWN_FACT = "interval_ms"
"""What the collector says of each target that it reads; the one that still holds is the present interval."""
FACT = schema.fact.c
OTHER = select(FACT.target, FACT.start_ms, FACT.end_ms, FACT.value, FACT.name).where(
    FACT.target.in_(bindparam("names", expanding=True)),
    FACT.name.in_((INTERVAL_FACT, OWN_FACT)),
    FACT.start_ms <= bindparam("end"),
    FACT.end_ms > bindparam("start"),
)
Stretch = tuple[int, int, float, bool]
"""start ≤ tick < end, what is a gap there, in milliseconds, and whether it is one even if it is shorter than now."""


def stretches(connection: Connection, targets: Sequence[str], start: int, end: int) -> dict[str, list[Stretch]]:
    """Of each target, the stretches of a range in which it was read at another interval than it is now."""
    asked = {"names": sorted(set(targets)), "start": start, "end": end}
    found: dict[str, list[Stretch]] = {}
    for target, first, last, interval_ms, name in fetched(connection, OTHER, asked):
        gap_ms = NOMINAL_PER_GAP * float(interval_ms)
        found.setdefault(target, []).append((first, last, gap_ms, name == OWN_FACT))
    return found


def own_gaps(ticks: Ints, gap_ms: float, other: Sequence[Stretch]) -> Floats:
    """What is a gap around each tick: by the interval of its stretch, of imported ones never shorter than now."""
    own = np.full(len(ticks), gap_ms)
    for first, last, told, exact in sorted(other, key=lambda one: not one[3]):
        inside = slice(*np.searchsorted(ticks, (first, last)).tolist())
        own[inside] = told if exact else np.maximum(own[inside], told)
    return own
