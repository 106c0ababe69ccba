"""Quotients, rates and percentiles from summaries of hours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry import catalog, far, near
from telemetry import ratios as quotients
from telemetry.catalog import engine, gpu, host, memory, network, ratios
from telemetry.model import Kind, Metric, Ratio, Scope, Series, part
from telemetry.query import Query
from telemetry.summary import HOUR_MS
from tests.telemetry.frames import Numbers
from tests.telemetry.hours import PER_HOUR, ask, frame, hours, linear, question, told
from tests.telemetry.questions import one

TOKENS = one(engine.GENERATION_TOKENS, "head")
EXTREMES = ("minimum", "maximum", "mean")


def test_the_rate_of_a_counter() -> None:
    """2/s, in the second hour once 50/s for ten seconds."""
    values = [*linear(2, PER_HOUR + 100), *linear(2, PER_HOUR - 100, 2 * 10 * (PER_HOUR + 99) + 500.0)]
    rows: dict[Series, Numbers] = {TOKENS: values}
    (line,) = ask(engine.GENERATION_TOKENS, frame(rows), 0, 1, rate=True)
    assert line.labels == {"target": "head"}
    assert told(line, *EXTREMES) == [[2, 2], [2, 50], [2, pytest.approx(2 + 480 / 3600)]]
    assert told(line, "last") == [[None, None]]


def test_a_rate_near_is_a_trailing_increase_per_second() -> None:
    samples = frame({TOKENS: [0, 10, 40, 40], one(engine.GENERATION_TOKENS, "more"): [0, 5, 10, 15]})
    query = question(engine.GENERATION_TOKENS, 0, 0, rate=True, width_ms=None)
    assert [told(line, "values") for line in near.answer(query, samples)] == [
        [[None, 1, 3, 0]],
        [[None, 0.5, 0.5, 0.5]],
    ]
    (total,) = near.answer(replace(query, total=True), samples)
    assert told(total, "values") == [[None, 1.5, 3.5, 0.5]]
    (bins,) = near.answer(replace(query, total=True, width_ms=HOUR_MS), samples)
    assert told(bins, *EXTREMES) == [[0.5], [3.5], [pytest.approx(5.5 / 3)]]
    assert query.lead_ms == 10_000 + 2 * 25_000 + 15_000


@pytest.mark.parametrize("metric", [gpu.GPU_POWER, engine.TTFT, ratios.DECODE_TPS, engine.ENGINE_PHASE])
def test_only_counters_have_a_rate(metric: Metric | Ratio) -> None:
    with pytest.raises(ValueError, match=f"{metric.name} is no counter"):
        Query(metric, 0, 1, rate=True)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        (engine.GENERATION_TOKENS, "tokens_per_second"),
        (network.RDMA_TRANSMIT, "network_bytes_per_second"),
        (network.MANAGEMENT_RECEIVE, "network_bytes_per_second"),
        (memory.SWAP_IN, "bytes_per_second"),
        (gpu.GPU_ENERGY, "watts"),
        (host.CPU_BUSY, "count"),
        (engine.PREEMPTIONS, "per_second"),
        (engine.REQUESTS_FINISHED, "per_second"),
    ],
)
def test_units_of_rates(metric: Metric, unit: str) -> None:
    query = question(metric, 0, 0, rate=True)
    assert query.unit.value == unit
    assert (query.fold.value, query.window_ms, question(metric, 0, 0).unit) == ("mean", 10_000, metric.unit)


def test_rates_of_several_counters_have_a_mean_and_no_extremes() -> None:
    rows: dict[Series, Numbers] = {
        TOKENS: linear(2, PER_HOUR),
        one(engine.GENERATION_TOKENS, "more"): linear(3, PER_HOUR),
    }
    (line,) = ask(engine.GENERATION_TOKENS, frame(rows), 0, 0, rate=True, total=True)
    assert told(line, *EXTREMES) == [[None], [None], [5]]
    (single,) = ask(engine.GENERATION_TOKENS, frame(rows), 0, 0, rate=True, total=True, targets=frozenset({"more"}))
    assert told(single, *EXTREMES) == [[3], [3], [3]]


def test_a_group_that_is_one_counter_after_the_other() -> None:
    """The model's name changes with the second hour: each hour has one counter, and the bin its extremes."""
    first, second = (one(engine.GENERATION_TOKENS, "head", engine="0", model=name) for name in ("a", "b"))
    gone: list[float | None] = [None] * PER_HOUR
    rows: dict[Series, Numbers] = {first: [*linear(2, PER_HOUR), *gone], second: [*gone, *linear(7, PER_HOUR)]}
    (line,) = ask(ratios.DECODE_TPS, frame(rows), 0, 2, width=3, total=True)
    assert told(line, *EXTREMES) == [[2], [7], [4.5]]
    half = PER_HOUR // 2
    rows = {first: [*linear(2, half), *gone[:half]], second: [*gone[:half], *linear(7, half)]}
    (line,) = ask(ratios.DECODE_TPS, frame(rows), 0, 0, total=True)
    assert told(line, *EXTREMES) == [[None], [None], [None]], "together for half an hour, or one after the other"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.none() | st.integers(0, 400), min_size=90, max_size=90), st.integers(1, 3), st.sets(st.integers(1, 89))
)
def test_rates_of_hours_are_those_of_samples(steps: list[int | None], width: int, restarts: set[int]) -> None:
    """With gaps and restarts: the extremes are those of the samples' rates."""
    level = np.cumsum([step or 0 for step in steps]).tolist()
    values = [None if step is None else float(at) for step, at in zip(steps, level, strict=True)]
    samples = frame({TOKENS: values}, at_s=[3300.0 + 10 * place for place in range(90)], breaks={0: sorted(restarts)})
    query = question(ratios.DECODE_TPS, 0, 2, width)
    expected, lines = near.answer(query, samples), far.answer(query, hours(samples))
    assert len(lines) == any(value is not None for value in values)
    if not lines:
        return
    (found,) = lines
    for name in ("minimum", "maximum"):
        want, have = getattr(expected[0], name), getattr(found, name)
        assert np.allclose(have, want[: len(have)], equal_nan=True)


