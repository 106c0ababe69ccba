"""The agent's state page is untrusted: what is not understood is left out, and nothing is too much."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from collectors.node.machine import Machine
from collectors.node.reading import COLLECTORS
from collectors.node.rounds import Rounds
from collectors.node.state import encode
from collectors.node.state import state as state_page
from collectors.node.tree import Tree
from collectors.node.version import VERSION
from pipeline.agents import MAX_ITEMS, MAX_TEXT, AgentEvent, AgentState, parse_state


def parsed(page: Any) -> AgentState:
    found = parse_state(orjson.dumps(page))
    assert found is not None
    return found


def test_a_whole_page() -> None:
    state = parsed(
        {
            "version": "0.1.0",
            "sequence": 17,
            "goodbye": True,
            "facts": {"hostname": "spark-01", "gpu.0.memory": "unified"},
            "processes": [
                {
                    "pid": 114687,
                    "name": "VLLM::Worker_TP0",
                    "gpu": "0",
                    "gpu_memory_bytes": 109521666048,
                    "resident_bytes": None,
                    "container": "3f",
                    "cmdline": "secret",
                }
            ],
            "events": [
                {
                    "sequence": 17,
                    "time_s": 5.5,
                    "kind": "xid",
                    "text": "Xid 79",
                    "labels": {"xid": "79"},
                    "baseline": False,
                }
            ],
            "readings": {"nvml": {"outcome": "ok", "reason": "", "seconds": 0.002, "more": 1}},
        }
    )
    assert (state.sequence, state.goodbye) == (17, True)
    assert state.facts == {"hostname": "spark-01", "gpu.0.memory": "unified", "agent_version": "0.1.0"}
    assert state.processes == (
        {
            "pid": 114687.0,
            "name": "VLLM::Worker_TP0",
            "gpu": "0",
            "gpu_memory_bytes": 109521666048.0,
            "resident_bytes": None,
            "container": "3f",
        },
    )
    assert state.events == (AgentEvent(17, 5.5, "xid", "Xid 79", {"xid": "79"}, False),)
    assert state.readings == {"nvml": {"outcome": "ok", "reason": "", "seconds": 0.002}}


def test_what_the_real_agent_says(tmp_path: Path) -> None:
    """The page as `collectors.node` writes it, of a machine without anything: version, start and readings arrive."""
    rounds = Rounds(Machine(Tree(str(tmp_path)), wall=lambda: 1796000000.5))
    rounds.machine.events.add(1796000000.0, "xid", "Xid 79", {"xid": "79"})
    state = parse_state(encode(state_page(rounds, rounds.snapshot(), 0)))
    assert state is not None
    assert state.facts["agent_version"] == VERSION
    assert (state.sequence, state.started_s, state.time_s, state.goodbye) == (1, 1796000000.5, 1796000000.5, False)
    assert state.events == (AgentEvent(1, 1796000000.0, "xid", "Xid 79", {"xid": "79"}, False),)
    assert state.readings.keys() == COLLECTORS.keys()


@pytest.mark.parametrize(
    "body", [b"", b"not json", b"[1, 2]", b'"text"', b"null", b"7", b"[" * 5000, b'{"sequence":1e999}']
)
def test_no_page(body: bytes) -> None:
    assert parse_state(body) is None


def test_an_empty_page_is_a_page() -> None:
    assert parsed({}) == AgentState()


@pytest.mark.parametrize("strange", [None, 3, "text", [1], [None, "x"], {"a": 1}, {"a": None}, True])
def test_strange_values_are_passed_over(strange: Any) -> None:
    state = parsed(dict.fromkeys(("sequence", "goodbye", "facts", "processes", "events", "readings"), strange))
    assert state.sequence == (3 if strange == 3 and strange is not True else 0)
    assert state.goodbye is (strange is True)
    assert state.processes == state.events == ()
    assert state.readings == {}
    assert state.facts == ({"a": "1" if strange["a"] else ""} if isinstance(strange, dict) else {})


@pytest.mark.parametrize("page", [{}, {"version": None}, {"version": ""}, {"version": "\x00"}])
def test_an_agent_that_does_not_say_its_version_has_none(page: Any) -> None:
    assert parsed(page).facts == {}


def test_the_version_is_what_the_agent_says_and_no_longer_than_a_text() -> None:
    assert parsed({"version": "2" * 999, "facts": {"agent_version": "1"}}).facts == {"agent_version": "2" * MAX_TEXT}


@pytest.mark.parametrize("number", [True, "5", None, [5], 1e300, -1e300, 2**63])
def test_numbers_that_are_none(number: Any) -> None:
    page = {"sequence": number, "events": [{"sequence": number, "time_s": number}], "processes": [{"pid": number}]}
    state = parsed(page)
    assert state.sequence == 0
    assert (state.events[0].sequence, state.events[0].time_s) == (0, 0.0)
    assert state.processes[0]["pid"] is None


def test_texts_are_cut_and_stripped_of_what_cannot_be_printed() -> None:
    state = parsed({"facts": {"a\x00b\x1b[31m": "x" * 1000 + "\n", "number": 5, "none": None}})
    assert state.facts == {"ab[31m": "x" * MAX_TEXT, "number": "5", "none": ""}


def test_lists_are_cut() -> None:
    state = parsed(
        {
            "facts": {str(number): "" for number in range(900)},
            "processes": [{}] * 900,
            "events": [{"labels": {str(number): "" for number in range(900)}}] * 900,
            "readings": {str(number): {} for number in range(900)},
        }
    )
    assert len(state.facts) == len(state.processes) == len(state.events) == len(state.readings) == MAX_ITEMS
    assert len(state.events[0].labels) == MAX_ITEMS


def test_only_true_is_goodbye_or_baseline() -> None:
    state = parsed({"goodbye": 1, "events": [{"baseline": "true"}, {"baseline": True}]})
    assert not state.goodbye
    assert [event.baseline for event in state.events] == [False, True]


@pytest.mark.parametrize(
    ("kind", "labels", "fatal"),
    [
        ("oom", {}, True),
        ("xid", {"xid": "79"}, True),
        ("xid", {"xid": "119"}, True),
        ("xid", {"xid": "120"}, True),
        ("xid", {"xid": "154"}, True),
        ("xid", {"xid": "31"}, False),
        ("xid", {}, False),
        ("link", {"xid": "79"}, False),
    ],
)
def test_which_events_explain_an_engines_death(kind: str, labels: dict[str, str], fatal: bool) -> None:
    assert AgentEvent(1, 0.0, kind, "", labels, False).fatal is fatal
