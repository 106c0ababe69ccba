"""A full disk: the collector says so, keeps polling, keeps its ticks, loses nothing, and recovers by itself."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.config import Keep
from pipeline.resume import Left, left_of
from pipeline.upkeep import Upkeep
from pipeline.writer import KEEP_MS, MOST_EVENTS, Draft, Work, Writer
from storage.records import Absence, Batch, Event, Fact, Offset, TargetRow
from storage.store import open_store
from telemetry.catalog import engine
from telemetry.counters import Step
from telemetry.model import Series
from tests.pipeline.stage import Stage, values

ROOT = Path(__file__).parents[2]
SMALL_KIB = 6144


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_KIB}k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {made.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """Use up all room; the file that does."""
    filler = place / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 512):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return filler


async def written(stage: Stage) -> None:
    """Wait for the commit under way."""
    if stage.sampler._writing is not None:
        await stage.sampler._writing


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_full_disk_costs_no_tick_and_no_sample(small: Path, caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(small / "store.db")
    ticks = 400

    async def story(stage: Stage) -> None:
        for second in range(1, 4):
            stage.says(100 + second)
            await stage.tick(second)
        await written(stage)
        store = stage.sampler.writer.store
        committed = values(store, engine.GENERATION_TOKENS)
        filler = fill(small)
        asked = len(stage.asked)
        for second in range(4, ticks):
            stage.says(100 + second)
            await stage.tick(second)
            await written(stage)
        held = stage.sampler.writer
        assert held.problem is not None
        assert "there is no room left for the store" in held.problem
        assert len(stage.asked) - asked >= ticks - 4, "it goes on polling"
        assert 0 < len(held.waiting) <= ticks - 4
        assert held.dropped == 0
        kept = values(store, engine.GENERATION_TOKENS)
        assert kept[: len(committed)] == committed == [0, 1, 2]
        assert len(kept) + len(held.waiting) == ticks - 1
        upkeep = Upkeep(store, stage.sampler, Keep(), lambda _error: None)
        await upkeep.make_room()
        await upkeep.prune()
        filler.unlink()
        stage.says(100 + ticks)
        await stage.tick(ticks)
        await written(stage)
        assert (held.problem, len(held.waiting)) == (None, 0)
        assert values(store, engine.GENERATION_TOKENS) == list(range(ticks))
        nearly, event = sorted(store.events(0, 10**15, "cluster"), key=lambda one: one.text)
        assert (nearly.kind, event.kind) == ("store", "store")
        assert nearly.text.startswith("nothing more can be given up: the disk of the store is nearly full")
        assert event.text.startswith("the store could not be written for ")
        assert event.text.endswith(f": {ticks - len(kept)} ticks waited in memory, 0 were lost")
        assert store.verify().faults == []

    stage.play(story)
    said = [text for text in errors(caplog) if text.startswith("cannot commit")]
    assert len(said) == 1
    assert "ticks wait in memory: there is no room left for the store" in said[0]


def test_a_new_shape_of_a_page_waits_too(small: Path) -> None:
    """A layout that the store does not know yet has to be written before its rows."""
    stage = Stage(small / "store.db")

    async def story(stage: Stage) -> None:
        stage.says(100)
        await stage.tick(1)
        await written(stage)
        filler = fill(small)
        held = stage.sampler.writer
        second = 1
        while held.problem is None:
            second += 1
            stage.says(100 + second)
            await stage.tick(second)
            await written(stage)
        stage.says(500)
        stage.body += b'vllm:num_requests_waiting{engine="0",model_name="org/m"} 7\n'
        await stage.tick(second + 1)
        await written(stage)
        assert "no room left" in str(held.problem)
        filler.unlink()
        await stage.tick(second + 2)
        await written(stage)
        assert held.problem is None
        assert values(held.store, engine.REQUESTS_WAITING)[-2:] == [7, 7]
        found = values(held.store, engine.GENERATION_TOKENS)
        assert found == [0, *range(2, second + 1), 400, 400]

    stage.play(story)


LIMITED = """
import resource, signal, sys
from pipeline.writer import Draft, Work, Writer
from storage.records import Batch
from storage.store import open_store
from telemetry.model import Series
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
store = open_store(sys.argv[1], writer=True, now_ms=0)
writer = Writer(store)
series = tuple(Series("a", f"m{n}") for n in range(100))
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
tick = 0
while writer.problem is None:
    tick += 1
    writer.write([Work(tick, (Draft(tick, "a", tick, series, [tick / 7] * 100),), Batch())], tick)
