"""What limited a run: a queue, a closed loop, or what arrived; by simulations of each."""

from __future__ import annotations

import numpy as np
import pytest

from runs.compare.arrivals import Limit, load
from runs.compare.cells import LINES, Cells
from runs.compare.cutting import stirring
from tests.runs import compare_worlds as worlds

STEP_S = 0.05
PER_S = round(1 / STEP_S)


def served(seed: int, seconds: int, mean_s: float, *, rate: float = 0.0, loop: int = 0, most: int = 10**6) -> Cells:
    """A server of `most` places, each request exponentially long: arrivals at a rate, or a loop of so many clients."""
    generator = np.random.default_rng(seed)
    ends: list[float] = []
    queue = 0
    system, waiting, left = (np.zeros(seconds) for _ in range(3))
    for step in range(seconds * PER_S):
        now = step * STEP_S
        before = len(ends)
        ends = [end for end in ends if end > now]
        left[step // PER_S] += before - len(ends)
        queue += int(generator.poisson(rate * STEP_S)) if rate else loop - len(ends) - queue
        for _ in range(min(queue, most - len(ends))):
            ends.append(now + float(generator.exponential(mean_s)))
            queue -= 1
        system[step // PER_S], waiting[step // PER_S] = len(ends) + queue, queue
    return readings(system, waiting, left)


def readings(system: np.ndarray, waiting: np.ndarray, left: np.ndarray) -> Cells:
    """Cells of five readings each, one a second."""
    running = system - waiting
    moved = np.abs(np.diff(system, prepend=system[0]))
    fives = {
        name: line.reshape(-1, 5)
        for name, line in (("running_s", running), ("waiting_s", waiting), ("finished", left), ("moved", moved))
    }
    told = {name: line.sum(axis=1) for name, line in fives.items()}
    queue = waiting.reshape(-1, 5).min(axis=1)
    stirred = stirring(left, system).reshape(-1, 5).sum(axis=1)
    return worlds.cells(len(queue), tokens=told["running_s"], queue=queue, stirred=stirred, **told)


@pytest.mark.parametrize("mean_s", [0.5, 5.0, 60.0])
@pytest.mark.parametrize("busy", [1.0, 8.0])
def test_open_loops_are_limited_by_arrivals(mean_s: float, busy: float) -> None:
    found = load(served(1, 1800, mean_s, rate=busy / mean_s))
    assert (found.limit, found.words) == (Limit.ARRIVALS, "limited by arrivals")


@pytest.mark.parametrize("mean_s", [2.0, 20.0])
@pytest.mark.parametrize("loop", [1, 4, 32])
def test_closed_loops_are_closed(mean_s: float, loop: int) -> None:
    found = load(served(2, 1200, mean_s, loop=loop))
    assert found.limit is Limit.LOOP
    assert found.system == pytest.approx(loop, rel=0.02)
    assert found.words == f"a closed loop: about {loop} requests in the system all the time"


def test_a_sweep_over_loads_is_a_closed_loop() -> None:
    parts = [served(3, 600, 10.0, loop=loop) for loop in (1, 2, 4, 8)]
    lines = {name: np.concatenate([getattr(one, name) for one in parts]) for name in LINES}
    assert load(worlds.cells(480, **lines)).limit is Limit.LOOP


def test_a_queue_that_is_never_empty() -> None:
    found = load(served(4, 1200, 10.0, rate=2.0, most=8))
    assert (found.limit, found.words) == (Limit.QUEUE, "the queue was never empty")
    assert load(served(4, 1200, 10.0, rate=0.6, most=8)).limit is Limit.ARRIVALS


def test_a_queue_may_be_empty_for_a_hundredth_of_the_time() -> None:
    for empty, limit in ((2, Limit.QUEUE), (3, Limit.ARRIVALS)):
        queue = np.where(np.isin(np.arange(206), np.arange(empty) + 50), 0.0, 2.0)
        found = load(worlds.steady(np.random.default_rng(1), 206, queue=queue, moved=2.0))
        assert found.limit is limit


def test_half_of_a_run_is_looked_at_however_long_requests_are() -> None:
    found = load(worlds.steady(np.random.default_rng(1), 101, request_s=400.0))
    assert (found.limit, int(found.core.sum())) == (Limit.LOOP, 51)


def test_the_recorded_benchmark_is_an_open_loop() -> None:
    assert load(worlds.recorded()).limit is Limit.ARRIVALS


def test_what_is_not_known() -> None:
    assert load(worlds.cells(40)).limit is Limit.UNKNOWN
    assert load(worlds.cells(40, tokens=1.0, running_s=0.0, waiting_s=0.0)).limit is Limit.UNKNOWN
    few = worlds.steady(np.random.default_rng(1), 40, finished=0.12)
    assert load(few).limit is Limit.UNKNOWN
    assert load(worlds.steady(np.random.default_rng(1), 40, stirred=0.0)).limit is Limit.UNKNOWN
    assert load(few).words == "whether arrivals limited it is not known"


def test_ends_and_pauses_do_not_count() -> None:
    """Ten seconds of building up and running out, at mean requests of ten seconds, are left out at either end."""
    moved = np.zeros(60)
    moved[:3] = moved[-3:] = 50.0
    cells = worlds.steady(np.random.default_rng(1), 60, request_s=10.0, moved=moved)
    found = load(cells)
    assert (found.limit, int(found.core.sum())) == (Limit.LOOP, 54)
    moved[3] = 50.0
    assert load(worlds.steady(np.random.default_rng(1), 60, request_s=10.0, moved=moved)).limit is Limit.ARRIVALS


def test_a_handful_of_long_requests_is_enough() -> None:
    """Nine minutes with a request a minute, as a demonstration has them."""
    kinds = [load(served(seed, 540, 55.0, rate=1 / 50.0)).limit for seed in range(10, 16)]
    assert set(kinds) <= {Limit.ARRIVALS, Limit.UNKNOWN}
    assert kinds.count(Limit.ARRIVALS) >= 3
    loops = [load(served(seed, 540, 55.0, loop=2)).limit for seed in range(10, 16)]
    assert loops == [Limit.LOOP] * 6
