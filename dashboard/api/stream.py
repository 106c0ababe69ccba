"""Server-Sent Events: the differences as they are made, with a comment every 10 s so that a dead line is noticed."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from itertools import chain

import orjson
from flask import Blueprint, Response, request

from dashboard.api.parameters import integer
from dashboard.live.hub import Hub, StreamsFullError
from dashboard.process import WebProcess
from dashboard.security import refusal

QUIET_S = 10.0
"""A comment is sent after this long without an event."""
LOOK_S = 1.0
"""A waiting stream looks this often whether the server is about to stop."""
FULL = "All places for live streams are taken; ask /api/v1/live?after=TICK instead."


def event(name: str, data: bytes, tick: int | None = None) -> bytes:
    """One event of the stream; JSON of orjson holds no line breaks."""
    head = b"event: " + name.encode() + (b"" if tick is None else b"\nid: %d" % tick)
    return head + b"\ndata: " + data + b"\n\n"


def events(hub: Hub, after: int | None, quiet_s: float = QUIET_S) -> Generator[bytes]:
    """What one client is sent: what it missed since `after` (or the whole message), then every new difference."""
    with hub.stream():
        yield b"retry: 1000\n\n"
        sequence, message, missed = hub.resume(after)
        if missed is None:
            if after is not None:
                yield event("reset", b"{}")
            if message is not None:
                yield event("tick", orjson.dumps(message), message["tick"])
        else:
            yield from (event("tick", entry.data, entry.tick) for entry in missed)
        yield from follow(hub, sequence, quiet_s)


def follow(hub: Hub, sequence: int, quiet_s: float) -> Iterator[bytes]:
    quiet_since = time.monotonic()
    while not hub.closed:
        entries = hub.wait(sequence, min(LOOK_S, quiet_s))
        if entries is None:
            sequence, message = hub.latest()
            yield event("reset", b"{}")
            if message is not None:
                yield event("tick", orjson.dumps(message), message["tick"])
        elif entries:
            sequence += len(entries)
            yield b"".join(event("tick", entry.data, entry.tick) for entry in entries)
        elif time.monotonic() - quiet_since < quiet_s:
            continue
        else:
            yield b": still here\n\n"
        quiet_since = time.monotonic()


def register(routes: Blueprint, process: WebProcess) -> None:
    """Add `/stream`."""

    @routes.get("/stream")
    def stream() -> Response:
        given = request.headers.get("Last-Event-ID") or request.args.get("after")
        after = None if given is None else integer("after", given)
        body = events(process.hub, after)
        try:
            first = next(body)
        except StreamsFullError:
            answer = refusal(503, FULL)
            answer.headers["Retry-After"] = "10"
            return answer
        response = Response(chain((first,), body), content_type="text/event-stream")
        response.call_on_close(body.close)
        response.headers["Cache-Control"] = "no-cache"
        response.headers["X-Accel-Buffering"] = "no"
        return response
