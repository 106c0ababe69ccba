"""Alerts that ended a moment ago: what they led to may come to fire only now. Pure.

A node falls silent, is back, and only then its engine is known to be gone: that follows from the silence, though it is
over by then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from alerts.causes import LAG_MS, Firing, causes, later
from alerts.machine import Standing
from alerts.places import Members
from alerts.record import Alert
from alerts.rule import Rule

WELL = "it is well again"
"""Why an alert is over whose end was seen."""
LATELY_MS = 180_000
"""What ended longer ago is not looked at: nothing that began within `LAG_MS` of it takes longer to fire."""


class Lately:
    """The alerts of a collector that ended lately, by rule and instance."""

    def __init__(self, ended: Iterable[Alert] = ()) -> None:
        self._ended: dict[Firing, Alert] = {}
        for alert in sorted(ended, key=lambda one: one.ended_ms or 0):
            self.over(alert)

    def over(self, alert: Alert) -> None:
        """An alert has ended. What is watched no more, or was changed, was not known to be over, and is left out."""
        if alert.ended == WELL:
            self._ended[alert.rule, alert.key] = alert

    def led_to(
        self,
        fires: Mapping[Firing, Alert],
        rules: Mapping[str, Rule],
        members: Members,
        standings: Mapping[Firing, Standing],
        now_ms: int,
    ) -> dict[Firing, int]:
        """For alerts that fire the number of the one that explains them and is over. fires: all, also those that one
        which fires explains; of these and of those that have a cause already nothing is said."""
        self._ended = {
            where: one for where, one in self._ended.items() if 0 <= now_ms - (one.ended_ms or 0) <= LATELY_MS
        }
        ended = {where: one for where, one in self._ended.items() if where not in fires}
        open_now = {where for where, one in fires.items() if one.cause is None}
        if not ended or not open_now:
            return {}
        explained = causes(fires.keys(), rules, members, standings)
        found = causes(fires.keys() | ended.keys(), rules, members, standings)
        return {
            where: ended[cause].id
            for where, cause in found.items()
            if where in open_now and where not in explained and cause in ended and _led(ended[cause], fires[where])
        }


def _led(cause: Alert, then: Alert) -> bool:
    """Whether one began before the other was over for longer than may lie between the two, and not well before it."""
    return then.began_ms <= (cause.ended_ms or 0) + LAG_MS and not later(cause.began_ms, then.began_ms)
