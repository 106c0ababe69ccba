"""How a stretch was spent: time in each phase, and time at each number of requests running."""

from __future__ import annotations

from collections.abc import Sequence

from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.loads import ORDER, Load
from runs.silence import AWAY, state
from runs.stretch import Stretch
from telemetry.catalog import engine
from telemetry.model import Unit, part
from telemetry.phases import Phase

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


def section(stretch: Stretch) -> Section:
    """Phases, concurrency, queue and KV cache."""
    gaps = touched(stretch.engine_coverage, "the engine")
    engines, running = stretch.engines, stretch.engines.running
    entries = [PHASE.entry(seconds, of=_word(phase), note=gaps) for phase, seconds in phases(stretch).items()]
    entries += _extent(running, (RUNNING_MEAN, RUNNING_MAX), gaps)
    entries += [RUNNING.entry(seconds, of=f"{number:g}", note=gaps) for number, seconds in running.profile()]
    entries += _unknown(stretch, running, gaps)
    entries.append(_decoding(stretch, gaps))
    entries += _extent(engines.waiting, (WAITING_MEAN, WAITING_MAX), gaps)
    # which engine is the fullest is known while all answer; the fullest at a reading also while another is silent
    numbers = KV_MEAN, KV_MAX
    entries += [_extent(engines.cache, numbers, gaps)[0], _extent(engines.fullest, numbers, gaps)[1]]
    return Section("phases", "Phases and load", tuple(entries))


def _word(phase: Phase) -> str:
    return engine.PHASES[phase.value]


def _extent(load: Load, numbers: tuple[Number, Number], gaps: str) -> list[Entry]:
    mean, most = numbers
    why = gaps if load.told and gaps else "the engine does not tell it"
    known = load.known_s > 0
    return [
        mean.entry(load.mean, note=gaps if known else "", why=why),
        most.entry(load.most if known else None, note=gaps if known else "", why=why),
    ]


def _decoding(stretch: Stretch, gaps: str) -> Entry:
    """Of all engines, or of none: windows in which tokens came are those of all."""
    latency, seconds = part(engine.ITL, "sum"), stretch.decoding_s
    lacking = stretch.offering(engine.GENERATION_TOKENS) - stretch.offering(latency)
    if lacking or not seconds > 0:
        return DECODING_MEAN.entry(None, why="not offered")
    return DECODING_MEAN.entry(stretch.engines.decoding.latency_s / seconds, note=gaps)


def _unknown(stretch: Stretch, running: Load, gaps: str) -> list[Entry]:
    """The time that no number of requests has, where others have some."""
    left = stretch.subject.seconds - running.known_s
    return [RUNNING.entry(left, of="unknown", note=gaps)] if running.known_s > 0 and left > SHORTEST_S else []


def phases(stretch: Stretch) -> dict[Phase, float]:
    """Seconds in each phase, in `ORDER`; together the length of the stretch. Phases that were not are left out."""
    spent = stretch.engines.spent
    found = dict(zip(ORDER, spent.by_phase.tolist(), strict=True))
    found[Phase.UNKNOWN] += max(stretch.subject.seconds - spent.total_s, 0.0)
    for phase, length in _away(stretch, found[Phase.UNKNOWN]):
        found[phase] += length
        found[Phase.UNKNOWN] -= length
    return {phase: length for phase, length in found.items() if length > SHORTEST_S}


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
