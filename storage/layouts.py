"""Which series a packed row holds: layouts and series, registered once and remembered."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, bindparam, select

from storage import schema
from storage.asking import fetched
from storage.codec import labels_of, labels_text, text_of, value_of
from storage.database import Database
from storage.errors import StoreError
from storage.remembered import Remembered
from telemetry.model import Series

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Columns:
    """All columns of all layouts, one layout after the other: looked through as arrays, for there may be thousands.

    numbers: of the layouts, rising. targets: names; target: of each layout its place among them. width: its columns.
    owner, column, series: of each column its layout's place, its own place in the row, the number of its series.
    """

    numbers: Ids
    targets: tuple[str, ...]
    target: Ids
    width: Ids
    owner: Ids
    column: Ids
    series: Ids

    def of(self, names: Collection[str] | None) -> npt.NDArray[np.bool_]:
        """bool[layout]: those of these targets, None for all."""
        chosen = None if names is None else frozenset(names)
        mine = np.array([chosen is None or name in chosen for name in self.targets], dtype=bool)
        return np.asarray(mine[self.target])


def _columns(layouts: dict[int, Ids], target: dict[int, str]) -> Columns:
    numbers = sorted(layouts)
    names = tuple(sorted(set(target.values())))
    place = {name: at for at, name in enumerate(names)}
    width = np.array([len(layouts[number]) for number in numbers], dtype=np.int64)
    none = np.zeros(0, np.int64)
    return Columns(
        np.array(numbers, dtype=np.int64),
        names,
        np.array([place[target[number]] for number in numbers], dtype=np.int64),
        width,
        np.repeat(np.arange(len(numbers)), width),
        np.concatenate([none, *(np.arange(len(layouts[number])) for number in numbers)]),
        np.concatenate([none, *(layouts[number] for number in numbers)]),
    )


NEWER = (
    select(schema.layout.c.id, schema.layout.c.target, schema.layout.c.series_ids)
    .where(schema.layout.c.id > bindparam("newest"))
    .order_by(schema.layout.c.id)
)


class Layouts:
    """Memory of the tables `layout` and `series`, which only ever grow."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._series: dict[int, Series] = {}
        self._ids: dict[Series, int] = {}
        self._of_metric: dict[str, list[int]] = {}
        self._layouts: dict[int, Ids] = {}
        self._target: dict[int, str] = {}
        self._tuples: dict[int, tuple[Series, ...]] = {}
        self._numbers: dict[tuple[str, str], int] = {}
        self._widths: dict[int, int] = {}
        self._newest: dict[str, tuple[tuple[Series, ...], int]] = {}
        self._columns: Columns | None = None
        self.remembered = Remembered()

    def number(self, target: str, series: tuple[Series, ...]) -> int:
        """The layout's number; registers it, and its series, on first use."""
        newest = self._newest.get(target)
        if newest is not None and newest[0] is series:
            return newest[1]
        ids = self.ids(series)
        text = text_of([ids[entry] for entry in series])
        number = self._numbers.get((target, text)) or self._register(target, text)
        self._numbers[target, text] = number
        self._widths[number] = len(series)
        self._newest[target] = (series, number)
        return number

    def _register(self, target: str, text: str) -> int:
        row = {"target": target, "digest": hashlib.sha256(text.encode()).hexdigest(), "series_ids": text}
        key = (schema.layout.c.target == target) & (schema.layout.c.digest == row["digest"])
        find = select(schema.layout.c.id).where(key)
        with self._database.reading() as connection:
            number: int | None = connection.scalar(find)
        if number is not None:
            return number
        with self._database.writing() as connection:
            connection.execute(self._database.dialect.insert(schema.layout), row)
            return int(connection.execute(find).scalar_one())

    def ids(self, series: Iterable[Series]) -> dict[Series, int]:
        """Numbers of these series; registers those that are new, in a transaction of its own."""
        wanted = tuple(series)
        if any(entry not in self._ids for entry in wanted):
            with self._database.reading() as connection, self._lock:
                self._load_series(connection)
            self._register_series([entry for entry in wanted if entry not in self._ids])
        return {entry: self._ids[entry] for entry in wanted}

    def _register_series(self, missing: Sequence[Series]) -> None:
        if not missing:
            return
        rows = [
            {"target": entry.target, "metric": entry.metric, "labels": labels_text(entry.labels)} for entry in missing
        ]
        with self._database.writing() as connection:
            connection.execute(self._database.dialect.insert(schema.series), rows)
        with self._database.reading() as connection, self._lock:
            self._load_series(connection)

    def _load_series(self, connection: Connection) -> None:
        table = schema.series
        newest = max(self._series, default=0)
        query = select(table.c.id, table.c.target, table.c.metric, table.c.labels).where(table.c.id > newest)
        for number, target, metric, labels in connection.execute(query.order_by(table.c.id)):
            self._series[number] = Series(target, metric, labels_of(labels))
            self._ids[self._series[number]] = number
            self._of_metric.setdefault(metric, []).append(number)

    def refresh(self, connection: Connection) -> None:
        """Learn the layouts and series that were registered since."""
        with self._lock:
            found = fetched(connection, NEWER, {"newest": max(self._layouts, default=0)})
            if found:
                self._load_series(connection)
                self._columns = None
            for number, target, ids in found:
                self._layouts[number] = np.array(value_of(ids), dtype=np.int64)
                self._target[number] = target

    def series_of(self, number: int) -> tuple[Series, ...]:
        """The series of a layout, in stored order; StoreError when there is no such layout."""
        found = self._tuples.get(number)
        if found is not None:
            return found
        with self._database.reading() as connection:
            self.refresh(connection)
        if number not in self._layouts:
            raise StoreError(f"the store holds no layout {number}")
        return self._tuples.setdefault(number, tuple(self._series[entry] for entry in self._layouts[number].tolist()))

    def width(self, number: int) -> int:
        """How many series a layout has; StoreError when there is no such layout."""
        found = self._widths.get(number)
        return len(self.series_of(number)) if found is None else found

    def columns(self) -> Columns:
        """All columns of all layouts, as of the last refresh; made once for as long as none is new."""
        with self._lock:
            if self._columns is None:
                self._columns = _columns(self._layouts, self._target)
            return self._columns

    def of_metrics(self, names: Collection[str]) -> list[int]:
        """Numbers of the series of these metrics, rising, as of the last refresh."""
        with self._lock:
            return sorted(number for name in frozenset(names) for number in self._of_metric.get(name, ()))

    def series(self) -> dict[int, Series]:
        """Number → series, as of the last refresh."""
        with self._lock:
            return dict(self._series)
