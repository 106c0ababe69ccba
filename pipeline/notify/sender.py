"""Sender: takes messages out of the outbox and delivers them, each channel in order, a failing one ever more rarely.

An attempt is noted before it is made, and what came of it after. A sender that is killed in between sends the message
once more, and only once more for that.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Thread

from alerts.notices import Retry, superseded
from alerts.outbox import GIVE_UP_MS, Outgoing, State
from alerts.record import Alert
from alerts.rule import Rule
from pipeline.notify.compose import Context, Message, message
from pipeline.notify.destination import SCHEMES, Destination
from pipeline.notify.errors import UndeliveredError
from storage.errors import StoreError
from storage.store import Store

KEEP_MS = 90 * 86_400_000
"""For so long it is remembered what was told."""
TESTED_MS = 60_000
"""A test that waited longer is not wanted any more."""
Deliver = Callable[[Destination, Message], str]
Rules = Callable[[], Mapping[str, Rule]]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt, until the store has it."""

    channel: str
    state: State
    error: str = ""
    next_ms: int | None = None


@dataclass
class Sender:
    """One store's. deliver: sends a message once; UndeliveredError where it was not taken. rules: as they are now.
    web: address of the web page."""

    store: Store
    destinations: Sequence[Destination]
    deliver: Deliver
    rules: Rules
    web: str = ""
    retry: Retry = field(default_factory=Retry)
    _busy: dict[str, Thread] = field(default_factory=dict)
    _told: dict[str, str] = field(default_factory=dict)
    _unsaid: dict[str, Outcome] = field(default_factory=dict)

    def step(self, now_ms: int) -> None:
        """Begin to deliver what is due, of each channel that is not at it. A slow one keeps no other waiting."""
        waiting: dict[str, list[Outgoing]] = {}
        for one in self.store.outgoing(state=State.WAITING):
            waiting.setdefault(one.channel, []).append(one)
        self._drop_strangers(waiting)
        for destination in self.destinations:
            name = destination.channel.name
            if waiting.get(name) and not (name in self._busy and self._busy[name].is_alive()):
                work = (destination, waiting[name], now_ms)
                # Daemons: one that waits for a receiver must not keep the process from ending.
                self._busy[name] = Thread(target=self._channel, args=work, name=f"notify-{name}", daemon=True)
                self._busy[name].start()

    def finish(self, timeout_s: float | None = None) -> None:
        """Wait for what is under way, for each channel at most so long."""
        for thread in self._busy.values():
            thread.join(timeout_s)

    def tidy(self, now_ms: int) -> int:
        """Forget old messages; how many."""
        return self.store.drop_notices(now_ms - KEEP_MS)

    def _drop_strangers(self, waiting: dict[str, list[Outgoing]]) -> None:
        """Messages of channels that the settings have no more, or that are off; tests are sent all the same."""
        on = {one.channel.name for one in self.destinations if one.channel.enabled}
        known = {one.channel.name for one in self.destinations}
        for name in waiting.keys() - on:
            dropped = [one for one in waiting[name] if not one.is_test or name not in known]
            for one in dropped:
                self.store.settle_notice(one.id, State.DROPPED, "the settings have no such channel that is on")
            waiting[name] = [one for one in waiting[name] if one not in dropped]

    def _channel(self, destination: Destination, waiting: Sequence[Outgoing], now_ms: int) -> None:
        """In a thread: the oldest message that still matters, and all tests."""
        try:
            if self._say_what_came(destination.channel.name):
                return  # what waits is known anew at the next step
            for test in (one for one in waiting if one.is_test):
                self._test(destination, test, now_ms)
            left = self._that_matter([one for one in waiting if not one.is_test], now_ms)
            while left and left[0].due(now_ms) and self._send(destination, left[0], now_ms):
                left = left[1:]
        except StoreError as error:
            log.warning("messages to %s wait: %s", destination.channel.name, error)

    def _that_matter(self, waiting: Sequence[Outgoing], now_ms: int) -> list[Outgoing]:
        """What is left of messages: without what later ones say, and without those that are too old."""
        left: list[Outgoing] = []
        later: list[tuple[int, object]] = []
        for one in reversed(waiting):
            words = superseded(one.words or (), later)  # type: ignore[arg-type]
            later += words
            if not words:
                self.store.settle_notice(one.id, State.DROPPED)
            elif now_ms - one.at_ms >= GIVE_UP_MS:
                self._give_up(one)
            else:
                left.insert(0, replace(one, words=words))
        return left

    def _give_up(self, one: Outgoing) -> None:
        why = one.error or "it was never tried"
        self.store.settle_notice(one.id, State.GIVEN_UP, why)
        log.critical(
            "a message to %s could not be delivered for a day and is given up (%s): alerts %s",
            one.channel,
            why,
            ", ".join(str(number) for number, _ in one.words or ()),
        )

    def _send(self, destination: Destination, one: Outgoing, now_ms: int) -> bool:
        """Whether the channel takes more."""
        known = {number: alert for number, _ in one.words or () if (alert := self._alert(number)) is not None}
        made = message(one, known, Context(self.web, self.rules()), SCHEMES[destination.scheme].most)
        if made is None:
            self.store.settle_notice(one.id, State.DROPPED)
            return True
        next_ms = now_ms + self.retry.after(one.attempts + 1)
        if not self.store.claim_notice(one, now_ms, next_ms):
            return False
        try:
            self.deliver(destination, made)
        except UndeliveredError as error:
            self._came(one, Outcome(one.channel, State.WAITING, str(error), next_ms))
            self._tell(destination, str(error))
            return False
        self._came(one, Outcome(one.channel, State.SENT))
        self._tell(destination, "")
        return True

    def _alert(self, number: int) -> Alert | None:
        return self.store.alert(number)

    def _test(self, destination: Destination, one: Outgoing, now_ms: int) -> None:
        if now_ms - one.at_ms > TESTED_MS:
            self.store.settle_notice(one.id, State.FAILED, "nobody sent it within a minute")
            return
        made = message(one, {}, Context(self.web), SCHEMES[destination.scheme].most)
        if made is None or not self.store.claim_notice(one, now_ms, now_ms + TESTED_MS):
            return
        try:
            said = self.deliver(destination, made)
        except UndeliveredError as error:
            self._came(one, Outcome(one.channel, State.FAILED, str(error)))
        else:
            self._came(one, Outcome(one.channel, State.SENT, said))

    def _came(self, one: Outgoing, outcome: Outcome) -> None:
        """Note what came of an attempt. Where the store cannot take it now, it is noted before anything is sent again:
        a full disk must not make one message a hundred."""
        self._unsaid[one.id] = outcome
        self._say_what_came(one.channel)

    def _say_what_came(self, channel: str) -> int:
        """Bring to the store what it has not got yet of a channel; how much that was."""
        found = [(identity, one) for identity, one in [*self._unsaid.items()] if one.channel == channel]
        for identity, one in found:
            self.store.settle_notice(identity, one.state, one.error, one.next_ms)
            del self._unsaid[identity]
        return len(found)

    def _tell(self, destination: Destination, problem: str) -> None:
        """Log what changed: a channel that fails, and one that works again."""
        name = destination.channel.name
        if problem and self._told.get(name) != problem:
            log.error("channel %s (%s) does not take messages: %s", name, destination.mask, problem)
        elif not problem and self._told.get(name):
            log.warning("channel %s (%s) takes messages again", name, destination.mask)
        self._told[name] = problem


def named(destinations: Iterable[Destination], name: str) -> Destination | None:
    """The destination of a channel."""
    return next((one for one in destinations if one.channel.name == name), None)
