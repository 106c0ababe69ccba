"""Comparisons over HTTP: verdicts on runs whose speeds are known, curves, tables, CSV, and what is refused."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dashboard.comparison import distinct
from dashboard.comparison_words import below, signed
from dashboard.layout.static import render
from dashboard.pages.compare import fingerprint, verdicts
from dashboard.report.content import bundle, gather
from exchange.bundle import read, write
from pipeline import digest
from runs.references import CAVEAT, Reference
from telemetry.roofline import Weights
from tests.web.compare_world import LOOPS, compared, spans
from tests.web.conftest import Web
from tests.web.test_runs import keep, run
from tests.web.world import World, tick

OURS = Reference("Ours", "us", "1M", "vLLM", "4 × GB10", "self-hosted", decode=(15.0, 25.0))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """Five runs that ended, and one that is the last of them and goes on."""
    world = compared(World(tmp_path_factory.mktemp("compared") / "store.db"))
    keep(world, run(6, spans(LOOPS)[4][0], None))
    found = Web(world, roofline={"Kimi-K3": Weights(1e9, bandwidth=1e9)}, references=(OURS,))
    yield found
    found.close()
    world.close()


def verdict(found: Any, run: int, measure: str = "") -> Any:
    """The verdict on a run by a measure, else the main one."""
    own = (one for one in found["verdicts"] if one["run"] == run)
    return next(one for one in own if (one["measure"] == measure if measure else one["main"]))


def test_verdicts_are_those_of_the_truth(web: Web) -> None:
    found = web.get("compare?runs=1,2,3,4,5")
    assert (found["base"], found["align"]) == (1, "start")
    assert {one["run"]: one["word"] for one in found["verdicts"] if one["main"]} == {
        2: "faster",
        3: "no difference",
        4: "too short",
        5: "not comparable",
    }
    faster = verdict(found, 2)
    assert (faster["measure"], faster["unit"], faster["base"]) == ("per_request", "tokens_per_second", 1)
    assert faster["low"] < 0.2 < faster["high"]
    assert faster["difference"] == pytest.approx(0.2, abs=0.03)
    assert faster["values"] == [pytest.approx(5.0, rel=0.03), pytest.approx(6.0, rel=0.03)]
    assert faster["head"] == f"{signed(faster['difference'])[1:]} faster"
    assert faster["text"].startswith(
        f"Difference {signed(faster['difference'])}, 95\u00a0% sure between {signed(faster['low'])} and "
    )
    assert faster["text"].endswith("would have been found 80\u00a0% of the time.")
    assert verdict(found, 2, "step_time")["word"] == "no difference"
    assert verdict(found, 2, "throughput")["word"] == "higher"
    assert verdict(found, 2, "tpot")["text"] == (
        "Not comparable, because the engine of “Kimi-K3 #1” does not offer it."
    )
    assert verdict(found, 3)["low"] < 0 < verdict(found, 3)["high"]
    assert verdict(found, 3)["head"].startswith("no difference larger than ")
    assert verdict(found, 4)["text"].startswith(
        "Too short to say: 6 independent blocks of 10.0\u00a0s where 20 are needed, about 2m 20s more at the same load."
    )
    assert "4 in the first" in verdict(found, 5)["why"]


def test_what_a_verdict_rests_on_does_not_say_its_head_again(web: Web) -> None:
    found = web.get("compare?runs=1,2,4,5")
    assert below(verdict(found, 4)).startswith("6 independent blocks of 10.0\u00a0s where 20 are needed")
    for number in (2, 5):
        assert below(verdict(found, number)) == verdict(found, number)["text"]
    page = render(verdicts(web.get("compare?runs=1,4")), {})
    assert ">Too short to say<" in page
    assert "<p>6 independent blocks" in page


def test_runs_that_do_not_differ_are_said_to_be_the_same(web: Web) -> None:
    found = web.get("compare?runs=1,2")
    assert "Nothing: all that is known of what these runs ran on is the same." in render(
        fingerprint({**found, "fingerprint": []}), {}
    )


def test_runs_of_one_name_are_told_apart(web: Web) -> None:
    runs = [replace(run(number, 1, 9), name=name) for number, name in ((1, "a"), (2, "b"), (3, "a"))]
    assert [one.name for one in distinct(runs)] == ["a (run 1)", "b", "a (run 3)"]
    assert [(one.id, one.start_ms) for one in distinct(runs)] == [(one.id, one.start_ms) for one in runs]


def test_who_is_compared(web: Web) -> None:
    found = web.get("compare?runs=2,1")["runs"]
    first, last = spans(LOOPS)[1]
    assert (found[0]["id"], found[0]["start"], found[0]["end"], found[0]["live"]) == (2, tick(first), tick(last), False)
    assert found[0]["limit"] == "loop"
    assert found[0]["limit_text"] == "a closed loop: about 4 requests in the system all the time"
    assert found[0]["request_s"] == pytest.approx(10.0, rel=0.02)


def test_curves_are_aligned(web: Web) -> None:
    found = web.get("compare?runs=1,2")
    decode = [one for one in found["curves"] if one["metric"] == "recorded_decode_tokens_per_second"]
    assert [(one["run"], one["from_ms"], one["step_ms"], one["label"]) for one in decode] == [
        (1, 0, 10_000, "Decode"),
        (2, 0, 10_000, "Decode"),
    ]
    assert decode[1]["v"][30] == pytest.approx(24.0, rel=0.15)
    assert {one["label"]: one["unit"] for one in found["curves"]} == {
        "Decode": "tokens_per_second",
        "Running": "requests",
        "GPU power": "watts",
    }
    moved = web.get("compare?runs=1,2&align=first_token")
    assert [run["aligned"] - run["start"] for run in moved["runs"]] == [1000, 1000]
    assert {one["from_ms"] for one in moved["curves"]} == {-1000}


def test_numbers_nodes_and_what_differs(web: Web) -> None:
    found = web.get("compare?runs=1,2")
    numbers = {one["key"]: one for one in found["table"]}
    assert numbers["speed.decode_mean"]["differences"][1] == pytest.approx(0.2, abs=0.03)
    assert numbers["speed.seconds"]["values"] == [600.0, 600.0]
    power = [one for one in found["nodes"] if one["key"] == "nodes.power_mean_on"]
    assert [one["of"] for one in power] == [f"spark-{place:02}" for place in range(1, 5)]
    assert power[0]["values"] == [pytest.approx(51.0, abs=0.2), pytest.approx(57.0, abs=0.2)]
    assert [(one["key"], one["values"]) for one in found["fingerprint"]] == [
        ("measured.tool", ["vllm bench serve", "llama-benchy"])
    ]


def test_the_roofline_is_told_where_it_can_be(web: Web) -> None:
    """A gigabyte from 4 × 1 GB/s takes 250 ms; a step takes 0.8 s."""
    found = web.get("compare?runs=1,2")["roofline"]
    assert [(one["run"], one["nodes"], one["why"]) for one in found] == [(1, 4, ""), (2, 4, "")]
    assert (found[0]["floor_s"], found[0]["ceiling"]) == (0.25, 4.0)
    assert found[0]["share"] == pytest.approx(0.25 / 0.8, rel=0.05)


def test_published_results(web: Web) -> None:
    told = {**OURS.to_json(), "decode": [15.0, 25.0]}
    assert web.get("references") == {"references": [told]}
    assert web.get("compare?runs=1,2")["references"] == [told]


def test_a_run_that_goes_on_is_compared_up_to_now(web: Web) -> None:
    found = web.get("compare?runs=5,6")
    assert (found["runs"][1]["live"], found["runs"][1]["end"]) == (True, web.world.now)
    assert verdict(found, 6)["word"] == "no difference"
    assert {one["run"] for one in found["curves"]} == {5, 6}


def test_the_same_question_has_the_same_answer_and_a_new_name_is_seen(web: Web) -> None:
    first = web.process.compare("1,3", "")
    assert web.process.compare("1,3", "start") is first
    assert web.process.compare("3,1", "start") is not first
    before = web.world.writer.run(3)
    assert before is not None
    keep(web.world, run(3, *spans(LOOPS)[2], revision=before.revision, tags=("again",)))
    assert web.process.compare("1,3", "start")["runs"][1]["name"] == "Kimi-K3 #3"


def test_a_run_that_goes_on_is_looked_at_again_after_ten_seconds(web: Web) -> None:
    first = web.process.compare("5,6", "start")
    web.world.now += 9_000
    assert web.process.compare("5,6", "start") is first
    web.world.now += 2_000
    try:
        assert web.process.compare("5,6", "start") is not first
        ended = web.process.compare("1,2", "start")
        web.world.now += 60_000
        assert web.process.compare("1,2", "start") is ended
    finally:
        web.world.now -= 71_000
    for pair in ("1,2", "2,1", "1,3", "3,1", "1,4", "4,1", "1,5", "5,1", "2,3"):
        web.process.compare(pair, "start")
    assert len(web.process.comparisons._kept) == 8
    assert web.process.compare("1,2", "start") is not ended


@pytest.mark.parametrize(
    ("query", "status", "error"),
    [
        ("", 400, "Parameter “runs” is “”, expected the numbers of 2 to 8 runs, with commas between."),
        ("runs=1", 400, "Parameter “runs” is “1”, expected the numbers of 2 to 8 runs, with commas between."),
        ("runs=1,x", 400, "Parameter “runs” is “1,x”, expected the numbers of 2 to 8 runs, with commas between."),
        ("runs=1,2,3,4,5,6,7,8,9", 400, "expected the numbers of 2 to 8 runs"),
        ("runs=1,2,01", 400, "Parameter “runs” is “1,2,01”, expected each run once."),
        ("runs=1,77", 404, "There is no run 77."),
        ("runs=1,2&align=end", 400, "Parameter “align” is “end”, expected one of: start, first_token."),
    ],
)
def test_what_is_refused(web: Web, query: str, status: int, error: str) -> None:
    assert error in web.get(f"compare?{query}", status)["error"]


def test_csv_says_the_same(web: Web) -> None:
    found = web.get("compare?runs=1,2")
    answer = web.client.get("/api/v1/compare.csv?runs=1,2")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="compare-1-2.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    main = verdict(found, 2)
    told = next(row for row in rows if (row["section"], row["key"]) == ("verdict", "per_request"))
    assert [float(told[name]) for name in ("value", "difference", "low", "high", "smallest")] == [
        main["values"][1],
        *(main[name] for name in ("difference", "low", "high", "smallest")),
    ]
    assert (told["name"], told["word"], told["text"]) == ("Kimi-K3 #2", "faster", main["text"])
    decode = [row for row in rows if row["key"] == "speed.decode_mean"]
    values = next(one["values"] for one in found["table"] if one["key"] == "speed.decode_mean")
    assert [(row["run"], float(row["value"])) for row in decode] == [("1", values[0]), ("2", values[1])]
    assert (decode[0]["difference"], float(decode[1]["difference"])) == ("", pytest.approx(0.2, abs=0.03))
    assert [row["text"] for row in rows if row["key"] == "measured.tool"] == ["vllm bench serve", "llama-benchy"]
    assert next(float(row["value"]) for row in rows if row["section"] == "roofline") == pytest.approx(0.31, abs=0.02)
    ours = next(row for row in rows if row["section"] == "reference")
    assert (ours["name"], ours["low"], ours["high"], ours["text"]) == ("Ours", "15.0", "25.0", f"us; {CAVEAT}")
    assert {row["of"] for row in rows if row["section"] == "nodes"} == {f"spark-{one:02}" for one in range(1, 5)}


def test_verdicts_outlive_the_samples(tmp_path: Path) -> None:
    """What comparisons are made of is copied into a run at its end."""
    world = compared(World(tmp_path / "store.db"), LOOPS[:2])
    web = Web(world)
    try:
        before = web.get("compare?runs=1,2")
        for hour in range(0, world.now + 3_600_000, 3_600_000)[-3:]:
            for target in world.series:
                world.writer.seal(target, hour - hour % 3_600_000, world.now + 7_200_000)
        assert world.writer.run_part(1, digest.CELLS) is not None
        web.process.comparisons._kept.clear()
        assert web.get("compare?runs=1,2")["verdicts"] == before["verdicts"]
    finally:
        web.close()
        world.close()


def test_a_run_that_came_from_elsewhere_is_compared_like_ones_own(tmp_path: Path) -> None:
    """A bundle carries what comparisons are made of."""
    here, there = (compared(World(tmp_path / f"{name}.db"), LOOPS[:count]) for name, count in (("a", 2), ("b", 1)))
    web = Web(here)
    try:
        sources, process = web.process.sources, web.process
        own = here.writer.run(2)
        assert own is not None
        content = gather(sources, process.run_numbers, own, process.version)
        brought = read(write(bundle(content, sources, own)), sources.now_ms())
        there.commit(runs=[brought.run(7)])
        foreign = there.writer.run(7)
        assert foreign is not None
        assert there.writer.settle_run(foreign, brought.kept)
        before, other = web.get("compare?runs=1,2"), Web(there)
        after = other.get("compare?runs=1,7")
        other.close()
        for name in ("word", "difference", "low", "high", "smallest", "values"):
            assert verdict(after, 7)[name] == verdict(before, 2)[name]
        assert [one["metric"] for one in after["curves"] if one["run"] == 7] == [
            one["metric"] for one in before["curves"] if one["run"] == 2
        ]
    finally:
        web.close()
        here.close()
        there.close()


def test_a_run_without_samples_and_cells_cannot_be_compared(web: Web) -> None:
    web.world.commit(runs=[run(9, 30, 60, by="foreign")])
    found = web.get("compare?runs=1,9")
    assert verdict(found, 9)["text"] == (
        "Not comparable, because of “Kimi-K3 #9” there is nothing to compare: its numbers are worked out within half a "
        "minute of its end, or of a change of it."
    )
    assert (found["runs"][1]["limit"], [one for one in found["curves"] if one["run"] == 9]) == (None, [])
    assert verdict(web.get("compare?runs=9,1"), 1)["why"].startswith("of “Kimi-K3 #9” there is nothing to compare")
