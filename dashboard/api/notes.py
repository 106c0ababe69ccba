"""What happened, beside the numbers: the store's events, and the annotations that people make."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from dashboard.annotations import Annotations, Asked
from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.security import refusal
from dashboard.sources import Sources

KIND = "annotation"
MOST_EVENTS = 1_000
LONGEST = 200
BODY_CAP_BYTES = 4 * 1024
DAY_MS = 86_400_000


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
