"""`/api/v1/latest` of histograms: percentiles over the window of the pages, and why there is none."""

from __future__ import annotations

import pytest

from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World, constant, rising, tick


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """A world that stands at tick 60."""
    world = make_world()
    world.run(0, 60)
    return world


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    """A web process that has looked at it."""
    web = make_web(world)
    web.step()
    return web


def value(web: Web, query: str) -> list[dict[str, object]]:
    return list(web.get(f"latest?{query}")["values"])


def test_latest_of_a_histogram(world: World, web: Web) -> None:
    """One request a second: 20 % of them below 1 s, 70 % up to 5 s. Rank 30 of 60 lies in the second bucket."""
    one = dict(value(web, "metric=time_to_first_token_seconds")[0])
    labels = {"target": HEAD, "engine": "0", "model": "moonshotai/Kimi-K3"}
    assert (one["labels"], one["unit"], one["t"], one["state"]) == (labels, "seconds", tick(60), "ok")
    assert one["v"] == pytest.approx(1 + 4 * 18 / 42)
    beside = ("kind", "relation", "count", "window_ms")
    assert [one[name] for name in beside] == ["percentile", "=", 60, 60_000]
    (low,) = value(web, "metric=time_to_first_token_seconds&quantile=0.1")
    assert (low["v"], low["relation"]) == (1.0, "<")
    (high,) = value(web, "metric=time_to_first_token_seconds&quantile=0.99")
    assert [high[name] for name in ("v", *beside)] == [4.0, "mean", "=", 60, 60_000]
    (other,) = value(web, "metric=e2e_latency_seconds")
    assert [other[name] for name in ("v", "reason", *beside)] == [None, "not offered", None, None, None, None]
    assert value(web, "metric=time_to_first_token_seconds&node=spark-01") == []
    world.now = tick(67)
    (stale,) = value(web, "metric=time_to_first_token_seconds")
    assert [stale[name] for name in ("v", *beside)] == [None] * 5


def test_latest_of_a_histogram_above_its_last_edge_or_idle(world: World, web: Web) -> None:
    for series in list(world.series[HEAD]):
        if series.metric == "time_to_first_token_seconds_bucket" and series.label("le") != "+Inf":
            world.series[HEAD][series] = rising(0.0)
        if series.metric.startswith("inter_token_latency_seconds"):
            world.series[HEAD][series] = constant(0.0)
    world.run(1000, 1200)
    world.run(4700, 5000)
    web.step()
    (above,) = value(web, "metric=time_to_first_token_seconds")
    assert [above[name] for name in ("v", "kind", "relation", "count", "window_ms")] == [
        10.0, "percentile", ">", 300, 300_000
    ]  # fmt: skip
    (idle,) = value(web, "metric=inter_token_latency_seconds")
    assert [idle[name] for name in ("v", "t", "reason", "relation", "count", "window_ms")] == [
        None, None, "nothing happened in its window", None, 0, 300_000
    ]  # fmt: skip


def test_a_histogram_without_its_sum_has_no_mean(world: World, web: Web) -> None:
    world.drop("time_to_first_token_seconds_sum", HEAD)
    world.run(5000, 5030)
    web.step()
    (one,) = value(web, "metric=time_to_first_token_seconds&quantile=0.99")
    assert (one["v"], one["count"]) == (None, 30)


def test_a_silent_engine_has_no_percentile_of_now(world: World, web: Web) -> None:
    world.silence(HEAD, 61, "timed out", "")
    world.run(61, 65)
    web.step()
    (one,) = value(web, "metric=time_to_first_token_seconds&engine=head")
    assert [one[name] for name in ("v", "reason", "relation", "count")] == [
        None, "head does not answer in time", None, None
    ]  # fmt: skip
