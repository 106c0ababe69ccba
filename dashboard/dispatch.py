"""Requests to Dash's own routes that no page of ours sends: an answer and one line in the log, in place of a fault.

Dash takes the shape of what its renderer sends for granted. What is well formed goes on to it, and faults in our own
pages stay faults.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import dash
from dash.exceptions import DependencyException
from flask import Flask, Response, request

from dashboard.security import refusal

CALLBACK_PATH = "/_dash-update-component"
MALFORMED = "This is no request that a page of ours sends."
NO_FILE = "There is no such file."
LOGGED = 80

log = logging.getLogger(__name__)


def well_formed(body: object, callbacks: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the body of a callback request names a callback that runs here, with its inputs, states and outputs.

    callbacks: by output, each with `inputs` and `state` ([{id, property}]), and `callback` where it runs here.
    """
    if not isinstance(body, dict) or not isinstance(body.get("output"), str):
        return False
    known = callbacks.get(body["output"])
    if known is None or "callback" not in known:
        return False
    changed = body.get("changedPropIds", [])
    return (
        all(_pairs(body.get(part, [])) == _pairs(known[part]) for part in ("inputs", "state"))
        and all(_is_text(one) for part in ("inputs", "state") for one in body.get(part, []))
        and _output(body.get("outputs")) == body["output"]
        and isinstance(changed, list)
        and all(isinstance(one, str) for one in changed)
    )


def _pairs(found: object) -> list[tuple[str, str]] | None:
    """(id, property) of each entry; None where an entry has none."""
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        return None
    pairs = [(one.get("id"), one.get("property")) for one in found]
    return pairs if all(isinstance(text, str) for pair in pairs for text in pair) else None


def _is_text(one: Mapping[str, object]) -> bool:
    """The only inputs are parts of the address: a path that begins with a slash, and a query, which may be missing."""
    value = one.get("value")
    if one["property"] == "pathname":
        return isinstance(value, str) and value.startswith("/")
    return value is None or isinstance(value, str)


def _output(outputs: object) -> str | None:
    """What Dash calls the callback of these outputs: a single one {id, property}, or a list of several."""
    pairs = _pairs(outputs if isinstance(outputs, list) else [outputs])
    if pairs is None:
        return None
    names = [f"{one}.{prop}" for one, prop in pairs]
    return f"..{'...'.join(names)}.." if isinstance(outputs, list) else names[0]


def install(server: Flask, app: dash.Dash) -> None:
    """Put the check before Dash's callbacks, and an answer behind its missing files."""

    @server.before_request
    def check() -> Response | None:
        if request.path != CALLBACK_PATH or request.method != "POST":
            return None
        if well_formed(request.get_json(), app.callback_map):
            return None
        log.warning("refused a malformed request to %s", CALLBACK_PATH)
        return refusal(400, MALFORMED)

    @server.errorhandler(DependencyException)
    def no_file(_error: DependencyException) -> Response:
        log.warning("there is no file %r", request.path[:LOGGED])
        return refusal(404, NO_FILE)
