"""What a commit does to the tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, bindparam, case, func, insert, select, update
from sqlalchemy.sql.dml import Insert

from storage import schema
from storage.alerts import AlertWriter
from storage.codec import pack, text_of
from storage.database import Database
from storage.late import Late, mark_late
from storage.layouts import Layouts
from storage.notices import NoticeWriter
from storage.read import open_facts
from storage.records import Absence, Batch, Commit, Episode, Event, Fact, Offset, Row, TargetRow
from storage.runs import RunWriter

Values = dict[str, Any]
SEQUENCE = schema.commit_log.c.sequence
LOG = (
    insert(schema.commit_log)
    .values(sequence=select(func.coalesce(func.max(SEQUENCE), 0) + 1).scalar_subquery())
    .returning(SEQUENCE)
)
"""Numbers rise by one, also after a commit that failed: whoever follows takes a missing one for rows it did not see."""

FACT = schema.fact.c
END_FACT = (
    update(schema.fact)
    .where(FACT.target == bindparam("of"), FACT.name == bindparam("called"), FACT.end_ms.is_(None))
    .values(end_ms=case((FACT.start_ms > bindparam("at"), FACT.start_ms), else_=bindparam("at")))
)


def row_values(row: Row) -> Values:
    """One row of `hot`."""
    return {
        "tick": row.tick,
        "target": row.target,
        "at_ms": row.at_ms,
        "layout": row.layout,
        "data": pack(row.values),
    }


def record_values(record: Absence | Fact | Event | Episode | TargetRow) -> Values:
    """One row of the table of such records: its fields, which have the columns' names. The store numbers events."""
    found = {one.name: getattr(record, one.name) for one in fields(record)}
    if isinstance(record, Absence):
        found["metric"] = record.metric or ""
    elif isinstance(record, Event):
        del found["id"]
        found["labels"] = text_of(dict(record.labels))
    elif isinstance(record, TargetRow):
        found["detail"] = text_of(dict(record.detail))
    return found


class Writer:
    """Writes batches; remembers which facts hold, so that repeating them costs nothing."""

    def __init__(self, database: Database, layouts: Layouts, late: Late) -> None:
        self._database = database
        self._layouts = layouts
        self._late = late
        self._facts: dict[tuple[str, str], Fact] | None = None
        dialect = database.dialect
        self._insert = {table.name: dialect.insert(table) for table in (schema.hot,)}
        kept = (schema.offset, schema.absence, schema.fact, schema.episode, schema.target)
        self._upsert = {table.name: dialect.upsert(table) for table in kept}
        self._runs = RunWriter(database)
        self._alerts = AlertWriter(database)
        self._notices = NoticeWriter(database)

    def commit(self, batch: Batch, now_ms: int) -> Commit:
        """One transaction. Everything that takes time is made ready before the lock is held.

        ValueError for a row that does not fit its layout.
        """
        self._check(batch.rows)
        work = self._work(batch)
        known = self._known_facts() if batch.facts else {}
        news = _news(batch.facts, known)
        ticks = [row.tick for row in batch.rows]
        log = {
            "at_ms": now_ms,
            "first_tick": min(ticks, default=now_ms + 1),
            "last_tick": max(ticks, default=now_ms),
        }
        with self._database.writing() as connection:
            for statement, rows in work:
                connection.execute(statement, rows)
            mark_late(connection, self._late.hours(connection, batch.rows, now_ms))
            for turn in _turns(news):
                self._write_facts(connection, turn)
            self._runs.rest(connection, batch)
            sequence = connection.execute(LOG, log).scalar_one()
        for fact in news:
            _remember(known, fact)
        return Commit(sequence, **log)

    def _check(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if len(row.values) != self._layouts.width(row.layout):
                width = self._layouts.width(row.layout)
                raise ValueError(f"a row of {row.target} has {len(row.values)} values, layout {row.layout} {width}")

    def _work(self, batch: Batch) -> list[tuple[Insert, list[Values]]]:
        upsert = self._upsert
        parts: tuple[tuple[Insert, list[Values]], ...] = (
            (self._insert["hot"], _each(row_values, batch.rows)),
            (upsert["offset"], self._offset_values(batch.offsets)),
            (upsert["absence"], _each(record_values, batch.absences_opened)),
            (upsert["absence"], _each(record_values, batch.absences_closed)),
            (insert(schema.event), _each(record_values, batch.events)),
            (upsert["episode"], _each(record_values, batch.episodes)),
            (upsert["target"], _each(record_values, batch.targets)),
        )
        more = self._runs.work(batch) + self._alerts.work(batch) + self._notices.work(batch)
        return [(statement, rows) for statement, rows in parts if rows] + more

    def _offset_values(self, offsets: Iterable[Offset]) -> list[Values]:
        ids = self._layouts.ids(offset.series for offset in offsets)
        return [
            {"series": ids[offset.series], "tick": offset.tick, "offset": offset.offset, "reason": offset.reason}
            for offset in offsets
        ]

    def _known_facts(self) -> dict[tuple[str, str], Fact]:
        if self._facts is None:
            with self._database.reading() as connection:
                self._facts = {(fact.target, fact.name): fact for fact in open_facts(connection)}
        return self._facts

    def _write_facts(self, connection: Connection, facts: list[Fact]) -> None:
        """Ends what held before and writes what holds now, of facts that are each another's."""
        ends = [{"of": fact.target, "called": fact.name, "at": fact.start_ms} for fact in facts]
        connection.execute(END_FACT, ends)
        connection.execute(self._upsert["fact"], _each(record_values, facts))


def _each(values: Callable[[Any], Values], records: Iterable[Any]) -> list[Values]:
    return [values(record) for record in records]


def _news(facts: Iterable[Fact], known: Mapping[tuple[str, str], Fact]) -> list[Fact]:
    """What changes with each fact in turn: one that goes and comes back in one batch is two changes."""
    seen, news = dict(known), []
    for fact in facts:
        if _is_news(fact, seen.get((fact.target, fact.name))):
            news.append(fact)
            _remember(seen, fact)
    return news


def _turns(facts: Iterable[Fact]) -> list[list[Fact]]:
    """The same facts in as few lots as keep the changes of one fact in order: a statement writes a whole lot."""
    turns: list[list[Fact]] = []
    times: Counter[tuple[str, str]] = Counter()
    for fact in facts:
        turn = times[fact.target, fact.name]
        times[fact.target, fact.name] += 1
        if turn == len(turns):
            turns.append([])
        turns[turn].append(fact)
    return turns


def _is_news(fact: Fact, known: Fact | None) -> bool:
    return fact.end_ms is not None or known is None or known.value != fact.value


def _remember(known: dict[tuple[str, str], Fact], fact: Fact) -> None:
    if fact.end_ms is None:
        known[fact.target, fact.name] = fact
    else:
        known.pop((fact.target, fact.name), None)
