"""Bundle: one run with everything that is kept of it, as one file that another installation imports.

Packed JSON: {format, version, checksum, content}. No names of files are in it, so none can lead anywhere; what it
unpacks to is counted while it is unpacked; nothing in it is believed before it is checked.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alerts.rule import Severity
from exchange.benchmarks.record import PART, Benchmark, checked_entry, is_number, is_text
from exchange.spans import instant, span, within
from runs.bounds import AHEAD_MS
from runs.compare.cells import checked
from runs.entries import Section
from runs.fingerprint import Fingerprint
from runs.model import Mark, Measured, Run
from telemetry.catalog import cluster

FORMAT, VERSION = "tachograph run", 1
SUFFIX = ".tachograph-run"
MOST_PACKED, MOST_BYTES = 8 << 20, 24 << 20
MOST_LISTED, MOST_POINTS, MOST_SERIES, MOST_BENCHMARKS = 20_000, 5_001, 2_000, 200
LINE, TEXT = 200, 4_000
ORIGIN = "origin:"
NAMED = "foreign:"
"""Begins the name of a deployment whose runs came from elsewhere; none of ours begins so."""
SEVERITIES = tuple(one.value for one in Severity)
DEPLOYMENT = cluster.DEPLOYMENT_PREFIX
ALERTS = "alerts"
ALERT_FIELDS = ("t", "end", "target", "severity", "text")
"""Of an alert that came with a run; end is null where it fired when the run was exported."""
KINDS = ("summary", "headline", "fingerprint", "charts", "events", ALERTS, "cells")


def origin_part(key: str) -> str:
    """Kind of the part that says where a run came from."""
    return ORIGIN + key


@dataclass(frozen=True)
class Bundle:
    """One run. about: what is said of it (name, model, times, tags …). parts: what is kept of it, JSON by kind.

    origin: the number that it had, and by what it was written.
    """

    about: Mapping[str, Any]
    parts: Mapping[str, Any]
    marks: tuple[Mark, ...] = ()
    origin: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same for the same run."""
        return checksum({"about": dict(self.about), "parts": dict(self.parts)})[:16]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "about": dict(self.about),
            "parts": dict(self.parts),
            "marks": [[one.at_ms, one.kind, one.text] for one in self.marks],
            "origin": dict(self.origin),
        }

    @classmethod
    def from_json(cls, data: Any) -> Bundle:
        """The reverse of `to_json`; ValueError with a sentence where anything in it is not what it should be."""
        content = _object(data, "content")
        about = _about(_object(content.get("about"), "about"))
        parts = _parts(_object(content.get("parts"), "parts"))
        marks = tuple(Mark(*_row(one, (int, str, str), "marks")) for one in _list(content.get("marks"), "marks"))
        within(about, parts, [one.at_ms for one in marks])
        origin = _object(content.get("origin"), "origin")
        told = {"id": _whole(origin.get("id"), "origin"), "version": _text(origin.get("version"), "origin", LINE)}
        return cls(about, parts, marks, {**told, "exported": instant(origin.get("exported"), "exported")})

    @classmethod
    def checked(cls, data: Mapping[str, Any]) -> Bundle:
        """The reverse of `to_json` for what `from_json` has given: nothing is looked at again."""
        return cls(data["about"], data["parts"], tuple(Mark(*one) for one in data["marks"]), data["origin"])

    @property
    def kept(self) -> dict[str, Any]:
        """Its parts as they stand here: the deployment in its charts is the foreign one."""
        charts = self.parts.get("charts")
        if charts is None:
            return dict(self.parts)
        own, theirs = DEPLOYMENT + self.about["deployment"], f"{DEPLOYMENT}{NAMED}{self.about['deployment']}"
        series = [{**one, "target": theirs if one["target"] == own else one["target"]} for one in charts["series"]]
        return {**self.parts, "charts": {**charts, "series": series}}

    def run(self, number: int) -> Run:
        """The run as it stands here: over, of a deployment of its own, and without engines that we could read."""
        about = dict(self.about)
        return Run(
            number,
            f"{NAMED}{about['deployment']}",
            about["name"],
            about["start"],
            about["end"],
            began=about["began"],
            ended=about["ended"],
            by="foreign",
            model=about["model"],
            labels=about["labels"],
            tags=tuple(about["tags"]),
            note=about["note"],
            trim_start_ms=about["trim_start"],
            trim_end_ms=about["trim_end"],
            measured=Measured.from_json(about["measured"]),
        )