LEFT, RIGHT = (one(network.RDMA_TRANSMIT, cage="p0", function=name) for name in ("f0", "f1"))
TCP = tuple(one(network.NETDEV_TRANSMIT, cage="p0", function=name) for name in ("f0", "f1"))


def test_a_cage_is_the_sum_of_its_functions() -> None:
    rows: dict[Series, Numbers] = {
        LEFT: linear(100, PER_HOUR),
        RIGHT: linear(20, PER_HOUR),
        TCP[0]: linear(3, PER_HOUR),
        TCP[1]: linear(0, PER_HOUR),
    }
    (line,) = ask(ratios.INTERCONNECT_TRANSMIT, frame(rows), 0, 0)
    assert line.labels == {"target": "n1", "cage": "p0"}
    assert told(line, *EXTREMES) == [[None], [None], [123]]


def test_a_part_of_a_sum_that_is_missing_makes_the_hour_unknown() -> None:
    """RDMA without TCP/IP is no traffic: for an hour, and for a part of one; a second target does not mend it."""
    whole, none = linear(10, 2 * PER_HOUR), [None] * PER_HOUR
    other: dict[Series, Numbers] = {replace(series, target="n2"): whole for series in (LEFT, TCP[0])}
    for missing in (none, [*whole[:200], *none[200:]]):
        rows: dict[Series, Numbers] = {LEFT: whole, TCP[0]: [*missing, *whole[PER_HOUR:]]}
        assert told(ask(ratios.INTERCONNECT_TRANSMIT, frame(rows), 0, 1)[0], "mean") == [[None, 20]]
        both = rows | other
        (line,) = ask(ratios.INTERCONNECT_TRANSMIT, frame(both), 0, 1, total=True)
        assert told(line, "mean") == [[None, 40]]


def test_a_single_counter_of_a_side_of_two_is_not_the_whole_side() -> None:
    rows: dict[Series, Numbers] = {LEFT: linear(10, PER_HOUR)}
    assert told(ask(ratios.INTERCONNECT_TRANSMIT, frame(rows), 0, 0)[0], *EXTREMES) == [[None]] * 3


def test_quotients_are_sums_over_sums() -> None:
    """Acceptance: 9 of 10 in a slow hour, 100 of 1000 in a fast one; the two hours together 109 of 1010."""
    accepted, drafted = one(engine.ACCEPTED_TOKENS, "head"), one(engine.DRAFT_TOKENS, "head")
    rows: dict[Series, Numbers] = {accepted: [0, 9, 9, 109], drafted: [0, 10, 10, 1010]}
    samples = frame(rows, at_s=[0, 10, 3600, 3610])
    assert told(ask(ratios.ACCEPTANCE, samples, 0, 1)[0], *EXTREMES) == [[None, None], [None, None], [0.9, 0.1]]
    (line,) = ask(ratios.ACCEPTANCE, samples, 0, 1, width=3)
    assert told(line, "mean") == [[pytest.approx(109 / 1010, rel=1e-4)]]
    (line,) = ask(ratios.ACCEPTED_LENGTH, frame({accepted: [0, 15], one(engine.DRAFTS, "head"): [0, 5]}), 0, 0)
    assert told(line, "mean") == [[4]]
    still: dict[Series, Numbers] = {accepted: [9, 9], drafted: [9, 9]}
    assert told(ask(ratios.ACCEPTANCE, frame(still), 0, 0)[0], "mean") == [[None]]


