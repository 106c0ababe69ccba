"""Digest: everything that is worked out of a run, or of a stretch of it, for the page now and for good at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from runs import shared
from runs.compare.cutting import cut
from runs.entries import Section, find
from runs.fingerprint import Fingerprint
from runs.identify import identify
from runs.machines import Memory
from runs.model import Run
from runs.reader import LEAD_MS, Reader, StoreReader
from runs.rows import names
from runs.slices import HOUR_MS
from runs.subject import Subject
from runs.summary import summarise
from storage.records import RunFilter
from storage.store import Store
from telemetry import ratios
from telemetry.catalog import cluster, engine, gpu
from telemetry.catalog import ratios as quotients
from telemetry.frame import Floats, Frame
from telemetry.model import Ratio, Series

SUMMARY, HEADLINE, FINGERPRINT, CHARTS, EVENTS = "summary", "headline", "fingerprint", "charts", "events"
SPARK = "spark"
"""The course of decode speed, small enough for a row of a list."""
SPARK_POINTS = 32
CELLS = "cells"
"""What comparisons are made of."""
HEADLINES = (
    "speed.decode_mean",
    "speed.decode_peak",
    "speed.prefill_throughput",
    "speed.seconds",
    "requests.output",
    "requests.prompt",
    "requests.finished",
    "phases.running_mean",
    "nodes.took_part",
    "speed.decode_left_out",
)
"""Entries of the summary that stand in the list of runs, by "section.key"."""
CHART_MS = 10_000
MOST_POINTS = 5_000
CHARTED = (
    cluster.RECORDED_DECODE,
    cluster.DEPLOYMENT_RUNNING,
    cluster.PREFILL_TOKENS,
    cluster.PREFILL_SECONDS,
    cluster.CLUSTER_POWER,
    cluster.CLUSTER_UTILIZATION,
    cluster.CLUSTER_TRANSMIT,
    gpu.GPU_POWER,
    gpu.GPU_SM_CLOCK,
    gpu.GPU_TEMPERATURE,
    gpu.GPU_UTILIZATION,
    engine.REQUESTS_WAITING,
    engine.KV_CACHE_USAGE,
    engine.ENGINE_PHASE,
)
CHARTED_RATIOS = (quotients.MEMORY_USE, quotients.INTERCONNECT_TRANSMIT)
"""Of each node as a whole."""
ELSEWHERE = "this run has no samples here, so nothing but what came with it is known"
GIVEN_UP = "samples of this stretch were given up, so its numbers cannot be worked out any more"
CUT = "samples of its first part were given up, so its numbers are of its last {}"


@dataclass(frozen=True)
class Digest:
    """What a stretch amounts to. cut: why it is shorter than what was asked for, "" where it is not."""

    start_ms: int
    end_ms: int
    summary: tuple[Section, ...]
    fingerprint: Fingerprint
    cut: str = ""


def subject_of(store: Store, run: Run, start_ms: int, end_ms: int) -> Subject:
    """What a run's numbers are of: its engines, and all nodes there are, or those that people name."""
    nodes = [target.name for target in store.targets() if target.kind == "node"]
    return Subject(run.deployment, start_ms, end_ms, run.engines, nodes, run.nodes)


def digest(
    store: Store, run: Run, start_ms: int, end_ms: int, reader: Reader | None = None, memory: Memory | None = None
) -> Digest:
    """Work out a stretch of a run; LookupError, with a sentence, where its samples are not here, or not any more.

    memory: of what was added up before, see `runs.summary.summarise`.
    """
    if not run.own:
        raise LookupError(ELSEWHERE)
    begin = _kept_since(store, start_ms, end_ms)
    source = reader or StoreReader(store)
    subject = subject_of(store, run, begin, end_ms)
    summary = summarise(subject, source, memory=memory)
    took_part = [one.of for section in summary if section.key == "nodes" for one in section.entries if one.of]
    known = {target.name: target.detail.get("engine", "") for target in store.targets() if target.kind == "engine"}
    kinds = {name: kind for name, kind in known.items() if kind and kind != "unknown"}
    nodes = sorted(set(took_part) & set(subject.nodes)) if run.nodes is None else sorted(run.nodes)
    printed = identify(subject, source, store.facts(), nodes, kinds)
    cut = CUT.format(_span(end_ms - begin)) if begin > start_ms else ""
    summary = shared.told(summary, _others(store, run, begin, end_ms), begin, end_ms, nodes)
    return Digest(begin, end_ms, summary, printed, cut)


