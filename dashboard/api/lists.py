"""Arrays as JSON: unknown is null, never NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import orjson

from telemetry.frame import Floats, Ints


def numbers(values: Floats | Ints) -> Any:
    """Values as orjson encodes them without a Python object for each: null for NaN and infinities."""
    return np.ascontiguousarray(values)


def number(value: float) -> float | None:
    """One value, None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None


def encoded(value: Any) -> bytes:
    """An answer as JSON."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)


def plain(value: Any) -> Any:
    """An answer as lists, None for what is unknown."""
    return orjson.loads(encoded(value))
