"""Percentiles of a window: inside the right bucket, with their count, and the mean where too little was observed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry.frame import empty
from telemetry.histograms import NOTHING, Estimate, bucket_increases, estimate, quantile, window_start
from tests.telemetry.frames import START_MS, series, table

INF = float("inf")


@pytest.mark.parametrize(
    ("increases", "q", "expected"),
    [
        ({0.1: 0, 0.5: 100, 1.0: 100, INF: 100}, 0.95, (0.48, "=")),
        ({0.1: 0, 0.5: 100, 1.0: 100, INF: 100}, 1.0, (0.5, "=")),
        ({0.1: 50, 0.5: 100, INF: 100}, 0.5, (0.1, "<")),
        ({0.1: 50, 0.5: 100, INF: 100}, 0.51, (0.108, "=")),
        ({0.1: 20, 0.5: 50, 1.0: 100, INF: 100}, 0.5, (0.5, "=")),
        ({0.1: 20, 0.5: 50, 1.0: 50, 2.5: 100, INF: 100}, 0.5, (0.5, "=")),
        ({0.1: 20, 0.5: 50, 1.0: 50, 2.5: 100, INF: 100}, 0.75, (1.75, "=")),
        ({1.0: 5, 2.0: 5, INF: 10}, 0.9, (2.0, ">")),
        ({1.0: 0, INF: 10}, 0.5, (1.0, ">")),
        ({1.0: 0, INF: 0}, 0.5, None),
        ({INF: 10}, 0.5, None),
        ({}, 0.5, None),
        ({1.0: 3, 2.0: float("nan"), INF: float("nan")}, 0.5, None),
        ({0.1: 7, 0.5: 93, 1.0: 100, INF: 100}, 0.07, (0.1, "<")),
        ({0.1: 0, 0.5: 55, INF: 100}, 0.55, (0.5, "=")),
        ({0.1: 10, 0.5: 9, 1.0: 20, INF: 20}, 0.75, (0.75, "=")),
        ({1.0: 0, 2.0: 300.1234567896, INF: 300.1234567896}, 1.0, (2.0, "=")),
    ],
)
def test_quantile(increases: dict[float, float], q: float, expected: tuple[float, str] | None) -> None:
    found = quantile(increases, q)
    assert found == (expected if expected is None else (pytest.approx(expected[0], abs=1e-9), expected[1]))


EDGES = [0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 10.0]


@given(
    st.lists(st.floats(0.0, 15.0), min_size=1, max_size=400),
    st.sampled_from([0.5, 0.9, 0.95, 0.99]),
)
def test_a_percentile_lies_in_the_bucket_of_the_true_one(samples: list[float], q: float) -> None:
    increases = {edge: float(sum(one <= edge for one in samples)) for edge in [*EDGES, INF]}
    true = float(np.quantile(samples, q, method="inverted_cdf"))
    found = quantile(increases, q)
    assert found is not None
    value, relation = found
    upper = next((edge for edge in EDGES if true <= edge), INF)
    lower = max((edge for edge in EDGES if edge < upper), default=0.0)
    if upper == INF:
        assert (value, relation) == (EDGES[-1], ">")
    elif lower == 0.0:
        assert (value, relation) == (EDGES[0], "<")
    else:
        assert relation == "="
        assert lower < value <= upper


def all_in_second(count: float) -> dict[float, float]:
    return {1.0: 0.0, 2.0: count, INF: count}


@pytest.mark.parametrize(
    ("q", "needed"),
    [(0.5, 10), (0.95, 60), (0.99, 300), (0.25, 10), (0.9, 60), (0.96, 300), (0.999, 300)],
)
def test_below_the_needed_count_the_mean_stands_in_its_place(q: float, needed: int) -> None:
    enough = estimate(all_in_second(needed), 1.5 * needed, needed, q)
    assert enough == Estimate(pytest.approx(1 + q), "=", "percentile", needed)
    few = estimate(all_in_second(needed - 1), 1.5 * (needed - 1), needed - 1, q)
    assert few == Estimate(1.5, "=", "mean", needed - 1)


def test_nothing_observed_is_no_number() -> None:
    assert estimate(all_in_second(0), 0.0, 0, 0.95) == NOTHING == Estimate(None, "=", "percentile", 0)
    assert estimate({}, float("nan"), float("nan"), 0.95) == NOTHING


def test_without_buckets_the_mean_stands_in_their_place() -> None:
    assert estimate({}, 50.0, 500, 0.95) == Estimate(0.1, "=", "mean", 500)


def test_a_count_without_sum_has_no_mean() -> None:
    assert estimate({}, float("nan"), 5, 0.5) == Estimate(None, "=", "mean", 5)


def test_relations_come_through() -> None:
    assert estimate({0.3: 100, INF: 100}, 10, 100, 0.5) == Estimate(0.3, "<", "percentile", 100)
    assert estimate({0.3: 0, INF: 100}, 100, 100, 0.5) == Estimate(0.3, ">", "percentile", 100)


# The window ----------


def counts(per_minute: list[float], engines: int = 1) -> list[list[float]]:
    return [list(np.cumsum(per_minute) / engines)] * engines


def minutes_back(rows: list[list[float]], now_minute: int) -> float:
    frame = table(rows, at_s=[60.0 * minute for minute in range(len(rows[0]))], interval_s=60.0)
    now = START_MS + now_minute * 60_000
    return (now - window_start(frame, now)) / 60_000


def test_a_busy_server_is_looked_at_over_five_minutes() -> None:
    assert minutes_back(counts([200.0] * 91), 90) == 5


def test_the_window_grows_until_it_holds_a_hundred_requests() -> None:
    assert minutes_back(counts([10.0] * 91), 90) == 10
    assert minutes_back(counts([9.0] * 91), 90) == 12, "11 minutes would hold 99"
    assert minutes_back(counts([20.0] * 91), 90) == 5, "exactly 100 is enough"


def test_requests_of_all_engines_count_together() -> None:
    assert minutes_back(counts([10.0] * 91, engines=2), 90) == 10


def test_the_window_ends_at_an_hour() -> None:
    assert minutes_back(counts([1.0] * 91), 90) == 60
    assert minutes_back(counts([100 / 60] * 91), 90) == 60
    assert minutes_back(counts([0.0] * 91), 90) == 60


def test_the_window_is_the_latest_that_holds_a_hundred() -> None:
    burst = [0.0] * 91
    burst[70] = 100.0
    assert minutes_back(counts(burst), 90) == 21, "from the tick before the burst"


def test_without_a_count_the_window_is_five_minutes() -> None:
    now = START_MS + 600_000.0
    assert now - window_start(empty(), now) == 300_000
    assert now - window_start(table([[1.0, 2.0]], at_s=[500, 550]), now) == 300_000, "nothing older than 5 minutes"
    assert now - window_start(table([], at_s=[0.0, 10.0]), now) == 300_000


def test_bucket_increases_leave_out_engines_without_a_whole() -> None:
    def bucket(le: str | None, engine: str) -> object:
        return series("ttft_bucket", engine=engine, **({"le": le} if le else {}))

    frame = table(
        {
            bucket("0.1", "0"): [0, 5, 8],
            bucket("0.1", "1"): [10, 10, 11],
            bucket("+Inf", "0"): [0, 6, 20],
            bucket("+Inf", "1"): [None, None, None],
            bucket(None, "0"): [0, 100, 200],
        }  # type: ignore[dict-item]
    )
    assert bucket_increases(frame, START_MS, START_MS + 2000) == {0.1: 8.0, INF: 20.0}
    assert bucket_increases(frame, START_MS + 1000, START_MS + 2000) == {0.1: 3.0, INF: 14.0}


def ttft(**engines: dict[str, list[float | None]]) -> dict[float, float]:
    """Increases over the last three of four samples of engines given as {le: samples}."""
    rows = {
        series("ttft_bucket", engine=name, le=le): row
        for name, buckets in engines.items()
        for le, row in buckets.items()
    }
    return bucket_increases(table(rows), START_MS + 1000, START_MS + 3000)


def test_bucket_increases_of_engines_with_the_same_edges_are_summed() -> None:
    one, other = {"0.1": [9, 0, 2, 5], "+Inf": [9, 0, 2, 10]}, {"0.10": [0, 0, 0, 1], "+Inf": [0, 3, 3, 7]}
    assert ttft(a=one, b=other) == {0.1: 6.0, INF: 14.0}
    assert ttft(a=one) == {0.1: 5.0, INF: 10.0}


def test_engines_with_different_edges_count_by_their_common_ones() -> None:
    fine = {
        "0.1": [0, 0, 0, 40],
        "0.2": [0, 0, 0, 50],
        "0.5": [0, 0, 0, 70],
        "1": [0, 0, 0, 100],
        "+Inf": [0, 0, 0, 100],
    }
    coarse = {"0.2": [0, 0, 0, 10], "1": [0, 0, 0, 20], "5": [0, 0, 0, 30], "+Inf": [0, 0, 0, 30]}
    assert ttft(a=fine, b=coarse) == {0.2: 60.0, 1.0: 120.0, INF: 130.0}
    idle = {"7": [4, 4, 4, 4], "+Inf": [4, 4, 4, 4]}
    assert ttft(a=coarse, b=idle) == {0.2: 10.0, 1.0: 20.0, 5.0: 30.0, INF: 30.0}, "who observed nothing has no say"
    assert ttft(b=idle) == {7.0: 0.0, INF: 0.0}
    once = {"0.2": [0, 0, 0, 0], "1": [0, 0, 0, 1], "+Inf": [0, 0, 0, 1]}
    assert ttft(a=coarse, b=once) == {0.2: 10.0, 1.0: 21.0, INF: 31.0}, "who observed a single thing has one"


def test_fewer_than_two_common_edges_leave_the_mean() -> None:
    one, other = {"1": [0, 0, 0, 9], "2": [0, 0, 0, 9]}, {"1": [0, 0, 0, 9], "3": [0, 0, 0, 9]}
    whole = {"+Inf": [0.0, 0.0, 0.0, 9.0]}
    buckets = ttft(a={**one, **whole}, b={**other, **whole})
    assert buckets == {}
    assert estimate(buckets, 36.0, 18.0, 0.5) == Estimate(2.0, "=", "mean", 18.0)


def test_edges_that_change_within_the_window_do_not_count() -> None:
    kept = {"1": [0, 0, 30, 50], "2": [0, 0, 30, 60], "+Inf": [0, 0, 30, 60]}
    changed = {"0.5": [None, None, 0, 20], "4": [0, 0, 30, None]}
    assert ttft(a={**kept, **changed}) == {1.0: 50.0, 2.0: 60.0, INF: 60.0}
    assert ttft(a={**changed, "+Inf": kept["+Inf"]}) == {INF: 60.0}
    assert ttft(a={"1": kept["1"], "2": kept["2"]}) == {}, "nothing says how many there were"
