"""Clocks: when a target was read in a sealed hour, and by which layout. One blob for all its series."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from storage.chunks import checked, pack, summed, unpack
from storage.errors import StoreBroken
from telemetry.frame import Ints
from telemetry.model import Series

LENGTHS = struct.Struct("<II")
"""Bytes of the ticks and of the lags; the layouts are the rest."""
PACKED, BYTES = b"\0", b"\1"
"""First byte of the lags: like all numbers, or a byte each after the smallest of them.

A byte each takes up to a third more room than packed, once per target, and no time at all to read.
"""
LEAST = struct.Struct("<q")
UNASKED: npt.NDArray[np.integer[Any]] = np.zeros(0, dtype=np.uint8)
"""Lags of a reading whose instants nobody asked for."""


class Place(NamedTuple):
    """What a row of a sealed hour is of; becomes text only when something is wrong with it. (A tuple, as what else is
    made for each of hundreds of hours: they are made in a third of the time.)"""

    kind: str
    whose: Series | str
    hour: int

    def __str__(self) -> str:
        hour = f"{datetime.fromtimestamp(self.hour / 1000, UTC):%FT%RZ}"
        if isinstance(self.whose, str):
            return f"the {self.kind} of {self.whose} in the hour of {hour}"
        labels = "".join(f" {name}={value}" for name, value in self.whose.labels)
        return f"the {self.kind} of {self.whose.metric}{labels} of {self.whose.target} in the hour of {hour}"


class Reading(NamedTuple):
    """Readings of a target: int64[n] ticks (rising); how much later than those its instants are, integers of any width;
    int64[n] numbers of the layouts."""

    ticks: Ints
    lags: npt.NDArray[np.integer[Any]]
    layout: Ints

    @property
    def at_ms(self) -> Ints:
        """The instants."""
        return self.ticks + self.lags

    def cut(self, inside: slice) -> Reading:
        """Some of the readings."""
        return Reading(self.ticks[inside], self.lags[inside], self.layout[inside])


def encode(reading: Reading, family: str) -> bytes:
    """The blob of a clock."""
    ticks, layouts = (pack(np.ascontiguousarray(part), family) for part in (reading.ticks, reading.layout))
    lags = _pack_lags(reading.lags.astype(np.int64), family)
    return LENGTHS.pack(len(ticks), len(lags)) + ticks + lags + layouts


def _pack_lags(lags: Ints, family: str) -> bytes:
    low, high = int(np.min(lags)), int(np.max(lags))
    low = 0 if low >= 0 and high < 256 else low
    if high - low >= 256:
        return PACKED + pack(lags, family)
    return summed(BYTES + LEAST.pack(low) + (lags - low).astype(np.uint8).tobytes())


def _unpack_lags(family: str, blob: bytes, count: int, place: Place) -> npt.NDArray[np.integer[Any]]:
    if blob[:1] != BYTES:
        return unpack(family, blob[1:], count, place)
    data = checked(blob, place)
    if len(data) != 1 + LEAST.size + count:
        raise StoreBroken(f"{place} is damaged: it does not hold {count} numbers")
    lags = np.frombuffer(data, dtype=np.uint8, offset=1 + LEAST.size)
    (low,) = LEAST.unpack_from(data, 1)
    return lags + np.int64(low) if low else lags


class Decoder:
    """Reads blobs of clocks. Targets that are read together have the same bytes, which are read once.

    instants: without, lags are `UNASKED`, and what is damaged of them is not noticed.
    """

    def __init__(self, *, instants: bool = True) -> None:
        self._known: dict[tuple[str, bytes, int], Ints] = {}
        self._instants = instants

    def decode(self, family: str, blob: bytes | None, count: int, place: Place) -> Reading:
        """What `encode` made of `count` readings; StoreBroken, naming the place, when it is damaged."""
        if blob is None or len(blob) < LENGTHS.size:
            raise StoreBroken(f"{place} is damaged: its data is missing")
        first, second = LENGTHS.unpack_from(blob)
        middle = LENGTHS.size + first
        ticks = self._part(family, blob[LENGTHS.size : middle], count, place)
        lags = _unpack_lags(family, blob[middle : middle + second], count, place) if self._instants else UNASKED
        layout = self._part(family, blob[middle + second :], count, place)
        return Reading(ticks, lags, layout)

    def _part(self, family: str, blob: bytes, count: int, place: Place) -> Ints:
        key = (family, blob, count)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = unpack(family, blob, count, place)
        return found
