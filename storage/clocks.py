"""Clocks: when a target was read in a sealed hour, and by which layout. One blob for all its series."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from storage.chunks import pack, unpack
from storage.errors import StoreBroken
from storage.layouts import Ids
from telemetry.frame import Ints
from telemetry.model import Series

LENGTHS = struct.Struct("<II")
"""Bytes of the ticks and of the instants; the layouts are the rest."""


@dataclass(frozen=True)
class Place:
    """What a row of a sealed hour is of; becomes text only when something is wrong with it."""

    kind: str
    whose: Series | str
    hour: int

    def __str__(self) -> str:
        hour = f"{datetime.fromtimestamp(self.hour / 1000, UTC):%FT%RZ}"
        if isinstance(self.whose, str):
            return f"the {self.kind} of {self.whose} in the hour of {hour}"
        labels = "".join(f" {name}={value}" for name, value in self.whose.labels)
        return f"the {self.kind} of {self.whose.metric}{labels} of {self.whose.target} in the hour of {hour}"


@dataclass(frozen=True)
class Reading:
    """Readings of a target: int64[n] ticks (rising), instants, and numbers of the layouts."""

    ticks: Ints
    at_ms: Ints
    layout: Ids


def encode(reading: Reading, family: str) -> bytes:
    """The blob of a clock; instants as their distance to the ticks."""
    ticks, lags, layouts = (
        pack(np.ascontiguousarray(part), family)
        for part in (reading.ticks, reading.at_ms - reading.ticks, reading.layout)
    )
    return LENGTHS.pack(len(ticks), len(lags)) + ticks + lags + layouts


class Decoder:
    """Reads blobs of clocks. Targets that are read together have the same bytes, which are read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, bytes, int], Ints] = {}

    def decode(self, family: str, blob: bytes | None, count: int, place: Place) -> Reading:
        """What `encode` made of `count` readings; StoreBroken, naming the place, when it is damaged."""
        if blob is None or len(blob) < LENGTHS.size:
            raise StoreBroken(f"{place} is damaged: its data is missing")
        first, second = LENGTHS.unpack_from(blob)
        middle = LENGTHS.size + first
        ticks = self._part(family, blob[LENGTHS.size : middle], count, place)
        lags = unpack(family, blob[middle : middle + second], count, place)
        layout = self._part(family, blob[middle + second :], count, place)
        return Reading(ticks, ticks + lags, layout)

    def _part(self, family: str, blob: bytes, count: int, place: Place) -> Ints:
        key = (family, blob, count)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = unpack(family, blob, count, place)
        return found
