"""Questions to the history: which series take part, how they fold, and how many points come back."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry import latest
from telemetry.catalog import engine, gpu, memory, network
from telemetry.catalog import ratios as quotients
from telemetry.counters import increase
from telemetry.model import Fold, Metric, Ratio, Series
from telemetry.near import answer
from telemetry.query import Query
from tests.telemetry.frames import START_MS, Numbers, numbers, table
from tests.telemetry.questions import ask, one, plain

POWER = {
    one(gpu.GPU_POWER, "n1", gpu="0"): [80, 81, 82],
    one(gpu.GPU_POWER, "n2", gpu="0"): [60, None, 62],
    one(gpu.GPU_POWER, "n2", gpu="1"): [5, 5, 5],
}


def test_a_line_per_series() -> None:
    assert plain(ask(gpu.GPU_POWER, table(POWER))) == [
        ({"target": "n1", "gpu": "0"}, [80, 81, 82]),
        ({"target": "n2", "gpu": "0"}, [60, None, 62]),
        ({"target": "n2", "gpu": "1"}, [5, 5, 5]),
    ]


def test_a_range_is_closed_at_both_ends() -> None:
    (line, *_) = ask(gpu.GPU_POWER, table(POWER), 1, 2)
    assert (line.t_ms - START_MS).tolist() == [1000, 2000]
    assert numbers(line.values) == [81, 82]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "kept"),
    [
        ({"targets": frozenset({"n1"})}, [80]),
        ({"targets": frozenset({"n1", "n2"})}, [80, 60, 5]),
        ({"targets": frozenset()}, []),
        ({"labels": {"gpu": "0"}}, [80, 60]),
        ({"labels": {"gpu": "0"}, "targets": frozenset({"n2"})}, [60]),
        ({"labels": {"gpu": "7"}}, []),
        ({"labels": {"engine": "0"}}, []),
    ],
)
def test_targets_and_labels_choose(more: dict[str, object], kept: list[float]) -> None:
    assert [values[0] for _, values in plain(ask(gpu.GPU_POWER, table(POWER), **more))] == kept


def test_a_series_without_an_asked_label_is_no_answer() -> None:
    rows: dict[Series, Numbers] = {
        one(gpu.GPU_POWER, "n1", gpu="0"): [80],
        one(gpu.GPU_POWER, "n2"): [7],
        one(engine.GENERATION_TOKENS, "head", engine="0"): [100],
        one(engine.GENERATION_TOKENS, "head", engine="0", model="m"): [200],
    }
    frame = table(rows, at_s=[0])
    power, tokens = (
        frame.select(lambda series, name=metric.name: series.metric == name)  # type: ignore[misc]
        for metric in (gpu.GPU_POWER, engine.GENERATION_TOKENS)
    )
    assert plain(ask(gpu.GPU_POWER, power, labels={"gpu": "0"})) == [({"target": "n1", "gpu": "0"}, [80])]
    found = plain(ask(engine.GENERATION_TOKENS, tokens, labels={"engine": "0", "model": "m"}))
    assert found == [({"target": "head", "engine": "0", "model": "m"}, [200])]


def test_a_term_of_a_ratio_keeps_what_its_metric_has_no_label_for() -> None:
    """One GPU's energy over all tokens; but what lacks a label that its metric has is left out there, too."""
    rows: dict[Series, Numbers] = {
        one(gpu.GPU_ENERGY, "n1", gpu="0"): [0, 600],
        one(gpu.GPU_ENERGY, "n1", gpu="1"): [0, 300],
        one(gpu.GPU_ENERGY, "n1"): [0, 9000],
        one(engine.GENERATION_TOKENS, "head"): [0, 100],
    }
    frame = table(rows, at_s=[0, 60], interval_s=60)
    assert plain(ask(quotients.ENERGY_PER_TOKEN, frame, labels={"gpu": "1"})) == [({}, [None, 3])]
    assert ask(quotients.ENERGY_PER_TOKEN, frame, labels={"cage": "p0"}) == []


def test_a_total_that_sums_is_unknown_while_a_part_is() -> None:
    assert plain(ask(gpu.GPU_POWER, table(POWER), total=True)) == [({}, [145, None, 149])]


def test_a_total_holds_what_was_not_due() -> None:
    frame = table(POWER)
    frame.at_ms[1, 1] = np.nan
    assert plain(ask(gpu.GPU_POWER, frame, total=True)) == [({}, [145, 146, 149])]


def test_a_total_folds_as_the_catalogue_says() -> None:
    rows: dict[Series, Numbers] = {
        one(engine.KV_CACHE_USAGE, "a", engine="0"): [0.7, None],
        one(engine.KV_CACHE_USAGE, "a", engine="1"): [0.65, 0.6],
    }
    assert plain(ask(engine.KV_CACHE_USAGE, table(rows), total=True)) == [({}, [0.7, 0.6])]
    assert ask(engine.KV_CACHE_USAGE, table([], at_s=[0.0]), total=True) == []


