"""What happened, beside the numbers: the store's events, and the annotations that people make.

Annotations are the web's own: they live under one preference, so a read and a write of it take turns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request

from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.security import refusal
from dashboard.sources import Sources
from storage.store import Store

KEY = "annotations"
KIND = "annotation"
MOST = 1_000
MOST_EVENTS = 1_000
LONGEST = 200
BODY_CAP_BYTES = 4 * 1024
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A new annotation: an instant, or a stretch where `end_ms` is not None; epoch milliseconds."""

    start_ms: int
    end_ms: int | None
    text: str


class Annotations:
    """The annotations of a store: [{id, t, end, text}], oldest first. Threads of one process take turns."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turn = threading.Lock()

    def all(self) -> list[dict[str, Any]]:
        """Every annotation there is, by its start."""
        kept: Mapping[str, Any] = self._store.preference(KEY) or {}
        return sorted(kept.get("items", ()), key=lambda one: (one["t"], one["id"]))

    def between(self, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
        """Those that touch start ≤ t ≤ end."""
        return [one for one in self.all() if one["t"] <= end_ms and (one["end"] or one["t"]) >= start_ms]

    def add(self, asked: Asked) -> int:
        """Keep one; its number, which is never given again. ParameterError when there are MOST already."""
        with self._turn:
            kept = self._store.preference(KEY) or {"last": 0, "items": []}
            if len(kept["items"]) >= MOST:
                raise ParameterError(f"There are {MOST} annotations already; delete some first.", 409)
            number = int(kept["last"]) + 1
            item = {"id": number, "t": asked.start_ms, "end": asked.end_ms, "text": asked.text}
            self._store.set_preference(KEY, {"last": number, "items": [*kept["items"], item]})
        return number

    def remove(self, number: int) -> bool:
        """Forget one; False when there is none of this number."""
        with self._turn:
            kept = self._store.preference(KEY) or {"last": 0, "items": []}
            left = [one for one in kept["items"] if one["id"] != number]
            if len(left) == len(kept["items"]):
                return False
            self._store.set_preference(KEY, {"last": kept["last"], "items": left})
        return True


def wanted(given: Any, now_ms: int) -> Asked:
    """An annotation from the body of a request; ParameterError with a sentence."""
    if not isinstance(given, dict):
        raise ParameterError("Send an object: {“start”: ms, “end”: ms or null, “text”: …}.")
    parameters.only(given, ("start", "end", "text"))
    start = _instant("start", given.get("start"), now_ms)
    end = None if given.get("end") is None else _instant("end", given["end"], now_ms)
    if end is not None and end <= start:
        raise ParameterError("Parameter “end” is not after “start”; leave it out for an instant.")
    text = given.get("text")
    if not isinstance(text, str):
        raise ParameterError("Parameter “text” is missing, expected what there is to remember.")
    text = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    if not 1 <= len(text) <= LONGEST:
        raise ParameterError(f"Parameter “text” is {len(text)} signs long, expected 1 to {LONGEST}.")
    return Asked(start, end, text)


def _instant(name: str, given: Any, now_ms: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= now_ms + DAY_MS:
        raise parameters.bad(name, str(given), "epoch milliseconds, not later than tomorrow")
    return given


def events(sources: Sources, notes: Annotations, start_ms: int, end_ms: int, target: str | None) -> dict[str, Any]:
    """{events: [{t, end, kind, text, target, id}], cut}: oldest first; `id` of annotations only, null else.

    cut: whether only the newest MOST_EVENTS of the store's events are told.
    """
    parameters.ordered(start_ms, end_ms)
    stored = sources.store.events(start_ms, end_ms, target, MOST_EVENTS)
    found = [
        {"t": one.at_ms, "end": None, "kind": one.kind, "text": one.text, "target": one.target, "id": None}
        for one in stored
    ]
    mine = [] if target is not None else notes.between(start_ms, end_ms)
    found += [{**one, "kind": KIND, "target": None} for one in mine]
    return {"events": sorted(found, key=lambda one: one["t"]), "cut": len(stored) == MOST_EVENTS}


def register(routes: Blueprint, sources: Sources) -> None:
    """Add `/events` and `/annotations`."""
    notes = Annotations(sources.store)

    @routes.get("/events")
    def get_events() -> Response:
        given = arguments(("start", "end", "target"))
        start, end = parameters.range_ms(given, sources.now_ms(), DAY_MS)
        return answer(events(sources, notes, start, end, given.get("target")))

    @routes.get("/annotations")
    def get_annotations() -> Response:
        arguments(())
        return answer({"annotations": notes.all()})

    @routes.post("/annotations")
    def make() -> Response:
        request.max_content_length = BODY_CAP_BYTES
        if not request.is_json:
            return refusal(415, "Send JSON (Content-Type: application/json).")
        return answer({"id": notes.add(wanted(request.get_json(), sources.now_ms()))}, 201)

    @routes.delete("/annotations/<int:number>")
    def forget(number: int) -> Response:
        if not notes.remove(number):
            return refusal(404, f"There is no annotation {number}.")
        return answer({"deleted": number})
