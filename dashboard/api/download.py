"""`/api/v1/export.csv`, `.parquet` and `.sqlite`: files made while they are sent, two at most at a time."""

from __future__ import annotations

import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from flask import Blueprint, Response, request

from dashboard.api import export, parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.process import WebProcess
from dashboard.security import refusal
from exchange import formats
from exchange.estimate import Estimate, estimate
from exchange.extract import Export, extract
from exchange.names import file_name
from exchange.parquet import NoParquet
from exchange.sqlite import NoRoom
from exchange.watched import Watched

MOST = 2
"""Exports made at once; each holds a thread and a part of a processor."""
RETRY_S = 10
FULL = f"{MOST} exports are being made already; ask again when one of them is done."
BREATH_S = 0.002
"""Pause between slices, in which live ticks get their turn."""
STALLED_S = 60.0
"""A client that takes less than a part for so long has gone, and gives its place to the next."""
PART_BYTES = 64 << 10
"""Sent at once: the time that sending may take is that of all of it, and pieces of a file have megabytes."""
GZIP = "application/gzip"
TYPES = {
    formats.CSV: "text/csv; charset=utf-8; header=present",
    formats.PARQUET: "application/vnd.apache.parquet",
    formats.SQLITE: "application/vnd.sqlite3",
}


class Places:
    """So many exports at once, and no more."""

    def __init__(self, most: int = MOST) -> None:
        self._free = threading.BoundedSemaphore(most)

    def take(self) -> Callable[[], None] | None:
        """What gives the place back, however often it is called; None when none is free."""
        if not self._free.acquire(blocking=False):
            return None
        once = threading.Lock()

        def give_back() -> None:
            if once.acquire(blocking=False):
                self._free.release()

        return give_back


def register(routes: Blueprint, process: WebProcess) -> None:
    """Add a route per form."""
    places = Places()

    def get_export(form: str) -> Response:
        given = arguments(export.KNOWN)
        wanted = export.read(given, process.sources, form)
        packed = _packed(form, given)
        formats.check(form)
        if parameters.flag("estimate", given.get("estimate", "0")):
            return answer(told(estimate(wanted, process.sources, form, gzip=packed)))
        give_back = places.take()
        if give_back is None:
            return _full()
        try:
            return _file(process, wanted, form, packed, give_back)
        except BaseException:
            give_back()
            raise

    for form in formats.FORMS:
        routes.add_url_rule(f"/export.{form}", f"export_{form}", get_export, methods=["GET"], defaults={"form": form})

    @routes.errorhandler(NoParquet)
    def no_parquet(error: NoParquet) -> Response:
        return refusal(501, str(error))

    @routes.errorhandler(NoRoom)
    def no_room(error: NoRoom) -> Response:
        return refusal(507, str(error))


def _packed(form: str, given: Mapping[str, str]) -> bool:
    packed = parameters.flag("gzip", given.get("gzip", "0"))
    if packed and form != formats.CSV:
        raise ParameterError("Parameter “gzip” is for CSV; the other forms are compact by themselves.")
    return packed


def told(found: Estimate) -> dict[str, Any]:
    """As `estimate=1` answers."""
    return {"rows": found.rows, "bytes": found.size_bytes, "exact": found.exact}


def _full() -> Response:
    refused = refusal(503, FULL)
    refused.headers["Retry-After"] = str(RETRY_S)
    return refused


def _file(process: WebProcess, wanted: Export, form: str, packed: bool, give_back: Callable[[], None]) -> Response:
    """The file as it is made. Its first piece is made here, so that what fails at once is told in a sentence."""
    line = _line(request.environ)
    if line is not None:
        line.settimeout(STALLED_S)

    def still_wanted() -> bool:
        return line is None or open_still(line)

    def made() -> formats.Pieces:
        found = extract(wanted, Watched(process.sources, still_wanted), lambda: time.sleep(BREATH_S))
        yield from formats.pieces(form, wanted, found, gzip=packed, still_wanted=still_wanted)

    pieces = made()
    body = _until_done(chain((_first(pieces),), pieces), give_back)
    response = Response(body, content_type=GZIP if packed else TYPES[form])
    response.call_on_close(pieces.close)
    response.call_on_close(give_back)
    name = file_name(wanted, f"{form}.gz" if packed else form)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response


def _first(pieces: Iterator[bytes]) -> bytes:
    """The first piece; none for a client that has gone already, of whom nobody is to be told."""
    try:
        return next(pieces, b"")
    except BrokenPipeError:
        return b""


def _until_done(pieces: Iterable[bytes], give_back: Callable[[], None]) -> Iterator[bytes]:
    """The same pieces, in parts; the place is free when all of them are made, whether or not the server closes the
    answer."""
    try:
        for piece in pieces:
            if len(piece) <= PART_BYTES:
                yield piece
            else:
                yield from (piece[low : low + PART_BYTES] for low in range(0, len(piece), PART_BYTES))
    finally:
        give_back()


def _line(environ: Mapping[str, Any]) -> socket.socket | None:
    """The connection that a request came by, where the server lends it."""
    found = environ.get("gunicorn.socket") or environ.get("werkzeug.socket")
    return found if type(found) is socket.socket else None  # an encrypted one cannot be peeked into


def open_still(line: socket.socket) -> bool:
    """Whether the other side has not hung up, as far as can be seen without reading what it sent."""
    try:
        readable, _, _ = select.select([line], [], [], 0)
        return not readable or bool(line.recv(1, socket.MSG_PEEK))
    except (OSError, ValueError):
        return False
