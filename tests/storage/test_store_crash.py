"""Death between any two statements of sealing and forgetting: every sample is read exactly once afterwards."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

from storage.records import Batch, Offset, Row
from storage.store import Store, open_store
from telemetry.frame import Frame
from telemetry.summary import HOUR_MS
from tests.storage.mortal import LATER
from tests.storage.test_store_seal import assert_same
from tests.storage.worlds import NOW, SECOND, write

ROOT = Path(__file__).parents[2]
HOUR_S = 3600
NAMES = ("gpu_power_watts", "generation_tokens_total", "x")


def seal(store: Store) -> None:
    """Seal what is due."""
    for target, hour in store.due(LATER):
        assert store.seal(target, hour, LATER)


def history(store: Store) -> Frame:
    """All there is."""
    return store.frame(NAMES, None, 0, LATER)


def base(path: Path, prepare: Callable[[Store], None] = lambda _store: None) -> Frame:
    """A store of two targets over three hours with gaps, changing layouts and a restart; what it holds."""
    store = open_store(str(path), writer=True, now_ms=NOW)
    write(store, "a", NAMES, {at: [at / 3, 2.0 * at, math.nan if at % 2 else 5.0] for at in range(0, HOUR_S, 400)})
    write(store, "a", NAMES[:2], {at: [-at, 3.0 * at] for at in range(HOUR_S - 3, 2 * HOUR_S, 700)})
    write(store, "b", NAMES[1:], {at: [7.0, 0.5] for at in (5, 6, HOUR_S + 1, 3 * HOUR_S)})
    store.commit(Batch(offsets=[Offset("a", NAMES[1], (), NOW + 800 * SECOND, 1.0, "restart")]), NOW)
    prepare(store)
    found = history(store)
    store.close()
    return found


def died(path: Path, action: str) -> list[Path]:
    """Copies of the store, the k-th of which died before its k-th statement."""
    command = [sys.executable, "-m", "tests.storage.mortal", str(path), str(path.parent), action]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return [path.parent / f"{number}.db" for number in range(1, int(done.stdout) + 1)]


def sound(path: Path) -> bool:
    """Whether the database says so."""
    with closing(sqlite3.connect(path)) as connection:
        return bool(connection.execute("PRAGMA integrity_check").fetchone() == ("ok",))


def states(copies: list[Path], whole: Frame) -> set[tuple[int, int, int]]:
    """Check each copy as it was left, and one of each state after all that remains is done; the states that were met:
    sealed hours, chunks, rows."""
    met = set()
    for path in copies:
        assert sound(path)
        store = open_store(str(path), writer=True, now_ms=NOW)
        assert_same(history(store), whole)
        with store._database.reading() as connection:
            query = "SELECT (SELECT count(*) FROM clock), (SELECT count(*) FROM chunk), (SELECT count(*) FROM hot)"
            state = tuple(connection.exec_driver_sql(query).one())
        if state not in met:
            met.add(state)
            assert store.verify().faults == []
            seal_and_prune(store)
            assert_same(history(store), whole)
            assert store.due(LATER) == []
            assert store.verify().faults == []
        store.close()
    return met


def seal_and_prune(store: Store) -> None:
    """All that remains to be done."""
    seal(store)
    store.prune(LATER)


def test_sealing_dies_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "base.db"
    whole = base(path)
    copies = died(path, "seal")
    assert len(copies) > 20
    assert states(copies, whole) == {(0, 0, 19), (1, 3, 19)}


def test_sealing_what_came_late_dies_anywhere(tmp_path: Path) -> None:
    def late(store: Store) -> None:
        seal_and_prune(store)
        layout = write(store, "a", NAMES[:2], {})
        rows = [Row(NOW + at * SECOND, "a", NOW, layout, [9.5, 8.5]) for at in (1, 2, HOUR_S - 1)]
        store.commit(Batch(rows=rows), LATER)

    path = tmp_path / "base.db"
    whole = base(path, late)
    assert states(died(path, "seal"), whole) == {(5, 11, 5)}


def test_deleting_rows_dies_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "base.db"
    whole = base(path, seal)
    met = states(died(path, "prune"), whole)
    assert {(clocks, chunks) for clocks, chunks, _ in met} == {(5, 11)}
    assert {rows for _, _, rows in met} == {19, 7, 2}


def test_giving_up_dies_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "base.db"
    base(path, seal_and_prune)
    store = open_store(str(path), writer=True, now_ms=NOW)
    later, first = store.frame(NAMES, None, NOW + HOUR_MS, LATER), store.frame(NAMES, None, 0, NOW + HOUR_MS - 1)
    store.close()
    for action in ("forget", "drop_summaries"):
        folder = tmp_path / action
        folder.mkdir()
        shutil.copy(path, folder / "base.db")
        given_up = set()
        for copy in died(folder / "base.db", action):
            assert sound(copy)
            store = open_store(str(copy), writer=True, now_ms=NOW)
            assert_same(store.frame(NAMES, None, NOW + HOUR_MS, LATER), later)
            found = store.frame(NAMES, None, NOW, NOW + HOUR_MS - 1)
            for target in "ab":
                mine = found.select(lambda one, target=target: one.target == target)
                theirs = first.select(lambda one, target=target: one.target == target)
                assert mine.series in ((), theirs.series)
                assert np.nansum(mine.values) in (0, np.nansum(theirs.values))
            given_up.add(len(found.series))
            assert store.verify().faults == []
            summed = store.summaries(NAMES, None, NOW, NOW)
            assert len(summed.series) == (5 if action == "forget" else len(found.series))
            store.close()
        assert given_up == {5, 2, 0}
