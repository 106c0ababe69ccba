"""Strips of activity: an engine as a word, a letter per second.

    .  up, nothing runs            #  decoding: a request runs, tokens come
    p  a long prefill: a request runs, nothing moves      f  tokens come although the gauge reads 0
    S  the same, judged as stalled                        i  a prompt is counted, no output
    G  not answered, nothing happens meanwhile            g  not answered, tokens come meanwhile
    R  up, restarted since the last letter                r  restarted, and tokens came already
    X  its process is gone                                (space)  not due

The counter is unwrapped, so that it goes on after a restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from runs.detect import Change, Detector
from runs.history import READS, Found, Stop, told
from runs.sights import EngineState, Observation, Sight
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.phases import Phase

START = 1_796_000_000_000
SECOND = 1000
TOKENS = 10.0
RUNS, FLOWS, UNSEEN = frozenset("#pSr"), frozenset("#fgr"), frozenset("Gg ")


def at(second: float) -> int:
    """The instant of a letter."""
    return START + round(second * SECOND)


class Engine:
    """One engine's word, told as sights."""

    def __init__(self, word: str, model: str = "m", speculative: Mapping[int, str] | None = None) -> None:
        self.word = word
        self.model = model
        self.speculative = dict(speculative or {0: ""})
        self.output = np.cumsum([TOKENS * (letter in FLOWS) for letter in word])
        self.prompt = np.cumsum([TOKENS * (letter == "i") for letter in word])

    def sight(self, second: int) -> Sight | None:
        """What is seen of it, None where it was not due."""
        letter = self.word[second]
        if letter == " ":
            return None
        if letter == "X":
            return Sight(EngineState.STOPPED)
        if letter in UNSEEN:
            return Sight(EngineState.UNKNOWN)
        state = EngineState.RESTARTED if letter in "Rr" else EngineState.UP
        phase = Phase.STALLED if letter == "S" else Phase.UNKNOWN
        told = self.speculative[max(since for since in self.speculative if since <= second)]
        running = 1.0 if letter in RUNS else 0.0
        return Sight(state, running, self.output[second], self.prompt[second], phase, self.model, told)


def observation(engines: Mapping[str, Engine], second: int) -> Observation:
    """All engines at one tick."""
    seen = {name: engine.sight(second) for name, engine in engines.items()}
    return Observation(at(second), {name: sight for name, sight in seen.items() if sight is not None})


def named(words: str | Sequence[str]) -> dict[str, Engine]:
    """Engines a/0, b/0 … of words; a shorter word goes on idle, or as silent as it ended."""
    several = [words] if isinstance(words, str) else words
    length = max(map(len, several))
    padded = (word.ljust(length, word[-1] if word[-1] in "GX" else ".") for word in several)
    return {f"{name}/0": Engine(word) for name, word in zip("abcdef", padded, strict=False)}


def changes(engines: Mapping[str, Engine], detector: Detector) -> list[Change]:
    """What a detector says of the words."""
    length = max(len(engine.word) for engine in engines.values())
    return [change for second in range(length) for change in detector.see(observation(engines, second))]


def found(engines: Mapping[str, Engine], detector: Detector) -> list[Found]:
    """The runs of the words."""
    return told(changes(engines, detector))


def seconds(runs: Iterable[Found]) -> list[tuple[float, float | None]]:
    """Start and end of runs in letters."""
    return [
        ((one.start_ms - START) / SECOND, None if one.end_ms is None else (one.end_ms - START) / SECOND) for one in runs
    ]


def frame(engines: Mapping[str, Engine]) -> Frame:
    """The same as stored history: rows of the sights' fields, unknown where the engine was not read."""
    length = max(len(engine.word) for engine in engines.values())
    rows: dict[Series, list[float]] = {}
    read, broken = {}, {}
    for name, engine in engines.items():
        target, _, number = name.partition("/")
        sights = [engine.sight(second) for second in range(length)]
        seen = [sight is not None and sight.output is not None for sight in sights]
        for field, metric in READS.items():
            series = Series(target, metric.name, (("engine", number), ("model", engine.model)))
            rows[series] = [
                _number(getattr(sight, field)) if here else np.nan for sight, here in zip(sights, seen, strict=True)
            ]
            read[series] = seen
            broken[series] = [sight is not None and sight.state is EngineState.RESTARTED for sight in sights]
    there = np.array(list(read.values()))
    ticks = np.array([at(second) for second in range(length)], dtype=np.int64)
    kept = there.any(axis=0)
    at_ms = np.where(there, ticks.astype(float), np.nan)
    values, breaks = np.array(list(rows.values())), np.array(list(broken.values()))
    gaps = np.full(len(rows), SECOND * NOMINAL_PER_GAP)
    return Frame(ticks[kept], tuple(rows), values[:, kept], at_ms[:, kept], breaks[:, kept], gaps)


def _number(value: float | Phase | None) -> float:
    if isinstance(value, Phase):
        return float(value.value)
    return np.nan if value is None else value


def stops(engines: Mapping[str, Engine]) -> list[Stop]:
    """When the words' processes were gone."""
    return [
        Stop(name.partition("/")[0], at(second), at(second + 1))
        for name, engine in engines.items()
        for second, letter in enumerate(engine.word)
        if letter == "X"
    ]
