"""Lookout: what rules look at, put together at every tick: the last samples of what they read, states, facts, members.

It keeps samples of its own, of the series that rules read alone: further back than the hub needs any of them. Frames
slide on from tick to tick (`pipeline.strip`) where nothing but new rows came, and are else put together anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from alerts import needs
from alerts.grouping import Memory
from alerts.newest import GAPS
from alerts.places import Key, Members
from alerts.rule import Rule
from alerts.slow import Slow
from alerts.view import View
from pipeline.deployments import DEPLOYMENT_FACT, EngineId
from pipeline.givens import BOOT_FACT, Givens
from pipeline.membership import of_nodes
from pipeline.strip import Row, Strip
from pipeline.targets import Target
from pipeline.window import SHOWN, Window
from storage.records import Offset
from storage.store import Store
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame
from telemetry.model import Scope, Series

SHORT_MS = 60_000
"""Windows up to this are most of them; what is read over longer ones is cut apart, further back."""
REACHES = (10_000, SHORT_MS, needs.LONGEST_MS)
"""Longest windows of the frames that are cut: the shorter, the cheaper."""


class Lookout:
    """One collector's. interval_ms: between two ticks. channels: names of those that are on."""

    def __init__(self, targets: Collection[Target], interval_ms: float, channels: Iterable[str] | None = None) -> None:
        self.givens = Givens(interval_ms)
        self.slow: Slow = {}
        self._channels = None if channels is None else frozenset(channels)
        self._targets = {target.name: target for target in targets}
        self._kinds = {target.name: Scope.NODE if target.is_node else Scope.ENGINE for target in targets}
        self.evidence: Mapping[str, Collection[str]] = {}
        self._facts: Mapping[str, Mapping[str, str]] = {}
        self._servers: dict[str, str] = {}
        self._served_ms: dict[str, int] = {}
        self._engines: dict[EngineId, str] = {}
        self._gap_ms = NOMINAL_PER_GAP * interval_ms
        self._interval_ms: dict[str, int] = {}
        self._wanted: dict[int, frozenset[str]] = {}
        self._all: frozenset[str] = frozenset()
        self._asked: dict[int, set[str]] = {}
        self._offers: dict[str, frozenset[str]] = {}
        self._plans: dict[int, tuple[tuple[Series, ...], tuple[Series, ...], npt.NDArray[np.intp]]] = {}
        self._window = Window(needs.LONGEST_MS + needs.LEAD_MS)
        self._memory = Memory()
        self._strips: dict[int, Strip] = {}
        self._fresh: dict[str, Row] = {}
        self._seen_ms = -1
        self._stepped_ms = dict.fromkeys(REACHES, -1)

    # What comes in ----------------------------------------------------------------------------------------------------

    def read(self, rules: Iterable[Rule]) -> None:
        """Keep what these rules read from now on."""
        found: dict[int, set[str]] = {reach: set() for reach in REACHES}
        for _, reading in needs.readings(rules):
            if not needs.is_slow(reading):
                reach = next(one for one in REACHES if needs.window_ms(reading) <= one)
                found[reach] |= needs.stored(reading)
        self._wanted = {reach: frozenset(names) for reach, names in found.items()}
        self._all = frozenset().union(*self._wanted.values())
        self._plans = {}
        self._asked = {reach: set() for reach in REACHES}
        for target, names in self._offers.items():  # who is silent while rules change is not forgotten
            self._ask(target, names)
        self._strips.clear()
        self._stepped_ms = dict.fromkeys(REACHES, max(self._stepped_ms.values()))

    def add(self, target: str, tick: int, at_ms: float, series: tuple[Series, ...], values: Floats) -> None:
        """A row, of whatever series."""
        known = self._plans.get(id(series))
        if known is None:
            places = [place for place, one in enumerate(series) if one.metric in self._all]
            known = (series, tuple(series[place] for place in places), np.array(places, dtype=np.intp))
            self._plans[id(series)] = known  # which keeps the layout alive, so that no other has its identity
            self._note(target, series)
        if len(known[2]):
            row = Row(tick, at_ms, known[1], values[known[2]])
            self._window.add(target, tick, at_ms, row.series, row.values)
            if target in self._fresh or tick <= self._seen_ms:  # late, or more than one of it: for the window to sort
                self._strips.clear()
            self._fresh[target] = row

    def _note(self, target: str, series: Iterable[Series]) -> None:
        """What a target offers from now on."""
        self._offers[target] = frozenset(one.metric for one in series)
        self._ask(target, self._offers[target])

    def _ask(self, target: str, names: frozenset[str]) -> None:
        for reach, wanted in self._wanted.items():
            if names & wanted:
                self._asked[reach].add(target)

    def add_steps(self, offsets: Iterable[Offset]) -> None:
        """Restarts and first uses of counters."""
        steps = [(one.series, one.tick, one.reason) for one in offsets if one.metric in self._all]
        self._window.add_steps(steps)
        for reach, names in self._wanted.items():
            seen = [tick for series, tick, reason in steps if reason in SHOWN and series.metric in names]
            if seen:
                self._stepped_ms[reach] = max(self._stepped_ms[reach], *seen)
                self._strips.pop(reach, None)

    def set_interval(self, target: str, interval_ms: int) -> None:
        """How often a target is read; told with each row."""
        if self._interval_ms.get(target) == interval_ms:
            return
        self._interval_ms[target] = interval_ms
        self._window.set_intervals({target: interval_ms})
        self._gap_ms = max(self._gap_ms, NOMINAL_PER_GAP * interval_ms)
        self._strips.clear()

    def fact(self, target: str, name: str, value: str, at_ms: int | None) -> None:
        """A target's fact as it is from now on. at_ms: None where it has been so already."""
        if name.startswith(DEPLOYMENT_FACT) and (at_ms or 0) >= self._served_ms.get(target, 0):
            self._servers[target], self._served_ms[target] = value, at_ms or 0
        if self._kinds.get(target) is Scope.NODE:
            if self._facts.get(name, {}).get(target) != value:  # other facts are another object
                self._facts = {**self._facts, name: {**self._facts.get(name, {}), target: value}}
            if name == BOOT_FACT and at_ms is not None:
                self.givens.boot(target, value, at_ms)

    # What is seen -----------------------------------------------------------------------------------------------------

    def members(self, deployments: Mapping[str, Sequence[EngineId]]) -> Members:
        """Who belongs together; engines that are silent as they did last. Nodes by evidence."""
        seen = {one: name for name, engines in deployments.items() for one in engines}
        answered = {one.target for one in seen}
        self._engines = {one: name for one, name in self._engines.items() if one.target not in answered} | seen
        self._servers |= {one.target: name for one, name in seen.items()}
        engines_of: dict[Key, str] = {(one.target, one.engine, one.model): name for one, name in self._engines.items()}
        return Members(engines_of, self._nodes(), self._kinds, self._servers, self._channels)

    def _nodes(self) -> dict[str, str]:
        """Node → deployment, by evidence."""
        names = {*self._engines.values(), *self._servers.values()}
        nodes = [name for name, kind in self._kinds.items() if kind is Scope.NODE]
        return of_nodes(nodes, names, self.evidence)

    def nodes_near(self, server: str) -> list[str]:
        """Nodes of the deployment of an engine's server; all there are where that is not known."""
        deployment = self._servers.get(server)
        mine = [node for node, name in self._nodes().items() if name == deployment]
        return mine or [name for name, kind in self._kinds.items() if kind is Scope.NODE]

    def view(self, tick: int, members: Members) -> View:
        """What can be read at a tick."""
        self._window.trim()
        now, *longer = [self._frame(reach, tick) for reach in REACHES]
        self._fresh, self._seen_ms = {}, tick
        given = self.givens.at(tick, self._targets.values(), members)
        further = list(zip(REACHES[1:], longer, strict=True))
        first = len(now.ticks) - 1
        return View(now, first, members, self._facts, given, self.slow, REACHES[0], further, self._memory)

    def _frame(self, reach: int, tick: int) -> Frame:
        back = max(reach + GAPS * self._gap_ms, needs.LEAD_MS)  # a member that fell silent needs no window of its own
        wanted = self._wanted.get(reach, frozenset())
        asked = self._asked.get(reach, ())  # of others nothing is read that far back: they need not be looked through
        rows = {target: row for target, row in self._fresh.items() if target in asked}
        strip = self._strips.pop(reach, None)
        found = None if strip is None else strip.next(tick, tick - back, rows)
        if strip is None or found is None:
            found = self._window.frame(wanted, start_ms=tick - back, end_ms=tick, targets=asked, before=True)
            found = ending_at(found, tick)
            strip = self._strip(reach, found, rows) if len(rows) else None
        if strip is not None:
            self._strips[reach] = strip
        return found

    def _strip(self, reach: int, frame: Frame, rows: Mapping[str, Row]) -> Strip | None:
        """One that goes on from a frame; None where not every target was read at every tick of it, or one has begun
        anew since."""
        if frame.ticks[0] <= self._stepped_ms[reach] or {*self._window.targets()} & self._asked[reach] != rows.keys():
            return None
        owners = () if np.isnan(frame.at_ms).any() else tuple(dict.fromkeys(one.target for one in frame.series))
        if rows.keys() != set(owners):
            return None
        strip = Strip(frame, {target: rows[target] for target in owners}, self._wanted[reach])
        return strip if strip.fits else None

    def warm(self, store: Store, now_ms: int) -> None:
        """Take in what was read before this collector began, so that windows go on."""
        start_ms = now_ms - needs.LONGEST_MS - needs.LEAD_MS
        frame = store.frame(self._all, None, start_ms, now_ms)
        rows: dict[str, list[int]] = {}
        for row, series in enumerate(frame.series):
            rows.setdefault(series.target, []).append(row)
        for target, mine in rows.items():
            self._warm(target, frame.take(mine))
        self._strips.clear()
        self.add_steps(store.offsets(start_ms, now_ms))

    def _warm(self, target: str, frame: Frame) -> None:
        read = ~np.isnan(frame.at_ms)
        for column in np.flatnonzero(read.any(axis=0)).tolist():
            at_ms = float(frame.at_ms[np.flatnonzero(read[:, column])[0], column])
            self._window.add(target, int(frame.ticks[column]), at_ms, frame.series, frame.values[:, column])
        self._note(target, frame.series)  # also where it is silent from the first tick on


def ending_at(frame: Frame, tick: int) -> Frame:
    """The same with this tick as its last one: of which nothing is read yet where it was not in it."""
    if len(frame.ticks) and frame.ticks[-1] == tick:
        return frame
    more = np.full((len(frame.series), 1), np.nan)
    return Frame(
        np.append(frame.ticks, tick),
        frame.series,
        np.concatenate((frame.values, more), axis=1),
        np.concatenate((frame.at_ms, more), axis=1),
        np.concatenate((frame.breaks, np.zeros(more.shape, dtype=bool)), axis=1),
        frame.gap_ms,
    )
