"""What is asked for below /api and does not exist: a sentence in place of a page for people."""

from __future__ import annotations

from flask import Flask, Response, request
from werkzeug.routing import MapAdapter, RequestRedirect

from dashboard.security import refusal

SHOWN = 80
ENDPOINT = "unknown_route"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def register(server: Flask) -> None:
    """Answer for addresses below /api that no other route answers for: 404, or 405 where another method would do."""

    def unknown(rest: str) -> Response:
        others = other_methods(server.url_map.bind("localhost"), request.path)
        if others:
            return refusal(405, f"{request.method} is not answered at this address, only {' and '.join(others)}.")
        return refusal(404, f"There is nothing at /api/{rest[:SHOWN]}. What there is stands in docs/api.md.")

    server.add_url_rule("/api/", ENDPOINT, unknown, methods=METHODS, defaults={"rest": ""})
    server.add_url_rule("/api/<path:rest>", ENDPOINT, unknown, methods=METHODS)


def other_methods(routes: MapAdapter, path: str) -> list[str]:
    """Methods for which a path has a route of its own."""
    return [method for method in METHODS if _endpoint(routes, path, method) != ENDPOINT]


def _endpoint(routes: MapAdapter, path: str, method: str) -> str:
    try:
        return str(routes.match(path, method)[0])
    except RequestRedirect:
        return ENDPOINT
