"""`/api/v1/series`: shapes, filters, reduction, sources, and the sentences of what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from telemetry import catalog
from telemetry.catalog import engine, gpu
from telemetry.model import Ratio
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, NAN, T0, constant, rising, tick


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A web process whose world stands at tick 120."""
    world = make_world()
    world.run(0, 120)
    web = make_web(world)
    web.step()
    return web


def test_a_gauge_of_one_node(web: Web) -> None:
    answer = web.get(f"series?metric=gpu_power_watts&node=spark-02&start={tick(118)}&end={tick(120)}")
    assert answer == {
        "metric": "gpu_power_watts",
        "unit": "watts",
        "resolution": "samples",
        "step_ms": 1000,
        "series": [
            {
                "labels": {"target": "spark-02", "gpu": "0"},
                "t": [tick(118), tick(119), tick(120)],
                "v": [51.0, 51.0, 51.0],
            }
        ],
    }


def test_now_is_the_newest_tick_where_the_collectors_clock_is_ahead(web: Web) -> None:
    """The machine's clock was set back by an hour: what came last is asked for like before, at the API as on pages."""
    before = web.get("series?metric=gpu_power_watts&node=spark-02&start=-5s")
    assert before["series"][0]["t"] == [tick(number) for number in range(115, 121)]
    for ahead in (3_600_000, 86_400_000):
        web.world.now = tick(120) - ahead
        assert web.get("series?metric=gpu_power_watts&node=spark-02&start=-5s") == before
    web.world.now -= 1
    assert web.get("series?metric=gpu_power_watts&node=spark-02&start=-5s")["series"] == [], "a leap is no now"


def test_a_ratio_is_asked_for_like_any_metric(web: Web) -> None:
    (line,) = web.get(f"series?metric=decode_tokens_per_second&engine=head&start={tick(119)}")["series"]
    assert line["v"] == [20.0, 20.0]
    assert line["labels"] == {"target": "head", "engine": "0", "model": "moonshotai/Kimi-K3"}


def test_names_on_the_wire_and_earlier_names_are_understood(web: Web) -> None:
    assert web.get("series?metric=tachograph_gpu_power_watts")["metric"] == "gpu_power_watts"


def test_all_nodes_and_their_sum(web: Web) -> None:
    query = f"series?metric=gpu_power_watts&start={tick(120)}&end={tick(121)}"
    assert [line["v"] for line in web.get(query)["series"]] == [[50.0], [51.0], [52.0], [53.0]]
    (line,) = web.get(query + "&total=1")["series"]
    assert (line["labels"], line["v"]) == ({}, [206.0])


def test_a_label_chooses(web: Web) -> None:
    query = f"series?metric=interconnect_transmit_bytes_per_second&node=spark-01&start={tick(120)}&end={tick(121)}"
    assert [line["labels"]["cage"] for line in web.get(query)["series"]] == ["p0", "p1"]
    (line,) = web.get(query + "&label=cage:p1")["series"]
    assert line["v"] == [2e8]
    assert "label" in web.get(query + "&label=p1", 400)["error"]


def test_several_labels_choose_together(web: Web) -> None:
    query = f"series?metric=rdma_transmit_bytes_total&node=spark-01&start={tick(120)}&end={tick(121)}"
    (line,) = web.get(query + "&label=cage:p1,function:f3")["series"]
    assert line["labels"] == {"target": "spark-01", "cage": "p1", "function": "f3"}
    assert web.get(query + "&label=cage:p0,function:f3")["series"] == []


def test_labels_of_a_ratio_are_labels_of_its_terms() -> None:
    for ratio in catalog.METRICS:
        if isinstance(ratio, Ratio):
            terms = {label for term in (*ratio.numerator, *ratio.denominator) for label in term.by}
            assert set(ratio.by) <= terms, ratio.name


