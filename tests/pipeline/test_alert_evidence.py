"""What is kept with an alert: when, of what, and that it is there when the samples are gone."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.defaults import defaults
from alerts.record import Alert
from alerts.rule import rules
from pipeline.alert_evidence import AROUND_MS, KIND, LATE_MS, MOST_SERIES, Evidence, gathered
from runs.model import Run
from storage.errors import StoreBusy
from storage.records import Absence, Batch, Event, Fact, Offset, Row
from storage.store import Store, open_store
from telemetry.catalog import cluster, engine, gpu, host, network
from telemetry.counters import Step
from telemetry.model import Series
from telemetry.summary import HOUR_MS

START = 1_796_000_400_000 // HOUR_MS * HOUR_MS
FIRED = START + 30 * 60_000
RULES = rules(defaults())
HOT = Alert(1, "gpu_hot", "GPU hot", "gpu", ("a", "0"), "warning", "k3", FIRED - 60_000, FIRED, "a is hot", run=4)
WEDGED = Alert(2, "engine_wedged", "Wedged", "engine", ("head", "0", "m"), "critical", "k3", FIRED, FIRED, "wedged")
ROWS = {
    "a": [
        Series("a", gpu.GPU_TEMPERATURE.name, (("gpu", "0"),)),
        Series("a", gpu.GPU_POWER.name, (("gpu", "0"),)),
        Series("a", host.UPTIME.name),
    ],
    "b": [Series("b", gpu.GPU_POWER.name, (("gpu", "0"),)), Series("b", network.LINK_UP.name)],
    "head": [Series("head", engine.REQUESTS_RUNNING.name, (("engine", "0"), ("model", "m")))],
    "deployment/k3": [Series("deployment/k3", cluster.DEPLOYMENT_RUNNING.name)],
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"), writer=True, now_ms=START)
    rows = [
        Row(tick, target, tick, found.layout(target, tuple(series)), [float(place) for place in range(len(series))])
        for tick in range(START, START + HOUR_MS, 10_000)
        for target, series in ROWS.items()
    ]
    found.commit(
        Batch(
            rows=rows,
            alerts=[HOT, WEDGED],
            events=[Event(0, FIRED + 1000, "a", "xid", "Xid 79"), Event(0, FIRED - AROUND_MS - 1, "a", "xid", "old")],
            absences_opened=[
                Absence("a", None, FIRED, None, "refused: x"),
                Absence("b", None, FIRED, None, "refused: y"),
            ],
            facts=[Fact("a", "kernel", "6.17", START), Fact("a", "kernel", "6.18", FIRED + 1)],
            runs=[Run(4, "k3", "Night", START, None)],
        ),
        START,
    )
    yield found
    found.close()


def test_ten_minutes_before_and_after(store: Store) -> None:
    found = gathered(store, HOT, RULES["gpu_hot"])
    assert (found["start"], found["end"], found["t"][0], found["t"][-1]) == (
        FIRED - AROUND_MS,
        FIRED + AROUND_MS,
        FIRED - AROUND_MS,
        FIRED + AROUND_MS,
    )
    assert [(one["target"], one["metric"], one["of"]) for one in found["series"]] == [
        ("a", "gpu_temperature_celsius", "rule"),
        ("a", "gpu_power_watts", "beside"),
        ("deployment/k3", "deployment_requests_running", "beside"),
        ("head", "requests_running", "beside"),
    ]
    assert found["series"][0]["v"] == [0.0] * 121
    assert found["cut"] is False
    assert [one["text"] for one in found["events"]] == ["Xid 79"]
    assert [one["reason"] for one in found["absences"]] == ["refused: x"]
    assert found["facts"] == {"kernel": "6.17"}
    assert found["run"] == {"id": 4, "name": "Night", "start": START, "end": None}


def test_an_engine_brings_the_power_of_all_nodes(store: Store) -> None:
    found = gathered(store, WEDGED, RULES["engine_wedged"])
    assert {(one["target"], one["metric"]) for one in found["series"]} >= {
        ("a", "gpu_power_watts"),
        ("b", "gpu_power_watts"),
        ("head", "requests_running"),
    }
    assert (found["run"], found["facts"]) == (None, {})


def test_a_rule_that_is_gone_leaves_what_is_beside(store: Store) -> None:
    assert {one["of"] for one in gathered(store, HOT, None)["series"]} == {"beside"}


def test_it_is_kept_once_the_time_is_over_and_outlives_the_samples(store: Store) -> None:
    evidence = Evidence(store)
    due = FIRED + AROUND_MS + LATE_MS
    assert evidence.keep(RULES, due - 1) == 0
    assert evidence.keep(RULES, due) == 2
    assert evidence.keep(RULES, due) == 0
    for target in ROWS:
        store.seal(target, START, START + 2 * HOUR_MS)
    store.prune(START + HOUR_MS)
    store.forget(START + HOUR_MS)
    assert store.forgotten(START, START + HOUR_MS)
    assert len(store.alert_parts(1)[KIND]["series"]) == 4


def test_a_store_that_is_busy_for_a_moment_costs_no_evidence(store: Store, tmp_path: Path) -> None:
    evidence, due = Evidence(store), FIRED + AROUND_MS + LATE_MS
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        evidence.keep(RULES, due)
    other.execute("ROLLBACK")
    other.close()
    assert evidence.keep(RULES, due + 60_000) == 2


def test_an_alert_that_cannot_be_read_is_left_alone(store: Store) -> None:
    """It keeps no others waiting, minute after minute."""
    store.commit(Batch(alerts=[replace(HOT, id=1, place="moon"), replace(HOT, id=3)]), START)
    evidence, due = Evidence(store), FIRED + AROUND_MS + LATE_MS
    with pytest.raises(KeyError):
        evidence.keep(RULES, due)
    assert evidence.keep(RULES, due) == 2
    assert KIND not in store.alert_parts(1)


def test_of_many_nodes_the_one_that_it_is_about_is_kept_whole(store: Store) -> None:
    """A rule that compares a node with its peers reads more than is kept."""
    gpus = tuple(Series("z", gpu.GPU_UTILIZATION.name, (("gpu", str(number)),)) for number in range(MOST_SERIES))
    tokens = Series("z", network.RDMA_TRANSMIT.name, (("rdma", "r0"),))
    beside = tuple(Series("b", gpu.GPU_UTILIZATION.name, (("gpu", str(number)),)) for number in range(MOST_SERIES))
    own = (*gpus[:3], tokens)
    rows = [Row(FIRED + 5, "b", FIRED + 5, store.layout("b", beside), [1.0] * len(beside))]
    rows += [Row(FIRED + s, "z", FIRED + s, store.layout("z", own), [1.0, 2.0, 3.0, s / 5]) for s in (5, 1005, 2005)]
    steps = [Offset("z", tokens.metric, tokens.labels, FIRED + 1005, 0.0, Step.RESTART.value)]
    store.commit(Batch(rows=rows, offsets=steps), START)
    fired = replace(HOT, run=None, rule="straggler", key=("z", "0"))
    kept = gathered(store, fired, RULES["straggler"])
    found = kept["series"]
    mine = [(one["metric"], one["of"]) for one in found if one["target"] == "z"]
    assert mine == [("gpu_utilization_ratio", "rule")] * 3 + [("rdma_transmit_bytes_total", "beside")]
    assert [one["target"] for one in found[:5]] == ["z"] * 4 + ["a"]
    assert (found[3]["breaks"], found[0]["breaks"]) == ([kept["t"].index(FIRED + 1005)], [])


def test_many_series_are_cut(store: Store) -> None:
    many = tuple(Series("a", gpu.GPU_POWER.name, (("gpu", str(number)),)) for number in range(MOST_SERIES + 5))
    row = Row(FIRED + 5, "a", FIRED + 5, store.layout("a", many), [1.0] * len(many))
    store.commit(Batch(rows=[row]), START)
    found = gathered(store, replace(HOT, run=None), RULES["gpu_hot"])
    assert (len(found["series"]), found["cut"]) == (MOST_SERIES, True)
