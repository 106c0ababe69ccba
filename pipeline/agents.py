"""The agent's state page: facts, processes, events and how its readings went. Untrusted text; capped and typed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

MAX_TEXT = 200
MAX_ITEMS = 500
MAX_NUMBER = 2.0**63
VERSION_FACT = "agent_version"
FATAL_KINDS = frozenset({"oom"})
FATAL_XIDS = frozenset({"79", "119", "120", "154"})
TROUBLES = {"nvml": (".reading.", "ok"), "fabric counters": (".at_maximum", "none")}
"""Collector → what names of its facts about troubles have in them, and what is so where it went well without them."""


@dataclass(frozen=True)
class AgentEvent:
    """A line an agent has to tell. baseline: it was there before the agent started."""

    sequence: int
    time_s: float
    kind: str
    text: str
    labels: Mapping[str, str]
    baseline: bool

    @property
    def fatal(self) -> bool:
        """Whether it explains an engine's death."""
        return self.kind in FATAL_KINDS or (self.kind == "xid" and self.labels.get("xid") in FATAL_XIDS)


@dataclass(frozen=True)
class AgentState:
    """What a state page says. processes and readings are JSON as shown on pages.

    facts: those of the page, and the agent's version as `agent_version`, where it says one.
    time_s: the node's wall clock at the moment; started_s: when its agent started; both 0 where not said.
    """

    sequence: int = 0
    time_s: float = 0.0
    started_s: float = 0.0
    goodbye: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    processes: tuple[Mapping[str, Any], ...] = ()
    events: tuple[AgentEvent, ...] = ()
    readings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def mark(self) -> str:
        """How far its events have been read, as a text that outlives the collector."""
        return f"{self.started_s:.0f}/{self.sequence}"

    def unread(self, mark: str | None) -> list[AgentEvent]:
        """Events that are news to somebody who read up to `mark`: none of the baseline, none read before."""
        started, _, sequence = (mark or "").partition("/")
        read = int(sequence) if started == f"{self.started_s:.0f}" and sequence.isascii() and sequence.isdigit() else 0
        return [event for event in self.events if not event.baseline and event.sequence > read]

    def over(self, known: Collection[str]) -> dict[str, str]:
        """Of facts that were known, those about troubles that are over: the page tells them only while they last."""
        found: dict[str, str] = {}
        for collector, (mark, word) in TROUBLES.items():
            if self.readings.get(collector, {}).get("outcome") == "ok":
                found |= {name: word for name in known if mark in name and name not in self.facts}
        return found


def parse_state(body: bytes) -> AgentState | None:
    """The page as it can be understood; None when it is not JSON of the right shape."""
    try:
        page = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(page, dict):
        return None
    facts = {_text(key): _text(value) for key, value in _items(page.get("facts"))}
    if version := _text(page.get("version")):
        facts[VERSION_FACT] = version
    processes = tuple(_process(one) for one in _list(page.get("processes")) if isinstance(one, dict))
    events = tuple(_event(one) for one in _list(page.get("events")) if isinstance(one, dict))
    readings = {_text(name): _reading(one) for name, one in _items(page.get("readings")) if isinstance(one, dict)}
    sequence, time_s, started_s = (_number(page.get(name)) or 0.0 for name in ("sequence", "time_s", "started_s"))
    return AgentState(int(sequence), time_s, started_s, page.get("goodbye") is True, facts, processes, events, readings)


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items())[:MAX_ITEMS] if isinstance(value, dict) else []


def _list(value: Any) -> list[Any]:
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def _text(value: Any) -> str:
    text = (value if isinstance(value, str) else "" if value is None else str(value))[:MAX_TEXT]
    return text if text.isprintable() else "".join(letter for letter in text if letter.isprintable())


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < MAX_NUMBER else None


def _process(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "pid": _number(one.get("pid")),
        "name": _text(one.get("name")),
        "gpu": _text(one.get("gpu")),
        "gpu_memory_bytes": _number(one.get("gpu_memory_bytes")),
        "resident_bytes": _number(one.get("resident_bytes")),
        "container": _text(one.get("container")),
    }


def _event(one: Mapping[str, Any]) -> AgentEvent:
    labels = {_text(key): _text(value) for key, value in _items(one.get("labels"))}
    sequence, time_s = _number(one.get("sequence")), _number(one.get("time_s"))
    kind, text = _text(one.get("kind")), _text(one.get("text"))
    return AgentEvent(int(sequence or 0), time_s or 0.0, kind, text, labels, one.get("baseline") is True)


def _reading(one: Mapping[str, Any]) -> dict[str, Any]:
    outcome, reason = _text(one.get("outcome")), _text(one.get("reason"))
    return {"outcome": outcome, "reason": reason, "seconds": _number(one.get("seconds"))}
