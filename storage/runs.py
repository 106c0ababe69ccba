"""Runs: what a commit writes of them, and questions about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, case, delete, func, or_, select, true, update
from sqlalchemy.sql.dml import Insert

from runs.bounds import LATEST_MS, clipped
from runs.model import Mark, Measured, Run
from runs.subject import Member
from storage import schema
from storage.codec import text_of, value_of
from storage.database import Database
from storage.records import Batch, DetectorState, MarksMoved, PartsMoved, RunFilter

ALERT = schema.tables.tables["alert"]
RUN, PART, MARK = schema.run.c, schema.run_part.c, schema.run_mark.c
AT_ONCE = 500
"""Values of one IN (…)."""
TO_TEXT: Mapping[str, Callable[[Any], Any]] = {
    "engines": lambda engines: text_of([[one.target, one.engine, one.model] for one in engines]),
    "labels": lambda labels: text_of(dict(labels)),
    "tags": lambda tags: text_of(list(tags)),
    "nodes": lambda nodes: None if nodes is None else text_of(list(nodes)),
    "measured": lambda measured: text_of(measured.to_json()),
    "baseline": int,
    "pinned": int,
}
FROM_TEXT: Mapping[str, Callable[[Any], Any]] = {
    "engines": lambda text: tuple(Member(*one) for one in value_of(text)),
    "labels": value_of,
    "tags": lambda text: tuple(value_of(text)),
    "nodes": lambda text: None if text is None else tuple(value_of(text)),
    "measured": lambda text: Measured.from_json(value_of(text)),
    "baseline": bool,
    "pinned": bool,
    **dict.fromkeys(("start_ms", "end_ms", "trim_start_ms", "trim_end_ms"), clipped),
}
"""Fields that are not kept as they are."""
LISTED = ("id", "deployment", "name", "model", "start_ms", "end_ms", "baseline", "pinned", "tags", "labels", "trimmed")
COLUMNS = tuple(one.name for one in fields(Run) if one.name in RUN)


def run_values(run: Run) -> dict[str, Any]:
    """One row of `run`."""
    return {name: TO_TEXT.get(name, _same)(getattr(run, name)) for name in COLUMNS}


def _same(value: Any) -> Any:
    return value


def _run(found: Row[Any]) -> Run:
    return Run(**{name: FROM_TEXT.get(name, _same)(found._mapping[name]) for name in COLUMNS})


class RunWriter:
    """What a batch holds of runs, written inside the transaction of its commit."""

    def __init__(self, database: Database) -> None:
        dialect = database.dialect
        self._run = dialect.upsert(schema.run)
        self._mark = dialect.insert(schema.run_mark)
        self._detector = dialect.upsert(schema.detector)
        self._part = dialect.upsert(schema.run_part)

    def work(self, batch: Batch) -> list[tuple[Insert, list[dict[str, Any]]]]:
        """Statements and their rows."""
        marks = [
            {"run": one.run, "at_ms": one.mark.at_ms, "kind": one.mark.kind, "text": one.mark.text}
            for one in batch.marks
        ]
        states = [{"deployment": one.deployment, "state": text_of(dict(one.state))} for one in batch.detectors]
        parts = [
            {"run": one.run, "kind": one.kind, "revision": one.revision, "data": text_of(one.value)}
            for one in batch.parts
        ]
        work = (
            (self._run, [run_values(one) for one in batch.runs]),
            (self._mark, marks),
            (self._detector, states),
            (self._part, parts),
        )
        return [(statement, rows) for statement, rows in work if rows]

    def rest(self, connection: Connection, batch: Batch) -> None:
        """Marks (and alerts with them) and parts that change their run, deletions, and what became of commands."""
        for marks in batch.marks_moved:
            self._move_marks(connection, marks)
            self._move_alerts(connection, marks)
        for parts in batch.parts_moved:
            self._move_parts(connection, parts)
        if batch.runs_deleted:
            for column in (RUN.id, MARK.run, PART.run):
                connection.execute(delete(column.table).where(column.in_(list(batch.runs_deleted))))
        command = schema.command.c
        for done in batch.commands:
            change = update(schema.command).where(command.id == done.command, command.applied_ms.is_(None))
            emptied = {"payload": text_of({})} if done.spent else {}
            connection.execute(change.values(applied_ms=done.at_ms, error=done.error, **emptied))

    def _move_marks(self, connection: Connection, moved: MarksMoved) -> None:
        chosen = and_(MARK.run == moved.run, MARK.at_ms.between(moved.from_ms, moved.until_ms))
        if moved.kind:
            chosen = and_(chosen, MARK.kind == moved.kind)
        if moved.to is not None:
            query = select(MARK.at_ms, MARK.kind, MARK.text).where(chosen)
            rows = [{**found._mapping, "run": moved.to} for found in connection.execute(query)]
            if rows:
                connection.execute(self._mark, rows)
        connection.execute(delete(schema.run_mark).where(chosen))

    def _move_alerts(self, connection: Connection, moved: MarksMoved) -> None:
        """Alerts that fired then belong to the run that has those minutes now."""
        if moved.to is not None and not moved.kind:
            then = ALERT.c.fired_ms.between(moved.from_ms, moved.until_ms)
            connection.execute(update(ALERT).where(ALERT.c.run == moved.run, then).values(run=moved.to))

    def _move_parts(self, connection: Connection, moved: PartsMoved) -> None:
        chosen = and_(PART.run == moved.run, PART.kind.startswith(moved.prefix, autoescape=True))
        if moved.to is not None:
            found = connection.execute(select(PART.kind, PART.revision, PART.data).where(chosen))
            if rows := [{**one._mapping, "run": moved.to} for one in found]:
                connection.execute(self._part, rows)
        connection.execute(delete(schema.run_part).where(chosen))


def find(connection: Connection, wanted: RunFilter) -> list[Run]:
    """Runs, the newest first."""
    query = select(schema.run).where(_condition(wanted)).order_by(RUN.start_ms.desc(), RUN.id.desc())
    return [run for run in map(_run, connection.execute(query)) if _fits(run, wanted)]


def _condition(wanted: RunFilter) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    if wanted.deployment is not None:
        conditions.append(RUN.deployment == wanted.deployment)
    if wanted.live is not None:
        conditions.append(RUN.end_ms.is_(None) if wanted.live else RUN.end_ms.is_not(None))
    conditions += [
        RUN[name] == int(value)
        for name, value in (("baseline", wanted.baseline), ("pinned", wanted.pinned))
        if value is not None
    ]
    if wanted.end_ms is not None:
        conditions.append(RUN.start_ms <= wanted.end_ms)
    if wanted.start_ms is not None:
        conditions.append(or_(RUN.end_ms.is_(None), RUN.end_ms >= wanted.start_ms))
    return and_(*conditions)


def _fits(run: Run, wanted: RunFilter) -> bool:
    if wanted.tag is not None and wanted.tag not in run.tags:
        return False
    if any(run.labels.get(key) != value for key, value in wanted.labels.items()):
        return False
    if wanted.text is None:
        return True
    sought = wanted.text.casefold()
    return any(sought in one.casefold() for one in (run.name, run.deployment, run.model, run.note, *run.tags))


def one(connection: Connection, number: int) -> Run | None:
    """A run by its number."""
    found = connection.execute(select(schema.run).where(RUN.id == number)).first()
    return None if found is None else _run(found)


def beside(connection: Connection, run: Run) -> tuple[Run | None, Run | None]:
    """The runs of the same deployment before and after a run."""
    here = (RUN.start_ms, RUN.id)
    found: list[Run | None] = []
    for condition, order in (
        (or_(here[0] < run.start_ms, and_(here[0] == run.start_ms, here[1] < run.id)), [one.desc() for one in here]),
        (or_(here[0] > run.start_ms, and_(here[0] == run.start_ms, here[1] > run.id)), list(here)),
    ):
        query = select(schema.run).where(RUN.deployment == run.deployment, condition).order_by(*order).limit(1)
        row = connection.execute(query).first()
        found.append(None if row is None else _run(row))
    return found[0], found[1]


def marks(connection: Connection, number: int) -> list[Mark]:
    """Marks of a run, oldest first."""
    query = select(MARK.at_ms, MARK.kind, MARK.text).where(MARK.run == number)
    return [Mark(*found) for found in connection.execute(query.order_by(MARK.at_ms, MARK.kind, MARK.text))]


def part(connection: Connection, number: int, kind: str) -> tuple[int, Any] | None:
    """(revision, value) of a part of a run; None where there is none yet."""
    found = connection.execute(select(PART.revision, PART.data).where(PART.run == number, PART.kind == kind)).first()
    return None if found is None else (found.revision, value_of(found.data))


def parts(connection: Connection, kind: str, numbers: Sequence[int]) -> dict[int, Any]:
    """A part of several runs, by their number; of those that were changed since it was worked out, none."""
    found: dict[int, Any] = {}
    for low in range(0, len(numbers), AT_ONCE):
        chosen = PART.run.in_(list(numbers[low : low + AT_ONCE]))
        query = select(PART.run, PART.data).join(schema.run, and_(RUN.id == PART.run, RUN.revision == PART.revision))
        query = query.where(PART.kind == kind, chosen)
        found.update((number, value_of(data)) for number, data in connection.execute(query))
    return found


def parts_of(connection: Connection, number: int, prefix: str) -> dict[str, Any]:
    """Parts of a run whose kind begins so, by kind."""
    chosen = and_(PART.run == number, PART.kind.startswith(prefix, autoescape=True))
    query = select(PART.kind, PART.data).where(chosen).order_by(PART.kind)
    return {kind: value_of(data) for kind, data in connection.execute(query)}


def owners(connection: Connection, kind: str) -> list[int]:
    """Numbers of the runs that have a part of this kind, rising."""
    return list(connection.scalars(select(PART.run).where(PART.kind == kind).order_by(PART.run)))


def listed(connection: Connection, kinds: Sequence[str], since_ms: int | None) -> Sequence[Sequence[Any]]:
    """`LISTED` and a part of each kind of runs, the newest first. What is JSON stays text; a part that is not there, or
    of another revision, is None. since_ms: of those that go on or ended since; None: of all that ended.
    """
    part = {kind: schema.run_part.alias(kind) for kind in kinds}
    tables: Any = schema.run
    for kind, own in part.items():
        of = and_(own.c.run == RUN.id, own.c.kind == kind, own.c.revision == RUN.revision)
        tables = tables.outerjoin(own, of)
    wanted = RUN.end_ms.is_not(None) if since_ms is None else or_(RUN.end_ms.is_(None), RUN.end_ms >= since_ms)
    query = select(*map(_shown, LISTED), *(own.c.data for own in part.values())).select_from(tables)
    return connection.execute(query.where(wanted).order_by(RUN.start_ms.desc(), RUN.id.desc())).fetchall()


BEGINS_LATER, ENDS_EARLIER = RUN.trim_start_ms > RUN.start_ms, RUN.trim_end_ms < RUN.end_ms
SHOWN: Mapping[str, ColumnElement[Any]] = {
    "start_ms": case((BEGINS_LATER, RUN.trim_start_ms), else_=RUN.start_ms),
    "end_ms": case((ENDS_EARLIER, RUN.trim_end_ms), else_=RUN.end_ms),
    "trimmed": case((or_(BEGINS_LATER, ENDS_EARLIER), 1), else_=0).label("trimmed"),
}
"""Columns of the list that are no columns of a run: begin and end of `runs.model.Run.stretch`, and whether that is a
part."""


def _shown(name: str) -> ColumnElement[Any]:
    """A column of the list; an instant as `clipped` has it."""
    column: ColumnElement[Any] = SHOWN[name] if name in SHOWN else RUN[name]
    return case((column > LATEST_MS, LATEST_MS), else_=column).label(name) if name.endswith("_ms") else column


def unsettled(connection: Connection, kind: str) -> list[Run]:
    """Runs that ended and whose part of this kind is not there, or of another revision; oldest first."""
    own = and_(PART.run == RUN.id, PART.kind == kind, PART.revision == RUN.revision)
    query = select(schema.run).where(RUN.end_ms.is_not(None), ~select(PART.run).where(own).exists())
    return [_run(found) for found in connection.execute(query.order_by(RUN.start_ms, RUN.id))]


def settle(database: Database, run: Run, found: Mapping[str, Any]) -> bool:
    """Keep parts of a run; False where it was deleted, or changed, meanwhile: then nothing is written."""
    rows = [
        {"run": run.id, "kind": kind, "revision": run.revision, "data": text_of(value)} for kind, value in found.items()
    ]
    statement = database.dialect.upsert(schema.run_part)
    with database.writing() as connection:
        if connection.scalar(select(RUN.revision).where(RUN.id == run.id)) != run.revision:
            return False
        connection.execute(statement, rows)
    return True


def detectors(connection: Connection) -> list[DetectorState]:
    """States of all detectors."""
    table = schema.detector.c
    found = connection.execute(select(table.deployment, table.state).order_by(table.deployment))
    return [DetectorState(deployment, value_of(state)) for deployment, state in found]


def last_number(connection: Connection) -> int:
    """The largest number of a run, 0 of none."""
    return int(connection.scalar(select(func.max(RUN.id))) or 0)


def pinned(connection: Connection) -> list[tuple[int, int]]:
    """(start, end) of the runs whose samples are kept; one that goes on ends far in the future."""
    found = connection.execute(select(RUN.start_ms, RUN.end_ms).where(RUN.pinned == 1).order_by(RUN.start_ms))
    return [(start, 2**62 if end is None else end) for start, end in found]
