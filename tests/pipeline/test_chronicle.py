"""Runs as the collector finds them and people change them: over real pages, a real store, and restarts."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.chronicle import LOST, Chronicle
from pipeline.orders import PREFIX
from runs.model import Measured, Run
from storage.records import DetectorState, RunFilter
from storage.store import Store, open_store
from tests.pipeline.stage import Stage, Story

SILENCE_S = 60


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
        ("rename", {"run": 1, "name": " "}, "“name” is missing, expected a text"),
        ("rename", {"run": 1, "title": "x"}, "“rename” has no “title”, known are: run, name"),
        ("sing", {"run": 1}, "there is no command “sing”, known are: start, stop, rename"),
        ("trim", {"run": 1, "start_ms": 5}, "a run can only be trimmed to a part of it"),
        ("trim", {"run": 1, "end_ms": 21_001}, "a run can only be trimmed to a part of it"),
        ("trim", {"run": 1, "start_ms": 15_000, "end_ms": 15_000}, "nothing of the run would be left"),
        ("annotate", {"run": 1, "at_ms": 21_001, "text": "x"}, "this moment is not in the run"),
        ("pin", {"run": 1, "on": "yes"}, "“on” is 'yes', expected true or false"),
        ("measured", {"run": 1, "measured": {"concurrency": 4}}, "“concurrency” is 4, expected a text"),
        ("rename", {"run": 1}, "“name” is missing, expected a text"),
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
