"""Results of benchmarks over HTTP: laid over the run that they measured, or kept apart; asked where it is not clear."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.api import benchmarks, run_answers
from dashboard.api.awaited import SILENT as SILENT_COLLECTOR
from dashboard.components.run_results import results as results_of_page
from dashboard.layout.static import render
from dashboard.report.times import instant
from exchange.benchmarks import reading
from exchange.benchmarks.beside import OF_RUN
from pipeline import digest
from storage.records import Batch
from tests.exchange import results
from tests.exchange.results import packed
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_runs import collecting, entry, keep, run
from tests.web.world import tick


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Two minutes of the world, and a run of 20 s in it, in which 400 tokens came."""
    world = make_world()
    world.run(0, 120)
    keep(world, run(1, 10, 30))
    web = make_web(world)
    web.step()
    return web


def result(last: int = 30, **changed: Any) -> dict[str, Any]:
    """A result that ended at this tick, in the zone of this machine."""
    ended = datetime.fromtimestamp(tick(last) / 1000, UTC).astimezone()
    return results.vllm(date=ended.strftime("%Y%m%d-%H%M%S"), **changed)


def send(web: Web, data: bytes, query: str = "", status: int = 200) -> Any:
    form = "application/x-www-form-urlencoded"  # what curl says of any body
    answer = web.client.post(f"/api/v1/benchmarks?name=bench.json{query}", data=data, content_type=form)
    assert answer.status_code == status, answer.text
    return answer.json


def test_a_result_is_laid_over_the_run_that_it_measured(web: Web) -> None:
    with collecting(web.world):
        (told,) = send(web, packed(result()))["results"]
    assert (told["run"], told["new"], told["how"], told["error"]) == (
        1,
        False,
        "the same model and output tokens",
        None,
    )
    (found,) = web.get("runs/1/benchmarks")["benchmarks"]
    assert (found["tool"], found["file"], found["model"]) == ("vllm bench serve", "bench.json", "org/Kimi-K3")
    assert found["overlay"] == {"start": tick(10), "end": tick(30), "how": "the same model and output tokens"}
    pairs = {one["client"]["key"]: one for one in found["beside"]}
    assert (pairs["output"]["client"]["value"], pairs["output"]["server"]["value"]) == (400, 400)
    assert pairs["output_throughput"]["server"]["value"] == pytest.approx(20.0)
    assert pairs["output_throughput"]["difference"] == pytest.approx(0.0)
    assert pairs["ttft_mean"]["server"]["value"] == pytest.approx(4.0)
    assert web.get("runs")["total"] == 1


def test_the_same_result_again_changes_nothing(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()))
        (told,) = send(web, packed(result()))["results"]
        send(web, packed(result()), "&run=1")
    assert (told["run"], told["how"]) == (1, "it is there already")
    assert len(web.get("runs/1/benchmarks")["benchmarks"]) == 1


def test_a_result_is_kept_once_whatever_run_is_named(web: Web) -> None:
    keep(web.world, run(3, 40, 60))
    keep(web.world, run(4, 70, 90))
    with collecting(web.world):
        assert send(web, packed(result()), "&run=1")["results"][0]["run"] == 1
        for number in (3, 4):
            refused = send(web, packed(result()), f"&run={number}", 409)["error"]
            assert refused == (
                "bench.json: it is there already, with run 1 (Kimi-K3 #1); to lay it over another, move it "
                "(runs move 1 ID)"
            )
    assert [len(web.get(f"runs/{number}/benchmarks")["benchmarks"]) for number in (1, 3, 4)] == [1, 0, 0]


def move(web: Web, status: int = 200, **given: Any) -> Any:
    answer = web.client.post("/api/v1/runs/commands", json={"kind": "move", **given})
    assert answer.status_code == status, answer.text
    return answer.json


def results_of(web: Web, *runs: int) -> list[int]:
    return [len(web.get(f"runs/{number}/benchmarks")["benchmarks"]) for number in runs]


