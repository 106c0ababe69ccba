"""Whose absence a rule tells: instances that were there a moment ago, and those for which something is under way.

What is absent has no series to be known by. So an instance of a rule that asks for what is absent is known for as long
as every collector surely remembers a sample, and then while it is pending or fires: live and in a replay alike, where
an hour's samples would tell of instances before they were there.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from alerts import expression as ex
from alerts.evaluate import owned
from alerts.machine import Change, Phase, Standing, Timing, advance
from alerts.needs import LEAD_MS, conditions
from alerts.newest import GAPS
from alerts.places import Key, Place
from alerts.rule import Rule
from alerts.view import View, of_samples
from telemetry.frame import Bools, Floats, Frame, Ints
from telemetry.model import Scope
from telemetry.ratios import last_known


def asks_absent(rule: Rule, view: View) -> bool:
    """Whether a rule, or its end, asks for what is absent."""
    return view.memory.of(("absent", id(rule)), rule, lambda: any(map(_asks_absent, conditions(rule))))


def _asks_absent(of: ex.Condition | ex.Value) -> bool:
    return isinstance(of, ex.Absent) or any(map(_asks_absent, ex.parts(of)))


def with_those(keys: list[Key], under_way: Iterable[Key], place: Place, view: View) -> list[Key]:
    """These instances and those for which something is under way, in order."""
    more = {*under_way} - {*keys}
    found = sorted([*keys, *more])
    return view.memory.of(("keys", place.name, *found), None, lambda: found) if more else keys


def there(condition: ex.Condition, place: Place, view: View, keys: Sequence[Key]) -> Bools:
    """At which ticks each instance was there a moment ago, by any of the readings that it has: bool[instance, tick]."""
    if place.owner in (Scope.DEPLOYMENT, Scope.CLUSTER):
        return np.ones((len(keys), len(view.ticks)), dtype=bool)
    found = np.zeros((len(keys), len(view.ticks)), dtype=bool)
    rows = {key: row for row, key in enumerate(keys)}
    for reading in owned(condition, place):
        if not of_samples(reading):
            found[[rows[key] for key in view.keys(reading, place) if key in rows]] = True
            continue
        slot, grouping = view.grouped(reading, place)
        seen = _seen(view.newest(slot).frame.take(grouping.rows.tolist()))[:, -len(view.ticks) :]
        for group, series in zip(grouping.group.tolist(), seen, strict=True):
            if grouping.keys[group] in rows:
                found[rows[grouping.keys[group]]] |= series
    return found


def lately(reading: ex.Reading, place: Place, view: View) -> set[Key]:
    """The instances of a place of which something was read a moment ago, at the last tick. reading: of samples."""
    slot, grouping = view.grouped(reading, place)
    seen = np.asarray(_seen(view.newest(slot).frame.take(grouping.rows.tolist()))[:, -1:].any(axis=1))
    return {grouping.keys[group] for group in grouping.group[seen].tolist()}


def _seen(frame: Frame) -> Bools:
    """Where a series had a sample a moment ago."""
    last = last_known(~np.isnan(frame.values))
    back = np.maximum(LEAD_MS, GAPS * frame.gap_ms)[:, np.newaxis]
    return np.asarray((last >= 0) & (frame.ticks - frame.ticks[np.maximum(last, 0)] <= back))


def advance_known(
    standing: Standing, ticks: Ints, truth: Floats, clear: Floats, known: Bools, timing: Timing
) -> tuple[Standing, list[Change]]:
    """`advance` over the ticks at which an instance is known, or something is under way."""
    changes: list[Change] = []
    edges = [0, *(np.flatnonzero(np.diff(known)) + 1).tolist(), len(ticks)]
    for low, high in itertools.pairwise(edges):
        if not known[low] and standing.phase is not Phase.INACTIVE:
            high = _over(standing, ticks[low:high], truth[low:high], clear[low:high], timing) + low
        elif not known[low]:
            continue
        part = slice(low, high)
        standing, more = advance(standing, ticks[part], truth[part], clear[part], timing)
        changes += more
    return standing, changes


def _over(standing: Standing, ticks: Ints, truth: Floats, clear: Floats, timing: Timing) -> int:
    """How many ticks it takes until nothing is under way any more; all of them, if it goes on."""
    _, changes = advance(standing, ticks, truth, clear, timing)
    ends = (one.at_ms for one in changes if one.phase is Phase.INACTIVE)
    return int(np.searchsorted(ticks, next(ends, int(ticks[-1])), side="right"))
