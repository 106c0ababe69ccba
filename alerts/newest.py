"""What each series says at the last tick of a frame, for all of them at once: the same numbers as those of whole
histories (`telemetry.counters`, `telemetry.ratios`), of which only the last column is worked out.

Every function takes a frame and gives float64[series]: the value at the series' last reading, held to the last tick
unless there is a gap between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from alerts.begins import value_at
from alerts.gains import Places, Plain, Together, clocks
from alerts.grouping import Memory
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Series
from telemetry.ratios import SILENT_MS, last_known

GAPS = 3
"""How many gaps before a window samples may count: the last reading may be as old, and the one before the window."""


class Newest:
    """A frame of many targets, and what all readings ask of it, worked out once.

    memory: of frames of the same series. slot: number of the frame in it.
    """

    def __init__(self, frame: Frame, memory: Memory, slot: int) -> None:
        self.frame = frame
        self._memory, self._slot = memory, slot
        self._gains: dict[tuple[float, bool], Floats] = {}

    @cached_property
    def now(self) -> Floats:
        """The value of every series."""
        return now(self.frame)

    @cached_property
    def recent(self) -> Bools:
        """See `recent`, of every series."""
        return recent(self.frame)

    @cached_property
    def _plain(self) -> Plain:
        series = self.frame.series
        return Plain(self.frame, self._memory.of(("clocks", self._slot), None, lambda: clocks(series)))

    def gained(self, rows: Places, window_ms: float, *, whole: bool) -> Floats:
        """What these rows, of counters, gain over a window: float64[row]. whole: see `increase` and `total`."""
        key = (window_ms, whole)
        together = self._memory.of(("asked", self._slot, key), None, Together)
        if together.takes(rows) or key not in self._gains:
            self._gains[key] = self._gained(together.rows, window_ms, whole=whole)
        return self._gains[key][rows]

    def _gained(self, rows: Places, window_ms: float, *, whole: bool) -> Floats:
        """The same, where it stands among all series: float64[series]."""
        found = np.full(len(self.frame.series), np.nan)
        plain = self._plain.rows[rows]
        smooth, rough = (rows, rows[:0]) if plain.all() else (rows[plain], rows[~plain])
        if len(smooth):
            found[smooth] = self._plain.gained(smooth, window_ms, whole=whole)
        if len(rough):
            series = tuple(self.frame.series[row] for row in rough.tolist())
            part = self.part(rough, series, window_ms if whole else None)
            found[rough] = (increase if whole else total)(part, window_ms)
        return found

    def part(self, rows: Places, series: tuple[Series, ...], window_ms: float | None) -> Frame:
        """These rows, of these series, as far back as a window may need; None: all there is."""
        frame, low = self.frame, 0
        if window_ms is not None:
            back = window_ms + GAPS * float(np.max(frame.gap_ms[rows], initial=0.0))
            low = int(np.searchsorted(frame.ticks, frame.ticks[-1] - back, side="right")) - 1
        cut = (rows, slice(max(low, 0), None))
        return Frame(
            frame.ticks[cut[1]], series, frame.values[cut], frame.at_ms[cut], frame.breaks[cut], frame.gap_ms[rows]
        )


def now(frame: Frame, _window_ms: float = 0.0) -> Floats:
    """The value."""
    if _all_read(frame):
        return frame.values[:, -1].copy()
    return _held(frame, frame.values[_rows(frame), _last_read(frame)])


def increase(frame: Frame, window_ms: float) -> Floats:
    """Increase of a counter over the window, as `counters.trailing_increase` has it."""
    return _held(frame, _increase(frame, np.full(len(frame.series), window_ms), whole=True))


def total(frame: Frame, window_ms: float) -> Floats:
    """Increase of what the window saw, as `counters.trailing_total` has it."""
    known = ~np.isnan(frame.values)
    rows, last = _rows(frame), _last_read(frame)
    first = known.argmax(axis=1)
    seen = frame.at_ms[rows, last] - frame.at_ms[rows, first]
    found = _increase(frame, np.minimum(window_ms, seen), whole=False)
    return _held(frame, np.where(first < last, found, np.nan))


def integral(frame: Frame) -> Frame:
    """Running integrals of gauges as counters, as `counters.integral` has them."""
    known = ~np.isnan(frame.values)
    before = _before(known)
    some = known & (before >= 0)
    left = np.maximum(before, 0)
    at, values = frame.at_ms / 1000.0, frame.values
    step = np.take_along_axis(at, left, axis=1)
    level = np.take_along_axis(values, left, axis=1)
    with np.errstate(invalid="ignore"):
        area = np.where(some, (at - step) * (values + level) / 2.0, 0.0)
    summed = np.where(known, np.cumsum(area, axis=1), np.nan)
    return Frame(frame.ticks, frame.series, summed, frame.at_ms, frame.breaks, frame.gap_ms)


def change(frame: Frame, window_ms: float) -> Floats:
    """The value less that at the window's start, interpolated there (`begins`); unknown where that is."""
    rows, last = _rows(frame), _last_read(frame)
    begin: Floats = np.asarray(frame.ticks[last] - window_ms, dtype=np.float64)
    start = value_at(frame, begin[:, np.newaxis], window_ms)[:, 0]
    return _held(frame, np.asarray(frame.values[rows, last] - start))


def mean(frame: Frame, window_ms: float) -> Floats:
    """Mean of the known values of the window; unknown where the last reading had none."""
    inside = _inside(frame, window_ms) & ~np.isnan(frame.values)
    count = inside.sum(axis=1)
    summed = np.where(inside, frame.values, 0.0).sum(axis=1)
    known = ~np.isnan(frame.values[_rows(frame), _last_read(frame)])
    return _held(frame, np.where(known & (count > 0), summed / np.maximum(count, 1), np.nan))


