"""A collector that starts anew knows what was stopped on purpose, and misses no engine that never served."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from pipeline.config import TargetConfig, TargetKind
from pipeline.resume import before_left
from storage.store import open_store
from telemetry.catalog import host
from telemetry.states import Before
from tests.pipeline.served import Answer, Bench, serving
from tests.pipeline.stage import PAGE

NODE = f"tachograph_{host.CPU_CORES.name} 20\ntachograph_{host.AGENT_GOODBYE.name} {{}}\n"


def nobody() -> str:
    """An address at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def play(path: Path, kind: TargetKind, url: str, seconds: range, *beside: TargetConfig) -> None:
    """A collector of one target, and others beside it, from one second to another."""

    async def run() -> None:
        bench = Bench(path, [TargetConfig("one", url, kind), *beside])
        bench.clock.now_s = float(seconds[0])
        sampler, store = bench.open()
        for second in seconds:
            bench.clock.now_s = float(second)
            await sampler.tick(bench.clock.now_s)
        await sampler.finish()
        store.close()

    asyncio.run(run())


def served(path: Path, kind: TargetKind, body: str, seconds: range, *beside: TargetConfig) -> None:
    def answer(where: str) -> Answer:
        return (200, body.encode()) if where == "/metrics" else (404, b"")

    with serving(answer) as url:
        play(path, kind, url, seconds, *beside)


def fired(path: Path) -> list[str]:
    store = open_store(str(path), writer=False, now_ms=0)
    found = [one.rule for one in store.alerts()]
    store.close()
    return found


ENGINE, AGENT = TargetKind.ENGINE, TargetKind.NODE


@pytest.mark.parametrize(
    ("kind", "last", "begins", "rules"),
    [
        (ENGINE, PAGE.format(tokens=5, running=0, start=100), 11, []),
        (ENGINE, PAGE.format(tokens=5, running=2, start=100), 11, ["engine_unreachable"]),
        (ENGINE, PAGE.format(tokens=5, running=0, start=100), 100, ["engine_unreachable"]),
        (AGENT, NODE.format(1), 11, []),
        (AGENT, NODE.format(0), 11, ["node_silent"]),
    ],
    ids=["idle when last seen", "at work when last seen", "idle, but long ago", "it said goodbye", "it did not"],
)
def test_what_is_gone_when_a_collector_starts_anew(
    tmp_path: Path, kind: TargetKind, last: str, begins: int, rules: list[str]
) -> None:
    path = tmp_path / "store.db"
    served(path, kind, last, range(1, 10))
    play(path, kind, nobody(), range(begins, begins + 45))
    assert fired(path) == rules


@pytest.mark.parametrize(
    ("kind", "last"), [(ENGINE, PAGE.format(tokens=5, running=0, start=100)), (AGENT, NODE.format(1))]
)
def test_what_was_stopped_stays_so_however_often_the_collector_starts_anew(
    tmp_path: Path, kind: TargetKind, last: str
) -> None:
    path, gone = tmp_path / "store.db", nobody()
    served(path, kind, last, range(1, 10))
    play(path, kind, gone, range(11, 20))
    play(path, kind, gone, range(500, 540))
    play(path, kind, gone, range(9_000, 9_040))
    assert fired(path) == []


def test_an_engine_that_never_served_is_not_missed_and_a_node_is(tmp_path: Path) -> None:
    play(tmp_path / "engine.db", ENGINE, nobody(), range(1, 60))
    assert fired(tmp_path / "engine.db") == []
    play(tmp_path / "node.db", AGENT, nobody(), range(1, 60))
    assert fired(tmp_path / "node.db") == ["node_silent"]


def test_of_what_was_never_read_nothing_is_known(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0)
    assert before_left(store, False, None, "stopped: by hand", 0) == Before()
    store.close()


@pytest.mark.parametrize(
    ("absence", "expected"),
    [
        ("stopped: idle when last seen", Before(True, running=0.0, stopped=True)),
        ("refused: nothing listens", Before(True)),
        (None, Before(True, running=2.0)),
    ],
    ids=["stopped", "gone, nobody knows why", "it answered"],
)
def test_how_an_engine_stood_when_the_collector_went(tmp_path: Path, absence: str | None, expected: Before) -> None:
    """What had been judged stopped stays so, whatever is found later: nobody judges it again."""
    served(tmp_path / "store.db", ENGINE, PAGE.format(tokens=5, running=2, start=100), range(1, 10))
    store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0)
    assert before_left(store, False, store.last_rows()["one"], absence, 10_000) == expected
    store.close()
