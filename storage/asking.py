"""Questions that are asked again and again, straight to the driver: SQLAlchemy puts each together once.

It takes 80 µs for a question, and 8 for each number of a list in it, which is more than what most of them cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.engine.interfaces import Dialect

Values = Mapping[str, Any]
Lengths = tuple[tuple[str, int], ...]
"""Of lists, by name."""
KNOWN = 256
"""So many questions, with lists of so many lengths, are remembered."""


def fetched(connection: Connection, query: Select[Any], values: Values | None = None) -> Sequence[tuple[Any, ...]]:
    """All rows, as the driver gives them. query: made once, and kept. values: numbers and texts of its parameters, and
    lists of them for expanding ones. What fails does so as the driver's own error, see `failure`."""
    given = values or {}
    lengths = tuple((name, len(one)) for name, one in given.items() if isinstance(one, list | tuple))
    put = _put(query, connection.dialect, lengths)
    cursor = connection.connection.cursor()
    try:
        cursor.execute(put.text, put.arranged(given))
        return cursor.fetchall()
    finally:
        cursor.close()


def scalar(connection: Connection, query: Select[Any], values: Values | None = None) -> Any:
    """The first column of the first row, None without any."""
    rows = fetched(connection, query, values)
    return rows[0][0] if rows else None


def scalars(connection: Connection, query: Select[Any], values: Values | None = None) -> list[Any]:
    """The first column."""
    return [row[0] for row in fetched(connection, query, values)]


def failure(connection: Connection) -> type[Exception]:
    """What the driver raises where the database cannot give an answer."""
    dbapi: Any = connection.dialect.dbapi
    found: type[Exception] = dbapi.DatabaseError
    return found


@dataclass(frozen=True)
class Put:
    """A question for a driver. own: names of its parameters in their order; positional: whether it wants them so.

    lists: names of those that make up a list, by its name. fixed: values of those that nobody gives.
    """

    text: str
    own: Sequence[str]
    positional: bool
    lists: Mapping[str, Sequence[str]]
    fixed: Values

    def arranged(self, values: Values) -> Any:
        """The values as the driver wants them."""
        named = {**self.fixed, **values}
        for name, some in self.lists.items():
            named.update(zip(some, values[name], strict=True))
        return [named[name] for name in self.own] if self.positional else {name: named[name] for name in self.own}


@lru_cache(maxsize=KNOWN)
def _put(query: Select[Any], dialect: Dialect, lengths: Lengths) -> Put:
    compiled = query.compile(dialect=dialect)
    assumed = {name: bind.value for name, bind in compiled.binds.items()} | {name: [0] * n for name, n in lengths}
    state = compiled.construct_expanded_state(assumed)
    assert not any(state.processors.values()), "numbers and texts only"
    own = state.positiontup
    return Put(
        state.statement,
        list(state.parameters) if own is None else own,
        own is not None,
        {name: state.parameter_expansion[name] for name, _ in lengths},
        state.parameters,
    )
