"""What is kept of notices: the message as it waits, is delivered or given up, and what a channel was told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from alerts.notices import Memory, Told, Word

GIVE_UP_MS = 24 * 3_600_000
"""Age at which a message that cannot be delivered is given up."""
OVERDUE_MS = 120_000
"""A message that waits for so long says that nobody delivers, or nobody listens."""
FAILED = 2
"""Attempts in vain after which a channel is called failing: one that starts anew is no reason to wake anybody."""


class State(Enum):
    """What became of a message. dropped: nothing of it matters any more, since later ones said it, or its channel is
    gone. failed: of a test, which is tried once."""

    WAITING = "waiting"
    SENT = "sent"
    DROPPED = "dropped"
    GIVEN_UP = "given up"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message. words: (alert, word), None of a test. next_ms: not tried before then. tried_ms: when it was last.

    error: why it was not delivered then; of a test that was, what came of it.
    """

    id: str
    channel: str
    at_ms: int
    words: tuple[tuple[int, Word], ...] | None
    state: State = State.WAITING
    attempts: int = 0
    next_ms: int = 0
    tried_ms: int | None = None
    error: str = ""

    def due(self, now_ms: int) -> bool:
        """Whether it may be tried. A clock that was set back since the last attempt tells nothing: then it is."""
        return self.next_ms <= now_ms or (self.tried_ms or 0) > now_ms

    @property
    def is_test(self) -> bool:
        """Whether somebody only wants to see that the channel works."""
        return self.words is None


@dataclass(frozen=True, slots=True)
class ChannelMemory:
    """What a channel was told, as it is kept."""

    channel: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Account:
    """How delivery to a channel goes. waiting: messages; held: alerts that the limit of messages in an hour holds back.
    failing: its last message was given up, was tried twice in vain, or waits for long."""

    channel: str
    last_sent_ms: int | None = None
    last_error: str = ""
    last_error_ms: int | None = None
    waiting: int = 0
    failing: bool = False
    held: int = 0


def account(channel: str, found: Sequence[Outgoing], now_ms: int) -> Account:
    """How it goes, out of a channel's messages."""
    sent = max((one.tried_ms or 0 for one in found if one.state is State.SENT), default=None)
    wrong = max(
        (one for one in found if one.error and one.state not in (State.SENT, State.DROPPED)),
        key=lambda one: one.tried_ms or 0,
        default=None,
    )
    real = [one for one in found if not one.is_test]
    waiting = [one for one in real if one.state is State.WAITING]
    stuck = any((one.error and one.attempts >= FAILED) or now_ms - one.at_ms > OVERDUE_MS for one in waiting)
    done = [one for one in real if one.state in (State.SENT, State.GIVEN_UP)]
    lost = bool(done) and max(done, key=lambda one: one.tried_ms or one.at_ms).state is State.GIVEN_UP
    return Account(
        channel,
        sent,
        wrong.error if wrong else "",
        wrong.tried_ms if wrong else None,
        len(waiting),
        stuck or lost,
    )


def words_json(words: Sequence[tuple[int, Word]] | None) -> list[list[Any]] | None:
    """[[alert, word], …]."""
    return None if words is None else [[number, word.value] for number, word in words]


def words_of(found: Sequence[Sequence[Any]] | None) -> tuple[tuple[int, Word], ...] | None:
    """What `words_json` wrote."""
    return None if found is None else tuple((number, Word(word)) for number, word in found)


HELD = "held back"
"""In place of a word: something of this alert is due, and waits."""


def told_json(told: Mapping[int, Told], held: Mapping[int, int] | None = None) -> list[list[Any]]:
    """[[alert, word, at_ms], …], by alert; then [alert, "held back", since_ms] of what waits."""
    words = [[number, last.word.value, last.at_ms] for number, last in sorted(told.items())]
    return words + [[number, HELD, since_ms] for number, since_ms in sorted((held or {}).items())]


def told_of(found: Sequence[Sequence[Any]]) -> dict[int, Told]:
    """The words of what `told_json` wrote."""
    return {number: Told(Word(word), at_ms) for number, word, at_ms in found if word != HELD}


def held_of(found: Sequence[Sequence[Any]]) -> dict[int, int]:
    """What `told_json` wrote that waits, and since when."""
    return {number: since_ms for number, word, since_ms in found if word == HELD}
