""" "What is this number": the catalogue's entry of a metric, in words."""

from __future__ import annotations

from collections.abc import Iterable

from dash import html
from dash.development.base_component import Component

from dashboard.components.table import pairs
from telemetry import formatting
from telemetry.model import Fold, Kind, Limits, Metric, Ratio, Scope, Unit

KINDS = {
    Kind.GAUGE: "gauge: read as it stands",
    Kind.COUNTER: "counter: grows from 0 since the series began; restarts and wraps are taken out",
    Kind.HISTOGRAM: "histogram: a count per bucket, of which a percentile over a trailing window is drawn",
    Kind.STATE: "state: one of the names below",
    Kind.RATIO: "ratio: never stored, worked out anew for every stretch and every sum",
}
FOLDS = {
    Fold.SUM: "sum",
    Fold.MEAN: "mean",
    Fold.MIN: "smallest",
    Fold.MAX: "largest",
    Fold.LAST: "newest",
}
OF = {
    Scope.NODE: "each node",
    Scope.ENGINE: "each engine",
    Scope.DEPLOYMENT: "each deployment",
    Scope.CLUSTER: "the whole cluster",
    Scope.TARGET: "each node and engine",
}
SOURCES = {
    Scope.NODE: "the node's agent",
    Scope.ENGINE: "the engine's metrics page",
    Scope.DEPLOYMENT: "the collector, from the engines of a deployment",
    Scope.CLUSTER: "the collector, from all nodes",
    Scope.TARGET: "the collector, while it reads the target",
}


def about(metric: Metric | Ratio) -> Component:
    """The entry: what it is, of what, in which unit, how it is folded, where it comes from, and its formula."""
    unit = formatting.AXES[metric.unit].unit or metric.unit.value
    entries: list[tuple[str, Component | str | None]] = [
        ("Name", html.Code(metric.name)),
        ("Kind", KINDS[metric.kind]),
        ("Of", _of(metric)),
        ("Unit", f"{unit}, kept in {metric.unit.value.replace('_', ' ')}" if unit != metric.unit.value else unit),
        *_made(metric),
        *_limits(metric.limits, metric.unit),
    ]
    if metric.formerly:
        entries.append(("Formerly", ", ".join(metric.formerly)))
    return html.Div([html.H2(metric.label), html.P(metric.help, className="help"), pairs(entries)])


def _of(metric: Metric | Ratio) -> str:
    by = f", by {', '.join(metric.by)}" if metric.by else ""
    return OF[metric.scope] + by


def _made(metric: Metric | Ratio) -> Iterable[tuple[str, Component | str | None]]:
    """How the number comes about."""
    if isinstance(metric, Ratio):
        yield "Formula", html.Code(formula(metric))
        yield "Window", f"trailing {metric.window_s:g} s" if metric.window_s else "none: of one instant"
        yield "In one point", "Σ numerator ∕ Σ denominator of its samples; ratios are never averaged"
        yield "In total", "mean of the lines" if _is_share(metric) else "Σ numerator ∕ Σ denominator over all lines"
        return
    yield "Source", SOURCES[metric.scope]
    if metric.kind in (Kind.GAUGE, Kind.STATE):
        yield "In one point", FOLDS[metric.over_time]
        yield "In total", FOLDS[metric.across]
    if metric.kind is Kind.STATE:
        yield "States", ", ".join(f"{code} {name}" for code, name in enumerate(metric.states))
    if metric.kind is Kind.HISTOGRAM:
        yield "Window", "trailing 5 minutes; p50 from 10 observations, p95 from 60, p99 from 300"
    if metric.bits != 64:
        yield "Wraps", f"at {metric.bits} bits"


def _is_share(ratio: Ratio) -> bool:
    return not ratio.denominator and ratio.unit is Unit.RATIO


def formula(ratio: Ratio) -> str:
    """A ratio as it is worked out: "Σ accepted ∕ Σ drafted × 100"."""
    above, below = (" + ".join(_term(term) for term in side) for side in (ratio.numerator, ratio.denominator))
    text = f"({above})" if len(ratio.numerator) > 1 else above
    text += f" ∕ ({below})" if len(ratio.denominator) > 1 else f" ∕ {below or 'seconds of the window'}"
    return text + f" × {ratio.scale:g}" * (ratio.scale != 1) + f" + {ratio.offset:g}" * (ratio.offset != 0)


def _term(metric: Metric) -> str:
    """A counter gives its increase, a gauge its value times the seconds it held."""
    return f"Δ {metric.name}" if metric.kind is Kind.COUNTER else f"{metric.name} × s"


def _limits(limits: Limits | None, unit: Unit) -> Iterable[tuple[str, Component | str | None]]:
    if limits is None:
        return
    side = "below" if limits.low else "from"
    text = f"{side} {formatting.text(limits.warning, unit)}"
    if limits.critical is not None:
        text += f", critical {side} {formatting.text(limits.critical, unit)}"
    yield "Attention", text
