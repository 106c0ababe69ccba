"""Answers from summaries of hours: gauges, states, counters and their totals."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry import far, near
from telemetry.catalog import cluster, engine, gpu, memory, network
from telemetry.catalog.ratios import INTERCONNECT_TRANSMIT
from telemetry.counters import increase
from telemetry.model import Metric, Series
from telemetry.query import Query
from telemetry.summary import HOUR_MS
from tests.telemetry.frames import Numbers
from tests.telemetry.hours import FIRST_MS, PER_HOUR, ask, frame, hours, linear, question, told
from tests.telemetry.questions import one

ALL = ("minimum", "maximum", "mean", "last")
POWER = one(gpu.GPU_POWER, gpu="0")


def flat(*levels: float | None, per_hour: int = PER_HOUR) -> list[float | None]:
    """A level for each hour."""
    return [level for level in levels for _ in range(per_hour)]


def test_hours_of_a_gauge() -> None:
    rows: dict[Series, Numbers] = {POWER: [10, 20, 60, 5, 7, 9]}
    samples = frame(rows, at_s=[0, 10, 3599, 3600, 7000, 7199])
    (line,) = ask(gpu.GPU_POWER, samples, 0, 1)
    assert line.labels == {"target": "n1", "gpu": "0"}
    assert line.t_ms.tolist() == [FIRST_MS, FIRST_MS + HOUR_MS]
    assert line.values is None
    assert told(line, *ALL) == [[10, 5], [60, 9], [30, 7], [60, 9]]


def test_bins_of_several_hours_fold_hours() -> None:
    """Three hours to a bin, cut at the epoch's multiples: FIRST_MS is the second hour of one."""
    assert (FIRST_MS // HOUR_MS) % 3 == 1
    rows: dict[Series, Numbers] = {POWER: [1, 3, 8, 2, 2, 2, 7]}
    samples = frame(rows, at_s=[0, 1, 3600, 7200, 7201, 7202, 10_800])
    (line,) = ask(gpu.GPU_POWER, samples, 0, 3, width=3)
    assert [(t - FIRST_MS) // HOUR_MS for t in line.t_ms.tolist()] == [-1, 2]
    assert told(line, *ALL) == [[1, 2], [8, 7], [4, 3.25], [8, 7]]


def test_only_hours_of_the_range_count() -> None:
    """Of a bin that begins before the range, the hours from the range's start on; of the last hour all."""
    rows: dict[Series, Numbers] = {POWER: flat(1, 2, 3, 4, 5)}
    samples = frame(rows)
    (line,) = ask(gpu.GPU_POWER, samples, 1.5, 2.5, width=3)
    assert told(line, *ALL) == [[2, 3], [2, 4], [2, 3.5], [2, 4]]
    (line,) = far.answer(Query(gpu.GPU_POWER, FIRST_MS + HOUR_MS, FIRST_MS + 2 * HOUR_MS, points=1), hours(samples))
    assert (line.t_ms.tolist(), told(line, *ALL)) == ([FIRST_MS + HOUR_MS], [[2], [3], [2.5], [3]])
    assert far.answer(question(gpu.GPU_POWER, 7, 9), hours(samples)) == []


@pytest.mark.parametrize(("points", "width"), [(None, 1), (100, 1), (5, 1), (4, 2), (3, 2), (2, 3)])
def test_points_make_whole_hours(points: int | None, width: int) -> None:
    query = Query(gpu.GPU_POWER, FIRST_MS + 60_000, FIRST_MS + 5 * HOUR_MS - 1, points=points)
    (line,) = far.answer(query, hours(frame({POWER: flat(1, 2, 3, 4, 5)})))
    assert np.diff(line.t_ms).tolist() == [width * HOUR_MS] * (len(line.t_ms) - 1)
    assert points is None or len(line.t_ms) <= points
    assert (min(told(line, "minimum")[0]), max(told(line, "maximum")[0])) == (1, 5)  # type: ignore[type-var]


def test_a_gap_stays_a_gap() -> None:
    rows: dict[Series, Numbers] = {POWER: [4, 6], one(gpu.GPU_POWER, gpu="1"): [None, 1]}
    (line, other) = ask(gpu.GPU_POWER, frame(rows, at_s=[1800, 9000]), 0, 5)
    assert [(t - FIRST_MS) // HOUR_MS for t in line.t_ms.tolist()] == [0, 1, 2]
    assert told(line, *ALL) == [[4, None, 6]] * 4
    assert told(other, *ALL) == [[None, None, 1]] * 4


def test_what_was_never_known_is_no_line() -> None:
    rows: dict[Series, Numbers] = {POWER: [4, 6], one(gpu.GPU_POWER, gpu="1"): [None, None]}
    assert len(ask(gpu.GPU_POWER, frame(rows, at_s=[0, 10]), 0, 0)) == 1
    assert ask(gpu.GPU_POWER, frame(rows, at_s=[0, 10]), 0, 0, labels={"gpu": "1"}) == []
    assert ask(gpu.GPU_POWER, frame(rows, at_s=[0, 10]), 0, 0, targets=frozenset({"n2"})) == []


def test_other_metrics_take_no_part() -> None:
    rows: dict[Series, Numbers] = {POWER: [4, 6], one(gpu.GPU_TEMPERATURE, gpu="0"): [60, 70]}
    assert len(ask(gpu.GPU_POWER, frame(rows, at_s=[0, 10]), 0, 0)) == 1


VALUES = st.lists(st.none() | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)), min_size=40, max_size=40)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.integers(1, 5), st.integers(0, 3), st.sampled_from([gpu.GPU_POWER, engine.ENGINE_PHASE]))
def test_gauges_are_folded_as_samples_are(values: Numbers, width: int, first: int, metric: Metric) -> None:
    """40 samples, seven an hour: what bins of samples say of whole hours, bins of hours say."""
    samples = frame({one(metric): values}, at_s=[540.0 * number for number in range(40)])
    query = question(metric, first, 5, width)
    told_near = near.answer(query, samples, HOUR_MS)
    told_far = far.answer(query, hours(samples))
    if all(value is None for value in values[math.ceil(first * 20 / 3) :]):
        assert told_far == []
        return
    assert told_far[0].labels == told_near[0].labels
    bins = len(told_far[0].t_ms)
    assert told_far[0].t_ms.tolist() == told_near[0].t_ms[:bins].tolist()
    for name in ALL:
        found, expected = getattr(told_far[0], name), getattr(told_near[0], name)
        assert np.allclose(found, expected[:bins], rtol=1e-12, atol=1e-9, equal_nan=True)
        assert np.isnan(expected[bins:]).all()


