"""`status`, `node`, `absences`, `metrics`, `latest`, health, and the hub's own metrics."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest

from storage.records import Event
from telemetry import catalog
from telemetry.catalog import cluster, engine, gpu, memory
from telemetry.model import Scope
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import GIB, HEAD, NAN, World, constant, tick


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    """A world at tick 60."""
    world = make_world()
    world.run(0, 60)
    return world


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    """A web process over it."""
    web = make_web(world)
    web.step()
    return web


def test_status_of_a_node_and_an_engine(world: World, web: Web) -> None:
    row = world.rows["spark-02"]
    detail = {
        "missed": 3,
        "refused_series": 1,
        "dropped_families": 7,
        "impossible_numbers": 4,
        "processes": [{"pid": 5}],
    }
    world.rows["spark-02"] = type(row)(
        *[getattr(row, one) for one in ("name", "kind", "url")], 1000, "ok", "", 5, 9, detail
    )
    world.fact("spark-02", "agent_version", "0.1.0")
    world.run(61, 61)
    world.restart("spark-02", gpu.GPU_ENERGY, 61)
    web.step()
    world.now += 400
    status = web.get("status")
    assert status["versions"]["schema"] >= 1
    assert status["versions"]["tachograph"]
    node = status["nodes"][1]
    assert "GPU power limit" in node.pop("not_offered")
    assert node == {
        "name": "spark-02",
        "state": "ok",
        "level": "ok",
        "reason": "",
        "age_s": 0.4,
        "since": 5,
        "url": "http://spark-02:9810",
        "interval_s": 1.0,
        "silent_s": None,
        "engine": None,
        "scrape_s": 0.004,
        "scrape_bytes": 23_000.0,
        "missed_ticks": 3,
        "resets": 1,
        "refused_series": 1,
        "dropped_families": 7,
        "impossible_numbers": 4,
        "clock_skew_s": 0.001,
        "version": "0.1.0",
    }
    (head,) = status["engines"]
    assert (head["name"], head["state"], head["level"], head["clock_skew_s"]) == (HEAD, "decoding", "ok", None)
    assert "Preemptions" in head["not_offered"]
    assert "TTFT" not in head["not_offered"]
    assert status["deployments"] == [
        {
            "name": "Kimi-K3",
            "model": "Kimi-K3",
            "engines": [HEAD],
            "nodes": ["spark-01", "spark-02", "spark-03", "spark-04"],
            "phase": "decoding",
        }
    ]


def test_status_of_what_is_silent(world: World, web: Web) -> None:
    world.silence("spark-03", 61, "timed out", "the host does not answer")
    world.run(61, 70)
    web.step()
    node = web.get("status")["nodes"][2]
    assert (node["state"], node["level"]) == ("timed out", "critical")
    assert node["reason"] == "does not answer in time (the host does not answer)"
    assert node["age_s"] == 10.0
    assert (node["scrape_s"], node["not_offered"]) == (None, [])


def test_status_names_problems_of_a_node_that_answers(world: World, web: Web) -> None:
    world.set("spark-03", gpu.GPU_CLOCK_EVENT_REASONS, constant(0x20))
    world.run(61, 80)
    web.step()
    node = web.get("status")["nodes"][2]
    assert (node["state"], node["level"], node["reason"]) == ("ok", "warning", "is throttling (software thermal)")


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [(1, 6, "stalled"), (4, 1, "loading"), (6, 2, "prefilling"), (7, 5, "asleep"), (0, 7, "stopped")],
)
def test_one_phase_stands_for_several_engines_the_same_everywhere(
    make_world: MakeWorld, make_web: MakeWeb, one: int, other: int, told: str
) -> None:
    world = make_world()
    world.second("second", "moonshotai/Kimi-K3")
    for name, code in ((HEAD, one), ("second", other)):
        world.set(name, engine.ENGINE_PHASE, constant(code))
    world.run(0, 60)
    web = make_web(world)
    assert web.step()["cells"]["phase"][0] == told
    assert [deployment["phase"] for deployment in web.get("status")["deployments"]] == [told]


@pytest.mark.parametrize(
    ("code", "state", "level"), [(1, "idle", "idle"), (2, "prefilling", "ok"), (6, "stalled", "critical")]
)
def test_status_of_an_engine_is_its_phase(world: World, web: Web, code: int, state: str, level: str) -> None:
    world.set(HEAD, engine.ENGINE_PHASE, constant(code))
    world.run(61, 62)
    web.step()
    status = web.get("status")
    assert (status["engines"][0]["state"], status["engines"][0]["level"]) == (state, level)
    assert status["deployments"][0]["phase"] == state


def test_node_page(world: World, web: Web) -> None:
    detail = {"processes": [{"pid": 7, "name": "VLLM::Worker"}], "readings": {"nvml": {"outcome": "ok"}}}
    world.rows["spark-01"] = replace(world.rows["spark-01"], detail=detail)
    world.fact("spark-01", "driver_version", "580.142")
    world.commit(events=[Event(0, tick(n), "spark-01", "xid", f"Xid {n}", {}) for n in (50, 55)])
    world.commit(events=[Event(0, tick(50), "spark-02", "xid", "elsewhere", {})])
    world.run(61, 61)
    web.step()
    assert web.get("node?name=spark-01") == {
        "name": "spark-01",
        "state": "ok",
        "level": "ok",
        "reason": "",
        "age_s": 0.0,
        "facts": {"driver_version": "580.142"},
        "processes": [{"pid": 7, "name": "VLLM::Worker"}],
        "readings": {"nvml": {"outcome": "ok"}},
        "events": [
            {"t": tick(55), "kind": "xid", "text": "Xid 55"},
            {"t": tick(50), "kind": "xid", "text": "Xid 50"},
        ],
    }
    assert web.get("node?name=nobody", 404)["error"] == "There is no node “nobody”."
    assert "missing" in web.get("node", 400)["error"]
    assert web.process.node("head") is None


@pytest.mark.parametrize("state", ["refused", "stopped"])
def test_processes_of_a_node_that_does_not_answer_are_not_shown_as_running(world: World, web: Web, state: str) -> None:
    detail = {"processes": [{"pid": 7}], "readings": {"nvml": {"outcome": "ok"}}}
    world.rows["spark-01"] = replace(world.rows["spark-01"], detail=detail)
    world.silence("spark-01", 61, state)
    world.run(61, 65)
    web.step()
    node = web.get("node?name=spark-01")
    assert (node["state"], node["processes"], node["readings"]) == (state, [], {})


def test_absences(world: World, web: Web) -> None:
    world.absent("spark-01", None, 20, "refused: nothing listens")
    world.absent("spark-02", gpu.GPU_POWER.name, 40, "nvml: stalled")
    answer = web.get("absences")
    assert answer == web.process.absences()
    assert answer["absences"] == [
        {"target": "spark-02", "metric": "gpu_power_watts", "from": tick(40), "to": None, "reason": "nvml: stalled"},
        {"target": "spark-01", "metric": None, "from": tick(20), "to": None, "reason": "refused: nothing listens"},
    ]
    assert len(web.get("absences?target=spark-01")["absences"]) == 1
    assert web.get(f"absences?start={tick(5)}&end={tick(10)}")["absences"] == []
    assert "“start” is not before “end”" in web.get(f"absences?start={tick(10)}&end={tick(10)}", 400)["error"]


def test_metrics_are_the_catalogue(web: Web) -> None:
    told = {one["name"]: one for one in web.get("metrics")["metrics"]}
    assert list(told) == [metric.name for metric in catalog.METRICS]
    assert told["gpu_temperature_celsius"] == {
        "name": "gpu_temperature_celsius",
        "label": "GPU temperature",
        "help": "Temperature of the GPU die.",
        "unit": "celsius",
        "kind": "gauge",
        "scope": "node",
        "group": "gpu",
        "labels": ["gpu"],
        "across": "max",
        "window_s": None,
        "limits": {"warning": 85, "critical": 90, "low": False},
        "states": [],
    }
    assert told["acceptance_ratio"]["window_s"] == 60
    assert told["engine_phase"]["states"][3] == "decoding"


def value(web: Web, query: str) -> list[dict[str, object]]:
    return list(web.get(f"latest?{query}")["values"])


def test_latest_of_a_gauge(web: Web) -> None:
    assert value(web, "metric=gpu_power_watts&node=spark-02") == [
        {
            "metric": "gpu_power_watts",
            "unit": "watts",
            "labels": {"target": "spark-02", "gpu": "0"},
            "t": tick(60),
            "v": 51.0,
            "state": "ok",
            "reason": "",
        }
    ]


def test_latest_of_ratios_and_states(web: Web) -> None:
    (decode,) = value(web, "metric=decode_tokens_per_second&engine=head")
    assert (decode["v"], decode["t"], decode["labels"]) == (
        20.0,
        tick(60),
        {"target": HEAD, "engine": "0", "model": "moonshotai/Kimi-K3"},
    )
    (energy,) = value(web, "metric=gpu_energy_per_token_joules")
    assert (energy["v"], energy["labels"]) == (pytest.approx(10.3), {"target": "cluster"})
    (phase,) = value(web, "metric=engine_phase")
    assert (phase["v"], phase["text"]) == (3.0, "decoding")
    (recorded,) = value(web, "metric=recorded_decode_tokens_per_second&deployment=Kimi-K3")
    assert recorded["v"] == 20.0


def test_latest_judges_by_the_catalogues_limits(world: World, web: Web) -> None:
    world.set("spark-01", gpu.GPU_TEMPERATURE, constant(86.0))
    world.run(61, 61)
    web.step()
    states = {one["labels"]["target"]: one["state"] for one in value(web, "metric=gpu_temperature_celsius")}  # type: ignore[index]
    assert states == {"spark-01": "warning", "spark-02": "ok", "spark-03": "ok", "spark-04": "ok"}


OWNERS = {
    Scope.NODE: "spark-01",
    Scope.ENGINE: HEAD,
    Scope.TARGET: "spark-01",
    Scope.CLUSTER: "cluster",
    Scope.DEPLOYMENT: "deployment/Kimi-K3",
}


def test_latest_of_everything_names_every_metric_of_every_target(web: Web) -> None:
    values = web.get("latest")["values"]
    seen = {(one["metric"], one["labels"]["target"]) for one in values}
    for metric in catalog.METRICS:
        assert (metric.name, OWNERS[metric.scope]) in seen, metric.name
    assert all(one["reason"] for one in values if one["v"] is None)
    assert all(one["state"] == "unknown" and one["t"] is None for one in values if one["v"] is None)


def test_latest_is_what_a_node_page_shows(web: Web) -> None:
    assert web.process.latest(node="spark-02") == web.get("latest?node=spark-02")


@pytest.mark.parametrize("query", ["node=x", "engine=spark-01", "deployment=x", "metric=", "metric=a,b", "colour=red"])
def test_latest_refuses(web: Web, query: str) -> None:
    answer = web.client.get(f"/api/v1/latest?{query}")
    assert answer.status_code in (400, 404)
    assert answer.json["error"]


def test_stale_is_not_current(world: World, web: Web) -> None:
    world.silence("spark-02", 61, "timed out", "")
    world.run(61, 65)
    world.absent("spark-02", None, 61, "timed out: the host does not answer")
    web.step()
    (power,) = value(web, "metric=gpu_power_watts&node=spark-02")
    assert (power["v"], power["t"], power["state"], power["reason"]) == (
        None, None, "unknown", "spark-02 does not answer in time"
    )  # fmt: skip


def test_nothing_is_current_while_the_collector_is_silent(world: World, web: Web) -> None:
    world.now = tick(67)
    values = web.get("latest")["values"]
    assert len(values) > 100
    assert {(one["v"], one["state"], one["reason"]) for one in values} == {
        (None, "unknown", "Collector silent for 7.0 s")
    }


def test_a_metric_without_a_value_says_why(world: World, web: Web) -> None:
    world.set("spark-02", gpu.GPU_POWER, constant(NAN))
    world.absent("spark-02", gpu.GPU_POWER.name, 61, "nvml: not supported")
    world.run(61, 62)
    web.step()
    assert value(web, "metric=gpu_power_watts&node=spark-02")[0]["reason"] == "nvml: not supported"
    (preempted,) = value(web, "metric=preemptions_total")
    assert (preempted["v"], preempted["reason"]) == (None, "not offered")
    world.set(HEAD, engine.DRAFT_TOKENS, constant(5.0))
    world.run(63, 140)
    web.step()
    (acceptance,) = value(web, "metric=acceptance_ratio")
    assert (acceptance["v"], acceptance["reason"]) == (None, "nothing happened in its window")


@pytest.mark.parametrize(
    ("age_ms", "status", "text"),
    [(0, 200, "ok"), (10_000, 200, "ok"), (10_001, 503, "the last commit is 10 s old")],
)
def test_health(world: World, web: Web, age_ms: int, status: int, text: str) -> None:
    world.now += age_ms
    answer = web.client.get("/healthz")
    assert (answer.status_code, answer.text) == (status, text + "\n")


def test_health_of_a_store_without_commits(make_world: MakeWorld, make_web: MakeWeb) -> None:
    answer = make_web(make_world()).client.get("/healthz")
    assert (answer.status_code, answer.text) == (503, "nothing was ever committed\n")


def test_what_a_watchdog_appends_against_caches_changes_nothing(web: Web) -> None:
    assert web.client.get("/healthz?nocache=1&nocache=2").text == "ok\n"
    assert "tachograph_commit_age_seconds 0.0\n" in web.client.get("/metrics?name=x").text


def test_health_when_live_data_is_not_made(web: Web) -> None:
    web.process.follower.work.problem = "the store is broken"
    assert (web.client.get("/healthz").status_code, web.client.get("/healthz").text) == (503, "the store is broken\n")


def samples(text: str) -> dict[str, float]:
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line[0] != "#"}


def test_own_metrics(world: World, web: Web) -> None:
    world.state("spark-02", "timed out")
    world.run(61, 61)
    web.step()
    world.now += 500
    found = samples(web.client.get("/metrics").text)
    assert found["tachograph_commit_age_seconds"] == 0.5
    assert found["tachograph_web_messages_total"] == 2
    assert found["tachograph_web_streams"] == 0
    assert found['tachograph_target_up{kind="node",target="spark-01"}'] == 1
    assert found['tachograph_target_up{kind="node",target="spark-02"}'] == 0
    assert found['tachograph_target_interval_seconds{target="head"}'] == 1
    assert found['tachograph_recorded_decode_tokens_per_second{target="Kimi-K3"}'] == 20
    assert found['tachograph_cluster_gpu_power_watts{target="cluster"}'] == 206
    assert found['tachograph_prefill_tokens_total{target="Kimi-K3"}'] == 150 * 61
    assert found["tachograph_web_resident_memory_bytes"] > 1e6


def test_own_metrics_leave_out_what_is_not_known(world: World, web: Web) -> None:
    world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_POWER, constant(NAN))
    world.run(61, 61)
    web.step()
    assert "cluster_gpu_power_watts" not in web.client.get("/metrics").text
    world.now += 11_000
    assert "recorded_decode" not in web.client.get("/metrics").text


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_own_metrics_are_accepted_by_promtool(web: Web) -> None:
    page = web.client.get("/metrics").data
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, check=False)
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")


def test_headroom_is_judged_downwards(world: World, web: Web) -> None:
    world.set("spark-01", memory.MEMORY_HEADROOM, constant(3 * GIB))
    world.run(61, 61)
    web.step()
    found = {one["labels"]["target"]: one["state"] for one in value(web, "metric=memory_headroom_bytes")}  # type: ignore[index]
    assert (found["spark-01"], found["spark-02"]) == ("critical", "ok")


def test_login_of_an_address_is_not_told(world: World, web: Web) -> None:
    world.rows["spark-01"] = replace(world.rows["spark-01"], url="http://me:secret@10.0.0.1:9810/metrics?key=secret")
    world.run(61, 61)
    web.step()
    answer = web.client.get("/api/v1/status")
    assert "secret" not in answer.text
    assert answer.json["nodes"][0]["url"] == "http://10.0.0.1:9810/metrics?…"
