"""Runs merged and split: as a collector does it over real pages and a real store, and what becomes of what was said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline import joins
from runs.model import Mark, Measured, Run
from runs.subject import Member
from storage.records import Batch, MarksMoved, RunPart
from storage.store import Store, open_store
from tests.pipeline.stage import Stage
from tests.pipeline.test_chronicle import ask, rest, tick, told, work

SHORT_S = 5


async def two_runs(stage: Stage) -> None:
    """Runs 1, of the seconds 10 to 21, and 2, of the seconds 100 to 111."""
    await rest(stage, 9, 10, 100)
    await work(stage, 11, 20)
    await rest(stage, 21, 21 + SHORT_S, 200)
    await rest(stage, 99, 100, 200)
    for second in range(101, 111):
        stage.says(tokens=200 + (second - 100) * 10)
        await tick(stage, second)
    await rest(stage, 111, 111 + SHORT_S, 300)


@pytest.fixture
def short(stage: Stage) -> Stage:
    """A stage with a short silence."""
    stage.settings = {"run_silence_s": SHORT_S}
    return stage


@pytest.mark.usefixtures("short")
class TestMerge:
    """Two neighbouring runs as one, and back."""

    def play(self, stage: Stage, store: Store, *orders: tuple[str, dict[str, Any]]) -> list[str | None]:
        """Two runs, orders, and what became of these."""
        numbers: list[int] = []

        async def story(stage: Stage) -> None:
            await two_runs(stage)
            for step, (kind, payload) in enumerate(orders):
                numbers.append(ask(stage, kind, **payload))
                await rest(stage, 120 + 2 * step, 121 + 2 * step, 300)

        stage.play(story)
        return [told(store, number) for number in numbers]

    SAID: tuple[tuple[str, dict[str, Any]], ...] = (
        ("rename", {"run": 2, "name": "second"}),
        ("tag", {"run": 1, "tag": "a"}),
        ("tag", {"run": 2, "tag": "b"}),
        ("label", {"run": 1, "key": "drafts", "value": "7"}),
        ("label", {"run": 2, "key": "drafts", "value": "8"}),
        ("note", {"run": 2, "text": "warm"}),
        ("pin", {"run": 2}),
        ("annotate", {"run": 1, "at_ms": 15_000, "text": "fan on"}),
        ("annotate", {"run": 2, "at_ms": 105_000, "text": "fan off"}),
        ("trim", {"run": 1, "start_ms": 12_000}),
        ("measured", {"run": 1, "measured": {"tool": "x"}}),
        ("measured", {"run": 2, "measured": {"tool": "y", "corpus": "z"}}),
    )

    @pytest.mark.parametrize("order", [{"run": 1, "other": 2}, {"run": 2, "other": 1}])
    def test_it_is_one_run_of_the_first_number(self, stage: Stage, store: Store, order: dict[str, int]) -> None:
        assert set(self.play(stage, store, *self.SAID, ("merge", order))) == {None}
        (run,) = store.runs()
        assert (run.id, run.name, run.start_ms, run.end_ms) == (1, "m #1", 10_000, 111_000)
        assert (run.began, run.ended) == ("tokens flowed", "nothing happened for 5 s")
        assert (run.tags, run.labels, run.note, run.pinned) == (("a", "b"), {"drafts": "7"}, "warm", True)
        assert (run.trim_start_ms, run.trim_end_ms, run.revision) == (12_000, None, 2)
        assert run.measured == Measured(tool="x", corpus="z")
        assert [(one.at_ms, one.kind, one.text) for one in store.marks(1)] == [
            (15_000, "note", "fan on"),
            (21_000, "end", "nothing happened for 5 s"),
            (100_000, "begin", "tokens flowed"),
            (105_000, "note", "fan off"),
        ]
        assert store.marks(2) == []

    @pytest.mark.parametrize("at_ms", [21_000, 60_000, 100_000])
    def test_a_split_in_the_pause_undoes_it(self, stage: Stage, store: Store, at_ms: int) -> None:
        orders = (*self.SAID, ("merge", {"run": 1, "other": 2}), ("split", {"run": 1, "at_ms": at_ms}))
        assert set(self.play(stage, store, *orders)) == {None}
        second, first = store.runs()
        assert (first.id, first.start_ms, first.end_ms) == (1, 10_000, 21_000)
        assert (second.id, second.start_ms, second.end_ms, second.name) == (3, 100_000, 111_000, "m #3")
        assert (first.ended, second.began) == ("nothing happened for 5 s", "tokens flowed")
        assert (first.trim_start_ms, second.trim_start_ms) == (12_000, None)
        assert [(one.at_ms, one.text) for one in store.marks(1)] == [(15_000, "fan on")]
        assert [(one.at_ms, one.text) for one in store.marks(3)] == [(105_000, "fan off")]
        assert {run.tags for run in (first, second)} == {("a", "b")}

    def test_a_merge_undoes_a_split(self, stage: Stage, store: Store) -> None:
        orders = (
            ("annotate", {"run": 1, "at_ms": 14_999, "text": "before"}),
            ("annotate", {"run": 1, "at_ms": 15_000, "text": "at"}),
            ("trim", {"run": 1, "start_ms": 12_000, "end_ms": 20_000}),
            ("baseline", {"run": 1}),
        )
        assert set(self.play(stage, store, *orders, ("split", {"run": 1, "at_ms": 15_000}))) == {None}
        _, second, first = store.runs()
        assert (first.id, first.start_ms, first.end_ms, first.ended) == (1, 10_000, 15_000, "split by hand")
        assert (second.id, second.start_ms, second.end_ms, second.began) == (3, 15_000, 21_000, "split by hand")
        assert (first.trim_start_ms, first.trim_end_ms) == (12_000, None)
        assert (second.trim_start_ms, second.trim_end_ms) == (None, 20_000)
        assert (first.baseline, second.baseline, first.revision, second.revision) == (True, False, 2, 2)
        assert [one.text for one in store.marks(1)] == ["before"]
        assert [one.text for one in store.marks(3)] == ["at"]

    def test_and_back(self, stage: Stage, store: Store) -> None:
        trim = ("trim", {"run": 1, "start_ms": 12_000, "end_ms": 20_000})
        note = ("annotate", {"run": 1, "at_ms": 16_000, "text": "late"})
        split, merge = ("split", {"run": 1, "at_ms": 15_000}), ("merge", {"run": 1, "other": 3})
        assert set(self.play(stage, store, trim, note, split, merge)) == {None}
        second, first = store.runs()
        assert (second.id, first.id, first.start_ms, first.end_ms) == (2, 1, 10_000, 21_000)
        assert (first.ended, first.trim_start_ms, first.trim_end_ms) == ("nothing happened for 5 s", 12_000, 20_000)
        assert [(one.kind, one.text) for one in store.marks(1)] == [("note", "late")]

    @pytest.mark.parametrize(
        ("orders", "error"),
        [
            ([("merge", {"run": 1, "other": 1})], "a run cannot be merged with itself"),
            ([("merge", {"run": 1, "other": 7})], "there is no run 7"),
            ([("merge", {"run": 7, "other": 1})], "there is no run 7"),
            ([("split", {"run": 1, "at_ms": 10_000})], "this moment is not within the run"),
            ([("split", {"run": 1, "at_ms": 21_000})], "this moment is not within the run"),
            (
                [("split", {"run": 1, "at_ms": 15_000}), ("merge", {"run": 1, "other": 2})],
                "run 3 lies between run 1 and run 2",
            ),
            ([("delete", {"run": 2}), ("merge", {"run": 1, "other": 2})], "there is no run 2"),
        ],
    )
    def test_what_cannot_be_joined(
        self, stage: Stage, store: Store, orders: list[tuple[str, dict[str, Any]]], error: str
    ) -> None:
        assert self.play(stage, store, *orders)[-1] == error

    def test_results_of_both_stay(self, stage: Stage, store: Store) -> None:
        """What a client measured belongs to the whole, and after a split to the first part."""
        stage.play(two_runs)
        writer = open_store(str(stage.path), writer=True, now_ms=0)
        writer.commit(Batch(parts=[RunPart(number, f"benchmark:{number}", 0, number) for number in (1, 2)]), 0)
        writer.close()

        async def story(stage: Stage) -> None:
            ask(stage, "merge", run=1, other=2)
            await rest(stage, 120, 121, 300)
            assert store.run_parts_of(1, "benchmark:") == {"benchmark:1": 1, "benchmark:2": 2}
            ask(stage, "split", run=1, at_ms=60_000)
            await rest(stage, 122, 123, 300)

        stage.play(story)
        assert [sorted(store.run_parts_of(number, "benchmark:")) for number in (1, 2, 3)] == [
            ["benchmark:1", "benchmark:2"],
            [],
            [],
        ]

    def test_without_samples_it_is_refused(self, stage: Stage, store: Store) -> None:
        """The parts' numbers could not be worked out any more."""
        stage.play(two_runs)
        writer = open_store(str(stage.path), writer=True, now_ms=0)
        for target in ("one", "deployment/m"):
            writer.seal(target, 0, 7_200_000)
        assert writer.forget(7_200_000) > 0
        writer.close()
        numbers: list[int] = []

        async def story(stage: Stage) -> None:
            for step, (kind, payload) in enumerate(
                (("merge", {"run": 1, "other": 2}), ("split", {"run": 1, "at_ms": 15_000}))
            ):
                numbers.append(ask(stage, kind, **payload))
                await rest(stage, 7200 + 2 * step, 7201 + 2 * step, 300)

        stage.play(story)
        gone = "the samples of this run were given up, so its numbers cannot be worked out anew"
        assert [told(store, number) for number in numbers] == [gone, gone]


