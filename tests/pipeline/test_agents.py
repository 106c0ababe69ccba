"""The agent's state page is untrusted: what is not understood is left out, and nothing is too much."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from pipeline.agents import MAX_ITEMS, MAX_TEXT, AgentEvent, AgentState, parse_state


def parsed(page: Any) -> AgentState:
    found = parse_state(orjson.dumps(page))
    assert found is not None
    return found


def test_a_whole_page() -> None:
    state = parsed(
        {
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
    assert state.facts == {"hostname": "spark-01", "gpu.0.memory": "unified"}
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
