"""Hours: which are sealed, which are not, and which should be."""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterator
from itertools import islice
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, case, func, literal_column, select

from storage import edition, schema
from storage.asking import fetched, scalar, scalars
from storage.chunks import FORGOTTEN
from storage.hot import FIRST
from storage.intervals import stretches
from storage.read import AT_ONCE, HOT
from storage.records import Clock
from storage.sealed import CLOCK, parts
from telemetry.summary import HOUR_MS, hour_of

SETTLED_MS = 300_000
"""So long after its end an hour is sealed: what is late comes in between."""
MOST_KNOWN = 100
"""Hours of which it is remembered that they are sealed."""
LOG = schema.commit_log.c
LATE = literal_column("late") == literal_column("1")
"""Written so that the index of the late ones is used."""


ANY_HOUR = CLOCK.hour + literal_column("0")
"""The hour of a late one, so written, and the order so chosen, that the index of the late ones is taken: another would
be gone through for the whole range."""
FROM: BindParameter[Any] = bindparam("first")
TO: BindParameter[Any] = bindparam("last")
NAMES = select(schema.layout.c.target).distinct()
ENDS = [select(edge(column)) for edge in (func.min, func.max) for column in (CLOCK.hour, HOT.tick)]
GIVEN_UP = (
    select(CLOCK.hour)
    .where(CLOCK.hour >= FROM, CLOCK.hour <= TO, CLOCK.codec == FORGOTTEN)
    .where(CLOCK.first_tick <= TO, CLOCK.last_tick >= bindparam("start"))
    .limit(1)
)
LATE_HOURS = (
    select(CLOCK.target, CLOCK.hour).where(LATE, ANY_HOUR >= FROM, ANY_HOUR <= TO).order_by(CLOCK.target, CLOCK.hour)
)
SEALED_FOR = select(CLOCK.target).where(CLOCK.hour == bindparam("hour"))
FIRST_ROW = FIRST.where(HOT.tick >= FROM, HOT.tick <= TO)
NEWEST_COMMIT, OLDEST_COMMIT = select(func.max(LOG.sequence)), select(func.min(LOG.sequence))
COMMITTED = (
    select(LOG.sequence).where(LOG.sequence > bindparam("after"), LOG.first_tick <= TO, LOG.last_tick >= FROM).limit(1)
)
ROW_OF = (
    select(HOT.tick)
    .where(HOT.tick >= FROM, HOT.tick <= TO, HOT.target.in_(bindparam("names", expanding=True)))
    .limit(1)
)
GONE = func.sum(case((CLOCK.codec == FORGOTTEN, 1), else_=0))
STATES = (
    select(CLOCK.hour, func.count(), func.sum(CLOCK.n), func.min(CLOCK.first_tick), func.max(CLOCK.last_tick), GONE)
    .where(CLOCK.hour >= FROM, CLOCK.hour <= TO, CLOCK.target.in_(bindparam("names", expanding=True)))
    .group_by(CLOCK.hour)
)
"""Questions that are asked again and again are put together once: that takes five times as long as to ask them."""


def sealed(connection: Connection, start: int, end: int) -> list[Clock]:
    """Sealed hours that overlap start ≤ t ≤ end, by hour and target."""
    query = select(CLOCK.target, CLOCK.hour, CLOCK.n, CLOCK.first_tick, CLOCK.last_tick, CLOCK.late, CLOCK.codec)
    found = connection.execute(
        query.where(CLOCK.hour >= hour_of(start), CLOCK.hour <= end).order_by(CLOCK.hour, CLOCK.target)
    )
    return [
        Clock(target, hour, n, first, last, bool(late), codec == FORGOTTEN)
        for target, hour, n, first, last, late, codec in found.all()
    ]


def extent(connection: Connection) -> tuple[int, int] | None:
    """(first, last): no row and no summary lies outside; None where there is nothing. Ends of indexes, so that it takes
    no time however much there is."""
    told, row, hour, newest = (scalar(connection, query) for query in ENDS)
    first = [one for one in (told, row) if one is not None]
    last = [one for one in (None if hour is None else hour + HOUR_MS - 1, newest) if one is not None]
    return (min(first), max(last)) if first and last else None


def forgotten(connection: Connection, start: int, end: int) -> bool:
    """Whether samples of start ≤ tick ≤ end were given up, so that only summaries tell of them."""
    return bool(fetched(connection, GIVEN_UP, {"first": hour_of(start), "start": start, "last": end}))


def unsealed(connection: Connection, start: int, end: int) -> list[tuple[str, int]]:
    """(target, hour) of rows that no summary tells, or not all of them, in hours that overlap the range, oldest first.

    No two of its questions need to be of one state of the database: what is sealed meanwhile may be in the answer.
    """
    first, last = hour_of(start), hour_of(end)
    names = set(scalars(connection, NAMES))
    late = connection.execute(LATE_HOURS, {"first": first, "last": last}).all()
    found = {(target, hour) for target, hour in late if target in names}
    for hour in hours_of_rows(connection, first, last + HOUR_MS - 1):
        missing = names - set(connection.scalars(select(CLOCK.target).where(CLOCK.hour == hour)))
        found |= {(target, hour) for target in _present(connection, hour, missing)}
    return sorted(found, key=lambda one: (one[1], one[0]))


