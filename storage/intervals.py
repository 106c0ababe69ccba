"""How often a target was read, where that was not as it is now: a fact of imported hours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection, select

from storage import schema
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats

INTERVAL_FACT = "imported_interval_ms"
FACT = schema.fact.c


def widened(connection: Connection, targets: Sequence[str], gaps: Floats, start: int, end: int) -> Floats:
    """What is a gap of each target (float64[target], ms) in a range: never shorter than by the interval of an imported
    hour in it."""
    query = select(FACT.target, FACT.value).where(
        FACT.target.in_(sorted(set(targets))), FACT.name == INTERVAL_FACT, FACT.start_ms <= end, FACT.end_ms > start
    )
    longest: dict[str, float] = {}
    for target, interval_ms in connection.execute(query).all():
        longest[target] = max(NOMINAL_PER_GAP * float(interval_ms), longest.get(target, 0.0))
    return np.maximum(gaps, [longest.get(target, 0.0) for target in targets]) if longest else gaps
