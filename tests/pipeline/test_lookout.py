"""What rules look at: who belongs together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from alerts.evaluate import instances, truth
from alerts.rule import Rule
from alerts.rulebook import Rulebook
from pipeline.deployments import EngineId
from pipeline.lookout import Lookout
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry.catalog import gpu
from telemetry.model import Series
from telemetry.states import TargetState

ONE, OTHER = EngineId("head", "0", "K3"), EngineId("other", "0", "Qwen")


def lookout() -> Lookout:
    """Of two engines and two nodes; of a target it knows no more than what it is called and what it is."""
    nodes = {"head": False, "other": False, "a": True, "b": True}
    unknown = SimpleNamespace(verdict=SimpleNamespace(state=TargetState.NOT_YET_SCRAPED), last_ok_ms=None)
    targets: Any = [SimpleNamespace(name=name, is_node=is_node, health=unknown) for name, is_node in nodes.items()]
    for target in targets:
        target.before = SimpleNamespace(ever=True)
    return Lookout(targets, 1000.0)


def test_with_one_deployment_all_nodes_are_of_it() -> None:
    found = lookout().members({"K3": [ONE]})
    assert found.nodes == {"a": "K3", "b": "K3"}
    assert found.engines == {("head", "0", "K3"): "K3"}


def test_with_two_deployments_nobody_knows_which_nodes_are_whose() -> None:
    found = lookout().members({"K3": [ONE], "Qwen": [OTHER]})
    assert found.nodes == {}
    assert found.engines == {("head", "0", "K3"): "K3", ("other", "0", "Qwen"): "Qwen"}


def test_before_an_engine_answers_nodes_are_of_none() -> None:
    assert lookout().members({}).nodes == {}


def test_an_engine_that_is_silent_stays_where_it_was() -> None:
    watching = lookout()
    watching.members({"K3": [ONE]})
    assert watching.members({}).engines == {("head", "0", "K3"): "K3"}


def test_nodes_are_of_the_deployment_in_whose_runs_they_took_part() -> None:
    watching = lookout()
    watching.evidence = {"K3": frozenset({"a"}), "Qwen": frozenset({"b"})}
    assert watching.members({"K3": [ONE], "Qwen": [OTHER]}).nodes == {"a": "K3", "b": "Qwen"}
    assert watching.members({}).nodes == {"a": "K3", "b": "Qwen"}, "also while nothing answers"
    assert watching.nodes_near("head") == ["a"]
    assert watching.nodes_near("other") == ["b"]
    assert watching.nodes_near("unheard") == ["a", "b"], "where nothing is known of its nodes, all"


def test_of_an_engine_that_was_two_deployments_the_later_counts() -> None:
    for facts in (("K3", 1), ("Qwen", 2)), (("Qwen", 2), ("K3", 1)):
        watching = lookout()
        for name, since_ms in facts:
            watching.fact("head", f"deployment.{name}", name, since_ms)
        assert watching.members({}).servers == {"head": "Qwen"}


HOT = {"title": "Hot", "place": "gpu", "severity": "info", "when": "max(gpu_temperature_celsius[5s]) > 90 °C"}
T0 = 1_796_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Of two nodes; one was hot until it was heard of no more."""
    opened = open_store(str(tmp_path / "store.db"), writer=True, now_ms=T0)
    rows = []
    for name, degrees in (("a", 95.0), ("b", 60.0)):
        layout = opened.layout(name, (temperature(name),))
        rows += [Row(T0 + 1000 * at, name, T0 + 1000 * at, layout, [degrees]) for at in range(10)]
    opened.commit(Batch(rows=rows), T0 + 9000)
    yield opened
    opened.close()


def temperature(node: str) -> Series:
    return Series(node, gpu.GPU_TEMPERATURE.name, (("gpu", "0"),))


def hot() -> Rule:
    return Rulebook({"hot": HOT}).rules["hot"]


def holds(watching: Lookout, rule: Rule, tick: int) -> dict[tuple[str, ...], float]:
    view = watching.view(tick, watching.members({}))
    keys = instances(rule.condition, rule.place, view)
    return dict(zip(keys, truth(rule.condition, rule.place, view, keys)[:, -1].tolist(), strict=True))


def test_who_is_silent_from_the_first_tick_after_a_start_is_looked_at(store: Store) -> None:
    watching, rule = lookout(), hot()
    watching.read([rule])
    watching.warm(store, T0 + 10_000)
    tick = T0 + 10_000
    watching.add("b", tick, float(tick), (temperature("b"),), np.array([61.0]))
    assert holds(watching, rule, tick) == {("a", "0"): 1.0, ("b", "0"): 0.0}


def test_who_is_silent_while_rules_change_is_looked_at(store: Store) -> None:
    watching, rule = lookout(), hot()
    watching.read([rule])
    watching.warm(store, T0 + 10_000)
    watching.read([hot()])
    tick = T0 + 11_000
    watching.add("b", tick, float(tick), (temperature("b"),), np.array([61.0]))
    assert holds(watching, rule, tick) == {("a", "0"): 1.0, ("b", "0"): 0.0}


def test_of_whom_nothing_is_read_is_not_looked_at() -> None:
    watching = lookout()
    watching.read([hot()])
    for name, series in (("a", temperature("a")), ("b", Series("b", gpu.GPU_POWER.name, (("gpu", "0"),)))):
        watching.add(name, T0, float(T0), (series,), np.array([95.0]))
    assert holds(watching, hot(), T0) == {("a", "0"): 1.0}
    assert watching.view(T0, watching.members({})).frame.series == (temperature("a"),)
