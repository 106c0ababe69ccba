"""Values at which rules begin to hold, for charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from alerts.defaults import Tables
from alerts.limits import Limit, limits
from alerts.rulebook import Rulebook
from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from storage.store import Store
from telemetry import formatting
from telemetry.model import Unit

KNOWN = ("metric",)
MOST_METRICS = 32

_kept: WeakKeyDictionary[Store, tuple[tuple[int, int], Rulebook]] = WeakKeyDictionary()


def rulebook_to_read(sources: Sources, file: Tables) -> Rulebook:
    """Rules as the collector has them, made anew only when somebody has changed one; nobody may change this book."""
    changes = sources.store.rule_changes()
    stamp = (id(file), max((change.id for change in changes), default=0))
    kept = _kept.get(sources.store)
    if kept is None or kept[0] != stamp:
        kept = _kept[sources.store] = stamp, Rulebook(file, changes)
    return kept[1]


def of_metrics(sources: Sources, file: Tables, given: Mapping[str, str]) -> dict[str, Any]:
    """{limits: {metric: [limit]}} of metrics with commas between them."""
    names = [name for name in given.get("metric", "").split(",") if name]
    if not 0 < len(names) <= MOST_METRICS:
        raise ParameterError(f"Name one to {MOST_METRICS} metrics, with commas between them: “metric=gpu_power_watts”.")
    book = rulebook_to_read(sources, file)
    found = {name: parameters.metric(name) for name in names}
    return {
        "limits": {
            name: [limit_json(one, metric.unit) for one in limits(book.rules.values(), name)]
            for name, metric in found.items()
        }
    }


def limit_json(limit: Limit, unit: Unit) -> dict[str, Any]:
    """A limit; value in the metric's base unit, text as people read it."""
    return {
        "rule": limit.rule,
        "title": limit.title,
        "severity": limit.severity.value,
        "side": limit.side,
        "value": limit.value,
        "text": formatting.text(limit.value, unit),
        "labels": {name: list(texts) for name, texts in limit.labels},
    }
