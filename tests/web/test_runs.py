"""Runs over HTTP: a collector's chronicle behind a real store, people in front of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from dashboard.api import run_answers
from dashboard.api.awaited import SILENT as SILENT_COLLECTOR
from pipeline import digest
from pipeline.chronicle import Chronicle, chronicle_of
from pipeline.inbox import Inbox
from runs.detect import Detector
from runs.model import Mark, Run
from runs.subject import Member
from storage.records import Batch, DetectorState, Event, RunMark
from telemetry.catalog import engine
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World, tick

MEMBER = Member(HEAD, "0", "moonshotai/Kimi-K3")


def run(number: int, first: int, last: int | None, **fields: Any) -> Run:
    """A run of the world's deployment from one tick to another."""
    end = None if last is None else tick(last)
    name, model = f"Kimi-K3 #{number}", "moonshotai/Kimi-K3"
    return Run(number, "Kimi-K3", name, tick(first), end, model=model, engines=(MEMBER,), **fields)


def keep(world: World, *runs: Run) -> None:
    """Put runs into the store, as the collector does, and settle those that ended."""
    world.writer.commit(Batch(runs=runs), world.now)
    for one in world.writer.unsettled_runs(digest.SUMMARY):
        assert digest.settle(world.writer, one)


@contextmanager
def collecting(world: World) -> Iterator[None]:
    """A collector that does nothing but carry out what people ask."""
    detector = Detector()
    detector.start(tick(40))
    state = {"detector": detector.to_json(), "members": [], "last_id": 2}
    world.writer.commit(Batch(detectors=[DetectorState("Kimi-K3", state)]), world.now)
    chronicle: Chronicle = chronicle_of(world.writer)
    inbox, stop = Inbox(world.writer), threading.Event()

    def tick_on() -> None:
        while not stop.wait(0.02):
            inbox.fetch()
            told = chronicle.tick(world.now, {}, [], {}, inbox.take())
            batch = Batch(
                runs=list(told.runs.values()),
                marks=told.marks,
                parts=told.parts,
                marks_moved=told.moved,
                parts_moved=told.parts_moved,
                runs_deleted=told.deleted,
                commands=told.commands,
            )
            world.writer.commit(batch, world.now)

    thread = threading.Thread(target=tick_on)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A minute of the world; two runs of it, one of which goes on."""
    world = make_world()
    world.run(0, 60)
    keep(world, run(1, 10, 30, tags=("good",), labels={"drafts": "7"}), run(2, 40, None))
    web = make_web(world)
    web.step()
    return web


def entry(found: Any, section: str, key: str) -> Any:
    """Value of an entry in an answer."""
    entries = next(one["entries"] for one in found["summary"] if one["key"] == section)
    return next(one["value"] for one in entries if one["key"] == key)


def test_the_list_has_the_live_run_on_top_and_key_numbers(web: Web) -> None:
    found = web.get("runs")
    assert found["total"] == 2
    assert [(one["id"], one["live"]) for one in found["runs"]] == [(2, True), (1, False)]
    numbers = found["runs"][1]["numbers"]
    assert numbers["speed.decode_mean"] == pytest.approx(20.0)
    assert (numbers["requests.output"], numbers["speed.seconds"], numbers["nodes.took_part"]) == (400, 20, 4)
    assert found["runs"][0]["numbers"]["requests.output"] == 400


def test_a_run_that_nobody_reads_may_go_on(web: Web) -> None:
    """Its page says since when nothing was read, and not that it is live."""
    seen = web.pages.get("/fragment/run?run=live").text
    assert ">live<" in seen
    assert "it goes on" in seen
    web.world.now += 30_000
    told = web.pages.get("/fragment/run?run=live").text
    assert ">live<" not in told
    assert f'it may go on; nothing was read since <time data-instant="{web.world.now - 30_000}"' in told
    assert "may go on" not in web.pages.get("/fragment/run?run=1").text


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("state=live", [2]),
        ("state=ended", [1]),
        ("tag=good", [1]),
        ("tag=bad", []),
        ("label=drafts:7", [1]),
        ("label=drafts:8", []),
        ("text=KIMI-K3%20%231", [1]),
        ("deployment=Kimi-K3", [2, 1]),
        ("deployment=other", []),
        ("baseline=1", []),
        ("pinned=0", [2, 1]),
        (f"end={tick(39)}", [1]),
        (f"start={tick(31)}", [2]),
        (f"start={tick(30)}&end={tick(40)}", [2, 1]),
        ("limit=1", [2]),
        ("limit=1&offset=1", [1]),
    ],
)
def test_filters(web: Web, query: str, ids: list[int]) -> None:
    assert [one["id"] for one in web.get(f"runs?{query}")["runs"]] == ids


def test_the_table_is_short_rows_of_what_ended(web: Web) -> None:
    found = web.get("runs/table")
    (row,) = (dict(zip(found["columns"], values, strict=True)) for values in found["runs"])
    head = {"id": 1, "deployment": "Kimi-K3", "name": "Kimi-K3 #1", "model": "moonshotai/Kimi-K3"}
    marks = {"baseline": False, "pinned": False, "tags": ["good"], "labels": {"drafts": "7"}}
    assert head.items() | {"start": tick(10), "end": tick(30)}.items() <= row.items()
    assert marks == {name: row[name] for name in marks}
    assert (row["spark"], row["against"], row["requests.output"]) == ([20.0, 20.0, 20.0], None, 400)
    assert {name: row[name] for name in digest.HEADLINES} == web.get("runs")["runs"][1]["numbers"]


def test_the_table_of_lately_has_what_goes_on(web: Web) -> None:
    rows = [one[:1] + one[5:6] for one in web.get("runs/table?start=-31s")["runs"]]
    assert rows == [[2, None], [1, tick(30)]]
    found = web.get("runs/table?start=-29s")
    (row,) = (dict(zip(found["columns"], values, strict=True)) for values in found["runs"])
    assert (row["id"], row["requests.output"], row["spark"]) == (2, 400, [20.0] * 21)


def test_the_table_says_of_which_difference_the_load_is_another(web: Web) -> None:
    """Three requests run; from tick 60 on two, from 80 on 3.7 of which a quarter more is not reached."""
    web.world.set("head", engine.REQUESTS_RUNNING, lambda number: 3.0 if number < 60 else 2.0 if number < 80 else 3.7)
    web.world.run(61, 100)
    keep(web.world, run(2, 40, 58, baseline=True), run(3, 62, 78), run(4, 82, 98))
    found = web.get("runs/table")
    rows = {one[0]: dict(zip(found["columns"], one, strict=True)) for one in found["runs"]}
    assert {number: row["load"] for number, row in rows.items()} == {1: None, 2: None, 3: 3.0, 4: None}
    assert rows[3]["against"] == 0


def test_the_table_says_how_runs_differ_from_the_baseline(web: Web) -> None:
    web.world.set("head", engine.GENERATION_TOKENS, lambda number: 20.0 * min(number, 60) + 25.0 * max(number - 60, 0))
    web.world.run(61, 100)
    end = replace(run(2, 40, None), end_ms=tick(60))
    keep(web.world, replace(end, baseline=True), run(3, 60, 100), replace(run(4, 60, 100), deployment="other"))
    found = web.get("runs/table")
    rows = {one[0]: dict(zip(found["columns"], one, strict=True)) for one in found["runs"]}
    assert rows[3]["against"] == pytest.approx(0.25)
    assert (rows[1]["against"], rows[2]["against"], rows[4]["against"]) == (0, None, None)


def test_the_table_is_not_sent_again_while_it_is_the_same(web: Web) -> None:
    first = web.client.get("/api/v1/runs/table")
    assert first.headers["Cache-Control"] == "no-cache"
    tag = {"If-None-Match": first.headers["ETag"]}
    assert web.client.get("/api/v1/runs/table", headers=tag).status_code == 304
    keep(web.world, run(1, 10, 30, tags=("bad",)))
    assert web.client.get("/api/v1/runs/table", headers=tag).status_code == 200
    assert web.client.get("/api/v1/runs/table?start=-1h").headers["Cache-Control"] == "no-store"


def test_a_run_that_was_changed_has_no_numbers_until_they_are_worked_out_anew(web: Web) -> None:
    """What is kept is of another stretch: it is not shown as if it were of this one."""
    web.world.writer.commit(Batch(runs=[run(1, 10, 20, revision=1)]), web.world.now)
    assert web.get("runs?state=ended")["runs"][0]["numbers"] is None
    found = web.get("runs/table")
    assert [found["runs"][0][found["columns"].index(name)] for name in ("spark", "speed.decode_mean")] == [None, None]
    assert "no charts yet" in web.get("runs/1/charts", 404)["error"]
    keep(web.world)
    assert web.get("runs?state=ended")["runs"][0]["numbers"]["requests.output"] == 200
    assert len(web.get("runs/1/charts")["series"][0]["v"]) == 2


def test_events_of_a_run_that_was_changed_are_those_of_now(web: Web) -> None:
    for second in (15, 25):
        web.world.commit(events=[Event(0, tick(second), "head", "xid", f"at {second}")])
    web.world.writer.commit(Batch(runs=[run(1, 10, 20, revision=1)]), web.world.now)
    assert [one["text"] for one in web.get("runs/1")["events"]] == ["at 15"]


def test_neighbours(web: Web) -> None:
    keep(web.world, run(3, 0, 5), replace(run(4, 32, 35), deployment="other"))
    found = {number: web.get(f"runs/{number}")["run"] for number in (1, 2, 3)}
    one, two, three = ({"id": number, "name": f"Kimi-K3 #{number}"} for number in (1, 2, 3))
    assert [(found[number]["before"], found[number]["after"]) for number in (3, 1, 2)] == [
        (None, one),
        (three, two),
        (one, None),
    ]


def test_several_runs_at_once(web: Web) -> None:
    post: Callable[..., Any] = lambda body: web.client.post("/api/v1/runs/commands", json=body)  # noqa: E731
    with collecting(web.world):
        done = post({"kind": "tag", "tag": "x", "runs": [1, 2]})
        partly = post({"kind": "delete", "runs": [2, 1]})
    assert done.status_code == 200
    assert [(one["run"], one["error"]) for one in done.json["commands"]] == [(1, None), (2, None)]
    assert partly.status_code == 409
    assert [one["error"] for one in partly.json["commands"]] == ["run 2 goes on: stop it first", None]
    assert [(one["id"], one["tags"]) for one in web.get("runs")["runs"]] == [(2, ["x"])]


@pytest.mark.parametrize("runs", [[], "1", [1] * 1001, {"1": 1}])
def test_several_are_a_list_of_numbers(web: Web, runs: Any) -> None:
    answer = web.client.post("/api/v1/runs/commands", json={"kind": "delete", "runs": runs})
    assert answer.status_code == 400
    assert answer.json["error"] == "“runs” is expected to be a list of 1 to 1000 numbers."
    assert web.world.writer.pending_commands() == []


def test_one_wrong_number_of_several_queues_nothing(web: Web) -> None:
    answer = web.client.post("/api/v1/runs/commands", json={"kind": "delete", "runs": [1, "2"]})
    assert (answer.status_code, web.world.writer.pending_commands()) == (400, [])


def test_several_without_a_collector(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_answers, "WAIT_S", 0.1)
    answer = web.client.post("/api/v1/runs/commands", json={"kind": "pin", "runs": [1, 2]})
    assert (answer.status_code, [one["why"] for one in answer.json["commands"]]) == (503, [SILENT_COLLECTOR] * 2)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ([], []),
        ([1.0, None], [1.0, None]),
        ([float(value) for value in range(64)], [0.5 + 2 * place for place in range(32)]),
        ([20.02, 20.04] * 32, [20.0] * 32),
        ([None, 3.0] * 32, [3.0] * 32),
        ([None, None, 5.0, 6.0] * 16, [None, 5.5] * 16),
    ],
)
def test_a_course_is_means_of_equal_pieces(line: list[float | None], expected: list[float | None]) -> None:
    assert digest.spark(line) == expected


def test_one_run_and_a_stretch_of_it(web: Web) -> None:
    web.world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(12), "note", "fan on"))]), web.world.now)
    found = web.get("runs/1")
    assert (found["stretch"], found["why"]) == ([tick(10), tick(30)], "")
    assert entry(found, "requests", "output") == 400
    assert next(one["value"] for one in found["fingerprint"] if one["key"] == "model") == "moonshotai/Kimi-K3"
    assert found["marks"] == [{"t": tick(12), "kind": "note", "text": "fan on"}]
    part = web.get(f"runs/1?start={tick(15)}&end={tick(20)}")
    assert (part["stretch"], entry(part, "requests", "output")) == ([tick(15), tick(20)], 100)
    assert web.get(f"runs/1?start={tick(0)}&end={tick(99)}")["stretch"] == [tick(10), tick(30)]
    refused = web.get(f"runs/1?start={tick(31)}&end={tick(40)}", 400)
    assert refused == {"error": "Nothing of the run lies between “start” and “end”."}
    assert web.get("runs/9", 404) == {"error": "There is no run 9."}


def test_a_run_that_goes_on_has_numbers_up_to_now(web: Web) -> None:
    assert entry(web.get("runs/2"), "requests", "output") == 400
    web.world.run(61, 75)
    web.step()
    assert entry(web.get("runs/2"), "requests", "output") == 700


def test_charts_are_kept(web: Web) -> None:
    found = web.get("runs/1/charts")
    assert (found["start"], found["step_ms"]) == (tick(10), 10_000)
    power = [one["v"] for one in found["series"] if one["target"] == "cluster"]
    assert [206.0, 206.0, 206.0] in power
    assert "no charts yet" in web.get("runs/2/charts", 404)["error"]


def test_numbers_outlive_the_samples(web: Web) -> None:
    before = web.get("runs/1")["summary"]
    for target in list(web.world.series):
        web.world.writer.seal(target, tick(0) - tick(0) % 3_600_000, tick(0) + 7_200_000)
    assert web.world.writer.forget(tick(0) + 7_200_000) > 0
    assert web.get("runs/1")["summary"] == before
    told = web.get(f"runs/1?start={tick(15)}&end={tick(20)}")
    assert (told["summary"], told["why"]) == ([], digest.GIVEN_UP)


def test_commands_are_carried_out(web: Web) -> None:
    post: Callable[..., Any] = lambda body: web.client.post("/api/v1/runs/commands", json=body)  # noqa: E731
    with collecting(web.world):
        done = post({"kind": "rename", "run": 1, "name": "with drafts"})
        refused = post({"kind": "delete", "run": 2})
        unknown = post({"kind": "stop", "run": 9})
        trimmed = post({"kind": "trim", "run": 1, "start_ms": tick(20), "end_ms": None})
    assert (done.status_code, done.json["error"]) == (200, None)
    assert (refused.status_code, refused.json["error"]) == (409, "run 2 goes on: stop it first")
    assert (unknown.status_code, unknown.json["error"]) == (409, "there is no run 9")
    assert trimmed.status_code == 200
    assert web.get("runs/1")["run"]["name"] == "with drafts"
    assert web.get("runs/1")["why"].startswith("its numbers are worked out")
    keep(web.world)
    assert entry(web.get("runs/1"), "requests", "output") == 200
    assert web.get(f"runs/commands/{done.json['command']}") == done.json
    assert web.get("runs/commands/999", 404) == {"error": "There is no command 999."}


def test_a_collector_that_does_not_run_is_told(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_answers, "WAIT_S", 0.1)
    answer = web.client.post("/api/v1/runs/commands", json={"kind": "pin", "run": 1})
    assert (answer.status_code, answer.json["applied"], answer.json["why"]) == (503, None, SILENT_COLLECTOR)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ([], "Send an object"),
        ({"kind": 1}, "Send an object"),
        ({"kind": "sing"}, "There is no command “sing”"),
        ({"kind": "rename", "run": "1", "name": "x"}, "“run” is '1', expected a whole number."),
    ],
)
def test_what_cannot_be_asked(web: Web, body: Any, error: str) -> None:
    answer = web.client.post("/api/v1/runs/commands", json=body)
    assert answer.status_code == 400
    assert answer.json["error"].startswith(error)


def test_only_our_own_page_may_ask(web: Web) -> None:
    body = {"kind": "delete", "run": 1}
    foreign = {"Origin": "http://elsewhere.example"}
    assert web.client.post("/api/v1/runs/commands", json=body, headers=foreign).status_code == 403
    assert web.client.post("/api/v1/runs/commands", data="kind=delete").status_code == 415
    assert web.world.writer.pending_commands() == []
