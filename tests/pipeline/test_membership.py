"""Which nodes a deployment uses: by what they did while its tokens came, by what people say, by the run before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.deployments import EngineId
from pipeline.digest import FINGERPRINT
from pipeline.membership import READ, Membership, Past, at_work, of_nodes
from pipeline.window import Window
from runs.fingerprint import Field, Fingerprint
from runs.model import Run
from storage.records import Batch, RunPart
from storage.store import Store, open_store
from telemetry.catalog import engine, gpu, network
from telemetry.model import Series

K3, GLM = EngineId("head", "0", "K3"), EngineId("other", "0", "GLM")
ENGINES = {"k3": [K3], "glm": [GLM]}
NOW_MS = 100_000


def samples(tokens: dict[EngineId, range], watts: dict[str, range]) -> Window:
    """Engines that give tokens, and nodes that draw 60 W, in some seconds of a hundred."""
    window = Window(1_000_000)
    given = dict.fromkeys(tokens, 0)
    for second in range(101):
        for one, when in tokens.items():
            given[one] += 10 * (second in when)
            series = Series(one.target, engine.GENERATION_TOKENS.name, (("engine", one.engine), ("model", one.model)))
            window.add(one.target, second * 1000, second * 1000.0, (series,), np.array([float(given[one])]))
        for node, when in watts.items():
            power = Series(node, gpu.GPU_POWER.name, (("gpu", "0"),))
            value = np.array([60.0 if second in when else 5.0])
            window.add(node, second * 1000, second * 1000.0, (power,), value)
    return window


def test_nodes_that_work_while_tokens_come_are_used() -> None:
    found = samples({K3: range(20, 60)}, {"a": range(20, 60), "b": range(70, 100), "c": range(100)})
    assert at_work(found.frame(READ), {"k3": [K3]}, NOW_MS) == {"k3": {"a", "c"}}


def test_while_two_deployments_decode_nothing_says_whose_a_node_is() -> None:
    apart = samples({K3: range(10, 60), GLM: range(40, 90)}, {"a": range(10, 60), "b": range(40, 90)})
    assert at_work(apart.frame(READ), ENGINES, NOW_MS) == {"k3": {"a"}, "glm": {"b"}}
    together = samples({K3: range(10, 90), GLM: range(10, 90)}, {"a": range(100), "b": range(100)})
    assert at_work(together.frame(READ), ENGINES, NOW_MS) == {"k3": set(), "glm": set()}


def test_rdma_is_work_too() -> None:
    window = samples({K3: range(20, 60)}, {"a": range(0)})
    flow = Series("b", network.RDMA_TRANSMIT.name, (("cage", "p0"), ("function", "f0")))
    for second in range(101):
        window.add("b", second * 1000, second * 1000.0, (flow,), np.array([second * 5e6]))
    assert at_work(window.frame(READ), {"k3": [K3]}, NOW_MS) == {"k3": {"b"}}


@pytest.mark.parametrize(
    ("names", "evidence", "expected"),
    [
        ([], {}, {}),
        (["k3"], {}, {"a": "k3", "b": "k3", "c": "k3"}),
        (["k3"], {"k3": ["a", "b", "gone"]}, {"a": "k3", "b": "k3"}),
        (["k3"], {"old": ["a"]}, {"a": "k3", "b": "k3", "c": "k3"}),
        (["k3", "glm"], {}, {}),
        (["k3", "glm"], {"k3": ["a"], "glm": ["b"]}, {"a": "k3", "b": "glm"}),
        (["k3", "glm"], {"k3": ["a", "b"], "glm": ["b", "c"]}, {"a": "k3", "c": "glm"}),
        (["k3", "glm"], {"k3": ["a"]}, {"a": "k3"}),
    ],
)
def test_whose_a_node_is(names: list[str], evidence: dict[str, list[str]], expected: dict[str, str]) -> None:
    assert of_nodes(["a", "b", "c"], names, evidence) == expected


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(str(tmp_path / "store.db"), writer=True, now_ms=0)
    yield found
    found.close()


def put(store: Store, *runs: Run, nodes: dict[int, str] | None = None) -> None:
    printed = {number: Fingerprint((Field("nodes", "Nodes", text),)) for number, text in (nodes or {}).items()}
    parts = [RunPart(number, FINGERPRINT, 0, found.to_json()) for number, found in printed.items()]
    store.commit(Batch(runs=runs, parts=parts), NOW_MS)


LIVE = Run(3, "k3", "three", 50_000)
BEFORE = Run(2, "k3", "two", 20_000, 40_000, ended="stopped")
QUIET = Window(1_000)


def test_the_run_that_goes_on_is_looked_at_for_as_long_as_it_does(store: Store) -> None:
    put(store, LIVE)
    membership = Membership()
    first = samples({K3: range(20, 60)}, {"a": range(20, 60)})
    assert membership.look(store, first, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {"k3": {"a"}}
    second = samples({K3: range(20, 60)}, {"b": range(20, 60)})
    assert membership.look(store, second, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {"k3": {"a", "b"}}
    assert membership.look(store, QUIET, {}, {"k3": 3}, NOW_MS) == {"k3": {"a", "b"}}, "its engine is silent"
    assert membership.look(store, QUIET, {"k3": [K3]}, {}, NOW_MS) == {}, "another run begins anew"


def test_the_run_before_tells_until_this_one_does(store: Store) -> None:
    put(store, BEFORE, LIVE, nodes={2: "a, b"})
    membership = Membership()
    assert membership.look(store, QUIET, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {"k3": {"a", "b"}}
    seen = samples({K3: range(20, 60)}, {"c": range(20, 60)})
    assert membership.look(store, seen, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {"k3": {"c"}}
    assert membership.look(store, QUIET, {"k3": [K3]}, {}, NOW_MS) == {"k3": {"a", "b"}}, "the live one is not over"


def test_people_know_best_and_a_run_from_elsewhere_knows_nothing(store: Store) -> None:
    put(store, replace(BEFORE, by="foreign"), LIVE, nodes={2: "x, y"})
    assert Membership().look(store, QUIET, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {}
    put(store, replace(LIVE, nodes=("b",)))
    seen = samples({K3: range(20, 60)}, {"c": range(20, 60)})
    assert Membership().look(store, seen, {"k3": [K3]}, {"k3": 3}, NOW_MS) == {"k3": {"b"}}


def test_of_the_past_the_newest_run_that_had_begun(store: Store) -> None:
    other = Run(4, "glm", "four", 30_000, 60_000, ended="stopped", nodes=("c",))
    put(store, Run(1, "k3", "one", 0, 10_000, ended="stopped"), BEFORE, other, nodes={1: "a", 2: "a, b"})
    past = Past(store, 0, NOW_MS)
    assert past.at(15_000) == {"k3": {"a"}}
    assert past.at(20_000) == {"k3": {"a", "b"}}
    assert past.at(30_000) == {"k3": {"a", "b"}, "glm": {"c"}}
