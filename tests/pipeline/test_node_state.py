"""An agent's state page: facts and events reach the store, each event once, dated by its age on the node's clock."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import TargetKind
from storage.records import Event, Fact
from storage.store import open_store
from telemetry.catalog import host
from telemetry.states import Before
from tests.pipeline.stage import Stage

PAGE = f"tachograph_{host.AGENT_EVENTS.name} {{}}\ntachograph_{host.CPU_CORES.name} 20\n"


class Node(Stage):
    """A node whose agent has events to tell. Its wall clock is an hour ahead."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, TargetKind.NODE)
        self.state: dict[str, object] = {}
        self.events: list[dict[str, Any]] = []
        self.last = 0

    def answer(self, where: str) -> tuple[int, bytes]:
        if where.startswith("/state"):
            self.asked.append(where)
            known = int(where.partition("after=")[2])
            known = known if known <= self.last else 0
            events = [one for one in self.events if one["sequence"] > known]
            return 200, json.dumps(self.state | {"events": events}).encode()
        return super().answer(where)

    def tells(self, second: float, *events: tuple[int, float, str, bool], started: float = 3000) -> None:
        self.last = max((event[0] for event in events), default=0)
        self.body = PAGE.format(self.last).encode()
        self.events = [
            {"sequence": number, "time_s": 3600 + at, "kind": kind, "text": f"{kind}!", "labels": {}, "baseline": old}
            for number, at, kind, old in events
        ]
        facts = {"kernel": "6.17.0-1021-nvidia"}
        self.state = {"sequence": self.last, "time_s": 3600 + second, "started_s": started, "facts": facts}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "store.db")


def told(path: Path) -> list[Event]:
    store = open_store(str(path), writer=False, now_ms=0)
    events = store.events(0, 10**9)
    store.close()
    return events


def test_an_event_is_dated_by_its_age(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, 5.0, "xid", False))
        await node.tick(20)
        await node.tick(21)

    node.play(story)
    assert [(event.at_ms, event.target, event.kind, event.text) for event in told(node.path)] == [
        (5_000, "one", "xid", "xid!")
    ]


def test_what_was_there_before_the_agent_is_no_event(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, -900.0, "xid", True), (2, 15.0, "link", False))
        await node.tick(20)
        await node.tick(21)

    node.play(story)
    assert [event.kind for event in told(node.path)] == ["link"]


def test_no_event_is_told_twice_by_a_collector_that_starts_again(node: Node) -> None:
    async def first(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, 10.0, "xid", False))
        await node.tick(20)
        await node.tick(21)

    async def second(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(60, (1, 10.0, "xid", False), (2, 59.0, "aer", False))
        await node.tick(60)
        await node.tick(61)

    node.play(first)
    node.play(second)
    assert [event.kind for event in told(node.path)] == ["xid", "aer"]


def test_an_agent_that_starts_again_counts_its_events_anew(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, 10.0, "xid", False), (2, 11.0, "link", False))
        await node.tick(20)
        node.tells(40, (1, 39.0, "aer", False), started=3630)
        await node.tick(40)
        await node.tick(41)

    node.play(story)
    assert [event.kind for event in told(node.path)] == ["xid", "link", "aer"]


def test_an_agent_that_starts_again_and_soon_has_more_to_tell(node: Node) -> None:
    """Its numbers have passed those of the one before: what lies below the last known number is asked for, too."""

    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, 10.0, "xid", False), (2, 11.0, "link", False))
        await node.tick(20)
        node.tells(40, (1, 37.0, "oom", False), (2, 38.0, "aer", False), (3, 39.0, "cable", False), started=3630)
        await node.tick(40)
        await node.tick(41)
        node.tells(50, (4, 49.0, "xid", False), started=3630)
        await node.tick(50)
        await node.tick(51)

    node.play(story)
    assert [event.kind for event in told(node.path)] == ["xid", "link", "oom", "aer", "cable", "xid"]
    assert [where for where in node.asked if where != "/metrics"] == [
        "/state?after=0",
        "/state?after=2",
        "/state?after=0",
        "/state?after=3",
    ]


def test_state_is_read_when_there_is_news_and_else_every_ten_seconds(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20)
        for second in (20, 21, 25, 29):
            await node.tick(second)
        node.tells(30, (1, 29.5, "xid", False))
        await node.tick(29.9)
        await node.tick(30.9)
        await node.tick(40.9)

    node.play(story)
    assert [where for where in node.asked if where != "/metrics"] == [
        "/state?after=0",
        "/state?after=0",
        "/state?after=1",
    ]


