"""kill -9 around the moments at which alerts fire and end: each is told once, and none is lost."""

from __future__ import annotations

import itertools
import random
from functools import partial
from pathlib import Path

import pytest

from alerts.record import of_instances, standings_of
from storage.store import Store, open_store
from telemetry.catalog import gpu
from tests.pipeline.killed import INTERVAL_S, Asked, collector, lives
from tests.pipeline.served import serving

PAGE = f'tachograph_{gpu.GPU_TEMPERATURE.name}{{{{gpu="0"}}}} {{}}\n'
HOT_SCRAPES, COOL_SCRAPES = 9, 9
"""The rule wants 0.4 s either way."""
RULES = {
    "gpu_hot": {"for": "400ms", "clear_for": "400ms", "clear": "gpu_temperature_celsius < 80 °C"},
    "gpu_too_hot": {"enabled": False},
    "node_silent": {"enabled": False},
}


class Wave(Asked):
    """A GPU that is hot for a few scrapes, and then cool for a few."""

    def page(self) -> str:
        hot = self.asked % (HOT_SCRAPES + COOL_SCRAPES) < HOT_SCRAPES
        return PAGE.format(86.0 if hot else 60.0)


def check(store: Store) -> int:
    """Alerts follow each other, and what stands is what is open; how many there are."""
    alerts = sorted(store.alerts(), key=lambda one: one.id)
    assert [one.id for one in alerts] == list(range(1, len(alerts) + 1)), "none is lost, none is there twice"
    for before, after in itertools.pairwise(alerts):
        assert before.ended_ms is not None
        assert before.ended_ms < after.fired_ms
    standings = {one.rule: standings_of(one.state) for one in of_instances(store.standings())}
    firing = [one for one in standings.get("gpu_hot", {}).values() if one.phase.value == "firing"]
    assert len(firing) == sum(one.firing for one in alerts), "a firing instance has its alert, and no other has one"
    for one in firing:
        assert one.since_ms == alerts[-1].fired_ms
    return len(alerts)


def kill_and_look(path: Path, times: int, seed: int) -> int:
    chance, wave, found = random.Random(seed), Wave(), 0
    with serving(wave.answer) as url:
        for _ in range(times):
            lives(partial(collector, path, url, rules=RULES), wave, 12, chance.uniform(0, 8 * INTERVAL_S))
            store = open_store(str(path), writer=False, now_ms=0)
            found = check(store)
            store.close()
    return found


def test_five_kills(tmp_path: Path) -> None:
    assert kill_and_look(tmp_path / "store.db", 5, seed=3) >= 1


@pytest.mark.live
def test_fifty_kills(tmp_path: Path) -> None:
    assert kill_and_look(tmp_path / "store.db", 50, seed=4) >= 10
