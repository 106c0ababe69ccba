"""What an earlier collector left in the store, so that counters, prefills and facts go on where they stood."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from storage.records import Row
from storage.store import Store
from telemetry.catalog import cluster, engine, host
from telemetry.frame import empty
from telemetry.model import Series
from telemetry.states import Before, TargetState

STARTED_FACT = "started_s"
"""Start of an engine's process by its own clock; tells a collector that starts anew whether the engine did too."""


@dataclass(frozen=True)
class Left:
    """What was left of one target. counters: last (value, offset) of each; started_s: start of its process; tick: of
    the oldest of these values."""

    counters: Mapping[Series, tuple[float, float]] = field(default_factory=dict)
    started_s: float | None = None
    tick: float = float("-inf")


def left_of(store: Store, target: str, row: Row | None, until: int | None = None) -> Left:
    """What the store holds of a target up to an instant, given its newest row up to there."""
    if row is None:
        return Left()
    offsets = store.last_offsets(target, until)
    series, values = store.series_of(row.layout), np.asarray(row.values, dtype=np.float64)
    known = {
        one: value for one, value in zip(series, values.tolist(), strict=True) if one in offsets and not np.isnan(value)
    }
    older, oldest = _last_values(store, target, offsets.keys() - known.keys(), row.tick)
    known |= older
    started = [float(fact.value) for fact in store.facts(target, name=STARTED_FACT) if fact.end_ms is None]
    counters = {one: (value, offsets[one]) for one, value in known.items()}
    return Left(counters, started[0] if started else None, oldest)


def _last_values(store: Store, target: str, wanted: Collection[Series], tick: int) -> tuple[dict[Series, float], float]:
    """Last value of series that the newest row does not have: not on the page just then, or without a number; and the
    tick of the oldest, that of the row where there is none."""
    frame = store.ends(wanted.__contains__, [target], tick, tick) if wanted else empty()
    found, oldest = {}, float(tick)
    for one, line in zip(frame.series, frame.values, strict=True):
        last = np.flatnonzero(~np.isnan(line))[-1]
        found[one] = float(line[last])
        oldest = min(oldest, float(frame.ticks[last]))
    return found, oldest


RECENT_MS = 60_000
"""A collector that starts anew knows how a target stood when it went, where its last row is no older."""


def before_left(store: Store, is_node: bool, row: Row | None, absence: str | None, now_ms: int) -> Before:
    """What was true of a target when it last answered, as far as the store tells it.

    absence: why it does not answer, None where it did. So what was stopped on purpose stays so, and an engine that
    never served is not missed.
    """
    if row is None:
        return Before()
    told = (absence or "").partition(":")[0] == TargetState.STOPPED.value
    recent = absence is None and now_ms - row.tick <= RECENT_MS
    if is_node:
        return Before(True, told or (recent and _total(store, row, host.AGENT_GOODBYE.name) == 1))
    running = 0.0 if told else _total(store, row, engine.REQUESTS_RUNNING.name) if recent else None
    return Before(True, running=running, stopped=told)


def _total(store: Store, row: Row, metric: str) -> float | None:
    """Sum of a metric over a row; None where it is not known."""
    pairs = zip(store.series_of(row.layout), row.values, strict=True)
    found = [value for series, value in pairs if series.metric == metric]
    return sum(found) if found and not any(np.isnan(value) for value in found) else None


def prefills_left(store: Store, last: Mapping[str, Row]) -> dict[str, tuple[float, float]]:
    """Running totals (tokens, seconds) of prefills by deployment, from the newest rows."""
    found = {}
    for target, row in last.items():
        if target.startswith(cluster.DEPLOYMENT_PREFIX):
            values = dict(zip(store.series_of(row.layout), row.values, strict=True))
            tokens, seconds = (
                values[Series(target, one.name)] for one in (cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS)
            )
            found[target.removeprefix(cluster.DEPLOYMENT_PREFIX)] = (float(tokens), float(seconds))
    return found
