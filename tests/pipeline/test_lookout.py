"""What rules look at: who belongs together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pipeline.deployments import EngineId
from pipeline.lookout import Lookout

ONE, OTHER = EngineId("head", "0", "K3"), EngineId("other", "0", "Qwen")


def lookout() -> Lookout:
    """Of two engines and two nodes; of a target it knows no more than what it is called and what it is."""
    nodes = {"head": False, "other": False, "a": True, "b": True}
    targets: Any = [SimpleNamespace(name=name, is_node=is_node) for name, is_node in nodes.items()]
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
