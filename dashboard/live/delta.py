"""What changed between two messages. Pure; the rules stand in docs/live.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Message = Mapping[str, Any]

WHOLE_KEYS = ("tick", "age_ms", "sentence", "title", "alerts", "points", "map")
"""Parts that every message carries whole."""


def same_shape(before: Message, after: Message) -> bool:
    """Whether a difference can be told: the same nodes and the same rows in the same order."""
    return _names(before) == _names(after) and _keys(before) == _keys(after)


def _names(message: Message) -> list[str]:
    return [node["name"] for node in message["nodes"]]


def _keys(message: Message) -> list[str]:
    return [row["key"] for row in message["why"]]


def difference(before: Message, after: Message) -> dict[str, Any]:
    """`after` without what the holder of `before` knows; `same_shape` must hold.

    cells: only those that changed, `brief`. nodes: `{"index": position, …}` with the fields that changed, of their
    cells again only those that changed, by position: `{"1": cell}`.
    why: the whole rows that changed.
    """
    changed = {key: after[key] for key in WHOLE_KEYS}
    old_cells = before["cells"]
    changed["cells"] = {key: brief(cell) for key, cell in after["cells"].items() if old_cells.get(key) != cell}
    changed["nodes"] = [
        {"index": index, **fields}
        for index, (old, new) in enumerate(zip(before["nodes"], after["nodes"], strict=True))
        if (fields := _changed(old, new))
    ]
    changed["why"] = [new for old, new in zip(before["why"], after["why"], strict=True) if old != new]
    return changed


CALM = ["ok", ""]


def brief(cell: list[str]) -> list[str]:
    """A cell without its state and reason where all is well: most cells of most ticks, a fifth of what is sent."""
    return cell[:2] if cell[2:] == CALM else cell


def _changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a node that are other than before."""
    fields = {key: value for key, value in new.items() if old.get(key) != value}
    if "cells" in fields:
        pairs = enumerate(zip(old["cells"], new["cells"], strict=True))
        fields["cells"] = {str(place): brief(cell) for place, (was, cell) in pairs if was != cell}
    return fields
