"""Routes of the JSON API. Each reads parameters, asks, and answers; docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response, request

from dashboard.api import latest, parameters, series, status
from dashboard.api.lists import encoded
from dashboard.api.parameters import ParameterError
from dashboard.process import MOST_MINUTES, WebProcess
from dashboard.security import refusal
from storage.errors import StoreAway, StoreBusy, StoreError, StoreGone
from telemetry import catalog
from telemetry.model import Kind, Metric, Ratio

NO_TICK = {"tick": None}


def answer(value: Any, status_code: int = 200) -> Response:
    """JSON that no cache may keep."""
    response = Response(encoded(value), status=status_code, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def arguments(known: tuple[str, ...]) -> Mapping[str, str]:
    """The request's parameters, each at most once and none unknown."""
    parameters.only(request.args, known)
    for name in request.args:
        if len(request.args.getlist(name)) > 1:
            raise ParameterError(f"Parameter “{name}” is given more than once.")
    return request.args.to_dict()


def described(metric: Metric | Ratio) -> dict[str, Any]:
    """A metric as /api/v1/metrics tells it."""
    limits = metric.limits and {
        "warning": metric.limits.warning,
        "critical": metric.limits.critical,
        "low": metric.limits.low,
    }
    return {
        "name": metric.name,
        "label": metric.label,
        "help": metric.help,
        "unit": metric.unit.value,
        "kind": metric.kind.value,
        "scope": metric.scope.value,
        "group": metric.group,
        "labels": list(metric.by),
        "across": None if isinstance(metric, Ratio) or metric.kind is Kind.HISTOGRAM else metric.across.value,
        "window_s": metric.window_s if isinstance(metric, Ratio) else None,
        "limits": limits,
        "states": list(metric.states) if metric.kind is Kind.STATE and isinstance(metric, Metric) else [],
    }


def register_reading(routes: Blueprint, process: WebProcess) -> None:
    """Routes that read: status, node, metrics, latest, series, absences."""
    sources = process.sources

    @routes.get("/status")
    def get_status() -> Response:
        arguments(())
        return answer(process.status())

    @routes.get("/node")
    def get_node() -> Response:
        return answer(_node(process, arguments(("name",)).get("name")))

    @routes.get("/metrics")
    def get_metrics() -> Response:
        arguments(())
        return answer({"metrics": [described(metric) for metric in catalog.METRICS]})

    @routes.get("/latest")
    def get_latest() -> Response:
        targets, metrics, quantile = latest.read(arguments(latest.KNOWN), sources)
        return answer(latest.latest(sources, process.scene(), targets, metrics, quantile))

    @routes.get("/series")
    def get_series() -> Response:
        return answer(series.answers(arguments(series.KNOWN), sources))

    @routes.get("/absences")
    def get_absences() -> Response:
        given = arguments(("start", "end", "target"))
        start, end = parameters.range_ms(given, sources.now_ms(), status.ABSENCES_MS)
        parameters.ordered(start, end)
        return answer(status.absences(sources, start, end, given.get("target")))


def _node(process: WebProcess, name: str | None) -> Mapping[str, Any]:
    """One node; ParameterError where there is none of this name."""
    if not name:
        raise ParameterError("Parameter “name” is missing, expected a node's name.")
    found = process.node(name)
    if found is None:
        raise ParameterError(f"There is no node “{name[: parameters.SHOWN]}”.", 404)
    return found


def register_live(routes: Blueprint, process: WebProcess) -> None:
    """Bootstrap and polling."""

    @routes.get("/live")
    def get_live() -> Response:
        given = arguments(("minutes", "after"))
        if "after" in given:
            return _since(process, parameters.integer("after", given["after"]))
        minutes = parameters.number("minutes", given.get("minutes", str(MOST_MINUTES)), 0, MOST_MINUTES)
        found = process.live(minutes)
        return answer({**NO_TICK, "sentence": process.status()["sentence"]} if found is None else found)


def _since(process: WebProcess, tick: int) -> Response:
    entries = process.hub.after_tick(tick)
    if entries is None:
        return answer({"reset": True})
    body = b'{"messages":[' + b",".join(entry.data for entry in entries) + b"]}"
    response = Response(body, content_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    return response


def register_refusals(routes: Blueprint) -> None:
    """Sentences in place of faults."""

    @routes.errorhandler(ParameterError)
    def bad_parameter(error: ParameterError) -> Response:
        return refusal(error.status, str(error))

    @routes.errorhandler(StoreError)
    def store_trouble(error: StoreError) -> Response:
        return refusal(503 if isinstance(error, (StoreAway, StoreBusy, StoreGone)) else 500, str(error))
