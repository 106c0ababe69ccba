"""Runs as the collector finds them and people change them: over real pages, a real store, and restarts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline import joins
from pipeline.chronicle import LOST, Chronicle
from pipeline.orders import PREFIX
from runs.model import Mark, Measured, Run
from storage.records import DetectorState, MarksMoved, RunFilter
from storage.store import Store, open_store
from tests.pipeline.stage import Stage, Story

SILENCE_S, SHORT_S = 60, 5


def ask(stage: Stage, kind: str, **payload: Any) -> int:
    """Queue an order as the web does; its number."""
    store = open_store(str(stage.path), writer=False, now_ms=0)
    try:
        return store.enqueue(PREFIX + kind, payload, 0)
    finally:
        store.close()


async def tick(stage: Stage, second: int) -> None:
    """A tick, until it is written and orders are fetched."""
    await stage.tick(second)
    await stage.sampler.written()


async def work(stage: Stage, first: int, last: int, tokens_per_s: int = 10, running: float = 1) -> None:
    """Ticks of an engine that makes tokens."""
    for second in range(first, last + 1):
        stage.says(tokens=second * tokens_per_s, running=running)
        await tick(stage, second)


async def rest(stage: Stage, first: int, last: int, tokens: float) -> None:
    """Ticks of an engine that does nothing."""
    for second in range(first, last + 1):
        stage.says(tokens=tokens, running=0)
        await tick(stage, second)


async def one_run(stage: Stage) -> None:
    """A run from second 10 to 21, where its last request was seen to be over."""
    await rest(stage, 9, 10, 100)
    await work(stage, 11, 20)
    await rest(stage, 21, 21 + SILENCE_S, 200)


async def obeyed(stage: Stage, second: int) -> None:
    """Two ticks: the first fetches orders, the second carries them out."""
    await rest(stage, second, second + 1, 200)


def spans(store: Store) -> list[tuple[int, int | None]]:
    return [(run.start_ms, run.end_ms) for run in store.runs()]


def told(store: Store, number: int) -> str | None:
    """Error of a command that was carried out."""
    command = store.command(number)
    assert command is not None
    assert command.applied_ms is not None
    return command.error


def test_a_run_is_found(stage: Stage, store: Store) -> None:
    stage.play(one_run)
    (run,) = store.runs()
    assert (run.start_ms, run.end_ms) == (10_000, 21_000)
    assert (run.id, run.deployment, run.name, run.model, run.by) == (1, "m", "m #1", "org/m", "found")
    assert (run.began, run.ended) == ("tokens flowed", "nothing happened for 60 s")


def test_the_silence_is_a_setting(stage: Stage, store: Store) -> None:
    stage.settings = {"run_silence_s": 20.5}

    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 20)
        await rest(stage, 21, 41, 200)
        assert spans(store) == [(10_000, None)]
        await rest(stage, 42, 42, 200)

    stage.play(story)
    (run,) = store.runs()
    assert (run.start_ms, run.end_ms, run.ended) == (10_000, 21_000, "nothing happened for 20.5 s")


def test_the_end_comes_with_the_tick_that_shows_it(stage: Stage, store: Store) -> None:
    """A run goes on until the silence is over, and the state of the detector is that of the newest tick."""

    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 20)
        await rest(stage, 21, 21 + SILENCE_S - 1, 200)

    stage.play(story)
    assert spans(store) == [(10_000, None)]
    (state,) = store.detectors()
    assert state.state["detector"]["looked_ms"] == 80_000
    assert state.state["detector"]["run"]["active_ms"] == 21_000


@pytest.mark.parametrize("stop", [10, 11, 15, 20, 21, 50, 79, 80, 81])
def test_a_collector_that_starts_anew_goes_on(stage: Stage, store: Store, stop: int) -> None:
    """Wherever it is stopped: one run, the same."""
    seconds = list(range(9, 90))

    async def play(stage: Stage, part: list[int]) -> None:
        for second in part:
            stage.says(tokens=min(max(second, 10), 20) * 10, running=1 if 11 <= second <= 20 else 0)
            await tick(stage, second)

    first: Story = lambda stage: play(stage, [one for one in seconds if one < stop])  # noqa: E731
    second: Story = lambda stage: play(stage, [one for one in seconds if one >= stop])  # noqa: E731
    stage.play(first)
    stage.play(second)
    (run,) = store.runs()
    assert (run.id, run.start_ms, run.end_ms) == (1, 10_000, 21_000)


def test_a_restart_of_the_engine_ends_it(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 20)
        stage.says(tokens=5, running=1, start=20.5)
        await tick(stage, 21)
        stage.says(tokens=15, running=1, start=20.5)
        await tick(stage, 22)

    stage.play(story)
    later, first = store.runs()
    assert (first.start_ms, first.end_ms, first.ended) == (10_000, 20_000, "one/0 restarted")
    assert (later.id, later.end_ms) == (2, None)
    assert later.start_ms in (20_000, 21_000)


def test_another_model_ends_it_and_is_another_deployment(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 20)
        for second in (21, 22, 23):
            stage.says(tokens=second * 10)
            stage.body = stage.body.replace(b"org/m", b"org/other")
            await tick(stage, second)

    stage.play(story)
    later, first = store.runs()
    assert (first.deployment, first.end_ms) == ("m", 20_000)
    assert first.ended == "the model changed from org/m to org/other"
    assert (later.deployment, later.model, later.end_ms) == ("other", "org/other", None)


def test_an_engine_that_does_not_answer_ends_nothing(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 20)
        stage.status = 500
        for second in range(21, 200):
            await tick(stage, second)
        await work(stage, 200, 300)

    stage.play(story)
    assert spans(store) == [(10_000, None)]
    (mark,) = store.marks(1)
    assert mark.kind == "hole"
    assert mark.text.startswith("tokens came from one/0 in ")


def test_started_and_stopped_by_hand(stage: Stage, store: Store) -> None:
    numbers = []

    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 200)
        numbers.append(ask(stage, "start", deployment="m", name="warm-up"))
        await obeyed(stage, 11)
        await rest(stage, 13, 200, 200)
        numbers.append(ask(stage, "stop", run=1))
        await obeyed(stage, 201)
        numbers.append(ask(stage, "stop", run=1))
        numbers.append(ask(stage, "start", deployment="n"))
        await obeyed(stage, 203)

    stage.play(story)
    (run,) = store.runs()
    assert (run.name, run.by, run.start_ms, run.end_ms) == ("warm-up", "hand", 12_000, 202_000)
    assert run.ended == "stopped by hand"
    assert [told(store, number) for number in numbers] == [
        None,
        None,
        "run 1 is over",
        "there is no deployment “n”, known are: m",
    ]


def test_what_people_say_of_a_run(stage: Stage, store: Store) -> None:
    orders: list[tuple[str, dict[str, Any]]] = [
        ("rename", {"run": 1, "name": "with  drafts"}),
        ("label", {"run": 1, "key": "drafts", "value": "7"}),
        ("tag", {"run": 1, "tag": "good"}),
        ("tag", {"run": 1, "tag": "bad"}),
        ("tag", {"run": 1, "tag": "bad", "on": False}),
        ("note", {"run": 1, "text": "two\nlines"}),
        ("annotate", {"run": 1, "at_ms": 15_000, "text": "fan on"}),
        ("trim", {"run": 1, "start_ms": 12_000}),
        ("pin", {"run": 1}),
        ("baseline", {"run": 1}),
        ("nodes", {"run": 1, "nodes": ["b", "a"]}),
        ("measured", {"run": 1, "measured": {"concurrency": "8", "tool": ""}}),
    ]
    numbers: list[int] = []

    async def story(stage: Stage) -> None:
        await one_run(stage)
        numbers.extend(ask(stage, kind, **payload) for kind, payload in orders)
        await obeyed(stage, 82)

    stage.play(story)
    assert [told(store, number) for number in numbers] == [None] * len(orders)
    (run,) = store.runs()
    assert (run.name, run.labels, run.tags, run.note) == ("with drafts", {"drafts": "7"}, ("good",), "two\nlines")
    assert (run.trim_start_ms, run.trim_end_ms, run.revision) == (12_000, None, 2)
    assert (run.pinned, run.baseline, run.nodes) == (True, True, ("a", "b"))
    assert run.measured == Measured(concurrency="8")
    assert [(one.at_ms, one.kind, one.text) for one in store.marks(1)] == [(15_000, "note", "fan on")]
    assert store.pinned() == [(10_000, 21_000)]


@pytest.mark.parametrize(
    ("kind", "payload", "error"),
    [
        ("rename", {"run": 7, "name": "x"}, "there is no run 7"),
        ("rename", {"run": 1, "name": " "}, "“name” is 0 signs long, expected 1 to 120"),
        ("rename", {"run": 1, "title": "x"}, "“rename” has no “title”, known are: run, name"),
        ("sing", {"run": 1}, "there is no command “sing”, known are: start, stop, rename"),
        ("trim", {"run": 1, "start_ms": 5}, "a run can only be trimmed to a part of it"),
        ("trim", {"run": 1, "end_ms": 21_001}, "a run can only be trimmed to a part of it"),
        ("trim", {"run": 1, "start_ms": 15_000, "end_ms": 15_000}, "nothing of the run would be left"),
        ("annotate", {"run": 1, "at_ms": 21_001, "text": "x"}, "this moment is not in the run"),
        ("pin", {"run": 1, "on": "yes"}, "“on” is 'yes', expected true or false"),
        ("measured", {"run": 1, "measured": {"mood": "x"}}, "“measured” is expected to be an object of"),
    ],
)
def test_what_cannot_be_done(stage: Stage, store: Store, kind: str, payload: dict[str, Any], error: str) -> None:
    number = 0

    async def story(stage: Stage) -> None:
        nonlocal number
        await one_run(stage)
        number = ask(stage, kind, **payload)
        await obeyed(stage, 82)

    stage.play(story)
    said = told(store, number)
    assert said is not None
    assert said.startswith(error)
    (run,) = store.runs()
    assert (run.name, run.revision, run.pinned) == ("m #1", 0, False)


def test_deleting_takes_the_run_and_no_sample(stage: Stage, store: Store) -> None:
    numbers: list[int] = []

    async def story(stage: Stage) -> None:
        await rest(stage, 9, 10, 100)
        await work(stage, 11, 15)
        numbers.append(ask(stage, "delete", run=1))
        await work(stage, 16, 20)
        await rest(stage, 21, 81, 200)
        numbers.append(ask(stage, "annotate", run=1, at_ms=12_000, text="x"))
        await obeyed(stage, 82)
        numbers.append(ask(stage, "delete", run=1))
        numbers.append(ask(stage, "rename", run=1, name="ghost"))
        await obeyed(stage, 84)
        await work(stage, 86, 87, tokens_per_s=20)

    stage.play(story)
    assert [told(store, number) for number in numbers] == [
        "run 1 goes on: stop it first",
        None,
        None,
        "there is no run 1",
    ]
    assert [run.id for run in store.runs()] == [2]
    assert store.marks(1) == []
    assert len(store.rows(targets=["one"])) == 79


def test_numbers_are_never_given_again(stage: Stage, store: Store) -> None:
    async def first(stage: Stage) -> None:
        await one_run(stage)
        ask(stage, "delete", run=1)
        await obeyed(stage, 82)
        await rest(stage, 84, 90, 200)

    async def second(stage: Stage) -> None:
        await rest(stage, 91, 92, 200)
        await work(stage, 93, 94, tokens_per_s=20)

    stage.play(first)
    stage.play(second)
    assert [run.id for run in store.runs()] == [2]


def test_a_deployment_has_one_baseline(stage: Stage, store: Store) -> None:
    async def story(stage: Stage) -> None:
        await one_run(stage)
        ask(stage, "baseline", run=1)
        await obeyed(stage, 82)
        await work(stage, 101, 110, tokens_per_s=20)
        ask(stage, "baseline", run=2)
        await work(stage, 111, 113, tokens_per_s=20)

    stage.play(story)
    assert {run.id: run.baseline for run in store.runs()} == {1: False, 2: True}
    assert [run.id for run in store.runs(RunFilter(baseline=True))] == [2]


def test_a_state_of_another_version_ends_the_run_where_it_was() -> None:
    chronicle = Chronicle()
    state = {"detector": {"version": 0, "run": {"active_ms": 9000}}, "members": [], "last_id": 4}
    chronicle.resume([DetectorState("m", state)], [Run(3, "m", "m #3", 5000)])
    told = chronicle.tick(20_000, {}, [], {})
    assert [(run.id, run.end_ms, run.ended) for run in told.runs.values()] == [(3, 9000, LOST)]
    assert chronicle.tick(21_000, {}, [], {}).runs == {}


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
