"""Ratios: Σ numerator ∕ Σ denominator over one window, unknown as soon as a part of it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry import latest, ratios
from telemetry.catalog import engine, gpu, host, memory, network
from telemetry.catalog import ratios as quotients
from telemetry.counters import Step, mark_steps
from telemetry.frame import Frame
from telemetry.model import Metric, Ratio, Series
from tests.telemetry.frames import START_MS, Numbers, numbers, series, table


def one(metric: Metric, target: str = "head", **labels: str) -> Series:
    return Series(target, metric.name, tuple(sorted(labels.items())))


def evaluated(ratio: Ratio, frame: Frame, window_s: float | None = None) -> list[float | None]:
    found = ratios.evaluate(ratio, frame, lambda _: (), None if window_s is None else window_s * 1000)
    return numbers(found[()])


# Holding -----------


def held(row: Numbers, *, read: list[bool] | None = None, at_s: list[float] | None = None) -> list[float | None]:
    frame = table([row], at_s=at_s)
    seen = None if read is None else np.array([read])
    return numbers(ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(float), seen)[0])


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1, None, 3], [1, 1, 3]),
        ([1, None, None, None], [1, 1, 1, None]),
        ([None, 2, None], [None, 2, 2]),
        ([None, None], [None, None]),
        ([0, None], [0, 0]),
    ],
)
def test_hold_carries_a_value_over_ticks_without_one_but_not_over_a_gap(row: Numbers, expected: Numbers) -> None:
    assert held(row) == expected


def test_hold_ends_at_two_and_a_half_intervals() -> None:
    assert held([1, None, None], at_s=[0, 2.5, 2.501]) == [1, 1, None]


def test_hold_does_not_carry_over_a_reading_that_said_nothing() -> None:
    assert held([1, None, None, 4], read=[True, False, True, True]) == [1, 1, None, 4]
    assert held([1, None, None], read=[True, True, False]) == [1, None, None]


def test_hold_keeps_rows_apart_and_takes_each_ones_gap() -> None:
    frame = table([[1, None, None, None], [None, 5, None, None]])
    frame.gap_ms[1] = 1000
    found = ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(float))
    assert [numbers(row) for row in found] == [[1, 1, 1, None], [None, 5, 5, None]]
    assert ratios.hold(np.zeros((2, 0)), np.zeros(2), np.zeros(0)).shape == (2, 0)


# Sums ------------------


def summed(rows: list[Numbers], at_s: list[float] | None = None) -> list[float | None]:
    frame = table(rows, at_s=at_s)
    return numbers(ratios.total(frame.values, frame.ticks.astype(float)))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1, 2], [10, 20]], [11, 22]),
        ([[1, 2], [None, 20]], [1, 22]),
        ([[1, 2], [10, None]], [11, None]),
        ([[None, None], [None, None]], [None, None]),
        ([[0, 0]], [0, 0]),
    ],
)
def test_a_sum_is_unknown_while_a_part_of_it_is(rows: list[Numbers], expected: Numbers) -> None:
    assert summed(rows) == expected


def test_a_part_that_is_silent_for_fifteen_seconds_is_gone() -> None:
    at_s = [0, 10, 15, 15.001, 20]
    assert summed([[1, 1, 1, 1, 1], [5, None, None, None, None]], at_s) == [6, None, None, 1, 1]
    assert summed([[1, 1, 1, 1, 1], [5, None, None, None, 7]], at_s) == [6, None, None, 1, 8]


def test_a_sum_of_no_rows_is_unknown() -> None:
    assert numbers(ratios.total(np.zeros((0, 3)), np.arange(3.0))) == [None] * 3


def test_totals_by_group_equal_each_groups_total() -> None:
    frame = table([[1, 2, None], [3, None, None], [5, 6, 7], [None, 8, 9]])
    ticks = frame.ticks.astype(float)
    found = ratios.totals(frame.values, ticks, np.array([1, 0, 1, 0]))
    assert numbers(found[0]) == numbers(ratios.total(frame.values[[1, 3]], ticks)) == [3, None, None]
    assert numbers(found[1]) == numbers(ratios.total(frame.values[[0, 2]], ticks)) == [6, 8, None]


def test_totals_are_unknown_where_a_sample_gave_no_value() -> None:
    frame = table([[1, 2, 3], [None, None, 5]])
    ticks, group = frame.ticks.astype(float), np.zeros(2, np.intp)
    assert numbers(ratios.totals(frame.values, ticks, group)[0]) == [1, 2, 8]
    sampled = np.array([[True] * 3, [False, True, True]])
    assert numbers(ratios.totals(frame.values, ticks, group, sampled)[0]) == [1, None, 8]


# Per second -------------


def test_tokens_per_second_over_the_window_asked_for() -> None:
    frame = table({one(engine.GENERATION_TOKENS): [0, 50, 100, 150, 150]})
    assert evaluated(quotients.DECODE_TPS, frame, 2) == [None, None, 50, 50, 25]
    assert evaluated(quotients.DECODE_TPS, frame, 1) == [None, 50, 50, 50, 0]
    assert evaluated(quotients.DECODE_TPS, frame) == [None] * 5, "its own window is 10 s"


def test_per_second_sums_over_engines_and_terms() -> None:
    rows = {
        one(network.RDMA_TRANSMIT, "n1", cage="p0"): [0, 100],
        one(network.NETDEV_TRANSMIT, "n1", cage="p0"): [0, 7],
        one(network.RDMA_TRANSMIT, "n2", cage="p0"): [0, 30],
        one(network.NETDEV_TRANSMIT, "n2", cage="p0"): [0, 0],
        one(network.NETDEV_TRANSMIT, "n2", cage="p0"): [0, 0],
    }
    assert evaluated(quotients.INTERCONNECT_TRANSMIT, table(rows), 1) == [None, 137]
    by_node = ratios.evaluate(quotients.INTERCONNECT_TRANSMIT, table(rows), lambda series: series.target, 1000)
    assert {key: numbers(line) for key, line in by_node.items()} == {"n1": [None, 107], "n2": [None, 30]}


def test_a_sum_of_terms_is_unknown_where_a_target_has_only_some_of_them() -> None:
    """n1 loses its RDMA counter, n2 never had one: what TCP/IP carried alone is not what the fabric carried."""
    rows = {
        one(network.RDMA_TRANSMIT, "n1", cage="p0"): [*range(0, 400, 100), *[None] * 26],
        one(network.NETDEV_TRANSMIT, "n1", cage="p0"): list(range(30)),
        one(network.NETDEV_TRANSMIT, "n2", cage="p0"): list(range(30)),
        one(network.RDMA_TRANSMIT, "n3", cage="p0"): list(range(30)),
        one(network.NETDEV_TRANSMIT, "n3", cage="p0"): list(range(30)),
    }
    for frame in (table(rows), table(rows).take([2, 3, 4]), table(rows).between(START_MS + 20_000, START_MS + 29_000)):
        found = latest.ratio(quotients.INTERCONNECT_TRANSMIT, frame, lambda series: series.target, 1000)
        assert {key for key, value in found.items() if not np.isnan(value)} == {"n3"}
        assert found["n3"] == 2
        by_node = ratios.evaluate(quotients.INTERCONNECT_TRANSMIT, frame, lambda series: series.target, 1000)
        assert numbers(by_node["n2"]) == [None] * len(frame.ticks)
    assert numbers(ratios.evaluate(quotients.INTERCONNECT_TRANSMIT, table(rows), lambda s: s.target, 1000)["n1"]) == [
        None, 101, 101, 101, *[None] * 26
    ]  # fmt: skip


def test_scrape_blip_is_no_spike() -> None:
    """50 tokens/s throughout; three scrapes fail, and no window that touches the gap becomes a rate."""
    at_s = [0.0, 2, 4, 6, 14, 16, 18, 20, 22, 24]
    tokens = [5_000_100 + 50 * second for second in at_s]
    frame = table({one(engine.GENERATION_TOKENS): tokens}, at_s=at_s, interval_s=2.0)
    assert evaluated(quotients.DECODE_TPS, frame) == [None] * 9 + [50]
    assert evaluated(quotients.DECODE_TPS, frame, 2) == [None, 50, 50, 50, None, 50, 50, 50, 50, 50]


def test_a_rate_is_not_held_over_a_restart() -> None:
    frame = table({one(engine.GENERATION_TOKENS): [0, 10, 20, 25, 35]}, breaks={0: [3]})
    assert evaluated(quotients.DECODE_TPS, frame, 1) == [None, 10, 10, None, 10]
    assert evaluated(quotients.DECODE_TPS, frame, 2) == [None, None, 10, None, None]


def test_a_rate_is_held_over_ticks_at_which_the_engine_was_not_due() -> None:
    slow = {one(engine.GENERATION_TOKENS): [0, None, 20, None, 40]}
    frame = table(slow, arrived_s=[0, None, 2, None, 4], interval_s=2.0)
    assert evaluated(quotients.DECODE_TPS, frame, 2) == [None, None, 10, 10, 10]


def test_one_engines_restart_makes_the_sum_unknown_for_its_whole_window() -> None:
    steady, broken = one(engine.GENERATION_TOKENS, "a"), one(engine.GENERATION_TOKENS, "b")
    tokens = [float(10 * second) for second in range(90)]
    frame = table({steady: tokens, broken: tokens}, breaks={1: [20]})
    found = evaluated(quotients.DECODE_TPS, frame, 60)
    assert found[:79] == [None] * 60 + [None] * 19
    assert found[80:] == [20] * 10


def test_a_part_that_is_first_used_counts_from_zero() -> None:
    stop, length = (one(engine.REQUESTS_FINISHED, outcome=name) for name in ("stop", "length"))
    frame = table({stop: [0, 1, 2, 3, 4], length: [None, None, None, 2, 2]})
    frame = mark_steps(frame, [(length, START_MS + 3000, Step.FIRST_USE.value)])
    assert evaluated(quotients.REQUEST_RATE, frame, 2) == [None, None, 1, 2, 2]


# Quotients ----------------


def test_a_ratio_of_sums_is_no_mean_of_ratios() -> None:
    rows = {
        one(engine.ACCEPTED_TOKENS, "a"): [0, 90],
        one(engine.DRAFT_TOKENS, "a"): [0, 100],
        one(engine.ACCEPTED_TOKENS, "b"): [0, 0],
        one(engine.DRAFT_TOKENS, "b"): [0, 900],
    }
    assert evaluated(quotients.ACCEPTANCE, table(rows), 1) == [None, 0.09]


def test_worked_example_of_a_speculative_engine() -> None:
    rows = {
        one(engine.DRAFTS): [300, 438],
        one(engine.DRAFT_TOKENS): [2400, 3504],
        one(engine.ACCEPTED_TOKENS): [1009, 1452],
    }
    frame = table(rows, at_s=[0, 10], interval_s=10)
    assert evaluated(quotients.ACCEPTANCE, frame, 10)[1] == pytest.approx(0.4013, abs=5e-5)
    assert evaluated(quotients.ACCEPTED_LENGTH, frame, 10)[1] == pytest.approx(4.2101, abs=5e-5)
    assert evaluated(quotients.DRAFT_LENGTH, frame, 10)[1] == 8
    assert evaluated(quotients.STEP_RATE, frame, 10)[1] == 13.8


def test_nothing_below_is_unknown_not_zero_and_not_infinite() -> None:
    rows = {one(engine.ACCEPTED_TOKENS): [5, 5, 9], one(engine.DRAFT_TOKENS): [8, 8, 8]}
    assert evaluated(quotients.ACCEPTANCE, table(rows), 1) == [None, None, None]


def test_an_unknown_side_makes_it_unknown() -> None:
    rows = {one(engine.ACCEPTED_TOKENS): [0, 1, 2], one(engine.DRAFT_TOKENS): [0, None, 4]}
    assert evaluated(quotients.ACCEPTANCE, table(rows), 1) == [None, None, 0.5]
    assert ratios.evaluate(quotients.ACCEPTANCE, table({one(engine.ACCEPTED_TOKENS): [0, 1]}), lambda _: ()) == {}
    assert ratios.evaluate(quotients.ACCEPTANCE, table([]), lambda _: ()) == {}


def test_a_target_that_offers_one_side_only_takes_no_part() -> None:
    rows = {
        one(engine.PROMPT_TOKENS_CACHED, "new"): [0, 50],
        one(engine.PROMPT_TOKENS, "new"): [0, 100],
        one(engine.PROMPT_TOKENS, "old"): [0, 900],
    }
    assert evaluated(quotients.PREFIX_HITS, table(rows), 1) == [None, 0.5]


def test_sides_of_different_kinds_of_targets_meet() -> None:
    rows = {
        one(gpu.GPU_ENERGY, "n1", gpu="0"): [0, 300, 600],
        one(gpu.GPU_ENERGY, "n2", gpu="0"): [0, 100, 200],
        one(engine.GENERATION_TOKENS, "head"): [0, 50, 100],
    }
    assert evaluated(quotients.ENERGY_PER_TOKEN, table(rows), 2) == [None, None, 8]
    del rows[one(engine.GENERATION_TOKENS, "head")]
    assert ratios.evaluate(quotients.ENERGY_PER_TOKEN, table(rows), lambda _: (), 2000) == {}


def test_a_missing_node_makes_energy_per_token_unknown_until_its_window_is_full_again() -> None:
    second = list(range(40))
    energy: list[float | None] = [100.0 * at for at in second]
    gone = [None if 10 <= at < 14 else 100.0 * at for at in second]
    rows = {
        one(gpu.GPU_ENERGY, "n1", gpu="0"): energy,
        one(gpu.GPU_ENERGY, "n2", gpu="0"): gone,
        one(engine.GENERATION_TOKENS): [50.0 * at for at in second],
    }
    frame = table(rows)
    assert evaluated(quotients.ENERGY_PER_TOKEN, frame, 20)[20:] == [None] * 14 + [4] * 6


def test_gauges_weigh_by_time() -> None:
    rows = {one(engine.GENERATION_TOKENS): [0, 10, 20, 60], one(engine.REQUESTS_RUNNING): [1, 1, 1, 3]}
    assert evaluated(quotients.STREAM_TPS, table(rows), 2) == [None, None, 10, 16.666667]


def test_a_window_of_zero_is_the_value_now() -> None:
    rows = {one(memory.MEMORY_USED, "n1"): [40, 90], one(memory.MEMORY_TOTAL, "n1"): [100, 100]}
    assert evaluated(quotients.MEMORY_USE, table(rows)) == [0.4, 0.9]


def test_scale_and_offset() -> None:
    ratio = Ratio(
        "r",
        "r",
        "r",
        host.CPU_BUSY.unit,
        quotients.CPU_UTILIZATION.scope,
        "g",
        (host.CPU_BUSY,),
        scale=100.0,
        offset=1.0,
    )
    assert evaluated(ratio, table({one(host.CPU_BUSY): [0, 0.5]}), 1) == [None, 51]


def test_stored_names() -> None:
    assert ratios.stored_names(quotients.INTERCONNECT_PER_TOKEN) == {
        network.RDMA_TRANSMIT.name,
        network.NETDEV_TRANSMIT.name,
        engine.GENERATION_TOKENS.name,
    }


@settings(deadline=None)
@given(
    st.permutations(range(6)),
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=8, max_size=8), min_size=6, max_size=6),
)
def test_the_order_of_series_changes_nothing(order: list[int], gains: list[list[int | None]]) -> None:
    rows: dict[Series, Numbers] = {}
    for number, row in enumerate(gains):
        metric = engine.ACCEPTED_TOKENS if number % 2 else engine.DRAFT_TOKENS
        levels = np.cumsum([gain or 0 for gain in row])
        rows[one(metric, f"t{number // 2}")] = [
            None if gain is None else float(level) for gain, level in zip(row, levels, strict=True)
        ]
    frame = table(rows)
    key = lambda series: series.target  # noqa: E731
    for how in (lambda _: (), key):
        found = ratios.evaluate(quotients.ACCEPTANCE, frame, how, 2000)
        shuffled = ratios.evaluate(quotients.ACCEPTANCE, frame.take(order), how, 2000)
        assert {one: numbers(line) for one, line in found.items()} == {
            one: numbers(line) for one, line in shuffled.items()
        }


# Over a whole range -----


def test_over_a_range_gaps_are_included() -> None:
    rows = {one(engine.GENERATION_TOKENS, "a"): [0, 10, 610], one(engine.GENERATION_TOKENS, "b"): [0, 0, 90]}
    frame = table(rows, at_s=[0, 1, 70])
    assert ratios.over(quotients.DECODE_TPS, frame, START_MS, START_MS + 70_000) == 10


def test_over_a_range_sums_divide_sums() -> None:
    rows = {
        one(engine.ACCEPTED_TOKENS): [10, 20, 50],
        one(engine.DRAFTS): [5, 10, 20],
    }
    assert ratios.over(quotients.ACCEPTED_LENGTH, table(rows), START_MS, START_MS + 2000) == 1 + 40 / 15


def test_over_a_range_gauges_are_integrated() -> None:
    rows = {one(engine.GENERATION_TOKENS): [0, 10, 30], one(engine.REQUESTS_RUNNING): [1, 1, 3]}
    assert ratios.over(quotients.STREAM_TPS, table(rows), START_MS, START_MS + 2000) == 10


@pytest.mark.parametrize("metric", [engine.ACCEPTED_TOKENS, engine.DRAFT_TOKENS])
def test_over_a_range_without_one_side_is_unknown(metric: Metric) -> None:
    frame = table({one(metric): [0, 10]})
    assert np.isnan(ratios.over(quotients.ACCEPTANCE, frame, START_MS, START_MS + 1000))
    assert np.isnan(ratios.over(quotients.ACCEPTANCE, table([]), START_MS, START_MS + 1000))


def test_over_a_range_in_which_nothing_happened_is_unknown() -> None:
    rows = {one(engine.ACCEPTED_TOKENS): [5, 5], one(engine.DRAFT_TOKENS): [8, 8]}
    assert np.isnan(ratios.over(quotients.ACCEPTANCE, table(rows), START_MS, START_MS + 1000))


def acceptance(accepted: list[float | None], drafted: list[float | None], **more: object) -> list[float]:
    """Acceptance over a trailing 5 s, from counters of accepted and drafted tokens of one engine."""
    rows = {
        series("speculative_accepted_tokens_total"): accepted,
        series("speculative_draft_tokens_total"): drafted,
    }
    frame = table(rows, **more)  # type: ignore[arg-type]
    return ratios.evaluate(quotients.ACCEPTANCE, frame, lambda _: (), 5000.0)[()].tolist()


def test_a_quotient_of_one_pages_counters_begins_with_its_second_sample() -> None:
    found = acceptance([0, 2, 4, 5], [0, 4, 8, 16])
    assert np.isnan(found[0])
    assert found[1:] == [0.5, 0.5, 5 / 16]


def test_a_quotient_of_one_pages_counters_bridges_a_gap_and_a_restart() -> None:
    found = acceptance([0, 2, 6, 7], [0, 4, 24, 26], at_s=[0, 1, 9, 10], breaks={0: [3], 1: [3]})
    assert found[3] == pytest.approx((1 + 4 * 4 / 8) / (2 + 20 * 4 / 8)), "five seconds back lies within the gap"


def test_a_rate_does_not_bridge_a_gap() -> None:
    frame = table({series(): [0, 2, 6, 7]}, at_s=[0, 1, 9, 10])
    assert np.isnan(ratios.evaluate(quotients.DECODE_TPS, frame, lambda _: (), 5000.0)[()]).all()


def test_counters_and_gauges_contribute_side_by_side() -> None:
    tokens, running = one(engine.GENERATION_TOKENS), one(engine.REQUESTS_RUNNING)
    both = table({tokens: [5, 15, 35, 40], running: [2, 2, 4, 4]})
    gained = ratios.contribution(both, 2000.0)
    assert numbers(gained[0]) == [None, None, 30.0, 25.0], "the increase of a counter"
    assert numbers(gained[1]) == [None, None, 5.0, 7.0], "the integral of a gauge"
    assert [numbers(ratios.contribution(both.take([row]), 2000.0)[0]) for row in (0, 1)] == [
        numbers(row) for row in gained
    ]
