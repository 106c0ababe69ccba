"""Counters: unwrapping at ingest, and increases over windows of what was unwrapped.

A stored counter is raw + offset, monotone from 0 since the series began; resets and wraps change the offset only.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Series

NOMINAL_PER_GAP = 2.5
"""A gap is more than this many nominal intervals without a sample."""


class Step(Enum):
    """What one step of a raw counter was."""

    FORWARD = "forward"
    WRAP = "wrap"
    RESTART = "restart"
    FIRST_SAMPLE = "first sample"
    FIRST_USE = "first use"
    FIRST_USE_AFTER_RESTART = "first use after a restart"
    LINES_CHANGED = "lines changed"
    HELD = "held"
    LEVEL = "another level"


BREAKING = frozenset({Step.RESTART.value, Step.FIRST_USE_AFTER_RESTART.value, Step.LEVEL.value})
"""Steps that no rate may cross."""

FROM_ZERO = frozenset({Step.FIRST_USE.value, Step.FIRST_USE_AFTER_RESTART.value})
"""Steps of a series whose absence from the page before meant 0."""


def judge(
    previous: float | None, current: float, *, bits: int, restarted: bool, from_zero: bool, same_process: bool = False
) -> tuple[float, Step]:
    """Increase that a raw counter made, and what kind of step it was. The only place that decides this.

    previous: last raw value, None when the series was never seen.
    bits: width at which the counter wraps; 64 never wraps.
    restarted: its source is known to have started since the last successful reading.
    from_zero: the last successful reading showed the page without this series, and it appears at first use.
    same_process: its source says that it has not started anew, so a fall is a fault of its own: the number is held at
        its highest until it passes that.

    >>> judge(10, 15, bits=64, restarted=False, from_zero=False)
    (5, <Step.FORWARD: 'forward'>)
    >>> judge(4294967290, 14, bits=32, restarted=False, from_zero=False)
    (20.0, <Step.WRAP: 'wrap'>)
    >>> judge(900, 14, bits=64, restarted=False, from_zero=False)
    (14, <Step.RESTART: 'restart'>)
    >>> judge(900, 885, bits=64, restarted=False, from_zero=False, same_process=True)
    (0.0, <Step.HELD: 'held'>)
    """
    if previous is None:
        if restarted:
            return current, Step.FIRST_USE_AFTER_RESTART
        return (current, Step.FIRST_USE) if from_zero else (0.0, Step.FIRST_SAMPLE)
    if restarted:
        return current, Step.RESTART
    if current >= previous:
        return current - previous, Step.FORWARD
    if bits < 64 and previous > 2.0 ** (bits - 1):
        return current - previous + 2.0**bits, Step.WRAP
    return (0.0, Step.HELD) if same_process else (current, Step.RESTART)


def mark_steps(frame: Frame, steps: Iterable[tuple[Series, int, str]]) -> Frame:
    """The same frame with recorded steps (series, tick, reason) in it: written into its own arrays.

    A restart becomes a break. A series that counts from 0 gets that 0 at its target's readings before, which showed
    the page without it; so increases and rates see its first step.
    """
    for series, tick, reason in steps:
        row = frame.row(series)
        column = int(np.searchsorted(frame.ticks, tick))
        if row is None or column >= len(frame.ticks) or frame.ticks[column] != tick:
            continue
        if reason in BREAKING:
            frame.breaks[row, column] = True
        if reason in FROM_ZERO and np.isnan(frame.values[row, :column]).all():
            frame.values[row, :column][~np.isnan(frame.at_ms[row, :column])] = 0.0
    return frame


def bad_steps(at_ms: Floats, breaks: Bools, known: Bools, gap_ms: float) -> Floats:
    """Running count, over the known samples of one series, of steps that no window may contain.

    A step is bad when it crosses a gap or a restart, or when the clock did not go forward (it was set anew). Two known
    samples with the same count have none between them.
    """
    at = at_ms[known]
    apart = np.diff(at)
    bad = np.zeros(len(at))
    crossed = (apart > gap_ms) | ~(apart > 0)
    if breaks.any():
        crossed |= np.diff(np.cumsum(breaks)[known]) > 0
    if crossed.any():
        np.cumsum(crossed, dtype=np.float64, out=bad[1:])
    return bad


def trailing_increase(frame: Frame, window_ms: float) -> Floats:
    """Increase of each counter over the window that ends at each sample: float64[series, tick].

    The counter is interpolated linearly at the window's start. NaN where there is no sample, where the window
    reaches before the first one, touches a gap or a restart, or is shorter than the nominal interval: where that is
    longer than the window, but was not always, shorter than a step at one of its ends.
    """
    result = np.full(frame.values.shape, np.nan)
    for rows in alike(frame):
        row = rows[0]
        at, values, where = _known(frame, rows)
        if len(at) < 2:
            continue
        bad = bad_steps(frame.at_ms[row], frame.breaks[row], ~np.isnan(frame.values[row]), float(frame.gap_ms[row]))
        found = _window(at, values, bad, window_ms)
        if window_ms < frame.gap_ms[row] / NOMINAL_PER_GAP:
            found[:, _too_coarse(at, window_ms)] = np.nan
        result[where] = found
    return result


def _too_coarse(at: Floats, window_ms: float) -> Bools:
    """Whether the window that ends at each instant begins or ends with a step that is longer than itself."""
    steps = np.diff(at, prepend=-np.inf)
    begins_in = np.minimum(_before(at, at - window_ms) + 1, len(at) - 1)
    return np.asarray((steps > window_ms) | (steps[begins_in] > window_ms))


def trailing_total(frame: Frame, window_ms: float) -> Floats:
    """Increase like `trailing_increase`, but of whatever the window saw: float64[series, tick].

    What happened in gaps and over restarts is included, and a window that reaches before the first sample begins there:
    for quotients of two counters of one page, which saw the same. NaN where there is no sample before.
    """
    result = np.full(frame.values.shape, np.nan)
    for rows in alike(frame):
        at, values, where = _known(frame, rows)
        if len(at) >= 2:
            found = _window(at, values, np.zeros(len(at)), np.minimum(window_ms, at - at[0]))
            found[:, 0] = np.nan
            result[where] = found
    return result


def alike(frame: Frame) -> list[list[int]]:
    """Rows of one target with the same samples and breaks: they share all work but the subtraction."""
    unknown = np.isnan(frame.values)
    missing, broken = np.asarray(unknown.any(axis=1)).tolist(), np.asarray(frame.breaks.any(axis=1)).tolist()
    groups: dict[tuple[str, bytes, bytes], list[int]] = {}
    for row, series in enumerate(frame.series):
        holes = unknown[row].tobytes() if missing[row] else b""
        groups.setdefault((series.target, holes, frame.breaks[row].tobytes() if broken[row] else b""), []).append(row)
    return list(groups.values())


Where = tuple[Any, Any]
Places = npt.NDArray[np.intp]


def _known(frame: Frame, rows: list[int]) -> tuple[Floats, Floats, Where]:
    """Instants and values of the known samples of rows that are alike, and where those stand in the frame."""
    known = ~np.isnan(frame.values[rows[0]])
    some: Any = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] == len(rows) - 1 else rows
    if known.all():
        return frame.at_ms[rows[0]], frame.values[some], (some, slice(None))
    where = np.ix_(rows, known)
    return frame.at_ms[rows[0], known], frame.values[where], where


def _window(at: Floats, values: Floats, bad: Floats, window_ms: float | Floats) -> Floats:
    start = at - window_ms
    before = _before(at, start)
    left = np.maximum(before, 0)
    right = np.minimum(left + 1, len(at) - 1)
    share = (start - at[left]) / np.maximum(at[right] - at[left], 1e-9)
    usable = before >= 0
    if bad[-1] > 0:
        usable &= bad == bad[left]
    share[~usable] = np.nan  # and so is all that follows from it
    at_left: Floats = values.take(left, axis=1)
    gained: Floats = values.take(right, axis=1)
    gained -= at_left
    gained *= share
    gained += at_left
    np.subtract(values, gained, out=gained)
    return gained


def _before(at: Floats, start: Floats) -> Places:
    """Position of the last instant at or before each start, −1 where there is none.

    Samples come about as regularly as the starts do, so nearly all are as far back as the middle one, give or take one.
    """
    count = len(at)
    if count < 2 or not (at[1:] >= at[:-1]).all():
        return _searched(at, start)
    back = count // 2 - int(_searched(at, start[count // 2 : count // 2 + 1])[0])
    if not 0 < back < count:
        return _searched(at, start)
    place = np.arange(-back, count - back, dtype=np.intp)
    place[:back] = _searched(at, start[:back])
    ends, own = np.concatenate((at, (np.inf, np.inf))), start[back:]
    earlier, later = own < ends[: len(own)], own >= ends[1 : len(own) + 1]
    place[back:] += later
    place[back:] -= earlier
    missed = later & (own >= ends[2 : len(own) + 2])
    missed[1:] |= earlier[1:] & (own[1:] < ends[: len(own) - 1])
    if missed.any():
        place[back:][missed] = _searched(at, own[missed])
    return place


def _searched(at: Floats, start: Floats) -> Places:
    return np.searchsorted(at, start, side="right").astype(np.intp) - 1


def integral(frame: Frame) -> Frame:
    """Running integral (value × seconds, trapezoid) of gauges, as a frame of counters that starts at 0.

    A step over a gap adds its trapezoid like any other, but no trailing window may contain it.
    """
    values = np.full(frame.values.shape, np.nan)
    for row in range(len(frame.series)):
        known = ~np.isnan(frame.values[row])
        at, level = frame.at_ms[row, known] / 1000.0, frame.values[row, known]
        if len(at):
            steps = np.diff(at) * (level[1:] + level[:-1]) / 2.0
            values[row, known] = np.concatenate(([0.0], np.cumsum(steps)))
    return Frame(frame.ticks, frame.series, values, frame.at_ms, frame.breaks, frame.gap_ms)


def increase(frame: Frame, start_ms: float, end_ms: float) -> Floats:
    """Increase of each counter from the last sample at or before start to the last at or before end.

    What happened in gaps and over restarts is included. A series that begins inside the window counts from its first
    sample. NaN for a series without a sample up to the end. Increases over any split of a range add up to the whole.
    """
    there, first, last = _ends(frame, start_ms, end_ms)
    result = np.full(len(frame.series), np.nan)
    result[there] = frame.values[there, last] - frame.values[there, first]
    return result


def window_ends(frame: Frame, start_ms: float, end_ms: float) -> list[tuple[int, int] | None]:
    """Positions of the two samples of each series between which `increase` counts, None where there is none."""
    there, first, last = _ends(frame, start_ms, end_ms)
    ends: list[tuple[int, int] | None] = [None] * len(frame.series)
    for row, *both in zip(there.tolist(), first.tolist(), last.tolist(), strict=True):
        ends[row] = (both[0], both[1])
    return ends


def _ends(frame: Frame, start_ms: float, end_ms: float) -> tuple[Places, Places, Places]:
    """(rows with a sample up to the end, positions of their first, of their last)"""
    high = int(np.searchsorted(frame.ticks, end_ms, side="right"))
    low = min(int(np.searchsorted(frame.ticks, start_ms, side="right")), high)
    known = ~np.isnan(frame.values[:, :high])
    there = np.flatnonzero(np.asarray(known.any(axis=1)))
    if not len(there):
        return there, there, there
    known = known if len(there) == len(known) else known[there]
    last = high - 1 - np.argmax(known[:, ::-1], axis=1)
    first = np.argmax(known, axis=1)
    if low:
        before = low - 1 - np.argmax(known[:, low - 1 :: -1], axis=1)
        first = np.where(first < low, before, first)
    return there, first, last


def active_windows(
    at_ms: Floats, values: Floats, pause_ms: float, bad: Floats | None = None
) -> list[tuple[float, float, float]]:
    """Stretches in which a counter moved: (start, end, increase), start and end in milliseconds.

    Each runs from the last sample before its first increase to the sample of its last one; stretches are apart when
    the counter stood still for more than `pause_ms`. NaN samples are passed over.
    bad: as `bad_steps` tells of the known samples. What came in such a step came nobody knows when: it neither makes a
    stretch nor belongs to one.
    """
    known = ~np.isnan(values)
    at, level = at_ms[known], values[known]
    steps = np.diff(level)
    moved = np.flatnonzero(steps > 0 if bad is None else (steps > 0) & (np.diff(bad) == 0))
    if not len(moved):
        return []
    starts, ends = at[moved], at[moved + 1]
    first = np.flatnonzero(np.concatenate(([True], starts[1:] - ends[:-1] > pause_ms)))
    last = np.append(first[1:], len(moved)) - 1
    gains = np.add.reduceat(steps[moved], first)
    return list(zip(starts[first].tolist(), ends[last].tolist(), gains.tolist(), strict=True))
