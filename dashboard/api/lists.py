"""Arrays as JSON lists: unknown is null, never NaN."""

from __future__ import annotations

import math

from telemetry.frame import Floats


def numbers(values: Floats) -> list[float | None]:
    """Values as a list, None for NaN and infinities."""
    return [value if math.isfinite(value) else None for value in values.tolist()]


def number(value: float) -> float | None:
    """One value, None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