def test_counters_stand_between_first_and_last() -> None:
    rows: dict[Series, Numbers] = {one(engine.GENERATION_TOKENS, "head"): [5, 7, 9, 20, 30]}
    (line,) = ask(engine.GENERATION_TOKENS, frame(rows, at_s=[0, 10, 20, 3600, 10_800]), 0, 3)
    assert told(line, *ALL) == [[5, 20, None, 30], [9, 20, None, 30], [None] * 4, [9, 20, None, 30]]


def test_totals_of_gauges_say_what_follows_for_their_fold() -> None:
    """Two GPUs that differ: hours of each do not tell the largest of their sum, but they do the largest of both."""
    rows: dict[Series, Numbers] = {
        POWER: [10, 30, 20],
        one(gpu.GPU_POWER, gpu="1"): [5, 5, 8],
        one(gpu.GPU_TEMPERATURE, gpu="0"): [60, 70, 50],
        one(gpu.GPU_TEMPERATURE, gpu="1"): [65, 61, 63],
        one(memory.MEMORY_HEADROOM, "n1"): [3, 2, 4],
        one(memory.MEMORY_HEADROOM, "n2"): [1, 5, 9],
        one(gpu.GPU_UTILIZATION, gpu="0"): [0.5, 1, 0],
        one(gpu.GPU_UTILIZATION, gpu="1"): [0, 0, 0.6],
    }
    samples = frame(rows, at_s=[0, 10, 20])
    found = {
        metric.name: told(ask(metric, samples, 0, 0, total=True)[0], *ALL)
        for metric in (gpu.GPU_POWER, gpu.GPU_TEMPERATURE, memory.MEMORY_HEADROOM, gpu.GPU_UTILIZATION)
    }
    assert found == {
        "gpu_power_watts": [[None], [None], [26], [None]],
        "gpu_temperature_celsius": [[None], [70], [None], [None]],
        "memory_headroom_bytes": [[1], [None], [None], [None]],
        "gpu_utilization_ratio": [[None], [None], [0.35], [None]],
    }
    (line,) = ask(gpu.GPU_POWER, samples, 0, 0, total=True, labels={"gpu": "1"})
    assert told(line, *ALL) == [[5], [8], [6], [8]]
    assert ask(gpu.GPU_POWER, samples, 4, 5, total=True) == []


def test_a_total_of_one_member_at_a_time_is_that_member() -> None:
    rows: dict[Series, Numbers] = {
        POWER: [*flat(40, per_hour=3), *[None] * 6],
        one(gpu.GPU_POWER, gpu="1"): [*[None] * 3, *flat(50, 60, per_hour=3)],
    }
    at_s = [hour * 3600.0 + 10 * number for hour in range(3) for number in range(3)]
    (line,) = ask(gpu.GPU_POWER, frame(rows, at_s=at_s), 0, 2, total=True)
    assert told(line, *ALL) == [[40, 50, 60]] * 4


