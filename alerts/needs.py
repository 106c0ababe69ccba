"""What rules read: which stored metrics, and how far back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from alerts import expression as ex
from alerts.given import GIVEN
from alerts.rule import Rule
from telemetry import ratios
from telemetry.catalog import cluster
from telemetry.model import Kind, Ratio
from telemetry.model import part as part_of

ALWAYS = frozenset((cluster.SCRAPE_SECONDS.name,))
"""What every target has at every tick."""
LONGEST_MS = 600_000
"""Windows up to this are worked out of samples at hand; longer ones change slowly, and are worked out more rarely."""
LEAD_MS = ratios.SILENT_MS + 1_000
"""How much further back than its window a reading looks: for samples that are held, and members that fell silent."""


def window_ms(reading: ex.Reading) -> int:
    """Length of the window that a reading is taken over; 0 of a value now."""
    own = getattr(reading.metric, "window_s", 0.0) if reading.how == "now" else reading.window_s
    return round(own * 1000)


def stored(reading: ex.Reading) -> frozenset[str]:
    """Names of the stored metrics that a reading is made of; none where it is given (`alerts.given`)."""
    metric = reading.metric
    if metric.name in GIVEN:
        return frozenset()
    if isinstance(metric, Ratio):
        return ratios.stored_names(metric)
    if metric.kind is Kind.HISTOGRAM:
        return frozenset((part_of(metric, "bucket").name,))
    return frozenset((metric.name,))


def conditions(rule: Rule) -> tuple[ex.Condition, ...]:
    """The condition of a rule and, where it has one, that of its end."""
    return (rule.condition,) if rule.clear_condition is None else (rule.condition, rule.clear_condition)


def readings(rules: Iterable[Rule]) -> Iterator[tuple[Rule, ex.Reading]]:
    """Every reading of rules that are on, with the rule."""
    for rule in rules:
        if rule.enabled:
            for condition in conditions(rule):
                yield from ((rule, reading) for reading in ex.readings(condition))


def is_slow(reading: ex.Reading) -> bool:
    """Whether a reading is worked out more rarely than at every tick."""
    return window_ms(reading) > LONGEST_MS