def unsealed_of(connection: Connection, start: int, end: int, targets: Collection[str]) -> list[int]:
    """Hours alone of `unsealed`, rising: which targets have the rows takes a look at every row of an hour."""
    first, last, names = hour_of(start), hour_of(end), set(targets)
    late = fetched(connection, LATE_HOURS, {"first": first, "last": last})
    found = {hour for target, hour in late if target in names}
    for hour in hours_of_rows(connection, first, last + HOUR_MS - 1):
        missing = names.difference(scalars(connection, SEALED_FOR, {"hour": hour}))
        if missing and _has_row(connection, hour, missing):
            found.add(hour)
    return sorted(found)


def states(
    connection: Connection, start: int, end: int, targets: Collection[str] | None
) -> dict[int, tuple[Hashable, ...]]:
    """Of each sealed hour that overlaps the range what changes when its samples do (they come, are given up, or stand
    in place of deleted ones), or the interval at which it is known to have been read, by which gaps are told."""
    names = list(scalars(connection, NAMES) if targets is None else targets)
    found: dict[int, tuple[Hashable, ...]] = {}
    dropped = edition.read(connection).dropped
    for some in parts(sorted(names)):
        asked = {"first": hour_of(start), "last": end, "names": some}
        for hour, *state in fetched(connection, STATES, asked):
            found[hour] = (*found.get(hour, (dropped,)), *state)
    for target, others in sorted(stretches(connection, names, start, end).items()):
        for first, last, gap_ms, exact in sorted(others):
            for hour in range(hour_of(max(first, start)), min(last, end + 1), HOUR_MS):
                inside = max(first - hour, 0), min(last - hour, HOUR_MS)
                found[hour] = (*found.get(hour, ()), target, *inside, gap_ms, exact)
    return found


def hours_of_rows(connection: Connection, start: int, end: int) -> Iterator[int]:
    """Hours that have rows of start ≤ tick ≤ end, oldest first: a question each, however many rows."""
    while (tick := scalar(connection, FIRST_ROW, {"first": start, "last": end})) is not None:
        yield hour_of(tick)
        start = hour_of(tick) + HOUR_MS


class Unsealed:
    """Hours whose rows no summary tells yet, or not all of them; of a long backlog only the first few.

    An hour that is sealed for all who have rows in it must be gone through once to know that, because of targets that
    are no more; afterwards only what was committed since is looked at.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._without: dict[int, tuple[int, frozenset[str]]] = {}

    def hours(self, connection: Connection, start: int, end: int, most: int | None) -> list[int]:
        """Start of those that overlap the range, rising; at most so many of each kind."""
        first, last = hour_of(start), hour_of(end)
        late = {hour for _, hour in fetched(connection, LATE_HOURS, {"first": first, "last": last})}
        found = set(sorted(late)[:most])
        names = set(scalars(connection, NAMES))
        rows = (
            hour for hour in hours_of_rows(connection, first, last + HOUR_MS - 1) if self._any(connection, hour, names)
        )
        return sorted(found.union(islice(rows, most)))

    def _any(self, connection: Connection, hour: int, names: set[str]) -> bool:
        """Whether one of the targets has rows in the hour that no summary tells."""
        missing = frozenset(names.difference(scalars(connection, SEALED_FOR, {"hour": hour})))
        if not missing:
            return False
        with self._lock:
            known = self._without.get(hour)
        if known is not None and missing <= known[1] and not _committed(connection, hour, known[0]):
            return False
        sequence = scalar(connection, NEWEST_COMMIT) or 0
        found = _has_row(connection, hour, missing)
        with self._lock:
            self._without.pop(hour, None)
            if not found:
                self._without[hour] = (sequence, missing)
            while len(self._without) > MOST_KNOWN:
                del self._without[next(iter(self._without))]
        return found


def _committed(connection: Connection, hour: int, sequence: int) -> bool:
    """Whether rows of the hour may have come since a commit: the log of commits is shortened at its old end."""
    oldest = scalar(connection, OLDEST_COMMIT)
    if oldest is None or oldest > sequence + 1:
        return True
    asked = {"after": sequence, "first": hour, "last": hour + HOUR_MS - 1}
    return bool(fetched(connection, COMMITTED, asked))


def _has_row(connection: Connection, hour: int, names: Collection[str]) -> bool:
    """Whether any of some targets has a row in the hour."""
    if len(names) < AT_ONCE:
        return bool(fetched(connection, ROW_OF, {"first": hour, "last": hour + HOUR_MS - 1, "names": sorted(names)}))
    return bool(_present(connection, hour, set(names)))


def _present(connection: Connection, hour: int, names: set[str]) -> set[str]:
    """Those of the targets that have rows in the hour."""
    if not names:
        return set()
    query = select(HOT.target).where(HOT.tick >= hour, HOT.tick < hour + HOUR_MS).distinct()
    if len(names) < AT_ONCE:
        query = query.where(HOT.target.in_(sorted(names)))
    return set(connection.scalars(query)) & names


def due(connection: Connection, now_ms: int) -> list[tuple[str, int]]:
    """(target, hour) to seal, oldest first: hours that are over and settled, and have rows that no summary tells."""
    return unsealed(connection, -(2**62), now_ms - SETTLED_MS - HOUR_MS)
