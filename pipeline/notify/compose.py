"""Messages: what is to be told, in words for people and as JSON for programs. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from alerts.defaults import RUNBOOK
from alerts.message import called
from alerts.notices import Word
from alerts.outbox import Outgoing
from alerts.places import PLACES
from alerts.record import Alert
from alerts.rule import RANK, Rule, Severity
from alerts.together import together
from telemetry import formatting

VERSION = 1
"""Of the JSON; it rises when something that was there is gone, or means another thing."""
LONGEST_TITLE = 160
LONGEST_LINE = 500
ALERT_PAGE, ALERTS_PAGE, RULE_PAGE = "/alerts/{}", "/alerts", "/alerts#rule-{}"
TEST = "This is a test: nobody has to do anything. What fires is told here."
ORDER = {Word.FIRING: 0, Word.STILL: 1, Word.RESOLVED: 2}
HEADS = {Word.FIRING: "FIRING", Word.STILL: "STILL FIRING", Word.RESOLVED: "RESOLVED"}


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it is sent. id: the same whenever it is sent again. payload: the JSON of webhooks. bad: whether it
    tells of something that fires."""

    id: str
    title: str
    body: str
    payload: Mapping[str, Any]
    bad: bool


@dataclass(frozen=True, slots=True)
class Context:
    """What words are made with. web: address of the web page, to which links lead. rules: by name, as they are now."""

    web: str = ""
    rules: Mapping[str, Rule] | None = None

    def link(self, number: int) -> str:
        """Address of an alert's page; of the list for one that nobody could store, which has a number below 0."""
        return self.web.rstrip("/") + (ALERT_PAGE.format(number) if number > 0 else ALERTS_PAGE)

    def runbook(self, alert: Alert) -> str:
        """Link of the rule's runbook, "" where there is none. A paragraph of ours is read where the page tells it."""
        rule = (self.rules or {}).get(alert.rule)
        if rule is None:
            return ""
        told = self.web and rule.runbook == RUNBOOK.format(rule.name)
        return self.web.rstrip("/") + RULE_PAGE.format(rule.name) if told else rule.runbook


def message(wanted: Outgoing, alerts: Mapping[int, Alert], context: Context, most: int) -> Message | None:
    """The message; None when nothing is left to be said. alerts: by number; most: characters of the body."""
    if wanted.words is None:
        return Message(wanted.id, "Tachograph: a test", TEST, _payload(wanted, []), bad=False)
    said = sorted(
        ((alerts[number], word) for number, word in wanted.words if number in alerts),
        key=lambda one: (ORDER[one[1]], -RANK[Severity(one[0].severity)], one[0].id),
    )
    if not said:
        return None
    told = [alert_json(alert, word, context) for alert, word in said]
    bad = any(word is not Word.RESOLVED for _, word in said)
    return Message(wanted.id, title(said), _body(said, context, most), _payload(wanted, told), bad)


def _payload(wanted: Outgoing, told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "version": VERSION,
        "id": wanted.id,
        "channel": wanted.channel,
        "at": wanted.at_ms,
        "test": wanted.is_test,
        "alerts": list(told),
    }


def alert_json(alert: Alert, word: Word, context: Context) -> dict[str, Any]:
    """What a webhook is told of an alert. Instants are epoch milliseconds of the hub's clock."""
    return {
        "id": alert.id,
        "rule": alert.rule,
        "title": alert.title,
        "severity": alert.severity,
        "word": word.value,
        "place": alert.place,
        "labels": labels(alert),
        "values": [dict(value) for value in alert.values],
        "since": alert.began_ms,
        "fired": alert.fired_ms,
        "resolved": alert.ended_ms if word is Word.RESOLVED else None,
        "why_resolved": alert.ended if word is Word.RESOLVED else "",
        "message": alert.message,
        "runbook": context.runbook(alert),
        "link": context.link(alert.id),
    }


