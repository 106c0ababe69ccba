"""Values and labels as the text that the tables hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

from storage.digits import COMMA, Letters, even, parsed
from storage.records import Values
from telemetry.frame import Floats, Ints

INFINITE = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
"""JSON has no infinite number: a string stands for it, which numpy reads back as a float."""
PIECE = 1 << 17
"""Letters in which commas are looked for at once."""
FEW = 2
"""One wanted number in so many: with fewer, passing over the rest is cheaper than reading it."""


def pack(values: Values) -> str:
    """float64[n] as a JSON array: shortest digits that come back as the same bits, null for NaN.

    Whole numbers lose their ".0", which is a fifth of all bytes; where there may be a -0.0 they keep it.
    """
    array = np.ascontiguousarray(values, dtype=np.float64)
    if np.isinf(array).any():
        return orjson.dumps([INFINITE.get(value, value) for value in array.tolist()]).decode()
    text = orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY)
    if b"-0.0" not in text:
        text = text.replace(b".0,", b",")
        text = text[:-3] + b"]" if text.endswith(b".0]") else text
    return text.decode()


def unpack(text: str | bytes) -> Floats:
    """float64[n] from a JSON array."""
    return np.array(orjson.loads(text), dtype=np.float64)


def unpack_joined(text: bytes | None) -> Floats:
    """float64[n] from numbers joined by commas; None is no number."""
    numbers = even(text or b"")
    return unpack(b"[%b]" % (text or b"")) if numbers is None else numbers


def pick(text: bytes, total: int, index: Ints) -> Floats:
    """Elements number `index` of JSON arrays that are joined by commas, counted through all `total` of them.

    ValueError when there are more or fewer than `total`, since then every number after would be another's.
    Same as reading everything and choosing, but a number that nobody wants is only passed over: a third of the time.
    """
    if not len(index):
        return np.zeros(0)
    if len(index) * FEW > total:
        everything = unpack_joined(text.translate(None, b"[]"))
        _expect(total, len(everything))
        return everything[index]
    letters = np.frombuffer(text, dtype=np.uint8)
    if (np.diff(index) < 0).any():
        rising, back = np.unique(index, return_inverse=True)
        return parsed(letters, *_bounds(letters, total, rising))[back]
    return parsed(letters, *_bounds(letters, total, index))


def _bounds(letters: Letters, total: int, index: Ints) -> tuple[Ints, Ints]:
    """(begin, end) of elements that are parted by commas: those number `index`, rising. Piece by piece, for what comes
    in between is eight times as large as the text, and a piece of it stays in the processor's cache."""
    begin, end = np.zeros(len(index), dtype=np.int64), np.full(len(index), len(letters), dtype=np.int64)
    done = 0
    for at in range(0, len(letters), PIECE):
        commas = np.flatnonzero(letters[at : at + PIECE] == COMMA)
        commas += at
        for side, before in ((end, 0), (begin, 1)):  # the comma behind an element, and the one before it
            low, high = np.searchsorted(index, (done + before, done + len(commas) + before)).tolist()
            side[low:high] = commas[index[low:high] - (done + before)] + before
        done += len(commas)
    _expect(total, done + 1)
    return begin, end


def _expect(total: int, found: int) -> None:
    if found != total:
        raise ValueError(f"{found} numbers where the layouts say {total}")


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