def test_a_deployment_is_its_recorded_series_or_its_engines(web: Web) -> None:
    (recorded,) = web.get("series?metric=recorded_decode_tokens_per_second&deployment=Kimi-K3")["series"]
    assert recorded["labels"] == {"target": "deployment/Kimi-K3"}
    (engines,) = web.get("series?metric=decode_tokens_per_second&deployment=Kimi-K3")["series"]
    assert engines["labels"]["target"] == HEAD


def test_a_cluster_ratio_over_one_node_keeps_its_denominator(web: Web) -> None:
    query = f"series?metric=gpu_energy_per_token_joules&start={tick(120)}&end={tick(121)}"
    assert web.get(query)["series"][0]["v"] == [pytest.approx(10.3)]
    assert web.get(query + "&node=spark-01")["series"][0]["v"] == [pytest.approx(2.5)]


def test_a_quantile_of_a_histogram(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 310)
    web = make_web(world)
    web.step()
    query = f"series?metric=time_to_first_token_seconds&start={tick(309)}&end={tick(310)}"
    answer = web.get(query)
    assert answer["window_ms"] == 300_000
    assert answer["series"][0]["v"][-1] == pytest.approx(1 + 4 * 90 / 210)
    assert answer["series"][0]["relation"] == ["=", "="]
    assert answer["series"][0]["count"] == [300.0, 300.0]
    assert web.get(query + "&quantile=0.95")["series"][0]["v"][-1] == pytest.approx(7.5)
    (lowest,) = web.get(query + "&quantile=0.1")["series"]
    assert (lowest["v"], lowest["relation"]) == ([1.0, 1.0], ["<", "<"])
    (reduced,) = web.get(query + "&quantile=0.1&points=1")["series"]
    assert set(reduced) == {"labels", "t", "min", "max", "mean", "relation", "count"}


def test_a_window_is_named_where_there_is_one(web: Web) -> None:
    assert web.get("series?metric=decode_tokens_per_second")["window_ms"] == 10_000
    assert "window_ms" not in web.get("series?metric=memory_used_ratio")


