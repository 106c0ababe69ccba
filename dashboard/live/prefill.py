"""The prefill that is running: since when, how far, and when it may end. Its size shows only at the first token."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

import numpy as np

from dashboard.live import current
from dashboard.live.scene import Scene
from storage.records import Episode
from telemetry import formatting
from telemetry.catalog import engine
from telemetry.frame import Frame
from telemetry.model import Metric, Series, Unit
from telemetry.phases import Phase

ALIKE = 0.25
"""Recent prefills whose lengths lie this close to their median allow a guess at the end of the next one."""
RECENT = 3


@dataclass(frozen=True, slots=True)
class Running:
    """A prefill in progress.

    tokens: of prompts, computed into the KV cache since its start; requests: how many run meanwhile; None where that
    is not known.
    """

    series: Series
    since_ms: float
    seconds: float
    tokens: float | None
    requests: float | None


def running(scene: Scene) -> Running | None:
    """The prefill that has been running longest, None when none does."""
    return _longest(scene, (Phase.PREFILLING,))


def quiet(scene: Scene) -> Running | None:
    """The engine that has made no token longest although requests run: in a prefill, or stalled."""
    return _longest(scene, (Phase.PREFILLING, Phase.STALLED))


def quiet_text(now: Running) -> str:
    """ "no token for 35.0 s with 3 requests running": what is known of an engine, whatever it may be busy with."""
    text = f"no token for {formatting.text(now.seconds, Unit.SECONDS)}"
    if now.requests is None:
        return text
    return f"{text} with {now.requests:g} request{'s' * (now.requests != 1)} running"


def _longest(scene: Scene, of: tuple[Phase, ...]) -> Running | None:
    phases = scene.engines.select(lambda series: series.metric == engine.ENGINE_PHASE.name)
    now = current.newest(phases, scene.tick)
    rows = np.flatnonzero(np.isin(now, [phase.value for phase in of])).tolist()
    found = [_running(scene, phases, row) for row in rows]
    return max(found, key=lambda item: item.seconds, default=None)


def _running(scene: Scene, phases: Frame, row: int) -> Running:
    series = phases.series[row]
    since = _since(scene, phases, row)
    requests = _samples(scene, engine.REQUESTS_RUNNING, series)
    return Running(
        series,
        since,
        max(scene.tick - since, 0.0) / 1000.0,
        _entered(scene, series, since),
        None if requests is None else float(requests[1][-1]),
    )


def _since(scene: Scene, phases: Frame, row: int) -> float:
    """When the prefill began: the last tick at which a token moved or no request ran, as the judge of phases has it;
    the first reading after a restart or a gap where that is later, for what ran before is not what runs now.

    Where nothing of that is to be seen in the shown time: the first tick of the unbroken stretch of being so.
    """
    series = phases.series[row]
    found = [_last_moved(scene, metric, series) for metric in MOVING]
    found += [_restarted(scene.engines, series.target), _looked_again(phases, row)]
    running = _samples(scene, engine.REQUESTS_RUNNING, series)
    if running is not None and (running[1] == 0).any():
        found.append(float(running[0][running[1] == 0][-1]))
    known = [tick for tick in found if tick is not None]
    return max(known) if known else _stretch(phases, row)


MOVING = (engine.GENERATION_TOKENS, engine.PROMPT_TOKENS)


def _last_moved(scene: Scene, metric: Metric, like: Series) -> float | None:
    samples = _samples(scene, metric, like)
    if samples is None:
        return None
    moved = np.flatnonzero(np.diff(samples[1]) > 0)
    return float(samples[0][moved[-1] + 1]) if len(moved) else None


def anew(frame: Frame, row: int) -> float:
    """First reading of a row after its target's last restart, or its own last gap; −∞ where there was none."""
    known = [_restarted(frame, frame.series[row].target), _looked_again(frame, row)]
    return max((tick for tick in known if tick is not None), default=-math.inf)