def test_a_sum_whose_members_were_read_at_different_paces() -> None:
    """30 W read every 10 s and 50 W read every 20 s: 80 W, by the time of each and not by the number of samples."""
    rows: dict[Series, Numbers] = {
        POWER: flat(30),
        one(gpu.GPU_POWER, "n2", gpu="0"): [50 if place % 2 == 0 else None for place in range(PER_HOUR)],
    }
    samples = frame(rows)
    (line,) = ask(gpu.GPU_POWER, samples, 0, 0, total=True)
    assert told(line, "mean") == [[pytest.approx(80, rel=0.004)]]
    mean = ask(gpu.GPU_UTILIZATION, frame({one(gpu.GPU_UTILIZATION, s.target): v for s, v in rows.items()}), 0, 0)
    assert len(mean) == 2


def away(value: float, low: int, high: int, count: int = PER_HOUR) -> list[float | None]:
    """A level that is not there for some ticks."""
    return [None if low <= place < high else value for place in range(count)]


def test_a_sum_is_unknown_where_its_members_may_have_been_there_together_or_not() -> None:
    """Each for half of the hour: at one time 80 W of half an hour, or one after the other, half as much of an hour."""
    half = PER_HOUR // 2
    turns: dict[Series, Numbers] = {
        POWER: away(30, half, PER_HOUR),
        one(gpu.GPU_POWER, "n2", gpu="0"): away(50, 0, half - 9),
    }
    assert told(ask(gpu.GPU_POWER, frame(turns), 0, 0, total=True)[0], "mean") == [[None]]
    long: dict[Series, Numbers] = {POWER: away(30, 0, 0), one(gpu.GPU_POWER, "n2", gpu="0"): away(50, 100, 200)}
    (line,) = ask(gpu.GPU_POWER, frame(long), 0, 0, total=True)
    assert told(line, "mean") == [[pytest.approx(30 + 50 * 2580 / 3590)]]


def test_an_hour_that_is_not_over_is_as_long_as_it_is() -> None:
    """Two that were read since the hour began, 20 minutes ago, were read together."""
    rows: dict[Series, Numbers] = {POWER: away(30, 3, 6, 120), one(gpu.GPU_POWER, "n2", gpu="0"): away(50, 0, 0, 120)}
    samples = frame(rows)
    query = question(gpu.GPU_POWER, 0, 0, total=True)
    (line,) = far.answer(query, hours(samples), until_ms=float(samples.ticks[-1]))
    assert told(line, "mean") == [[pytest.approx(80, rel=0.03)]]
    assert told(far.answer(query, hours(samples))[0], "mean") == [[None]]


def test_an_uncertain_hour_does_not_spoil_its_bin() -> None:
    half = PER_HOUR // 2
    rows: dict[Series, Numbers] = {
        POWER: [*away(30, half, PER_HOUR), *flat(30, 10)],
        one(gpu.GPU_POWER, "n2", gpu="0"): [*away(50, 0, half - 9), *flat(50, 60)],
    }
    (line,) = ask(gpu.GPU_POWER, frame(rows), 0, 2, width=6, total=True)
    assert told(line, "mean") == [[pytest.approx(75, rel=1e-3)]]


def test_a_mean_over_members_wants_the_same_samples() -> None:
    rows: dict[Series, Numbers] = {
        one(gpu.GPU_UTILIZATION, "n1", gpu="0"): [*flat(0.2), *flat(0.4)],
        one(gpu.GPU_UTILIZATION, "n2", gpu="0"): [*away(0.8, 0, 90), *flat(0.6)],
    }
    assert told(ask(gpu.GPU_UTILIZATION, frame(rows), 0, 1, total=True)[0], "mean") == [[None, 0.5]]


A, B = one(engine.GENERATION_TOKENS, "a"), one(engine.GENERATION_TOKENS, "b")


def test_the_total_of_counters_never_falls() -> None:
    """B comes in the second hour at 100, is away in the third, and is back at 130 in the fourth."""
    rows: dict[Series, Numbers] = {A: [1, 2, 3, 4, 5, 6, 7, 8], B: [None, None, 100, 110, None, None, 120, 130]}
    at_s = [0, 10, 3600, 3610, 7200, 7210, 10_800, 10_810]
    (line,) = ask(engine.GENERATION_TOKENS, frame(rows, at_s=at_s), 0, 3, total=True)
    assert told(line, *ALL) == [[101, 103, 115, 127], [102, 114, 116, 138], [None] * 4, [102, 114, 116, 138]]


