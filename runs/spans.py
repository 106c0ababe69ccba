"""Of which time a node's amounts are: means, and amounts per token, are of that and not of what nobody watched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from runs.coverage import Coverage
from runs.rows import of
from runs.stretch import Stretch
from telemetry.model import Metric


@dataclass(frozen=True, slots=True)
class Span:
    """From the reading that an amount counts from to the one that it counts to; gaps between them are part of it."""

    start_ms: float
    end_ms: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ms - self.start_ms) / 1000.0


Amounts = Iterable[tuple[str, float]]
"""(node, amount)."""


def of_counters(stretch: Stretch, metric: Metric) -> dict[str, Span]:
    """By node, between the two readings that its counters count from and to, however old the first."""
    frame = of(stretch.moved, metric)
    found: dict[str, Span] = {}
    for row, series in enumerate(frame.series):
        ticks = frame.ticks[~np.isnan(frame.values[row])]
        if len(ticks):
            found[series.target] = _edged(stretch, float(ticks[0]), float(ticks[-1]), float(frame.gap_ms[row]))
    return found


def of_samples(stretch: Stretch) -> dict[str, Span]:
    """By node, of what is added up from samples: power over time, and the bytes of cages."""
    watch = stretch.machines.watch
    return {one.target: _watched(stretch, one, watch.before.get(one.target)) for one in stretch.node_coverage}


def _watched(stretch: Stretch, one: Coverage, before_ms: float | None) -> Span:
    """Without a gap at an edge of the stretch it reaches to that edge; so does what no such sample tells of."""
    start, end = float(stretch.start_ms), float(stretch.end_ms)
    if not one.present:
        return Span(start, end)
    for low, high in one.gaps:
        if high >= stretch.end_ms:
            end = low
        if low <= stretch.start_ms:
            start = high if before_ms is None else before_ms
    return Span(start, end)


def _edged(stretch: Stretch, first_ms: float, last_ms: float, gap_ms: float) -> Span:
    """From reading to reading, those beside an edge of the stretch taken for the edge."""
    start = stretch.start_ms if abs(first_ms - stretch.start_ms) <= gap_ms else first_ms
    return Span(start, stretch.end_ms if stretch.end_ms - last_ms <= gap_ms else last_ms)


def rate(amounts: Amounts, spans: Mapping[str, Span]) -> float:
    """Σ amount ∕ length of the node's span; NaN where one has no length."""
    return _over(amounts, {node: span.seconds for node, span in spans.items()})


def per_token(stretch: Stretch, amounts: Amounts, spans: Mapping[str, Span]) -> float:
    """Σ amount ∕ output tokens of the node's span; NaN where one had none, or they are not known."""
    tokens = {span: _tokens(stretch, span) for span in set(spans.values())}
    return _over(amounts, {node: tokens[span] for node, span in spans.items()})


def _over(amounts: Amounts, below: Mapping[str, float]) -> float:
    return sum(amount / below[node] if below[node] > 0 else float("nan") for node, amount in amounts)


def _tokens(stretch: Stretch, span: Span) -> float:
    """Output tokens of a span."""
    if (span.start_ms, span.end_ms) == (stretch.start_ms, stretch.end_ms):
        return stretch.output_tokens
    return stretch.tokens_of(span.start_ms, span.end_ms)


def said(stretch: Stretch, spans: Mapping[str, Span]) -> str:
    """What to say of a mean where nodes were not watched from end to end; "" where all were."""
    if not spans or not stretch.subject.seconds > 0:
        return ""
    node, span = min(spans.items(), key=lambda pair: pair[1].seconds)
    share = span.seconds / stretch.subject.seconds
    return f"of the time in which each node was watched, {node} {100 * share:.3g} %" if share < 1 else ""
