"""Walks components, for tests that ask what stands on a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dash.development.base_component import Component


def walk(part: Any) -> Iterator[Component]:
    """A component and everything in it, in order."""
    if isinstance(part, (list, tuple)):
        for one in part:
            yield from walk(one)
    elif isinstance(part, Component):
        yield part
        yield from walk(getattr(part, "children", None))


def text(part: Any) -> str:
    """What can be read of a component, with single spaces."""
    return " ".join(" ".join(_texts(part)).split())


def _texts(part: Any) -> Iterator[str]:
    if isinstance(part, (list, tuple)):
        for one in part:
            yield from _texts(one)
    elif isinstance(part, Component):
        yield from _texts(getattr(part, "children", None))
    elif part is not None:
        yield str(part)


def attribute(part: Component, name: str) -> Any:
    """Value of a property, None where it is not set."""
    return part.to_plotly_json()["props"].get(name)


def rows(part: Any) -> list[list[str]]:
    """The cells of every table row in it, as text."""
    return [[text(cell) for cell in row.children] for row in walk(part) if row.to_plotly_json()["type"] == "Tr"]
