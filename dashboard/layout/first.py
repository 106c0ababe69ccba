"""What the HTML itself shows: the latest message as data for the scripts, and as text for the eye."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any
from urllib.parse import unquote

import flask
from dash.development.base_component import Component

from dashboard.layout.shell import bar
from dashboard.layout.static import Raw, render
from dashboard.pages import alert, alerts, cluster, compare, explore, missing, node, run, runs, status
from dashboard.services import Services

Message = Mapping[str, Any]


def page_at(path: str, services: Services) -> tuple[Component, int]:
    """(page, HTTP status) of an address, as far as it stands without data."""
    path = path.rstrip("/") or "/"  # as Dash reads addresses
    if path.startswith(node.PREFIX):
        return node.page_of(unquote(path.removeprefix(node.PREFIX)), services)
    found = _fixed(path)
    return (missing.page(), 404) if found is None else (found, 200)


def _fixed(path: str) -> Component | None:
    """The page of an address that needs no data to be known; None for an address of no page."""
    if path == "/":
        return cluster.page()
    if path == status.PATH:
        return status.page()
    if path == explore.PATH:
        return explore.page()
    if path == runs.PATH:
        return runs.page(grid=False)
    if path == alerts.PATH:
        return alerts.page(**(flask.request.args.to_dict() if flask.has_request_context() else {}))
    if path.startswith(alert.PREFIX):
        return alert.page(unquote(path.removeprefix(alert.PREFIX)))
    if path == compare.PATH:
        return compare.waiting()
    return run.page(unquote(path.removeprefix(run.PREFIX))) if path.startswith(run.PREFIX) else None


def first_screen(message: Message, page: Component, demo: bool) -> Raw:
    """Header and page with the numbers of the message. The scripts remove it when Dash has drawn the same."""
    cells, sentence = message.get("cells", {}), message["sentence"]
    level = sentence["level"]
    header = render(bar(demo, level, sentence["text"]), cells)
    body = render(page, cells)
    opening = f'<div id="first" data-level="{escape(level)}"><header class="header">'
    return Raw(f"{opening}{header}</header><main>{body}</main></div>")
