"""What befalls the machine of a collector: a locked database, a stopped process, a clock that is set, a DST night."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from storage.store import Store, open_store
from telemetry.catalog import memory
from tests.pipeline.honest import PATIENCE_S, RATE, ROOT, Scene, check, check_rates, line, scene
from tests.pipeline.shifted import HOUR_S

AUTUMN = datetime(2026, 10, 25, 1, tzinfo=UTC).timestamp()
"""In Berlin 03:00 becomes 02:00 at this instant."""
SPRING = datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp()


def ticks(store: Store) -> list[int]:
    return store.frame([memory.SWAP_IN.name], ["node"], 0, 2**60).ticks.tolist()


def events(store: Store) -> list[str]:
    return [one.text for one in store.events(0, 2**60) if one.kind == "clock"]


def until_told(found: Scene, number: int) -> None:
    """Until so many events of the clock stand in the store."""
    deadline = time.monotonic() + PATIENCE_S
    with closing(open_store(str(found.path), writer=False, now_ms=0)) as store:
        while len(events(store)) < number:
            assert time.monotonic() < deadline, events(store)
            time.sleep(0.05)


def lock_for(found: Scene, pages: int, least_s: float) -> None:
    """Hold the database's lock from another connection while so many pages are read."""
    with closing(sqlite3.connect(found.path, isolation_level=None, timeout=10)) as foreign:
        foreign.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        found.node.wait_for_more(pages)
        assert time.monotonic() - began > least_s, "long enough that the collector could not wait for it"
        foreign.execute("ROLLBACK")
    found.node.wait_for_more(5)


def test_a_foreign_lock_costs_no_sample(tmp_path: Path) -> None:
    with scene(tmp_path / "store.db") as found:
        lock_for(found, 25, 2.1)
        with closing(found.stop()) as store:
            check(found, store)


@pytest.mark.live
def test_a_foreign_lock_of_eight_seconds(tmp_path: Path) -> None:
    with scene(tmp_path / "store.db") as found:
        found.node.wait_for_more(110)
        lock_for(found, 81, 8.0)
        found.node.wait_for_more(110)
        with closing(found.stop()) as store:
            check(found, store)
            assert len(ticks(store)) >= 290


def stopped_for(found: Scene, seconds: float, asked: str) -> None:
    """SIGSTOP the collector while it waits for an answer of this target, which comes while it is stopped."""
    target = getattr(found, asked)
    stopped, number = threading.Event(), len(target.given) + 2

    def hold(page: int) -> None:
        if page == number:
            found.signal(signal.SIGSTOP)
            stopped.set()

    target.after = hold
    assert stopped.wait(60)
    time.sleep(seconds)
    found.signal(signal.SIGCONT)
    found.engine.wait_for_more(2)
    found.node.wait_for_more(10)


@pytest.mark.parametrize("asked", [pytest.param("node", marks=pytest.mark.live), "engine"])
def test_a_stopped_collector(tmp_path: Path, asked: str) -> None:
    """What was under way is told late, or not at all: never as if it had been counted in a moment."""
    with scene(tmp_path / "store.db") as found:
        stopped_for(found, 2.0, asked)
        with closing(found.stop()) as store:
            check(found, store, lost=1)


@pytest.mark.live
@pytest.mark.parametrize("asked", ["node", "engine"])
@pytest.mark.parametrize("seconds", [4.0, 30.0])
def test_a_collector_that_is_stopped_for_long(tmp_path: Path, asked: str, seconds: float) -> None:
    with scene(tmp_path / "store.db") as found:
        found.engine.wait_for_more(12)
        stopped_for(found, seconds, asked)
        found.engine.wait_for_more(12)
        with closing(found.stop()) as store:
            check(found, store, lost=1)
            longest = max(np.diff(ticks(store)))
            assert seconds * 1000 - 200 <= longest <= seconds * 1000 + 3000