def test_a_result_that_was_kept_apart_is_moved_to_its_run(web: Web) -> None:
    with collecting(web.world):
        number = send(web, packed(result()), "&apart=1")["results"][0]["run"]
        assert f"with run {number} (vllm bench serve #{number})" in send(web, packed(result()), "&run=1", 409)["error"]
        assert move(web, run=number, to=1)["error"] is None
    (found,) = web.get("runs/1/benchmarks")["benchmarks"]
    assert found["overlay"] == {"start": tick(10), "end": tick(30), "how": "named by hand"}
    pairs = {one["client"]["key"]: one for one in found["beside"]}
    assert pairs["output"]["server"]["value"] == 400
    web.get(f"runs/{number}", 404)
    assert web.world.writer.run_parts_of(number, "") == {}


def test_a_result_is_moved_to_another_run_with_the_numbers_of_that(web: Web) -> None:
    """Of 800 tokens came 400 in the minutes of the result: beside it stand those of the whole of run 3."""
    keep(web.world, run(3, 40, 80))
    with collecting(web.world):
        send(web, packed(result()), "&run=1")
        (key,) = (one["key"] for one in web.get("runs/1/benchmarks")["benchmarks"])
        move(web, run=1, to=3, key=key)
    assert results_of(web, 1, 3) == [0, 1]
    (found,) = web.get("runs/3/benchmarks")["benchmarks"]
    assert found["overlay"] == {"start": tick(40), "end": tick(80), "how": "named by hand"}
    assert {one["client"]["key"]: one["server"]["value"] for one in found["beside"]}["output"] == 800
    with collecting(web.world):
        send(web, packed(result()), "&run=3")
    assert results_of(web, 1, 3) == [0, 1], "there is one of it"


def test_a_result_is_taken_off_its_run(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()), "&run=1")
        move(web, run=1, to=None)
    assert results_of(web, 1) == [0]
    (apart,) = (one for one in web.get("runs")["runs"] if one["by"] == "benchmark")
    assert (apart["start"], apart["end"]) == (tick(10), tick(30))
    (found,) = web.get(f"runs/{apart['id']}/benchmarks")["benchmarks"]
    assert (found["overlay"], found["file"]) == (None, "bench.json")


def test_moves_that_cannot_be(web: Web) -> None:
    keep(web.world, run(3, 40, 80))
    assert move(web, 409, run=1, to=3)["error"] == "Run 1 has no result of a benchmark."
    with collecting(web.world):
        send(web, packed(result()), "&run=1")
        send(web, packed(result(total_output_tokens=5)), "&run=1")
        number = send(web, packed(result(total_output_tokens=7)), "&apart=1")["results"][0]["run"]
    first, second = (one["key"] for one in web.get("runs/1/benchmarks")["benchmarks"])
    several = f"Run 1 has several results, or not this one: name one of {first} (bench.json), {second} (bench.json)."
    assert move(web, 409, run=1, to=3)["error"] == several
    assert move(web, 409, run=1, to=3, key="none")["error"] == several
    assert move(web, 409, run=1, to=1, key=first)["error"] == "Run 1 has this result already."
    nothing_else = f"Run {number} has this result already, and nothing else."
    assert move(web, 409, run=number, to=None)["error"] == nothing_else
    assert move(web, 409, run=1, to=number, key=first)["error"] == f"Run {number} has no telemetry here."
    assert move(web, 404, run=99, to=1)["error"] == "There is no run 99."
    assert move(web, 404, run=1, to=99, key=first)["error"] == "There is no run 99."
    assert move(web, 400, to=1)["error"] == "“run” is missing, expected a whole number."
    assert move(web, 400, run=1, to="x")["error"] == "“to” is 'x', expected a whole number."
    assert results_of(web, 1, 3, number) == [2, 0, 1]


