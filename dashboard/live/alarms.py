"""Alerts that stand for themselves now, for the sentence, the tiles and the menu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from alerts.record import Alert, Silence, speaking
from alerts.rule import RANK, Severity
from alerts.together import together
from dashboard.live.cells import LEVELS, worst
from storage.alerts import AlertFilter
from storage.store import Store

LEVEL_OF = {"critical": "critical", "warning": "warning"}
"""Level of a severity. What is for information alone leaves everything well."""


@dataclass
class Alarms:
    """Alerts that fire, read anew only when something about alerts or silences has changed."""

    stamp: tuple[int, ...] | None = None
    firing: Sequence[Alert] = ()
    silences: Sequence[Silence] = ()

    def at(self, store: Store, now_ms: int) -> tuple[Alert, ...]:
        """Causes that nobody silenced, the gravest first, of those the oldest first."""
        stamp = store.alert_stamp()
        if stamp != self.stamp:
            self.firing, self.silences = store.alerts(AlertFilter(firing=True)), store.silences(now_ms)
            self.stamp = stamp
        return causes(self.firing, self.silences, now_ms)

    def silenced(self, now_ms: int) -> int:
        """How many causes of those that `at` has read fire for more than information and are silenced."""
        return len(quiet(self.firing, self.silences, now_ms))


def causes(firing: Sequence[Alert], silences: Sequence[Silence], now_ms: int) -> tuple[Alert, ...]:
    """Alerts that nobody silenced and that no other such one explains, the gravest first: each as grave as the gravest
    that follows from it."""
    numbers = speaking(firing, silences, now_ms)
    told = [alert for alert in firing if alert.id in numbers]
    found = [_with_effects(alert, told) for alert in told if alert.cause not in numbers]
    return tuple(sorted(found, key=lambda alert: (-LEVELS.index(level_of(alert)), alert.began_ms, alert.id)))


def quiet(firing: Sequence[Alert], silences: Sequence[Silence], now_ms: int) -> tuple[Alert, ...]:
    """Causes that fire for more than information and that somebody silenced; what follows from one is not counted."""
    numbers, fires = speaking(firing, silences, now_ms), {alert.id for alert in firing}
    return tuple(
        alert for alert in firing if alert.id not in numbers and alert.cause not in fires and level_of(alert) != "ok"
    )


def _with_effects(alert: Alert, told: Sequence[Alert]) -> Alert:
    grave = [alert.severity, *(one.severity for one in told if one.cause == alert.id)]
    return replace(alert, severity=max(grave, key=lambda severity: RANK[Severity(severity)]))


def level_of(alert: Alert) -> str:
    """Level of an alert: critical, warning, or ok."""
    return LEVEL_OF.get(alert.severity, "ok")


def counted(alerts: Iterable[Alert]) -> dict[str, int | str]:
    """{causes, level}: how many cards the page of alerts has of causes that are for more than information, and the
    gravest level, as a message has it."""
    grave = [alert for alert in alerts if level_of(alert) != "ok"]
    cards = together(sorted(grave, key=lambda alert: -alert.fired_ms), _story)
    return {"causes": len(cards), "level": worst([level_of(alert) for alert in grave])}


def _story(alert: Alert) -> tuple[tuple[str, str, str, bool], int]:
    """What is the same of alerts that share a card, and when each fired."""
    return (alert.rule, alert.deployment, alert.severity, alert.acknowledged_ms is not None), alert.fired_ms