@pytest.mark.usefixtures("short")
class TestMergeOfWhatGoesOn:
    """The run that goes on is the second part, whatever its number."""

    def test_it_goes_on_as_the_first(self, stage: Stage, store: Store) -> None:
        numbers = []

        async def story(stage: Stage) -> None:
            await rest(stage, 9, 10, 100)
            await work(stage, 11, 20)
            await rest(stage, 21, 21 + SHORT_S, 200)
            await rest(stage, 99, 100, 1000)
            await work(stage, 101, 105)
            numbers.append(ask(stage, "merge", run=2, other=1))
            await work(stage, 106, 110)
            await rest(stage, 111, 111 + SHORT_S, 1100)

        stage.play(story)
        (run,) = store.runs()
        assert [told(store, number) for number in numbers] == [None]
        assert (run.id, run.start_ms, run.end_ms, run.ended) == (1, 10_000, 111_000, "nothing happened for 5 s")

    def test_a_split_part_goes_on(self, stage: Stage, store: Store) -> None:
        """Marks that come later are the second part's; what has not happened yet cannot be split off."""
        numbers = []

        async def story(stage: Stage) -> None:
            await rest(stage, 9, 10, 100)
            await work(stage, 11, 20)
            await rest(stage, 21, 22, 200)
            numbers.append(ask(stage, "split", run=1, at_ms=21_000))
            numbers.append(ask(stage, "split", run=1, at_ms=15_000))
            await rest(stage, 23, 24, 200)
            numbers.append(ask(stage, "annotate", run=2, at_ms=20_000, text="x"))
            await rest(stage, 25, 31, 200)

        stage.play(story)
        assert [told(store, number) for number in numbers] == ["this moment is not within the run", None, None]
        second, first = store.runs()
        assert (first.id, first.start_ms, first.end_ms, first.ended) == (1, 10_000, 15_000, "split by hand")
        assert (second.id, second.start_ms, second.end_ms) == (2, 15_000, 21_000)
        assert [one.at_ms for one in store.marks(2)] == [20_000]
        assert store.last_run() == 2


