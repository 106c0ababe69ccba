"""Block: consecutive rows of one target with one layout; a full one is kept packed, and exactly.

Most series stand still for minutes, and most others are whole numbers or have few digits. A full block keeps each
series in the first of these forms that gives back every bit of it: one value; float32; whole numbers above the least of
them as uint32; float64.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from telemetry.frame import Floats, Ints
from telemetry.model import Series

BLOCK_ROWS = 300
EXACT = 2.0**53
"""Whole numbers below it are exact in float64, and so are their differences."""
OFFSET_MOST = 2.0**32 - 1


class Packed:
    """Values of a block's series, float64[rows, series], each in the smallest form that is exact."""

    def __init__(self, values: Floats) -> None:
        columns = np.ascontiguousarray(values.T)
        bits = columns.view(np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            narrow = columns.astype(np.float32)
            single = (narrow.astype(np.float64).view(np.int64) == bits).all(axis=1)
            base = columns.min(axis=1)
            above = columns - base[:, np.newaxis]
            whole = (np.abs(columns) < EXACT) & (np.floor(columns) == columns) & (above <= OFFSET_MOST)
        constant = (bits == bits[:, :1]).all(axis=1)
        offset = whole.all(axis=1) & ~_has_minus_zero(columns)
        self._form = np.select([constant, single, offset], [0, 1, 2], 3).astype(np.uint8)
        self._place = np.zeros(len(columns), np.uint16 if len(columns) < 2**16 else np.uint32)
        for form in range(4):
            mine = self._form == form
            self._place[mine] = np.arange(int(mine.sum()))
        self._same: Floats = columns[self._form == 0, 0]
        self._narrow: npt.NDArray[np.float32] = narrow[self._form == 1]
        self._base: Floats = base[self._form == 2]
        self._above: npt.NDArray[np.uint32] = above[self._form == 2].astype(np.uint32)
        self._wide: Floats = columns[self._form == 3]

    @property
    def nbytes(self) -> int:
        """Bytes that the values take."""
        parts = (self._form, self._place, self._same, self._narrow, self._base, self._above, self._wide)
        return sum(part.nbytes for part in parts)

    def read(self, places: Sequence[int], low: int, high: int) -> Floats:
        """Rows low ≤ row < high of the series at these places: float64[series, rows]."""
        found = np.empty((len(places), high - low))
        self.put(places, low, high, found)
        return found

    def put(self, places: Sequence[int], low: int, high: int, found: Floats) -> None:
        """The same, written into float64[series, rows]."""
        forms, own = self._form[places], self._place[places]
        for form in range(4):
            mine = (forms == form).nonzero()[0]
            if len(mine):
                found[mine] = self._of(form, own[mine], low, high)

    def line(self, place: int, low: int, high: int) -> npt.NDArray[np.floating]:
        """Rows low ≤ row < high of the series at this place: float64[rows], or the same numbers as float32."""
        form, own = self._form.item(place), self._place.item(place)
        if form == 0:
            return self._same[own : own + 1].repeat(high - low)
        if form == 2:
            return self._above[own, low:high] + self._base[own : own + 1]
        return (self._narrow if form == 1 else self._wide)[own, low:high]

    def _of(self, form: int, own: npt.NDArray[np.integer], low: int, high: int) -> npt.NDArray[np.floating]:
        if form == 0:
            return self._same[own, np.newaxis]
        if form == 2:
            return self._above[own, low:high] + self._base[own, np.newaxis]
        return (self._narrow if form == 1 else self._wide)[own, low:high]


def _has_minus_zero(columns: Floats) -> npt.NDArray[np.bool_]:
    """Which series hold a zero with a sign: a difference does not keep it."""
    found: npt.NDArray[np.bool_] = ((columns == 0) & np.signbit(columns)).any(axis=1)
    return found


class Block:
    """Consecutive rows of one target with one layout."""

    def __init__(self, series: tuple[Series, ...]) -> None:
        self.series = series
        self.ticks: Ints = np.zeros(BLOCK_ROWS, np.int64)
        self.at_ms: Floats = np.zeros(BLOCK_ROWS)
        self._values: Floats | Packed = np.empty((BLOCK_ROWS, len(series)))
        self.used = 0
        self.first_tick = self.last_tick = -1  # as plain numbers, since every question looks at those of every block

    def takes(self, series: tuple[Series, ...], tick: int) -> bool:
        """Whether a row belongs at the end of this block."""
        same = self.series is series or self.series == series
        return self.used < BLOCK_ROWS and tick > self.last_tick and same

    def append(self, tick: int, at_ms: float, values: Floats) -> None:
        """Add a row that `takes` accepted."""
        assert not isinstance(self._values, Packed)
        self.ticks[self.used], self.at_ms[self.used] = tick, at_ms
        self._values[self.used] = values
        self.first_tick, self.last_tick = (self.first_tick if self.used else tick), tick
        self.used += 1
        if self.used == BLOCK_ROWS:
            self._values = Packed(self._values)

    def share(self, others: Iterable[Block]) -> None:
        """Of a full block: keep the ticks of another full one, where they are the same, in place of its own."""
        same = (one for one in others if one is not self and one.used == BLOCK_ROWS and one.last_tick == self.last_tick)
        for one in same:
            if np.array_equal(one.ticks, self.ticks):
                self.ticks = one.ticks
                return

    @property
    def nbytes(self) -> int:
        """Bytes that the values take."""
        return self._values.nbytes

    def read(self, places: Sequence[int], low: int, high: int) -> Floats:
        """Rows low ≤ row < high of the series at these places: float64[series, rows]."""
        if isinstance(self._values, Packed):
            return self._values.read(places, low, high)
        if len(places) == 1:
            return self._values[np.newaxis, low:high, places[0]]
        return self._values[low:high, places].T

    def row(self, row: int) -> Floats:
        """One row, not to be written to: float64[series]."""
        if isinstance(self._values, Packed):
            return self._values.read(range(len(self.series)), row, row + 1).ravel()
        return np.asarray(self._values[row])

    def line(self, place: int, low: int, high: int) -> npt.NDArray[np.floating]:
        """Rows low ≤ row < high of one series, not to be written to: float64[rows], or the same numbers as float32."""
        if isinstance(self._values, Packed):
            return self._values.line(place, low, high)
        return self._values[low:high, place]

    def put(self, places: Sequence[int], low: int, high: int, into: Floats) -> None:
        """The same, written into float64[series, rows]."""
        if isinstance(self._values, Packed):
            self._values.put(places, low, high, into)
        else:
            into[:] = self._values[low:high, places].T
