"""Percentiles of whole hours, from two points per bucket."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from telemetry.catalog import engine
from telemetry.frame import Frame
from telemetry.histograms import bucket_increases, estimate
from telemetry.model import Series
from telemetry.query import Line
from telemetry.summary import HOUR_MS
from tests.telemetry.frames import Numbers
from tests.telemetry.hours import FIRST_MS, ask, frame, told

BUCKET = "time_to_first_token_seconds_bucket"


def histogram(target: str, **edges: Numbers) -> dict[Series, Numbers]:
    """Rows of buckets: `e1=…` is the edge 1, `inf=…` +Inf."""
    return {
        Series(target, BUCKET, (("le", name.removeprefix("e").replace("inf", "+Inf")),)): list(values)
        for name, values in edges.items()
    }


def percentile(rows: dict[Series, Numbers], at_s: list[float], first: int, last: int, **more: object) -> list[Line]:
    return ask(engine.TTFT, frame(rows, at_s=at_s), first, last, **more)


def test_all_that_an_hour_observed() -> None:
    """20 in the first hour, none above 1; 100 in the second, from the last sample of the hour before, 40 above 1."""
    rows = histogram("head", e1=[5, 25, 30, 85], e3=[5, 25, 45, 125], inf=[5, 25, 45, 125])
    at_s = [0.0, 3590.0, 3600.0, 7190.0]
    (line,) = percentile(rows, at_s, 0, 1)
    assert line.labels == {"target": "head"}
    assert line.t_ms.tolist() == [FIRST_MS, FIRST_MS + HOUR_MS]
    assert told(line, "values", "count") == [[1, 1], [20, 100]]
    assert line.relation == ("<", "<")
    (line,) = percentile(rows, at_s, 1, 1, quantile=0.8)
    assert told(line, "values", "count") == [[2], [100]], "the hour before the range is minded"
    (line,) = percentile(rows, at_s, 0, 1, width=3, quantile=0.75)
    assert told(line, "values", "count") == [[1.5], [120]]
    assert (line.minimum, line.maximum, line.mean, line.last) == (None,) * 4


def test_too_few_are_unknown_with_their_count() -> None:
    rows = histogram("head", e1=[0, 9, 19], inf=[0, 9, 19])
    (line,) = percentile(rows, [0, 10, 3600], 0, 1)
    assert told(line, "values", "count") == [[None, 1], [9, 10]]
    assert line.relation == (None, "<")
    (line,) = percentile(rows, [0, 10, 3600], 0, 1, quantile=0.95)
    assert told(line, "values") == [[None, None]]


def test_a_gap_of_hours_is_counted_in_the_bin_that_ends_it() -> None:
    """After an hour without samples: what happened since the bin began, or in it, cannot be told apart from its gap."""
    rows = histogram("head", e1=[0, 10, 40], e2=[0, 20, 80], inf=[0, 20, 80])
    (line,) = percentile(rows, [0, 10, 7200], 0, 2)
    assert told(line, "count") == [[20, None, 0]], "from its first sample, as the hour before is not there"
    (line,) = percentile(rows, [0, 3590, 7200], 0, 2, width=6)
    assert told(line, "count") == [[80]]


def test_edges_that_changed_within_are_left_out() -> None:
    none = None
    rows = histogram(
        "head", e1=[0, 5, 10, 15, 20, 30], e2=[none, none, 25, 40, 60, 90], e5=[0, 20, 40, none, none, none],
        inf=[0, 20, 40, 60, 80, 120],
    )  # fmt: skip
    (line,) = percentile(rows, [0, 10, 20, 3600, 3610, 7200], 0, 2)
    assert told(line, "count") == [[40, 20, 40]], "the second hour from its own first sample"
    assert told(line, "values") == [[2.333333, 1.333333, 1.5]]


def test_without_the_last_edge_nothing_is_known() -> None:
    (line,) = percentile(histogram("head", e1=[0, 50], e2=[0, 90]), [0, 10], 0, 0)
    assert told(line, "values", "count") == [[None], [None]]


def test_several_histograms_as_one() -> None:
    """Their common edges; one that observed nothing has no say, and one that was away takes no part."""
    rows = (
        histogram("a", e1=[0, 10, 10], e2=[0, 30, 30], e4=[0, 40, 40], inf=[0, 40, 40])
        | histogram("b", e1=[0, 10, 30], e3=[0, 15, 60], e4=[0, 20, 80], inf=[0, 20, 80])
        | histogram("c", e9=[7, 7, 7], inf=[7, 7, 7])
        | histogram("d", e1=[0, None, None], e4=[0, None, None], inf=[0, None, None])
    )
    (line,) = percentile(rows, [0, 10, 3600], 0, 1, total=True)
    assert line.labels == {}
    assert told(line, "count") == [[60, 60]]
    assert told(line, "values") == [[1 + 3 * 10 / 40, 1 + 2 * 10 / 25]]
    differ = histogram("a", e1=[0, 30], inf=[0, 30]) | histogram("b", e1=[0, 3], e2=[0, 30], inf=[0, 30])
    (line,) = percentile(differ, [0, 10], 0, 0, total=True)
    assert told(line, "values", "count") == [[None], [None]], "one common edge says nothing"
    assert len(percentile(rows, [0, 10, 3600], 0, 1)) == 4


STEPS = st.lists(st.lists(st.integers(0, 30), min_size=4, max_size=4), min_size=12, max_size=12)
THERE = st.lists(st.booleans(), min_size=12, max_size=12)


@settings(max_examples=60, deadline=None)
@given(STEPS, THERE, st.sampled_from([0.1, 0.5, 0.95, 0.99]), st.integers(1, 2))
def test_they_are_those_of_the_bucket_increases(
    steps: list[list[int]], there: list[bool], q: float, width: int
) -> None:
    """Four samples an hour, some missing: as `histograms.bucket_increases` has them from the hour before on."""
    cumulative = np.cumsum(np.cumsum(np.array(steps), axis=1), axis=0)
    names = ("e1", "e2", "e4", "inf")
    rows = histogram(
        "head",
        **{name: [float(v) if here else None for v, here in zip(cumulative[:, place], there, strict=True)]
           for place, name in enumerate(names)},
    )  # fmt: skip
    samples = frame(rows, at_s=[900.0 * number for number in range(12)])
    for line in ask(engine.TTFT, samples, 0, 2, width=width, quantile=q):
        for place, start in enumerate(line.t_ms.tolist()):
            expected = _expected(samples, max(start, FIRST_MS), start + width * HOUR_MS, q)
            assert (told(line, "values")[0][place], told(line, "count")[0][place]) == expected


def _expected(samples: Frame, start: int, end: int, q: float) -> tuple[float | None, float | None]:
    inside = samples.between(start, end - 1)
    if np.isnan(inside.values).all():
        return None, None
    before = samples.between(start - HOUR_MS, start - 1)
    known = not np.isnan(before.values).all()
    seen = samples.between(start - HOUR_MS, end - 1) if known else inside
    increases = bucket_increases(seen, start - 1, end - 1)
    found = estimate(increases, np.nan, increases[float("inf")], q)
    value = round(found.value, 6) if found.kind == "percentile" and found.value is not None else None
    return value, increases[float("inf")]
