"""A collector that commits nothing any more: nothing it once wrote is told as being so now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World, tick

MEASURED = ("scrape_s", "scrape_bytes", "clock_skew_s")


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    made = make_world(nodes=2)
    row = made.rows["spark-01"]
    detail = {"processes": [{"name": "vllm"}], "readings": {"nvml": "ok"}, "missed": 3}
    made.rows["spark-01"] = replace(row, detail=detail)
    made.run(0, 60)
    return made


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    made = make_web(world)
    made.step()
    return made


def by_name(targets: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {target["name"]: target for target in targets}


def test_status_measures_nothing_of_now(world: World, web: Web) -> None:
    before = web.get("status")
    node, head = by_name(before["nodes"])["spark-01"], by_name(before["engines"])[HEAD]
    assert [node[name] for name in MEASURED] == [0.004, 23_000.0, 0.001]
    assert [head[name] for name in MEASURED] == [0.01, 50_000.0, None]
    assert node["not_offered"]
    assert head["not_offered"]
    assert before["deployments"][0]["phase"] == "decoding"
    world.now += 3_600_000
    after = web.get("status")
    for target in (*after["nodes"], *after["engines"]):
        assert [target[name] for name in MEASURED] == [None] * 3
        assert (target["state"], target["level"], target["not_offered"]) == ("unknown", "unknown", [])
        assert target["age_s"] == 3600.0
        assert target["reason"] == "Collector silent for 1h 0m"
    assert [(one["name"], one["engines"], one["phase"]) for one in after["deployments"]] == [
        ("Kimi-K3", [HEAD], "unknown")
    ]
    assert by_name(after["nodes"])["spark-01"]["missed_ticks"] == 3, "what was counted stays counted"


def test_node_page_shows_no_process_as_running(world: World, web: Web) -> None:
    before = web.get("node?name=spark-01")
    assert (before["processes"], before["readings"]) == ([{"name": "vllm"}], {"nvml": "ok"})
    world.now += 60_000
    after = web.get("node?name=spark-01")
    assert (after["state"], after["processes"], after["readings"]) == ("unknown", [], {})


def up(web: Web) -> dict[str, float]:
    lines = [line for line in web.client.get("/metrics").text.splitlines() if line.startswith("tachograph_target_up{")]
    return {line.split('target="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


@pytest.mark.parametrize(("age_ms", "known"), [(0, True), (10_000, True), (10_001, False), (3_600_000, False)])
def test_own_metrics_call_no_target_up(world: World, web: Web, age_ms: int, known: bool) -> None:
    world.state("spark-02", "timed out", since=tick(60))
    world.run(61, 61)
    web.step()
    world.now += age_ms
    assert up(web) == ({HEAD: 1.0, "spark-01": 1.0, "spark-02": 0.0} if known else {})
    text = web.client.get("/metrics").text
    assert ("tachograph_target_up" in text) is known
    assert 'tachograph_target_interval_seconds{target="spark-02"} 1.0' in text