def test_a_part_of_a_longer_run_has_the_engines_numbers_of_its_minutes(web: Web) -> None:
    """Its edges are taken 5 s wider: 600 tokens came in the 30 s around its 20 s."""
    keep(web.world, run(3, 40, 110))
    with collecting(web.world):
        (told,) = send(web, packed(result(80, total_output_tokens=595, duration=20.0)))["results"]
    assert (told["run"], told["how"]) == (3, "the same model, minutes and output tokens")
    (found,) = web.get("runs/3/benchmarks")["benchmarks"]
    assert (found["overlay"]["start"], found["overlay"]["end"]) == (tick(55), tick(85))
    pairs = {one["client"]["key"]: one["server"] for one in found["beside"]}
    assert pairs["output"]["value"] == 600
    assert pairs["completed"] is None or pairs["completed"]["value"] is None


def test_the_engine_stands_beside_before_the_run_is_settled(web: Web) -> None:
    web.world.writer.commit(Batch(runs=[run(3, 40, 60)]), web.world.now)
    with collecting(web.world):
        send(web, packed(result(60)), "&run=3")
    (found,) = web.get("runs/3/benchmarks")["benchmarks"]
    assert {one["client"]["key"]: one["server"]["value"] for one in found["beside"]}["output"] == 400


def test_a_run_that_is_trimmed_later_leaves_the_comparison_as_it_was(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()))
        trim = {"kind": "trim", "run": 1, "start_ms": tick(20), "end_ms": None}
        assert web.client.post("/api/v1/runs/commands", json=trim).status_code == 200
    for one in web.world.writer.unsettled_runs(digest.SUMMARY):
        digest.settle(web.world.writer, one)
    assert entry(web.get("runs/1"), "requests", "output") == 200
    (found,) = web.get("runs/1/benchmarks")["benchmarks"]
    assert {one["client"]["key"]: one["server"]["value"] for one in found["beside"]}["output"] == 400


def test_the_page_and_reports_say_of_which_minutes_the_engine_is(web: Web) -> None:
    with collecting(web.world):
        send(web, packed(result()))
    found = web.get("runs/1/benchmarks")["benchmarks"]
    shown = render(results_of_page({"id": 1, "by": "found"}, found), {})
    assert f"the engine&#x27;s numbers are of {OF_RUN}, " in shown
    assert shown.index(f'data-instant="{tick(10)}"') < shown.index(f'data-instant="{tick(30)}"')
    nothing = [one | {"beside": [pair | {"server": None} for pair in one["beside"]]} for one in found]
    assert OF_RUN not in render(results_of_page({"id": 1, "by": "found"}, nothing), {})
    said = f"numbers are of {OF_RUN}, {instant(tick(10))} to {instant(tick(30))}"
    assert f"The engine's {said}." in web.client.get("/api/v1/runs/1/report.md").text
    assert said in web.client.get("/api/v1/runs/1/report.html").text


def test_a_result_of_a_trimmed_run_has_the_numbers_of_what_is_left(web: Web) -> None:
    keep(web.world, run(3, 40, 80, trim_start_ms=tick(50), trim_end_ms=tick(70)))
    with collecting(web.world):
        send(web, packed(result(total_output_tokens=7)), "&run=3")  # it fits none: people say so
    (found,) = web.get("runs/3/benchmarks")["benchmarks"]
    server = {one["client"]["key"]: one["server"] for one in found["beside"]}["output"]
    assert (server["value"], found["overlay"]["how"]) == (400, "named by hand")
    assert found["engine"] == {"start": tick(50), "end": tick(70), "of": OF_RUN}


def test_a_run_that_is_merged_or_split_later_leaves_the_comparison_as_it_was(web: Web) -> None:
    """Each result has the engine's numbers of the minutes that were its run, and says which those are."""
    keep(web.world, run(3, 32, 38))
    with collecting(web.world):
        send(web, packed(result()), "&run=1")
        assert web.client.post("/api/v1/runs/commands", json={"kind": "merge", "run": 1, "other": 3}).status_code == 200

    def told() -> tuple[Any, Any]:
        (found,) = web.get("runs/1/benchmarks")["benchmarks"]
        server = {one["client"]["key"]: one["server"] for one in found["beside"]}["output"]
        return server["value"], found["engine"]

    keep(web.world)
    assert entry(web.get("runs/1"), "requests", "output") > 400
    assert told() == (400, {"start": tick(10), "end": tick(30), "of": OF_RUN})
    with collecting(web.world):
        cut = {"kind": "split", "run": 1, "at_ms": tick(20)}
        assert web.client.post("/api/v1/runs/commands", json=cut).status_code == 200
    keep(web.world)
    assert told() == (200, {"start": tick(10), "end": tick(20), "of": OF_RUN})


