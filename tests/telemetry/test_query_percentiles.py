"""Percentiles of histograms over trailing windows: their count, where they lie, and what stands for a bin."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine
from telemetry.model import Series, part
from telemetry.near import answer
from telemetry.query import Query
from tests.telemetry.frames import START_MS, Numbers, numbers, table
from tests.telemetry.questions import ask, one, plain

SECONDS = [0.0, 100.0, 200.0, 300.0, 310.0]


def buckets(counts: dict[str, Numbers], target: str = "head") -> dict[Series, Numbers]:
    metric = part(engine.TTFT, "bucket")
    return {one(metric, target, engine="0", le=edge, model="m"): row for edge, row in counts.items()}


def test_percentiles_of_a_trailing_window_of_five_minutes() -> None:
    rows = buckets({"0.1": [0, 0, 0, 0, 0], "0.5": [0, 0, 50, 100, 100], "+Inf": [0, 0, 50, 100, 100]})
    frame = table(rows, at_s=SECONDS, interval_s=100)
    found = plain(ask(engine.TTFT, frame, quantile=0.95))
    assert found == [({"target": "head", "engine": "0", "model": "m"}, [None, None, None, 0.48, 0.48])]


def test_percentiles_need_their_count() -> None:
    for count, q, known in ((9, 0.5, False), (10, 0.5, True), (59, 0.95, False), (60, 0.95, True)):
        rows = buckets({"0.1": [0, 0], "0.5": [0, count], "+Inf": [0, count]})
        frame = table(rows, at_s=[0, 300], interval_s=300)
        ((_, values),) = plain(ask(engine.TTFT, frame, quantile=q))
        assert (values[1] is not None) is known


def test_percentiles_sum_engines_before_they_are_taken() -> None:
    rows = buckets({"0.1": [0, 60], "0.5": [0, 60], "+Inf": [0, 60]}) | buckets(
        {"0.1": [0, 0], "0.5": [0, 60], "+Inf": [0, 60]}, "other"
    )
    frame = table(rows, at_s=[0, 300], interval_s=300)
    assert plain(ask(engine.TTFT, frame, total=True, quantile=0.75)) == [({}, [None, 0.3])]
    assert [values[1] for _, values in plain(ask(engine.TTFT, frame, quantile=0.75))] == [0.1, 0.4]


def test_percentiles_are_unknown_while_a_bucket_is() -> None:
    rows = buckets({"0.1": [0, None], "0.5": [0, 20], "+Inf": [0, 20]})
    frame = table(rows, at_s=[0, 300], interval_s=300)
    assert [values for _, values in plain(ask(engine.TTFT, frame, quantile=0.5))] == [[None, None]]


EDGES = {"0.1": [0, 20, 30, 40, 50], "0.5": [0, 20, 40, 100, 140], "+Inf": [0, 20, 40, 104, 244]}
"""20, 40, 104 and then 244 observations; the last 100 of them above the last edge."""


@pytest.mark.parametrize(
    ("q", "values", "relation"),
    [
        (0.5, [None, 0.1, 0.1, 0.276], (None, "<", "<", "=")),
        (0.9, [None, None, None, 0.4808], (None, None, None, "=")),
        (0.999, [None, None, None, None], (None, None, None, None)),
    ],
)
def test_a_percentile_says_where_it_lies_and_what_it_rests_on(
    q: float, values: Numbers, relation: tuple[str | None, ...]
) -> None:
    frame = table(buckets({edge: row[:4] for edge, row in EDGES.items()}), at_s=[0, 300, 600, 900], interval_s=300)
    (line,) = ask(engine.TTFT, frame, quantile=q)
    assert numbers(line.values) == values  # type: ignore[arg-type]
    assert line.relation == relation
    assert numbers(line.count) == [None, 20, 20, 64]  # type: ignore[arg-type]


def test_percentiles_above_the_last_edge() -> None:
    frame = table(buckets(EDGES), at_s=[0, 300, 600, 900, 1200], interval_s=300)
    (line,) = ask(engine.TTFT, frame, 1200, quantile=0.9)
    assert (numbers(line.values), line.relation) == ([0.5], (">",))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("start_s", "end_s", "relation", "most", "count"),
    [
        (300, 600, "<", 0.1, 20),  # all of the bin lie below the first edge
        (300, 900, "=", 0.276, 64),
        (300, 1200, ">", 0.5, 140),  # one lies above the last
    ],
)
def test_a_bin_has_the_relation_of_its_maximum(
    start_s: float, end_s: float, relation: str, most: float, count: float
) -> None:
    frame = table(buckets(EDGES), at_s=[0, 300, 600, 900, 1200], interval_s=300)
    query = Query(engine.TTFT, START_MS + round(start_s * 1000), START_MS + round(end_s * 1000), points=1)
    (line,) = answer(query, frame, step_ms=3 * 3_600_000)
    assert (len(line.t_ms), line.values) == (1, None)
    assert line.relation == (relation,)
    assert numbers(line.maximum) == [most]  # type: ignore[arg-type]
    assert numbers(line.count) == [count]  # type: ignore[arg-type]
