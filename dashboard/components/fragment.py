"""A part of a page that the browser fetches as HTML again and again; React and its cost stay out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import flask
from dash import html
from dash.development.base_component import Component

from dashboard.layout.static import render

ROOT = "/fragment"


def fragment(name: str, every_ms: int, class_name: str = "", **parameters: str) -> Component:
    """The place of a fragment: the browser fills it from /fragment/NAME and looks again after `every_ms`."""
    query = f"?{urlencode(parameters)}" if parameters else ""
    return html.Div(
        "",
        className=f"fragment {class_name}".strip(),
        **{"data-fragment": f"{ROOT}/{name}{query}", "data-every": str(every_ms)},
    )


def serve(server: flask.Flask, name: str, make: Callable[..., tuple[Any, int]], *parameters: str) -> None:
    """Answer /fragment/NAME with the HTML of what `make` gives, called with the request's values of `parameters`.

    make: (components, HTTP status). Everything in them is escaped.
    """

    def answer() -> flask.Response:
        content, status = make(*(flask.request.args.get(parameter, "") for parameter in parameters))
        response = flask.Response(render(content, {}), status=status, content_type="text/html; charset=utf-8")
        response.headers["Cache-Control"] = "no-store"
        return response

    server.add_url_rule(f"{ROOT}/{name}", f"fragment {name}", answer)
