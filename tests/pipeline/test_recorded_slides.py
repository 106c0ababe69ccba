"""What is recorded of frames that slide on is what whole histories of frames put together anew say, bit by bit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pytest

from pipeline.recorded import LEAD_MS, ClusterSums, DeploymentSums, Prefills, RecordedRow, Recorder, engine_of
from pipeline.slide import Slide
from pipeline.window import Window
from telemetry import latest, ratios
from telemetry.catalog import engine, gpu
from telemetry.catalog.ratios import DECODE_TPS, INTERCONNECT_RECEIVE, INTERCONNECT_TRANSMIT
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Fold, Metric, Ratio, Series
from tests.pipeline import happenings
from tests.pipeline.happenings import DEPLOYMENTS, HAPPENS, World, assert_same, same_bits

# What is recorded, worked out of whole histories ----------------------------------------------------------------------


def whole(window: Window, tick: int) -> dict[str, list[float]]:
    """Values of all rows, from frames put together anew."""
    every = window.frame(ClusterSums.METRICS, start_ms=tick - LEAD_MS, end_ms=tick)
    busiest = [
        largest(of_ratio(ratio, every, cage).values()) for ratio in (INTERCONNECT_TRANSMIT, INTERCONNECT_RECEIVE)
    ]
    found = {
        "cluster": [
            summed(every, gpu.GPU_POWER, tick),
            folded(every, gpu.GPU_UTILIZATION, tick),
            standing(every, tick, of_ratio(INTERCONNECT_TRANSMIT, every, alike).get((), np.nan)),
            largest(standing(every, tick, one) for one in busiest),
        ]
    }
    for name, engines in DEPLOYMENTS.items():
        targets = {one.target for one in engines}
        frame = window.frame(DeploymentSums.METRICS, start_ms=tick - LEAD_MS, end_ms=tick, targets=targets)
        own = frame.select(lambda series, engines=engines: engine_of(series) in engines)  # type: ignore[misc]
        decode = [of_ratio(DECODE_TPS, own, alike, over).get((), np.nan) for over in (None, 1000.0)]
        values = [standing(own, tick, one) for one in decode]
        found[f"deployment/{name}"] = [*values, summed(own, engine.REQUESTS_RUNNING, tick), 0.0, 0.0]
    return {target: values for target, values in found.items() if not np.isnan(values).all()}


def alike(_: Series) -> object:
    return ()


def cage(series: Series) -> object:
    return series.target, series.label("cage")


def standing(frame: Frame, tick: int, newest: float) -> float:
    if not len(frame.ticks) or not len(frame.series) or tick - frame.ticks[-1] > np.min(frame.gap_ms):
        return float("nan")
    return newest


def held(frame: Frame) -> Floats:
    return ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(np.float64), ~np.isnan(frame.at_ms))


def last(values: Floats) -> float:
    return float(values[-1]) if len(values) else float("nan")


def summed(frame: Frame, metric: Metric, tick: int) -> float:
    part = frame.select(lambda series: series.metric == metric.name)
    found = ratios.total(held(part), part.ticks.astype(np.float64), ~np.isnan(part.values))
    return standing(part, tick, last(found))


def folded(frame: Frame, metric: Metric, tick: int) -> float:
    part = frame.select(lambda series: series.metric == metric.name)
    return standing(part, tick, last(fold(held(part), Fold.MEAN)))


def of_ratio(
    ratio: Ratio, frame: Frame, key: Callable[[Series], object], over: float | None = None
) -> dict[object, float]:
    names = ratios.stored_names(ratio)
    part = frame.select(lambda series: series.metric in names)
    return dict(latest.ratio(ratio, part, key, over))  # type: ignore[arg-type]


def largest(values: Iterable[float]) -> float:
    return max((value for value in values if not np.isnan(value)), default=float("nan"))


def assert_recorded(rows: Sequence[RecordedRow], window: Window, tick: int) -> None:
    expected = whole(window, tick)
    assert [row.target for row in rows] == list(expected)
    for row in rows:
        assert same_bits(row.values, np.array(expected[row.target])), (row.target, row.values, expected[row.target])


Happening = Callable[[World], None]


def play(seed: int, happenings: Iterable[Happening | None]) -> int:
    """Compare at every second, before which something happens or does not; how often a frame slid."""
    world = World(random.Random(seed))
    recorder = Recorder(world.window, Prefills())
    slide, slid, before = Slide(ClusterSums.METRICS, LEAD_MS), 0, None
    for happens in happenings:
        if happens is not None:
            happens(world)
        world.second()
        tick = world.tick
        frame = world.window.slide(slide, tick)
        assert_same(frame, world.window.frame(ClusterSums.METRICS, start_ms=tick - LEAD_MS, end_ms=tick))
        slid += before is not None and np.shares_memory(frame.values, before.values)
        before = frame
        rows = recorder.rows(tick, DEPLOYMENTS)
        assert_recorded(rows, world.window, tick)
        for row in rows:
            world.window.add(row.target, tick, tick, row.series, row.values)
        world.window.trim()
    return slid


def often(seed: int, seconds: int) -> list[Happening | None]:
    chance = random.Random(seed)
    return [chance.choice(HAPPENS) if chance.random() < 0.08 else None for _ in range(seconds)]


@pytest.mark.parametrize("happens", HAPPENS, ids=lambda one: one.__name__)
def test_whatever_happens_numbers_are_those_of_whole_histories(happens: Happening) -> None:
    play(1, [happens if at in (12, 14, 30) else None for at in range(45)])


@pytest.mark.parametrize("seed", range(2))
def test_whatever_happens_after_each_other(seed: int) -> None:
    play(seed, often(seed, 120))


@pytest.mark.live
@pytest.mark.parametrize("seed", range(10, 16))
def test_whatever_happens_for_long(seed: int) -> None:
    play(seed, often(seed, 400))


def test_frames_slide_on_although_a_target_is_silent_late_or_asked_rarely() -> None:
    assert play(1, [None] * 20) == 17, "recorded rows come with the second; the third is the first in a tape"
    for happens in happenings.HARMLESS:
        assert play(1, [happens if at == 10 else None for at in range(40)]) >= 35
