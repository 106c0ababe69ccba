"""Stores for tests. `url` names the database: another engine joins the contract by one more parameter here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage.store import Store, open_store
from tests.storage.worlds import NOW


@pytest.fixture(params=["sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that nobody has written to yet."""
    assert request.param == "sqlite"
    return f"sqlite:///{tmp_path}/store.db"


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
