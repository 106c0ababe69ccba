"""The engine alone over an hour of its own clock reaches the published figures, with the noise of a recorded server."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

import pytest

from simulator import engine as engine_module
from simulator.engine import Engine
from simulator.requests import Arrivals, Request

HOUR_S = 3600
SEEDS = (7, 1, 2)


@dataclass(frozen=True)
class Hour:
    """Figures by the definitions of the product: trailing 10 s, prefill by episodes."""

    mean: float
    peak: float
    prefill: float
    length: float
    acceptance: float
    step_s: float
    decoding: float


def run(engine: Engine, until: float) -> None:
    while engine.next_event <= until:
        engine.act()


def trailing(steps: list[tuple[float, int]], until: float) -> list[float]:
    """Tokens per second over the 10 s before each whole second."""
    ends, totals = [end for end, _ in steps], [0, *(total for _, total in steps)]
    at = [totals[bisect_right(ends, second)] for second in range(int(until) + 1)]
    return [(at[second] - at[second - 10]) / 10 for second in range(10, len(at))]


@cache
def hour(seed: int) -> Hour:
    engine = Engine(seed, 0.0)
    run(engine, HOUR_S)
    ledger, totals = engine.ledger, engine.ledger.totals
    speeds = trailing(ledger.steps, HOUR_S)
    decoding = [speed for speed in speeds if speed > 0]
    length_s, before = 0.0, 0.0
    for episode in ledger.episodes:
        length_s += episode["first_token"] - max(episode["arrived"], before)
        before = episode["first_token"]
    return Hour(
        mean=statistics.mean(decoding),
        peak=max(speeds),
        prefill=totals.computed / length_s,
        length=1 + totals.accepted / totals.drafts,
        acceptance=totals.accepted / (8 * totals.drafts),
        step_s=statistics.median(ledger.observed["inter_token_latency_seconds"]),
        decoding=len(decoding) / len(speeds),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_three_published_numbers(seed: int) -> None:
    found = hour(seed)
    assert 18 <= found.mean <= 22.5
    assert 33 <= found.peak <= 44
    assert 650 <= found.prefill <= 850


@pytest.mark.parametrize("seed", SEEDS)
def test_what_stands_behind_them(seed: int) -> None:
    found = hour(seed)
    assert 3.6 <= found.length <= 4.2
    assert 0.33 <= found.acceptance <= 0.41
    assert 0.14 <= found.step_s <= 0.30
    assert 0.45 <= found.decoding <= 0.85, "it mostly serves, with pauses between"


class Lone(Arrivals):
    """One request whose answer does not end."""

    def take(self) -> Request:
        first, self.next = self.next, self._make(1e9)
        first.prompt, first.cached, first.answer = 600, 512, 400_000
        return first


def lone(monkeypatch: pytest.MonkeyPatch, seed: int) -> Engine:
    monkeypatch.setattr(engine_module, "Arrivals", Lone)
    return Engine(seed, 0.0)


def test_noise_of_ten_second_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    spreads = []
    for seed in range(4):
        engine = lone(monkeypatch, seed)
        run(engine, 1800)
        blocks = trailing(engine.ledger.steps, 1800)[20::10]
        spreads.append(statistics.stdev(blocks) / statistics.mean(blocks))
    assert 0.15 <= statistics.mean(spreads) <= 0.23


def test_a_lone_request_takes_a_sixth_of_a_second_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = lone(monkeypatch, 3)
    run(engine, 600)
    steps = engine.ledger.observed["inter_token_latency_seconds"]
    assert statistics.mean(steps) == pytest.approx(0.16, abs=0.01)
    assert engine.ledger.totals.generated / 600 == pytest.approx(24, abs=3)
