"""Why something is unknown, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from dashboard.live.scene import Scene
from dashboard.live.unknown import YOUNG
from storage.records import TargetRow
from telemetry import formatting
from telemetry.model import Metric, Ratio, Scope, Unit
from telemetry.states import TargetState

STATE_WORDS = {
    "ok": "answers",
    "not yet scraped": "has not been read yet",
    "unreachable": "does not answer",
    "refused": "refuses the connection",
    "timed out": "does not answer in time",
    "bad answer": "answers with something else than metrics",
    "not found": "has no metrics page",
    "unauthorised": "wants a token",
    "no statistics": "offers no statistics",
    "stopped": "has stopped",
    "loading": "is loading",
    "restarting": "is restarting",
}
"""What each state (`telemetry.states.TargetState`) says of its target."""
NO_STATISTICS, NOT_YET = TargetState.NO_STATISTICS.value, TargetState.NOT_YET_SCRAPED.value
CALM_STATES = frozenset({TargetState.STOPPED.value, TargetState.LOADING.value, TargetState.RESTARTING.value, NOT_YET})
"""Silence that is no failure."""
NO_READING, NO_PORT = "no reading", "no fabric port was found"


def state_words(target: TargetRow, scene: Scene) -> str:
    """What is the matter with a target, "" while it answers: "does not answer (connection refused)"."""
    if scene.alive(target) and target.state != NO_STATISTICS:
        return ""
    if target.state == "ok":
        last = max(target.last_ok_ms or 0, scene.last_read.get(target.name, 0))
        if last >= scene.tick:  # its row is of now, the scene's tick of some seconds ago
            return "was read late"
        return f"has been silent for {formatting.text((scene.tick - last) / 1000, Unit.SECONDS)}"
    if target.reason.startswith("answers"):
        return target.reason  # a whole predicate already
    words = STATE_WORDS.get(target.state, target.state)
    return f"{words} ({target.reason})" if target.reason and target.reason != target.state else words


def target_reason(target: TargetRow, metrics: Iterable[str], scene: Scene) -> str:
    """Why metrics of one target are unknown: its state, or an absence that lasts; "" when neither says so."""
    words = state_words(target, scene)
    if words:
        return f"{target.name} {words}"
    wanted = {None, *metrics}
    found = next((item for item in scene.absences if item.target == target.name and item.metric in wanted), None)
    return "" if found is None else found.reason


def stored_metrics(metric: Metric | Ratio) -> list[Metric]:
    """The stored metrics that a metric or ratio is read from."""
    return [*metric.numerator, *metric.denominator] if isinstance(metric, Ratio) else [metric]


def reason(scene: Scene, *metrics: Metric | Ratio, otherwise: str = NO_READING) -> str:
    """Why a value over all targets of the metrics' kind is unknown."""
    stored = [part for metric in metrics for part in stored_metrics(metric)]
    kinds = {_kind(part.scope) for part in stored}
    concerned = [target for target in scene.targets if target.kind in kinds]
    missing = next((kind for kind in sorted(kinds) if not any(t.kind == kind for t in concerned)), None)
    if missing is not None:
        return f"no {missing} is configured"
    names = [part.name for part in stored]
    return next(filter(None, (target_reason(target, names, scene) for target in concerned)), otherwise)


def idle(scene: Scene, words: str, window_s: float, *metrics: Metric) -> str:
    """`words`, which say that nothing happened in a window; while none of the metrics was watched so long, that."""
    ticks = [part.ticks[(~np.isnan(part.values)).any(axis=0)] for part in map(scene.engines_of, _names(metrics))]
    first = min((int(some[0]) for some in ticks if len(some)), default=None)
    return YOUNG if first is not None and first > scene.tick - window_s * 1000 else words


def _names(metrics: Iterable[Metric]) -> list[str]:
    return [metric.name for metric in metrics]


def _kind(scope: Scope) -> str:
    return "node" if scope in (Scope.NODE, Scope.CLUSTER) else "engine"


def listed(names: Sequence[str], most: int = 2) -> str:
    """ "spark-03", "spark-03 and spark-07", "spark-03, spark-07 and 3 more"."""
    if len(names) <= most:
        return " and ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
