"""Numbers of runs as the web shows them: kept ones of what ended, else worked out on request, as are stretches."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.live_reader import LiveReader
from dashboard.sources import Sources
from pipeline.digest import EVENTS, FINGERPRINT, HEADLINE, SUMMARY, digest, headline
from runs.entries import Section
from runs.machines import Kept
from runs.model import Run
from runs.settled import States
from storage.errors import StoreError

LIVE_MS = 10_000
"""How long the numbers of a run that goes on are shown before they are worked out anew; of a long one longer:"""
PATIENCE = 20
"""so many times as long as that took."""
LONG_MS = 1_000
"""What took longer is worked out beside those who ask, once something is known."""
MOST_KEPT = 16
MOST_REMEMBERED = 2
"""Runs that go on of which it is kept what was added up; at most 16 MB of each, see `runs.machines`."""
NOT_YET = "its numbers are worked out within half a minute of its end, or of a change of it"
Key = tuple[int, int, int | None, int | None]


@dataclass(frozen=True)
class Numbers:
    """What is known of a stretch of a run, as JSON. why: why there are no numbers, or of less than was asked for."""

    start_ms: int
    end_ms: int
    sections: Sequence[Mapping[str, Any]] = ()
    fingerprint: Sequence[Mapping[str, Any]] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Numbers with the instant up to which they may be shown, and how long they took."""

    until_ms: int
    took_ms: float
    numbers: Numbers


@dataclass
class Remembered:
    """What was added up of a run that goes on, see `runs.settled`."""

    states: States
    kept: Kept | None = None


@dataclass
class RunNumbers:
    """One store's. Those who ask for the same at once wait for one answer.

    A run that has gone on for days takes long: whoever asks gets what was known last, while it is worked out anew.
    """

    sources: Sources
    _kept: dict[Key, Shown] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _renewing: dict[Key, threading.Thread] = field(default_factory=dict)
    _remembered: dict[int, Remembered] = field(default_factory=dict)

    def of(self, run: Run, start_ms: int | None = None, end_ms: int | None = None) -> Numbers:
        """Of a run, or of the stretch between two instants of it."""
        whole = start_ms is None and end_ms is None
        if whole and run.end_ms is not None:
            return self._settled(run)
        now = self.sources.now_ms()
        key = (run.id, run.revision, start_ms, end_ms)
        with self._turn:
            known = self._kept.get(key)
            lasts = run.end_ms is not None or (end_ms is not None and end_ms < now - LIVE_MS)
            if known is not None and (lasts or now < known.until_ms):
                return known.numbers
            if known is not None and known.took_ms > LONG_MS:
                self._renew(key, run)
                return known.numbers
            return self._keep(key, self._shown(key, run)).numbers

    def ahead(self, run: Run) -> float:
        """Work out a run that goes on before anybody asks; nobody waits for it. Milliseconds that it took."""
        key = (run.id, run.revision, None, None)
        found = self._shown(key, run)
        with self._turn:
            return self._keep(key, found).took_ms

    def _shown(self, key: Key, run: Run) -> Shown:
        now, began = self.sources.now_ms(), time.perf_counter()
        found = self._worked_out(run, *within(run, *key[2:], now))
        took_ms = (time.perf_counter() - began) * 1000
        return Shown(now + max(LIVE_MS, int(PATIENCE * took_ms)), took_ms, found)

    def _keep(self, key: Key, found: Shown) -> Shown:
        self._kept.pop(key, None)
        self._kept[key] = found
        while len(self._kept) > MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found

    def _renew(self, key: Key, run: Run) -> None:
        """Work numbers out beside those who ask."""

        def work() -> None:
            try:
                found = self._shown(key, run)
                with self._turn:
                    self._keep(key, found)
            except StoreError:
                pass  # the store says no: what was known stays, and the next who asks tries again
            finally:
                self._renewing.pop(key, None)

        if key not in self._renewing:
            self._renewing[key] = threading.Thread(target=work, name=f"numbers of run {run.id}", daemon=True)
            self._renewing[key].start()

    def renewed(self) -> None:
        """Wait until nothing is worked out beside."""
        for thread in list(self._renewing.values()):
            thread.join()

    def at_once(self, run: Run) -> Numbers:
        """Of a run, and worked out now where it ended a moment ago and was not settled yet."""
        found = self.of(run)
        if found.sections or found.why != NOT_YET or not run.own or found.end_ms <= found.start_ms:
            return found
        return self.of(run, found.start_ms, found.end_ms)

    def _settled(self, run: Run) -> Numbers:
        start, end = run.window(run.end_ms or run.start_ms)
        summary = self.sources.store.run_part(run.id, SUMMARY)
        if summary is None or summary[0] != run.revision:
            return Numbers(start, end, why=NOT_YET)
        printed = self.sources.store.run_part(run.id, FINGERPRINT)
        told = summary[1]
        why = told.get("why") or told["cut"]
        return Numbers(told["start"], told["end"], told["sections"], printed[1] if printed else (), why)

    def _worked_out(self, run: Run, start_ms: int, end_ms: int) -> Numbers:
        try:
            memory = self._memory(run) if run.end_ms is None else None
            found = digest(self.sources.store, run, start_ms, end_ms, LiveReader(self.sources), memory)
        except LookupError as error:
            return Numbers(start_ms, end_ms, why=str(error))
        sections = [one.to_json() for one in found.summary]
        return Numbers(found.start_ms, found.end_ms, sections, found.fingerprint.to_json(), found.cut)

    def _memory(self, run: Run) -> Remembered:
        """Of the runs that were asked for lately; what is kept says itself of what it is. Any thread may ask."""
        found = self._remembered.pop(run.id, None) or Remembered(self.sources.kept.states)
        self._remembered[run.id] = found
        for old in list(self._remembered)[:-MOST_REMEMBERED]:
            self._remembered.pop(old, None)
        return found

    def headlines(self, runs: Sequence[Run]) -> dict[int, dict[str, float | None]]:
        """Key numbers of several runs, by their number; of one that has none yet, nothing."""
        ended = [run.id for run in runs if run.end_ms is not None]
        found: dict[int, dict[str, float | None]] = self.sources.store.run_parts(HEADLINE, ended)
        for run in runs:
            if run.end_ms is None:
                sections = [Section.from_json(one) for one in self.of(run).sections]
                found[run.id] = headline(sections)
        return found

    def events(self, run: Run) -> list[dict[str, Any]]:
        """What happened in a run, as it was kept; of one that goes on, what is known now."""
        part = self.sources.store.run_part(run.id, EVENTS)
        if part is not None and part[0] == run.revision:
            return list(part[1])
        end = self.sources.now_ms() if run.end_ms is None else run.end_ms
        return [
            {"t": one.at_ms, "target": one.target, "kind": one.kind, "text": one.text}
            for one in self.sources.store.events(run.start_ms, end)
        ]


def within(run: Run, start_ms: int | None, end_ms: int | None, now_ms: int) -> tuple[int, int]:
    """The stretch that is asked for, as far as it lies in the run's window; ValueError where nothing does."""
    low, high = run.window(now_ms)
    start = low if start_ms is None else max(start_ms, run.start_ms)
    end = high if end_ms is None else min(end_ms, now_ms if run.end_ms is None else run.end_ms)
    if start >= end and not (start_ms is None and end_ms is None):
        raise ValueError("nothing of the run lies between “start” and “end”")
    return start, max(start, end)
