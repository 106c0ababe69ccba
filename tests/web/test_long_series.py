"""`/api/v1/series` over sealed hours, rows and tail: one answer without a seam, with every spike in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pipeline.tail import SPAN_MS
from storage.records import Batch, Row
from telemetry import near, reader
from telemetry.catalog import engine, gpu, network
from telemetry.catalog import ratios as quotients
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS, hour_of
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World, rising, tick

STEP = 10
FIRST = 400
"""Number of the tick at which an hour begins."""
LAST = FIRST + 5 * 3600 + 1190
SPIKE = FIRST + 7230
NAMES = ("spark-01", "spark-02", HEAD)


def story(world: World) -> None:
    """Five hours and twenty minutes, a sample every ten seconds, and one of 300 W."""
    for name in world.rows:
        row = world.rows[name]
        world.rows[name] = type(row)(**{**_fields(row), "interval_ms": STEP * 1000})
    world.set("spark-01", gpu.GPU_POWER, lambda number: 300.0 if number == SPIKE else 50.0 + number % 7)
    world.set(HEAD, engine.GENERATION_TOKENS, rising(20.0))
    layouts = {name: world.writer.layout(name, tuple(values)) for name, values in world.series.items()}
    numbers = range(FIRST, LAST + 1, STEP)
    for low in range(0, len(numbers), 300):
        rows: list[Row] = []
        for number in numbers[low : low + 300]:
            rows += world._rows(number, layouts)
        world.now = rows[-1].tick
        world.writer.commit(Batch(rows=rows, targets=tuple(world.rows.values())), world.now)


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__slots__}


def seal(world: World, first: int, last: int) -> None:
    """Seal these hours of every target, without the last."""
    for target in world.series:
        for hour in range(first, last):
            assert world.writer.seal(target, tick(FIRST) + hour * HOUR_MS, world.now)


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    made = make_world(nodes=2)
    story(made)
    assert hour_of(tick(FIRST)) == tick(FIRST)
    return made


ASK: list[Callable[[], Query]] = [
    lambda: Query(gpu.GPU_POWER, tick(FIRST), tick(LAST), points=50, slowest_ms=STEP * 1000),
    lambda: Query(gpu.GPU_POWER, tick(FIRST), tick(LAST), points=50, total=True, slowest_ms=STEP * 1000),
    lambda: Query(engine.GENERATION_TOKENS, tick(FIRST), tick(LAST), points=50, total=True, slowest_ms=STEP * 1000),
    lambda: Query(quotients.DECODE_TPS, tick(FIRST), tick(LAST), points=50, slowest_ms=STEP * 1000),
    lambda: Query(quotients.INTERCONNECT_TRANSMIT, tick(FIRST), tick(LAST), points=50, slowest_ms=STEP * 1000),
    lambda: Query(engine.TTFT, tick(FIRST), tick(LAST), points=50, slowest_ms=STEP * 1000),
]


def test_samples_are_the_same_however_they_are_kept(
    world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_web(world).process.sources
    questions = [ask() for ask in ASK]
    expected = []
    for query in questions:
        whole = world.writer.frame(query.stored(), None, query.start_ms - query.lead_ms, query.end_ms)
        expected.append(near.answer(query, whole, STEP * 1000))
    monkeypatch.setattr(reader, "SHORT_MS", 0)
    monkeypatch.setattr(reader, "CELLS", 700)
    for first, last in ((0, 0), (0, 3), (3, 5)):
        seal(world, first, last)
        for query, lines in zip(questions, expected, strict=True):
            found = reader.read(query, source)
            assert found.resolution == "samples"
            same(found.lines, lines)
        source.tail.follow()


def same(found: list[Line], expected: list[Line]) -> None:
    assert [line.labels for line in found] == [line.labels for line in expected]
    for line, other in zip(found, expected, strict=True):
        assert line.t_ms.tolist() == other.t_ms.tolist()
        for name in ("minimum", "maximum", "mean", "last", "count"):
            one, two = getattr(line, name), getattr(other, name)
            assert (one is None and two is None) or np.allclose(one, two, equal_nan=True), name


def test_hours_end_now(world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sealed, five whole hours and the open one, worked out from the tail."""
    web = make_web(world)
    web.step()
    monkeypatch.setattr(reader, "SWIFT_MS", 0.0)
    monkeypatch.setattr(reader, "PATIENT_MS", 0.0)
    for first, last in ((0, 3), (3, 4), (4, 5)):
        seal(world, first, last)
        check_hours(web)


