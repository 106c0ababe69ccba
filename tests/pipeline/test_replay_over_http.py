"""The recorded benchmark through everything: HTTP, reader, counters, judge, store, and back out of the store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import TargetConfig, TargetKind
from pipeline.tail import Tail
from storage.store import Store, open_store
from telemetry import catalog, ratios
from telemetry.catalog import cluster, engine
from telemetry.counters import active_windows, increase, trailing_increase
from telemetry.model import Metric
from telemetry.phases import Phase
from tests.pipeline.replay import recording
from tests.pipeline.served import Bench, serving

"""One setting up for all of them, in one process."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    path = tmp_path_factory.mktemp("replay") / "store.db"
    page = {"body": b""}
    with serving(lambda where: (200, page["body"]) if where == "/metrics" else (404, b"")) as url:
        asyncio.run(_replay(path, url, page))
    opened = open_store(str(path), writer=False, now_ms=0)
    yield opened
    opened.close()


async def _replay(path: Path, url: str, page: dict[str, bytes]) -> None:
    bench = Bench(path, [TargetConfig("head", url, TargetKind.ENGINE)])
    sampler, store = bench.open()
    begin_s = recording()[0].sent_ms / 1000
    for number, scrape in enumerate(recording()):
        bench.clock.now_s, page["body"] = scrape.arrived_ms / 1000, scrape.body
        await sampler.tick(begin_s + number)
    await sampler.finish()
    store.close()


@pytest.fixture(scope="module")
def tail(store: Store) -> Tail:
    tail = Tail(store)
    tail.follow()
    return tail


def total(tail: Tail, metric: Metric) -> float:
    frame = tail.frame([metric.name])
    return float(increase(frame, frame.ticks[0], frame.ticks[-1]).sum())


def test_nothing_is_lost_on_the_way(tail: Tail) -> None:
    assert total(tail, engine.GENERATION_TOKENS) == 26_176
    assert total(tail, engine.REQUESTS_FINISHED) == 260


def test_mean_while_decoding(tail: Tail) -> None:
    tokens = tail.frame([engine.GENERATION_TOKENS.name])
    ((start, end, gained),) = active_windows(tokens.at_ms[0], tokens.values[0], pause_ms=10_000)
    assert gained == 26_176
    assert gained / (end - start) * 1000 == pytest.approx(198.3, rel=0.005)


@pytest.mark.parametrize(
    ("metric", "peak"), [(cluster.RECORDED_DECODE_1S, 535), (cluster.RECORDED_DECODE, 262)], ids=["1 s", "10 s"]
)
def test_recorded_peaks(tail: Tail, metric: Metric, peak: float) -> None:
    assert np.nanmax(tail.frame([metric.name]).values) == pytest.approx(peak, rel=0.02)


def test_recorded_and_computed_decode_agree(tail: Tail) -> None:
    recorded = tail.frame([cluster.RECORDED_DECODE.name])
    computed = trailing_increase(tail.frame([engine.GENERATION_TOKENS.name]), 10_000)[0] / 10
    np.testing.assert_allclose(recorded.values[0, 20:], computed[20:])


def test_mean_time_per_output_token(tail: Tail) -> None:
    ratio = catalog.ratios.TPOT_MEAN
    frame = tail.frame(ratios.stored_names(ratio))
    assert ratios.over(ratio, frame, frame.ticks[0], frame.ticks[-1]) == pytest.approx(0.01105, rel=0.03)


def test_phases_follow_the_run(tail: Tail) -> None:
    phases = tail.frame([engine.ENGINE_PHASE.name])
    tokens = tail.frame([engine.GENERATION_TOKENS.name]).values[0]
    moved = np.flatnonzero(np.diff(tokens) > 0)
    assert phases.values[0, 0] == Phase.IDLE.value
    assert (phases.values[0, moved + 1] == Phase.DECODING.value).all()
    assert phases.values[0, -1] == Phase.IDLE.value


def test_episodes_hold_every_computed_prompt_token(store: Store, tail: Tail) -> None:
    episodes = store.episodes("tiny-llama", 0, 2**60)
    assert sum(episode.tokens or 0 for episode in episodes) == total(tail, engine.PROMPT_TOKENS_COMPUTED)
    known = [episode.seconds for episode in episodes if episode.seconds is not None]
    assert len(known) == len(episodes)
    assert 0 < sum(known) <= 191
    assert total(tail, cluster.PREFILL_SECONDS) == pytest.approx(sum(known) - known[0], rel=0.05)
