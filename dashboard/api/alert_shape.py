"""An alert as Alertmanager has it, for what is made for that: labels, annotations, startsAt, endsAt, status."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from alerts.record import Alert
from pipeline.notify.compose import labels

GOES_ON = "0001-01-01T00:00:00Z"
"""The end of an alert that fires, as Prometheus writes it."""
STATES = {"firing": "active", "acknowledged": "active", "silenced": "suppressed", "inhibited": "suppressed"}
"""State of an alert → Alertmanager's word; what is over is "resolved"."""


def shape(alert: Alert, state: str, silence: int | None, runbook: str) -> dict[str, Any]:
    """{labels, annotations, startsAt, endsAt, status, fingerprint}; ids are texts there."""
    return {
        "labels": {"alertname": alert.rule, "severity": alert.severity, **labels(alert)},
        "annotations": {
            "summary": alert.title,
            "description": alert.message,
            **({"runbook_url": runbook} if runbook else {}),
        },
        "startsAt": instant(alert.fired_ms),
        "endsAt": GOES_ON if alert.ended_ms is None else instant(alert.ended_ms),
        "status": {
            "state": STATES.get(state, "resolved"),
            "silencedBy": [] if silence is None else [str(silence)],
            "inhibitedBy": [str(alert.cause)] if state == "inhibited" else [],
        },
        "fingerprint": str(alert.id),
    }


def instant(at_ms: int) -> str:
    """
    >>> instant(1_790_000_000_250)
    '2026-09-21T14:13:20.250Z'
    """
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
