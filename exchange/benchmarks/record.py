"""Benchmark: what a client measured, as plain numbers; the texts that were sent and generated are never part of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from runs.bounds import EARLIEST_MS, LATEST_MS, LONGEST_MS
from runs.entries import Entry
from telemetry.model import Unit

PART = "benchmark:"
"""Begins the kind of a run's part that holds one; its key follows."""
MOST_ENTRIES, LINE, TEXT = 400, 160, 2_000
KEY_SIGNS = 16
APART = "it lies over no run"
"""Said of a result that is kept apart, on request or since no run has its minutes."""
LARGEST = 1e100
"""Nothing that is measured is more: sums and units of what is less stay finite."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """Where a benchmark lies in a run. server: the engine's numbers of that stretch; none: those of the whole run.

    how: what told that they belong together, in words.
    """

    start_ms: int
    end_ms: int
    how: str
    server: Sequence[Entry] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        server = [one.to_json() for one in self.server]
        return {"start": self.start_ms, "end": self.end_ms, "how": self.how, "server": server}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Overlay:
        """The reverse of `to_json`; ValueError with a sentence for anything else."""
        start, end = _instant(data.get("start"), "start"), _instant(data.get("end"), "end")
        if start is None or end is None or end < start:
            raise ValueError("a benchmark's stretch has no start and end")
        return cls(start, end, _text(data.get("how", ""), "how"), _entries(data.get("server", [])))


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One result. tool: what measured it. file: name of the file, without its folder.

    start_ms, end_ms: where the file tells them in a zone that it names; None where not. local_end: ISO time of the end
    by the client's clock, in a zone that it does not name. seconds: its length.
    entries: its numbers, in base units. protocol: how it was measured, as the tool tells.
    """

    tool: str
    model: str
    entries: Sequence[Entry]
    file: str = ""
    version: str = ""
    start_ms: int | None = None
    end_ms: int | None = None
    local_end: str = ""
    seconds: float | None = None
    protocol: Mapping[str, str] = field(default_factory=dict)
    overlay: Overlay | None = None

    @property
    def key(self) -> str:
        """The same for the same result, wherever its file lies."""
        bare = replace(self, file="", overlay=None).to_json()
        return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()[:KEY_SIGNS]

    def value(self, key: str) -> float | None:
        """A number by its key."""
        return next((one.value for one in self.entries if one.key == key and not one.of), None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tool": self.tool,
            "version": self.version,
            "model": self.model,
            "file": self.file,
            "start": self.start_ms,
            "end": self.end_ms,
            "local_end": self.local_end,
            "seconds": self.seconds,
            "protocol": dict(self.protocol),
            "entries": [one.to_json() for one in self.entries],
            "overlay": None if self.overlay is None else self.overlay.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Benchmark:
        """The reverse of `to_json`; ValueError with a sentence for anything else. What comes may come from anywhere."""
        if not isinstance(data, Mapping):
            raise ValueError("a benchmark is expected to be an object")
        texts = {name: _text(data.get(name, ""), name) for name in ("tool", "version", "model", "file", "local_end")}
        protocol, overlay, seconds = data.get("protocol", {}), data.get("overlay"), data.get("seconds")
        if not isinstance(protocol, Mapping) or len(protocol) > MOST_ENTRIES:
            raise ValueError("“protocol” is expected to be an object of texts")
        if seconds is not None and not is_number(seconds):
            raise ValueError("“seconds” is no number")
        found = cls(
            **texts,
            entries=_entries(data.get("entries")),
            start_ms=_instant(data.get("start"), "start"),
            end_ms=_instant(data.get("end"), "end"),
            seconds=seconds,
            protocol={_text(name, "protocol"): _text(text, name) for name, text in protocol.items()},
            overlay=None if overlay is None else Overlay.from_json(overlay),
        )
        if problem := out_of_time(found):
            raise ValueError(problem)
        return found


def out_of_time(benchmark: Benchmark) -> str:
    """Why a result cannot have been measured when it says, or for so long; "" where it can."""
    if benchmark.seconds is not None and not 0 <= benchmark.seconds <= LONGEST_MS / 1000:
        return f"it took {benchmark.seconds:g} s, expected 0 s to {LONGEST_MS // 86_400_000} days"
    told = [one for one in (benchmark.start_ms, benchmark.end_ms) if one is not None]
    if benchmark.local_end:
        try:
            naive = datetime.fromisoformat(benchmark.local_end).replace(tzinfo=UTC)
        except ValueError:
            return "its end is no time"
        told.append(round(naive.timestamp() * 1000))
    if not all(EARLIEST_MS <= one <= LATEST_MS for one in told):
        return "it was measured before 2015 or after 2099"
    return ""


def is_number(value: Any) -> bool:
    """Whether it is a number that can have been measured, and no switch."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST


def is_text(value: Any) -> bool:
    """Whether it is a text that can be written: JSON may hold halves of signs, which no encoding has."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any, name: object) -> str:
    if not is_text(value) or len(value) > TEXT:
        raise ValueError(f"“{shown(name)}” is no text of at most {TEXT} signs")
    return str(value)


def shown(name: object) -> str:
    """The beginning of a name out of a file, as a sentence can repeat it."""
    return f"{name!s:.40}".encode(errors="replace").decode()


def _instant(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LATEST_MS:
        raise ValueError(f"“{name}” is no instant in milliseconds")
    return value


UNITS = {one.value for one in Unit}
FIELDS = {one.name for one in fields(Entry)}
NUMBERS = FIELDS & {"value", "count", "since", "until"}


def _entries(data: Any) -> tuple[Entry, ...]:
    if not isinstance(data, list) or len(data) > MOST_ENTRIES:
        raise ValueError(f"“entries” is no list of at most {MOST_ENTRIES} numbers")
    return tuple(map(checked_entry, data))


def checked_entry(data: Any) -> Entry:
    """An entry of which nothing is believed; ValueError with a sentence where it is none."""
    if not isinstance(data, Mapping) or not {"key", "label", "value", "unit"} <= set(data) <= FIELDS:
        raise ValueError("a number has no key, label, value and unit, or more than that")
    if not all(data.get(name) is None or is_number(data[name]) for name in NUMBERS):
        raise ValueError(f"“{shown(data['key'])}” is no number")
    texts = {name: _text(data[name], name) for name in FIELDS - NUMBERS if name in data}
    if texts["unit"] not in UNITS:
        raise ValueError(f"the unit “{texts['unit']:.40}” is not known here")
    if texts.get("relation", "=") not in ("=", "<", ">"):
        raise ValueError(f"“{shown(data['key'])}” has no relation of =, < and >")
    return Entry.from_json(data)