def _others(store: Store, run: Run, start_ms: int, end_ms: int) -> list[shared.Other]:
    """Runs of other deployments at the same time."""
    found = store.runs(RunFilter(start_ms=start_ms, end_ms=end_ms))
    return [
        shared.Other(one.deployment, one.start_ms, end_ms if one.end_ms is None else one.end_ms, one.nodes)
        for one in found
        if one.own and one.deployment != run.deployment
    ]


def _kept_since(store: Store, start_ms: int, end_ms: int) -> int:
    """From when on all samples of a stretch are there: its start, or a whole hour; LookupError where there are none."""
    if not store.forgotten(start_ms, end_ms):
        return start_ms
    gone, kept = start_ms // HOUR_MS, end_ms // HOUR_MS + 1
    while kept - gone > 1:
        middle = (gone + kept) // 2
        gone, kept = (middle, kept) if store.forgotten(middle * HOUR_MS, end_ms) else (gone, middle)
    if kept * HOUR_MS >= end_ms:
        raise LookupError(GIVEN_UP)
    return kept * HOUR_MS


def _span(ms: int) -> str:
    hours, minutes = divmod(ms // 60_000, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def headline(sections: Sequence[Section]) -> dict[str, float | None]:
    """Key numbers of a summary; None where one is not known."""
    found = {path: find(sections, path) for path in HEADLINES}
    return {path: None if one is None else one.value for path, one in found.items()}


def parts(store: Store, run: Run) -> dict[str, Any]:
    """What is copied into a run at its end (JSON by kind)."""
    assert run.end_ms is not None, "of a run that ended"
    found = digest(store, run, *run.window(run.end_ms))
    told = {"start": found.start_ms, "end": found.end_ms, "cut": found.cut}
    drawn = charts(store, run, found.fingerprint)
    return {
        SUMMARY: {**told, "sections": [one.to_json() for one in found.summary]},
        HEADLINE: headline(found.summary),
        FINGERPRINT: found.fingerprint.to_json(),
        CHARTS: drawn,
        SPARK: course(drawn, run.stretch),
        CELLS: cut(subject_of(store, run, found.start_ms, found.end_ms), StoreReader(store)).to_json(),
        EVENTS: [
            {"t": one.at_ms, "target": one.target, "kind": one.kind, "text": one.text}
            for one in store.events(run.start_ms, run.end_ms)
        ],
    }


def course(drawn: Mapping[str, Any], stretch: tuple[int, int | None]) -> list[float | None]:
    """The course of a deployment's decode speed in the stretch that numbers are of, from charts."""
    lines = (one["v"] for one in drawn["series"] if one["metric"] == cluster.RECORDED_DECODE.name)
    begin, step = drawn["start"], drawn["step_ms"]
    high = None if stretch[1] is None else (stretch[1] - begin) // step + 1
    return spark(next(lines, [])[(stretch[0] - begin) // step : high])


def spark(line: Sequence[float | None]) -> list[float | None]:
    """A line as at most `SPARK_POINTS` means, to three digits; None where nothing is known."""
    known = np.array([np.nan if one is None else one for one in line])
    found: list[float | None] = []
    for piece in np.array_split(known, min(SPARK_POINTS, len(known))) if len(known) else ():
        some = piece[~np.isnan(piece)]
        found.append(float(f"{some.mean():.3g}") if len(some) else None)
    return found


def charts(store: Store, run: Run, printed: Fingerprint) -> dict[str, Any]:
    """{start, step_ms, series: [{metric, target, labels, v}]}: means of 10 s, or of more where that is many points.

    Of the deployment, its engines, the cluster, and the nodes that took part; null where nothing is known. Counters and
    phases: the last value.
    """
    assert run.end_ms is not None, "of a run that ended"
    wide = -(-(run.end_ms - run.start_ms + 1) // (MOST_POINTS * CHART_MS)) * CHART_MS
    step, count = wide, (run.end_ms - run.start_ms) // wide + 1
    nodes = printed.find("nodes")
    targets = [f"{cluster.DEPLOYMENT_PREFIX}{run.deployment}", cluster.CLUSTER_TARGET]
    members = nodes.value.split(", ") if nodes is not None else []
    targets += [*members, *sorted({one.target for one in run.engines})]
    engines = {one.target for one in run.engines}
    lines: dict[Series, Floats] = {}
    first, last = store.extent() or (0, -1)
    for low in range(0, count, HOUR_MS // step or 1):
        high = min(low + (HOUR_MS // step or 1), count)
        begin, end = run.start_ms + low * step, min(run.start_ms + high * step - 1, run.end_ms)
        if end < first or begin > last:
            continue  # a run may be said to be far longer than anything was watched
        frame = store.frame(names(CHARTED), targets, begin, end)
        for part in (frame, *(_of_nodes(store, ratio, members, begin, end) for ratio in CHARTED_RATIOS)):
            for series, values in zip(part.series, _means(part, begin, step, high - low), strict=True):
                if series.target not in engines or any(one.owns(series) for one in run.engines):
                    lines.setdefault(series, np.full(count, np.nan))[low:high] = values
    return {
        "start": run.start_ms,
        "step_ms": step,
        "series": [_line(one, lines[one]) for one in sorted(lines, key=_order)],
    }


def _of_nodes(store: Store, ratio: Ratio, nodes: Sequence[str], begin: int, end: int) -> Frame:
    """A quotient of each node at each tick, as a frame."""
    lead = int(ratio.window_s * 1000) + LEAD_MS
    frame = store.frame(ratios.stored_names(ratio), nodes, begin - lead, end)
    found = ratios.evaluate(ratio, frame, lambda series: series.target)
    inside = (frame.ticks >= begin) & (frame.ticks <= end)
    rows = {str(name): values[inside] for name, values in found.items()}
    values = np.array(list(rows.values())).reshape(len(rows), int(inside.sum()))
    series = tuple(Series(name, ratio.name, ()) for name in rows)
    return Frame(frame.ticks[inside], series, values, values, np.zeros(values.shape, dtype=bool), np.ones(len(rows)))


def _means(frame: Frame, begin: int, step: int, count: int) -> Floats:
    place = (frame.ticks - begin) // step
    found = np.full((len(frame.series), count), np.nan)
    for row, values in enumerate(frame.values):
        known = ~np.isnan(values)
        if frame.series[row].metric in COUNTERS:
            found[row, place[known]] = values[known]  # the last of each counts
            continue
        total = np.bincount(place[known], weights=values[known], minlength=count)
        number = np.bincount(place[known], minlength=count)
        found[row] = np.where(number > 0, total / np.maximum(number, 1), np.nan)
    return found


COUNTERS = names((cluster.PREFILL_TOKENS, cluster.PREFILL_SECONDS, engine.ENGINE_PHASE))


def _order(series: Series) -> tuple[str, str, tuple[tuple[str, str], ...]]:
    return series.target, series.metric, series.labels


def _line(series: Series, values: Floats) -> dict[str, Any]:
    shown = [None if value != value else float(f"{value:.6g}") for value in values.tolist()]
    return {"metric": series.metric, "target": series.target, "labels": dict(series.labels), "v": shown}


def settle(store: Store, run: Run) -> bool:
    """Work out a run that ended and keep it; False where the run was changed meanwhile, or cannot be worked out."""
    try:
        found = parts(store, run)
    except LookupError as error:
        told: dict[str, Any] = {"start": run.start_ms, "end": run.end_ms, "cut": "", "sections": [], "why": str(error)}
        found = {SUMMARY: told}
    return store.settle_run(run, found)
