"""A collector whose store is deleted under it: it ends with a sentence, and the next one makes another store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import collector
from pipeline.config import CollectorConfig, Keep
from pipeline.upkeep import STORE_EVERY_S, Upkeep
from storage.errors import StoreGone
from storage.store import open_store
from telemetry.catalog import memory
from tests.pipeline.killed import INTERVAL_S, ROOT, wait_for
from tests.pipeline.served import serving
from tests.pipeline.stage import Stage
from tests.pipeline.test_kill import Counted


def test_the_job_tells_of_it_and_nothing_is_written_meanwhile(tmp_path: Path) -> None:
    told: list[StoreGone] = []

    async def story(stage: Stage) -> None:
        stage.says(5)
        await stage.tick(1)
        writer = stage.sampler.writer
        upkeep = Upkeep(writer.store, stage.sampler, Keep(1.0), told.append)
        await upkeep.check_store()
        assert told == []
        stage.path.unlink()
        await upkeep.check_store()
        await stage.tick(2)
        await stage.sampler.written()
        assert writer.problem == str(told[0])

    stage = Stage(tmp_path / "store.db")
    stage.play(story)
    assert str(told[0]) == f"the store {stage.path} was deleted while it was open"
    assert not stage.path.exists()


def test_the_job_runs_every_five_seconds(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        upkeep = Upkeep(stage.sampler.writer.store, stage.sampler, Keep(1.0), lambda _error: None)
        upkeep.start()
        jobs = {job.func.__name__: job.trigger.interval.total_seconds() for job in upkeep._scheduler.get_jobs()}
        upkeep.stop()
        assert jobs["check_store"] == STORE_EVERY_S == 5

    Stage(tmp_path / "store.db").play(story)


def test_a_store_that_is_taken_is_one_sentence_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.db"
    first = open_store(str(path), writer=True, now_ms=0)
    first.claim()
    assert collector.run(CollectorConfig(str(path))) == 2
    assert capsys.readouterr().err == f"another collector writes to the store {path}: stop it first\n"
    first.close()


@pytest.mark.live
@pytest.mark.parametrize("replaced", [False, True])
def test_a_collector_without_its_store_ends_with_1_and_the_next_goes_on(tmp_path: Path, replaced: bool) -> None:
    path, counted = tmp_path / "store.db", Counted()
    with serving(counted.answer) as url:
        for first in (True, False):
            target = f"TargetConfig('head', {url!r}, TargetKind.NODE)"
            code = (
                "import sys; from pipeline.collector import run; from pipeline.config import *;"
                f"sys.exit(run(CollectorConfig({str(path)!r}, ({target},), interval_s={INTERVAL_S})))"
            )
            command = [sys.executable, "-c", code]
            with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
                wait_for(counted, counted.asked + 5)
                if first and replaced:
                    open_store(str(tmp_path / "other.db"), writer=True, now_ms=0).close()
                    (tmp_path / "other.db").replace(path)
                elif first:
                    path.unlink()
                else:
                    process.terminate()
                _, errors = process.communicate(timeout=60)
            what = "was replaced by another file" if replaced else "was deleted"
            if first:
                assert process.returncode == 1
                assert errors.splitlines()[-1] == f"the store {path} {what} while it was open"
                assert "Traceback" not in errors
    assert (process.returncode, errors) == (0, "")
    store = open_store(str(path), writer=False, now_ms=0)
    frame = store.frame([memory.SWAP_IN.name], ["head"], 0, 2**60)
    store.close()
    assert len(frame.ticks) >= 3