def test_what_belongs_to_no_run_is_one_without_telemetry(web: Web) -> None:
    with collecting(web.world):
        (told,) = send(web, packed(result(model_id="other/model")))["results"]
    assert told["new"]
    number = told["run"]
    found = web.get(f"runs/{number}")
    assert (found["run"]["by"], found["run"]["model"], found["run"]["deployment"]) == (
        "benchmark",
        "other/model",
        "benchmark:other/model",
    )
    assert (found["run"]["start"], found["run"]["end"]) == (tick(10), tick(30))
    assert "without telemetry" in found["why"]
    assert (entry(found, "requests", "output"), entry(found, "requests", "finished")) == (400, 4)
    keys = {one["key"] for section in found["summary"] for one in section["entries"]}
    assert keys == {"seconds", "output", "prompt", "finished"}
    assert (found["fingerprint"], found["events"]) == ([], [])
    numbers = next(one["numbers"] for one in web.get("runs")["runs"] if one["id"] == number)
    assert numbers == {"speed.seconds": 20, "requests.output": 400, "requests.prompt": 880, "requests.finished": 4}
    assert "no samples here" in web.get(f"runs/{number}?start={tick(12)}&end={tick(20)}")["why"]
    (mine,) = web.get(f"runs/{number}/benchmarks")["benchmarks"]
    assert all(pair["server"] is None for pair in mine["beside"])
    assert web.world.writer.unsettled_runs(digest.SUMMARY) == []


def test_apart_means_apart(web: Web) -> None:
    with collecting(web.world):
        (told,) = send(web, packed(result()), "&apart=1")["results"]
    assert told["new"]
    assert web.get("runs/1/benchmarks")["benchmarks"] == []


def test_people_are_asked_where_two_runs_fit(web: Web) -> None:
    keep(web.world, run(3, 30, 50))
    refused = send(web, packed(result(40)), status=409)
    assert refused["error"] == "bench.json: it fits several runs, name one of them: 3 (Kimi-K3 #3), 1 (Kimi-K3 #1)"
    with collecting(web.world):
        (told,) = send(web, packed(result(40)), "&run=3")["results"]
    assert (told["run"], told["how"]) == (3, "named by hand")


def test_one_of_several_results_that_is_refused_keeps_none_out(web: Web) -> None:
    first, second, third = (packed(results.vllm(total_output_tokens=count)) for count in (1, 2, 3))
    with collecting(web.world):
        send(web, second, "&apart=1")
        told = send(web, b"\n".join((first, second, third)), "&run=1", 409)["results"]
    assert [(one["run"], (one["error"] or "").partition(",")[0]) for one in told] == [
        (1, ""),
        (None, "bench.json: it is there already"),
        (1, ""),
    ]


def test_a_result_without_a_time_wants_a_run(web: Web) -> None:
    data = b"model,test_name,t_s_mean,t_s_std\norg/Kimi-K3,tg32,20,1\n"
    assert "does not tell when it was measured" in send(web, data, status=409)["error"]
    with collecting(web.world):
        assert send(web, data, "&run=1")["results"][0]["run"] == 1
    (found,) = web.get("runs/1/benchmarks")["benchmarks"]
    assert [(one["of"], one["value"]) for one in found["rest"]] == [("tg32", 20)]


