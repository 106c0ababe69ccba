"""The life of an alert: inactive → pending → firing → resolved, out of what a condition is at each tick.

One function serves the live tick (one column) and the replay of months (many): it works on edges. What is unknown
changes nothing: a condition that holds and is then not known neither counts on nor begins anew, and an alert that fires
goes on firing until its clear condition is known to hold.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from telemetry.frame import Floats, Ints


class Phase(Enum):
    """Where an instance of a rule stands."""

    INACTIVE = "inactive"
    PENDING = "pending"
    FIRING = "firing"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a condition must hold before it fires, and its clear condition before it is over; milliseconds.

    hold_ms: a tick speaks for the time until the next one, but not for longer than this.
    """

    for_ms: int = 0
    clear_for_ms: int = 0
    hold_ms: int = 5_000


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an instance stands after a tick; all that the next one needs, and what a restart goes on from.

    since_ms: when this phase began. began_ms: when the condition began to hold that led to it.
    counting, counted_ms: whether the time is being counted that leads to the next phase, and how much was: of the
    condition while pending, of the clear condition while firing.
    seen_ms: the last tick, −1 before the first. holds, clears: what the two conditions were known to be then.
    known: whether anything was known of the first.
    """

    phase: Phase = Phase.INACTIVE
    since_ms: int = 0
    began_ms: int = 0
    counting: bool = False
    counted_ms: int = 0
    seen_ms: int = -1
    holds: bool = False
    clears: bool = False
    known: bool = True

    @property
    def condition(self) -> str:
        """What was known at the last tick: it "holds", is "ending" (the clear condition holds), is "between" the two,
        or "unknown"."""
        if not self.known:
            return "unknown"
        return "holds" if self.holds else "ending" if self.clears else "between"

    @property
    def lasted_to_ms(self) -> int:
        """The last tick, less the time for which the clear condition has been counted since."""
        return self.seen_ms - (self.counted_ms if self.phase is Phase.FIRING and self.counting else 0)


@dataclass(frozen=True, slots=True)
class Change:
    """A phase began at a tick. began_ms: when the condition began to hold that led to it."""

    at_ms: int
    phase: Phase
    began_ms: int


NEW = Standing()


class _Clock:
    """Counts for how long one condition is known to have held without being known not to."""

    def __init__(self, lengths: Ints, known: Floats, before: bool, need_ms: int) -> None:
        """lengths: milliseconds before each tick, for which what was known at the tick before it speaks."""
        self._true, self._false = np.flatnonzero(known == 1.0), np.flatnonzero(known == 0.0)
        held = np.zeros(len(known), dtype=bool)
        held[0], held[1:] = before, known[:-1] == 1.0
        self._total = np.cumsum(lengths * held)
        self._need = need_ms
        self._base = 0
        self.counting = False

    def resume(self, standing: Standing) -> None:
        """Go on from what was counted before the first tick."""
        self.counting, self._base = standing.counting, -standing.counted_ms

    def begins(self, at: int) -> int | None:
        """Where the condition begins to hold, from a position on; counting begins there."""
        if self.counting:
            return at
        begin = _first(self._true, at)
        if begin is not None:
            self.counting, self._base = True, int(self._total[begin])
        return begin

    def decides(self, at: int) -> tuple[int | None, bool]:
        """Where counting ends, from a position on, and whether it has come to what is needed; None while it goes on."""
        broken = _first(self._false, at)
        enough = int(np.searchsorted(self._total, self._base + self._need))
        reached = _first(self._true, max(at, enough))
        if reached is not None and (broken is None or reached < broken):
            return reached, True
        self.counting = self.counting and broken is None
        return broken, False

    def left(self) -> tuple[bool, int]:
        """Whether it counts still after the last tick, and how much was counted by then."""
        return self.counting, int(self._total[-1]) - self._base if self.counting else 0


def _first(positions: npt.NDArray[np.intp], at: int) -> int | None:
    found = int(np.searchsorted(positions, at))
    return int(positions[found]) if found < len(positions) else None


def _set_back(standing: Standing, tick: int) -> Standing:
    """The same by a clock that says now what it says: where it had leapt ahead, all that was noted by it goes back with
    it. What was counted stays."""
    ahead = standing.seen_ms - tick
    if ahead <= 0:
        return standing
    since, began = standing.since_ms - ahead, standing.began_ms - ahead
    return replace(standing, since_ms=since, began_ms=began, seen_ms=tick)


def advance(
    standing: Standing, ticks: Ints, truth: Floats, clear: Floats, timing: Timing
) -> tuple[Standing, list[Change]]:
    """Where an instance stands after these ticks, and what changed at which.

    ticks: int64[tick], rising. truth, clear: float64[tick] of 1, 0 and NaN.
    """
    if not len(ticks):
        return standing, []
    standing = _set_back(standing, int(ticks[0]))
    before = standing.seen_ms if standing.seen_ms >= 0 else int(ticks[0])
    lengths = np.minimum(np.diff(ticks, prepend=before), timing.hold_ms)
    clocks = {
        False: _Clock(lengths, truth, standing.holds, timing.for_ms),
        True: _Clock(lengths, clear, standing.clears, timing.clear_for_ms),
    }
    clocks[standing.phase is Phase.FIRING].resume(standing)
    phase, since, began = standing.phase, standing.since_ms, standing.began_ms
    changes: list[Change] = []
    at = 0
    while (begin := clocks[phase is Phase.FIRING].begins(at)) is not None:
        if phase is Phase.INACTIVE:
            phase, since = Phase.PENDING, int(ticks[begin])
            began = since
            changes.append(Change(since, phase, began))
        clock = clocks[phase is Phase.FIRING]
        end, enough = clock.decides(begin)
        if end is None:
            break
        at = end + 1
        if enough or phase is Phase.PENDING:
            clock.counting = False
            phase = Phase.FIRING if enough and phase is Phase.PENDING else Phase.INACTIVE
            since = int(ticks[end])
            changes.append(Change(since, phase, began))
    counting, counted = clocks[phase is Phase.FIRING].left()
    seen, holds, clears = int(ticks[-1]), bool(truth[-1] == 1.0), bool(clear[-1] == 1.0)
    known = not np.isnan(truth[-1])
    return Standing(phase, since, began, counting, counted, seen, holds, clears, bool(known)), changes
