"""The past as rules look at it: samples, states, facts and members out of the store, an hour at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from alerts import expression as ex
from alerts import needs
from alerts.bounds import Extent, may_hold, of_hour
from alerts.given import (
    ENGINES_LOADING,
    GIVEN,
    LOADING,
    TARGET_STATE,
    UNCLEAN_BOOT,
    Span,
    engines_loading,
    state_codes,
    unclean_boots,
)
from alerts.grouping import Memory
from alerts.newest import GAPS
from alerts.places import Key, Members
from alerts.rule import Rule
from alerts.slow import Slow, wanted, work_out
from alerts.view import View
from pipeline.deployments import DEPLOYMENT_FACT
from pipeline.givens import BOOT_FACT
from pipeline.looked_on import looked_on, silences, with_ticks
from pipeline.membership import Past, of_nodes
from storage.records import Absence, Fact
from storage.store import Store
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame, Ints
from telemetry.model import Kind, Metric, Scope
from telemetry.summary import HOUR_MS, Summaries

FOREVER_MS = 2**62


@dataclass
class StoredPast:
    """One rule's, of start ≤ tick ≤ end."""

    store: Store
    rule: Rule
    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        self.rule = replace(self.rule, enabled=True)
        self._memory = Memory()

    @property
    def hold_ms(self) -> int:
        """For how long a tick speaks at most."""
        return round(NOMINAL_PER_GAP * self._interval_ms)

    @cached_property
    def _interval_ms(self) -> int:
        return min((one.interval_ms for one in self.store.targets()), default=1000)

    @property
    def _extent_ms(self) -> tuple[int, int] | None:
        """(first, last) instant of which something is known: that nobody answered is known without rows."""
        extent, last = self.store.extent(), self.store.latest_commit()
        if extent is None or last is None or not self._silences:
            return extent
        until = last.at_ms if any(one.end_ms is None for one in self._silences) else -1
        return min(extent[0], *(one.start_ms for one in self._silences)), max(extent[1], until)

    @cached_property
    def _silences(self) -> list[Absence]:
        return silences(self._absences, self.start_ms, self.end_ms)

    def slices(self) -> Iterable[tuple[int, int]]:
        """Hours, the first and the last in part."""
        extent = self._extent_ms
        if extent is None:
            return
        low, end = max(self.start_ms, extent[0]), min(self.end_ms, extent[1])
        while low <= end:
            high = min(low - low % HOUR_MS + HOUR_MS - 1, end)
            yield low, high
            low = high + 1

    # What hours say ---------------------------------------------------------------------------------------------------

    def quiet(self, start_ms: int, _end_ms: int) -> bool:
        """Whether the condition surely held nowhere in an hour: by its summary, and by nobody's absence."""
        hour = start_ms - start_ms % HOUR_MS
        if hour in self._unsealed:
            return False
        return not may_hold(
            self.rule.condition, self.rule.place, lambda reading, _: of_hour(reading, self._extent(reading, hour))
        )

    @cached_property
    def _unsealed(self) -> frozenset[int]:
        return frozenset(self.store.unsealed_hours(self.start_ms - HOUR_MS, self.end_ms))

    @cached_property
    def _absences(self) -> list[Absence]:
        return [one for one in self.store.absences(self.start_ms, self.end_ms) if one.metric is None]

    @cached_property
    def _summaries(self) -> Mapping[tuple[object, ...], Summaries]:
        """What hours keep of each reading of the condition, the hour before included."""
        found: dict[tuple[object, ...], Summaries] = {}
        for reading in ex.readings(self.rule.condition):
            if isinstance(reading.metric, Metric) and reading.metric.kind is not Kind.HISTOGRAM:
                names = sorted(needs.stored(reading))
                if names:
                    first = self.start_ms - self.start_ms % HOUR_MS - HOUR_MS
                    summaries = self.store.summaries(names, None, first, self.end_ms)
                    found[_name(reading)] = _labelled(summaries, reading)
        return found

    def _extent(self, reading: ex.Reading, hour: int) -> Extent | None:
        if reading.metric.name == TARGET_STATE.name:
            away = any(one.start_ms < hour + HOUR_MS and (one.end_ms or hour) >= hour for one in self._absences)
            return None if away else Extent(0.0, 0.0, 0.0, many=False)
        summaries = self._summaries.get(_name(reading))
        if summaries is None or needs.is_slow(reading) or hour - HOUR_MS in self._unsealed:
            return None
        columns = np.flatnonzero((summaries.hours == hour) | (summaries.hours == hour - HOUR_MS))
        count = summaries.count[:, columns].sum()
        if not count:
            return Extent(np.inf, -np.inf, 0.0, many=False)
        gained = float(np.nansum(np.maximum(summaries.gain[:, columns], 0.0)))
        least, largest = summaries.minimum[:, columns], summaries.maximum[:, columns]
        low = np.min(least[~np.isnan(least)], initial=np.inf)
        high = np.max(largest[~np.isnan(largest)], initial=-np.inf)
        return Extent(float(low), float(high), gained, len(summaries.series) > 1)

    # What samples say -------------------------------------------------------------------------------------------------

    def view(self, start_ms: int, end_ms: int) -> View:
        """What rules read at the ticks of an hour."""
        reach = max((needs.window_ms(one) for one in self._readings if not needs.is_slow(one)), default=0)
        if any(one.how == "increase" for one in self._readings):
            reach = needs.LONGEST_MS  # as far as a collector remembers what was before a gap
        back = reach + needs.LEAD_MS + round(GAPS * NOMINAL_PER_GAP * self._slowest_ms)
        frame = self.store.frame(self._names, None, start_ms - back, end_ms)
        frame = with_ticks(frame, self._unseen(start_ms, end_ms))
        first = int(np.searchsorted(frame.ticks, start_ms))
        members = self._members(frame, end_ms)
        given = self._given(frame.ticks[first:], members)
        return View(
            frame, first, members, self._facts(start_ms), given, self._slow(members, start_ms), memory=self._memory
        )

    def _unseen(self, start_ms: int, end_ms: int) -> Ints:
        """Ticks of an hour that the rule's own series do not tell: others had rows, or nobody answered."""
        absent = silences(self._silences, start_ms, end_ms)
        if not absent:
            return np.zeros(0, dtype=np.int64)
        lead_ms = round(NOMINAL_PER_GAP * self._slowest_ms) + self._interval_ms
        rows = self.store.frame(sorted(needs.ALWAYS), None, start_ms - lead_ms, end_ms)
        silent = looked_on(rows, absent, start_ms, end_ms, self._interval_ms)
        return np.concatenate((rows.ticks[rows.ticks >= start_ms], silent))

    @cached_property
    def _readings(self) -> list[ex.Reading]:
        return [reading for _, reading in needs.readings([self.rule])]

    @cached_property
    def _names(self) -> list[str]:
        """Stored metrics; something is always read, since ticks come from it."""
        found = {name for reading in self._readings if not needs.is_slow(reading) for name in needs.stored(reading)}
        return sorted(found or needs.ALWAYS)

    @cached_property
    def _slowest_ms(self) -> int:
        return max((one.interval_ms for one in self.store.targets()), default=1000)

    @cached_property
    def _kinds(self) -> dict[str, Scope]:
        return {one.name: Scope.NODE if one.kind == "node" else Scope.ENGINE for one in self.store.targets()}

    @cached_property
    def _every_fact(self) -> list[Fact]:
        asked = any(ex.facts(condition) for condition in needs.conditions(self.rule))
        found = self.store.facts() if asked else self.store.facts(name=BOOT_FACT)
        if not asked:
            servers = [name for name, kind in self._kinds.items() if kind is Scope.ENGINE]
            found = [*found, *(fact for name in servers for fact in self.store.facts(name))]
        return found

    def _valid(self, at_ms: int) -> Iterable[Fact]:
        return (one for one in self._every_fact if one.start_ms <= at_ms and (one.end_ms is None or at_ms < one.end_ms))

    def _facts(self, at_ms: int) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for one in self._valid(at_ms + HOUR_MS):
            if self._kinds.get(one.target) is Scope.NODE:
                found.setdefault(one.name, {})[one.target] = one.value
        return found

    def _members(self, frame: Frame, at_ms: int) -> Members:
        told = [one for one in self._every_fact if one.name.startswith(DEPLOYMENT_FACT)]
        by_model = {(one.target, one.name.removeprefix(DEPLOYMENT_FACT)): one.value for one in told}
        engines: dict[Key, str] = {}
        for series in frame.series:
            model = series.label("model")
            if model is not None and (series.target, model) in by_model:
                engines[series.target, series.label("engine") or "", model] = by_model[series.target, model]
        servers = {one.target: one.value for one in told}
        nodes = [name for name, kind in self._kinds.items() if kind is Scope.NODE]
        found = of_nodes(nodes, set(servers.values()), self._took_part.at(at_ms))
        return Members(engines, found, self._kinds, servers)

    @cached_property
    def _took_part(self) -> Past:
        return Past(self.store, self.start_ms, self.end_ms)

    def _given(self, ticks: Ints, members: Members) -> dict[str, dict[str, Floats]]:
        """States and boots; what only a collector knows of itself is not known afterwards."""
        asked = {reading.metric.name for reading in self._readings} & set(GIVEN)
        found: dict[str, dict[str, Floats]] = {}
        if not asked or not len(ticks):
            return found
        spans: dict[str, list[Span]] = {name: [] for name in self._kinds}
        for one in self._absences:
            spans.setdefault(one.target, []).append(Span(one.start_ms, one.end_ms, one.reason))
        if asked & {TARGET_STATE.name, ENGINES_LOADING.name}:
            states = {name: self._states(name, spans[name], ticks) for name in self._kinds}
            found[TARGET_STATE.name] = states
            servers = {name: codes for name, codes in states.items() if self._kinds[name] is Scope.ENGINE}
            found[ENGINES_LOADING.name] = engines_loading(servers, members)
        if UNCLEAN_BOOT.name in asked:
            boots: dict[str, list[Span]] = {name: [] for name, kind in self._kinds.items() if kind is Scope.NODE}
            for fact in self._every_fact:
                if fact.name == BOOT_FACT and fact.target in boots:
                    boots[fact.target].append(Span(fact.start_ms, fact.end_ms, fact.value))
            found[UNCLEAN_BOOT.name] = {name: unclean_boots(boots[name], spans[name], ticks) for name in boots}
        return found

    def _states(self, target: str, spans: Iterable[Span], ticks: Ints) -> Floats:
        """States of a target; of an engine that never served before, only whether it loads is known."""
        codes = state_codes(spans, ticks)
        if self._kinds[target] is Scope.ENGINE:
            early = (codes != 0) & ~np.isin(codes, LOADING) & (ticks < self._served.get(target, FOREVER_MS))
            codes[early] = np.nan
        return codes

    @cached_property
    def _served(self) -> Mapping[str, int]:
        """When each engine's server is known to have served first."""
        found: dict[str, int] = {}
        for fact in self._every_fact:
            if fact.name.startswith(DEPLOYMENT_FACT):
                found[fact.target] = min(fact.start_ms, found.get(fact.target, fact.start_ms))
        return found

    def _slow(self, members: Members, at_ms: int) -> Slow:
        """As they were when the hour began."""
        return work_out([self.rule], self.store, members, at_ms) if wanted([self.rule]) else {}


def _name(reading: ex.Reading) -> tuple[str, object]:
    return reading.metric.name, reading.labels


def _labelled(summaries: Summaries, reading: ex.Reading) -> Summaries:
    """Those of the series that a reading is made of."""
    labels = dict(reading.labels)
    rows = [
        row
        for row, series in enumerate(summaries.series)
        if all(series.label(name) in texts for name, texts in labels.items())
    ]
    cut = {
        name: getattr(summaries, name)[rows]
        for name in ("count", "first", "last", "minimum", "maximum", "total", "gain", "seconds")
    }
    return Summaries(summaries.hours, tuple(summaries.series[row] for row in rows), **cut)
