"""Several processes and threads at one store, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import StoreBusy
from storage.records import Batch, Row
from storage.sqlite import Sqlite
from storage.store import Store
from telemetry.summary import HOUR_MS
from tests.storage.engines import sqlite_only
from tests.storage.test_store_seal import assert_same
from tests.storage.worlds import NOW, SECOND, scribe_values, series

ROOT = Path(__file__).parents[2]
TARGETS = 6
FEW = 5
Open = Callable[..., Store]


def scribe(url: str, ticks: int, step_ms: int = SECOND) -> subprocess.Popen[str]:
    """A process that commits tick after tick; see `scribe`."""
    command = [sys.executable, "-m", "tests.storage.scribe", url, str(TARGETS), str(ticks), str(step_ms)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def expected(tick: int) -> list[tuple[str, int, list[float]]]:
    """What the scribe writes at a tick."""
    at = NOW + tick * SECOND
    return [(f"t{n}", at + n, scribe_values(tick, n)) for n in range(TARGETS)]


def found(store: Store, tick: int) -> list[tuple[str, int, list[float]]]:
    """What the store holds of a tick."""
    rows = store.rows(ticks=[NOW + tick * SECOND])
    return [(row.target, row.at_ms, row.values.tolist()) for row in rows]


def test_a_reader_follows_a_writer_in_another_process(store: Store, opened: Open, url: str) -> None:
    reader = opened(writer=False)
    sequence, ticks = 0, []
    with scribe(url, 200) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            for commit in reader.commits_after(sequence):
                assert commit.sequence == sequence + 1
                rows = reader.rows(start=commit.first_tick, end=commit.last_tick)
                tick = (commit.first_tick - NOW) // SECOND
                assert [(row.target, row.at_ms, row.values.tolist()) for row in rows] == expected(tick)
                assert reader.series_of(rows[0].layout) == series("t0", "a", "b", "c")
                sequence, ticks = commit.sequence, [*ticks, tick]
            assert sequence >= int(line.split()[0]), "what was acknowledged can be read at once"
    assert ticks == list(range(200))


def kill_after(url: str, lines: int, step_ms: int) -> list[int]:
    """Kill -9 a scribe when it has acknowledged so many ticks; all that it acknowledged until it died."""
    with scribe(url, 10**6, step_ms) as writer:
        assert writer.stdout is not None
        told = [writer.stdout.readline() for _ in range(lines)]
        os.kill(writer.pid, signal.SIGKILL)
        told += writer.stdout.readlines()
    assert writer.returncode == -signal.SIGKILL
    return [int(line.split()[1]) for line in told if line.endswith("\n")]


def check_after_kill(store: Store, acknowledged: int, step_ms: int) -> None:
    """The store is sound, and holds every tick once, up to the last acknowledged one or one more."""
    if isinstance(store._database.dialect, Sqlite):
        with store._database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA integrity_check").one() == ("ok",)
    frame = store.frame(["a", "b", "c"], None, 0, 2**62)
    ticks = ((frame.ticks - NOW) // step_ms).tolist()
    assert ticks == list(range(len(ticks)))
    assert len(ticks) in (acknowledged + 1, acknowledged + 2)
    for n in range(TARGETS):
        lines = [frame.values[frame.row(one)].tolist() for one in series(f"t{n}", "a", "b", "c")]
        assert list(map(list, zip(*lines, strict=True))) == [scribe_values(tick, n) for tick in ticks]
    sequences = [commit.sequence for commit in store.commits_after(0, limit=10**6)]
    assert sequences == list(range(sequences[0], sequences[-1] + 1))
    events = [int(event.text) for event in store.events(NOW, 2**62, limit=10**6)]
    assert events == ticks


def kill_repeatedly(opened: Open, url: str, times: int, seed: int, step_ms: int) -> Store:
    """Kill scribe after scribe, each of which goes on where the one before stopped."""
    chance = random.Random(seed)
    opened()
    for number in range(1, times + 1):
        acknowledged = kill_after(url, chance.randrange(1, 120), step_ms)
        store = opened()
        check_after_kill(store, acknowledged[-1], step_ms)
        if number <= FEW or number % FEW == 0:  # what verifying takes grows with the store
            assert store.verify().faults == []
    return store


def test_killed_processes_lose_nothing_acknowledged(opened: Open, url: str) -> None:
    kill_repeatedly(opened, url, times=5, seed=1, step_ms=SECOND)


def check_sealed(store: Store, acknowledged_ms: int) -> None:
    """Hours were sealed, and rows deleted; and what remains to be sealed changes nothing."""
    before = store.frame(["a", "b", "c"], None, 0, 2**62)
    assert store.sealed(0, 2**62)
    assert len(store.rows()) < TARGETS * len(before.ticks)
    for target, hour in store.due(acknowledged_ms):
        assert store.seal(target, hour, acknowledged_ms)
    store.prune(acknowledged_ms)
    assert_same(store.frame(["a", "b", "c"], None, 0, 2**62), before)


def test_killed_processes_lose_nothing_while_they_seal(opened: Open, url: str) -> None:
    store = kill_repeatedly(opened, url, times=5, seed=4, step_ms=120 * SECOND)
    check_sealed(store, store.rows()[-1].tick + HOUR_MS)


@sqlite_only
@pytest.mark.live
@pytest.mark.parametrize("step_ms", [SECOND, 120 * SECOND])
def test_fifty_killed_processes_lose_nothing_acknowledged(opened: Open, url: str, step_ms: int) -> None:
    store = kill_repeatedly(opened, url, times=50, seed=2, step_ms=step_ms)
    if step_ms > SECOND:
        check_sealed(store, store.rows()[-1].tick + HOUR_MS)


def test_many_threads_read_and_write(store: Store, opened: Open) -> None:
    reader = opened(writer=False)
    layouts = {n: store.layout(f"t{n}", series(f"t{n}", "a", "b", "c")) for n in range(TARGETS)}
    failures: list[BaseException] = []
    done = threading.Event()

    def guarded(work: Callable[[int], None]) -> Callable[[int], None]:
        def run(number: int) -> None:
            try:
                work(number)
            except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
                failures.append(error)

        return run

    @guarded
    def ask(number: int) -> None:
        while not done.is_set():
            frame = reader.frame(["b"], None, NOW, NOW + 10**9)
            for one, line in zip(frame.series, frame.values.tolist(), strict=True):
                target = int(one.target[1:])
                assert line == [float(tick * 1000 + target) for tick in range(len(line))]
            reader.set_preference(f"thread {number}", len(frame.ticks))
            reader.enqueue("note", {"thread": number}, NOW)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for tick in range(150):
        at = NOW + tick * SECOND
        rows = [Row(at, f"t{n}", at + n, layouts[n], scribe_values(tick, n)) for n in layouts]
        store.commit(Batch(rows=rows), at)
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.rows()) == 150 * TARGETS
    asked = [command.payload["thread"] for command in store.pending_commands()]
    assert set(asked) == set(range(8))
    assert all(isinstance(store.preference(f"thread {number}"), int) for number in range(8))


def test_known_layouts_are_found_while_another_holds_the_lock(store: Store, opened: Open) -> None:
    """A collector that restarts needs no write to find its layouts again."""
    number = store.layout("n", series("n", "x", "y"))
    again = opened(busy_ms=30)
    with store._database.writing():
        assert again.layout("n", series("n", "x", "y")) == number
        with pytest.raises(StoreBusy):
            again.layout("n", series("n", "x", "z"))
    assert again.layout("n", series("n", "x", "z")) != number


def test_a_commit_shows_whole_or_not_at_all(store: Store, opened: Open) -> None:
    """A read transaction that began before a commit does not see half of it."""
    layouts = {n: store.layout(f"t{n}", series(f"t{n}", "a", "b", "c")) for n in range(TARGETS)}
    reader = opened(writer=False)
    with reader._database.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM hot").scalar()
        rows = [Row(NOW, f"t{n}", NOW, layouts[n], scribe_values(0, n)) for n in layouts]
        store.commit(Batch(rows=rows), NOW)
        assert connection.exec_driver_sql("SELECT count(*) FROM hot").scalar() == 0
    assert len(reader.rows()) == TARGETS
