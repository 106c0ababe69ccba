"""When a run begins and ends: a machine per deployment, fed one observation per tick. No I/O, no clock.

A run begins when requests run or tokens flow. It ends after a silence, with the restart or stop of the last engine,
with a change of model or of speculative settings, or by hand; and its end is its last activity. What is not seen is
not silence: a gap, the restart of one of several engines, and that of the monitor (see `to_json`) do not end it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from runs.model import By, Mark
from runs.sights import EngineState, Observation, Sight
from telemetry.phases import Phase

SILENCE_MS = 60_000
LOST_MS = 3_600_000
"""After so long without a word an engine is taken as gone: what it does then is not part of this run."""
HOLE_MS = 15_000
"""Tokens that came in a hole longer than this are worth a mark."""
VERSION = 1

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Began:
    """A run begins at this instant, the last look before its first activity. model: what it serves, "" not known."""

    at_ms: int
    by: By
    reason: str
    model: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """The run that goes on ended at this instant, its last activity (that of the hand, where ended by hand)."""

    at_ms: int
    reason: str


@dataclass(frozen=True, slots=True)
class Marked:
    """Something that did not end the run that goes on."""

    mark: Mark


Change = Began | Ended | Marked


@dataclass(slots=True)
class Engine:
    """What was last seen of an engine. seen_ms: when it last answered."""

    seen_ms: int
    state: str
    running: float | None = None
    output: float | None = None
    prompt: float | None = None
    model: str | None = None
    speculative: str | None = None
    stalled: bool = False


@dataclass(slots=True)
class Open:
    """The run that goes on. active_ms: last tick with activity; moved_ms: last one at which anything changed.

    carriers: engines that carry it. fresh: engines that restarted or stopped in it and have not served since.
    """

    start_ms: int
    by: By
    active_ms: int
    moved_ms: int
    carriers: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Step:
    """What one engine did since it was last seen. moved: tokens came. changed: so did the number of running requests,
    within a silence; after a longer time nobody knows when.

    busy: requests run, and are not stalled. since_ms: when it was last seen before, None never.
    """

    moved: bool
    changed: bool
    busy: bool
    since_ms: int | None

    @property
    def active(self) -> bool:
        """Whether it worked."""
        return self.moved or self.changed or self.busy


class Detector:
    """Follows one deployment."""

    def __init__(self, silence_ms: int = SILENCE_MS, lost_ms: int = LOST_MS) -> None:
        self.silence_ms = silence_ms
        self.lost_ms = lost_ms
        self._engines: dict[str, Engine] = {}
        self._run: Open | None = None
        self._looked_ms: int | None = None
        self._closed_ms: int | None = None

    @property
    def running(self) -> bool:
        """Whether a run goes on."""
        return self._run is not None

    @property
    def active_ms(self) -> int | None:
        """Last tick with activity of the run that goes on, None where none does."""
        return None if self._run is None else self._run.active_ms

    def see(self, now: Observation) -> list[Change]:
        """Take in a tick; what follows from it, in order."""
        changes = self._lose(now.tick_ms)
        changes += self._replaced(now)
        changes += self._left(now)
        steps = {name: self._step(name, one, now.tick_ms) for name, one in now.engines.items() if _answers(one)}
        for name, one in now.engines.items():
            self._remember(name, one, now.tick_ms)
        changes += self._begin(now.tick_ms, steps) if self._run is None else self._go_on(self._run, now, steps)
        if steps:
            self._looked_ms = now.tick_ms
        return changes

    def start(self, at_ms: int, name: str = "") -> list[Change]:
        """Begin a run by hand, and end the one that goes on."""
        changes = self.stop(at_ms, "another one was started by hand")
        self._run = Open(at_ms, "hand", at_ms, at_ms, self._present(at_ms))
        return [*changes, Began(at_ms, "hand", "started by hand", self._models(), name)]

    def stop(self, at_ms: int, reason: str = "stopped by hand") -> list[Change]:
        """End the run that goes on, by hand; nothing where none does. What still runs is another run."""
        if self._run is None:
            return []
        return [self._end(max(at_ms, self._run.start_ms), reason)]

    def _present(self, now_ms: int) -> set[str]:
        up = (EngineState.UP.value, EngineState.RESTARTED.value)
        return {name for name, one in self._engines.items() if one.state in up and now_ms - one.seen_ms <= self.lost_ms}

    def _models(self) -> str:
        return ", ".join(sorted({one.model for one in self._engines.values() if one.model}))

    def _end(self, at_ms: int, reason: str) -> Ended:
        self._run, self._closed_ms = None, at_ms
        return Ended(at_ms, reason)

    def _lose(self, now_ms: int) -> list[Change]:
        """Engines of which nothing was heard for too long."""
        run = self._run
        if run is None:
            return []
        silent = sorted(name for name in run.carriers if now_ms - self._engines[name].seen_ms > self.lost_ms)
        run.carriers -= set(silent)
        if silent and not run.carriers:
            return [self._end(run.active_ms, f"nothing was heard of {_listed(silent)} for {_span(self.lost_ms)}")]
        return [Marked(Mark(now_ms, "lost", f"nothing was heard of {one} for {_span(self.lost_ms)}")) for one in silent]

    def _replaced(self, now: Observation) -> list[Change]:
        """An engine that serves something else, or otherwise, than before."""
        reason = ""
        for name, one in now.engines.items():
            known = self._engines.get(name)
            if known is None or not _answers(one):
                continue
            if _differ(known.model, one.model):
                reason = reason or f"the model changed from {known.model} to {one.model}"
                known.running = known.output = known.prompt = None  # they were the other model's
            if _differ(known.speculative, one.speculative):
                settings = (known.speculative or "none", one.speculative or "none")
                reason = reason or "the speculative settings changed from {} to {}".format(*settings)
        return [self._end(self._run.active_ms, reason)] if reason and self._run is not None else []

    def _left(self, now: Observation) -> list[Change]:
        """Engines that restarted or stopped: a mark, or the end where no other one carries the run."""
        gone = {name: one.state for name, one in sorted(now.engines.items()) if self._leaves(name, one)}
        for name in gone:
            if name in self._engines:
                self._engines[name].running = None  # what ran before has ended with it
        run = self._run
        if run is None or not gone:
            return []
        last = bool(run.carriers) and run.carriers <= gone.keys()
        run.carriers -= gone.keys()
        run.fresh |= gone.keys()
        texts = {name: f"{name} {_LEFT[state]}" for name, state in gone.items()}
        if last:
            return [self._end(run.active_ms, ", ".join(texts.values()))]
        return [Marked(Mark(now.tick_ms, _KIND[gone[name]], text)) for name, text in texts.items()]

    def _leaves(self, name: str, one: Sight) -> bool:
        known = self._engines.get(name)
        if one.state is EngineState.STOPPED:
            return known is not None and known.state != EngineState.STOPPED.value
        return one.state is EngineState.RESTARTED

    def _step(self, name: str, one: Sight, now_ms: int) -> Step:
        known = self._engines.get(name)
        busy = bool(one.running) and one.phase is not Phase.STALLED
        if known is None:
            return Step(False, False, busy, None)
        moved = _grew(known.output, one.output) or _grew(known.prompt, one.prompt)
        changed = _differ(known.running, one.running) and now_ms - known.seen_ms <= self.silence_ms
        return Step(moved, changed, busy, known.seen_ms)

    def _remember(self, name: str, one: Sight, now_ms: int) -> None:
        if not _answers(one):
            if name in self._engines:
                self._engines[name].state = one.state.value
            return
        known = self._engines.setdefault(name, Engine(now_ms, one.state.value))
        self._engines[name] = Engine(
            now_ms,
            one.state.value,
            one.running,
            _either(one.output, known.output),
            _either(one.prompt, known.prompt),
            _either(one.model, known.model),
            _either(one.speculative, known.speculative),
            one.phase is Phase.STALLED,
        )

    def _begin(self, now_ms: int, steps: Mapping[str, Step]) -> list[Change]:
        """What moved since a look longer ago than a silence moved at an unknown time, and begins nothing."""
        flowing = [one for one in steps.values() if one.moved and now_ms - (one.since_ms or 0) <= self.silence_ms]
        if not flowing and not any(one.busy for one in steps.values()):
            return []
        recent = self._looked_ms is not None and now_ms - self._looked_ms <= self.silence_ms
        start = max(self._looked_ms or 0, self._closed_ms or 0) if recent else now_ms
        self._run = Open(start, "found", now_ms, now_ms, self._present(now_ms))
        return [Began(start, "found", "tokens flowed" if flowing else "requests ran", self._models())]

    def _go_on(self, run: Open, now: Observation, steps: Mapping[str, Step]) -> list[Change]:
        served = {name for name, one in steps.items() if one.moved or one.busy}
        run.fresh -= served
        run.carriers |= steps.keys() - run.fresh
        changes = self._holes(now.tick_ms, steps)
        if any(one.active for one in steps.values()):
            run.active_ms = now.tick_ms
        if any(one.moved or one.changed for one in steps.values()):
            run.moved_ms = now.tick_ms
        hidden = any(self._engines[name].state == EngineState.UNKNOWN.value for name in run.carriers)
        if run.by == "hand" or not steps or hidden or now.tick_ms - run.active_ms < self.silence_ms:
            return changes
        if any(one.stalled for one in self._engines.values()):
            return [*changes, self._end(run.moved_ms, "stalled: requests ran, but nothing moved any more")]
        return [*changes, self._end(run.active_ms, f"nothing happened for {_span(self.silence_ms)}")]

    def _holes(self, now_ms: int, steps: Mapping[str, Step]) -> list[Change]:
        return [
            Marked(Mark(now_ms, "hole", f"tokens came from {name} in {_span(now_ms - one.since_ms)} not watched"))
            for name, one in sorted(steps.items())
            if one.moved and one.since_ms is not None and now_ms - one.since_ms > HOLE_MS
        ]

    def to_json(self) -> dict[str, Any]:
        """Everything that the next tick needs, for a monitor that starts anew."""
        run = None if self._run is None else asdict(self._run)
        if run is not None:
            run |= {"carriers": sorted(run["carriers"]), "fresh": sorted(run["fresh"])}
        return {
            "version": VERSION,
            "run": run,
            "engines": {name: asdict(one) for name, one in self._engines.items()},
            "looked_ms": self._looked_ms,
            "closed_ms": self._closed_ms,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], silence_ms: int = SILENCE_MS, lost_ms: int = LOST_MS) -> Detector:
        """A detector that goes on where another stopped; ValueError for a state of another version."""
        if data.get("version") != VERSION:
            raise ValueError(f"a detector's state of version {data.get('version')} cannot be read")
        found = cls(silence_ms, lost_ms)
        found._engines = {name: Engine(**one) for name, one in data["engines"].items()}
        if data["run"] is not None:
            run = Open(**data["run"])
            found._run = replace(run, carriers=set(run.carriers), fresh=set(run.fresh))
        found._looked_ms, found._closed_ms = data["looked_ms"], data["closed_ms"]
        return found


_LEFT = {EngineState.RESTARTED: "restarted", EngineState.STOPPED: "stopped"}
_KIND = {EngineState.RESTARTED: "restart", EngineState.STOPPED: "stop"}


def _answers(one: Sight) -> bool:
    return one.state in (EngineState.UP, EngineState.RESTARTED)


def _differ(before: Value | None, now: Value | None) -> bool:
    return before is not None and now is not None and before != now


def _grew(before: float | None, now: float | None) -> bool:
    """A counter that was not there stood at 0: it comes with its first use, or begins at 0."""
    return now is not None and now > (before or 0.0)


def _either(now: Value | None, before: Value | None) -> Value | None:
    return before if now is None else now


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _span(ms: int) -> str:
    """Milliseconds in words.

    >>> _span(60_000), _span(3_600_000), _span(90_000)
    ('60 s', '1 h', '90 s')
    """
    if ms % 3_600_000 == 0:
        return f"{ms // 3_600_000} h"
    return f"{ms / 1000:g} s"
