"""How a stretch was spent: time in each phase, and time at each number of requests running."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.silence import AWAY, state
from runs.stretch import Stretch, of
from telemetry import ratios
from telemetry.catalog import engine
from telemetry.counters import NOMINAL_PER_GAP
from telemetry.frame import Floats, Frame, Ints
from telemetry.grid import largest
from telemetry.model import Fold, Metric, Unit, part
from telemetry.phases import Phase

ORDER = (
    Phase.DECODING,
    Phase.PREFILLING,
    Phase.STALLED,
    Phase.LOADING,
    Phase.ASLEEP,
    Phase.IDLE,
    Phase.STOPPED,
    Phase.UNKNOWN,
)
"""Of several engines the deployment does what stands first."""
SHORTEST_S = 1e-9
"""What is shorter is nothing but rounding."""

PHASE = Number(
    "phase_seconds",
    "Time in phase",
    Unit.SECONDS,
    "Each reading's phase counts until the next one, but not over a gap; what is left is unknown. Of several "
    "engines the busiest counts.",
)
RUNNING = Number(
    "running_seconds",
    "Time at so many running",
    Unit.SECONDS,
    "Each reading's number of requests running counts until the next one, but not over a gap; unknown is also the time "
    "in which one of several engines did not answer.",
)
RUNNING_MEAN = Number("running_mean", "Running, mean", Unit.REQUESTS, "Mean over the time in which it is known.")
RUNNING_MAX = Number("running_max", "Running, most", Unit.REQUESTS, "Largest number at a reading.")
DECODING_MEAN = Number(
    "decoding_mean",
    "In decode, mean",
    Unit.REQUESTS,
    "Inter-token latencies in seconds ∕ time decoding: requests in decode at a time, those in prefill left out. The "
    "gauge of running requests is read between steps and may show less.",
)
WAITING_MEAN = Number("waiting_mean", "Waiting, mean", Unit.REQUESTS, "Mean over the time in which it is known.")
WAITING_MAX = Number("waiting_max", "Waiting, most", Unit.REQUESTS, "Largest number at a reading.")
KV_MEAN = Number("kv_mean", "KV cache, mean", Unit.RATIO, "Mean over time of the fullest engine's share in use.")
KV_MAX = Number("kv_max", "KV cache, most", Unit.RATIO, "Largest share in use at a reading.")


@dataclass(frozen=True)
class Steps:
    """A line that counts until its next reading. values: float64[tick], NaN unknown; seconds: float64[tick].

    told: whether any reading told it.
    """

    values: Floats
    seconds: Floats
    told: bool = True

    @property
    def known_s(self) -> float:
        """Time in which it is known."""
        return float(self.seconds[~np.isnan(self.values)].sum())

    def mean(self) -> float:
        """Mean over that time; NaN of none."""
        known = ~np.isnan(self.values)
        return float((self.values[known] * self.seconds[known]).sum() / self.known_s) if self.known_s > 0 else np.nan

    def largest(self) -> float:
        """Largest value that lasted, NaN of none."""
        known = self.values[~np.isnan(self.values)]
        return max(known.tolist(), default=np.nan)


def section(stretch: Stretch) -> Section:
    """Phases, concurrency, queue and KV cache."""
    gaps = touched(stretch.engine_coverage, "the engine")
    running, waiting = (line(stretch, metric) for metric in (engine.REQUESTS_RUNNING, engine.REQUESTS_WAITING))
    entries = [PHASE.entry(seconds, of=_word(phase), note=gaps) for phase, seconds in phases(stretch).items()]
    entries += _extent(running, (RUNNING_MEAN, RUNNING_MAX), gaps)
    entries += [RUNNING.entry(seconds, of=f"{number:g}", note=gaps) for number, seconds in profile(running)]
    entries += _unknown(stretch, running, gaps)
    entries.append(_decoding(stretch, gaps))
    entries += _extent(waiting, (WAITING_MEAN, WAITING_MAX), gaps)
    entries += _cache(stretch, gaps)
    return Section("phases", "Phases and load", tuple(entries))


def _word(phase: Phase) -> str:
    return engine.PHASES[phase.value]


def _extent(steps: Steps, numbers: tuple[Number, Number], gaps: str) -> list[Entry]:
    mean, most = numbers
    why = gaps if steps.told and gaps else "the engine does not tell it"
    known = steps.known_s > 0
    return [
        mean.entry(steps.mean(), note=gaps if known else "", why=why),
        most.entry(steps.largest() if known else None, note=gaps if known else "", why=why),
    ]


def _decoding(stretch: Stretch, gaps: str) -> Entry:
    """Of all engines, or of none: windows in which tokens came are those of all."""
    latency, seconds = part(engine.ITL, "sum"), stretch.decoding_s
    lacking = stretch.offering(engine.GENERATION_TOKENS) - stretch.offering(latency)
    if lacking or not seconds > 0:
        return DECODING_MEAN.entry(None, why="not offered")
    return DECODING_MEAN.entry(stretch.gained(latency) / seconds, note=gaps)


def _unknown(stretch: Stretch, running: Steps, gaps: str) -> list[Entry]:
    """The time that no number of requests has, where others have some."""
    left = stretch.subject.seconds - running.known_s
    return [RUNNING.entry(left, of="unknown", note=gaps)] if running.known_s > 0 and left > SHORTEST_S else []


def _cache(stretch: Stretch, gaps: str) -> list[Entry]:
    """Which engine is the fullest is known while all answer; the fullest at a reading also while another is silent."""
    metric, numbers = engine.KV_CACHE_USAGE, (KV_MEAN, KV_MAX)
    return [
        _extent(line(stretch, metric), numbers, gaps)[0],
        _extent(line(stretch, metric, all_of=False), numbers, gaps)[1],
    ]


def line(stretch: Stretch, metric: Metric, *, all_of: bool = True) -> Steps:
    """A gauge over all engines, folded as the catalogue says; unknown while one of several is silent.

    all_of: False takes those that answer for all of them.
    """
    frame = of(stretch.engines, metric)
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    if metric.across is Fold.SUM:
        values = ratios.total(held, ticks, ~np.isnan(frame.values))
    else:
        values = largest(held, 0) if len(held) else np.full(len(ticks), np.nan)
    if all_of:
        values = np.where(stretch.silent, np.nan, values)
    return Steps(values, _seconds(frame, stretch), told=bool((~np.isnan(frame.values)).any()))


def _seconds(frame: Frame, stretch: Stretch) -> Floats:
    """How long each tick of a frame counts: until the next one or the end; over a gap for one interval."""
    ticks = frame.ticks.astype(np.float64)
    gap_ms = max(frame.gap_ms.tolist(), default=0.0)
    until = np.append(ticks[1:], stretch.end_ms)[: len(ticks)]
    length = until - ticks
    until = np.where(length > gap_ms, ticks + gap_ms / NOMINAL_PER_GAP, until)
    return np.asarray(np.maximum(np.minimum(until, stretch.end_ms) - np.maximum(ticks, stretch.start_ms), 0.0) / 1000.0)


def profile(steps: Steps) -> list[tuple[float, float]]:
    """(number running, seconds at it), rising; what lasted no time is left out."""
    known = ~np.isnan(steps.values)
    numbers, place = np.unique(steps.values[known], return_inverse=True)
    seconds = np.bincount(place, weights=steps.seconds[known], minlength=len(numbers))
    return [(number, length) for number, length in zip(numbers.tolist(), seconds.tolist(), strict=True) if length > 0]


def phases(stretch: Stretch) -> dict[Phase, float]:
    """Seconds in each phase, in `ORDER`; together the length of the stretch. Phases that were not are left out."""
    frame = of(stretch.engines, engine.ENGINE_PHASE)
    seconds = _seconds(frame, stretch)
    spent = np.bincount(busiest(frame), weights=seconds, minlength=len(ORDER))
    found = dict(zip(ORDER, spent.tolist(), strict=True))
    found[Phase.UNKNOWN] += max(stretch.subject.seconds - float(seconds.sum()), 0.0)
    for phase, length in _away(stretch, found[Phase.UNKNOWN]):
        found[phase] += length
        found[Phase.UNKNOWN] -= length
    return {phase: length for phase, length in found.items() if length > SHORTEST_S}


def busiest(frame: Frame) -> Ints:
    """Place in `ORDER` of what the deployment does at each tick: the first of what its engines do.

    frame: the phases of its engines.
    """
    ticks = frame.ticks.astype(np.float64)
    held = ratios.hold(frame.values, frame.gap_ms, ticks, ~np.isnan(frame.at_ms))
    rank = np.full(len(Phase) + 1, len(ORDER) - 1)
    rank[[phase.value for phase in ORDER]] = np.arange(len(ORDER))
    codes = np.where(np.isnan(held), Phase.UNKNOWN.value, held).astype(np.int64)
    return rank[codes].min(axis=0) if len(held) else np.full(len(ticks), len(ORDER) - 1)


def _away(stretch: Stretch, unknown_s: float) -> list[tuple[Phase, float]]:
    """How much of the time in which no engine answered is known to be a stop or a start, where there is one engine."""
    targets = set(stretch.subject.targets)
    if len(targets) != 1:
        return []
    found = []
    for phase, states in AWAY.items():
        spans = [
            (
                max(one.start_ms, stretch.start_ms),
                min(stretch.end_ms if one.end_ms is None else one.end_ms, stretch.end_ms),
            )
            for one in stretch.absences
            if one.target in targets and one.metric is None and state(one) in states
        ]
        length = min(_length(spans), unknown_s)
        unknown_s -= length
        found.append((phase, length))
    return found


def _length(spans: Sequence[tuple[int, int]]) -> float:
    return sum(max(end - start, 0) for start, end in spans) / 1000.0
