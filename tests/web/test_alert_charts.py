"""What is kept with an alert over HTTP: as charts and as files, before it is kept, and after the samples are gone."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from alerts.defaults import defaults
from alerts.rule import rules
from dashboard.api import evidence_answers
from pipeline.alert_evidence import AROUND_MS, LATE_MS, Evidence
from storage.records import Event
from telemetry.catalog import gpu, network
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.web.alert_world import alert
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import World, tick


def heat(world: World) -> None:
    """GPU 0 of spark-02 is at 88 °C from tick 20 on; an alert fires at tick 30."""
    world.set("spark-02", gpu.GPU_TEMPERATURE, lambda number: 88.0 if number >= 20 else 60.0)
    world.run(0, 60)
    world.fact("spark-02", "kernel", "6.17")
    world.commit(
        alerts=[alert(1, "gpu_hot", ("spark-02", "0"), 30)], events=[Event(0, tick(31), "spark-02", "xid", "Xid 79")]
    )


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    found = make_world()
    heat(found)
    return found


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    return make_web(world)


def keep_and_forget(world: World) -> None:
    """The evidence is kept, and then all samples are given up."""
    assert Evidence(world.writer).keep(rules(defaults()), tick(30) + AROUND_MS + LATE_MS) == 1
    first = tick(0) // HOUR_MS * HOUR_MS
    for target in world.series:
        world.writer.seal(target, first, first + 2 * HOUR_MS)
    world.writer.prune(first + 2 * HOUR_MS)
    world.writer.forget(first + 2 * HOUR_MS)
    assert world.writer.forgotten(tick(0), tick(60))


def own(found: Any) -> Any:
    """The chart of the temperature."""
    return next(one for one in found["charts"] if one["metric"] == "gpu_temperature_celsius")


def test_before_it_is_kept_it_is_what_was_read_so_far(web: Web) -> None:
    found = web.get("alerts/1/charts")
    assert (found["kept"], found["due"]) == (False, tick(30) + AROUND_MS + LATE_MS)
    assert (found["start"], found["end"], found["t"][0], found["t"][-1]) == (
        tick(30) - AROUND_MS,
        tick(30) + AROUND_MS,
        tick(0),
        tick(60),
    )
    assert found["alert"] == {"id": 1, "severity": "warning", "began": tick(20), "fired": tick(30), "ended": None}
    assert found["charts"][0] == own(found)
    line = own(found)["lines"][0]
    assert (line["labels"], line["own"], line["v"][19], line["v"][20]) == (
        {"target": "spark-02", "gpu": "0"},
        True,
        60.0,
        88.0,
    )
    assert {one["metric"] for one in found["charts"] if one["of"] == "beside"} >= {
        "gpu_power_watts",
        "requests_running",
    }
    assert [one["text"] for one in found["events"]] == ["Xid 79"]
    assert found["facts"] == {}


def test_it_is_there_when_the_samples_are_given_up(world: World, web: Web) -> None:
    before = own(web.get("alerts/1/charts"))
    keep_and_forget(world)
    found = web.get("alerts/1/charts")
    assert found["kept"] is True
    assert own(found) == before
    assert web.get("alerts/1/evidence")["parts"]["evidence"]["t"] == found["t"]


def test_files_have_every_sample(world: World, web: Web) -> None:
    keep_and_forget(world)
    answer = web.client.get("/api/v1/alerts/1/evidence.csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="alert-1.csv"'
    head, *rows = list(csv.reader(io.StringIO(answer.text)))
    column = head.index("gpu_temperature_celsius{target=spark-02,gpu=0} [celsius]")
    assert head[:2] == ["time_ms", "time"]
    assert len(rows) == 61
    assert (rows[20][0], rows[19][column], rows[20][column]) == (str(tick(20)), "60.0", "88.0")
    assert rows[20][1] == "2026-11-30T00:53:40.000Z"
    found = web.client.get("/api/v1/alerts/1/evidence.json")
    assert found.headers["Content-Disposition"] == 'attachment; filename="alert-1.json"'
    assert (found.json["kept"], found.json["alert"]["key"], found.json["alert"]["fired"]) == (
        True,
        ["spark-02", "0"],
        tick(30),
    )
    assert len(found.json["evidence"]["t"]) == 61


def test_a_file_names_units_and_what_is_no_metric_any_more() -> None:
    series = [
        {"metric": "rdma_transmit_bytes_total", "target": "a", "labels": {"rdma": "r0"}, "v": [None]},
        {"metric": "formerly", "target": "a", "labels": {}, "v": [0.5]},
    ]
    head, row = b"".join(evidence_answers.rows({"t": [0], "series": series})).decode().splitlines()
    assert head == 'time_ms,time,"rdma_transmit_bytes_total{target=a,rdma=r0} [bytes]",formerly{target=a}'
    assert row == "0,1970-01-01T00:00:00.000Z,,0.5"


def test_an_alert_of_which_nothing_is_left(world: World, web: Web) -> None:
    world.commit(alerts=[alert(2, "gone", ("spark-09", "0"), -100_000)])
    found = web.get("alerts/2/charts")
    assert (found["kept"], found["charts"], found["t"]) == (False, [], [])
    for address in ("charts", "evidence.csv", "evidence.json"):
        assert web.get(f"alerts/9/{address}", 404)["error"] == "There is no alert 9."


def test_a_line_that_is_a_sum_says_over_what(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A cage has two functions: with both up its link counts 2, where one of a function alone counts 1."""
    world = make_world()
    for cage, name in (("p0", "f0"), ("p0", "f1")):
        labels = (("cage", cage), ("function", name))
        world.series["spark-02"][Series("spark-02", network.LINK_UP.name, labels)] = lambda number: float(number < 20)
    world.run(0, 40)
    world.commit(alerts=[alert(1, "link_down", ("spark-02", "p0"), 30, place="cage")])
    found = make_web(world).get("alerts/1/charts")["charts"]
    link = next(one for one in found if one["metric"] == "link_up")
    (mine,) = [line for line in link["lines"] if line["own"]]
    assert (link["label"], mine["v"][10]) == ("Link, sum over functions", 2.0)
    assert {one["label"] for one in found if one["metric"] == "gpu_power_watts"} == {"GPU power"}
