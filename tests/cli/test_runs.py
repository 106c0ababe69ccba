"""`runs` from the command line: every verb against a real store and a collector's chronicle; its exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cli.runs
from cli.main import main
from dashboard.api import run_answers
from dashboard.api.awaited import SILENT as SILENT_COLLECTOR
from runs.model import Mark, Measured, Run
from storage.records import Batch, RunMark
from tests.cli.conftest import Do
from tests.web.test_runs import collecting, keep, run
from tests.web.world import World, tick

COMMAND = "runs"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A minute of the small cluster; run 1 of ticks 10 to 30, and run 2, which goes on since tick 40."""
    found = World(tmp_path / "store.db")
    found.run(0, 60)
    keep(found, run(1, 10, 30, tags=("good",), labels={"drafts": "7"}), run(2, 40, None))
    yield found
    found.close()


def stored(world: World, number: int) -> Run:
    """A run as it is kept."""
    found = world.writer.run(number)
    assert found is not None
    return found


def test_the_list_is_a_table(do: Do) -> None:
    status, out, _ = do("list")
    head, live, ended = out.splitlines()
    assert status == 0
    assert [one for one in cli.runs.COLUMNS if one not in head] == []
    assert live.split()[:3] == ["2", "Kimi-K3", "#2"]
    assert live.endswith("live")
    assert "20.0 tok/s" in ended
    assert "20.0 s" in ended
    assert ended.endswith("good")


@pytest.mark.parametrize(("by", "mark"), [("benchmark", "benchmark"), ("foreign", "imported")])
def test_runs_from_elsewhere_are_marked(do: Do, world: World, by: str, mark: str) -> None:
    """Their numbers are not those of samples that were taken here."""
    run = Run(9, f"{by}:x", "theirs", tick(1), tick(5), by=by, tags=("night",))
    world.writer.commit(Batch(runs=[run]), world.now)
    (line,) = (one for one in do("list")[1].splitlines() if one.startswith("9 "))
    assert line.endswith(f"  {mark}, night")
    assert not any(word in do("list", "--tag", "good")[1] for word in cli.runs.ORIGINS.values())


@pytest.mark.parametrize(
    ("flags", "ids"),
    [
        ((), [2, 1]),
        (("--tag", "good"), [1]),
        (("--state", "live"), [2]),
        (("--label", "drafts:7"), [1]),
        (("--text", "#2"), [2]),
        (("--deployment", "other"), []),
        (("--limit", "1"), [2]),
        (("--end", "-30s"), [1]),
        (("--start", "-29s"), [2]),
        (("--start", "-30s", "--end", "now"), [2, 1]),
        (("--end", str(tick(39))), [1]),
        (("--start", "2026-11-30T00:53:51Z"), [2]),
    ],
)
def test_filters_and_times(do: Do, flags: tuple[str, ...], ids: list[int]) -> None:
    """Now is tick 60: run 1 ended 30 s ago."""
    status, out, _ = do("list", "--json", *flags)
    assert status == 0
    assert [one["id"] for one in json.loads(out)["runs"]] == ids


def test_the_json_is_the_apis(do: Do) -> None:
    found = json.loads(do("list", "--json")[1])
    assert found["total"] == 2
    assert found["runs"][1]["numbers"]["speed.decode_mean"] == pytest.approx(20.0)


def test_nothing_found(do: Do) -> None:
    assert do("list", "--tag", "bad") == (0, "No run matches.\n", "")


def test_show(do: Do, world: World) -> None:
    world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(12), "note", "fan on"))]), world.now)
    status, out, _ = do("show", "1")
    assert status == 0
    assert out.startswith("Kimi-K3 #1 (run 1 of Kimi-K3)\n")
    assert "note: fan on" in out
    line = next(one for one in out.splitlines() if one.startswith("Decode, mean while decoding"))
    assert "20.0 tok/s" in line
    found = json.loads(do("show", "1", "--json", "--start", "-45s", "--end", "-40s")[1])
    assert found["stretch"] == [tick(15), tick(20)]
    told = f"its numbers here are from {cli.runs.instant(tick(15))} to {cli.runs.instant(tick(20))}"
    assert do("show", "1", "--start", "-45s", "--end", "-40s")[1].splitlines()[3] == told
    assert "its numbers here" not in out


def test_a_trimmed_run_begins_and_ends_where_its_numbers_do(do: Do, world: World) -> None:
    keep(world, run(1, 10, 30, trim_start_ms=tick(15), trim_end_ms=tick(25), revision=1))
    row = next(one for one in do("list")[1].splitlines() if one.startswith("1 "))
    assert cli.runs.instant(tick(15)) in row
    assert "10.0 s" in row
    assert row.endswith("trimmed")
    lines = do("show", "1")[1].splitlines()
    ends = [(cli.runs.instant(tick(told)), cli.runs.instant(tick(own))) for told, own in ((15, 10), (25, 30))]
    assert lines[1].startswith(f"from {ends[0][0]}, trimmed; the whole run {ends[0][1]}:")
    assert lines[2].startswith(f"to   {ends[1][0]}, trimmed; the whole run {ends[1][1]}:")


