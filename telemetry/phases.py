"""What an engine is doing, judged from its counters: phases, and finished prefills (episodes)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

KEEP_MS = 3_600_000.0
"""No prefill is longer; what ended longer ago covers nothing any more."""

DECODING_MS = 10_000.0
"""Decoding means that tokens increased in the trailing 10 s, and that nothing has shown its end since."""

STALLED_MS = 20 * 60_000.0
STALLED_COLD_MS = 60_000.0
STALLED_FLAT_MS = 90_000.0
"""Requests run but nothing moves: stalled after 20 minutes; after 60 s where the GPUs are known to be cold, after 90 s
where the fabric is known to be still on every node of a deployment of two or more. Until then it is a long prefill."""


class Phase(Enum):
    """Order is that of the catalogue's state codes."""

    UNKNOWN = 0
    IDLE = 1
    PREFILLING = 2
    DECODING = 3
    LOADING = 4
    ASLEEP = 5
    STALLED = 6
    STOPPED = 7


@dataclass(frozen=True, slots=True)
class EngineReading:
    """One successful reading of an engine; None is "not offered" or "not known".

    Token counts and sums are unwrapped counters; at_ms is when they were true. leapt: a counter is at another level
    (`counters.Step`), so that nothing follows from what it gained since the reading before.
    """

    at_ms: float
    generation: float | None = None
    prompt: float | None = None
    computed: float | None = None
    cached: float | None = None
    ttft_sum: float | None = None
    ttft_count: float | None = None
    prompt_seconds: float | None = None
    running: float | None = None
    asleep: bool = False
    restarted: bool = False
    leapt: bool = False

    def without_counts(self) -> EngineReading:
        """The same, none of its counters known."""
        return EngineReading(self.at_ms, running=self.running, asleep=self.asleep, restarted=self.restarted)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of the machines meanwhile; None is not known, and neither speeds up nor blocks a verdict."""

    gpus_cold: bool | None = None
    fabric_still: bool | None = None


@dataclass(frozen=True, slots=True)
class Prefill:
    """A finished prefill: computed prompt tokens and length in seconds, None where unknown."""

    start_ms: float
    end_ms: float
    tokens: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """phase: with its reason. finished: the prefill that ended with this reading.

    prefilling_since_ms: since when one has been running, if one is.
    """

    phase: Phase
    reason: str
    finished: Prefill | None = None
    prefilling_since_ms: float | None = None


@dataclass(slots=True)
class EngineJudge:
    """Follows one engine from reading to reading."""

    _last: EngineReading | None = None
    _moved_ms: float | None = field(default=None)
    _flat_ms: float | None = None
    _episode_end_ms: float | None = None
    _idle_ms: float | None = None
    _covered: list[tuple[float, float]] = field(default_factory=list)

    def read(self, now: EngineReading, around: Surroundings = Surroundings()) -> Judgement:
        """Judge a reading."""
        before, self._last = self._last, now
        if before is None:
            self._flat_ms = now.at_ms
            self._idle_ms = now.at_ms if now.running == 0 else None
            return self._phase(now, around, None)
        if now.restarted:
            self._moved_ms, self._episode_end_ms, self._idle_ms = None, None, before.at_ms
        if now.leapt:
            before = before.without_counts()
        finished = self._episode(before, now)
        if _grew(before.generation, now.generation) and (now.at_ms - before.at_ms <= DECODING_MS or now.running):
            self._moved_ms = now.at_ms  # after a longer silence only running requests show that it was not long ago
        elif now.running == 0 and _stood(before, now):
            self._moved_ms = None  # the last request is over: what comes next begins anew
        if finished is not None or _grew(before.generation, now.generation) or not now.running or now.restarted:
            self._flat_ms = now.at_ms
        if now.running == 0:
            self._idle_ms = now.at_ms
        return self._phase(now, around, finished)

    def _episode(self, before: EngineReading, now: EngineReading) -> Prefill | None:
        if not (_grew(before.prompt, now.prompt) or _grew(before.computed, now.computed)):
            return None
        seconds = self._length(before, now)
        self._episode_end_ms = now.at_ms
        begin = before.at_ms if seconds is None else now.at_ms - seconds * 1000.0
        return Prefill(begin, now.at_ms, _computed(before, now), seconds)

    def _length(self, before: EngineReading, now: EngineReading) -> float | None:
        """Seconds that a prefill which ended with this reading took, without those told of another one.

        One first token since the reading before: its own time to first token, from the engine's last idle moment on,
        less what earlier episodes cover of it; so a short prompt that finishes inside a long prefill does not cut the
        long one to its rest. Several: the lesser of their sum and the time since the engine was last free.
        """
        timed = _gain(before.ttft_sum, now.ttft_sum)
        if timed is not None and _gain(before.ttft_count, now.ttft_count) == 1:
            start = max(now.at_ms - timed * 1000.0, self._idle_ms if self._idle_ms is not None else -math.inf)
            seconds = (now.at_ms - start - _overlap(self._covered, start, now.at_ms)) / 1000.0
            self._cover(start, now.at_ms)
            return seconds
        free = [instant for instant in (self._episode_end_ms, self._idle_ms) if instant is not None]
        timed = _gain(before.prompt_seconds, now.prompt_seconds) if timed is None else timed
        if timed is None or not free:
            return None  # not offered; or the prefill began before we looked
        seconds = min(timed, (now.at_ms - max(free)) / 1000.0)
        self._cover(now.at_ms - seconds * 1000.0, now.at_ms)
        return seconds

    def _cover(self, start_ms: float, end_ms: float) -> None:
        """Remember a stretch that an episode was told of, merged with those that it touches."""
        apart = [one for one in self._covered if one[1] < start_ms and end_ms - one[1] < KEEP_MS]
        touched = [one[0] for one in self._covered if one[1] >= start_ms]
        self._covered = [*apart, (min([start_ms, *touched]), end_ms)]

    def _phase(self, now: EngineReading, around: Surroundings, finished: Prefill | None) -> Judgement:
        if now.asleep:
            return Judgement(Phase.ASLEEP, "the engine sleeps: its weights are not on the GPU", finished)
        if self._moved_ms is not None and now.at_ms - self._moved_ms < DECODING_MS:
            return Judgement(Phase.DECODING, "output tokens increased in the last 10 s", finished)
        if now.running is None:
            return Judgement(Phase.UNKNOWN, "the engine does not say how many requests run", finished)
        if now.running == 0:
            return Judgement(Phase.IDLE, "no request runs", finished)
        still_ms = now.at_ms - (self._flat_ms if self._flat_ms is not None else now.at_ms)
        cause = stalled(still_ms, around)
        if cause:
            return Judgement(Phase.STALLED, cause, finished)
        reason = f"{now.running:g} running, no token yet"
        return Judgement(Phase.PREFILLING, reason, finished, self._flat_ms)


def _overlap(covered: list[tuple[float, float]], start_ms: float, end_ms: float) -> float:
    """Milliseconds of start … end that lie in stretches which do not overlap each other."""
    return sum(max(min(end, end_ms) - max(start, start_ms), 0.0) for start, end in covered)


def stalled(still_ms: float, around: Surroundings) -> str | None:
    """Why an engine with running requests counts as stalled after nothing moved for so long; None: it does not."""
    if still_ms >= STALLED_MS:
        return "requests run, but no token moved for 20 minutes"
    if around.gpus_cold and still_ms >= STALLED_COLD_MS:
        return "requests run, but no token moved for a minute and the GPUs draw idle power"
    if around.fabric_still and still_ms >= STALLED_FLAT_MS:
        return "requests run, but no token moved for 90 s and the fabric is still on every node"
    return None


def _gain(before: float | None, now: float | None) -> float | None:
    return None if before is None or now is None else now - before


def _grew(before: float | None, now: float | None) -> bool:
    gained = _gain(before, now)
    return gained is not None and gained > 0


def _stood(before: EngineReading, now: EngineReading) -> bool:
    """Whether the output tokens are known to stand still; unknown tokens show no end of decoding."""
    return _gain(before.generation, now.generation) == 0


def _computed(before: EngineReading, now: EngineReading) -> float | None:
    """Prompt tokens really computed: as counted, else all less the cached ones, else unknown."""
    computed = _gain(before.computed, now.computed)
    if computed is not None:
        return computed
    prompt, cached = _gain(before.prompt, now.prompt), _gain(before.cached, now.cached)
    return None if prompt is None or cached is None else max(prompt - cached, 0.0)
