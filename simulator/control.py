"""The control endpoint: faults on and off, and the truth. Loopback and JSON only, out of reach of web pages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from simulator.faults import Order, describe
from simulator.http import JSON, NOT_FOUND, Answer, Request
from simulator.truth import TruthLog
from simulator.world import World


class Control:
    """Answers for a world; `advance` brings it to the present first."""

    def __init__(self, world: World, truth: TruthLog, advance: Callable[[], None]) -> None:
        self._world, self._truth, self._advance = world, truth, advance

    async def answer(self, request: Request) -> Answer:
        """Route one request."""
        self._advance()
        if request.path == "/faults" and request.method == "GET":
            return self._list()
        if request.path == "/faults" and request.method == "POST":
            return self._add(request)
        if request.path.startswith("/faults/") and request.method == "DELETE":
            return self._remove(request.path.removeprefix("/faults/"))
        if request.path == "/truth" and request.method == "GET":
            return self._tell(request.query.get("after", "-1"))
        return NOT_FOUND

    def _list(self) -> Answer:
        now = self._world.now
        incidents = [{**one.public(), "state": one.state(now)} for one in self._world.incidents]
        return Answer.json({"known": describe(), "incidents": incidents, "now": now})

    def _add(self, request: Request) -> Answer:
        if request.headers.get("content-type", "").split(";")[0].strip() != JSON:
            return _refuse("a fault is asked for in application/json", 415)
        try:
            order = parse_order(json.loads(request.body))
            incident = self._world.add(order)
        except ValueError as error:
            return _refuse(str(error))
        self._truth.fault(incident)
        return Answer.json(incident.public(), 201)

    def _remove(self, number: str) -> Answer:
        try:
            incident = self._world.remove(int(number))
        except (ValueError, KeyError):
            return _refuse(f"there is no fault {number!r} that is not over", 404)
        self._truth.fault(incident)
        return Answer.json(incident.public())

    def _tell(self, after: str) -> Answer:
        try:
            seconds = self._truth.after(float(after))
        except ValueError:
            return _refuse(f"after is a number of seconds, not {after!r}")
        faults = [one.public() for one in self._world.incidents]
        return Answer.json({**self._truth.about(), "now": self._world.now, "faults": faults, "seconds": seconds})


def parse_order(content: Any) -> Order:
    """{"name", "node", "duration_s"}, the last two optional; ValueError with a sentence otherwise."""
    if not isinstance(content, dict) or not isinstance(content.get("name"), str):
        raise ValueError('a fault is {"name": …, "node": …, "duration_s": …}')
    node, duration = content.get("node"), content.get("duration_s")
    if node is not None and not isinstance(node, str):
        raise ValueError(f"node is a name, not {node!r}")
    if duration is not None and (isinstance(duration, bool) or not isinstance(duration, int | float)):
        raise ValueError(f"duration_s is a number of seconds, not {duration!r}")
    return Order(content["name"], node, None, duration)


def _refuse(sentence: str, status: int = 400) -> Answer:
    return Answer.json({"error": sentence}, status)
