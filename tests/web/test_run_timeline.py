"""The timeline of a run over HTTP: lines, phases, prefills, nodes, a moment; from samples or kept charts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dashboard import run_moment, run_view
from dashboard.live.fleet import MAP
from pipeline import digest
from runs.bounds import LATEST_MS
from runs.model import Mark, Run
from runs.subject import Member
from storage.records import Batch, Event, RunMark, RunPart
from telemetry.catalog import engine, gpu, ratios
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_runs import MEMBER, keep, run
from tests.web.world import tick

HOUR = 3_600_000


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Three minutes; one run of two of them in which spark-03 slows down, and one that goes on."""
    world = make_world()
    world.set("spark-03", gpu.GPU_SM_CLOCK, lambda number: 2.4e9 if number < 70 else 1.8e9)
    world.set("spark-03", gpu.GPU_POWER, lambda number: 52.0 if number < 70 else 20.0)
    world.set("head", engine.ENGINE_PHASE, lambda number: 2.0 if 40 <= number < 50 else 3.0)
    world.run(0, 180)
    world.prefill(40, 50, 9000, 10.0)
    world.prefill(60, 62, None, None)
    world.prefill(150, 155, 1000, 5.0)
    world.commit(events=[Event(0, tick(70), "spark-03", "throttle", "slowed by heat")])
    keep(world, run(1, 10, 130), run(2, 140, None))
    world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(12), "note", "fan on"))]), world.now)
    web = make_web(world)
    web.step()
    return web


def line(found: Any, key: str) -> list[Any]:
    series = found["lines"][key]["series"][0]
    return list(series.get("v", series.get("mean")))


def test_lines_of_the_whole_run(web: Web) -> None:
    found = web.get("runs/1/timeline?points=600")
    assert (found["run"], found["start"], found["end"]) == ([tick(10), tick(130)], tick(10), tick(130))
    assert (found["live"], found["why"], found["overview"]) == (False, "", None)
    assert line(found, "decode") == [20.0] * 121
    assert line(found, "running") == [3.0] * 121
    assert line(found, "waiting") == [1.0] * 121
    assert line(found, "kv") == [0.41] * 121
    assert found["lines"]["kv"]["unit"] == "ratio"
    assert found["lines"]["decode"]["series"][0]["t"][0] == tick(10)


def test_of_a_stretch_in_fewer_points(web: Web) -> None:
    found = web.get(f"runs/1/timeline?start={tick(20)}&end={tick(79)}&points=6")
    assert (found["start"], found["end"], found["run"]) == (tick(20), tick(79), [tick(10), tick(130)])
    assert found["lines"]["decode"]["step_ms"] == 10_000
    assert line(found, "decode") == [20.0] * 6
    whole = found["overview"]["series"][0]
    assert (whole["t"][0], whole["t"][-1]) == (tick(10), tick(130))


def test_phases_are_spans(web: Web) -> None:
    told = web.get("runs/1/timeline?points=600")["phases"]
    assert told == [
        [tick(10), tick(40), "decoding"],
        [tick(40), tick(50), "prefilling"],
        [tick(50), tick(130), "decoding"],
    ]
    coarse = web.get("runs/1/timeline?points=4")["phases"]
    assert coarse == [[tick(10), tick(130), "decoding"]]


