"""Every cell of the live message, worked out by hand from `world`."""

from __future__ import annotations

import pytest

from runs.speed import BELOW_MEAN
from telemetry.catalog import cluster, engine, gpu, network
from telemetry.model import part
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, NAN, T0, World, constant, rising, tick

CELLS = {
    "decode.now": "20.0 tok/s",
    "decode.mean": "20.0 tok/s",
    "decode.peak": "20.0 tok/s",
    "decode.peak_1s": "25.0 tok/s",
    "prefill.throughput": "750 tok/s",  # 150 tokens and 0.2 s of prefill a second
    "prefill.now": "last 60.0k tokens in 1m 20s, 750 tok/s",
    "requests.running": "3",
    "requests.waiting": "1",
    "phase": "decoding",
    "ttft.p50": "2.7 s",  # rank 150 of 300 between 60 at 1 s and 270 at 5 s: 1 + 4 × 90 ∕ 210
    "ttft.p95": "7.5 s",  # rank 285 between 270 at 5 s and 300 at 10 s
    "ttft.window": "of 300 in 5m 0s",
    "itl.p50": "133 ms",  # 0.1 + 0.1 × (0.50 − 0.25) ∕ 0.75
    "itl.p95": "193 ms",
    "itl.window": "of 1.5k in 5m 0s",
    "acceptance": "37.5 %",  # 15 of 40
    "accepted_length": "4.0 tok/step",  # 1 + 15 ∕ 5
    "kv": "41.0 %",
    "prefix_hits": "56.0 %",
    "power": "206 W",  # 50 + 51 + 52 + 53
    "energy_per_token": "10.3 J/token",  # 206 W ∕ 20 tokens a second
    "interconnect": "12.8 Gb/s",  # 16 functions × 100 MB/s × 8
    "interconnect_per_token": "80.0 MB/token",
    "why": "as usual",
    "why.against": "Compared with the last 7 minutes",  # 400 s were recorded
}


def text(cell: list[str]) -> str:
    """Number and unit as they stand on the page."""
    return " ".join(part for part in cell[:2] if part)