def test_the_least_of_a_total_wants_the_same_samples() -> None:
    rows: dict[Series, Numbers] = {A: [1, 2, 3, 4], B: [None, 10, 11, 12]}
    (line,) = ask(engine.GENERATION_TOKENS, frame(rows, at_s=[0, 10, 20, 4000]), 0, 1, total=True)
    assert told(line, *ALL) == [[None, 16], [14, 16], [None, None], [14, 16]]


COUNTS = st.lists(st.none() | st.integers(0, 50), min_size=30, max_size=30)


@settings(max_examples=40, deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=4), st.integers(1, 4))
def test_increases_over_any_split_add_up(steps: list[list[int | None]], width: int) -> None:
    """From bin to bin the total's last grows by what the members grew, as `increase` has it."""
    rows = {
        one(engine.GENERATION_TOKENS, f"e{number}"): [
            None if step is None else float(sum(s or 0 for s in row[: place + 1])) for place, step in enumerate(row)
        ]
        for number, row in enumerate(steps)
    }
    samples = frame(rows, at_s=[720.0 * number for number in range(30)])
    found = ask(engine.GENERATION_TOKENS, samples, 0, 5, width=width, total=True)
    for line in found:
        known = np.flatnonzero(~np.isnan(line.last))  # type: ignore[arg-type]
        ends = [int(line.t_ms[place]) + width * HOUR_MS - 1 for place in known]
        for at, (start, end) in enumerate(pairwise(ends)):
            gained = increase(samples, start, end)
            expected = float(np.nansum(gained))
            assert line.last[known[at + 1]] - line.last[known[at]] == pytest.approx(expected)  # type: ignore[index]


CLUSTER_POWER = Series(cluster.CLUSTER_TARGET, cluster.CLUSTER_POWER.name)


def test_a_total_of_the_whole_cluster_is_what_was_recorded_of_it() -> None:
    """In the second hour nothing was recorded (history from elsewhere): there the members say what they can."""
    rows: dict[Series, Numbers] = {
        POWER: flat(30, 30, 35),
        one(gpu.GPU_POWER, "n2", gpu="0"): flat(50, 50, 55),
        CLUSTER_POWER: [*flat(80)[:-1], 95, *flat(None), *flat(90)],
    }
    samples = frame(rows)
    query = question(gpu.GPU_POWER, 0, 2, total=True)
    assert set(far.stored(query)) == {"gpu_power_watts", "cluster_gpu_power_watts"}
    (line,) = far.answer(query, hours(samples))
    assert told(line, *ALL) == [[80, None, 90], [95, None, 90], [80.041667, 80, 90], [95, None, 90]]
    (filtered,) = ask(gpu.GPU_POWER, samples, 0, 2, total=True, targets=frozenset({"n1", "n2"}))
    assert told(filtered, "maximum") == [[None] * 3]
    assert far.stored(question(gpu.GPU_POWER, 0, 2, total=True, labels={"gpu": "0"})) == ["gpu_power_watts"]
    assert len(ask(gpu.GPU_POWER, samples, 0, 2)) == 2
    assert ask(gpu.GPU_POWER, frame({CLUSTER_POWER: flat(1)}), 0, 0, total=True) == []


def test_a_recorded_series_pauses_while_a_member_is_silent() -> None:
    rows: dict[Series, Numbers] = {POWER: flat(30), CLUSTER_POWER: away(30, 100, 130)}
    assert told(ask(gpu.GPU_POWER, frame(rows), 0, 0, total=True)[0], "maximum") == [[30]]
    two: dict[Series, Numbers] = {**rows, one(gpu.GPU_POWER, "n2", gpu="0"): flat(1), CLUSTER_POWER: away(30, 100, 140)}
    assert told(ask(gpu.GPU_POWER, frame(two), 0, 0, total=True)[0], "maximum", "mean") == [[None], [31]]


def test_recorded_sums_of_the_fabric_and_of_use() -> None:
    for metric, recorded in (
        (INTERCONNECT_TRANSMIT, cluster.CLUSTER_TRANSMIT),
        (gpu.GPU_UTILIZATION, cluster.CLUSTER_UTILIZATION),
    ):
        assert recorded.name in far.stored(question(metric, 0, 0, total=True))
        assert recorded.name not in far.stored(question(metric, 0, 0))
    assert network.RDMA_TRANSMIT.name in far.stored(question(INTERCONNECT_TRANSMIT, 0, 0, total=True))
    assert linear(2, 3) == [0, 20, 40]
