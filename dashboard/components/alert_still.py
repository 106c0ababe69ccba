"""What still holds of that which follows from an alert whose own condition holds no more."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from telemetry import catalog, formatting
from telemetry.model import Kind, Metric

Answer = Mapping[str, Any]
Now = Callable[[str, str], Sequence[Answer]]
"""(name of a target, metric) → what is known of it now, as /api/v1/latest has it."""
OVER = ("ending", "between")
"""Of an alert that fires, though its condition holds no more."""
GRAVITY = ("critical", "warning", "info")
OF_TARGETS = ("node", "gpu", "cage", "function", "sensor", "mount", "target", "server", "engine")
"""Places whose instances begin with the name of a target."""


def ordered(effects: Sequence[Answer]) -> list[Answer]:
    """Those that hold first, the gravest of them first, of those the oldest."""
    return sorted(
        effects, key=lambda one: (one["condition"] != "holds", GRAVITY.index(one["severity"]), one["fired"], one["id"])
    )


def gravest(alert: Answer, effects: Sequence[Answer]) -> Answer | None:
    """The gravest that holds of what follows from an alert which does so no more; None where there is none."""
    if alert["condition"] not in OVER:
        return None
    return next((one for one in ordered(effects) if one["condition"] == "holds" and one["ended"] is None), None)


def words(alert: Answer, effects: Sequence[Answer], now: Now) -> str:
    """“Memory headroom nearly gone” still holds: 1.6 GiB, "" where nothing does."""
    found = gravest(alert, effects)
    if found is None:
        return ""
    value = value_now(found, now)
    return f"“{found['title']}” still holds" + (f": {value}" if value else "")


def value_now(alert: Answer, now: Now) -> str:
    """What the first reading of a rule says now, "" where that is more than a gauge's newest value (an increase, a
    median of others), or not known."""
    if alert["place"] not in OF_TARGETS or not alert["key"] or not alert["values"]:
        return ""
    read = alert["values"][0]
    metric = catalog.find(read["metric"]) if read["metric"] else None
    if not isinstance(metric, Metric) or metric.kind is not Kind.GAUGE or read["label"] != metric.label:
        return ""
    target, *parts = alert["key"]
    values = [one for one in now(target, metric.name) if set(parts) <= set(one["labels"].values())]
    if len(values) != 1 or values[0]["v"] is None or not math.isfinite(values[0]["v"]):
        return ""
    return formatting.text(values[0]["v"], metric.unit)