def _extreme(function: np.ufunc) -> Callable[[Frame, float], Floats]:
    def over(frame: Frame, window_ms: float) -> Floats:
        inside = np.where(_inside(frame, window_ms), frame.values, np.nan)
        return _held(frame, function.reduce(inside, axis=1))

    return over


SERIES: Mapping[str, Callable[[Frame, float], Floats]] = {
    "now": now,
    "min": _extreme(np.fmin),
    "max": _extreme(np.fmax),
    "mean": mean,
    "change": change,
}


def recent(frame: Frame) -> Bools:
    """Which series had a value within SILENT_MS, so that a sum without them is not known: bool[series]."""
    known = ~np.isnan(frame.values)
    last = known.shape[1] - 1 - known[:, ::-1].argmax(axis=1)
    return np.asarray(known.any(axis=1) & (frame.ticks[-1] - frame.ticks[last] <= SILENT_MS))


def _rows(frame: Frame) -> Places:
    return np.arange(len(frame.series))


def _all_read(frame: Frame) -> bool:
    """Whether every series was read at the last tick."""
    return not np.isnan(frame.at_ms[:, -1]).any()


def _last_read(frame: Frame) -> Places:
    """Column of each series' last reading; the last column of one that was never read."""
    if _all_read(frame):
        return np.full(len(frame.at_ms), len(frame.ticks) - 1, dtype=np.intp)
    read = ~np.isnan(frame.at_ms)
    return np.asarray(read.shape[1] - 1 - read[:, ::-1].argmax(axis=1), dtype=np.intp)


def _held(frame: Frame, found: Floats) -> Floats:
    """Values at last readings as they hold at the last tick."""
    if _all_read(frame):
        return found
    last = _last_read(frame)
    apart = frame.ticks[-1] - frame.ticks[last]
    usable = (apart <= frame.gap_ms) & ~np.isnan(frame.at_ms[_rows(frame), last])
    return np.where(usable, found, np.nan)


def _inside(frame: Frame, window_ms: float) -> Bools:
    """Which columns lie in the window that ends at each series' last reading."""
    last = _last_read(frame)
    low = np.searchsorted(frame.ticks, frame.ticks[last] - window_ms, side="right")
    columns = np.arange(len(frame.ticks))
    return np.asarray((columns >= low[:, np.newaxis]) & (columns <= last[:, np.newaxis]))


def _before(known: Bools) -> Places:
    """Column of the known sample before each column, −1 before the first."""
    found = np.full(known.shape, -1, dtype=np.intp)
    found[:, 1:] = last_known(known)[:, :-1]
    return found


def _increase(frame: Frame, window_ms: Floats, *, whole: bool) -> Floats:
    """Increase over a window that ends at the last reading; interpolated at its start."""
    known = ~np.isnan(frame.values)
    rows, last = _rows(frame), _last_read(frame)
    columns: Ints = np.arange(len(frame.ticks))
    end = frame.at_ms[rows, last]
    start = end - window_ms
    with np.errstate(invalid="ignore"):
        early = known & (frame.at_ms <= start[:, np.newaxis])
    left = np.where(early.any(axis=1), len(columns) - 1 - early[:, ::-1].argmax(axis=1), -1)
    right = (known & (columns > left[:, np.newaxis])).argmax(axis=1)
    usable = (left >= 0) & known[rows, last]
    left = np.maximum(left, 0)
    at_left, at_right = frame.at_ms[rows, left], frame.at_ms[rows, right]
    if whole:
        usable &= ~_crossed(frame, known, left, last)
        usable &= ~_coarse(frame, known, at_right - at_left, window_ms)
    share = (start - at_left) / np.maximum(at_right - at_left, 1e-9)
    below, above = frame.values[rows, left], frame.values[rows, right]
    gained = frame.values[rows, last] - ((above - below) * share + below)
    return np.where(usable, gained, np.nan)


def _crossed(frame: Frame, known: Bools, left: Places, last: Places) -> Bools:
    """Whether there is a step between two columns that no window may contain: a gap, a restart, a clock set back."""
    before = _before(known)
    some = known & (before >= 0)
    columns = np.arange(known.shape[1])
    some &= (columns > left[:, np.newaxis]) & (columns <= last[:, np.newaxis])
    earlier = np.maximum(before, 0)
    with np.errstate(invalid="ignore"):
        apart = frame.at_ms - np.take_along_axis(frame.at_ms, earlier, axis=1)
        bad = (apart > frame.gap_ms[:, np.newaxis]) | ~(apart > 0)
    if frame.breaks.any():
        counted = np.cumsum(frame.breaks, axis=1)
        bad |= counted > np.take_along_axis(counted, earlier, axis=1)
    return np.asarray((bad & some).any(axis=1))


def _coarse(frame: Frame, known: Bools, first_step: Floats, window_ms: Floats) -> Bools:
    """Whether a window begins or ends with a step that is longer than itself, where the target is read that rarely."""
    rarely = window_ms < frame.gap_ms / NOMINAL_PER_GAP
    if not rarely.any():
        return rarely
    rows, last = _rows(frame), _last_read(frame)
    before = _before(known)[rows, last]
    last_step = np.where(before >= 0, frame.at_ms[rows, last] - frame.at_ms[rows, np.maximum(before, 0)], np.inf)
    return np.asarray(rarely & ((last_step > window_ms) | (first_step > window_ms)))
