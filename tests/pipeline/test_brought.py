"""What comes from outside, carried out by the chronicle: runs with their parts, once, and what they can never be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exchange.benchmarks import reading
from exchange.benchmarks.match import LATE_MS
from exchange.benchmarks.record import PART
from exchange.bundle import Bundle, origin_part
from pipeline import digest
from pipeline.brought import bundle_run, refusal, result_run
from pipeline.chronicle import chronicle_of
from pipeline.inbox import Inbox
from pipeline.orders import PREFIX, check
from runs.model import Mark, Run
from storage.records import Batch
from storage.store import Store, open_store
from tests.exchange import results
from tests.exchange.results import packed
from tests.exchange.test_bundle import CONTENT

RECORD = reading.read(packed(results.vllm()), "x.json")[0].to_json()
KEY = reading.read(packed(results.vllm()), "x.json")[0].key


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0)
    yield made
    made.close()


def ask(store: Store, *orders: tuple[str, dict[str, Any]]) -> list[str | None]:
    """Queue orders, and let a collector carry them out in one tick; what it says of each."""
    numbers = [store.enqueue(PREFIX + kind, payload, 0) for kind, payload in orders]
    chronicle, inbox = chronicle_of(store), Inbox(store)
    inbox.fetch()
    told = chronicle.tick(1_000, {}, [], {}, inbox.take())
    batch = Batch(
        runs=list(told.runs.values()),
        marks=told.marks,
        parts=told.parts,
        marks_moved=told.moved,
        parts_moved=told.parts_moved,
        runs_deleted=told.deleted,
        detectors=told.detectors,
        commands=told.commands,
    )
    store.commit(batch, 1_000)
    found = [store.command(number) for number in numbers]
    assert all(one is not None and one.applied_ms == 1_000 for one in found)
    return [one.error for one in found if one is not None]


def alone(**changed: Any) -> tuple[str, dict[str, Any]]:
    return "benchmark", {"record": RECORD, "start_ms": 5_000, "end_ms": 25_000, **changed}


def test_a_result_alone_is_a_run(store: Store) -> None:
    assert ask(store, alone()) == [None]
    (run,) = store.runs()
    assert (run.id, run.by, run.deployment, run.name, run.model) == (
        1,
        "benchmark",
        "benchmark:org/Kimi-K3",
        "vllm bench serve #1",
        "org/Kimi-K3",
    )
    assert (run.start_ms, run.end_ms, run.began, run.ended, run.engines) == (
        5_000,
        25_000,
        "imported from x.json",
        "as its file tells",
        (),
    )
    assert store.run_parts_of(1, PART) == {PART + KEY: RECORD}
    assert store.runs_with(PART + KEY) == [1]
    assert store.run_parts(digest.HEADLINE, [1]) == {
        1: {"speed.seconds": 20.0, "requests.output": 400.0, "requests.prompt": 880.0, "requests.finished": 4.0}
    }
    assert store.unsettled_runs(digest.SUMMARY) == []


def test_numbers_go_on_from_what_was_brought(store: Store) -> None:
    bring = ("bring", {"bundle": CONTENT})
    assert ask(store, alone(), bring) == [None, None]
    assert [(run.id, run.by) for run in store.runs()] == [(2, "foreign"), (1, "benchmark")]
    assert ask(store, alone(start_ms=0)) == [None]
    assert sorted(run.id for run in store.runs()) == [1, 2, 3]


def test_a_result_becomes_part_of_a_run(store: Store) -> None:
    store.commit(Batch(runs=[Run(4, "Kimi-K3", "x", 0, 9)]), 0)
    assert ask(store, ("benchmark", {"run": 4, "record": RECORD}), ("benchmark", {"run": 4, "record": RECORD})) == [
        None,
        None,
    ]
    assert list(store.run_parts_of(4, PART)) == [PART + KEY]
    assert ask(store, ("benchmark", {"run": 9, "record": RECORD})) == ["there is no run 9"]
    assert ask(store, ("delete", {"run": 4})) == [None]
    assert store.run_parts_of(4, "") == {}


def test_results_of_both_halves_are_of_the_whole(store: Store) -> None:
    other = reading.read(packed(results.vllm(total_output_tokens=5)), "y.json")[0]
    store.commit(Batch(runs=[Run(4, "Kimi-K3", "x", 0, 9), Run(5, "Kimi-K3", "y", 10, 19)]), 0)
    assert (
        ask(
            store,
            ("benchmark", {"run": 4, "record": RECORD}),
            ("benchmark", {"run": 5, "record": RECORD}),
            ("benchmark", {"run": 5, "record": other.to_json()}),
        )
        == [None] * 3
    )
    assert ask(store, ("merge", {"run": 4, "other": 5})) == [None]
    assert set(store.run_parts_of(4, PART)) == {PART + KEY, PART + other.key}
    assert store.run_parts_of(5, "") == {}


def test_a_result_goes_to_another_run_once(store: Store) -> None:
    other = reading.read(packed(results.vllm(total_output_tokens=5)), "y.json")[0]
    store.commit(Batch(runs=[Run(4, "Kimi-K3", "x", 0, 9), Run(5, "Kimi-K3", "y", 10, 19)]), 0)
    ask(store, ("benchmark", {"run": 4, "record": RECORD}), ("benchmark", {"run": 4, "record": other.to_json()}))
    assert ask(store, ("move", {"run": 4, "to": 5, "key": KEY, "record": RECORD})) == [None]
    assert set(store.run_parts_of(4, PART)) == {PART + other.key}
    assert store.run_parts_of(5, PART) == {PART + KEY: RECORD}
    assert ask(store, ("move", {"run": 5, "to": 9, "key": KEY, "record": RECORD})) == ["there is no run 9"]


def test_a_result_that_leaves_its_run_is_one(store: Store) -> None:
    store.commit(Batch(runs=[Run(4, "Kimi-K3", "x", 0, 9)]), 0)
    ask(store, ("benchmark", {"run": 4, "record": RECORD}))
    order = {"run": 4, "key": KEY, "record": RECORD, "start_ms": 5_000, "end_ms": 25_000}
    assert ask(store, ("move", order)) == [None]
    assert store.run_parts_of(4, PART) == {}
    assert store.runs_with(PART + KEY) == [5]
    assert ask(store, ("move", {"run": 5, "to": 4, "key": KEY, "record": RECORD})) == [None]
    assert ([run.id for run in store.runs()], store.runs_with(PART + KEY)) == ([4], [4])
    assert ask(store, alone()) == [None]
    assert store.runs_with(PART + KEY) == [4, 6], "numbers are never given twice"


def test_parts_are_told_by_the_beginning_of_their_kind(store: Store) -> None:
    store.commit(Batch(runs=[Run(4, "Kimi-K3", "x", 0, 9)]), 0)
    ask(store, ("benchmark", {"run": 4, "record": RECORD}))
    assert store.run_parts_of(4, "benchmar_") == {}
    assert store.run_parts_of(4, "%") == {}
    assert list(store.run_parts_of(4, "b")) == [PART + KEY]
    assert store.runs_with("benchmark:other") == []


def test_a_bundle_is_a_foreign_run_with_all_that_came(store: Store) -> None:
    assert ask(store, ("bring", {"bundle": CONTENT})) == [None]
    (run,) = store.runs()
    key = Bundle.from_json(CONTENT).key
    assert (run.by, run.deployment) == ("foreign", "foreign:Kimi-K3")
    assert store.marks(1) == [Mark(1_796_000_020_000, "note", "fan on")]
    assert store.run_parts_of(1, origin_part(key)) == {
        origin_part(key): {"id": 7, "version": "0.1.0", "exported": 1_796_000_100_000, "imported": 1_000}
    }
    part = store.run_part(1, digest.SUMMARY)
    assert part is not None
    assert part[1] == CONTENT["parts"]["summary"]
    command = store.command(1)
    assert command is not None
    assert command.payload == {}


def test_what_was_refused_makes_nothing(store: Store) -> None:
    errors = ask(store, ("bring", {"bundle": {"about": 5}}), ("benchmark", {"record": {}}), alone(end_ms=None))
    assert errors == [
        "“about” is expected to be an object",
        "“entries” is no list of at most 400 numbers",
        "name the start and the end of the result",
    ]
    assert store.runs() == []


def test_a_digest_of_what_has_no_samples_here_is_refused(store: Store) -> None:
    ask(store, alone())
    run = store.run(1)
    assert run is not None
    with pytest.raises(LookupError, match="this run has no samples here"):
        digest.digest(store, run, 5_000, 25_000)


def test_what_can_be_done_to_which() -> None:
    own, hand, alone_, foreign = (
        Run(1, "x", "x", 0, 1, by=by)  # type: ignore[arg-type]
        for by in ("found", "hand", "benchmark", "foreign")
    )
    for kind in ("trim", "nodes", "pin", "baseline", "merge", "split", "annotate"):
        assert refusal(own, kind) == refusal(hand, kind) == ""
        assert refusal(alone_, kind) == "this run has no samples here: it is a benchmark's result"
        assert refusal(foreign, kind) == "this run has no samples here: it came from another installation"
    for kind in ("rename", "label", "tag", "note", "measured", "delete", "benchmark"):
        assert refusal(alone_, kind) == refusal(foreign, kind) == ""
    assert refusal(own, "move") == refusal(alone_, "move") == ""
    assert refusal(foreign, "move") == "what came with a run of another installation stays with it"
    assert [one.own for one in (own, hand, alone_, foreign)] == [True, True, False, False]


def test_a_result_that_does_not_tell_its_model() -> None:
    order = check("benchmark", {"record": {**RECORD, "model": "", "file": ""}, "start_ms": 1, "end_ms": 1})
    run = result_run(7, order, 1).run
    assert (run.deployment, run.began) == ("benchmark:vllm bench serve", "imported")


def test_no_result_is_a_run_in_the_future() -> None:
    order = check("benchmark", {"record": RECORD, "start_ms": 1, "end_ms": 1_000_000})
    assert result_run(7, order, 1_000_000 - LATE_MS).run.end_ms == 1_000_000
    with pytest.raises(ValueError, match=r"^it says that it ended in the future"):
        result_run(7, order, 1_000_000 - LATE_MS - 1)


def test_a_bundle_is_not_checked_again_in_the_tick() -> None:
    order = check("bring", {"bundle": CONTENT})
    assert order["bundle"]["key"] == Bundle.from_json(CONTENT).key
    brought = bundle_run(3, order, 5)
    assert Bundle.checked(order["bundle"]) == Bundle.from_json(CONTENT)
    own = {origin_part(order["bundle"]["key"]), digest.SPARK}
    assert {one.kind for one in brought.parts} == {*CONTENT["parts"], *own}
