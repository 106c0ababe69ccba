"""A store whose file is deleted or replaced while it is open, and one that another collector has claimed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import StoreGone, StoreTaken
from storage.records import Batch
from storage.store import Store, open_store, refuse_claimed
from tests.storage.worlds import NOW, write

Open = Callable[..., Store]


@pytest.fixture
def engine() -> str:
    """A server has no file: what becomes of its stores is in `test_store_postgresql`."""
    return "sqlite"


@pytest.fixture
def path(store: Store) -> Path:
    """File of the store, which holds one row."""
    write(store, "a", ["x"], {0: [1]})
    return store._database.dialect.path


def remove(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink()


@pytest.mark.parametrize("writer", [True, False])
def test_a_deleted_file_is_noticed_by_all_that_is_asked(opened: Open, store: Store, path: Path, writer: bool) -> None:
    other = opened(writer=writer)
    other.confirm()
    assert len(other.rows()) == 1
    remove(path)
    sentence = f"the store {path} was deleted while it was open"
    for ask in (other.confirm, other.latest_commit, other.rows, lambda: store.commit(Batch(), NOW)):
        with pytest.raises(StoreGone) as told:
            ask()
        assert str(told.value) == sentence


def test_a_replaced_file_is_noticed_and_left_alone(opened: Open, store: Store, path: Path, tmp_path: Path) -> None:
    """What the old one still holds must not get into the new one's files, not even when it is closed."""
    backup = open_store(str(tmp_path / "backup.db"), writer=True, now_ms=NOW)
    write(backup, "b", ["x"], {5: [7]})
    for end in ("", "-wal", "-shm"):
        os.replace(tmp_path / f"backup.db{end}", path.with_name(path.name + end))
    with pytest.raises(StoreGone, match=r"was replaced by another file while it was open"):
        store.commit(Batch(), NOW)
    store.close()
    again = opened(writer=False)
    assert [(row.target, row.values.tolist()) for row in again.rows()] == [("b", [7.0])]
    backup.close()


def test_a_file_that_comes_back_is_the_same(store: Store, path: Path, tmp_path: Path) -> None:
    path.rename(tmp_path / "aside")
    with pytest.raises(StoreGone):
        store.rows()
    (tmp_path / "aside").rename(path)
    store.confirm()
    assert len(store.rows()) == 1


def test_looking_for_a_collector_makes_nothing(tmp_path: Path) -> None:
    refuse_claimed(f"sqlite:///{tmp_path}/no/store.db")
    refuse_claimed(str(tmp_path / "store.db"))
    assert list(tmp_path.iterdir()) == []


def test_a_store_in_use_is_refused_until_its_collector_ends(store: Store, path: Path) -> None:
    refuse_claimed(str(path))
    store.claim()
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(StoreTaken, match=rf"another collector writes to the store {path}: stop it first"):
            refuse_claimed(str(path))
    assert time.monotonic() - began < 3.5, "who looks waits for nobody"
    store.close()
    refuse_claimed(str(path))
    store.claim()
    store.close()