for tick in range(tick + 1, tick + 50):
    writer.write([Work(tick, (Draft(tick, "a", tick, series, [tick / 7] * 100),), Batch())], tick)
print(len(writer.waiting), writer.dropped)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
writer.write([], tick)
print(writer.problem, len(writer.waiting), len(store.rows()) - tick, store.verify().faults)
store.close()
"""


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["50 0", "None 0 0 []"]


def test_ticks_are_kept_for_ten_minutes_and_what_is_lost_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The lock of another process is as good a reason as any."""
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0, busy_ms=1)
    held, series = Writer(store), (Series("a", "x"),)
    store.layout("a", series)

    def write(at_ms: int) -> None:
        held.write([Work(at_ms, (Draft(at_ms, "a", at_ms, series, [at_ms / 7]),), Batch())], at_ms)

    lock = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    for at in range(0, KEEP_MS + 3000, 1000):
        write(at)
    assert (held.dropped, len(held.waiting)) == (2, KEEP_MS // 1000 + 1)
    lock.execute("ROLLBACK")
    lock.close()
    write(KEEP_MS + 3000)
    assert held.problem is None
    assert [row.tick for row in store.rows()] == list(range(2000, KEEP_MS + 4000, 1000))
    (event,) = store.events(0, 10**12)
    assert event.text.startswith("the store could not be written for 603 s (another process holds the store")
    assert event.text.endswith("): 602 ticks waited in memory, 2 were lost")
    lost = [text for text in errors(caplog) if text.startswith("ticks are lost")]
    assert lost == ["ticks are lost: the store could not be written for 10 minutes"]
    write(KEEP_MS + 4000)
    assert len(store.events(0, 10**12)) == 1
    store.close()


def test_of_ticks_that_are_lost_only_the_rows_are(tmp_path: Path) -> None:
    """A restart that fell into them is known to the collector that begins next: it would be counted again."""
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0, busy_ms=1)
    held, series = Writer(store), (Series("a", "generation_tokens_total"),)
    layout = store.layout("a", series)

    def write(at_ms: int, batch: Batch) -> None:
        held.write([Work(at_ms, (Draft(at_ms, "a", at_ms, series, [900.0 + at_ms]),), batch)], at_ms)

    def state(reason: str) -> TargetRow:
        return TargetRow("a", "engine", "http://a", 1000, reason, "", 0, None)

    lock = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    restart = Offset("a", series[0].metric, (), 1000, 900.0, Step.RESTART.value)
    absence = Absence("a", None, 1000, None, "refused")
    happened = [Event(0, at, "a", "note", f"event {at}") for at in range(MOST_EVENTS + 1)]
    write(1000, Batch(offsets=[restart], facts=[Fact("a", "started_s", "5.000", 1000)], targets=[state("loading")]))
    write(2000, Batch(absences_opened=[absence], events=happened, targets=[state("refused")]))
    write(3000, Batch(absences_closed=[replace(absence, end_ms=3000)]))
    write(KEEP_MS + 2500, Batch())
    assert (held.dropped, len(held.waiting)) == (2, 2)
    assert [len(work.batch.targets) for work in held.waiting] == [1, 0], "of what is told anew, the last"
    held.write([], 3 * KEEP_MS)
    assert (held.dropped, len(held.waiting)) == (4, 1)
    lock.execute("ROLLBACK")
    lock.close()
    write(3 * KEEP_MS, Batch())
    assert [row.tick for row in store.rows()] == [3 * KEEP_MS]
    assert store.last_offsets("a") == {series[0]: 900.0}
    assert store.offsets(0, 10**12) == [restart]
    assert left_of(store, "a", store.last_rows()["a"]) == Left(
        {series[0]: (900.0 + 3 * KEEP_MS, 900.0)}, 5.0, 3 * KEEP_MS
    )
    assert store.absences(0, 10**12) == [replace(absence, end_ms=3000)]
    assert [target.state for target in store.targets()] == ["refused"]
    told = [event for event in store.events(0, 10**12, limit=MOST_EVENTS + 9) if event.kind == "note"]
    assert (len(told), told[0].text) == (MOST_EVENTS, "event 1")
    assert layout == store.last_rows()["a"].layout
    store.close()