def test_counters_come_as_stored() -> None:
    rows: dict[Series, Numbers] = {one(engine.GENERATION_TOKENS, "head", engine="0", model="m"): [0, 5, 9]}
    assert plain(ask(engine.GENERATION_TOKENS, table(rows))) == [
        ({"target": "head", "engine": "0", "model": "m"}, [0, 5, 9])
    ]


COMING_AND_GOING = {
    one(engine.GENERATION_TOKENS, "a", engine="0"): [1000, 1010, 1020, 1030, 1040, 1050, 1060, 1070],
    one(engine.GENERATION_TOKENS, "b", engine="0"): [980, 990, None, None, None, 1200, 1210, None],
    one(engine.GENERATION_TOKENS, "c", engine="0"): [None, None, None, None, 0, 5, 10, 15],
}


def test_a_total_of_counters_never_falls() -> None:
    """At 20 s "b" has just fallen silent; at 40 s it is away and keeps its 990; back at 80 s, it brings what it did."""
    at_s = [0, 10, 20, 40, 60, 80, 90, 100]
    frame = table(COMING_AND_GOING, at_s=at_s, interval_s=10)
    frame.at_ms[:] = np.where(np.isnan(frame.values), np.nan, frame.at_ms)
    frame.gap_ms[:] = 9_000
    expected = [1980, 2000, None, 2020, 2030, 2255, 2280, None]
    assert plain(ask(engine.GENERATION_TOKENS, frame, total=True)) == [({}, expected)]


def test_increases_of_a_total_of_counters_add_up() -> None:
    frame = table(COMING_AND_GOING, at_s=[0, 100, 200, 300, 400, 500, 600, 700], interval_s=100)
    frame.gap_ms[:] = 99_000
    ((_, values),) = plain(ask(engine.GENERATION_TOKENS, frame, total=True))
    for low in range(8):
        for high in range(low, 8):
            grown = increase(frame, float(frame.ticks[low]), float(frame.ticks[high]))
            assert values[high] - values[low] == np.nansum(grown)  # type: ignore[operator]


def test_a_total_of_counters_is_unknown_while_no_member_is_known() -> None:
    frame = table({one(engine.GENERATION_TOKENS, "a"): [5, 6, None, 9]}, at_s=[0, 1, 60, 61])
    frame.at_ms[0, 2] = np.nan
    assert plain(ask(engine.GENERATION_TOKENS, frame, total=True)) == [({}, [5, 6, None, 9])]
    assert ask(engine.GENERATION_TOKENS, table([], at_s=[0.0]), total=True) == []


# Ratios ----------


def tokens(**engines: Numbers) -> dict[Series, Numbers]:
    return {one(engine.GENERATION_TOKENS, "head", engine=name[1:], model="m"): row for name, row in engines.items()}


def test_a_ratio_is_asked_for_like_any_other_metric() -> None:
    frame = table(tokens(e0=[0, 50, 100, 150], e1=[0, 10, 20, 30]), at_s=[0, 10, 20, 30], interval_s=10)
    assert plain(ask(quotients.DECODE_TPS, frame, 10, 20)) == [
        ({"target": "head", "engine": "0", "model": "m"}, [5, 5]),
        ({"target": "head", "engine": "1", "model": "m"}, [1, 1]),
    ]
    assert plain(ask(quotients.DECODE_TPS, frame, 10, 20, total=True)) == [({}, [6, 6])]


def test_a_ratio_groups_by_its_own_labels() -> None:
    rows = {
        one(network.RDMA_TRANSMIT, "n1", cage="p0", function="f0"): [0, 10, 20],
        one(network.RDMA_TRANSMIT, "n1", cage="p0", function="f1"): [0, 30, 60],
        one(network.NETDEV_TRANSMIT, "n1", cage="p0", function="f0"): [0, 0, 0],
        one(network.RDMA_TRANSMIT, "n1", cage="p1", function="f2"): [0, 5, 10],
        one(network.NETDEV_TRANSMIT, "n1", cage="p1", function="f2"): [0, 0, 0],
    }
    frame = table(rows, at_s=[0, 10, 20], interval_s=10)
    assert plain(ask(quotients.INTERCONNECT_TRANSMIT, frame, 10)) == [
        ({"target": "n1", "cage": "p0"}, [4, 4]),
        ({"target": "n1", "cage": "p1"}, [0.5, 0.5]),
    ]