def test_a_total_is_whole_from_its_first_tick_though_a_target_is_read_rarely(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    world = make_world()
    world.rows["spark-04"] = replace(world.rows["spark-04"], interval_ms=10_000)
    for start in range(1, 120, 10):
        world.away("spark-04", start, start + 8)
    world.run(0, 120)
    web = make_web(world)
    web.step()
    (line,) = web.get(f"series?metric=gpu_power_watts&start={tick(105)}&end={tick(106)}&total=1")["series"]
    assert line["v"] == [206.0, 206.0]
    ratio = f"series?metric=interconnect_transmit_bytes_per_second&start={tick(105)}&end={tick(106)}&total=1"
    assert web.get(ratio)["series"][0]["v"] == [1.6e9, 1.6e9]


def test_reduction_keeps_a_spike(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set("spark-01", gpu.GPU_POWER, lambda number: {57: 90.0, 58: 10.0, 59: NAN}.get(number, 50.0))
    world.run(0, 119)
    web = make_web(world)
    web.step()
    answer = web.get(f"series?metric=gpu_power_watts&node=spark-01&start={T0}&end={tick(119)}&points=4")
    assert (answer["step_ms"], answer["fold"]) == (60_000, "mean")
    (line,) = answer["series"]
    assert set(line) == {"labels", "t", "min", "max", "mean"}
    assert len(line["t"]) == len(line["min"]) == 3
    assert max(line["max"]) == 90.0
    assert min(line["min"]) == 10.0
    spike = line["max"].index(90.0)
    assert line["t"][spike] <= tick(57) < line["t"][spike] + 60_000


@pytest.mark.parametrize(
    ("metric", "fold"),
    [
        ("gpu_temperature_celsius", "max"),
        ("memory_headroom_bytes", "min"),
        ("generation_tokens_total", "last"),
        ("memory_used_ratio", "mean"),
        ("time_to_first_token_seconds", "max"),
    ],
)
def test_a_bin_says_which_value_stands_for_it(web: Web, metric: str, fold: str) -> None:
    answer = web.get(f"series?metric={metric}&start={tick(0)}&end={tick(120)}&points=2")
    assert answer["fold"] == fold
    for line in answer["series"]:
        assert ("last" in line) is (fold == "last")
    if fold == "last":
        (line,) = answer["series"]
        assert line["last"] == line["max"]
        assert line["last"][-1] == 20.0 * 120
    assert "fold" not in web.get(f"series?metric={metric}&start={tick(119)}")


def test_bins_of_a_state_have_no_mean(web: Web) -> None:
    answer = web.get(f"series?metric=engine_phase&start={tick(0)}&end={tick(120)}&points=2")
    assert answer["fold"] == "last"
    (line,) = answer["series"]
    assert set(line) == {"labels", "t", "min", "max", "last"}


def test_unknown_is_null(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(HEAD, engine.REQUESTS_RUNNING, lambda number: NAN if number == 19 else 3.0)
    world.run(0, 20)
    web = make_web(world)
    web.step()
    answer = web.client.get(f"/api/v1/series?metric=requests_running&start={tick(18)}&end={tick(20)}")
    assert "NaN" not in answer.text
    assert answer.json["series"][0]["v"] == [3.0, None, 3.0]


def test_before_the_tail_the_store_answers(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 5)
    world.set("spark-01", gpu.GPU_POWER, constant(80.0))
    world.run(5000, 5010)
    web = make_web(world)
    web.step()
    query = f"series?metric=gpu_power_watts&node=spark-01&start={T0}&end={tick(5010)}"
    (line,) = web.get(query)["series"]
    assert line["v"] == [50.0] * 6 + [80.0] * 11


def test_a_moment_without_samples_is_an_empty_answer(web: Web) -> None:
    assert web.get("series?metric=gpu_power_watts&start=-3d&end=-2d")["series"] == []


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("", 400, "Parameter “metric” is missing, expected a metric's name; /api/v1/metrics lists them."),
        ("metric=gpu_power_wats", 404, "There is no metric “gpu_power_wats”. Did you mean gpu_power_watts or"),
        ("metric=zzzzzzzzzz", 404, "There is no metric “zzzzzzzzzz”. /api/v1/metrics lists all of them."),
        ("metric=gpu_power_watts&node=spark-9", 400, "“node” is “spark-9”, expected one of: spark-01, spark-02"),
        ("metric=gpu_power_watts&engine=head", 400, "“engine” does not apply: gpu_power_watts is of each node."),
        ("metric=requests_running&node=spark-01", 400, "“node” does not apply: requests_running is of each engine."),
        ("metric=cluster_gpu_power_watts&deployment=x", 400, "cluster_gpu_power_watts is of the whole cluster."),
        ("metric=cluster_gpu_power_watts&node=spark-01", 400, "“node” does not apply: cluster_gpu_power_watts is of"),
        ("metric=gpu_energy_per_token_joules&engine=head", 400, "gpu_energy_per_token_joules is of the whole cluster."),
        ("metric=decode_tokens_per_second&deployment=x", 400, "“deployment” is “x”, expected one of: Kimi-K3."),
        ("metric=gpu_power_watts&points=0", 400, "Parameter “points” is “0”, expected a whole number from 1 to 5000."),
        ("metric=gpu_power_watts&points=5001", 400, "Parameter “points” is “5001”"),
        ("metric=gpu_power_watts&points=1e3", 400, "Parameter “points” is “1e3”"),
        ("metric=gpu_power_watts&start=yesterday", 400, "“start” is “yesterday”, expected epoch milliseconds, an"),
        ("metric=gpu_power_watts&start=2026-11-30T00:00:00", 400, "Parameter “start” is “2026-11-30T00:00:00”"),
        ("metric=gpu_power_watts&start=-5x", 400, "Parameter “start” is “5x”, expected a length of time"),
        ("metric=gpu_power_watts&start=5&end=5", 400, "Parameter “start” is not before “end”, expected start < end."),
        ("metric=gpu_power_watts&start=5&end=4", 400, "Parameter “start” is not before “end”"),
        ("metric=gpu_power_watts&start=-733d", 400, "The range is 733.0 days long, expected at most 732."),
        ("metric=gpu_power_watts&rate=1", 400, "Parameter “rate” does not apply: gpu_power_watts is no counter, but a"),
        ("metric=time_to_first_token_seconds&rate=1", 400, "is no counter, but a histogram."),
        ("metric=decode_tokens_per_second&rate=1", 400, "is no counter, but a ratio."),
        ("metric=generation_tokens_total&rate=often", 400, "Parameter “rate” is “often”, expected 1 or 0."),
        ("metric=gpu_power_watts,", 400, "Parameter “metric” is missing"),
        ("metric=gpu_power_watts,gpu_power_wats", 404, "There is no metric “gpu_power_wats”."),
        (f"metric={','.join(['x'] * 21)}", 400, "These are 21 metrics, expected at most 20."),
        ("metric=gpu_power_watts,requests_running&node=spark-01", 400, "“node” does not apply: requests_running"),
        ("metric=gpu_power_watts&quantile=1.1", 400, "Parameter “quantile” is “1.1”, expected a number from 0 to 1."),
        ("metric=gpu_power_watts&quantile=nan", 400, "Parameter “quantile” is “nan”"),
        ("metric=gpu_power_watts&total=maybe", 400, "Parameter “total” is “maybe”, expected 1 or 0."),
        ("metric=gpu_power_watts&nod=spark-01", 400, "There is no parameter “nod” here; known are: deployment, end"),
        ("metric=gpu_power_watts&metric=x", 400, "Parameter “metric” is given more than once."),
        ("metric=gpu_power_watts&label=nonsense:0", 400, "no label “nonsense” on gpu_power_watts; it has: gpu."),
        ("metric=memory_used_bytes&label=gpu:0", 400, "There is no label “gpu” on memory_used_bytes; it has: none."),
        ("metric=gpu_power_watts&label=gpu:", 400, "Parameter “label” is “gpu:”, expected pairs like gpu:0"),
        ("metric=gpu_power_watts&label=", 400, "Parameter “label” is “”, expected pairs like gpu:0"),
        ("metric=gpu_power_watts&label=:0", 400, "Parameter “label” is “:0”, expected pairs like gpu:0"),
        ("metric=gpu_power_watts&label=gpu:0,", 400, "Parameter “label” is “gpu:0,”, expected pairs like gpu:0"),
        ("metric=gpu_power_watts&label=gpu:0,gpu:1", 400, "Label “gpu” is given more than once."),
        ("metric=time_to_first_token_seconds&label=le:1.0", 400, "There is no label “le” on time_to_first"),
        ("metric=interconnect_transmit_bytes_per_second&label=function:f0", 400, "There is no label “function” on"),
        ("metric=gpu_energy_per_token_joules&label=gpu:0", 400, "gpu_energy_per_token_joules; it has: none."),
    ],
)  # fmt: skip
def test_refusals(web: Web, query: str, status: int, sentence: str) -> None:
    error = web.get(f"series?{query}", status)["error"]
    assert sentence in error


def test_long_text_is_not_repeated(web: Web) -> None:
    assert len(web.get(f"series?metric={'x' * 5000}", 404)["error"]) < 200


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("now", 120),
        ("-20s", 100),
        ("-1m", 60),
        (str(tick(7)), 7),
        ("2026-11-30T00:53:20Z", None),
        ("2026-11-30T01:53:20%2B01:00", None),
    ],
)
def test_instants(web: Web, given: str, expected: int | None) -> None:
    start = tick(0) if expected is None else tick(expected)
    answer = web.get(f"series?metric=gpu_power_watts&node=spark-01&start={given}&end={tick(121)}")
    assert answer["series"][0]["t"][0] == start


