"""Alerts: what a commit writes of them, and questions about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, true
from sqlalchemy.sql.dml import Insert

from alerts.record import MATCHERS, Alert, AlertPart, RuleChange, RuleState, Silence
from alerts.weekly import weekly_kept
from runs.bounds import LATEST_MS
from storage import schema
from storage.codec import text_of, value_of
from storage.database import Database
from storage.records import Batch

TABLES = schema.tables.tables
ALERT, PART, STANDING = TABLES["alert"], TABLES["alert_part"], TABLES["alert_standing"]
CHANGE, SILENCE = TABLES["rule_change"], TABLES["silence"]
COLUMNS = tuple(one.name for one in fields(Alert))
TO_TEXT: Mapping[str, Callable[[Any], Any]] = {
    "key": lambda key: text_of(list(key)),
    "values": lambda values: text_of([dict(one) for one in values]),
}
FROM_TEXT: Mapping[str, Callable[[Any], Any]] = {
    "key": lambda text: tuple(value_of(text)),
    "values": lambda text: tuple(value_of(text)),
}
"""Fields that are not kept as they are."""
WEEKLY = "weekly"
"""Beside the matcher of a silence: in which window of every week it holds."""


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Which alerts; None is any. firing: those that go on, or those that do not. start_ms ≤ … ≤ end_ms: those that
    fired for some of that time."""

    firing: bool | None = None
    rule: str | None = None
    owner: str | None = None
    deployment: str | None = None
    severity: str | None = None
    run: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None
    limit: int = 10_000


def alert_values(alert: Alert) -> dict[str, Any]:
    """One row of `alert`."""
    return {name: TO_TEXT.get(name, _same)(getattr(alert, name)) for name in COLUMNS}


def _same(value: Any) -> Any:
    return value


def _alert(found: Row[Any]) -> Alert:
    return Alert(**{name: FROM_TEXT.get(name, _same)(found._mapping[name]) for name in COLUMNS})


def _silence_values(one: Silence) -> dict[str, Any]:
    matcher: dict[str, Any] = {name: getattr(one, name) for name in MATCHERS if getattr(one, name)}
    if one.weekly is not None:
        matcher[WEEKLY] = one.weekly.to_json()
    plain = ("id", "start_ms", "end_ms", "comment", "by", "made_ms")
    return {**{name: getattr(one, name) for name in plain}, "matcher": text_of(matcher)}


def _part_values(one: AlertPart) -> dict[str, Any]:
    return {"alert": one.alert, "kind": one.kind, "data": text_of(one.value)}


class AlertWriter:
    """What a batch holds of alerts, written inside the transaction of its commit."""

    def __init__(self, database: Database) -> None:
        self._upsert = {table.name: database.dialect.upsert(table) for table in (ALERT, STANDING, CHANGE, SILENCE)}

    def work(self, batch: Batch) -> list[tuple[Insert, list[dict[str, Any]]]]:
        """Statements and their rows."""
        changes = [
            {
                "id": one.id,
                "name": one.name,
                "table": None if one.table is None else text_of(dict(one.table)),
                "at_ms": one.at_ms,
                "by": one.by,
            }
            for one in batch.rule_changes
        ]
        standings = [{"rule": one.rule, "state": text_of(list(one.state))} for one in batch.standings]
        work = (
            ("alert", [alert_values(one) for one in batch.alerts]),
            ("alert_standing", standings),
            ("rule_change", changes),
            ("silence", [_silence_values(one) for one in batch.silences]),
        )
        return [(self._upsert[name], rows) for name, rows in work if rows]


def find(connection: Connection, wanted: AlertFilter) -> list[Alert]:
    """Alerts, the newest first."""
    query = select(ALERT).where(_condition(wanted)).order_by(ALERT.c.fired_ms.desc(), ALERT.c.id.desc())
    found = (_alert(row) for row in connection.execute(query))
    chosen = (one for one in found if wanted.owner is None or one.owner == wanted.owner)
    return [one for one, _ in zip(chosen, range(wanted.limit), strict=False)]


def _condition(wanted: AlertFilter) -> ColumnElement[bool]:
    alert = ALERT.c
    conditions: list[ColumnElement[bool]] = [true()]
    if wanted.firing is not None:
        conditions.append(alert.ended_ms.is_(None) if wanted.firing else alert.ended_ms.is_not(None))
    conditions += [
        alert[name] == getattr(wanted, name)
        for name in ("rule", "deployment", "severity", "run")
        if getattr(wanted, name) is not None
    ]
    if wanted.end_ms is not None:
        conditions.append(alert.fired_ms <= wanted.end_ms)
    if wanted.start_ms is not None:
        conditions.append(or_(alert.ended_ms.is_(None), alert.ended_ms >= wanted.start_ms))
    return and_(*conditions)


