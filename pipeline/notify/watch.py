"""Watch: tells that the collector is silent. It cannot tell that itself, so whoever delivers messages looks at what is
committed, by a clock that nobody sets, and reads the rules about it with the machine of all rules.

Nothing of it is stored, since only the collector writes alerts: a watch that starts anew while the collector is silent
tells it once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from alerts import notices
from alerts.book import Book, Turn
from alerts.given import COMMIT_AGE
from alerts.machine import Phase
from alerts.message import message
from alerts.notices import Memory, Notice
from alerts.operands import operands
from alerts.outbox import Outgoing
from alerts.record import Alert, Silence
from alerts.rule import Rule
from alerts.view import View
from pipeline.notify.destination import Destination
from pipeline.notify.teller import Seen, as_told, is_watched
from telemetry.catalog import cluster
from telemetry.frame import Frame

WELL = "something is committed again"
Rules = Mapping[str, Rule]


@dataclass(frozen=True)
class Look:
    """What is seen of a store. sequence: number of the newest commit, None where it cannot be read. interval_s: the
    time between two commits as it should be. rules, silences: as they are now."""

    sequence: int | None
    interval_s: float
    rules: Rules
    silences: Sequence[Silence] = ()


@dataclass
class Due:
    """A message that is to be sent. alerts: those that it tells of, by number."""

    destination: Destination
    outgoing: Outgoing
    alerts: Mapping[int, Alert]


@dataclass
class Watch:
    """One store's."""

    destinations: Sequence[Destination]
    _book: Book = field(default_factory=Book)
    _alerts: dict[str, Alert] = field(default_factory=dict)
    _memories: dict[str, Memory] = field(default_factory=dict)
    _sequence: int | None = None
    _since_s: float | None = None
    _anchor: tuple[float, int] = (0.0, 0)

    def look(self, seen: Look, now_s: float, now_ms: int) -> list[Due]:
        """What is to be told now. now_s: by a clock that only runs; now_ms: by the machine's."""
        if self._since_s is None or (seen.sequence is not None and seen.sequence != self._sequence):
            self._sequence, self._since_s = seen.sequence, now_s
        rules = {name: rule for name, rule in seen.rules.items() if is_watched(rule) and rule.enabled}
        for name in [name for name in {*self._alerts, *self._book.by_rule} if name not in rules]:
            self._alerts.pop(name, None)
            self._book.forget(name)
        tick = self._tick(now_s, now_ms)
        view = _view(max(now_s - self._since_s - seen.interval_s, 0.0), tick)
        for turn in self._book.read(rules.values(), view):
            self._turn(list(seen.rules).index(turn.rule), rules[turn.rule], turn, view)
        return self._told(rules, seen.silences, tick)

    def _tick(self, now_s: float, now_ms: int) -> int:
        """Now, by the machine's clock as it was when this began to be counted: it may be set meanwhile."""
        if not self._alerts and not self._book.by_rule:
            self._anchor = (now_s, now_ms)
        return self._anchor[1] + round((now_s - self._anchor[0]) * 1000)

    def _turn(self, place: int, rule: Rule, turn: Turn, view: View) -> None:
        change = turn.change
        if change.phase is Phase.INACTIVE and turn.rule in self._alerts:
            self._alerts[turn.rule] = replace(self._alerts[turn.rule], ended_ms=change.at_ms, ended=WELL)
        elif change.phase is Phase.FIRING:
            read = operands(rule.condition, rule.place, turn.key, view)
            lasted = (change.at_ms - change.began_ms) / 1000
            self._alerts[turn.rule] = Alert(
                -1 - place,
                rule.name,
                rule.title,
                rule.place.name,
                turn.key,
                rule.severity.value,
                "",
                change.began_ms,
                change.at_ms,
                message(rule, turn.key, read, lasted),
                tuple(one.to_json() for one in read),
            )

    def _told(self, rules: Rules, silences: Sequence[Silence], now_ms: int) -> list[Due]:
        names = {one.channel.name for one in self.destinations if one.channel.enabled}
        firing = {one.id: one.severity for one in self._alerts.values() if one.firing}
        seen = Seen(now_ms, firing, self._book.standings, silences, rules, names)
        present = [as_told(alert, seen) for alert in self._alerts.values()]
        found = []
        for destination in self.destinations:
            name = destination.channel.name
            notice, self._memories[name] = notices.due(
                destination.channel, present, self._memories.get(name, Memory()), now_ms
            )
            if notice is not None:
                found.append(Due(destination, _outgoing(notice), {one.id: one for one in self._alerts.values()}))
        self._forget()
        return found

    def _forget(self) -> None:
        """Alerts that are over, and of which no channel has to hear the end."""
        owed = {
            number
            for one in self.destinations
            for number in notices.owed(one.channel, self._memories[one.channel.name])
        }
        self._alerts = {name: one for name, one in self._alerts.items() if one.firing or one.id in owed}


def _outgoing(notice: Notice) -> Outgoing:
    return Outgoing(notice.id, notice.channel, notice.at_ms, notice.words)


def _view(age_s: float, now_ms: int) -> View:
    given = {COMMIT_AGE.name: {cluster.CLUSTER_TARGET: np.array([age_s])}}
    none = np.zeros((0, 1))
    frame = Frame(np.array([now_ms], dtype=np.int64), (), none, none, none.astype(bool), np.zeros(0))
    return View(frame, given=given)