def test_a_ratio_of_the_cluster_keeps_its_engines_when_nodes_are_chosen() -> None:
    rows = {
        one(gpu.GPU_ENERGY, "n1", gpu="0"): [0, 600],
        one(gpu.GPU_ENERGY, "n2", gpu="0"): [0, 300],
        one(engine.GENERATION_TOKENS, "head"): [0, 100],
    }
    frame = table(rows, at_s=[0, 60], interval_s=60)
    assert plain(ask(quotients.ENERGY_PER_TOKEN, frame)) == [({}, [None, 9])]
    assert plain(ask(quotients.ENERGY_PER_TOKEN, frame, targets=frozenset({"n2"}))) == [({}, [None, 3])]
    assert ask(quotients.DECODE_TPS, frame, targets=frozenset({"n2"})) == []


def test_a_share_of_time_of_several_nodes_is_their_mean() -> None:
    """Of the last ten seconds one node stalled for all ten, the other for five; then the second is away."""
    rows: dict[Series, Numbers] = {
        one(memory.PRESSURE_STALLED, "n1", resource="memory"): [0, 10, 20, 30, 40],
        one(memory.PRESSURE_STALLED, "n2", resource="memory"): [0, 5, 10, None, None],
    }
    frame = table(rows, at_s=[0, 10, 20, 30, 40], interval_s=10)
    frame.gap_ms[:] = 12_000
    assert plain(ask(quotients.MEMORY_PRESSURE, frame, total=True)) == [({}, [None, 0.75, 0.75, None, 1])]
    assert [values[1] for _, values in plain(ask(quotients.MEMORY_PRESSURE, frame))] == [1, 0.5]
    (line,) = answer(Query(quotients.MEMORY_PRESSURE, START_MS, START_MS + 40_000, 1, total=True), frame, 10_800_000)
    assert numbers(line.mean) == [pytest.approx((15 + 15 + 10) / (20 + 20 + 10))]  # type: ignore[arg-type]
    found = latest.ratio(quotients.MEMORY_PRESSURE, frame.between(START_MS, START_MS + 20_000), lambda _: ())
    assert found == {(): 0.75}


def test_reduced_ratios_are_sums_over_sums() -> None:
    """2 accepted of 10 in one step, 9 of 10,000 in the next: 11 ∕ 10,010 in the bin of both, not the mean of two."""
    rows: dict[Series, Numbers] = {
        one(engine.ACCEPTED_TOKENS, "head"): [0, 2, 11, 11],
        one(engine.DRAFT_TOKENS, "head"): [0, 10, 10_010, 10_010],
    }
    frame = table(rows, at_s=[-20, 40, 100, 160], interval_s=60)
    assert (START_MS + 40_000) % 120_000 == 0
    (line,) = answer(Query(quotients.ACCEPTANCE, START_MS + 40_000, START_MS + 160_000, points=2), frame, 60_000)
    assert line.values is None
    assert (line.t_ms - START_MS).tolist() == [40_000, 160_000]
    assert numbers(line.minimum) == [0.0009, None]  # type: ignore[arg-type]
    assert numbers(line.maximum) == [0.2, None]  # type: ignore[arg-type]
    assert numbers(line.mean) == [pytest.approx(11 / 10_010, abs=1e-6), None]  # type: ignore[arg-type]


def test_reduced_ratios_sum_only_ticks_at_which_both_sides_are_known() -> None:
    rows: dict[Series, Numbers] = {
        one(engine.ACCEPTED_TOKENS, "head"): [0, 5, 11],
        one(engine.DRAFT_TOKENS, "head"): [0, 10, None],
    }
    frame = table(rows, at_s=[-20, 40, 100], interval_s=60)
    (line,) = answer(Query(quotients.ACCEPTANCE, START_MS + 40_000, START_MS + 100_000, points=1), frame, 120_000)
    assert numbers(line.mean) == [0.5]  # type: ignore[arg-type]


# Reduction ----------