def _restarted(frame: Frame, target: str) -> float | None:
    """First reading of the target since its last restart; None where there was none."""
    rows = [row for row, series in enumerate(frame.series) if series.target == target]
    broken = np.flatnonzero(np.asarray(frame.breaks[rows].any(axis=0)))
    return float(frame.ticks[broken[-1]]) if len(broken) else None


def _looked_again(frame: Frame, row: int) -> float | None:
    """First reading after the last gap; None where there was none."""
    ticks = frame.ticks[~np.isnan(frame.values[row])]
    gaps = np.flatnonzero(np.diff(ticks) > frame.gap_ms[row])
    return float(ticks[gaps[-1] + 1]) if len(gaps) else None


def _stretch(phases: Frame, row: int) -> float:
    known = np.flatnonzero(~np.isnan(phases.values[row]))
    other = np.flatnonzero(phases.values[row, known] != phases.values[row, known[-1]])
    return float(phases.ticks[known[other[-1] + 1 if len(other) else 0]])


def _entered(scene: Scene, series: Series, since_ms: float) -> float | None:
    """Prompt tokens that were computed into the KV cache since the start: its growth less what was found in it.

    Unknown where usage, capacity or hits are; where something left the cache meanwhile; and where a prefix was found
    while several requests ran, which may share it, so that it made the cache no fuller.
    """
    usage = _samples(scene, engine.KV_CACHE_USAGE, series)
    capacity = _samples(scene, engine.KV_CACHE_CAPACITY, series)
    found = _samples(scene, engine.PREFIX_CACHE_HITS, series)
    if usage is None or capacity is None or found is None:
        return None
    filled, hits = _from(usage, since_ms), _from(found, since_ms)
    requests = _samples(scene, engine.REQUESTS_RUNNING, series)
    shared = requests is None or bool((_from(requests, since_ms) > 1).any())
    hit = float(hits[-1] - hits[0])
    if (np.diff(filled) < 0).any() or (shared and hit):
        return None
    grown = float((filled[-1] - filled[0]) * capacity[1][-1]) - hit
    return grown if grown > 0 else None


def _from(samples: tuple[np.ndarray, np.ndarray], since_ms: float) -> np.ndarray:
    """Values from the last one at or before an instant on; all there are where none is as old."""
    first = max(int(np.searchsorted(samples[0], since_ms, side="right")) - 1, 0)
    return samples[1][first:]


def _samples(scene: Scene, metric: Metric, like: Series) -> tuple[np.ndarray, np.ndarray] | None:
    row = scene.engines.row(Series(like.target, metric.name, like.labels))
    if row is None:
        return None
    known = ~np.isnan(scene.engines.values[row])
    return (scene.engines.ticks[known], scene.engines.values[row, known]) if known.any() else None


def expected_s(episodes: list[Episode]) -> float | None:
    """Length to expect: the median of the last three prefills, None unless they were of one length."""
    lengths = [episode.seconds for episode in sorted(episodes, key=lambda one: one.end_ms) if episode.seconds][-RECENT:]
    if len(lengths) < RECENT:
        return None
    middle = statistics.median(lengths)
    return middle if max(abs(length - middle) for length in lengths) <= ALIKE * middle else None


def running_text(scene: Scene) -> str:
    """ "prefilling 12.0k tokens, 41.0 s, about 12.0 s left"; "" when no prefill runs. Leaves out what is not known."""
    now = running(scene)
    if now is None:
        return ""
    parts = ["prefilling" if now.tokens is None else f"prefilling, {formatting.text(now.tokens, Unit.TOKENS)} so far"]
    parts.append(formatting.text(now.seconds, Unit.SECONDS))
    expected = expected_s([one for one in scene.episodes if one.target == now.series.target])
    if expected is not None and expected > now.seconds:
        parts.append(f"about {formatting.text(math.ceil(expected - now.seconds), Unit.SECONDS)} left")
    return ", ".join(parts)
