"""Values and labels as the text that the tables hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from storage.records import Values
from telemetry.frame import Floats

INFINITE = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
"""JSON has no infinite number: a string stands for it, which numpy reads back as a float."""


def pack(values: Values) -> str:
    """float64[n] as a JSON array: shortest digits that come back as the same bits, null for NaN."""
    array = np.ascontiguousarray(values, dtype=np.float64)
    if np.isinf(array).any():
        return orjson.dumps([INFINITE.get(value, value) for value in array.tolist()]).decode()
    return orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def unpack(text: str) -> Floats:
    """float64[n] from a JSON array."""
    return np.array(orjson.loads(text), dtype=np.float64)


def unpack_flat(texts: str | None) -> Floats:
    """float64[n] from the elements of JSON arrays, separated by commas; None is no element."""
    return unpack(f"[{texts or ''}]")


def text_of(value: Any) -> str:
    """Any JSON value as text, keys sorted, so that equal values have equal texts."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def value_of(text: str) -> Any:
    """The value that `text_of` wrote."""
    return orjson.loads(text)


def labels_text(labels: tuple[tuple[str, str], ...]) -> str:
    """Labels of a series as a JSON object with sorted keys."""
    return text_of(dict(labels))


def labels_of(text: str) -> tuple[tuple[str, str], ...]:
    """The labels that `labels_text` wrote, sorted."""
    found: Mapping[str, str] = orjson.loads(text)
    return tuple(sorted(found.items()))
