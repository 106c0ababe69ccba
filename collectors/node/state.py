"""The state page: facts, processes, events and how each reading went. At most 64 kB."""

from __future__ import annotations

from typing import Any

from collectors.node.reading import Reading
from collectors.node.rounds import Rounds, Snapshot
from collectors.node.version import VERSION

CONTENT_TYPE = "application/json"
LARGEST = 64 * 1024
LONGEST_FACT = 200
SHRINKING = ("processes", "facts", "events")
"""What is cut, in this order, should a page ever be too long."""


def facts_of(readings: dict[str, Reading]) -> dict[str, str]:
    """All facts, text to text; of the driver's version NVML's word counts more than /proc's, as it comes later."""
    facts: dict[str, str] = {}
    for reading in readings.values():
        facts |= reading.facts
    return {name: value[:LONGEST_FACT] for name, value in facts.items()}


def state(rounds: Rounds, snapshot: Snapshot, after: int) -> dict[str, Any]:
    """The page's content; `after` is the number of the last event that the reader knows."""
    events = rounds.machine.events
    readings = snapshot.readings.items()
    described = [process for _, reading in readings if reading.described for process in reading.processes]
    return {
        "version": VERSION,
        "sequence": events.sequence,
        "time_s": snapshot.wall_s,
        "monotonic_s": snapshot.monotonic_s,
        "started_s": rounds.started_s,
        "goodbye": rounds.goodbye,
        "facts": facts_of(snapshot.readings),
        "processes": [process._asdict() for process in described],
        "events": [event._asdict() for event in events.after(after)],
        "readings": {
            name: {"outcome": reading.outcome, "reason": reading.reason, "seconds": reading.seconds}
            for name, reading in readings
        },
    }


def encode(content: dict[str, Any]) -> bytes:
    """JSON of at most 64 kB; should it be longer, the list or table to blame loses its second half."""
    import json  # whoever only ever asks for /metrics is spared it

    body = json.dumps(content, separators=(",", ":")).encode()
    for name in SHRINKING:
        while len(body) > LARGEST and content[name]:
            content[name] = _first_half(content[name])
            body = json.dumps(content, separators=(",", ":")).encode()
    return body


def _first_half(listed: Any) -> Any:
    half = len(listed) // 2
    return dict(list(listed.items())[:half]) if isinstance(listed, dict) else listed[:half]
