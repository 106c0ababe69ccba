"""How fast a run is against its baseline, as the rule about it asks: below 1 only where it is surely slower."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline import baseline
from pipeline.baseline import speed, upper
from pipeline.digest import CELLS
from runs.model import Run
from storage.records import Batch, RunPart
from storage.store import Store, open_store
from tests.runs.compare_worlds import cells, faster, steady

BASE = steady(np.random.default_rng(1), 400)
ALIKE = steady(np.random.default_rng(2), 300)


def test_the_upper_end_is_below_one_only_where_it_is_surely_slower() -> None:
    alike, slower, quicker = (upper(BASE, faster(ALIKE, factor)) for factor in (1.0, 0.8, 1.2))
    assert alike is not None
    assert slower is not None
    assert quicker is not None
    assert 1.0 <= alike < 1.05
    assert 0.8 < slower < 0.85
    assert 1.2 < quicker < 1.26


def test_longer_steps_are_slower_where_nothing_else_is_known() -> None:
    def of(step_s: float, seed: int) -> object:
        noise = 1 + 0.02 * np.random.default_rng(seed).standard_normal(300)
        told = {"request_s": 5.0, "requests": 1.0, "finished": 1.0, "queue": 0.0, "moved": 0.0, "stirred": 1.0}
        return cells(300, step_s=step_s * noise, steps=10.0, running_s=20.0, waiting_s=0.0, **told)

    found = upper(of(1.0, 1), of(1.25, 2))  # type: ignore[arg-type]
    assert found is not None
    assert 0.79 < found < 0.82


@pytest.mark.parametrize(
    "mine",
    [
        steady(np.random.default_rng(3), 12, speed=5.0),
        steady(np.random.default_rng(3), 300, running=9.0),
        cells(300),
    ],
    ids=["too short", "another concurrency", "nothing is known"],
)
def test_what_cannot_be_told_is_not(mine: object) -> None:
    assert upper(BASE, mine) is None  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0)
    yield found
    found.close()


BASELINE = Run(1, "k3", "one", 0, 10_000_000, ended="stopped", baseline=True)
LIVE = Run(2, "k3", "two", 20_000_000)
NOW_MS = 30_000_000


def put(store: Store, *runs: Run, revision: int = 0) -> None:
    parts = [RunPart(1, CELLS, revision, BASE.to_json())]
    store.commit(Batch(runs=runs, parts=parts), NOW_MS)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Which stretches were cut into cells; what comes of it is a run a fifth slower."""
    found: list[tuple[int, int]] = []

    def cut(subject: object, _reader: object) -> object:
        found.append((subject.start_ms, subject.end_ms))  # type: ignore[attr-defined]
        return faster(ALIKE, 0.8)

    monkeypatch.setattr(baseline, "cut", cut)
    return found


def test_a_live_run_is_compared_by_its_last_half_hour(store: Store, looked: list[tuple[int, int]]) -> None:
    put(store, BASELINE, LIVE)
    found = speed(store, 2, NOW_MS)
    assert found is not None
    assert 0.8 < found < 0.85
    assert speed(store, 2, 20_600_000) is not None
    assert looked == [(NOW_MS - 1_800_000, NOW_MS), (20_000_000, 20_600_000)]


@pytest.mark.usefixtures("looked")
def test_without_a_baseline_that_is_known_nothing_is(store: Store) -> None:
    assert speed(store, 2, NOW_MS) is None, "there is no such run"
    put(store, LIVE)
    assert speed(store, 2, NOW_MS) is None, "there is no baseline"
    put(store, Run(1, "other", "one", 0, 10_000_000, baseline=True), LIVE)
    assert speed(store, 2, NOW_MS) is None, "it is another deployment's"
    put(store, BASELINE, LIVE, revision=7)
    assert speed(store, 2, NOW_MS) is None, "it was changed, and is not worked out yet"
    put(store, BASELINE)
    assert speed(store, 1, NOW_MS) is None, "it is this very run"
