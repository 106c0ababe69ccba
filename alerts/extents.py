"""Between what readings lie at the last tick of a view, of very many at once: what tells that a rule holds nowhere
without working it out.

What is cheap to know of a reading is a bound of it: a value now is what it is; a mean, a least and a largest value lie
between what was read; a counter gained, and a gauge changed, by no more than its samples lie apart. All that was asked
for at earlier ticks is bounded together: a few operations, however many rules there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from alerts.bounds import EVERYTHING, NOTHING, Between, Bounds, Decider, decider
from alerts.evaluate import instances, truth
from alerts.expression import Condition, Reading, facts, readings
from alerts.given import GIVEN
from alerts.grouping import name_of
from alerts.needs import is_slow
from alerts.places import Place
from alerts.ranges import Numbers, Plan, Source, planned, source_of
from alerts.view import View, of_samples
from telemetry.model import Metric, Ratio


def surely_quiet(condition: Condition, place: Place, view: View) -> bool:
    """Whether a condition surely holds for no instance at the one tick of a view; False also where that is not known.

    condition: an object that is asked for again at the next tick: bounds of its samples are known from then on.
    """
    found = view.memory.of(("extents",), None, Extents)
    found.look(view)
    return found.quiet(condition, place)


@dataclass
class Known:
    """A condition that is asked for, kept alive with its identity.

    rows: see `Extents._rows`. values: of them, when it was worked out last. holds: whether it did then, for anybody.
    """

    condition: Condition
    place: Place
    may_hold: Decider
    rows: Numbers | None
    values: bytes = b""
    holds: bool = True


class Extents:
    """What was asked for of frames of the same series, and between what it lies at the tick that is looked at."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], Known] = {}
        self._sources: list[Source] = []
        self._numbers: dict[object, int | None] = {}
        self._plan: Plan | None = None
        self._view: View | None = None
        self._bounds: list[Bounds] = []
        self._beside: dict[object, Bounds] = {}

    def look(self, view: View) -> None:
        """Go on with this view, if it is another."""
        if self._view is not view:
            if self._plan is None or self._plan.count != len(self._sources):
                self._plan = planned(self._sources, view)
            self._view, self._bounds, self._beside = view, self._plan.bounds(view), {}

    def quiet(self, condition: Condition, place: Place) -> bool:
        """See `surely_quiet`."""
        key = (id(condition), place.name)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Known(condition, place, self._decider(condition, place), self._rows(condition))
        return not known.may_hold() or (known.rows is not None and not self._holds_by_now(known, known.rows))

    def _decider(self, condition: Condition, place: Place) -> Decider:
        if readings(condition):
            return decider(condition, place, self._of)
        return lambda: self._facts_differ(condition, place)

    def _rows(self, condition: Condition) -> Numbers | None:
        """Rows of the values now that a condition follows from; None where it reads anything else."""
        found = readings(condition)
        if not found or facts(condition) or not all(map(_is_plain, found)):
            return None
        names = {reading.metric.name for reading in found}
        series = self._seen().newest(0).frame.series
        return np.array([row for row, one in enumerate(series) if one.metric in names], dtype=np.intp)

    def _holds_by_now(self, known: Known, rows: Numbers) -> bool:
        """Whether a condition may hold by values now: worked out when they are others than at the last time. What is
        not known depends on time in sums: nothing follows from it here."""
        values = self._seen().newest(0).now[rows]
        if np.isnan(values).any():
            return True
        same = values.tobytes()
        if known.values != same:
            known.holds, known.values = self._holds(known.condition, known.place), same
        return known.holds

    def _holds(self, condition: Condition, place: Place) -> bool:
        view = self._seen()
        return bool((truth(condition, place, view, instances(condition, place, view)) == 1.0).any())

    def _facts_differ(self, condition: Condition, place: Place) -> bool:
        """Of a condition that reads facts alone: what it is follows from them, which are another object when others."""
        view = self._seen()
        name = ("facts differ", id(condition), place.name)
        return view.memory.latest(name, view.facts, lambda: self._holds(condition, place))

    def _seen(self) -> View:
        assert self._view is not None, "look at a view first"
        return self._view

    def _of(self, reading: Reading, place: Place) -> Between:
        """What tells the bounds of a reading at the tick that is looked at."""
        name = (name_of(reading), place.name)
        if name not in self._numbers:
            self._numbers[name] = self._numbered(reading, place)
        number = self._numbers[name]
        return partial(self._other, name, reading, place) if number is None else lambda: self._bounds[number]

    def _numbered(self, reading: Reading, place: Place) -> int | None:
        """Number of a reading of samples; None of one that has no cheap bounds."""
        found = source_of(reading, *self._seen().grouped(reading, place)) if of_samples(reading) else None
        if found is None:
            return None
        self._sources.append(found)
        self._bounds.append(EVERYTHING)  # until the next tick, where all are worked out together
        return len(self._sources) - 1

    def _other(self, name: object, reading: Reading, place: Place) -> Bounds:
        """What is no bound of samples but the values themselves, where they are cheap."""
        found = self._beside.get(name)
        if found is None:
            found = self._beside[name] = self._worked_out(reading, place)
        return found

    def _worked_out(self, reading: Reading, place: Place) -> Bounds:
        metric, view = reading.metric, self._seen()
        if metric.name in GIVEN:
            return _between([values[0] for values in view.given.get(metric.name, {}).values()])
        if is_slow(reading) or (isinstance(metric, Ratio) and reading.how == "now" and metric.window_s == 0):
            return _between(view.table(reading, place).values[:, -1].tolist())
        return EVERYTHING


def _is_plain(reading: Reading) -> bool:
    """Whether a reading is of the values of samples now."""
    return of_samples(reading) and isinstance(reading.metric, Metric) and reading.how == "now"


def _between(values: list[float]) -> Bounds:
    known = [value for value in values if value == value]
    if not known:
        return NOTHING
    least, most = float(min(known)), float(max(known))
    return EVERYTHING if least in EVERYTHING or most in EVERYTHING else (least, most)
