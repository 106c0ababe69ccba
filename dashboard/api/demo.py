"""The simulator's fault panel, passed through; exists only in the demo."""

from __future__ import annotations

import urllib.error
import urllib.request

from flask import Blueprint, Response, request

from dashboard.security import refusal

TIMEOUT_S = 3.0
MOST_BYTES = 64 * 1024
BODY_CAP_BYTES = 4 * 1024
UNREACHABLE = "The simulator does not answer."

_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Goes straight to the simulator, whatever proxy the environment names."""


def register(routes: Blueprint, control_url: str) -> None:
    """Add `/demo/faults`."""
    address = control_url.rstrip("/") + "/faults"

    @routes.get("/demo/faults")
    def faults() -> Response:
        return forward(address, None)

    @routes.post("/demo/faults")
    def change() -> Response:
        request.max_content_length = BODY_CAP_BYTES
        if not request.is_json:
            return refusal(415, "Send JSON (Content-Type: application/json).")
        return forward(address, request.get_data())

    @routes.delete("/demo/faults/<int:number>")
    def end(number: int) -> Response:
        return forward(f"{address}/{number}", None, "DELETE")


def forward(address: str, body: bytes | None, method: str | None = None) -> Response:
    """Ask the simulator, and pass on what it says. Without a method: POST what there is to send, else GET."""
    headers = {} if body is None else {"Content-Type": "application/json"}
    asked = urllib.request.Request(address, data=body, headers=headers, method=method)
    try:
        with _direct.open(asked, timeout=TIMEOUT_S) as reply:
            return _passed(reply.read(MOST_BYTES), reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return _passed(error.read(MOST_BYTES), error.code)
    except (OSError, ValueError):
        return refusal(502, UNREACHABLE)


def _passed(body: bytes, status: int) -> Response:
    response = Response(body, status=status, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response