def checksum(content: Any) -> str:
    """Of JSON, in whatever order its keys stand."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write(bundle: Bundle) -> bytes:
    """The file."""
    content = bundle.to_json()
    data = {"format": FORMAT, "version": VERSION, "checksum": checksum(content), "content": content}
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)


def read(data: bytes, now_ms: int) -> Bundle:
    """A bundle from its file; ValueError with a sentence where it is none, damaged, too large, newer, or of a run that
    was not over yet."""
    text = _unpacked(data)
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # also an integer of more digits than Python reads
        raise ValueError("this file is no run of a Tachograph: it holds no JSON") from None
    head = _object(found, "file")
    if head.get("format") != FORMAT:
        raise ValueError("this file is no run of a Tachograph")
    if head.get("version") != VERSION:
        raise ValueError(f"this run was written by another version ({head.get('version')!r:.20}), known is {VERSION}")
    if head.get("checksum") != checksum(head.get("content")):
        raise ValueError("this file is damaged: its checksum is another one")
    bundle = Bundle.from_json(head["content"])
    if bundle.about["end"] > now_ms + AHEAD_MS:
        raise ValueError("the run ends in the future: the clock of one of the two installations is wrong")
    return bundle


def _unpacked(data: bytes) -> bytes:
    """The JSON in a file; a few kilobytes that would fill the memory are noticed before they do."""
    if len(data) > MOST_PACKED:
        raise ValueError(f"this file is larger than a run can be ({MOST_PACKED >> 20} MiB)")
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(data, MOST_BYTES + 1)
    except zlib.error:
        raise ValueError("this file is no run of a Tachograph: it is not packed, or damaged") from None
    if len(found) > MOST_BYTES:
        raise ValueError(f"this file holds more than a run can ({MOST_BYTES >> 20} MiB unpacked)")
    if not unpacker.eof:
        raise ValueError("this file is damaged: its end is missing")
    return found


def _object(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"“{name}” is expected to be an object")
    return value


def _list(value: Any, name: str, most: int = MOST_LISTED) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"“{name}” is expected to be a list of at most {most}")
    return value


def _text(value: Any, name: str, most: int = TEXT) -> str:
    if not is_text(value) or len(value) > most:
        raise ValueError(f"“{name}” is expected to be a text of at most {most} signs")
    return str(value)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
        raise ValueError(f"“{name}” is expected to be a whole number")
    return value


def _texts(value: Any, name: str) -> dict[str, str]:
    found = _object(value, name)
    if len(found) > 50:
        raise ValueError(f"“{name}” has more than 50 members")
    return {_text(key, name, LINE): _text(text, name, LINE) for key, text in found.items()}


def _row(value: Any, kinds: Sequence[type], name: str) -> list[Any]:
    row = _list(value, name, len(kinds))
    if len(row) != len(kinds):
        raise ValueError(f"“{name}” has a row that is not whole")
    return [instant(one, name) if kind is int else _text(one, name) for one, kind in zip(row, kinds, strict=True)]


def _about(data: Mapping[str, Any]) -> dict[str, Any]:
    names = ("deployment", "name", "model", "began", "ended")
    found: dict[str, Any] = {name: _text(data.get(name), name, LINE if name != "ended" else TEXT) for name in names}
    found["deployment"] = found["deployment"].removeprefix(NAMED)
    found |= dict(zip(("start", "end"), span(data, "the run"), strict=True))
    for name in ("trim_start", "trim_end"):
        found[name] = None if data.get(name) is None else instant(data[name], name)
    found |= {"labels": _texts(data.get("labels"), "labels"), "measured": _texts(data.get("measured"), "measured")}
    found["tags"] = [_text(one, "tags", LINE) for one in _list(data.get("tags"), "tags", 50)]
    found["note"] = _text(data.get("note"), "note")
    return found


def _parts(data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, value in data.items():
        if kind.startswith(PART):
            benchmark = Benchmark.from_json(value)
            found[PART + benchmark.key] = benchmark.to_json()
        elif kind in KINDS:
            found[kind] = _CHECKS[kind](value)
        else:
            raise ValueError(f"“parts” has {kind!r:.40}, which is not known here")
    if len(found) > MOST_BENCHMARKS or "summary" not in found:
        raise ValueError("“parts” has no summary, or too many benchmarks")
    return {"fingerprint": [], "events": [], "headline": {}, **found}


def _summary(value: Any) -> dict[str, Any]:
    told = _object(value, "summary")
    sections = [
        Section(
            _text(_object(one, "sections").get("key"), "key", LINE),
            _text(one.get("label"), "label", LINE),
            tuple(checked_entry(entry) for entry in _list(one.get("entries"), "entries")),
        )
        for one in _list(told.get("sections"), "sections", 100)
    ]
    if not sections:
        raise ValueError("“sections” is empty: the run has no numbers")
    return {
        **dict(zip(("start", "end"), span(told, "the summary"), strict=True)),
        "cut": _text(told.get("cut", ""), "cut"),
        "why": _text(told.get("why", ""), "why"),
        "sections": [one.to_json() for one in sections],
    }


def _headline(value: Any) -> dict[str, float | None]:
    found = _object(value, "headline")
    if len(found) > 100 or not all(one is None or is_number(one) for one in found.values()):
        raise ValueError("“headline” is expected to be an object of numbers")
    return {_text(name, "headline", LINE): one for name, one in found.items()}


def _fingerprint(value: Any) -> list[dict[str, Any]]:
    fields = _list(value, "fingerprint", 200)
    for one in fields:
        row = _object(one, "fingerprint")
        if not {"key", "label", "value"} <= set(row) <= {"key", "label", "value", "unit", "apart", "changes"}:
            raise ValueError("“fingerprint” has a field that is not whole")
        for name in ("key", "label", "value", "unit"):
            _text(row.get(name, ""), name)
        for name, text in _object(row.get("apart", {}), "apart").items():
            _text(name, "apart")
            _text(text, "apart")
        for change in _list(row.get("changes", []), "changes"):
            _row(change, (int, str, str, str), "changes")
    return Fingerprint.from_json(fields).to_json()


def _events(value: Any) -> list[dict[str, Any]]:
    return [
        {
            "t": instant(_object(one, "events").get("t"), "t"),
            **{name: _text(one.get(name), name) for name in ("target", "kind", "text")},
        }
        for one in _list(value, "events")
    ]


def _alerts(value: Any) -> list[dict[str, Any]]:
    return [_alert(_object(one, ALERTS)) for one in _list(value, ALERTS)]


def _alert(one: Mapping[str, Any]) -> dict[str, Any]:
    fired = instant(one.get("t"), "t")
    ended = None if one.get("end") is None else instant(one["end"], "end")
    if ended is not None and ended < fired:
        raise ValueError(f"“{ALERTS}” has one that ends before it fires")
    if one.get("severity") not in SEVERITIES:
        raise ValueError(f"“severity” is {', '.join(SEVERITIES)}")
    texts = {name: _text(one.get(name), name) for name in ("target", "text")}
    return {"t": fired, "end": ended, "severity": one["severity"], **texts}


def _charts(value: Any) -> dict[str, Any]:
    told = _object(value, "charts")
    series = [_line(_object(one, "series")) for one in _list(told.get("series"), "series", MOST_SERIES)]
    if len({len(one["v"]) for one in series}) > 1:
        raise ValueError("“series” are not equally long")
    step = _whole(told.get("step_ms"), "step_ms")
    if step < 1:
        raise ValueError("“step_ms” is 0")
    return {"start": instant(told.get("start"), "start"), "step_ms": step, "series": series}


def _line(one: Mapping[str, Any]) -> dict[str, Any]:
    values = _list(one.get("v"), "v", MOST_POINTS)
    if not all(value is None or is_number(value) for value in values):
        raise ValueError("“v” is expected to be a list of numbers")
    return {
        "metric": _text(one.get("metric"), "metric", LINE),
        "target": _text(one.get("target"), "target", LINE).replace(DEPLOYMENT + NAMED, DEPLOYMENT, 1),
        "labels": _texts(one.get("labels"), "labels"),
        "v": list(values),
    }


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "summary": _summary,
    "headline": _headline,
    "fingerprint": _fingerprint,
    "charts": _charts,
    "events": _events,
    ALERTS: _alerts,
    "cells": checked,
}
