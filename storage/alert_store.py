"""The part of the store that knows alerts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alerts.record import Alert, AlertPart, RuleChange, RuleState, Silence
from storage import alerts
from storage.alerts import AlertFilter
from storage.database import Database


class AlertStore:
    """Alerts of a store. All but what is kept as evidence goes through `commit`, with the samples of the same tick."""

    _database: Database

    def alerts(self, wanted: AlertFilter | None = None) -> list[Alert]:
        """Alerts that fired, the newest first."""
        with self._database.reading() as connection:
            return alerts.find(connection, wanted or AlertFilter())

    def alert(self, number: int) -> Alert | None:
        """An alert by its number."""
        with self._database.reading() as connection:
            return alerts.one(connection, number)

    def alert_numbers(self) -> tuple[int, int, int]:
        """The largest number of an alert, of a change of rules, and of a silence; 0 of none."""
        with self._database.reading() as connection:
            return alerts.last_numbers(connection)

    def alert_stamp(self) -> tuple[int, ...]:
        """Another one whenever an alert fires, changes or ends, or a silence is made or ended."""
        with self._database.reading() as connection:
            return alerts.stamp(connection)

    def standings(self) -> list[RuleState]:
        """Where the instances of rules stand, as last committed."""
        with self._database.reading() as connection:
            return alerts.standings(connection)

    def rule_changes(self) -> list[RuleChange]:
        """What people changed of rules, oldest first."""
        with self._database.reading() as connection:
            return alerts.changes(connection)

    def silences(self, from_ms: int | None = None) -> list[Silence]:
        """Silences that are not over by then (None: all), in order of their making."""
        with self._database.reading() as connection:
            return alerts.silences(connection, from_ms)

    def alert_parts(self, number: int) -> dict[str, Any]:
        """What is kept with an alert, by kind."""
        with self._database.reading() as connection:
            return alerts.parts(connection, number)

    def bare_alerts(self, kind: str, fired_before_ms: int, limit: int = 100) -> list[Alert]:
        """Alerts that fired before then and have no part of this kind yet, oldest first."""
        with self._database.reading() as connection:
            return alerts.bare(connection, kind, fired_before_ms, limit)

    def keep_parts(self, found: Sequence[AlertPart]) -> None:
        """Keep something with alerts."""
        if found:
            alerts.keep(self._database, found)