def test_caps_on_series_and_samples(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.api.series.MOST_SERIES", 3)
    assert "This is 4 series, expected at most 3" in web.get("series?metric=gpu_power_watts", 400)["error"]
    assert len(web.get("series?metric=gpu_power_watts&total=1")["series"]) == 1
    monkeypatch.setattr("dashboard.api.cost.MOST_CELLS", 100)
    assert "expected at most 100" in web.get("series?metric=gpu_power_watts", 400)["error"]


def test_pages_ask_the_same_question(web: Web) -> None:
    asked = {"start_ms": tick(100), "end_ms": tick(120), "points": 600}
    told = web.process.series("gpu_power_watts", node="spark-02", **asked)
    assert told == web.get(f"series?metric=gpu_power_watts&node=spark-02&start={tick(100)}&end={tick(120)}")
    assert all(math.isfinite(value) for value in told["series"][0]["v"])


def test_several_metrics_are_several_answers_about_one_range(web: Web) -> None:
    query = "start=-1m&points=7&node=spark-01"
    found = web.get(f"series?metric=gpu_power_watts,memory_used_ratio&{query}")
    assert list(found) == ["answers"]
    assert found["answers"] == [
        web.get(f"series?metric={name}&{query}") for name in ("gpu_power_watts", "memory_used_ratio")
    ]


def test_the_rate_of_a_counter(web: Web) -> None:
    query = f"series?metric=generation_tokens_total&rate=1&start={tick(119)}"
    answer = web.get(query)
    assert (answer["unit"], answer["rate"], answer["window_ms"]) == ("tokens_per_second", True, 10_000)
    assert answer["series"][0]["v"] == [20.0, 20.0]
    (total,) = web.get("series?metric=gpu_energy_joules_total&rate=1&total=1&start=-1s")["series"]
    assert total["v"] == [206.0, 206.0]
    assert "rate" not in web.get("series?metric=generation_tokens_total&rate=0")
    assert web.get("series?metric=generation_tokens_total&rate=1&points=1")["fold"] == "mean"


def test_counters_come_as_they_are_kept(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(HEAD, engine.GENERATION_TOKENS, rising(7.0))
    world.run(0, 10)
    web = make_web(world)
    web.step()
    assert web.get(f"series?metric=generation_tokens_total&start={tick(8)}")["series"][0]["v"] == [56.0, 63.0, 70.0]


def test_stats_of_the_stretch(web: Web) -> None:
    query = f"series?metric=gpu_power_watts&node=spark-02&start={tick(0)}&end={tick(119)}"
    (whole,) = web.get(query)["series"]
    for resolution in ("&points=4", "&step=7s", ""):
        (line,) = web.get(f"{query}{resolution}&stats=1")["series"]
        told = line.pop("stats")
        values = [value for value in whole["v"] if value is not None]
        assert told == pytest.approx(
            {"min": min(values), "mean": sum(values) / len(values), "max": max(values), "last": values[-1]}
        )
        assert line == web.get(query + resolution)["series"][0]
    (only,) = web.get(f"{query}&points=4&stats=only")["series"]
    assert only == {"labels": whole["labels"], "stats": told}
    assert "“stats” is “2”, expected one of: 0, 1, only" in web.get(f"{query}&stats=2", 400)["error"]


def test_stats_of_percentiles_and_counts(web: Web) -> None:
    (line,) = web.get(f"series?metric=generation_tokens_total&start={tick(100)}&end={tick(110)}&stats=only")["series"]
    assert (line["stats"]["mean"], line["stats"]["max"] - line["stats"]["min"]) == (None, 200.0)
    (line,) = web.get(f"series?metric=time_to_first_token_seconds&start={tick(100)}&end={tick(110)}&stats=1")["series"]
    known = [one for one in line["relation"] if one is not None]
    assert line["stats"].get("last_relation") == (known[-1] if known else None)
    assert line["stats"]["mean"] is None