def test_every_cell_of_a_calm_cluster(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.prefill(100, 180, 60_000, 80.0)
    world.run(0, 400)
    message = make_web(world).step()
    assert {key: text(cell) for key, cell in message["cells"].items()} == CELLS
    assert {cell[2] for cell in message["cells"].values()} == {"ok"}
    assert {cell[3] for cell in message["cells"].values()} == {""}
    assert message["tick"] == tick(400)
    assert message["age_ms"] == 0
    assert message["title"] == "20.0 tok/s · Tachograph"
    assert message["sentence"] == {"level": "ok", "text": "Serving Kimi-K3 on 4 nodes", "worst": None}


def test_tiles_points_and_map(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-03", gpu.GPU_UTILIZATION, constant(0.5))
    world.run(0, 120)
    message = make_web(world).step()
    assert [node["name"] for node in message["nodes"]] == ["spark-01", "spark-02", "spark-03", "spark-04"]
    assert message["nodes"][1] == {
        "name": "spark-02",
        "state": "ok",
        "level": "ok",
        "text": "",
        "cells": [
            ["96.0", "%", "ok", ""],
            ["51", "W", "ok", ""],
            ["61.0", "°C", "ok", ""],
            ["2400", "MHz", "ok", ""],
            ["25.0", "GiB", "ok", ""],
            ["3.2", "Gb/s", "ok", ""],
        ],
    }
    assert message["points"] == {
        "decode": 20.0,
        "prefill": None,
        "prefills": [],
        "util_mean": 0.96,
        "util_min": 0.5,
        "util_max": 0.96,
        "util_outlier": "spark-03",
        "net": 1.6e9,
        "net_worst": 2e8,
        "net_worst_name": "spark-01 p0",
    }
    assert message["map"] == {
        "power": [50, 51, 52, 53],
        "utilization": [96, 96, 50, 96],
        "clock": [2400] * 4,
        "temperature": [60, 61, 62, 63],
        "memory": [80] * 4,
        "interconnect": [3.2] * 4,
    }


def test_decode_now_is_of_five_seconds_and_the_mean_only_of_decoding(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """20 tokens/s for 100 s, 100 s of silence, then 60 tokens/s for 10 s: 2,600 tokens in 110 s."""
    world = make_world()

    def tokens(number: int) -> float:
        return 20.0 * min(number, 100) + 60.0 * max(number - 200, 0)

    world.set(HEAD, engine.GENERATION_TOKENS, tokens)
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda number: 38.0 if number == 150 else 20.0)
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE_1S, lambda number: 61.0 if number == 150 else 20.0)
    world.run(0, 210)
    cells = make_web(world).step()["cells"]
    assert text(cells["decode.now"]) == "60.0 tok/s"
    assert text(cells["decode.mean"]) == "23.6 tok/s"
    assert text(cells["decode.peak"]) == "38.0 tok/s"
    assert text(cells["decode.peak_1s"]) == "61.0 tok/s"


def test_peaks_reach_back_fifteen_minutes(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda number: {99: 90.0, 100: 50.0}.get(number, 20.0))
    world.run(0, 1000)
    assert text(make_web(world).step()["cells"]["decode.peak"]) == "50.0 tok/s"


def test_two_deployments_add_up_before_the_peak_is_taken(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    (series,) = [one for one in world.series[DEPLOYMENT] if one.metric == cluster.RECORDED_DECODE.name]
    world.series["deployment/Other"] = {
        type(series)("deployment/Other", series.metric, ()): lambda number: 20.0 + 5.0 * (number == 50)
    }
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda number: 20.0 + 10.0 * (number == 60))
    world.run(0, 120)
    message = make_web(world).step()
    assert text(message["cells"]["decode.peak"]) == "50.0 tok/s"
    assert message["points"]["decode"] == 40.0


@pytest.mark.parametrize(
    ("count_rate", "p50", "p95", "window"),
    [
        (
            0.02,
            ["4.0", "s mean", "ok", "mean of 6: p50 needs 10"],
            ["4.0", "s mean", "ok", "mean of 6: p95 needs 60"],
            "of 6 in 5m 0s",
        ),
        (0.1, ["2.7", "s", "ok", ""], ["4.0", "s mean", "ok", "mean of 30: p95 needs 60"], "of 30 in 5m 0s"),
        (0.0, ["–", "", "unknown", "nothing was observed (in the window)"], None, "of 0 in 5m 0s"),
        (NAN, ["–", "", "unknown", "not offered by this engine"], None, "–"),
    ],
)
def test_percentiles_need_observations(
    make_world: MakeWorld, make_web: MakeWeb, count_rate: float, p50: list[str], p95: list[str] | None, window: str
) -> None:
    world = make_world()
    for series in list(world.series[HEAD]):
        if series.metric.startswith(engine.TTFT.name):
            share = {"1.0": 0.2, "5.0": 0.9}.get(series.label("le") or "", 1.0)
            each = 4.0 if series.metric.endswith("_sum") else share
            world.series[HEAD][series] = rising(count_rate * each)
    world.run(0, 300)
    cells = make_web(world).step()["cells"]
    assert cells["ttft.p50"] == p50
    assert cells["ttft.p95"] == (p95 or p50)
    assert cells["ttft.window"][0] == window


def test_without_buckets_the_mean_of_many_says_so(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A page that has only sum and count, or whose buckets contradict each other."""
    world = make_world()
    for series in list(world.series[HEAD]):
        if series.metric == part(engine.TTFT, "bucket").name:
            del world.series[HEAD][series]
        elif series.metric.startswith(engine.TTFT.name):
            world.series[HEAD][series] = rising(0.8 if series.metric.endswith("_sum") else 0.2)
    world.run(0, 300)
    cells = make_web(world).step()["cells"]
    assert cells["ttft.p50"] == ["4.0", "s mean", "ok", "mean of 60: its buckets are not known"]
    assert cells["ttft.p95"] == ["4.0", "s mean", "ok", "mean of 60: its buckets are not known"]


def test_percentiles_outside_the_edges(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    for series in list(world.series[HEAD]):
        if series.metric == part(engine.TTFT, "bucket").name:
            world.series[HEAD][series] = rising(0.9 if series.label("le") == "+Inf" else 0.0)
        if series.metric == part(engine.ITL, "bucket").name:
            world.series[HEAD][series] = rising(5.0)
    world.run(0, 300)
    cells = make_web(world).step()["cells"]
    assert cells["ttft.p50"][:2] == ["> 10.0", "s"]
    assert cells["itl.p50"][:2] == ["< 100", "ms"]


def test_two_engines_are_added_up_and_their_quotients_not_averaged(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A second engine of the same page: 10 tokens/s, accepts 5 of 10 a second, uses more of its KV cache."""
    world = make_world()
    second = (("engine", "1"), ENGINE[1])
    for metric, value in {
        engine.GENERATION_TOKENS: rising(10.0),
        engine.DRAFTS: rising(5.0),
        engine.DRAFT_TOKENS: rising(10.0),
        engine.ACCEPTED_TOKENS: rising(5.0),
        engine.REQUESTS_RUNNING: constant(2.0),
        engine.KV_CACHE_USAGE: constant(0.97),
    }.items():
        world.series[HEAD][type(next(iter(world.series[HEAD])))(HEAD, metric.name, second)] = value
    world.run(0, 120)
    message = make_web(world).step()
    cells = message["cells"]
    assert text(cells["decode.now"]) == "30.0 tok/s"
    assert text(cells["acceptance"]) == "40.0 %"  # 20 of 50
    assert text(cells["accepted_length"]) == "3.0 tok/step"  # 1 + 20 ∕ 10
    assert text(cells["requests.running"]) == "5"
    assert cells["kv"] == ["97.0", "%", "warning", ""]
    assert message["sentence"]["text"] == "Serving Kimi-K3 on 4 nodes; head has a full KV cache, 1 requests wait"


def test_what_an_engine_reports_stands_in_for_counters(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    for metric in (engine.DRAFTS, engine.DRAFT_TOKENS, engine.ACCEPTED_TOKENS, engine.PROMPT_TOKENS_CACHED):
        world.drop(metric.name)
    kind = type(next(iter(world.series[HEAD])))
    world.series[HEAD] |= {
        kind(HEAD, engine.REPORTED_ACCEPTANCE.name, ENGINE): constant(0.61),
        kind(HEAD, engine.REPORTED_ACCEPTED_LENGTH.name, ENGINE): constant(3.3),
        kind(HEAD, engine.PREFIX_CACHE_QUERIES.name, ENGINE): rising(10.0),
        kind(HEAD, engine.PREFIX_CACHE_HITS.name, ENGINE): rising(2.5),
    }
    world.run(0, 320)
    message = make_web(world).step()
    cells = message["cells"]
    assert text(cells["acceptance"]) == "61.0 %"
    assert text(cells["accepted_length"]) == "3.3 tok/step"
    assert text(cells["prefix_hits"]) == "25.0 %"
    assert {row["key"]: row["now"] for row in message["why"]}["steps"] == "6.7 /s"  # 20 tokens/s ∕ 3 running


@pytest.mark.parametrize(
    ("running", "last", "shown"),
    [(1.0, 0, "36.2 tok/s"), (0.0, 0, "–"), (1.0, 60, "20.0 tok/s"), (0.0, 60, "20.0 tok/s")],
    ids=["first sample", "first sample, idle: the gauge is stale", "counted", "counted, idle"],
)
def test_a_throughput_gauge_counts_only_before_the_counter_and_while_requests_run(
    make_world: MakeWorld, make_web: MakeWeb, running: float, last: int, shown: str
) -> None:
    world = make_world()
    kind = type(next(iter(world.series[HEAD])))
    world.series[HEAD] |= {
        kind(HEAD, engine.REPORTED_THROUGHPUT.name, ENGINE): constant(36.2),
        kind(HEAD, engine.REQUESTS_RUNNING.name, ENGINE): constant(running),
    }
    world.run(0, last)
    assert text(make_web(world).step()["cells"]["decode.now"]) == shown


def test_a_window_is_as_long_as_what_there_is(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Twenty seconds after the start the quotients of longer windows are over twenty seconds."""
    world = make_world()
    world.run(0, 20)
    cells = make_web(world).step()["cells"]
    for key in ("prefill.throughput", "acceptance", "prefix_hits", "energy_per_token", "interconnect_per_token"):
        assert text(cells[key]) == CELLS[key], key
    assert cells["ttft.window"][0] == "of 20 in 20.0 s"
    assert cells["why"] == ["–", "", "unknown", "less than a minute of decoding in the last 15 minutes"]


def test_first_tick_knows_gauges_and_no_rates(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 0)
    message = make_web(world).step()
    assert text(message["cells"]["requests.running"]) == "3"
    assert message["cells"]["decode.now"][0] == "–"
    assert message["nodes"][0]["cells"][1][0] == "50"
    assert message["nodes"][0]["cells"][5][2] == "unknown"


@pytest.mark.parametrize("outside", ["breaks", "gap"])
def test_no_rate_over_a_restart_or_a_gap(make_world: MakeWorld, make_web: MakeWeb, outside: str) -> None:
    world = make_world()
    world.run(0, 98 if outside == "breaks" else 94)
    world.run(99, 101)
    if outside == "breaks":
        world.restart(HEAD, engine.GENERATION_TOKENS, 100)
    cells = make_web(world).step()["cells"]
    assert cells["decode.now"][0] == "–"
    assert text(cells["decode.mean"]) == "20.0 tok/s", "of the time before and after"


def test_a_node_that_stops_sending_a_number_leaves_the_sum_unknown(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-02", gpu.GPU_ENERGY, lambda number: 51.0 * number if number < 100 else NAN)
    world.set("spark-02", gpu.GPU_POWER, lambda number: 51.0 if number < 100 else NAN)
    world.run(0, 105)
    world.absent("spark-02", gpu.GPU_POWER.name, 100, "nvml: stalled for 5 s")
    web = make_web(world)
    message = web.step()
    assert message["cells"]["energy_per_token"][0] == "–"
    assert message["nodes"][1]["cells"][1] == ["–", "", "unknown", "nvml: stalled for 5 s"]
    assert message["map"]["power"] == [50, None, 52, 53]
    world.run(106, 125)
    assert text(web.step()["cells"]["energy_per_token"]) == "7.8 J/token"  # 50 + 52 + 53 W, silent for longer than 15 s


def test_several_gpus_of_a_node_are_folded(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    kind = type(next(iter(world.series[HEAD])))
    for metric, value in {gpu.GPU_UTILIZATION: 0.5, gpu.GPU_POWER: 100.0, gpu.GPU_TEMPERATURE: 55.0}.items():
        world.series["spark-01"][kind("spark-01", metric.name, (("gpu", "1"),))] = constant(value)
    world.run(0, 30)
    cells = make_web(world).step()["nodes"][0]["cells"]
    assert [text(cell) for cell in cells[:3]] == ["73.0 %", "150 W", "60.0 °C"]


def test_receiving_names_the_busiest_cage_where_it_receives_more(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    for series in list(world.series["spark-04"]):
        if series.metric == network.RDMA_RECEIVE.name and series.label("cage") == "p1":
            world.series["spark-04"][series] = rising(3e8)
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_WORST_CAGE, constant(6e8))
    world.run(0, 30)
    assert make_web(world).step()["points"]["net_worst_name"] == "spark-04 p1"


def test_prefills_are_told_for_a_minute(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.prefill(10, 50, 30_000, 40.0)
    world.prefill(60, 70, None, None)
    world.run(0, 105)
    web = make_web(world)
    message = web.step()
    assert message["points"]["prefills"] == [(tick(10), tick(50), 750.0)]
    assert text(message["cells"]["prefill.now"]) == "last some tokens in an unknown time"
    world.run(106, 111)
    assert web.step()["points"]["prefills"] == []


def test_nothing_but_nodes(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(engines=False)
    world.run(0, 30)
    message = make_web(world).step()
    assert message["sentence"] == {"level": "ok", "text": "Watching 4 nodes, no engine", "worst": None}
    assert message["title"] == "Tachograph"
    assert message["cells"]["decode.now"] == ["–", "", "unknown", "no engine is configured"]
    assert message["cells"]["energy_per_token"] == ["–", "", "unknown", "no engine is configured"]
    assert text(message["cells"]["power"]) == "206 W"


def test_nothing_but_an_engine(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=0)
    world.run(0, 30)
    message = make_web(world).step()
    assert message["sentence"]["text"] == "Serving Kimi-K3"
    assert message["nodes"] == []
    assert text(message["cells"]["decode.now"]) == "20.0 tok/s"
    assert message["cells"]["power"] == ["–", "", "unknown", "no node is configured"]


def test_age_is_that_of_the_newest_commit(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 30)
    world.now += 350
    assert make_web(world).step()["age_ms"] == 350


def test_world_starts_where_it_says(make_world: MakeWorld) -> None:
    world: World = make_world()
    world.run(0, 1)
    assert [row.tick for row in world.writer.rows(targets=[HEAD])] == [T0, T0 + 1000]


@pytest.mark.parametrize(("recorded", "told"), [(19.79, "–"), (19.81, "19.8"), (20.0, "20.0"), (30.0, "30.0")])
def test_no_peak_is_told_below_the_mean(make_world: MakeWorld, make_web: MakeWeb, recorded: float, told: str) -> None:
    """In the first minute no whole window has what the mean has; a hundredth is rounding."""
    world = make_world(nodes=1)
    for one in (cluster.RECORDED_DECODE, cluster.RECORDED_DECODE_1S):
        world.set(DEPLOYMENT, one, lambda _number: recorded)
    world.run(0, 60)
    cells = make_web(world).step()["cells"]
    assert text(cells["decode.mean"]) == "20.0 tok/s"
    for key in ("decode.peak", "decode.peak_1s"):
        assert cells[key][0] == told
        assert cells[key][3] == (BELOW_MEAN if told == "–" else "")