ORDERS: list[tuple[tuple[str, ...], Callable[[Run], Any], Any]] = [
    (("rename", "1", "with", "drafts"), lambda run: run.name, "with drafts"),
    (("label", "1", "a=b", "c=d=e"), lambda run: run.labels, {"drafts": "7", "a": "b", "c": "d=e"}),
    (("label", "1", "drafts", "--off"), lambda run: run.labels, {}),
    (("tag", "1", "x", "y"), lambda run: run.tags, ("good", "x", "y")),
    (("tag", "1", "good", "--off"), lambda run: run.tags, ()),
    (("note", "1", "two words"), lambda run: run.note, "two words"),
    (("trim", "1", "--start", "-45s"), lambda run: (run.trim_start_ms, run.trim_end_ms), (tick(15), None)),
    (("trim", "1", "--end", str(tick(25))), lambda run: (run.trim_start_ms, run.trim_end_ms), (None, tick(25))),
    (("pin", "1"), lambda run: run.pinned, True),
    (("pin", "1", "--off"), lambda run: run.pinned, False),
    (("baseline", "1"), lambda run: run.baseline, True),
    (("nodes", "1", "spark-02", "spark-01"), lambda run: run.nodes, ("spark-01", "spark-02")),
    (("nodes", "1", "--off"), lambda run: run.nodes, None),
    (("measured", "1", "tool=x y", "corpus=z"), lambda run: run.measured, Measured(tool="x y", corpus="z")),
    (("measured", "1", "--off"), lambda run: run.measured, Measured()),
    (("split", "1", "--at", "-40s"), lambda run: (run.end_ms, run.ended), (tick(20), "split by hand")),
    (("stop", "2"), lambda run: run.ended, ""),
]


@pytest.mark.parametrize(("words", "of", "expected"), ORDERS, ids=[" ".join(row[0]) for row in ORDERS])
def test_what_people_do(
    do: Do, world: World, words: tuple[str, ...], of: Callable[[Run], Any], expected: object
) -> None:
    with collecting(world):
        status, out, err = do(*words)
    assert (status, out != "", err) == (0, True, "")
    assert of(stored(world, 1)) == expected
    assert stored(world, 2).live == (words[0] != "stop")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "1", "with", "drafts"), "run 1: called “with drafts”"),
        (("label", "1", "a=b"), "run 1: labelled a=b"),
        (("label", "1", "drafts", "--off"), "run 1: label drafts taken off"),
        (("tag", "1", "x"), "run 1: tagged “x”"),
        (("tag", "1", "good", "--off"), "run 1: tag “good” taken off"),
        (("trim", "1", "--end", str(tick(25))), "run 1: trimmed; its numbers are worked out anew"),
        (("trim", "1"), "run 1: trimmed no longer"),
        (("pin", "1", "--off"), "run 1: its samples are kept no longer"),
        (("nodes", "1", "--off"), "run 1: its nodes by evidence"),
        (("measured", "1", "--off"), "run 1: how it was measured is taken off"),
        (("stop", "2"), "run 2: over"),
        (("start", "Kimi-K3"), "Kimi-K3: a run was begun; runs list shows it"),
    ],
)
def test_what_was_done_is_said(do: Do, world: World, words: tuple[str, ...], said: str) -> None:
    with collecting(world):
        assert do(*words) == (0, f"{said}\n", "")


def test_every_order_has_words_of_its_own() -> None:
    assert set(cli.runs.DONE) == {*cli.runs.ORDERS, *cli.runs.FROM_STORE}


def test_an_answer_as_json(do: Do, world: World) -> None:
    with collecting(world):
        status, out, _ = do("pin", "1", "--json")
    assert status == 0
    assert json.loads(out) == {"command": 1, "applied": world.now, "error": None}


def test_start(do: Do, world: World) -> None:
    with collecting(world):
        assert do("start", "Kimi-K3", "with", "drafts")[0] == 0
    assert (stored(world, 3).name, stored(world, 3).by, stored(world, 2).live) == ("with drafts", "hand", False)


def test_annotate(do: Do, world: World) -> None:
    """Now where no moment is given, so that is in the run that goes on only."""
    with collecting(world):
        assert do("annotate", "1", "fan", "on", "--at", "-45s")[0] == 0
        assert do("annotate", "2", "fan off")[0] == 0
        assert do("annotate", "1", "late") == (1, "", "this moment is not in the run\n")
    assert world.writer.marks(1) == [Mark(tick(15), "note", "fan on")]
    assert world.writer.marks(2) == [Mark(world.now, "note", "fan off")]