def test_more_ticks_than_points_become_bins() -> None:
    frame = table({one(gpu.GPU_POWER, gpu="0"): [float(n) for n in range(100)]})
    assert START_MS % 10_000 == 0
    (line,) = ask(gpu.GPU_POWER, frame, 0, 99, points=10)
    assert line.values is None
    assert (line.t_ms - START_MS).tolist() == [10_000 * n for n in range(10)]
    assert numbers(line.minimum) == [10 * n for n in range(10)]  # type: ignore[arg-type]
    assert numbers(line.maximum) == [10 * n + 9 for n in range(10)]  # type: ignore[arg-type]
    assert numbers(line.mean) == [10 * n + 4.5 for n in range(10)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("points", "begins"),
    [(1, [3000]), (2, [-20_000, 40_000]), (3, [-20_000, 40_000]), (4, [-20_000, 10_000, 40_000, 70_000])],
)
def test_no_more_points_than_asked_for(points: int, begins: list[int]) -> None:
    """3 … 99 s, cut at whole minutes and halves of them, and not at 48 or 32 s; of half a minute it is four."""
    frame = table({one(gpu.GPU_POWER, gpu="0"): [float(n) for n in range(120)]})
    (line,) = ask(gpu.GPU_POWER, frame, 3, 99, points=points)
    shown = (line.t_ms - START_MS).tolist()
    assert shown == begins
    assert numbers(line.minimum)[0] == 3  # type: ignore[arg-type]
    assert numbers(line.maximum)[-1] == 99  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("metric", "fold"),
    [
        (gpu.GPU_POWER, Fold.MEAN),
        (gpu.GPU_TEMPERATURE, Fold.MAX),
        (memory.MEMORY_HEADROOM, Fold.MIN),
        (engine.ENGINE_PHASE, Fold.LAST),
        (engine.GENERATION_TOKENS, Fold.LAST),
        (engine.TTFT, Fold.MAX),
        (quotients.ACCEPTANCE, Fold.MEAN),
    ],
)
def test_one_value_stands_for_a_bin(metric: Metric | Ratio, fold: Fold) -> None:
    assert Query(metric, 0, 1).fold is fold


@pytest.mark.parametrize(("points", "reduced"), [(None, False), (100, False), (99, True)])
def test_no_more_work_than_needed(points: int | None, reduced: bool) -> None:
    frame = table({one(gpu.GPU_POWER, gpu="0"): [float(n) for n in range(100)]})
    (line,) = ask(gpu.GPU_POWER, frame, 0, 99, points=points)
    assert (line.values is None) is reduced


def test_nothing_known_gives_no_line() -> None:
    assert ask(gpu.GPU_POWER, table([], at_s=[0.0, 1.0])) == []


def test_only_percentiles_have_a_relation() -> None:
    for line in ask(gpu.GPU_POWER, table(POWER)):
        assert (line.relation, line.count) == (None, None)


# What has to be read ----------


@pytest.mark.parametrize(
    ("metric", "lead_ms"),
    [
        (gpu.GPU_POWER, 0),
        (engine.GENERATION_TOKENS, 0),
        (engine.TTFT, 320_000),
        (quotients.DECODE_TPS, 30_000),
        (quotients.ACCEPTANCE, 80_000),
        (quotients.MEMORY_USE, 20_000),
    ],
)
def test_samples_are_needed_from_before_the_start(metric: Metric | Ratio, lead_ms: int) -> None:
    assert Query(metric, 0, 1).lead_ms == lead_ms


@pytest.mark.parametrize("metric", [gpu.GPU_POWER, engine.GENERATION_TOKENS, quotients.DECODE_TPS, engine.TTFT])
def test_slow_targets_are_looked_for_longer(metric: Metric | Ratio) -> None:
    query = Query(metric, 0, 1, total=True, slowest_ms=10_000)
    assert query.lead_ms == query.window_ms + 65_000


@pytest.mark.parametrize("metric", [memory.MEMORY_AVAILABLE, quotients.DECODE_TPS])
def test_a_total_is_whole_from_its_first_tick(metric: Metric | Ratio) -> None:
    """One target every second, one every ten: the second's last sample lies before the start."""
    stored = memory.MEMORY_AVAILABLE if isinstance(metric, Metric) else engine.GENERATION_TOKENS
    seconds = list(range(-80, 6))
    slow = [100 if isinstance(metric, Metric) else 50 * (n + 80) if n % 10 == 7 else None for n in seconds]
    slow = [value if n % 10 == 7 else None for n, value in zip(seconds, slow, strict=True)]
    quick = [1 if isinstance(metric, Metric) else n + 80 for n in seconds]
    frame = table({one(stored, "a"): quick, one(stored, "b"): slow}, at_s=seconds)
    frame.gap_ms[1] = 25_000
    frame.at_ms[1] = np.where(np.isnan(frame.values[1]), np.nan, frame.at_ms[1])
    query = Query(metric, START_MS, START_MS + 5000, total=True, slowest_ms=10_000)
    read = frame.between(query.start_ms - query.lead_ms, query.end_ms)
    expected = 101 if isinstance(metric, Metric) else 51
    assert plain(answer(query, read)) == [({}, [expected] * 6)]


def test_stored_metrics_that_an_answer_needs() -> None:
    assert set(Query(gpu.GPU_POWER, 0, 1).stored()) == {"gpu_power_watts"}
    assert set(Query(quotients.MEMORY_USE, 0, 1).stored()) == {memory.MEMORY_USED.name, memory.MEMORY_TOTAL.name}
    assert set(Query(engine.TTFT, 0, 1).stored()) == {"time_to_first_token_seconds_bucket"}
