"""Fingerprints with what follows from samples."""

from __future__ import annotations

from runs.fingerprint import Fingerprint
from runs.identify import identify
from runs.subject import Member
from storage.records import Fact
from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu, network
from telemetry.model import Unit
from tests.runs.worlds import World, at, engine, node, ramp

DRAFTED = engine(catalog.DRAFT_TOKENS)
POSITIONS = {engine(catalog.ACCEPTED_BY_POSITION, position=str(place)): [0.0] for place in range(7)}
NODES = ("spark-01", "spark-02")


def values(found: Fingerprint) -> dict[str, str]:
    return {one.key: one.value for one in found.fields}


def made(world: World, *facts: Fact, kinds: dict[str, str] | None = None) -> Fingerprint:
    return identify(world.subject(), world.reader(), facts, NODES, kinds)


def test_of_the_deployment() -> None:
    world = World(31, {DRAFTED: [0.0]}, engines=(Member("tail", "0", "org/m"), Member("head", "0", "org/m")))
    found = made(world, kinds={"head": "vllm", "tail": "vllm"})
    assert values(found) == {
        "model": "org/m",
        "engine": "vllm",
        "engines": "head/0, tail/0",
        "nodes": "spark-01, spark-02",
    }
    assert [one.apart for one in found.fields] == [{}, {}, {}, {}]


def test_what_targets_tell_is_in_it() -> None:
    world = World(31, {DRAFTED: [0.0]}, engines=(Member("head", "0"),))
    facts = [Fact("head", "served_models", "m", 0), Fact("spark-01", "kernel", "6.17", 0), Fact("x", "kernel", "1", 0)]
    found = made(world, *facts)
    assert values(found)["model"] == "m"
    assert values(found)["kernel"] == "6.17"


def test_gauges_that_hardly_change() -> None:
    capacity = {name: node(name, network.CAGE_CAPACITY, cage="p0") for name in NODES}
    rows = {
        capacity["spark-01"]: [25e9] * 10 + [None] * 5 + [12.5e9],
        capacity["spark-02"]: [None, None, 25e9],
        node("spark-01", network.MTU, cage="p0", function="f0"): [9000.0],
        node("spark-01", network.MTU, cage="p0", function="f1"): [1500.0],
        node("spark-02", gpu.GPU_SM_CLOCK_MAX): [3.003e9],
    }
    found = made(World(31, rows))
    link = found.find("link_rate")
    assert link is not None
    assert (link.value, link.apart, link.unit) == (
        "12500000000",
        {"spark-02": "25000000000"},
        Unit.NETWORK_BYTES_PER_SECOND,
    )
    assert [(one.at_ms, one.target, one.before, one.after) for one in link.changes] == [
        (at(15), "spark-01", "25000000000", "12500000000")
    ]
    assert values(found)["mtu"] == "9000 / 1500"
    assert values(found)["clock_cap"] == "3003000000"


def test_speculation_by_evidence() -> None:
    found = values(made(World(31, {DRAFTED: ramp((5, 7)), **POSITIONS})))
    assert (found["speculative_method"], found["speculative_tokens"]) == ("in use, method not told", "7")


def test_a_draft_of_unknown_length() -> None:
    found = values(made(World(31, {DRAFTED: ramp((5, 7))})))
    assert found["speculative_method"] == "in use, method not told"
    assert "speculative_tokens" not in found


def test_no_draft_no_speculation() -> None:
    found = values(made(World(31, {DRAFTED: [7.0], **POSITIONS})))
    assert "speculative_method" not in found


def test_what_the_engine_tells_counts_more() -> None:
    facts = [Fact("head", "speculative_method", "EAGLE", 0), Fact("head", "speculative_tokens", "4", 0)]
    found = values(made(World(31, {DRAFTED: ramp((5, 7)), **POSITIONS}), *facts))
    assert (found["speculative_method"], found["speculative_tokens"]) == ("EAGLE", "4")


def test_an_engine_of_another_deployment_drafts() -> None:
    other = {engine(catalog.DRAFT_TOKENS, number="1"): ramp((5, 7))}
    assert "speculative_method" not in values(made(World(31, {DRAFTED: [0.0], **other})))
