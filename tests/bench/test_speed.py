"""The workload is the one that is promised, and the page keeps what others wrote on it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from bench.speed import growth, report, texts
from bench.speed.asked import Goal
from bench.speed.workload import OPEN_HOUR_MS, POWER, Size, end_ms, targets
from telemetry import catalog
from telemetry.model import Kind
from telemetry.summary import HOUR_MS

SMALL = Size(hours=1, days=1, nodes=2, engines=1)


def test_the_workload_is_as_large_as_it_says() -> None:
    size = Size()
    assert [len(one.series) for one in targets(size)] == [60] * 16 + [216] * 2
    assert (size.series, size.ticks) == (1392, 24 * 3600 + 2400)
    assert size.samples == 1392 * 88_800
    assert size.first_ms - size.before_ms == 29 * 24 * HOUR_MS


def test_it_is_the_same_on_every_call_and_counters_never_fall() -> None:
    one = targets(SMALL)[-1]
    first, again = (list(one.hours(SMALL.first_ms, end_ms())) for _ in range(2))
    assert [len(hour.ticks) for hour in first] == [3600, 2400]
    assert first[1].start == OPEN_HOUR_MS
    for hour, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(hour.values, same.values)
        np.testing.assert_array_equal(hour.at_ms, same.at_ms)
    whole = np.concatenate([hour.values for hour in first], axis=1)
    counters = [row for row, series in enumerate(one.series) if catalog.stored(series.metric).kind is Kind.COUNTER]
    assert len(counters) > 176
    assert (np.diff(whole[counters], axis=1) >= 0).all()


def test_others_get_every_sample_once_and_ten_minutes_folded() -> None:
    parts = [part for _, piece in texts.everything(SMALL, 2 * HOUR_MS) for part in piece]
    assert sum(len(part.values) for part in parts if not part.metric.endswith("10m")) == SMALL.samples
    node = targets(SMALL)[0]
    hour = next(node.hours(SMALL.first_ms, end_ms()))
    mine = next(row for row, series in enumerate(node.series) if series.metric == POWER)
    rolled = [part for part in parts if part.labels["target"] == node.name and part.metric.startswith(f"{POWER}:")]
    by_name = {name: next(part for part in rolled if part.metric == f"{POWER}:{name}10m") for name in texts.ROLLUPS}
    values = hour.values[mine][:600]
    assert by_name["min"].values[0] == values.min()
    assert by_name["max"].values[0] == values.max()
    np.testing.assert_allclose(by_name["avg"].values[0], values.mean())
    for earlier, later in pairwise(by_name["min"].at_ms.tolist()):
        assert later > earlier
    assert by_name["min"].at_ms[0] == hour.start + 600_000


def test_a_line_for_prometheus_and_one_for_victoria_metrics() -> None:
    part = texts.Part(
        "m", {"target": "a", "le": "+Inf"}, np.array([1_796_000_000_007, 1_796_000_001_120]), np.array([1.5, 2])
    )
    assert texts.openmetrics(part, texts.stamps(part.at_ms)) == (
        b'm{target="a",le="+Inf"} 1.5 1796000000.007\nm{target="a",le="+Inf"} 2.0 1796000001.120\n'
    )
    assert texts.jsonline(part) == (
        b'{"metric":{"__name__":"m","target":"a","le":"+Inf"},"values":[1.5,2.0],'
        b'"timestamps":[1796000000007,1796000001120]}\n'
    )


def test_a_part_of_the_page_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Mine\n\nbefore\n")
    report.write("growth", "one", page)
    report.write("comparison", "two", page)
    report.write("growth", "three \\1", page)
    text = page.read_text()
    assert text.startswith("# Mine\n\nbefore\n\n<!-- growth: begin")
    assert "one" not in text.split("-->")[1]
    assert "three \\1" in text
    assert "two" in text
    assert text.count("begin, written by") == 2


def test_goals_say_yes_no_or_that_nobody_was_there() -> None:
    results = {"Prometheus": {"asked": {"day": {"clock_ms": 80.0, "cpu_ms": 70.0}}}}
    goal = Goal(None, 8, 8, "Prometheus", "day")
    assert report._reached(results, {"clock_ms": 10.0, "cpu_ms": 8.75}, goal) == [
        "≥ 8 × Prometheus: yes",
        "≤ 8 ms: **no**",
    ]
    for clock, cpu, said in (
        (10.0, 8.8, "by the clock, **not** by the processor"),
        (10.1, 8.7, "by the processor, **not** by the clock"),
        (10.1, 8.8, "**no**"),
    ):
        assert report._reached(results, {"clock_ms": clock, "cpu_ms": cpu}, goal)[0] == f"≥ 8 × Prometheus: {said}"
    assert report._reached({}, {"clock_ms": 7.0, "cpu_ms": 7.0}, goal) == [
        "≥ 8 × Prometheus: not measured",
        "≤ 8 ms: yes",
    ]


def test_the_slope_is_the_power_of_the_size() -> None:
    assert growth._slope([(9.0, 2.0), (9.0, 32.0)], (4, 64)) == "^ 1.00"
    assert growth._slope([(9.0, 3.0), (9.0, 3.0)], (1, 7)) == "^ 0.00"