def test_facts_are_stored_once(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20)
        for second in (20, 31, 42, 53):
            await node.tick(second)

    node.play(story)
    store = open_store(str(node.path), writer=False, now_ms=0)
    assert store.facts("one", name="kernel") == [Fact("one", "kernel", "6.17.0-1021-nvidia", 20_000, None)]
    store.close()


def test_the_agents_version_is_a_fact_that_changes_with_it(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        for second, version in ((20, "0.1.0"), (31, "0.1.0"), (42, "0.2.0")):
            node.tells(second)
            node.state["version"] = version
            await node.tick(second)

    node.play(story)
    store = open_store(str(node.path), writer=False, now_ms=0)
    assert store.facts("one", name="agent_version") == [
        Fact("one", "agent_version", "0.1.0", 20_000, 42_000),
        Fact("one", "agent_version", "0.2.0", 42_000, None),
    ]
    store.close()


@pytest.mark.parametrize(("kind", "fatal"), [("oom", True), ("link", False)])
def test_a_fatal_event_is_remembered_for_engines_that_fall_silent(node: Node, kind: str, fatal: bool) -> None:
    remembered: list[Before] = []

    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20, (1, 19.0, kind, False))
        await node.tick(20)
        remembered.append(node.sampler.targets[0].before)

    node.play(story)
    assert remembered[0].fatal is fatal


POWER, FULL = "gpu.0.reading.power", "function.rocep1s0f0.at_maximum"
WELL = {"nvml": {"outcome": "ok"}, "fabric counters": {"outcome": "ok"}}


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        (WELL, {POWER: ["NVML error 999", "ok"], FULL: ["link_downed", "none"]}),
        (WELL | {"nvml": {"outcome": "failed"}}, {POWER: ["NVML error 999"], FULL: ["link_downed", "none"]}),
        ({}, {POWER: ["NVML error 999"], FULL: ["link_downed"]}),
    ],
    ids=["all went well", "one could not be read", "nothing is said of readings"],
)
def test_a_trouble_that_is_over_is_no_fact_any_more(
    node: Node, readings: dict[str, object], expected: dict[str, list[str]]
) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20)
        node.state |= {"facts": {"kernel": "6.17", POWER: "NVML error 999", FULL: "link_downed"}, "readings": WELL}
        await node.tick(20)
        await node.tick(21)
        node.state |= {"facts": {}, "readings": readings}
        for second in (31, 41):
            await node.tick(second)
            await node.tick(second + 1)

    node.play(story)
    store = open_store(str(node.path), writer=False, now_ms=0)
    facts = {name: [fact.value for fact in store.facts("one", name=name)] for name in (POWER, FULL, "kernel")}
    store.close()
    assert facts == expected | {"kernel": ["6.17"]}


def test_what_is_another_one_now_is_an_event_once_for_all_devices(node: Node) -> None:
    """Also when the collector was away meanwhile; not what is told for the first time, nor what no run is known by."""
    cards = {"function.a.firmware": "28.45", "function.b.firmware": "28.45"}

    async def first(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(20)
        node.state["facts"] = {"kernel": "6.17.0-1021", "hostname": "old", **cards}
        await node.tick(20)
        await node.tick(21)

    async def second(node: Stage) -> None:
        assert isinstance(node, Node)
        node.tells(40)
        node.state["facts"] = {"kernel": "6.17.0-1031", "hostname": "new", **dict.fromkeys(cards, "28.46"), "bios": "5"}
        await node.tick(40)
        await node.tick(41)

    node.play(first)
    assert [event for event in told(node.path) if event.kind == "change"] == []
    node.play(second)
    assert [(event.target, event.text) for event in told(node.path) if event.kind == "change"] == [
        ("one", "Kernel 6.17.0-1021 → 6.17.0-1031"),
        ("one", "NIC firmware 28.45 → 28.46"),
    ]


def test_what_goes_to_and_fro_is_no_change(node: Node) -> None:
    async def story(node: Stage) -> None:
        assert isinstance(node, Node)
        for second in range(20, 40):
            node.tells(second, (second, float(second), "xid", False))  # so that its state is read each second
            node.state["facts"] = {"kernel": f"6.17.{second % 2}"}
            await node.tick(second)

    node.play(story)
    assert {event.kind for event in told(node.path)} == {"xid"}
