"""Doubts: a number of a counter that cannot follow from the one before is unknown; those after it say what it was.

The rule, for one line of a page. A number follows when what the counter would have gained by it could have been counted
since the last number (`pipeline.ranges`), and, where it fell without a word of a restart, when the fall is like one: to
less than half, not within seconds while other counters of the same engine go on. What does not follow is doubted:
unknown, and remembered.

- If the next number goes on from the doubted one, the counter stands at another level: a new base, by which nothing is
  gained and which no rate may cross.
- If it goes on from the last good one, the doubted number was a fault of one page, and the counter goes on.
- Else it is doubted in its turn.

A level may turn out to be the fault: the line that was left is remembered, and where the counter leaps back to it, it
goes on from there, with what it gained meanwhile, which no rate may cross either. A counter that comes to that line
step by step only passes it: it began anew and has counted as much again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from telemetry.counters import Step

QUICK_S = 10.0
"""No engine starts anew within this time and comes far."""
HELD_S = 60.0
"""So long a small fall within one process is held at the number before; and so long it may turn out that a counter
which fell without a word of a restart did not begin anew, but was wrong for a page."""
LEFT_S = 3600.0
"""So long the line is remembered that a counter left for another level."""


@dataclass(frozen=True, slots=True)
class Point:
    """A number on a page, and when that was asked for; of a line that was left, the unwrapped value it stood for, for
    how long it is remembered, and the first number elsewhere."""

    raw: float
    asked_ms: float
    value: float = 0.0
    lasts_s: float = LEFT_S
    elsewhere: float = 0.0


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is more than plain progress.

    asked_ms, arrived_ms: of its page. last: the last good number of its line, None before the first; elapsed_s: what
    may have passed since at most, or since the page before. step, gained: what it would be (`counters.judge`). most:
    what the line can have gained in so many seconds. bare: it is lower, and no word of a restart came with it. alone:
    other counters of its engine went on meanwhile.
    """

    raw: float
    asked_ms: float
    arrived_ms: float
    last: Point | None
    elapsed_s: float
    step: Step
    gained: float
    most: Callable[[float], float]
    bare: bool = False
    alone: bool = False

    def continues(self, point: Point) -> bool:
        """Whether this number can be where the counter is after it was at that point."""
        return 0.0 <= self.raw - point.raw <= self.most(self._since_s(point))

    def returns(self, left: Point) -> bool:
        """Whether it is back at the line that was left, from a level above or below it."""
        if self.last is None or not (self.raw < self.last.raw or self.last.raw < left.raw) or self.passes(left):
            return False
        return self._since_s(left) <= left.lasts_s and self.continues(left)

    def passes(self, left: Point) -> bool:
        """Whether it had come more than half of the way back by itself before it reached the line that was left."""
        if self.last is None or not self.last.raw < left.raw <= self.raw:
            return False
        return self.last.raw > (left.raw + left.elsewhere) / 2.0

    def follows(self) -> bool:
        """Whether it can follow from the last good one, as the step that it is judged to be."""
        if self.last is not None and self.step is Step.HELD:
            small = self.last.raw - self.raw <= min(self.last.raw / 2.0, self.most(0.0))
            return small and self.elapsed_s <= HELD_S
        if self.last is not None and self.bare:
            quick = self.elapsed_s <= QUICK_S and self.raw > self.last.raw / 2.0
            if quick or (self.alone and self.elapsed_s <= HELD_S):
                return False
        return self.gained <= self.most(self.elapsed_s)

    def _since_s(self, point: Point) -> float:
        return (self.arrived_ms - point.asked_ms) / 1000.0


@dataclass
class Doubts:
    """Of one target, by line. doubted: numbers that did not follow. left: lines that counters left."""

    doubted: dict[str, Point] = field(default_factory=dict)
    left: dict[str, Point] = field(default_factory=dict)

    def __contains__(self, line: object) -> bool:
        return line in self.doubted or line in self.left

    def __bool__(self) -> bool:
        return bool(self.doubted or self.left)

    def settle(self, line: str, number: Number) -> tuple[float, Step] | None:
        """What the line gains by a number, and by what step; None where the number is unknown, being doubted."""
        doubted, left = self.doubted.pop(line, None), self.left.get(line)
        if left is not None and number.last is not None and number.returns(left):
            del self.left[line]
            return max(left.value + number.raw - left.raw - number.last.value, 0.0), Step.LEVEL
        if left is not None and number.passes(left):
            del self.left[line]
        if doubted is not None and number.continues(doubted) and not _fault_below(doubted, number):
            if number.last is not None:
                self.left.setdefault(line, replace(number.last, elsewhere=doubted.raw))
            return 0.0, Step.LEVEL
        if not number.follows():
            self.doubted[line] = Point(number.raw, number.asked_ms)
            return None
        if number.step not in (Step.FORWARD, Step.HELD):
            self.left.pop(line, None)
        if number.bare and number.last is not None:
            self.left[line] = replace(number.last, lasts_s=HELD_S, elsewhere=number.raw)
        return number.gained, number.step

    def expire(self, now_ms: float) -> None:
        """Lines that were left so long ago that no number can be back at them are not remembered any more."""
        for line in [line for line, left in self.left.items() if (now_ms - left.asked_ms) / 1000.0 > left.lasts_s]:
            del self.left[line]

    def forget(self, line: str) -> None:
        """The line is not remembered any more."""
        self.doubted.pop(line, None)
        self.left.pop(line, None)


def _fault_below(doubted: Point, number: Number) -> bool:
    """Whether the counter went on over a doubted number that was lower than it had been."""
    below = number.last is not None and doubted.raw < number.last.raw
    return below and number.step is Step.FORWARD and number.follows()