def test_a_side_that_is_not_there_is_no_line() -> None:
    assert ask(ratios.ACCEPTANCE, frame({one(engine.ACCEPTED_TOKENS, "head"): [0, 9]}), 0, 0) == []
    assert ask(ratios.ACCEPTANCE, frame({one(engine.DRAFT_TOKENS, "head"): [0, 9]}), 0, 0) == []


def test_targets_that_offer_one_side_take_no_part_in_that_hour() -> None:
    rows: dict[Series, Numbers] = {
        one(engine.ACCEPTED_TOKENS, "a"): linear(1, 2 * PER_HOUR),
        one(engine.DRAFT_TOKENS, "a"): linear(2, 2 * PER_HOUR),
        one(engine.ACCEPTED_TOKENS, "b"): linear(10, 2 * PER_HOUR),
        one(engine.DRAFT_TOKENS, "b"): [*[None] * PER_HOUR, *linear(10, PER_HOUR)],
    }
    (line,) = ask(ratios.ACCEPTANCE, frame(rows), 0, 1, total=True)
    assert told(line, "mean") == [[0.5, pytest.approx(11 / 12)]]


def test_sides_of_a_target_that_were_watched_for_different_times() -> None:
    """Busy cores of half an hour over the cores of an hour would be half of the truth."""
    rows: dict[Series, Numbers] = {
        one(host.CPU_BUSY): [*linear(10, 180), *[None] * 180, *linear(10, PER_HOUR, 36_000)],
        one(host.CPU_CORES): [20.0] * 2 * PER_HOUR,
    }
    assert told(ask(ratios.CPU_UTILIZATION, frame(rows), 0, 1)[0], "mean") == [[None, 0.5]]


def test_values_of_an_instant_are_sums_of_values() -> None:
    rows: dict[Series, Numbers] = {
        one(memory.MEMORY_USED): [10, 20, 60],
        one(memory.MEMORY_TOTAL): [100, 100, 100],
        one(memory.MEMORY_USED, "n2"): [0, 0, 30],
        one(memory.MEMORY_TOTAL, "n2"): [50, 50, 50],
    }
    samples = frame(rows)
    assert [told(line, "mean") for line in ask(ratios.MEMORY_USE, samples, 0, 0)] == [[[0.3]], [[0.2]]]
    assert told(ask(ratios.MEMORY_USE, samples, 0, 0, total=True)[0], *EXTREMES) == [
        [None],
        [None],
        [pytest.approx(120 / 450, abs=1e-6)],
    ]
    single: dict[Series, Numbers] = {one(memory.MEMORY_USED): [10], one(memory.MEMORY_TOTAL): [40]}
    assert told(ask(ratios.MEMORY_USE, frame(single), 0, 0)[0], "mean") == [[0.25]]


def test_values_of_an_instant_at_different_paces_are_taken_by_time() -> None:
    sparse: list[float | None] = [30.0 if place % 2 == 0 else None for place in range(PER_HOUR)]
    rows: dict[Series, Numbers] = {
        one(memory.MEMORY_USED): [10.0] * PER_HOUR,
        one(memory.MEMORY_TOTAL): [100.0] * PER_HOUR,
        one(memory.MEMORY_USED, "n2"): sparse,
        one(memory.MEMORY_TOTAL, "n2"): [None if value is None else 50.0 for value in sparse],
    }
    (line,) = ask(ratios.MEMORY_USE, frame(rows), 0, 0, total=True)
    assert told(line, "mean") == [[pytest.approx(40 / 150, abs=1e-6)]]


ENERGY = one(gpu.GPU_ENERGY, "n1", gpu="0")


def test_a_node_and_an_engine_are_divided_where_both_were_watched() -> None:
    rows: dict[Series, Numbers] = {
        ENERGY: linear(60, 2 * PER_HOUR),
        replace(ENERGY, target="n2"): linear(40, 2 * PER_HOUR),
        TOKENS: [*linear(20, 180), *[None] * 180, *linear(20, PER_HOUR, 72_000)],
    }
    (line,) = ask(ratios.ENERGY_PER_TOKEN, frame(rows), 0, 1)
    assert (line.labels, told(line, *EXTREMES)) == ({}, [[None, None], [None, None], [None, 5]])
    (one_node,) = ask(ratios.ENERGY_PER_TOKEN, frame(rows), 0, 1, targets=frozenset({"n2"}))
    assert told(one_node, "mean") == [[None, 2]]