def test_runs_of_two_deployments_are_not_merged() -> None:
    one, other = Run(1, "m", "m #1", 0, 5), Run(2, "n", "n #2", 10, 15)
    with pytest.raises(ValueError, match="run 1 is of m, run 2 of n"):
        joins.in_order(one, other, ())
    with pytest.raises(ValueError, match="run 1 goes on: stop it first"):
        joins.in_order(Run(2, "m", "x", 10, 15), Run(1, "m", "x", 0), ())
    assert [run.id for run in joins.in_order(Run(2, "m", "x", 10, 15), Run(1, "m", "x", 0, 5), (other,))] == [1, 2]


def test_what_two_runs_are_of_is_what_both_are_of() -> None:
    first = Run(1, "m", "m #1", 0, 5, model="a", nodes=("n1",), note="x", revision=3)
    second = Run(2, "m", "m #2", 10, 15, model="b", nodes=("n2",), note="x", baseline=True, trim_end_ms=12)
    whole, _ = joins.merged(first, second)
    assert (whole.model, whole.nodes, whole.note, whole.baseline) == ("a, b", ("n1", "n2"), "x", True)
    assert (whole.revision, whole.trim_end_ms) == (4, 12)
    assert joins.merged(first, replace(second, nodes=None))[0].nodes is None, "of one it is not known"
    assert joins.merged(replace(first, note=""), second)[0].note == "x"


