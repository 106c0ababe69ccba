"""What an engine says of itself: as long as it says so, and no longer than until it has said all of it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from storage.intervals import OWN_FACT
from storage.store import Store, open_store
from tests.pipeline.served import Answer
from tests.pipeline.stage import Stage

PAGE = (
    'sglang:generation_tokens_total{{model_name="org/m"}} {tokens}\n'
    'sglang:num_running_reqs{{model_name="org/m"}} 0\nprocess_start_time_seconds {start}\n'
)
FIRST = {"version": "0.5.2", "speculative_algorithm": "EAGLE", "context_length": 8192, "served_model_name": "m"}
THEN = {"version": "0.5.2", "speculative_algorithm": None, "context_length": 4096}


class Engine(Stage):
    """An SGLang server with its page of facts; None: it does not answer there now."""

    info: dict[str, Any] | None = FIRST

    def answer(self, where: str) -> Answer:
        if where != "/server_info":
            return super().answer(where)
        return (500, b"") if self.info is None else (200, json.dumps(self.info).encode())

    def runs(self, tokens: int, start: float) -> None:
        self.body = PAGE.format(tokens=tokens, start=start).encode()


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return Engine(tmp_path / "store.db")


def told(path: Path, name: str) -> list[tuple[str, int, int | None]]:
    """(value, from, to) of a fact, in seconds."""
    store = open_store(str(path), writer=False, now_ms=0)
    found = [(one.value, one.start_ms, one.end_ms) for one in store.facts("one", name=name)]
    store.close()
    return [(value, start // 1000, None if end is None else end // 1000) for value, start, end in found]


async def lives_twice(engine: Engine) -> None:
    """Begins anew between the seconds 4 and 5, and has said everything at 6."""
    for second in range(1, 5):
        engine.runs(100 * second, start=50)
        await engine.tick(second)
    engine.info = THEN
    for second in range(5, 9):
        engine.runs(second, start=90)
        await engine.tick(second)


def test_what_a_new_life_does_not_say_is_over(engine: Engine) -> None:
    async def story(engine: Stage) -> None:
        assert isinstance(engine, Engine)
        await lives_twice(engine)

    engine.play(story)
    assert told(engine.path, "speculative_method") == [("EAGLE", 1, 6)]
    assert told(engine.path, "context_tokens") == [("8192", 1, 5), ("4096", 5, None)]
    assert told(engine.path, "version") == [("0.5.2", 1, None)]
    assert told(engine.path, "served_models") == [("m", 1, 6)]
    assert told(engine.path, "model") == [("org/m", 1, None)], "its metrics page says so"
    assert [value for value, *_ in told(engine.path, OWN_FACT)] == ["1000"], "the collector's own"
    assert told(engine.path, "deployment.org/m")[0][2] is None


def test_while_a_page_of_facts_cannot_be_read_nothing_is_over(engine: Engine) -> None:
    async def story(engine: Stage) -> None:
        assert isinstance(engine, Engine)
        engine.runs(100, start=50)
        await engine.tick(1)
        await engine.tick(2)
        engine.info = None
        for second in range(3, 8):
            engine.runs(second, start=90)
            await engine.tick(second)

    engine.play(story)
    assert told(engine.path, "speculative_method") == [("EAGLE", 1, None)]


def test_a_collector_that_starts_anew_ends_what_the_one_before_had_learned(engine: Engine) -> None:
    async def first(engine: Stage) -> None:
        assert isinstance(engine, Engine)
        engine.runs(100, start=50)
        await engine.tick(1)
        await engine.tick(2)

    async def second(engine: Stage) -> None:
        assert isinstance(engine, Engine)
        engine.info = THEN
        engine.runs(5, start=90)
        await engine.tick(11)
        await engine.tick(12)
        assert list(engine.sampler.hub.deployments()) == ["m"]
        assert engine.sampler.hub.fact("one", "speculative_method") is None

    engine.play(first)
    engine.play(second)
    assert told(engine.path, "speculative_method") == [("EAGLE", 1, 12)]


def test_the_model_is_that_of_what_is_left(engine: Engine, store: Store) -> None:
    async def story(engine: Stage) -> None:
        hub = engine.sampler.hub
        hub.learn_facts("one", {"model_alias": "alias", "served_models": "served"}, 1000)
        hub.end_facts("one", {"model_alias"}, 2000)
        engine.body = b"llamacpp:tokens_predicted_total 5\n"
        await engine.tick(3)
        assert list(hub.deployments()) == ["alias"]
        hub.end_facts("one", set(), 4000)
        assert list(hub.deployments()) == ["one"]

    engine.play(story)


def test_what_is_another_one_now_is_an_event(engine: Engine) -> None:
    """What stayed is none, nor is what is told for the first time."""

    async def story(engine: Stage) -> None:
        assert isinstance(engine, Engine)
        await lives_twice(engine)

    engine.play(story)
    store = open_store(str(engine.path), writer=False, now_ms=0)
    found = [(one.at_ms // 1000, one.target, one.text) for one in store.events(0, 10**9) if one.kind == "change"]
    store.close()
    assert found == [
        (5, "one", "Context length 8.2k tokens → 4.1k tokens"),
        (6, "one", "Speculative method EAGLE → not told"),
    ]
