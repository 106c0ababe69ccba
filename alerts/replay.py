"""When a rule would have fired: the same book and machine as live, fed with the past in slices. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from alerts.book import Book
from alerts.machine import Phase
from alerts.places import Key
from alerts.rule import Rule
from alerts.view import View

DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
MOST = 10_000
"""Firings that are told; a rule with more is wrong."""


@dataclass(frozen=True, slots=True)
class Fired:
    """It would have fired. ended_ms: None where it still did at the end."""

    key: Key
    began_ms: int
    fired_ms: int
    ended_ms: int | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """fired: by time. per_week: how often on average, None of less than a day, which says nothing of a week. cut:
    whether there were more than are told."""

    start_ms: int
    end_ms: int
    fired: tuple[Fired, ...]
    per_week: float | None
    cut: bool


class Past(Protocol):
    """Where the past comes from, slice by slice."""

    def slices(self) -> Iterable[tuple[int, int]]:
        """Closed ranges of ticks, oldest first, that follow each other."""

    def quiet(self, start_ms: int, end_ms: int, /) -> bool:
        """Whether the rule's condition surely held nowhere in a slice."""

    def view(self, start_ms: int, end_ms: int) -> View:
        """What could be read at the ticks of a slice."""


def replay(rule: Rule, past: Past, hold_ms: int = 0) -> Replayed:
    """When a rule would have fired, as if it was on. A slice that is surely quiet is not read while nothing is under
    way: what follows from it is nothing. hold_ms: see `Book`."""
    book, going, found = Book(hold_ms=hold_ms), dict[Key, Fired](), list[Fired]()
    start = end = None
    for low, high in past.slices():
        start, end = low if start is None else start, high
        if not book.by_rule and past.quiet(low, high):
            continue
        for turn in book.read([rule], past.view(low, high)):
            change = turn.change
            if change.phase is Phase.FIRING:
                going[turn.key] = Fired(turn.key, change.began_ms, change.at_ms, None)
            elif change.phase is Phase.INACTIVE and (one := going.pop(turn.key, None)) is not None:
                found.append(Fired(one.key, one.began_ms, one.fired_ms, change.at_ms))
        if len(found) + len(going) > MOST:
            break
    every = sorted([*found, *going.values()], key=lambda one: (one.fired_ms, one.key))
    span = 0 if start is None or end is None else end - start + 1
    per_week = len(every) * WEEK_MS / span if span >= DAY_MS else None
    return Replayed(start or 0, end or 0, tuple(every[:MOST]), per_week, len(every) > MOST)
