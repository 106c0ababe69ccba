"""Edits: what an order makes of a run. Pure; refusals are sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from runs.model import Measured, Run

MOST = 50
"""Tags, and labels, of one run."""
Edit = Callable[[Run, Mapping[str, Any]], Run]


def _rename(run: Run, order: Mapping[str, Any]) -> Run:
    return replace(run, name=order["name"])


def _label(run: Run, order: Mapping[str, Any]) -> Run:
    labels = {key: value for key, value in run.labels.items() if key != order["key"]}
    if order["value"] is not None:
        findable("the key of a label", order["key"], ":,")
        findable("the value of a label", order["value"], ",")
        labels[order["key"]] = order["value"]
    return replace(run, labels=few(labels, "labels"))


def findable(what: str, text: str, reserved: str) -> None:
    """ValueError where a text has a sign that parts several of its kind where runs are searched for."""
    found = next((sign for sign in reserved if sign in text), None)
    if found is not None:
        raise ValueError(f"{what} has no “{found}”: nobody could search for it")


def _tag(run: Run, order: Mapping[str, Any]) -> Run:
    if order["on"]:
        findable("a tag", order["tag"], ",")
    tags = [one for one in run.tags if one != order["tag"]]
    return replace(run, tags=few((*tags, order["tag"]) if order["on"] else tuple(tags), "tags"))


def few(things: Any, what: str) -> Any:
    """The same labels or tags; ValueError where they are too many."""
    if len(things) > MOST:
        raise ValueError(f"a run has at most {MOST} {what}")
    return things


def _note(run: Run, order: Mapping[str, Any]) -> Run:
    return replace(run, note=order["text"])


def _trim(run: Run, order: Mapping[str, Any]) -> Run:
    start, end = order["start_ms"], order["end_ms"]
    low = run.start_ms if start is None else start
    high = run.end_ms if end is None else end
    if low < run.start_ms or (run.end_ms is not None and high is not None and high > run.end_ms):
        raise ValueError("a run can only be trimmed to a part of it")
    if high is not None and low >= high:
        raise ValueError("nothing of the run would be left")
    return replace(run, trim_start_ms=start, trim_end_ms=end, revision=run.revision + 1)


def _pin(run: Run, order: Mapping[str, Any]) -> Run:
    return replace(run, pinned=order["on"])


def _baseline(run: Run, order: Mapping[str, Any]) -> Run:
    return replace(run, baseline=order["on"])


def _nodes(run: Run, order: Mapping[str, Any]) -> Run:
    nodes = order["nodes"]
    return replace(run, nodes=None if nodes is None else tuple(nodes), revision=run.revision + 1)


def _measured(run: Run, order: Mapping[str, Any]) -> Run:
    return replace(run, measured=Measured.from_json(order["measured"]))


EDITS: Mapping[str, Edit] = {
    "rename": _rename,
    "label": _label,
    "tag": _tag,
    "note": _note,
    "trim": _trim,
    "pin": _pin,
    "baseline": _baseline,
    "nodes": _nodes,
    "measured": _measured,
}
"""Kind of an order → what it makes of the run. Those that do more stand in the chronicle."""
ANEW = frozenset({"trim", "nodes", "merge", "split"})
"""After these the run's numbers are worked out anew, for which its samples must be there."""
