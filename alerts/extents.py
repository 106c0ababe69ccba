"""Between what readings lie at the last tick of a view, of very many at once: what tells that a rule holds nowhere
without working it out.

What is cheap to know of a reading is a bound of it: a value now is what it is; a mean, a least and a largest value lie
between what was read; a counter gained, and a gauge changed, by no more than its samples lie apart. All that was asked
for at earlier ticks is bounded together: a few operations, however many rules there are.
"""

from __future__ import annotations

from alerts.bounds import EVERYTHING, NOTHING, Bounds, may_hold
from alerts.evaluate import instances, truth
from alerts.expression import Condition, Reading, readings
from alerts.given import GIVEN
from alerts.grouping import name_of
from alerts.needs import is_slow
from alerts.places import Place
from alerts.ranges import Plan, Source, planned, source_of
from alerts.view import View, of_samples
from telemetry.model import Ratio


def surely_quiet(condition: Condition, place: Place, view: View) -> bool:
    """Whether a condition surely holds for no instance at the one tick of a view; False also where that is not known.

    condition: an object that is asked for again at the next tick: bounds of its samples are known from then on.
    """
    memory = view.memory
    found = memory.latest(("extents",), view, lambda: Extents(view, memory.of(("asked",), None, Asked)))
    return found.quiet(condition, place)


class Asked:
    """Readings that are asked for, of frames of the same series: each by its number."""

    def __init__(self) -> None:
        self._sources: list[Source] = []
        self._numbers: dict[tuple[int, str], tuple[Reading, int | None]] = {}
        self._by_name: dict[object, int | None] = {}
        self._plan = planned(())
        self._of_facts: dict[int, tuple[Condition, bool]] = {}

    def is_of_facts(self, condition: Condition) -> bool:
        """Whether a condition reads nothing but facts."""
        known = self._of_facts.get(id(condition))
        if known is None:
            known = self._of_facts[id(condition)] = (condition, not readings(condition))
        return known[1]

    def number(self, reading: Reading, place: Place, view: View) -> int | None:
        """Number of a reading of samples; None of one that has no cheap bounds."""
        key = (id(reading), place.name)
        known = self._numbers.get(key)
        if known is None:
            known = (reading, self._numbered(reading, place, view))  # which keeps it alive, with its identity
            self._numbers[key] = known
        return known[1]

    def _numbered(self, reading: Reading, place: Place, view: View) -> int | None:
        """The same number for the same reading of another rule."""
        name = (name_of(reading), place.name)
        if name not in self._by_name:
            found = source_of(reading, *view.grouped(reading, place)) if of_samples(reading) else None
            self._by_name[name] = None if found is None else len(self._sources)
            self._sources += [] if found is None else [found]
        return self._by_name[name]

    def plan(self) -> Plan:
        """Of all that are asked for by now."""
        if self._plan.count != len(self._sources):
            self._plan = planned(self._sources)
        return self._plan


class Extents:
    """One view's, of one tick."""

    def __init__(self, view: View, asked: Asked) -> None:
        self._view, self._asked = view, asked
        self._of_samples = asked.plan().bounds(view)
        self._beside: dict[object, Bounds] = {}

    def quiet(self, condition: Condition, place: Place) -> bool:
        """See `surely_quiet`."""
        if self._asked.is_of_facts(condition):
            return self._facts_agree(condition, place)
        return not may_hold(condition, place, self.bounds)

    def _facts_agree(self, condition: Condition, place: Place) -> bool:
        """Of a condition that reads facts alone: what it is follows from them, which are another object when others."""

        def make() -> bool:
            keys = instances(condition, place, self._view)
            return not (truth(condition, place, self._view, keys) == 1.0).any()

        return self._view.memory.latest(("facts agree", id(condition), place.name), self._view.facts, make)

    def bounds(self, reading: Reading, place: Place) -> Bounds:
        """Between what a reading of all instances of a place lies; EVERYTHING where that is not known."""
        number = self._asked.number(reading, place, self._view)
        if number is not None:
            return self._of_samples[number] if number < len(self._of_samples) else EVERYTHING
        key = (id(reading), place.name)  # `Asked` keeps it alive
        if key not in self._beside:
            self._beside[key] = self._other(reading, place)
        return self._beside[key]

    def _other(self, reading: Reading, place: Place) -> Bounds:
        """What is no bound of samples but the values themselves, where they are cheap."""
        metric = reading.metric
        if metric.name in GIVEN:
            return _between([values[0] for values in self._view.given.get(metric.name, {}).values()])
        if is_slow(reading) or (isinstance(metric, Ratio) and reading.how == "now" and metric.window_s == 0):
            return _between(self._view.table(reading, place).values[:, -1].tolist())
        return EVERYTHING


def _between(values: list[float]) -> Bounds:
    known = [value for value in values if value == value]
    if not known:
        return NOTHING
    least, most = float(min(known)), float(max(known))
    return EVERYTHING if least in EVERYTHING or most in EVERYTHING else (least, most)
