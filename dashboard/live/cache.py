"""Cells of speculation and caches. Where an engine has no counters, what it reports itself stands in."""

from __future__ import annotations

import math

from dashboard.live import current, reasons
from dashboard.live.cells import Cell, cell
from dashboard.live.scene import Scene
from telemetry.catalog import engine
from telemetry.catalog import ratios as quotients
from telemetry.fleet import fold
from telemetry.model import Metric, Ratio

NOT_OFFERED = "not offered by this engine"


def folded(scene: Scene, metric: Metric) -> float:
    """A gauge over all engines by its own fold across; NaN where none is known."""
    part = scene.engines_of(metric.name)
    values = current.newest(part, scene.tick)
    return float(fold(values[:, None], metric.across)[0]) if len(values) else math.nan


def offers(scene: Scene, ratio: Ratio) -> bool:
    """Whether any engine has both sides of a ratio."""
    held = {series.metric for series in scene.engines.series}
    return all(metric.name in held for metric in (*ratio.numerator, *ratio.denominator))


def _either(scene: Scene, ratio: Ratio, other: Ratio | Metric, idle: str) -> Cell:
    """The ratio where its counters are offered, else the other."""
    if offers(scene, ratio):
        why = reasons.idle(scene, idle, ratio.window_s, *ratio.denominator)
        return cell(scene.quotient(ratio), ratio.unit, reasons.reason(scene, ratio, otherwise=why))
    if isinstance(other, Ratio):
        value, here = scene.quotient(other), offers(scene, other)
        idle = reasons.idle(scene, idle, other.window_s, *other.denominator)
    else:
        value = folded(scene, other)
        here = any(series.metric == other.name for series in scene.engines.series)
    return cell(value, other.unit, reasons.reason(scene, ratio, otherwise=idle if here else NOT_OFFERED))


def cache_cells(scene: Scene) -> dict[str, Cell]:
    """acceptance, accepted_length, kv, prefix_hits."""
    no_drafts, no_prompts = "no draft in the last minute", "no prompt in the last 5 m"
    usage = folded(scene, engine.KV_CACHE_USAGE)
    return {
        "acceptance": _either(scene, quotients.ACCEPTANCE, engine.REPORTED_ACCEPTANCE, no_drafts),
        "accepted_length": _either(scene, quotients.ACCEPTED_LENGTH, engine.REPORTED_ACCEPTED_LENGTH, no_drafts),
        "kv": cell(
            usage,
            engine.KV_CACHE_USAGE.unit,
            reasons.reason(scene, engine.KV_CACHE_USAGE, otherwise=NOT_OFFERED),
            engine.KV_CACHE_USAGE.limits,
        ),
        "prefix_hits": _either(scene, quotients.PREFIX_HITS, quotients.PREFIX_CACHE_HIT_RATIO, no_prompts),
    }
