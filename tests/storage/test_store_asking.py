"""Questions straight to the driver: the rows that SQLAlchemy would give, whatever the values and however many."""

from __future__ import annotations

import pytest
from sqlalchemy import bindparam, func, select

from storage import asking, schema
from storage.store import Store
from tests.storage.worlds import NOW, write

HOT = schema.hot.c
SOME = (
    select(HOT.target, HOT.tick)
    .where(HOT.tick >= bindparam("first"), HOT.target.in_(bindparam("names", expanding=True)), HOT.layout > 0)
    .where(HOT.target.not_in(["nobody", "c"]))
    .order_by(HOT.target, HOT.tick)
    .limit(4)
)
COUNT = select(func.count()).select_from(schema.hot)
BROKEN = select(HOT.tick).where(func.no_such_function(HOT.tick) == 1)


@pytest.fixture
def filled(store: Store) -> Store:
    for target in ("a", "b", "c"):
        write(store, target, ["x"], {at: [at] for at in range(3)})
    return store


@pytest.mark.parametrize("names", [["a"], ["b", "a"], ("c", "a"), ["a", "b", "c"], ["nobody"]])
def test_rows(filled: Store, names: list[str]) -> None:
    for first in (NOW, NOW + 1000):
        values = {"first": first, "names": names}
        with filled._database.reading() as connection:
            expected = [tuple(row) for row in connection.execute(SOME, values)]
            assert list(asking.fetched(connection, SOME, values)) == expected
            assert asking.scalars(connection, SOME, values) == [target for target, _ in expected]
            assert asking.scalar(connection, SOME, values) == (expected[0][0] if expected else None)


def test_without_values(filled: Store) -> None:
    with filled._database.reading() as connection:
        assert asking.fetched(connection, COUNT) == [(9,)]
        assert asking.scalar(connection, COUNT) == 9


def test_what_fails_is_the_drivers_own_error(filled: Store) -> None:
    with filled._database.reading() as connection, pytest.raises(asking.failure(connection)):
        asking.fetched(connection, BROKEN)
