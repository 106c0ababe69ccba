"""Which targets and deployments a request may name: what is read, what was recorded, and lists with commas."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.api.known import listed
from storage.imports import ImportedHour, Imports
from telemetry.catalog import cluster, engine, gpu
from telemetry.model import Series
from telemetry.summary import HOUR_MS, hour_of
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import T0, tick


@pytest.mark.parametrize(
    ("given", "known", "names"),
    [
        ("a", [], ["a"]),
        ("a,b", [], ["a", "b"]),
        ("a,b", ["a,b"], ["a,b"]),
        ("a,b,c,d", ["b,c"], ["a", "b,c", "d"]),
        ("a,b", ["a", "b", "a,b"], ["a,b"]),
        ("a,b,c", ["a,b", "a,b,c"], ["a,b,c"]),
        (",a", ["a"], ["", "a"]),
    ],
)
def test_lists_with_commas(given: str, known: list[str], names: list[str]) -> None:
    assert listed(given, known) == names


def test_a_list_of_thousands_takes_no_time() -> None:
    assert len(listed("," * 8_000, ["a,b"])) == 8_001


def test_what_was_imported_is_asked_by_name(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.run(0, 60)
    before = hour_of(T0) - 3 * HOUR_MS
    labels = (("engine", "0"), ("model", "m"))
    for name, metric in (("w1:8000", engine.REQUESTS_RUNNING), ("old-node", gpu.GPU_POWER)):
        own = (Series(name, metric.name, labels if name == "w1:8000" else (("gpu", "0"),)),)
        ticks = before + np.arange(0, 600_000, 10_000)
        assert Imports(world.writer).write(ImportedHour(name, before, ticks, own, np.full((1, 60), 7.0), (), 10_000))
    web = make_web(world)
    web.step()
    stretch = f"start={before}&end={before + 600_000}"
    (line,) = web.get(f"series?metric=requests_running&engine=w1:8000&{stretch}")["series"]
    assert (line["labels"]["target"], max(one for one in line["v"] if one is not None)) == ("w1:8000", 7.0)
    assert len(web.get(f"series?metric=gpu_power_watts&node=old-node&{stretch}")["series"]) == 1
    told = web.get("series?metric=requests_running&engine=nobody", 400)["error"]
    assert told.endswith("expected one of: head, w1:8000.")
    told = web.get("series?metric=gpu_power_watts&node=w1:8000", 400)["error"]
    assert told.endswith("expected one of: spark-01, old-node."), "an engine is no node"


def test_a_deployment_with_commas_in_its_name(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.second("w2", "b", "a, b", rate=30.0)
    world.run(0, 60)
    web = make_web(world)
    web.step()
    metric = cluster.RECORDED_DECODE.name

    def targets(names: str) -> list[str]:
        found = web.get(f"series?metric={metric}&deployment={names}&start={tick(0)}&end={tick(60)}")["series"]
        return [one["labels"]["target"] for one in found]

    assert targets("a, b") == ["deployment/a, b"]
    assert sorted(targets("a, b,Kimi-K3")) == ["deployment/Kimi-K3", "deployment/a, b"]
    assert targets("Kimi-K3") == ["deployment/Kimi-K3"]
    assert "“deployment”" in web.get(f"series?metric={metric}&deployment=a", 400)["error"]
