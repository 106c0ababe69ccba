"""Teller: what channels are told in a tick, and what they remember then. No I/O: it is committed with the alerts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from alerts import expression as ex
from alerts import notices
from alerts.given import COMMIT_AGE
from alerts.machine import Standing
from alerts.notices import Channel, Memory, Notice
from alerts.outbox import ChannelMemory
from alerts.places import Key
from alerts.record import Alert, Silence, silenced_by, speaking
from alerts.rule import RANK, Rule, Severity

Standings = Mapping[tuple[str, Key], Standing]


@dataclass
class Spoken:
    """What a tick leads to."""

    notices: list[Notice] = field(default_factory=list)
    memories: list[ChannelMemory] = field(default_factory=list)


class Teller:
    """All channels of a collector."""

    def __init__(self, channels: Iterable[Channel] = ()) -> None:
        self.channels = tuple(channels)
        self._memories: dict[str, Memory] = {}
        self._ended: dict[int, Alert] = {}
        self._forgotten: list[ChannelMemory] = []

    def resume(self, memories: Iterable[ChannelMemory], find: Callable[[int], Alert | None]) -> None:
        """Go on where another collector stopped. find: an alert by its number.

        What a channel heard that is gone or off is forgotten: what waited for it is dropped. Should it come back, what
        fires then is told to it.
        """
        on = {channel.name for channel in self.channels if channel.enabled}
        known = {one.channel: one.memory for one in memories}
        gone = {name: Memory(sent_ms=one.sent_ms) for name, one in known.items() if name not in on}
        self._memories = known | gone
        self._forgotten = [ChannelMemory(name, one) for name, one in gone.items() if one != known[name]]
        owed = (find(number) for number in sorted(self.owed()))
        self._ended = {alert.id: alert for alert in owed if alert is not None and not alert.firing}

    def owed(self) -> set[int]:
        """Numbers of alerts of which a channel has not heard the last."""
        return {number for channel in self.channels for number in notices.owed(channel, self._memory(channel))}

    def tick(
        self,
        tick: int,
        firing: Sequence[Alert],
        changed: Iterable[Alert],
        standings: Standings,
        silences: Sequence[Silence],
        rules: Mapping[str, Rule],
        awaiting: Collection[int] = (),
    ) -> Spoken:
        """What is told. firing: every alert that fires; changed: those that this tick changed, ended ones too.
        awaiting: numbers of alerts whose cause may fire in a moment."""
        forgotten, self._forgotten = self._forgotten, []
        if not self.channels:
            return Spoken(memories=forgotten)
        firing = [alert for alert in firing if not _elsewhere(alert, rules)]
        changed = [alert for alert in changed if not _elsewhere(alert, rules)]
        owed = self.owed()
        self._ended |= {alert.id: alert for alert in changed if not alert.firing}
        self._ended = {number: alert for number, alert in self._ended.items() if number in owed}
        present = [*firing, *self._ended.values()]
        fires = speaking(firing, silences, tick)
        seen = Seen(tick, fires, standings, silences, rules, self._names(), frozenset(awaiting))
        told = [as_told(alert, seen) for alert in present]
        spoken = Spoken(memories=forgotten)
        for channel in self.channels:
            before = self._memory(channel)
            notice, after = notices.due(channel, told, before, tick)
            if notice is not None:
                spoken.notices.append(notice)
            if after != before:
                spoken.memories.append(ChannelMemory(channel.name, after))
                self._memories[channel.name] = after
        return spoken

    def _names(self) -> set[str]:
        return {channel.name for channel in self.channels if channel.enabled}

    def _memory(self, channel: Channel) -> Memory:
        return self._memories.get(channel.name, Memory())


def is_watched(rule: Rule) -> bool:
    """Whether a rule is told by `pipeline.notify.watch` alone: it asks how old the last commit is."""
    return any(reading.metric.name == COMMIT_AGE.name for reading in ex.readings(rule.condition))


def _elsewhere(alert: Alert, rules: Mapping[str, Rule]) -> bool:
    return alert.rule in rules and is_watched(rules[alert.rule])


def _is_told_of(alert: Alert, fires: Mapping[int, str]) -> bool:
    """Whether who hears of an alert's cause hears enough: of one that is graver than its cause a channel must hear that
    takes only what is grave."""
    severity = fires.get(alert.cause or 0)
    return severity is not None and RANK[Severity(severity)] >= RANK[Severity(alert.severity)]


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known at a tick. fires: see `speaking`. channels: names of those that are on. awaiting: numbers of alerts
    whose cause may fire in a moment."""

    tick: int
    fires: Mapping[int, str]
    standings: Standings
    silences: Sequence[Silence]
    rules: Mapping[str, Rule]
    channels: set[str]
    awaiting: frozenset[int] = frozenset()


def as_told(alert: Alert, seen: Seen) -> notices.Alert:
    """An alert as far as telling goes.

    Known is what was looked at in this very tick: a rule that cannot be worked out, or an instance of which nothing is
    heard, carries on what it said last. Of a rule's channels those that are off or not there count for nothing: where
    none is left, all are told, for an alert that nobody hears of is the worse mistake. A channel that fails is not told
    so itself.
    """
    standing, rule = seen.standings.get((alert.rule, alert.key)), seen.rules.get(alert.rule)
    named = rule.channels if rule is not None else ()
    about = alert.owner if alert.place == "channel" else ""
    return notices.Alert(
        alert.id,
        Severity(alert.severity),
        alert.fired_ms,
        alert.ended_ms,
        caused=_is_told_of(alert, seen.fires) or alert.id in seen.awaiting,
        silenced=silenced_by(alert, seen.silences, seen.tick) is not None,
        acknowledged=alert.acknowledged_ms is not None,
        known=standing is not None and standing.holds and standing.seen_ms == seen.tick,
        channels=tuple(name for name in named if name in seen.channels and name != about),
        about=about,
    )