def test_of_several_pauses_the_one_around_the_moment_counts() -> None:
    marks = [Mark(10, "end", "a"), Mark(20, "begin", "b"), Mark(40, "end", "c"), Mark(50, "begin", "d")]
    run = Run(1, "m", "m #1", 0, 90)
    spans = {at: joins.split(run, at, 90, 2, marks) for at in (5, 15, 30, 45, 60)}
    assert {at: (one.first.end_ms, one.second.start_ms) for at, one in spans.items()} == {
        5: (5, 5),
        15: (10, 20),
        30: (30, 30),
        45: (40, 50),
        60: (60, 60),
    }
    assert spans[45].moved == (
        MarksMoved(1, None, 40, 40, "end"),
        MarksMoved(1, None, 50, 50, "begin"),
        MarksMoved(1, 2, 45),
    )


@pytest.mark.parametrize(
    ("start", "end", "first", "second"),
    [
        (None, None, (None, None), (None, None)),
        (10, 90, (10, None), (None, 90)),
        (49, 51, (49, None), (None, 51)),
        (50, 90, (None, None), (None, 90)),
        (10, 50, (10, None), (None, None)),
        (60, 90, (None, None), (60, 90)),
        (10, 40, (10, 40), (None, None)),
    ],
)
def test_each_part_is_trimmed_where_the_run_was(
    start: int | None, end: int | None, first: tuple[int | None, int | None], second: tuple[int | None, int | None]
) -> None:
    run = Run(1, "m", "m #1", 0, 100, trim_start_ms=start, trim_end_ms=end)
    parts = joins.split(run, 50, 100, 2, ())
    assert (parts.first.trim_start_ms, parts.first.trim_end_ms) == first
    assert (parts.second.trim_start_ms, parts.second.trim_end_ms) == second


def test_engines_of_both_and_what_one_of_them_says() -> None:
    one, two = Member("a", "0"), Member("b", "0")
    first = Run(1, "m", "m #1", 0, 5, engines=(two,), trim_start_ms=2, trim_end_ms=4, pinned=True, by="hand")
    second = Run(2, "m", "m #2", 10, 15, "began", "ended", engines=(one, two), trim_start_ms=12, trim_end_ms=14)
    whole, marks = joins.merged(replace(first, ended="over"), second)
    assert (whole.engines, whole.by, whole.pinned, whole.ended) == ((one, two), "hand", True, "ended")
    assert (whole.trim_start_ms, whole.trim_end_ms) == (2, 14)
    assert marks == (Mark(5, "end", "over"), Mark(10, "begin", "began"))


def test_runs_that_only_touch_are_merged_with_marks() -> None:
    """Stopped by hand, and what still ran was another run: only a split by hand leaves no trace."""
    first, second = Run(1, "m", "x", 0, 5, ended="stopped by hand"), Run(2, "m", "x", 5, 9, "tokens flowed")
    whole, marks = joins.merged(first, second)
    assert marks == (Mark(5, "end", "stopped by hand"), Mark(5, "begin", "tokens flowed"))
    parts = joins.split(whole, 5, 9, 3, marks)
    assert (parts.first.end_ms, parts.first.ended, parts.second.start_ms, parts.second.began) == (
        5,
        "stopped by hand",
        5,
        "tokens flowed",
    )
    assert parts.moved[-1] == MarksMoved(1, 3, 5)


def test_too_many_tags_of_both() -> None:
    first, second = (
        Run(number, "m", "x", number, number, tags=tuple(f"{number} {n}" for n in range(30))) for number in (1, 2)
    )
    with pytest.raises(ValueError, match="a run has at most 50 tags"):
        joins.merged(first, second)


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [("a", "b", "a, b"), ("a, b", "b", "a, b"), ("b", "a, b", "b, a"), ("", "a", "a"), ("", "", "")],
)
def test_each_model_of_both_is_told_once(first: str, second: str, whole: str) -> None:
    one = Run(1, "m", "m #1", 0, 10, model=first)
    assert joins.merged(one, replace(one, id=2, start_ms=20, end_ms=30, model=second))[0].model == whole


def test_notes_of_both_are_no_longer_than_one_may_be() -> None:
    one = Run(1, "m", "m #1", 0, 10, note="x" * 1_999)
    other = replace(one, id=2, start_ms=20, end_ms=30, note="y" * 1_999)
    assert len(joins.merged(one, other)[0].note) == 4_000
    with pytest.raises(ValueError, match="the notes of both are 4001 signs together, expected at most 4000"):
        joins.merged(one, replace(other, note="y" * 2_000))
