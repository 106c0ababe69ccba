"""Cells of speed: decode, prefill, requests."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dashboard.live import current
from dashboard.live.cells import Cell, cell, unknown, words
from dashboard.live.prefill import running, running_text
from dashboard.live.reasons import NO_READING, idle, reason
from dashboard.live.scene import SHOWN_MS, WINDOWS_MS, Scene
from dashboard.live.sentence import BUSIEST
from dashboard.live.unknown import from_samples
from runs.activity import windows
from runs.decoding import Decoding
from runs.speed import BELOW_MEAN, WORTH_SAYING
from storage.records import Episode
from telemetry import formatting
from telemetry.catalog import cluster, engine
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Unit
from telemetry.phases import DECODING_MS

TPS = Unit.TOKENS_PER_SECOND
SECOND_MS = 1_000.0
NO_TOKENS = "no token in the shown time"


def peak(scene: Scene, metric: Metric) -> float:
    """Largest sum over deployments in the shown time, NaN when nothing is known."""
    values = current.held_total(scene.recorded(metric))
    return float(np.nanmax(values)) if np.isfinite(values).any() else math.nan


def mean_while_decoding(scene: Scene) -> float:
    """Tokens ∕ seconds of the stretches of the shown time in which tokens moved; NaN when none moved.

    As of a run: what came over a gap or a restart is on neither side.
    """
    shown = scene.recorded(engine.GENERATION_TOKENS)
    return Decoding.over(shown, windows(shown, scene.tick - SHOWN_MS, scene.tick)).mean


def phase(scene: Scene) -> str:
    """The engines' phases in one text: that of all, or the busiest of several."""
    values = scene.engines_of(engine.ENGINE_PHASE.name)
    known = [int(value) for value in current.newest(values, scene.tick) if not math.isnan(value)]
    found = {formatting.state(code, engine.PHASES) for code in known}
    return next((name for name in BUSIEST if name in found), "unknown")


def prefill_now(scene: Scene) -> Cell:
    """The prefill that runs, else the last one: "last 60.0k tokens in 1m 20s, 750 tok/s"."""
    text = running_text(scene)
    if text:
        return words(text)
    done = [episode for episode in scene.episodes if episode.end_ms <= scene.tick]
    if not done:
        return unknown("no prefill in the shown time")
    last = max(done, key=lambda episode: episode.end_ms)
    tokens = "some tokens" if last.tokens is None else formatting.text(last.tokens, Unit.TOKENS)
    seconds = "an unknown time" if last.seconds is None else formatting.text(last.seconds, Unit.SECONDS)
    return words(f"last {tokens} in {seconds}{_speed(last)}")


def _speed(one: Episode) -> str:
    """ ", 750 tok/s": of one prefill, where both of its terms are known; the figure above is of all of five minutes."""
    if one.tokens is None or not one.seconds:
        return ""
    return f", {formatting.text(one.tokens / one.seconds, TPS)}"


def decode_now(scene: Scene) -> float:
    """Output tokens per second over the trailing 5 s, from the counter.

    Where that cannot be told yet, an engine's own gauge (SGLang) stands in, but only while requests run: it keeps its
    last value when idle.
    """
    counted = scene.quotient(quotients.DECODE_TPS, WINDOWS_MS["decode_now"])
    if not np.isnan(counted) or not scene.gauge(engine.REQUESTS_RUNNING) > 0:
        return counted
    return scene.gauge(engine.REPORTED_THROUGHPUT)


def no_tokens(scene: Scene, window_ms: float) -> str:
    """Why tokens over a window are unknown; a window shorter than an engine's interval cannot be measured."""
    slowest = max(scene.engine_targets, key=lambda target: target.interval_ms, default=None)
    if slowest is None or slowest.interval_ms <= window_ms:
        return reason(scene, engine.GENERATION_TOKENS, otherwise=_cut(scene, window_ms))
    window, interval = (formatting.text(ms / 1000, Unit.SECONDS) for ms in (window_ms, slowest.interval_ms))
    told = f"{window} is not measurable, {slowest.name} is read every {interval}"
    return reason(scene, engine.GENERATION_TOKENS, otherwise=told)


def _cut(scene: Scene, window_ms: float) -> str:
    """What in the samples leaves no window of tokens, while every engine answers: late, or over a gap or a restart."""
    part = scene.engines_of(engine.GENERATION_TOKENS.name)
    if not len(part.series) or np.isnan(part.values).all():
        return NO_READING
    return from_samples(replace(quotients.DECODE_TPS, window_s=window_ms / 1000), part, scene.tick)


def _peak(scene: Scene, metric: Metric, window_ms: float, mean: float) -> Cell:
    """The largest of whole windows; none is told while it is below the mean, which has what came in no such window."""
    found = peak(scene, metric)
    if found < mean * (1.0 - WORTH_SAYING):
        return unknown(BELOW_MEAN)
    return cell(found, TPS, no_tokens(scene, window_ms) if math.isnan(found) else "")


def _no_prefill(scene: Scene) -> str:
    """Why there is no throughput of prefills: what runs now is counted once it has ended."""
    if running(scene) is not None:
        return "the prefill that runs counts once it has ended"
    return idle(scene, "no prefill in 5 m", quotients.PREFILL_TPS.window_s, engine.PROMPT_TOKENS)


def speed_cells(scene: Scene) -> dict[str, Cell]:
    """decode.*, prefill.*, requests.* and phase."""
    waiting = reason(scene, engine.REQUESTS_WAITING)
    now, mean = decode_now(scene), mean_while_decoding(scene)
    return {
        "decode.now": cell(now, TPS, no_tokens(scene, WINDOWS_MS["decode_now"]) if math.isnan(now) else ""),
        "decode.mean": cell(mean, TPS, reason(scene, engine.GENERATION_TOKENS, otherwise=NO_TOKENS)),
        "decode.peak": _peak(scene, cluster.RECORDED_DECODE, DECODING_MS, mean),
        "decode.peak_1s": _peak(scene, cluster.RECORDED_DECODE_1S, SECOND_MS, mean),
        "prefill.throughput": cell(
            scene.quotient(quotients.PREFILL_TPS),
            TPS,
            reason(
                scene,
                engine.PROMPT_TOKENS,
                otherwise=_no_prefill(scene),
            ),
        ),
        "prefill.now": prefill_now(scene),
        "requests.running": cell(
            scene.gauge(engine.REQUESTS_RUNNING), Unit.REQUESTS, reason(scene, engine.REQUESTS_RUNNING)
        ),
        "requests.waiting": cell(scene.gauge(engine.REQUESTS_WAITING), Unit.REQUESTS, waiting),
        "phase": words(phase(scene)),
    }