def test_measured_adds_to_what_was_said(do: Do, world: World) -> None:
    with collecting(world):
        for words in (("tool=x", "corpus=y"), ("corpus=", "concurrency=8")):
            assert do("measured", "1", *words)[0] == 0
    assert stored(world, 1).measured == Measured(concurrency="8", tool="x")


def test_merge_and_split(do: Do, world: World) -> None:
    with collecting(world):
        assert do("merge", "1", "2") == (0, "run 1 and run 2: one run now, with the number of the earlier\n", "")
        assert (stored(world, 1).start_ms, stored(world, 1).live, world.writer.run(2)) == (tick(10), True, None)
        split = "run 1: split; the later part is a run of its own, which runs list shows\n"
        assert do("split", "1", "--at", str(tick(35))) == (0, split, "")
    first, second = stored(world, 1), stored(world, 3)
    assert (first.end_ms, second.start_ms, second.live) == (tick(30), tick(40), True)


def test_delete_several(do: Do, world: World) -> None:
    with collecting(world):
        assert do("stop", "2")[0] == 0
        assert do("delete", "1", "2") == (0, "run 1: deleted\nrun 2: deleted\n", "")
    assert world.writer.run(1) is world.writer.run(2) is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("stop", "1"), "run 1 is over"),
        (("delete", "2"), "run 2 goes on: stop it first"),
        (("rename", "9", "x"), "there is no run 9"),
        (("start", "other"), "there is no deployment “other”, known are: Kimi-K3"),
        (("merge", "1", "1"), "a run cannot be merged with itself"),
        (("split", "1", "--at", "now"), "this moment is not within the run"),
    ],
)
def test_the_collector_says_no(do: Do, world: World, words: tuple[str, ...], said: str) -> None:
    with collecting(world):
        assert do(*words) == (1, "", f"{said}\n")


def test_what_one_of_several_does_not_get_is_said_and_the_rest_is_done(do: Do, world: World) -> None:
    with collecting(world):
        assert do("delete", "9", "1") == (1, "run 1: deleted\n", "there is no run 9\n")


def test_there_is_none_to_show(do: Do) -> None:
    assert do("show", "9") == (1, "", "There is no run 9.\n")


def test_no_store(do: Do, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--store", str(tmp_path / "none.db")]) == 1
    assert capsys.readouterr().err != ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("sing",), "runs sing: there is no such thing; runs list"),
        (("show",), "name a run by its number"),
        (("show", "one"), "name a run by its number"),
        (("show", "1", "--start", "yesterday"), "Parameter “start” is “yesterday”, expected epoch milliseconds"),
        (("show", "1", "--start", "-1s"), "Nothing of the run lies between “start” and “end”."),
        (("list", "--state", "over"), "Parameter “state” is “over”"),
        (("start",), "name the deployment"),
        (("rename", "1"), "“name” is missing, expected a text"),
        (("list", "extra"), "runs list: “extra” is one word too many"),
        (("show", "1", "2"), "runs show: “2” is one word too many"),
        (("merge", "1", "2", "3"), "runs merge: “3” is one word too many"),
        (("nodes", "1", "spark-99"), "Parameter “node” is “spark-99”, expected one of: spark-01, spark-02"),
        (("label", "1", "drafts"), "a label is KEY=VALUE"),
        (("tag", "1"), "name a tag"),
        (("trim", "1", "--start", "x"), "Parameter “start”"),
        (("merge", "1"), "name a run by its number"),
        (("merge", "1", "x"), "name a run by its number"),
        (("split", "1"), "say with --at where the run is to be split"),
        (("annotate", "1", "--at", "now"), "“text” is missing, expected a text"),
        (("nodes", "1"), "name the nodes that took part"),
        (("measured", "1"), "say FIELD=VALUE; fields are concurrency, corpus, prompt_length"),
        (("measured", "1", "mood=x"), "“measured” is expected to be an object of"),
        (("delete",), "name a run by its number"),
        (("delete", "1", "x"), "name a run by its number"),
    ],
)
def test_what_cannot_be_asked(do: Do, world: World, words: tuple[str, ...], said: str) -> None:
    status, out, err = do(*words)
    assert (status, out) == (2, "")
    assert err.casefold().startswith(said.casefold())
    assert world.writer.pending_commands() == [], "nothing of it was queued"


@pytest.mark.parametrize("words", [("pin", "1"), ("delete", "1"), ("merge", "1", "2")])
def test_no_collector(do: Do, world: World, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setattr(run_answers, "WAIT_S", 0.1)
    assert do(*words) == (3, "", f"{SILENT_COLLECTOR}\n")
    assert world.writer.pending_commands() == [], "no collector that comes later carries it out"