@pytest.mark.parametrize("kind", ["trim", "nodes", "pin", "baseline", "annotate", "merge", "split"])
def test_what_needs_samples_is_refused(web: Web, kind: str) -> None:
    fields: dict[str, Any] = {
        "nodes": {"nodes": ["spark-01"]},
        "annotate": {"at_ms": tick(20), "text": "x"},
        "merge": {"other": 1},
        "split": {"at_ms": tick(20)},
    }
    with collecting(web.world):
        number = send(web, packed(result(model_id="other")))["results"][0]["run"]
        given = {"kind": kind, "run": number, **fields.get(kind, {})}
        answer = web.client.post("/api/v1/runs/commands", json=given)
        assert (answer.status_code, answer.json["error"]) == (
            409,
            "this run has no samples here: it is a benchmark's result",
        )
        kept = web.client.post("/api/v1/runs/commands", json={"kind": "rename", "run": number, "name": "mine"})
        assert kept.status_code == 200
        gone = web.client.post("/api/v1/runs/commands", json={"kind": "delete", "run": number})
        assert gone.status_code == 200
    assert web.world.writer.run_parts_of(number, "") == {}


def test_a_foreign_order_is_checked_like_any(web: Web) -> None:
    with collecting(web.world):
        refused = web.client.post("/api/v1/runs/commands", json={"kind": "benchmark", "run": 1, "record": {"tool": 5}})
        assert (refused.status_code, refused.json["error"]) == (400, "“tool” is no text of at most 2000 signs.")
        record = {"tool": "x", "entries": []}
        late = {"kind": "benchmark", "record": record, "start_ms": 9, "end_ms": 5}
        assert (
            web.client.post("/api/v1/runs/commands", json=late).json["error"]
            == "name the start and the end of the result"
        )


def test_broken_files_and_questions_that_cannot_be(web: Web) -> None:
    assert send(web, b"{", status=400)["error"].startswith("bench.json, line 1, column 2: ")
    assert send(web, packed(result()), "&run=99", 404)["error"] == "There is no run 99."
    assert send(web, packed(result()), "&run=x", 400)["error"].startswith("Parameter “run”")
    assert web.get("runs/99/benchmarks", 404)["error"] == "There is no run 99."


def test_without_a_collector_it_says_so(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(run_answers, "WAIT_S", 0.05)
    (told,) = send(web, packed(result()), status=503)["results"]
    assert (told["applied"], told["run"]) == (None, None)
    assert told["why"] == SILENT_COLLECTOR


def test_large_files_are_taken_and_too_large_ones_refused(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    large = packed(result(generated_texts=["x" * 2_000_000]))
    with collecting(web.world):
        assert send(web, large)["results"][0]["run"] == 1
    monkeypatch.setattr(benchmarks, "BODY_CAP_BYTES", 1_000)
    answer = web.client.post("/api/v1/benchmarks?name=x", data=large)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"date": "00010101-000000"}, "it was measured before 2015 or after 2099."),
        ({"date": "99991231-235959"}, "it was measured before 2015 or after 2099."),
        ({"date": "20141231-235959"}, "it was measured before 2015 or after 2099."),
        ({"duration": 1e99}, "it took 1e+99 s, expected 0 s to 400 days."),
        ({"duration": 34_560_001.0}, "it took 3.456e+07 s, expected 0 s to 400 days."),
    ],
)
@pytest.mark.parametrize("query", ["", "&apart=1", "&run=1"])
def test_what_cannot_have_been_measured_is_refused(web: Web, changed: dict[str, Any], told: str, query: str) -> None:
    given = packed({**result(), **changed})
    assert send(web, given, query, 400)["error"] == f"bench.json: {told}"
    assert web.world.writer.pending_commands() == []


def test_kept_apart_on_request_says_so(web: Web) -> None:
    with collecting(web.world):
        (told,) = send(web, packed(result()), "&apart=1")["results"]
    assert (told["new"], told["how"]) == (True, "kept apart, as was asked")


def test_an_order_with_a_time_that_is_none(web: Web) -> None:
    record = reading.read(packed(result()), "x").pop().to_json() | {"local_end": "yesterday"}
    body = {"kind": "benchmark", "record": record}
    answer = web.client.post("/api/v1/runs/commands", json=body)
    assert (answer.status_code, answer.json) == (400, {"error": "Its end is no time."})