def one(connection: Connection, number: int) -> Alert | None:
    """An alert by its number."""
    found = connection.execute(select(ALERT).where(ALERT.c.id == number)).first()
    return None if found is None else _alert(found)


def last_numbers(connection: Connection) -> tuple[int, int, int]:
    """The largest number of an alert, of a change of rules, and of a silence; 0 of none."""
    alert, change, silence = (
        int(connection.scalar(select(func.max(table.c.id))) or 0) for table in (ALERT, CHANGE, SILENCE)
    )
    return alert, change, silence


def stamp(connection: Connection) -> tuple[int, ...]:
    """Count, largest number and sum of revisions of the alerts that fire; likewise of all silences and their ends."""
    firing = select(func.count(), func.max(ALERT.c.id), func.sum(ALERT.c.revision)).where(ALERT.c.ended_ms.is_(None))
    quiet = select(func.count(), func.max(SILENCE.c.id), func.sum(SILENCE.c.end_ms))
    return tuple(int(value or 0) for query in (firing, quiet) for value in connection.execute(query).one())


def standings(connection: Connection) -> list[RuleState]:
    """Where the instances of all rules stand."""
    query = select(STANDING.c.rule, STANDING.c.state).order_by(STANDING.c.rule)
    return [RuleState(rule, value_of(state)) for rule, state in connection.execute(query)]


def changes(connection: Connection) -> list[RuleChange]:
    """What people changed of rules, oldest first."""
    found = connection.execute(select(CHANGE).order_by(CHANGE.c.id)).mappings()
    return [RuleChange(row["id"], row["name"], _table(row["table"]), row["at_ms"], row["by"]) for row in found]


def _table(text: str | None) -> Mapping[str, Any] | None:
    return None if text is None else dict(value_of(text))


def silences(connection: Connection, from_ms: int | None) -> list[Silence]:
    """Silences that are not over by then (None: all), in order of their making."""
    query = select(SILENCE).order_by(SILENCE.c.id)
    if from_ms is not None:
        query = query.where(SILENCE.c.end_ms > from_ms)
    found = (dict(row) for row in connection.execute(query).mappings())
    return [_silence(row) for row in found]


def _silence(row: dict[str, Any]) -> Silence:
    """A row, whatever it says: what cannot be read of it makes it one with a problem, and others hold on."""
    found = value_of(row.pop("matcher"))
    matcher = dict(found) if isinstance(found, Mapping) else {"nothing": found}
    weekly = matcher.pop(WEEKLY, None)
    made = None if weekly is None else weekly_kept(weekly if isinstance(weekly, Mapping) else {})
    unread = tuple(sorted(name for name, text in matcher.items() if name not in MATCHERS or not isinstance(text, str)))
    times = {name: min(row.pop(name), LATEST_MS) for name in ("start_ms", "end_ms")}
    meant = {name: text for name, text in matcher.items() if name not in unread}
    return Silence(**meant, **row, **times, weekly=made, unread=unread)


def parts(connection: Connection, number: int) -> dict[str, Any]:
    """What is kept with an alert, by kind."""
    query = select(PART.c.kind, PART.c.data).where(PART.c.alert == number).order_by(PART.c.kind)
    return {kind: value_of(data) for kind, data in connection.execute(query)}


def bare(connection: Connection, kind: str, fired_before_ms: int, limit: int) -> list[Alert]:
    """Alerts that fired before then and have no part of this kind yet, oldest first."""
    own = and_(PART.c.alert == ALERT.c.id, PART.c.kind == kind)
    query = select(ALERT).where(ALERT.c.fired_ms <= fired_before_ms, ~select(PART.c.alert).where(own).exists())
    return [_alert(row) for row in connection.execute(query.order_by(ALERT.c.fired_ms, ALERT.c.id).limit(limit))]


def keep(database: Database, found: Sequence[AlertPart]) -> None:
    """Keep parts of alerts, in place of those of the same kind."""
    statement = database.dialect.upsert(PART)
    with database.writing() as connection:
        connection.execute(statement, [_part_values(one) for one in found])