def test_a_clock_that_is_set_an_hour_forward_and_back(tmp_path: Path) -> None:
    """The hub's clock goes forward once, and never back: all samples are there, and none lies in the hour between."""
    with scene(tmp_path / "store.db") as found:
        begin = time.time()
        for told, number in enumerate((signal.SIGUSR1, signal.SIGUSR2), 1):
            found.signal(number)
            until_told(found, told)
            found.node.wait_for_more(8)
        with closing(found.stop()) as store:
            check(found, store)
            (far,) = [one / 1000 for one in np.diff(ticks(store)) if one > 1_800_000]
            assert HOUR_S - 0.5 < far < HOUR_S + 30, "an hour, and what a busy machine needs for a tick"
            assert begin + HOUR_S < ticks(store)[-1] / 1000 < time.time() + HOUR_S
            assert re.search(r"set forward by (3599\.9|3600\.\d) s", events(store)[0])
            assert len(events(store)) == 2
            assert "was set back" in events(store)[1]


def test_a_clock_that_is_set_an_hour_back_and_forward(tmp_path: Path) -> None:
    with scene(tmp_path / "store.db") as found:
        for number in (signal.SIGUSR2, signal.SIGUSR1):
            found.signal(number)
            found.node.wait_for_more(8)
        with closing(found.stop()) as store:
            check(found, store)
            assert max(np.diff(ticks(store))) < 1_800_000
            assert abs(ticks(store)[-1] / 1000 - time.time()) < 60


def test_a_collector_that_starts_anew_on_a_clock_that_was_set_back(tmp_path: Path) -> None:
    """Its rows follow those that are there: among them counters would fall, and leap, for as long as the step."""
    path = tmp_path / "store.db"
    with scene(path, wall_s=time.time() + HOUR_S) as first:
        first.node.wait_for_more(8)
        first.stop().close()
    with scene(path) as second:
        second.node.wait_for_more(8)
        with closing(second.stop()) as store:
            pages = len(first.node.given)
            numbers = [int(one) for one in line(store, "node", memory.MEMORY_HEADROOM)]
            assert numbers == [*range(1, pages + 1), *range(1, len(second.node.given) + 1)]
            counted = np.array([*first.node.given, *second.node.given])
            assert line(store, "node", memory.SWAP_IN) == (counted - counted[0]).tolist()
            assert 3_500 <= np.diff(ticks(store))[pages - 1] < 60_000, "a gap, whose length nobody knows"
            check_rates(store, "node", memory.SWAP_IN)
            assert re.search(r"set back: times stay 3[56]\d\d\.\d s ahead", events(store)[0])


@pytest.mark.parametrize("change", [AUTUMN, pytest.param(SPRING, marks=pytest.mark.live)])
def test_a_night_in_which_the_hour_changes(tmp_path: Path, change: float) -> None:
    """Nothing happens: times are epoch milliseconds, and files say UTC wherever the machine stands."""
    with scene(tmp_path / "store.db", wall_s=change - 3, zone="Europe/Berlin") as found:
        found.node.wait_for_more(1)
        while found.node.given[-1] - found.node.given[0] < 3 * RATE:
            found.node.wait_for_more(1)
        with closing(found.stop()) as store:
            check(found, store)
            at = ticks(store)
            assert events(store) == []
    assert at[0] < change * 1000 < at[-1]
    assert max(np.diff(at)) < 1_800_000
    written = [row.split(",")[0] for row in exported(found.path, at[0], at[-1]).splitlines()[1:]]
    assert written == [f"{np.datetime64(one, 'ms')}Z" for one in at]


def exported(path: Path, start: int, end: int) -> str:
    """The counter of the node as CSV, by a command that is started in Berlin."""
    words = ["--metric", memory.SWAP_IN.name, "--start", str(start), "--end", str(end), "-o", "-"]
    command = [sys.executable, "app.py", "export", "--config", "", "--store", f"sqlite:///{path}", *words]
    zone = {**os.environ, "TZ": "Europe/Berlin"}
    return subprocess.run(command, cwd=ROOT, env=zone, capture_output=True, text=True, check=True).stdout
