"""Means and percentiles of a stretch, from two points of each bucket."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine as catalog
from telemetry.model import Unit
from tests.runs.answers import entry, value
from tests.runs.worlds import World, histogram, ramp

EDGES = {"0.1": 0.4, "1.0": 0.8, "+Inf": 1.0}
"""Share of the observations at or below each edge."""


def world(count: float, total: float = 1.0) -> World:
    """Observations that all came between seconds 10 and 11; as many had come before that do not count."""
    buckets = {edge: [50 + one for one in ramp((10, 0), (1, share * count))] for edge, share in EDGES.items()}
    lines = [[50 + one for one in ramp((10, 0), (1, gained))] for gained in (total, count)]
    return World(31, histogram(catalog.TTFT, buckets, *lines))


def test_enough_for_all() -> None:
    found = world(300, 60).summary()
    mean = entry(found, "latency.ttft_mean")
    assert (mean.value, mean.count, mean.unit) == (0.2, 300, Unit.SECONDS)
    p50 = entry(found, "latency.ttft_p50")
    assert p50.value == pytest.approx(0.1 + 0.9 * (0.5 - 0.4) / 0.4)
    assert (p50.count, p50.relation) == (300, "=")
    for key in ("p95", "p99"):
        bound = entry(found, f"latency.ttft_{key}")
        assert (bound.value, bound.relation) == (1.0, ">")


def test_below_the_first_edge() -> None:
    buckets = {edge: ramp((1, 20)) for edge in EDGES}
    found = World(31, histogram(catalog.ITL, buckets, ramp((1, 1.0)), ramp((1, 20)))).summary()
    bound = entry(found, "latency.itl_p50")
    assert (bound.value, bound.relation) == (0.1, "<")


@pytest.mark.parametrize(
    ("count", "known"),
    [(9, ""), (10, "p50"), (59, "p50"), (60, "p50 p95"), (299, "p50 p95"), (300, "p50 p95 p99")],
)
def test_how_many_a_percentile_needs(count: int, known: str) -> None:
    found = world(count).summary()
    told = {key: entry(found, f"latency.ttft_{key}") for key in ("p50", "p95", "p99")}
    assert [key for key, one in told.items() if one.value is not None] == known.split()
    needed = {"p50": 10, "p95": 60, "p99": 300}
    for key, one in told.items():
        if one.value is None:
            assert one.note == f"{key} needs {needed[key]} observations, there are {count}"
        assert one.count == count
    assert value(found, "latency.ttft_mean") == pytest.approx(1 / count)


def test_a_stretch_without_an_observation() -> None:
    found = world(300).summary(15, 25)
    for key in ("mean", "p50", "p95", "p99"):
        told = entry(found, f"latency.ttft_{key}")
        assert (told.value, told.count, told.note) == (None, 0, "nothing was observed")


def test_not_offered() -> None:
    told = entry(world(300).summary(), "latency.e2e_p95")
    assert (told.value, told.count, told.note) == (None, None, "not offered by this engine")


def test_a_histogram_without_usable_buckets() -> None:
    rows = histogram(catalog.TPOT, {"0.1": ramp((1, 20))}, ramp((1, 1.0)), ramp((1, 20)))
    found = World(31, rows).summary()
    told = entry(found, "latency.tpot_p50")
    assert (told.value, told.count) == (None, 20)
    assert told.note == "not known: buckets differ between engines, or came during the stretch"
    assert value(found, "latency.tpot_mean") == 0.05
