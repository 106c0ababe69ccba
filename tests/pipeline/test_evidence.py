"""What nodes tell of a silent engine: weights being loaded, a machine that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.config import TargetConfig, TargetKind
from pipeline.evidence import LOADING_MS, Evidence
from pipeline.targets import Target
from pipeline.window import Window
from telemetry.catalog import gpu, host
from telemetry.model import Series
from telemetry.states import TargetState
from tests.pipeline.served import Bench, serving

GIB = 1024.0**3
HELD = Series("n1", gpu.GPU_PROCESS_MEMORY.name, (("gpu", "0"),))


def filled(*gib: float) -> Window:
    """A node whose GPU processes held so much, a value a second."""
    window = Window(10_000_000)
    for second, value in enumerate(gib):
        window.add("n1", second * 1000, second * 1000.0, (HELD,), np.array([value * GIB]))
    return window


@pytest.mark.parametrize(
    ("gib", "filling"),
    [((2, 2.5, 3), True), ((2, 2.5, 2.9), False), ((5, 5, 5), False), ((5, 6, 4.5), False), ((), False)],
    ids=["a GiB more", "less than a GiB more", "still", "given back", "not known"],
)
def test_filling(gib: tuple[float, ...], filling: bool) -> None:
    assert Evidence().filling(filled(*gib), 2000) is filling


def test_growth_counts_within_thirty_seconds() -> None:
    assert not Evidence().filling(filled(*(number / 40 for number in range(60))), 59_000)
    assert Evidence().filling(filled(*(number / 29 for number in range(60))), 59_000)


def test_loading_goes_on_for_ten_minutes_after_the_last_growth_unless_memory_is_given_back() -> None:
    evidence = Evidence()
    assert evidence.filling(filled(2, 3), 1000)
    assert evidence.filling(Window(1), 1000 + LOADING_MS)
    assert not evidence.filling(Window(1), 1001 + LOADING_MS)
    assert evidence.filling(filled(2, 3), 1000)
    assert not evidence.filling(filled(3, 2), 1000)
    assert not evidence.filling(Window(1), 1000)


ENGINE = b'vllm:num_requests_running{engine="0",model_name="m"} 0\nvllm:generation_tokens_total{engine="0"} 5\n'


def node_page(gib: float) -> bytes:
    name = f"tachograph_{gpu.GPU_PROCESS_MEMORY.name}"
    return f'{name}{{gpu="0"}} {gib * GIB}\ntachograph_{host.CPU_CORES.name} 20\n'.encode()


Happens = Callable[[int, dict[str, bytes], Target], list[int]]


def played(path: Path, seconds: int, happens: Happens) -> TargetState:
    """What an engine is after so many seconds beside a node. happens: told the second, what the two show and the node,
    it says which of them go away then, by number."""
    shown = {"engine": ENGINE, "node": node_page(50)}

    def answer(where: str) -> tuple[int, bytes]:
        key = where.strip("/").split("/")[0]
        return (200, shown[key]) if key in shown else (404, b"")

    async def story(url: str) -> TargetState:
        engine = TargetConfig("head", f"{url}/engine", TargetKind.ENGINE)
        bench = Bench(path / "store.db", [engine, TargetConfig("n1", f"{url}/node", TargetKind.NODE)])
        sampler, store = bench.open()
        for second in range(1, seconds):
            bench.clock.now_s = second
            for gone in happens(second, shown, sampler.targets[1]):
                await sampler.targets[gone]._client.close()
                sampler.targets[gone]._client.url = closed
            await sampler.tick(second)
        await sampler.finish()
        store.close()
        return sampler.targets[0].health.verdict.state

    with serving(answer) as left:
        closed = f"{left}/metrics"
    with serving(answer) as url:
        return asyncio.run(story(url))


@pytest.mark.parametrize(
    ("node", "state"),
    [
        ("lost", TargetState.REFUSED),
        ("steady", TargetState.STOPPED),
        ("filling", TargetState.RESTARTING),
        ("goodbye", TargetState.STOPPED),
    ],
)
def test_an_idle_engine_goes_away(tmp_path: Path, node: str, state: TargetState) -> None:
    def happens(second: int, shown: dict[str, bytes], machine: Target) -> list[int]:
        if second >= 3 and node == "filling":
            shown["node"] = node_page(50 + second)
        if second == 4 and node in ("lost", "goodbye"):
            machine.note(goodbye=node == "goodbye")
            return [1]
        return [0] if second == 3 else []

    assert played(tmp_path, 30, happens) is state


@pytest.mark.parametrize(
    ("seconds", "lost_at", "state"),
    [(75, 70, TargetState.STOPPED), (45, 40, TargetState.REFUSED)],
    ids=["a minute later", "within a minute"],
)
def test_an_engine_that_was_stopped_stays_so_when_a_node_is_lost(
    tmp_path: Path, seconds: int, lost_at: int, state: TargetState
) -> None:
    """Within a minute the loss may be why it went."""

    def happens(second: int, _shown: dict[str, bytes], _machine: Target) -> list[int]:
        return [gone for gone, when in enumerate((3, lost_at)) if when == second]

    assert played(tmp_path, seconds + 10, happens) is state
