"""What was told live is what a replay of the same minutes says: over silences, and of engines that never served."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from alerts.replay import replay
from alerts.rulebook import Rulebook, Tables
from pipeline import sampler as sampling
from pipeline.config import TargetConfig, TargetKind
from pipeline.past import StoredPast
from storage.errors import StoreBusy
from storage.store import open_store
from telemetry.catalog import gpu, memory
from tests.pipeline.served import serving
from tests.pipeline.stage import PAGE, Stage
from tests.pipeline.test_before_left import ENGINE, NODE, nobody, play, served

HEAT = f"tachograph_{gpu.GPU_TEMPERATURE.name}"
HOUR_S = 3_600
BEGIN_S = 3_300
"""So that what a replay reads slice by slice is over an hour's end."""
Fired = list[tuple[tuple[str, ...], int]]


def both(path: Path, name: str, until_ms: int, file: Tables | None = None) -> tuple[Fired, Fired]:
    """(instance, instant) of what fired live, and of what a replay says."""
    store, rule = open_store(str(path), writer=False, now_ms=0), Rulebook(file or {}).rules[name]
    live = sorted((one.key, one.fired_ms) for one in store.alerts() if one.rule == name)
    past = StoredPast(store, rule, 0, until_ms)
    found = sorted((one.key, one.fired_ms) for one in replay(rule, past, past.hold_ms).fired)
    store.close()
    return live, found


def test_what_happened_while_a_node_was_silent_is_told_when_it_is_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)
    stage.settings = {"interval_s": 10.0}

    def kills(count: int) -> None:
        stage.status, stage.body = 200, f"tachograph_{memory.OOM_KILLS.name} {count}\n".encode()

    async def story(stage: Stage) -> None:
        for second in range(BEGIN_S + 10, BEGIN_S + 510, 10):
            if second < BEGIN_S + 110:
                kills(3)
            elif second < BEGIN_S + 410:
                stage.status = 500
            else:
                kills(4)
            await stage.tick(second)

    stage.play(story)
    live, found = both(stage.path, "oom_kill", (BEGIN_S + 600) * 1000)
    assert [key for key, _ in live] == [("one",)]
    assert 410 <= live[0][1] / 1000 - BEGIN_S <= 450, "a node that fails is asked more rarely"
    assert found == live


def test_an_engine_that_never_served_is_not_missed_in_the_past_either(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with serving(lambda where: (200, NODE.format(0).encode()) if where == "/metrics" else (404, b"")) as url:
        beside = TargetConfig("node", url, TargetKind.NODE)
        play(path, ENGINE, nobody(), range(1, 60), beside)
        served(path, ENGINE, PAGE.format(tokens=5, running=2, start=100), range(60, 70), beside)
        play(path, ENGINE, nobody(), range(71, 110), beside)
    live, found = both(path, "engine_unreachable", 200_000)
    assert [key for key, _ in live] == [("one",)]
    assert found == live


QUICK = {
    "gpu_hot": {"for": "7s", "clear_for": "4s"},
    "node_silent": {"for": "6s", "clear_for": "3s"},
}
Whole = list[tuple[tuple[str, ...], int, int, int | None]]


def whole(path: Path, name: str, until_ms: int) -> tuple[Whole, Whole]:
    """(instance, since when it was wrong, when it fired, when it ended) live, and as a replay says."""
    store, rule = open_store(str(path), writer=False, now_ms=0), Rulebook(QUICK).rules[name]
    live = [(one.key, one.began_ms, one.fired_ms, one.ended_ms) for one in store.alerts() if one.rule == name]
    past = StoredPast(store, rule, 0, until_ms)
    found = [(one.key, one.began_ms, one.fired_ms, one.ended_ms) for one in replay(rule, past, past.hold_ms).fired]
    store.close()
    return sorted(live), sorted(found)


@pytest.mark.parametrize("seed", range(4))
def test_over_silences_of_all_targets_a_replay_says_what_was_told_live(tmp_path: Path, seed: int) -> None:
    """Stretches of a few seconds in which a node is hot, well, or does not answer, in any order, over an hour's end."""
    stage, chance = Stage(tmp_path / "store.db", TargetKind.NODE), random.Random(seed)
    stage.settings = {"alerts": QUICK}
    first, last = HOUR_S - 70, HOUR_S + 70

    async def story(stage: Stage) -> None:
        second = first
        while second <= last:
            degrees, until = chance.choice((None, 60, 88, 88)), second + chance.choice((1, 2, 4, 9, 15))
            while second < min(until, last + 1):
                stage.status, stage.body = 200 if degrees else 500, f'{HEAT}{{gpu="0"}} {degrees}\n'.encode()
                await stage.tick(second)
                second += 1

    stage.play(story)
    for name in QUICK:
        live, found = whole(stage.path, name, (last + 600) * 1000)
        assert found == live, name


def test_what_a_page_does_not_say_any_more_is_missed(tmp_path: Path) -> None:
    """For longer than a collector remembers samples of what is not there."""
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)
    table = {"title": "No temperature", "place": "gpu", "severity": "warning", "for": "120s"}
    file = {"blind": {**table, "when": "absent(gpu_temperature_celsius)"}}
    stage.settings = {"alerts": file}
    page = f"tachograph_{memory.MEMORY_TOTAL.name} 128e9\n"
    degrees = 'tachograph_gpu_temperature_celsius{gpu="0"} 60\n'

    async def story(stage: Stage) -> None:
        for second in range(1, 260):
            stage.status, stage.body = 200, (page + degrees * (second <= 60 or second > 240)).encode()
            await stage.tick(second)

    stage.play(story)
    live, found = both(stage.path, "blind", 300_000, file)
    assert live == [(("one", "0"), 181_000)]
    assert found == live


class Disk:
    """A clock that runs while the store takes nothing."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def test_a_collector_that_cannot_write_says_so_afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, disk = Stage(tmp_path / "store.db", TargetKind.NODE), Disk()
    monkeypatch.setattr(sampling, "time", disk)

    async def story(stage: Stage) -> None:
        stage.status, stage.body = 200, f"tachograph_{memory.OOM_KILLS.name} 0\n".encode()
        store = stage.sampler.writer.store
        commit = store.commit

        def refuse(*_: object) -> None:
            raise StoreBusy("busy")

        for second in range(1, 60):
            disk.now_s = float(second)
            monkeypatch.setattr(store, "commit", refuse if 20 <= second < 40 else commit)
            await stage.tick(second)
            await stage.sampler.written()

    stage.play(story)
    store = open_store(str(stage.path), writer=False, now_ms=0)
    (alert,) = store.alerts()
    store.close()
    assert (alert.rule, alert.fired_ms // 1000) == ("collector_silent", 31)
    assert alert.ended_ms == 51_000
    assert alert.message == "the cluster: nothing was committed for 11.0 s, limit 10 s"