def labels(alert: Alert) -> dict[str, str]:
    """Whom it is about, by name: {"node": "spark-07", "gpu": "0"}; with the deployment, where one is known."""
    place = PLACES.get(alert.place)
    names = (place.owner_label, *place.labels) if place is not None else ()
    found = dict(zip(names, alert.key, strict=False))
    return found | ({"deployment": alert.deployment} if alert.deployment else {})


def title(said: Sequence[tuple[Alert, Word]]) -> str:
    """One line: the alert, or how many of what."""
    if len(together(said, _story)) == 1:
        alert, word = said[0]
        more = f" and {len(said) - 1} more" if len(said) > 1 else ""
        return plain(f"{HEADS[word].capitalize()}: {_what(alert)}{more} ({alert.severity})", LONGEST_TITLE)
    counts = [(word.value, sum(one is word for _, one in said)) for word in ORDER]
    told = ", ".join(f"{count} {word}" for word, count in counts if count)
    return plain(f"{len(said)} alerts: {told}; first {_what(said[0][0], 'the cluster')}", LONGEST_TITLE)


def _what(alert: Alert, nobody: str = "") -> str:
    """What is wrong with whom: "GPU hot on spark-07", "Notification channel ops fails"."""
    owner = alert.owner or nobody
    if alert.place == "channel" and owner and "channel" in alert.title:
        return alert.title.replace("channel", f"channel {owner}", 1)
    return f"{alert.title} on {owner}" if owner else alert.title


def _body(said: Sequence[tuple[Alert, Word]], context: Context, most: int) -> str:
    """A paragraph for each, as many as there is room for; of the others how many."""
    found: list[str] = []
    used, left = 0, len(said)
    for story in together(said, _story):
        text = _paragraph(*story[0], context, [alert for alert, _ in story[1:]])
        rest = f"… and {left} more: {context.web.rstrip('/')}/alerts"
        if found and used + len(text) + len(rest) + 4 > most:
            return "\n\n".join([*found, rest])
        found.append(text)
        used, left = used + len(text) + 2, left - len(story)
    return "\n\n".join(found)


def _story(said: tuple[Alert, Word]) -> tuple[tuple[str, ...], int]:
    """In what two words on alerts are the same story, and when it was."""
    alert, word = said
    at_ms = alert.ended_ms if word is Word.RESOLVED and alert.ended_ms is not None else alert.fired_ms
    return (word.value, alert.rule, alert.deployment, alert.severity), at_ms


def _paragraph(alert: Alert, word: Word, context: Context, others: Sequence[Alert] = ()) -> str:
    """others: the same of other things."""
    lines = [plain(f"{HEADS[word]} ({alert.severity}): {alert.message}", LONGEST_LINE)]
    names = "; ".join(dict.fromkeys(map(_whose, others)))
    lines += [plain(f"and on {len(others)} more: {names}", LONGEST_LINE)] if others else []
    lines += [_times(alert, word)]
    runbook = context.runbook(alert)
    lines += [f"Runbook: {plain(runbook, LONGEST_LINE)}"] if runbook and word is not Word.RESOLVED else []
    return "\n".join([*lines, context.link(alert.id)])


def _whose(alert: Alert) -> str:
    """Called as in the sentence of a rule that has none of its own."""
    place = PLACES.get(alert.place)
    return called(place, alert.key) if place is not None else ", ".join(alert.key)


def _times(alert: Alert, word: Word) -> str:
    if word is Word.RESOLVED and alert.ended_ms is not None:
        over, seconds = (
            f"{plain(alert.ended, LONGEST_LINE)}, {_utc(alert.ended_ms)}",
            (alert.ended_ms - alert.fired_ms) / 1000,
        )
        # one that fired by a clock that had leapt ahead ended before that, and nobody knows for how long it did
        return over if seconds < 0 else f"{over}; it fired for {formatting.span(seconds)}"
    return f"since {_utc(alert.began_ms)}, fired {_utc(alert.fired_ms)}"


def _utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def plain(text: str, most: int) -> str:
    """One line without control characters, at most so long.

    >>> plain("no\\r\\n  such\\x00 hook", 9)
    'no such …'
    """
    line = " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).split())
    return line if len(line) <= most else line[: most - 1] + "…"
