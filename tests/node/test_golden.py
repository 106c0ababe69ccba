"""The whole metrics page of an idle node, line by line. `pytest --remake-golden` writes it anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.node.rounds import Rounds, Snapshot
from collectors.node.state import encode, state
from tests.node.conftest import Stub
from tests.node.node_machine import DATA, Clock, Node, machine

METRICS = DATA / "idle.metrics"
STATE = DATA / "busy.state.json"


def compare(path: Path, text: str, remake: bool) -> None:
    if remake:
        path.write_text(text, encoding="utf-8")
    assert text.splitlines() == path.read_text(encoding="utf-8").splitlines()


@pytest.fixture
def idle(node: Callable[..., Node], nvml: object) -> tuple[Rounds, Snapshot]:
    rounds = Rounds(machine(node()))
    return rounds, rounds.snapshot()


def test_the_page_of_an_idle_node(idle: tuple[Rounds, Snapshot], remake_golden: bool) -> None:
    compare(METRICS, idle[1].page.decode(), remake_golden)


def test_the_state_of_a_busy_node(node: Callable[..., Node], nvml: Stub, remake_golden: bool) -> None:
    nvml.play("busy")
    tree, clock = node(), Clock()
    tree.put("/dev/kmsg", (DATA / "kernel.log").read_text())
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    with open(tree.root + "/dev/kmsg", "a", encoding="utf-8") as log:
        log.write((DATA / "kernel-later.log").read_text())
    clock.now += 1
    content = json.loads(encode(state(rounds, rounds.snapshot(), after=0)))
    compare(STATE, json.dumps(content, indent=1) + "\n", remake_golden)
