"""Who is told what, and when: out of the alerts that there are and what a channel was told before. Pure.

One message per evaluation and channel, with everything that is due in it. Nothing is told twice, nor what is not known:
an alert that fires on because its node is silent waits until its condition is known to hold again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from alerts.rule import RANK, Severity

HOUR_MS = 3_600_000
PACED = 4
"""Messages in an hour from which on half of them are kept for the rest of it."""


class Word(Enum):
    """What is said of an alert: it fires, it still does, it is over."""

    FIRING = "firing"
    STILL = "still firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Channel:
    """What a channel wants to hear.

    least: the mildest severity. repeat_ms: after which an alert that fires on is told again, 0 for never; one that
    somebody acknowledged is not. resolved: whether ends are told. per_hour: messages in any hour at most, see `_held`;
    what is due beyond that waits, and comes together. gather_ms: what fires within this of the first comes in the same
    message.
    """

    name: str
    least: Severity = Severity.WARNING
    repeat_ms: int = 4 * HOUR_MS
    resolved: bool = True
    per_hour: int = 20
    gather_ms: int = 5_000
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Alert:
    """An alert as far as telling goes.

    over_ms: when it ended, None while it fires. caused: another alert that fires explains it. silenced: somebody does
    not want to hear of it now. known: its condition is known now, not only carried on. channels: those that its rule
    names, all when empty. about: the channel that it is about, which is not told.
    """

    id: int
    severity: Severity
    fired_ms: int
    over_ms: int | None = None
    caused: bool = False
    silenced: bool = False
    acknowledged: bool = False
    known: bool = True
    channels: tuple[str, ...] = ()
    about: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """The last word on an alert to a channel, and when."""

    word: Word
    at_ms: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What a channel was told: of each alert the last word, and when messages went out in the last hour.

    held: alerts of which something is due that the limit of messages in an hour holds back, and since when.
    """

    told: Mapping[int, Told] = field(default_factory=dict)
    sent_ms: tuple[int, ...] = ()
    held: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """One message. id: the same whenever the same words are sent again, so that a receiver can tell a repetition."""

    id: str
    channel: str
    at_ms: int
    words: tuple[tuple[int, Word], ...]


def due(channel: Channel, alerts: Iterable[Alert], memory: Memory, now_ms: int) -> tuple[Notice | None, Memory]:
    """The message that a channel gets now, if any, and what it was told then.

    The order of the alerts changes nothing. What was told of an alert that no longer exists is forgotten. What the
    limit of messages in an hour holds back is told when there is room again; of what came and went meanwhile the end.
    """
    present = sorted(alerts, key=lambda alert: alert.id)
    kept = {alert.id: _by_now(memory.told[alert.id], now_ms) for alert in present if alert.id in memory.told}
    sent = tuple(at for at in memory.sent_ms if now_ms - HOUR_MS < at <= now_ms)
    late = [one for one in present if one.id in memory.held and _hears(channel, one) and not one.caused]
    held = {one.id: memory.held[one.id] for one in late}
    words = [(one, word) for one in present if (word := _word(channel, one, kept.get(one.id), one.id in held, now_ms))]
    if words and _held(channel, sent, now_ms):
        new = {one.id: now_ms for one, word in words if word is not Word.STILL}
        return None, Memory(kept, sent, new | held)
    if not words or _gathering(channel, words, now_ms):
        return None, Memory(kept, sent, held)
    kept |= {alert.id: Told(word, now_ms) for alert, word in words}
    said = tuple((alert.id, word) for alert, word in words)
    left = {number: since for number, since in held.items() if number not in dict(said)}
    notice = Notice(_identity(channel.name, said, now_ms), channel.name, now_ms, said)
    return notice, Memory(kept, (*sent, now_ms), left)


def owed(channel: Channel, memory: Memory) -> set[int]:
    """Numbers of alerts whose end a channel has to hear, should they end."""
    if not channel.enabled:
        return set()
    begun = {number for number, last in memory.told.items() if last.word is not Word.RESOLVED}
    return {*memory.held, *(begun if channel.resolved else ())}


def _by_now(told: Told, now_ms: int) -> Told:
    """What was told by a clock that had leapt ahead was told by now: it is told again so much later than that."""
    return told if told.at_ms <= now_ms else replace(told, at_ms=now_ms)


def _hears(channel: Channel, alert: Alert) -> bool:
    """Whether it is an alert of which a channel wants to be told."""
    mild = RANK[alert.severity] < RANK[channel.least]
    elsewhere = alert.channels and channel.name not in alert.channels
    return channel.enabled and not (mild or elsewhere or channel.name == alert.about)


def _word(channel: Channel, alert: Alert, told: Told | None, held: bool, now_ms: int) -> Word | None:
    """What is due on one alert. held: the limit of messages in an hour has kept something of it back.

    Whoever heard of the begin hears of the end, even if channel or rule say by now that it is told elsewhere.
    """
    if alert.silenced or not channel.enabled:
        return None
    if alert.over_ms is not None:
        ended = told.word is not Word.RESOLVED and channel.resolved if told is not None else held
        return Word.RESOLVED if ended else None
    if alert.caused or not alert.known or not _hears(channel, alert):
        return None
    if told is None or told.word is Word.RESOLVED:
        return Word.FIRING
    again = channel.repeat_ms > 0 and now_ms - told.at_ms >= channel.repeat_ms and not alert.acknowledged
    return Word.STILL if again else None


def _held(channel: Channel, sent: Sequence[int], now_ms: int) -> bool:
    """Whether a message has to wait: half of an hour's go out at once, the others are spread over the hour.

    So what flaps cannot use up the hour in minutes and leave nothing for what matters: of twenty, the next is at most
    six minutes away. Fewer than four all go out at once; what is due then waits for the hour to pass.
    """
    at_once = channel.per_hour if channel.per_hour < PACED else channel.per_hour // 2
    if len(sent) >= channel.per_hour:
        return True
    return len(sent) >= at_once and now_ms - sent[-1] < HOUR_MS / (channel.per_hour - at_once)


def _gathering(channel: Channel, words: Sequence[tuple[Alert, Word]], now_ms: int) -> bool:
    """Whether to wait for what may come along: while all of it is younger than the time to gather. What fired by a
    clock that had leapt ahead is not young."""
    since = [alert.over_ms if alert.over_ms is not None else alert.fired_ms for alert, word in words]
    return all(0 <= now_ms - at < channel.gather_ms for at in since)


def _identity(channel: str, said: tuple[tuple[int, Word], ...], now_ms: int) -> str:
    text = f"{channel} {now_ms} " + " ".join(f"{number}:{word.value}" for number, word in said)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Retry:
    """When a message that did not get through is tried again: after 10 s, 20 s, 40 s … ten minutes."""

    first_ms: int = 10_000
    longest_ms: int = 600_000

    def after(self, attempts: int) -> int:
        """Milliseconds from the last attempt to the next, after so many of them."""
        return int(min(self.first_ms * 2 ** min(max(attempts - 1, 0), 20), self.longest_ms))


def superseded(words: Iterable[tuple[int, Word]], later: Iterable[tuple[int, Word]]) -> tuple[tuple[int, Word], ...]:
    """What of an undelivered message still matters once a later one exists: words on alerts that it says nothing of."""
    spoken = {number for number, _ in later}
    return tuple((number, word) for number, word in words if number not in spoken)
