"""Alerts of a run, as its page, its report and the API tell of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from exchange.bundle import ALERTS
from runs.model import Run
from storage.alerts import AlertFilter
from storage.store import Store


def alerts_of(store: Store, run: Run, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
    """[{t, end, kind, text, target, severity, alert}] by time: alerts that fired for a while of a stretch of a run,
    those that follow from another left out. t is not before the stretch; end None: it fires.

    Of a run of another installation: those that came with it. alert None: there is none such here, and end None: it
    fired when the run was exported."""
    told = _ours(store, run.id, start_ms, end_ms) if run.own else _theirs(store, run.id, start_ms, end_ms)
    clipped = ({**one, "t": max(one["t"], start_ms), "kind": "alert"} for one in told)
    return sorted(clipped, key=lambda one: (one["t"], one["alert"] or 0))


def _ours(store: Store, run: int, start_ms: int, end_ms: int) -> Iterable[dict[str, Any]]:
    for one in store.alerts(AlertFilter(run=run, start_ms=start_ms, end_ms=end_ms)):
        if one.cause is None:
            yield {
                "t": one.fired_ms,
                "end": one.ended_ms,
                "text": one.message,
                "target": one.owner,
                "severity": one.severity,
                "alert": one.id,
            }


def _theirs(store: Store, run: int, start_ms: int, end_ms: int) -> Iterable[dict[str, Any]]:
    kept = store.run_part(run, ALERTS)
    for one in () if kept is None else kept[1]:
        if one["t"] <= end_ms and (one["end"] is None or one["end"] >= start_ms):
            yield {**one, "alert": None}
