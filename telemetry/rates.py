"""Rates of counters, as ratios that the catalogue need not name: the increase over the trailing 10 s, per second."""

from __future__ import annotations

from telemetry.model import Kind, Metric, Ratio, Scope, Unit
from telemetry.summary import RATE_WINDOW_MS

UNITS = {
    Unit.BYTES: Unit.BYTES_PER_SECOND,
    Unit.JOULES: Unit.WATTS,
    Unit.SECONDS: Unit.COUNT,
    Unit.TOKENS: Unit.TOKENS_PER_SECOND,
}
"""Unit of a rate where it has a name of its own; of all other counters it is a number per second. Seconds per second
are a number of things that go on at a time."""
NETWORK_GROUPS = ("fabric", "management")
"""Groups whose bytes per second are shown decimal, as networks are."""


def rate(counter: Metric) -> Ratio:
    """Increase per second of a counter over the trailing 10 s. ValueError for anything that is no counter."""
    if counter.kind is not Kind.COUNTER:
        raise ValueError(f"{counter.name} is no counter and has no rate")
    unit = UNITS.get(counter.unit, Unit.PER_SECOND)
    if unit is Unit.BYTES_PER_SECOND and counter.group in NETWORK_GROUPS:
        unit = Unit.NETWORK_BYTES_PER_SECOND
    return Ratio(
        name=counter.name,
        label=counter.label,
        help=counter.help,
        unit=unit,
        scope=Scope.TARGET if counter.scope is Scope.CLUSTER else counter.scope,
        group=counter.group,
        numerator=(counter,),
        window_s=RATE_WINDOW_MS / 1000,
        by=counter.by,
    )
