"""Pages with faults of their own: what is not so on them adds nothing to a total, and does not spoil what follows."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.ingest import TWICE
from pipeline.ranges import limits_of
from telemetry import catalog
from telemetry.model import Kind, Metric, Scope
from tests.pipeline.source import GENERATED, Source


def test_a_fall_without_a_restart_is_held_until_it_is_passed() -> None:
    source = Source()
    source.page({"": 999_000}, started=50.0)
    assert source.tokens({"": 1_000_000}, started=50.0) == (1000.0, [])
    reading = source.page({"": 999_985}, started=51.0)
    assert (source.total(reading), reading.offsets, reading.restarted) == (1000.0, (), False)
    assert source.tokens({"": 999_990}, started=50.0) == (1000.0, [])
    assert source.tokens({"": 1_000_020}, started=50.0) == (1020.0, [])
    assert source.tokens({"": 5}) == (1025.0, ["restart"]), "without a start time a fall is a restart"


def test_a_fall_of_one_of_several_lines_holds_that_line_alone() -> None:
    source = Source()
    source.page({"1": 100, "2": 50}, started=50.0)
    assert source.tokens({"1": 90, "2": 57}, started=50.0) == (7.0, [])
    assert source.tokens({"1": 101, "2": 57}, started=50.0) == (8.0, [])


def test_what_is_held_goes_on_after_the_collector_restarts() -> None:
    source = Source(resumed={GENERATED: (700.0, -300.0)}, started_s=10.0, left_ms=500.0)
    assert source.tokens({"": 990}, started=10.0) == (700.0, [])
    assert source.tokens({"": 1003}, started=10.0) == (703.0, [])


@pytest.mark.parametrize(
    ("after", "total", "told"), [(50.0, 150.0, []), (90.0, 350.0, ["restart"]), (None, 350.0, ["restart"])]
)
def test_a_page_of_comments_is_a_restart_unless_the_start_time_stands(
    after: float | None, total: float, told: list[str]
) -> None:
    source = Source()
    source.page({"": 100}, started=50.0)
    source.page({"": 200}, started=50.0)
    source.body("# TYPE vllm:generation_tokens counter")
    assert source.tokens({"": 250}, started=after) == (total, told)
    assert source.tokens({"": 260}, started=after) == (total + 10, [])


def test_a_line_given_twice_with_two_numbers_is_unknown_with_its_reason() -> None:
    source = Source()
    line = 'vllm:generation_tokens_total{engine="0",model_name="m"} '
    source.body(f"{line}100\n{line}100\n")
    reading = source.body(f"{line}110\n{line}900\n")
    assert (source.total(reading), reading.nonsense, reading.offsets) == (None, 1, ())
    assert dict(reading.why) == {"generation_tokens_total": TWICE}
    reading = source.body(f"{line}120\n{line}120\n")
    assert (source.total(reading), reading.nonsense, dict(reading.why)) == (20.0, 0, {})


def test_metrics_made_anew_in_the_same_process_began_again() -> None:
    source = Source()
    created = 'vllm:generation_tokens_created{engine="0",model_name="m"} '
    line = 'vllm:generation_tokens_total{engine="0",model_name="m"} '
    process = "process_start_time_seconds 1000\n"
    source.body(f"{line}100\n{created}1060\n{process}")
    assert source.total(source.body(f"{line}95\n{created}1062\n{process}")) == 0.0, "made at the same time"
    assert source.total(source.body(f"{line}95\n{process}")) == 0.0, "not told"
    reading = source.body(f"{line}40\n{created}1065\n{process}")
    assert (source.total(reading), reading.restarted) == (40.0, True)
    assert source.total(source.body(f"{line}35\n{created}1065\n{process}")) == 40.0


def test_start_times_told_in_two_ways_are_not_compared() -> None:
    source = Source()
    created = 'vllm:generation_tokens_created{engine="0",model_name="m"} '
    line = 'vllm:generation_tokens_total{engine="0",model_name="m"} '
    process = "process_start_time_seconds "
    source.body(f"{line}100\n{created}1060\n{process}1000")
    pages = [f"{line}150\n{created}1060", f"{line}160\n{created}1060\n{process}1000", f"{line}170\n{created}1060"]
    readings = [source.body(page) for page in pages]
    assert [source.total(one) for one in readings] == [50.0, 60.0, 70.0]
    assert not any(one.restarted for one in readings)
    assert source.body(f"{line}180\n{created}1100").restarted


NODE = 'tachograph_rdma_transmit_bytes_total{cage="p0",function="f0"} '


def node_totals(*raws: object) -> list[float | None]:
    source = Source()
    values = [float(source.body(f"{NODE}{raw}").values[0]) for raw in raws]
    return [None if np.isnan(value) else value for value in values]


def test_a_negative_number_of_a_counter_is_unknown_and_forgotten() -> None:
    source = Source()
    source.page({"": 1000})
    reading = source.page({"": -5})
    assert (source.total(reading), reading.nonsense, reading.offsets) == (None, 1, ())
    assert source.tokens({"": 1010}) == (10.0, [])
    assert node_totals(100, -1, 107) == [0.0, None, 7.0]


@pytest.mark.parametrize("huge", ["9.3e18", "9007199254740994"])
def test_a_huge_number_does_not_poison_an_engines_counter(huge: str) -> None:
    source = Source()
    source.page({"": 1000})
    assert source.tokens({"": huge}) == (None, [])
    assert source.tokens({"": huge}) == (None, [])
    assert source.tokens({"": 1010}) == (10.0, [])
    assert source.tokens({"": 1011}) == (11.0, [])


def test_a_huge_first_number_is_no_first_sample() -> None:
    source = Source()
    assert source.tokens({"": 9.3e18}) == (None, [])
    assert source.tokens({"": 50}) == (0.0, ["first sample"])
    assert source.tokens({"": 2**53}) == (None, [])
    assert source.tokens({"": 60}) == (10.0, [])


def test_a_nodes_counter_may_be_large_but_not_leap() -> None:
    assert node_totals(2**65, 2**65 + 2**20) == [0.0, 2.0**20]
    assert node_totals(5e12, 9.3e18, 5e12 + 64) == [0.0, None, 64.0]
    assert node_totals(0, 2**36, 2.1 * 2**53) == [0.0, 2.0**36, None]
    assert node_totals(7, "7.4e19", 9) == [0.0, None, 2.0], "more than 64 bits of words"


def test_a_restart_to_a_huge_number_is_none_yet() -> None:
    source = Source()
    flops = 'vllm:estimated_flops_per_gpu_total{engine="0",model_name="m"} '
    source.body(f"{flops}3e20\nprocess_start_time_seconds 10")
    reading = source.body(f"{flops}5e21\nprocess_start_time_seconds 99")
    assert np.isnan(reading.values[0])
    assert source.body(f"{flops}4e17\nprocess_start_time_seconds 99").values.tolist() == [4e17]


GAUGES = [
    ('vllm:num_requests_running{engine="0"}', -3, None),
    ('vllm:num_requests_running{engine="0"}', 0, 0),
    ('vllm:kv_cache_usage_perc{engine="0"}', 7.5, None),
    ('vllm:kv_cache_usage_perc{engine="0"}', 1.05, 1.05),
    ('vllm:kv_cache_usage_perc{engine="0"}', 1.06, None),
    ('tachograph_gpu_power_watts{gpu="0"}', -50, None),
    ('tachograph_gpu_power_watts{gpu="0"}', 1e22, None),
    ('tachograph_gpu_power_watts{gpu="0"}', 20_001, None),
    ('tachograph_gpu_power_watts{gpu="0"}', 1400, 1400),
    ('tachograph_gpu_sm_clock_hertz{gpu="0"}', 2.4e18, None),
    ('tachograph_link_capacity_bytes_per_second{cage="p0",function="f"}', 25e9, 25e9),
    ('tachograph_link_capacity_bytes_per_second{cage="p0",function="f"}', 1.1e12, None),
    ('vllm:num_requests_running{engine="0"}', 1e12, None),
    ('vllm:kv_cache_usage_perc{engine="0"}', 1.0000001, 1.0000001),
    ("tachograph_memory_available_bytes", 2**63, None),
    ("tachograph_agent_time_seconds", 1.8e9, 1.8e9),
    ('tachograph_gpu_utilization_ratio{gpu="0"}', -3, None),
    ('tachograph_gpu_temperature_celsius{gpu="0"}', -20, -20),
    ('tachograph_gpu_temperature_celsius{gpu="0"}', -101, None),
    ('tachograph_gpu_temperature_celsius{gpu="0"}', 255, None),
    ('tachograph_gpu_temperature_celsius{gpu="0"}', 110, 110),
    ('tachograph_gpu_fan_speed_ratio{gpu="0"}', 1.2, 1.2),
    ('tachograph_gpu_reading_state{gpu="0"}', 6, 6),
    ('tachograph_gpu_reading_state{gpu="0"}', 7, None),
]


@pytest.mark.parametrize(("line", "number", "expected"), GAUGES)
def test_a_gauge_outside_its_range_is_unknown(line: str, number: float, expected: float | None) -> None:
    reading = Source().body(f"{line} {number}")
    assert reading.values.tolist() == [pytest.approx(float("nan") if expected is None else expected, nan_ok=True)]
    assert reading.nonsense == (expected is None)


def test_every_metric_has_limits_that_hold_its_own_marks() -> None:
    for metric in catalog.METRICS:
        if isinstance(metric, Metric) and metric.kind is not Kind.HISTOGRAM:
            low, high, rate, burst = limits_of(metric)
            marks = [mark for mark in (metric.limits.warning, metric.limits.critical) if mark] if metric.limits else []
            assert low <= min([*marks, 0.0]) <= max([*marks, 0.0]) < high, metric.name
            assert rate > 0
            assert burst >= 0
            counted = metric.kind is Kind.COUNTER and metric.scope in (Scope.ENGINE, Scope.NODE)
            assert not counted or rate < 1e19, f"{metric.name} may leap"


def rank(number: int, value: float) -> str:
    return f'sglang:generation_tokens_total{{model_name="m",dp_rank="0",tp_rank="{number}"}} {value}\n'


def renamed(name: str, value: float) -> str:
    return f'vllm:{name}{{engine="0",model_name="m"}} {value}\n'


def totals(*pages: str) -> tuple[list[float], list[list[str]]]:
    source = Source()
    readings = [source.body(page) for page in pages]
    return [float(one.values[0]) for one in readings], [[offset.reason for offset in one.offsets] for one in readings]


def test_a_rank_that_comes_and_goes_counts_once() -> None:
    both = [rank(0, tokens) + rank(1, tokens) for tokens in (1000, 1100, 1400, 1500)]
    one = [rank(1, 1200), rank(1, 1300)]
    found, told = totals(both[0], both[1], *one, both[2], both[3], one[0], both[3])
    assert found == [0, 100, 100, 200, 200, 300, 300, 300]
    assert told[2:5] == [["lines changed"], [], ["lines changed"]]
    assert told[6:] == [["lines changed"], ["lines changed"]]


def test_a_copy_that_takes_over_begins_where_the_former_stood_though_its_number_is_lower() -> None:
    found, _ = totals(rank(0, 1000), rank(0, 1010), rank(1, 3), rank(1, 5), rank(0, 1020), rank(0, 1021))
    assert found == [0, 10, 10, 12, 12, 13]


def test_names_that_swap_back_and_forth_count_once() -> None:
    new, old = "prefix_cache_queries_total", "gpu_prefix_cache_queries_total"
    found, told = totals(*(renamed(new if page % 2 else old, 100.0 * page) for page in range(6)))
    assert found == [0] * 6, "what happened between two copies is known to neither"
    assert told[1:] == [["lines changed"]] * 5
    found, _ = totals(renamed(old, 100), renamed(old, 200), renamed(old, 300) + renamed(new, 300), renamed(new, 350))
    assert found == [0, 100, 100, 150]


def test_a_copy_that_takes_over_at_a_restart_counts_from_zero() -> None:
    start = "process_start_time_seconds "
    found, told = totals(
        rank(0, 1000) + f"{start}10", rank(0, 1100) + f"{start}10", rank(1, 30) + f"{start}99", rank(1, 31)
    )
    assert (found, told[2]) == ([0, 100, 130, 131], ["restart"])


def test_a_series_that_was_away_returns_by_another_copy() -> None:
    other = 'sglang:num_requests_total{model_name="m",dp_rank="0",tp_rank="1"} 5\n'
    source = Source()
    for page in (rank(0, 1000) + other, rank(0, 1100) + other, other):
        source.body(page)
    reading = source.body(rank(1, 1200) + other)
    assert sorted(reading.values.tolist()) == [0.0, 100.0]
