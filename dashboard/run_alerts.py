"""Alerts of a run, as its page, its report and the API tell of them."""

from __future__ import annotations

from typing import Any

from storage.alerts import AlertFilter
from storage.store import Store


def alerts_of(store: Store, run: int, start_ms: int, end_ms: int) -> list[dict[str, Any]]:
    """[{t, end, kind, text, target, severity, alert}] by time: alerts that fired for a while of a stretch of a run,
    those that follow from another left out. t is not before the stretch; end None: it fires."""
    found = store.alerts(AlertFilter(run=run, start_ms=start_ms, end_ms=end_ms))
    told = [
        {
            "t": max(one.fired_ms, start_ms),
            "end": one.ended_ms,
            "kind": "alert",
            "text": one.message,
            "target": one.owner,
            "severity": one.severity,
            "alert": one.id,
        }
        for one in found
        if one.cause is None
    ]
    return sorted(told, key=lambda one: (one["t"], one["alert"]))
