"""Stores for tests, of every engine: `url` names a database that nobody has written to yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage.store import Store, open_store
from tests.storage.engines import ENGINES
from tests.storage.server import Server, programs
from tests.storage.worlds import NOW


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running PostgreSQL server, one for all tests."""
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL is not installed")
    one = Server(found)
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    return str(request.param)


@pytest.fixture
def url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a database that nobody has written to yet."""
    if engine == "sqlite":
        return f"sqlite:///{tmp_path}/store.db"
    server: Server = request.getfixturevalue("server")
    return server.url(schema=server.new("SCHEMA"))


@pytest.fixture
def opened(url: str) -> Iterator[Callable[..., Store]]:
    """Opens stores at `url`, and closes them at the end."""
    stores: list[Store] = []

    def one(*, writer: bool = True, busy_ms: int = 2000) -> Store:
        stores.append(open_store(url, writer=writer, now_ms=NOW, busy_ms=busy_ms))
        return stores[-1]

    yield one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[..., Store]) -> Store:
    """An empty store, open for writing."""
    return opened()
