"""Where a summary reads from: samples, the two ends of counters, episodes, absences and events of a range."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import numpy as np

from telemetry.frame import Frame
from telemetry.grid import largest, least
from telemetry.model import Series
from telemetry.summary import Summaries, hour_of

Wanted = Callable[[Series], bool] | Collection[str]
"""A test of a series, or names of metrics."""

LEAD_MS = 60_000
"""How far before a range samples are read, so that the one before its start is among them."""


class Episode(Protocol):
    """A finished prefill, as the store keeps it."""

    @property
    def start_ms(self) -> int:
        """Its begin."""

    @property
    def end_ms(self) -> int:
        """The first token's arrival."""

    @property
    def tokens(self) -> int | None:
        """Prompt tokens computed."""

    @property
    def seconds(self) -> float | None:
        """Its length."""


class Absence(Protocol):
    """A stretch in which a target (metric None), or one of its metrics, had no value."""

    @property
    def target(self) -> str:
        """Whose."""

    @property
    def metric(self) -> str | None:
        """Which."""

    @property
    def start_ms(self) -> int:
        """Since when."""

    @property
    def end_ms(self) -> int | None:
        """Until when; None: still."""

    @property
    def reason(self) -> str:
        """Why: a state, and words."""


class Event(Protocol):
    """Something that happened."""

    @property
    def at_ms(self) -> int:
        """When."""

    @property
    def target(self) -> str:
        """To whom."""

    @property
    def kind(self) -> str:
        """Of which kind."""

    @property
    def text(self) -> str:
        """In words."""


class Reader(Protocol):
    """History. Ranges are closed, instants epoch milliseconds; wanted: which series, of targets (None: all)."""

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Samples."""

    def ends(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Of each series the two samples between which `telemetry.counters.increase` counts, and no others."""

    def still(
        self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Collection[Series]:
        """Counters that are known at little cost not to have moved in the range; any number of those that did not."""

    def episodes(self, deployment: str, start_ms: int, end_ms: int) -> Sequence[Episode]:
        """Prefills of a deployment that overlap the range."""

    def absences(self, start_ms: int, end_ms: int) -> Sequence[Absence]:
        """Absences that overlap the range."""

    def events(self, start_ms: int, end_ms: int) -> Sequence[Event]:
        """Events in the range."""


class Hour(Protocol):
    """A sealed hour of a target."""

    @property
    def target(self) -> str:
        """Whose."""

    @property
    def n(self) -> int:
        """How often it was read."""

    @property
    def first_tick(self) -> int:
        """Of its first reading."""


class Store(Protocol):
    """What is asked of `storage.store.Store`."""

    def frame(self, wanted: Wanted, targets: Sequence[str] | None, start_ms: int, end_ms: int) -> Frame:
        """Samples."""

    def ends(self, wanted: Wanted, targets: Sequence[str] | None, start_ms: int, end_ms: int) -> Frame:
        """Two samples of each series."""

    def summaries(self, wanted: Wanted, targets: Sequence[str] | None, start_ms: int, end_ms: int) -> Summaries:
        """Sealed hours."""

    def unsealed(self, start_ms: int, end_ms: int) -> list[tuple[str, int]]:
        """Hours of targets that no summary tells."""

    def sealed(self, start_ms: int, end_ms: int) -> Sequence[Hour]:
        """Hours of targets that summaries tell."""

    def episodes(self, deployment: str, start: int, end: int) -> Sequence[Episode]:
        """Prefills."""

    def absences(self, start: int, end: int) -> Sequence[Absence]:
        """Absences."""

    def events(self, start: int, end: int) -> Sequence[Event]:
        """Events."""


class StoreReader:
    """The store as a reader. Its ends are exact, however old the sample before the range."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Samples of start ≤ tick ≤ end."""
        return self._store.frame(wanted, _listed(targets), start_ms, end_ms)

    def ends(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Two samples of each series."""
        return self._store.ends(wanted, _listed(targets), start_ms, end_ms)

    def still(
        self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Collection[Series]:
        """Those that stood still in every hour of the range, of targets whose hours are all sealed."""
        return self._stood(wanted, start_ms, end_ms, targets).keys()

    def _stood(
        self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None
    ) -> dict[Series, float]:
        """The same with the number at which each stood, from its last sample at or before the start on: only where that
        is in the start's own hour, since the target was read there before the start, and told it whenever it was."""
        open_now = {target for target, _ in self._store.unsealed(start_ms, end_ms)}
        readings = {one.target: one.n for one in self._store.sealed(start_ms, start_ms) if one.first_tick <= start_ms}
        closed = readings.keys() - open_now
        chosen = closed if targets is None else closed.intersection(targets)
        hours = self._store.summaries(wanted, sorted(chosen), start_ms, end_ms)
        first = int(np.searchsorted(hours.hours, hour_of(start_ms)))
        if not hours.count[:, first:].size:
            return {}
        highest, lowest = largest(hours.last[:, first:]), least(hours.first[:, first:])
        told = zip(hours.series, highest.tolist(), (highest == lowest).tolist(), hours.count[:, first], strict=True)
        return {one: level for one, level, stood, count in told if stood and count == readings[one.target]}

    def episodes(self, deployment: str, start_ms: int, end_ms: int) -> Sequence[Episode]:
        """Prefills that overlap the range."""
        return self._store.episodes(deployment, start_ms, end_ms)

    def absences(self, start_ms: int, end_ms: int) -> Sequence[Absence]:
        """Absences that overlap the range."""
        return self._store.absences(start_ms, end_ms)

    def events(self, start_ms: int, end_ms: int) -> Sequence[Event]:
        """Events in the range."""
        return self._store.events(start_ms, end_ms)


def _listed(targets: Collection[str] | None) -> list[str] | None:
    return None if targets is None else sorted(targets)
