"""Turns: what becomes of targets, as events: one falls silent, stops, comes back, or has started anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from pipeline.targets import Target
from pipeline.worker import Sample
from storage.records import Event
from telemetry import formatting
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.model import Unit
from telemetry.states import TargetState

SILENT, STOPPED, BACK, RESTART = "silent", "stopped", "back", "restart"
"""Kinds of these events."""


@dataclass
class Turns:
    """Follows every target. A silence shorter than a gap is none: a single answer that fails is no event.

    _silent: since when targets that had answered have been silent, as was told. _awaited: targets that have not
    answered since the collector began; that one of them is silent is no news.
    """

    _silent: dict[str, int] = field(default_factory=dict)
    _awaited: set[str] = field(default_factory=set)

    def look(self, targets: Iterable[Target], samples: Iterable[Sample], tick: int) -> list[Event]:
        """Events of this tick. samples: of pages that came, `targets` as they are after them."""
        came = {sample.target: sample for sample in samples}
        return [event for target in targets for event in self._of(target, came.get(target.name), tick)]

    def _of(self, target: Target, sample: Sample | None, tick: int) -> Iterator[Event]:
        since, name = target.health.failing_since, target.name
        if sample is not None:
            yield from self._answered(name, sample)
        if since is None or name in self._silent:
            return
        if target.health.last_ok_ms is None:
            self._awaited.add(name)
        elif tick - since >= NOMINAL_PER_GAP * target.interval_ms:
            self._silent[name] = since
            verdict = target.health.verdict
            kind = STOPPED if verdict.state is TargetState.STOPPED else SILENT
            yield Event(0, since, name, kind, f"{verdict.state.value}: {verdict.reason}", {})

    def _answered(self, name: str, sample: Sample) -> Iterator[Event]:
        since = self._silent.pop(name, None)
        text = ""
        if since is not None:
            text = f"answers again after {formatting.text((sample.tick - since) / 1000.0, Unit.SECONDS)}"
        elif name in self._awaited:
            text = "answers for the first time since the collector began"
        self._awaited.discard(name)
        if sample.restarted:
            yield Event(0, sample.tick, name, RESTART, f"started anew; {text}" if text else "started anew", {})
        elif text:
            yield Event(0, sample.tick, name, BACK, text, {})