def test_a_phase_lasts_from_reading_to_reading_but_not_over_a_gap(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Read every two seconds from 21 on; from 61 to 64 not at all."""
    world = make_world()
    world.set("head", engine.ENGINE_PHASE, lambda number: 2.0 if number < 40 else 3.0)
    for number in (*range(21, 61, 2), *range(65, 90, 2)):
        world.away("head", number, number)
    world.away("head", 61, 64)
    world.run(0, 90)
    keep(world, run(1, 10, 89))
    assert make_web(world).get("runs/1/timeline?points=600")["phases"] == [
        [tick(10), tick(40), "prefilling"],
        [tick(40), tick(61), "decoding"],
        [tick(66), tick(89), "decoding"],
    ]


def test_prefills_are_told_whole_and_only_those_of_the_stretch(web: Web) -> None:
    assert web.get("runs/1/timeline")["prefills"] == [
        [tick(40), tick(50), 9000, 10.0],
        [tick(60), tick(62), None, None],
    ]
    part = web.get(f"runs/1/timeline?start={tick(45)}&end={tick(55)}")
    assert part["prefills"] == [[tick(40), tick(50), 9000, 10.0]]


@pytest.mark.parametrize(
    ("key", "first", "last"),
    [
        ("power", [50.0, 51.0, 52.0, 53.0], [50.0, 51.0, 20.0, 53.0]),
        ("clock", [2.4e9] * 4, [2.4e9, 2.4e9, 1.8e9, 2.4e9]),
        ("utilization", [0.96] * 4, [0.96] * 4),
        ("temperature", [60.0, 61.0, 62.0, 63.0], [60.0, 61.0, 62.0, 63.0]),
        ("memory", [0.8] * 4, [0.8] * 4),
        ("interconnect", [4e8] * 4, [4e8] * 4),
    ],
)
def test_the_map_has_every_node(web: Web, key: str, first: list[float], last: list[float]) -> None:
    found = web.get(f"runs/1/timeline?start={tick(20)}&end={tick(100)}&map={key}")["map"]
    assert (found["key"], found["nodes"]) == (key, ["spark-01", "spark-02", "spark-03", "spark-04"])
    assert (found["t"][0], found["t"][-1]) == (tick(20), tick(100))
    assert [row[0] for row in found["v"]] == first
    assert [row[-1] for row in found["v"]] == last


def test_what_happened_is_told_by_time(web: Web) -> None:
    answer = web.client.post("/api/v1/annotations", json={"start": tick(100), "end": None, "text": "window open"})
    assert answer.status_code == 201
    told = [(one["t"], one["kind"], one["target"], one["text"]) for one in web.get("runs/1/timeline")["marks"]]
    assert told == [
        (tick(12), "note", "", "fan on"),
        (tick(70), "throttle", "spark-03", "slowed by heat"),
        (tick(100), "annotation", "", "window open"),
    ]
    part = web.get(f"runs/1/timeline?start={tick(60)}&end={tick(80)}")["marks"]
    assert [one["text"] for one in part] == ["slowed by heat"]


def test_the_end_of_a_run_is_marked_with_its_reason(web: Web) -> None:
    keep(web.world, run(3, 100, 125, ended="head/0 restarted"))
    end = {"t": tick(125), "end": None, "kind": "end", "target": "", "text": "head/0 restarted"}
    assert web.get("runs/3/timeline")["marks"] == [end]
    assert web.get(f"runs/3/timeline?start={tick(100)}&end={tick(120)}")["marks"] == []


def test_a_run_that_goes_on_grows(web: Web) -> None:
    before = web.get("runs/2/timeline")
    assert (before["live"], before["end"]) == (True, tick(180))
    web.world.run(181, 190)
    web.step()
    after = web.get("runs/2/timeline")
    assert (after["end"], len(line(after, "decode"))) == (tick(190), 51)


def test_one_node(web: Web) -> None:
    found = web.get("runs/1/node?name=spark-03&points=600")
    assert found["node"] == "spark-03"
    assert list(found["lines"]) == ["power", "utilization", "clock", "temperature", "memory", "interconnect"]
    power = line(found, "power")
    assert (power[0], power[59], power[60], len(power)) == (52.0, 52.0, 20.0, 121)
    assert line(found, "interconnect")[-1] == 4e8
    bins = web.get(f"runs/1/node?name=spark-03&points=2&start={tick(60)}&end={tick(79)}")["lines"]["power"]
    assert bins["series"][0]["min"] == [20.0] or 20.0 in bins["series"][0]["min"]


def test_a_moment_has_all_nodes_and_marks_what_stands_apart(web: Web) -> None:
    found = web.get(f"runs/1/moment?at={tick(69)}")
    assert (found["at"], found["why"]) == (tick(69), "")
    assert [one["values"]["power"] for one in found["nodes"]] == [50.0, 51.0, 52.0, 53.0]
    assert [one["apart"] for one in found["nodes"]] == [{}, {}, {}, {}]
    later = web.get(f"runs/1/moment?at={tick(70)}")["nodes"]
    assert later[2]["values"] == {
        "power": 20.0, "utilization": 0.96, "clock": 1.8e9, "temperature": 62.0, "memory": 0.8, "interconnect": 4e8,
    }  # fmt: skip
    assert [one["apart"] for one in later] == [{}, {}, {"power": -1, "clock": -1}, {}]


def test_a_node_that_was_not_read_then_is_unknown(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.away("spark-02", 50, 60)
    world.run(0, 90)
    keep(world, run(1, 10, 80))
    web = make_web(world)
    web.step()
    values = {at: web.get(f"runs/1/moment?at={tick(at)}")["nodes"][1]["values"]["power"] for at in (49, 51, 52, 61)}
    assert values == {49: 51.0, 51: 51.0, 52: None, 61: 51.0}


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("runs/1/timeline?map=colour", "Parameter “map” is “colour”"),
        ("runs/1/timeline?points=1", "Parameter “points” is “1”, expected a whole number from 2 to 2000."),
        ("runs/1/node", "Parameter “name” is missing"),
        ("runs/1/node?name=spark-9", "Parameter “name” is “spark-9”"),
        ("runs/1/moment", "Parameter “at” is missing"),
        (f"runs/1/moment?at={tick(9)}", "Parameter “at” does not lie in the run."),
        (f"runs/1/moment?at={tick(131)}", "Parameter “at” does not lie in the run."),
        (f"runs/1/timeline?start={tick(131)}&end={tick(140)}", "Nothing of the run lies between “start” and “end”."),
    ],
)
def test_what_makes_no_sense_is_refused(web: Web, path: str, error: str) -> None:
    assert web.get(path, 400)["error"].startswith(error)


def forget(web: Web) -> None:
    hour = tick(0) - tick(0) % HOUR
    for target in list(web.world.series):
        web.world.writer.seal(target, hour, hour + 2 * HOUR)
    assert web.world.writer.forget(hour + 2 * HOUR) > 0


def test_a_run_without_its_samples_is_drawn_from_its_charts_and_says_so(web: Web) -> None:
    forget(web)
    found = web.get("runs/1/timeline")
    assert found["why"] == run_view.GIVEN_UP.format("10 s")
    assert found["lines"]["decode"]["step_ms"] == 10_000
    assert line(found, "decode") == [20.0] * 13
    assert (line(found, "waiting"), line(found, "kv")) == ([1.0] * 13, [0.41] * 13)
    power = found["map"]["v"]
    assert [row[0] for row in power] == [50.0, 51.0, 52.0, 53.0]
    assert power[2] == [52.0] * 6 + [20.0] * 7
    for key, value in (("memory", 0.8), ("interconnect", 4e8), ("utilization", 0.96)):
        assert [row[3] for row in web.get(f"runs/1/timeline?map={key}")["map"]["v"]] == [value] * 4
    assert found["phases"] == [
        [tick(10), tick(40), "decoding"],
        [tick(40), tick(50), "prefilling"],
        [tick(50), tick(140), "decoding"],
    ]
    coarse = web.get("runs/1/timeline?points=4")
    assert line(coarse, "decode") == [20.0] * 4
    assert coarse["map"]["v"][2] == [52.0, pytest.approx(36.0), 20.0, 20.0]
    part = web.get(f"runs/1/timeline?start={tick(30)}&end={tick(49)}")
    assert part["map"]["t"] == [tick(30), tick(40)]


def test_a_moment_of_it_comes_from_its_charts_too(web: Web) -> None:
    forget(web)
    found = web.get(f"runs/1/moment?at={tick(75)}")
    assert found["why"] == run_view.GIVEN_UP.format("10 s")
    assert [one["values"]["power"] for one in found["nodes"]] == [50.0, 51.0, 20.0, 53.0]


def test_maps_of_a_whole_run_come_from_its_charts_where_they_are_fine_enough(web: Web) -> None:
    found = web.get("runs/1/timeline?points=4&map=power")
    assert found["why"] == ""
    assert (found["map"]["step_ms"], found["map"]["t"]) == (40_000, [tick(10 + 40 * place) for place in range(4)])
    assert found["map"]["v"][2] == [52.0, pytest.approx(52.0 - 32.0 / 2), 20.0, 20.0]
    node = web.get("runs/1/node?name=spark-03&points=4")["lines"]["power"]
    assert (node["step_ms"], node["series"][0]["max"]) == (40_000, [52.0, 52.0, 20.0, 20.0])
    fine = web.get("runs/1/timeline?points=13")["map"]
    assert fine["step_ms"] == 10_000
    finer = web.get(f"runs/1/timeline?points=13&start={tick(10)}&end={tick(139)}")["map"]
    assert finer["step_ms"] == 10_000


def test_charts_of_another_revision_or_without_the_reading_are_passed_over(web: Web) -> None:
    writer = web.world.writer
    known = writer.run(1)
    assert known is not None
    kept = digest.parts(writer, known)
    less = [one for one in kept[digest.CHARTS]["series"] if one["metric"] != ratios.MEMORY_USE.name]
    assert writer.settle_run(known, {**kept, digest.CHARTS: {**kept[digest.CHARTS], "series": less}})
    assert web.get("runs/1/timeline?points=4&map=power")["map"]["t"][0] == tick(10)
    memory = web.get("runs/1/timeline?points=4&map=memory")["map"]
    assert memory["t"][0] == tick(-20), "bins of samples begin at multiples of their width"
    assert memory["v"][0] == [0.8] * 3
    writer.commit(Batch(runs=[replace(known, trim_start_ms=tick(20), revision=known.revision + 1)]), web.world.now)
    trimmed = web.get("runs/1/timeline?points=4&map=power")
    assert (trimmed["run"], trimmed["map"]["t"][0] % trimmed["map"]["step_ms"]) == ([tick(20), tick(130)], 0)


def test_of_a_run_that_came_from_elsewhere_nothing_of_here_is_shown(web: Web) -> None:
    keep_as = replace(run(3, 20, 60), by="foreign")
    web.world.writer.commit(Batch(runs=[keep_as]), web.world.now)
    found = web.get("runs/3/timeline")
    assert found["why"] == run_view.ELSEWHERE
    assert all(one["series"] == [] for one in found["lines"].values())
    assert (found["phases"], found["map"]["t"]) == ([], [])


def test_of_two_engines_requests_are_added_and_the_fullest_cache_counts(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    world = make_world()
    world.second("tail", "moonshotai/Kimi-K3")
    world.set("tail", engine.REQUESTS_WAITING, lambda _number: 4.0)
    world.set("tail", engine.KV_CACHE_USAGE, lambda _number: 0.7)
    world.away("tail", 50, 60)
    world.run(0, 90)
    both = (MEMBER, Member("tail", "0", "moonshotai/Kimi-K3"))
    keep(world, replace(run(1, 10, 80), engines=both))
    web = make_web(world)
    web.step()
    found = web.get("runs/1/timeline")
    waiting, cache = line(found, "waiting"), line(found, "kv")
    assert (waiting[0], cache[0]) == (5.0, 0.7)
    assert (waiting[45], cache[45]) == (None, 0.41)  # of a sum nothing is known, of the fullest what is
    other = web.get(f"runs/1/timeline?start={tick(20)}&end={tick(30)}")
    assert set(line(other, "waiting")) == {5.0}


def test_every_reading_of_the_map_can_be_drawn_and_has_a_measure_of_standing_apart(web: Web) -> None:
    told = web.get("runs/1/timeline")["readings"]
    assert [one["key"] for one in told] == [reading.key for reading in MAP] == list(run_moment.APART)
    ends = {one["key"]: (one["unit"], one["scale"], one["low"], one["high"]) for one in told}
    assert ends["utilization"] == ("%", 100.0, 0.0, 1.0)
    assert ends["temperature"] == ("°C", 1.0, None, None)
    assert ends["interconnect"] == ("Gb/s", 8e-9, None, None)
    assert ends["clock"] == ("MHz", 1e-6, None, None)


def test_a_run_that_lies_about_its_times_takes_no_memory() -> None:
    values, huge = np.array([1.0, np.nan, 3.0]), 10**9
    tracemalloc.start()
    line = run_view._coarser(values, 0, 10_000, huge, {})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    assert line.t_ms.tolist() == [0]
    found = (line.minimum, line.mean, line.maximum)
    assert [[] if one is None else one.tolist() for one in found] == [[1.0], [2.0], [3.0]]


def test_a_run_that_lies_about_its_times_is_answered(web: Web) -> None:
    bad = Run(9, "foreign:x", "x", 0, 2**53 - 1, by="foreign", trim_end_ms=2**53 - 2)
    power = {"metric": gpu.GPU_POWER.name, "target": "spark-01", "labels": {"gpu": "0"}, "v": [1.0, None, 3.0]}
    charts = {"start": 0, "step_ms": 10_000, "series": [power]}
    summary = {"start": 0, "end": 2**53 - 1, "cut": "", "why": "", "sections": []}
    kept = {digest.CHARTS: charts, digest.SUMMARY: summary, "origin:x": {"id": 7, "version": "1", "exported": 2**53}}
    parts = [RunPart(9, kind, 0, value) for kind, value in kept.items()]
    web.world.writer.commit(Batch(runs=[bad], parts=parts, marks=[RunMark(9, Mark(2**53, "note", "x"))]), web.world.now)
    found = web.get("runs/9/timeline")
    assert found["run"] == [0, LATEST_MS]
    assert found["end"] == LATEST_MS
    for path in ("", "/moment?at=5", "/report.html", "/report.md", "/charts", "/benchmarks", "/summary.csv"):
        answer = web.client.get(f"/api/v1/runs/9{path}")
        assert answer.status_code == 200, (path, answer.text)
    table = web.get("runs/table")
    assert str(LATEST_MS) in str(table)
    assert str(2**53 - 1) not in str(table)


@pytest.mark.live
def test_a_run_of_a_year_is_answered(web: Web) -> None:
    """Of which three minutes were watched."""
    web.world.writer.commit(Batch(runs=[run(9, -31_000_000, 130)]), web.world.now)
    found = web.get("runs/9/timeline")
    assert found["phases"] == []
    known = [one for one in line(found, "decode") if one is not None]
    assert (len(known) <= 600, set(known)) == (True, {20.0})
    for path in ("", f"/moment?at={tick(20)}", "/node?name=spark-01", "/report.html", "/summary.csv"):
        answer = web.client.get(f"/api/v1/runs/9{path}")
        assert answer.status_code == 200, (path, answer.text)