def check_hours(web: Web) -> None:
    query = f"start={tick(FIRST)}&points=100"
    answer = web.get(f"series?metric=gpu_power_watts&node=spark-01&{query}")
    assert (answer["resolution"], answer["step_ms"], answer["fold"]) == ("hours", HOUR_MS, "mean")
    (line,) = answer["series"]
    assert line["t"] == [tick(FIRST) + hour * HOUR_MS for hour in range(6)]
    assert line["max"] == [56.0, 56.0, 300.0, 56.0, 56.0, 56.0]
    assert line["min"] == [50.0] * 6
    assert line["mean"][5] == pytest.approx(53, abs=0.05)
    (rate,) = web.get(f"series?metric=generation_tokens_total&rate=1&{query}")["series"]
    assert (rate["min"], rate["mean"], rate["max"]) == ([pytest.approx(20.0)] * 6,) * 3
    (count,) = web.get(f"series?metric=generation_tokens_total&{query}")["series"]
    assert count["last"] == [20.0 * (FIRST + 3600 * hour + 3590) for hour in range(5)] + [20.0 * LAST]
    assert (count["max"], count["mean"]) == (count["last"], [None] * 6)
    (sent,) = web.get(f"series?metric=interconnect_transmit_bytes_per_second&total=1&{query}")["series"]
    assert sent["max"] == [1.6e9] * 6, "what was recorded of the whole cluster"
    (cage, _) = web.get(f"series?metric=interconnect_transmit_bytes_per_second&node=spark-01&{query}")["series"]
    assert (cage["max"], cage["mean"]) == ([None] * 6, [pytest.approx(2e8)] * 6)
    waits = web.get(f"series?metric=time_to_first_token_seconds&{query}")
    assert (waits["window_ms"], waits["step_ms"]) == (HOUR_MS, HOUR_MS)
    assert "fold" not in waits
    (waiting,) = waits["series"]
    assert waiting["count"] == [3590.0, 3600.0, 3600.0, 3600.0, 3600.0, 1200.0]
    assert waiting["v"] == [pytest.approx(1 + 4 * 0.3 / 0.7)] * 6


def test_a_spike_is_in_every_zoom(world: World, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch) -> None:
    seal(world, 0, 5)
    web = make_web(world)
    web.step()
    monkeypatch.setattr(reader, "SWIFT_MS", 0.02)
    monkeypatch.setattr(reader, "PATIENT_MS", 0.02)
    seen = set()
    for span in (30, 100, 600, 3600, 7000, 8000, 20_000, 10**6, 10**7):
        query = f"start={tick(SPIKE) - span * 800}&end={tick(SPIKE) + span * 200}&points=90&node=spark-01"
        answer = web.get(f"series?metric=gpu_power_watts&{query}")
        (line,) = answer["series"]
        shown = line.get("v") or line["max"]
        assert max(value for value in shown if value is not None) == 300.0
        seen.add(answer["resolution"])
    assert seen == {"samples", "hours"}


def test_the_tail_and_the_store_meet_at_a_whole_hour(world: World, make_web: MakeWeb) -> None:
    """With its hours sealed and its rows gone, nothing is missing."""
    seal(world, 0, 5)
    source = make_web(world).process.sources
    source.tail.follow()
    names = [gpu.GPU_POWER.name, network.RDMA_TRANSMIT.name]
    latest = tick(LAST)
    for start, end in (
        (tick(FIRST), latest),
        (latest - SPAN_MS, latest),
        (latest - SPAN_MS + 1, latest),
        (tick(FIRST), tick(FIRST) + 4 * HOUR_MS - 1),
        (tick(FIRST), tick(FIRST) + 5 * HOUR_MS),
        (latest - HOUR_MS, latest - 1000),
    ):
        expected = world.writer.frame(names, ["spark-01"], start, end)
        found = source.frame(names, start, end, ["spark-01"])
        assert found.series == expected.series
        assert found.ticks.tolist() == expected.ticks.tolist()
        assert np.array_equal(found.values, expected.values)
        assert np.array_equal(found.at_ms, expected.at_ms)
        assert found.gap_ms.tolist() == expected.gap_ms.tolist()


def test_unsealed_hours(world: World, make_web: MakeWeb) -> None:
    source = make_web(world).process.sources
    seal(world, 0, 3)
    assert source.unsealed(tick(FIRST), tick(LAST)) == [tick(FIRST) + hour * HOUR_MS for hour in (3, 4, 5)]
    assert source.unsealed(tick(FIRST), tick(FIRST + 3 * 3600) - 1) == []
    assert not source.forgotten(tick(FIRST), tick(LAST))
    assert source.summaries([gpu.GPU_POWER.name], tick(FIRST), tick(LAST), ["spark-02"]).count.tolist() == [[360.0] * 3]