def test_shares_of_time_are_the_mean_of_their_members() -> None:
    reasons = [one(gpu.GPU_THROTTLE, gpu="0", reason=name) for name in ("power", "heat")]
    rows: dict[Series, Numbers] = {reasons[0]: linear(0.5, PER_HOUR), reasons[1]: [*linear(0.1, 180), *[None] * 180]}
    samples = frame(rows)
    assert [told(line, *EXTREMES) for line in ask(ratios.THROTTLE_SHARE, samples, 0, 0)] == [[[0.5]] * 3, [[0.1]] * 3]
    (line,) = ask(ratios.THROTTLE_SHARE, samples, 0, 0, total=True)
    expected = (0.5 * 3590 + 0.1 * 1790) / (3590 + 1790)
    assert told(line, *EXTREMES) == [[None], [None], [pytest.approx(expected, abs=1e-6)]]


def test_extremes_want_the_window_that_was_kept() -> None:
    longer = replace(ratios.DECODE_TPS, window_s=60)
    assert told(ask(longer, frame({TOKENS: linear(2, PER_HOUR)}), 0, 0)[0], *EXTREMES) == [[None], [None], [2]]
    gauge = replace(ratios.DECODE_TPS, numerator=(engine.REQUESTS_RUNNING,))
    rows: dict[Series, Numbers] = {one(engine.REQUESTS_RUNNING, "head"): [3.0] * PER_HOUR}
    assert told(ask(gauge, frame(rows), 0, 0)[0], *EXTREMES) == [[None], [None], [3]]
    scaled = replace(ratios.DECODE_TPS, scale=10, offset=1)
    assert told(ask(scaled, frame({TOKENS: linear(2, PER_HOUR)}), 0, 0)[0], *EXTREMES) == [[21], [21], [21]]


def sample(metric: Metric, number: int) -> dict[Series, Numbers]:
    """Two series of a metric, wherever it belongs, that were watched for the same two hours."""
    count, targets = (
        2 * PER_HOUR,
        ("head", "tail") if metric.scope in (Scope.ENGINE, Scope.DEPLOYMENT) else ("n1", "n2"),
    )
    found: dict[Series, Numbers] = {}
    for place, target in enumerate(targets):
        values = np.cumsum(1 + (np.arange(count) * (7 + number + place)) % 5).astype(float)
        if metric.kind is not Kind.COUNTER:
            values = 5 + values % 7
        labels = dict.fromkeys(metric.by, "x")
        found[one(metric, target, **labels)] = values.tolist()
    return found


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("ratio", [one for one in catalog.METRICS if isinstance(one, Ratio)], ids=lambda one: one.name)
def test_every_ratio_has_the_mean_of_its_hours(ratio: Ratio, total: bool) -> None:
    """What Σ ∕ Σ of all samples of the hour is, worked out by `ratios.over`, for each line."""
    rows: dict[Series, Numbers] = {}
    for number, metric in enumerate((*ratio.numerator, *ratio.denominator)):
        rows |= sample(metric, number)
    samples = frame(rows)
    lines = ask(ratio, samples, 1, 1, total=total)
    assert len(lines) == (1 if total or ratio.scope is Scope.CLUSTER else 2)
    query = question(ratio, 1, 1, total=total)
    begin, end = float(samples.ticks[PER_HOUR - 1]), float(samples.ticks[-1])
    for line in lines:
        mine = samples.select(lambda series, line=line: dict(query.group(series)) == line.labels)  # type: ignore[misc]
        expected = quotients.over(ratio, mine, begin, end)
        if quotients.is_share(ratio) and total:
            expected /= 2
        tolerance = 0.02 if ratio.window_s == 0 else 1e-9
        assert line.mean.tolist() == [pytest.approx(expected, rel=tolerance)]  # type: ignore[union-attr]
        assert np.isnan(line.last).all()  # type: ignore[arg-type]


def test_parts_of_histograms_are_counters_like_others() -> None:
    series = one(part(engine.TTFT, "count"), "head")
    assert told(ask(part(engine.TTFT, "count"), frame({series: linear(1, PER_HOUR)}), 0, 0, rate=True)[0], "mean") == [
        [1]
    ]
