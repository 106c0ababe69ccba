"""The rules that come with the product, and what people changed of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

Tables = Mapping[str, Mapping[str, Any]]
FILE = Path(__file__).with_name("defaults.toml")
RUNBOOK = "docs/alerts.md#{}"
"""Where a rule of the product is explained; a test holds that it is."""


@lru_cache(maxsize=1)
def defaults() -> Tables:
    """The tables of `defaults.toml`, by name; each with its paragraph of the documentation as runbook."""
    tables = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: {**table, "runbook": RUNBOOK.format(name)} for name, table in tables.items()}


def merged(*layers: Tables) -> dict[str, dict[str, Any]]:
    """Tables laid over each other, the last on top: field by field, and setting by setting. What is no table of
    settings stays as it is: whoever makes a rule of it says so.

    >>> merged({"a": {"for": "1s", "settings": {"x": "1", "y": "2"}}}, {"a": {"settings": {"x": "3"}}})
    {'a': {'for': '1s', 'settings': {'x': '3', 'y': '2'}}}
    """
    found: dict[str, dict[str, Any]] = {}
    for layer in layers:
        for name, table in layer.items():
            below = found.setdefault(name, {})
            both = [one.get("settings", {}) for one in (below, table)]
            settings = {} if not all(isinstance(one, Mapping) for one in both) else {**both[0], **both[1]}
            below.update(table)
            if settings:
                below["settings"] = settings
    return found
