"""HTML text of a page before any script has run: the numbers are on the screen while Dash is still loading.

Knows the components that pages with live numbers are made of: everything of `dash.html`, links, and graphs (an empty
box of the same class). Identifiers are left out, because the real page brings them along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from dash.development.base_component import Component

from telemetry.formatting import beside

Cells = Mapping[str, list[str]]
ATTRIBUTES = {
    "className": "class",
    "href": "href",
    "title": "title",
    "role": "role",
    "scope": "scope",
    "type": "type",
    "tabIndex": "tabindex",
}
VOID = {"img", "br", "hr", "input"}
BOXES = {"Graph": "div", "Link": "a"}


def _style(style: Mapping[str, Any]) -> str:
    return ";".join(f"{key}:{value}" for key, value in style.items())


def _attributes(props: Mapping[str, Any]) -> Iterable[str]:
    for key, value in props.items():
        if key == "style":
            yield f' style="{escape(_style(value))}"'
        elif key == "hidden" and value:
            yield " hidden"
        elif key in ATTRIBUTES or key.startswith(("data-", "aria-")):
            yield f' {ATTRIBUTES.get(key, key)}="{escape(str(value))}"'


def _filled(props: Mapping[str, Any], cells: Cells) -> Any:
    """Children of a component; the number and unit of a cell where the snapshot has one."""
    key = props.get("data-cell")
    if key not in cells:
        return props.get("children")
    number, unit = cells[key][:2]
    return Raw(f"<b>{escape(number)}</b><i>{escape(beside(unit))}</i>")


class Raw(str):
    """Text that is HTML already."""


def render(part: Any, cells: Cells) -> str:
    """HTML of a component, a list of them, or text."""
    if part is None:
        return ""
    if isinstance(part, Raw):
        return str(part)
    if isinstance(part, (list, tuple)):
        return "".join(render(child, cells) for child in part)
    if not isinstance(part, Component):
        return escape(str(part))
    described = part.to_plotly_json()
    name, props = described["type"], described["props"]
    tag = BOXES.get(name, name.lower())
    opening = f"<{tag}{''.join(_attributes(_with_state(props, cells)))}>"
    return opening if tag in VOID else f"{opening}{render(_filled(props, cells), cells)}</{tag}>"


def _with_state(props: Mapping[str, Any], cells: Cells) -> Mapping[str, Any]:
    """A cell's state and reason as the browser would set them."""
    key = props.get("data-cell")
    if key not in cells:
        return props
    _, _, state, reason = cells[key]
    return {**props, "data-state": state, **({"title": reason} if reason else {})}
