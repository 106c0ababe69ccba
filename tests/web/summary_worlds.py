"""A store of two hours and a half with everything that a summary reads, and all that may go wrong with it."""

from __future__ import annotations

import numpy as np

from runs.engines import SAMPLES as OF_ENGINES
from runs.machines import SAMPLES as OF_NODES
from runs.stretch import ENGINE_COUNTERS, MOSTLY_STILL, WHOLE
from runs.subject import Member
from storage.records import Absence, Batch, Episode, Offset, Row, TargetRow
from storage.store import Store
from telemetry import catalog
from telemetry.catalog import gpu, host
from telemetry.counters import Step
from telemetry.frame import Floats
from telemetry.model import Kind, Metric, Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW

STEP_S, LENGTH_S = 5, 9000
TICKS = NOW + np.arange(0, LENGTH_S, STEP_S, dtype=np.int64) * 1000
NODES, MEMBER = ("spark-1", "spark-2", "spark-3"), Member("head", "0", "m")
LABELS = {
    "gpu": ("0",),
    "reason": ("power_cap", "thermal_hardware"),
    "cage": ("p0", "p1"),
    "function": ("a", "b"),
    "counter": ("x", "y", "z"),
    "rail": (WHOLE,),
    "engine": ("0",),
    "model": ("m",),
    "outcome": ("stop", "abort"),
    "position": ("0", "1"),
    "le": ("0.1", "1.0", "+Inf"),
}
ENERGY = (gpu.GPU_ENERGY, host.SYSTEM_ENERGY)


def series_of(target: str, metrics: tuple[Metric, ...]) -> tuple[Series, ...]:
    """All series of these metrics."""
    found: list[Series] = []
    for metric in dict.fromkeys(metrics):
        combinations: list[tuple[tuple[str, str], ...]] = [()]
        for name in metric.by:
            combinations = [(*one, (name, value)) for one in combinations for value in LABELS.get(name, ("v",))]
        found += [Series(target, metric.name, labels) for labels in combinations]
    return tuple(found)


def column(series: Series, random: np.random.Generator) -> Floats:
    """Values of a series, counters with pauses, some of which stand still all the time or move only once."""
    metric, count = catalog.stored(series.metric), len(TICKS)
    if metric.kind is Kind.COUNTER:
        steps = random.integers(0, 9, count) * np.repeat(random.random(count // 60) < 0.7, 60)
        if metric in MOSTLY_STILL:
            steps[:] = 0
            steps[random.integers(0, count, random.integers(0, 2))] = 3
        if series.label("le"):
            steps = np.repeat(random.integers(0, 40, count // 60), 60) * (
                1 + LABELS["le"].index(str(series.label("le")))
            )
        scale = 1e6 if "bytes" in series.metric else 1.0
        return np.asarray(np.cumsum(steps) * scale + float(random.integers(0, 1000)))
    if metric.kind is Kind.STATE:
        return np.repeat(random.integers(1, 4, count // 60), 60).astype(np.float64)
    return np.asarray(np.round(50 + random.random(count) * 30, 1))


def fill(store: Store, seed: int) -> None:
    """Two hours sealed for most; rows that came late, gaps, unknown numbers, restarts, series from first use."""
    random = np.random.default_rng(seed)
    of = dict.fromkeys(NODES, (*OF_NODES, *MOSTLY_STILL, *ENERGY)) | {MEMBER.target: (*OF_ENGINES, *ENGINE_COUNTERS)}
    state = [TargetRow(name, "node", "", STEP_S * 1000, "ok", "", NOW, NOW) for name in of]
    store.commit(Batch(targets=state), NOW)
    late: list[Row] = []
    for name, metrics in of.items():
        rows, offsets = _target(store, name, series_of(name, metrics), random)
        some = random.random(len(rows)) < 0.002
        late += [row for row, later in zip(rows, some.tolist(), strict=True) if later]
        store.commit(Batch(rows=[row for row, later in zip(rows, some.tolist(), strict=True) if not later],
                           offsets=offsets), NOW)  # fmt: skip
    for hour, names in ((0, [*of]), (1, [*of][: int(random.integers(0, len(of) + 1))])):
        for name in names:
            store.seal(name, NOW + hour * HOUR_MS, NOW + 3 * HOUR_MS)
    told = [Episode("d", "head", "0", NOW + s * 1000, NOW + s * 1000 + 4000, 900, 3.5) for s in range(0, LENGTH_S, 240)]
    away = Absence(MEMBER.target, None, NOW + 3_000_000, NOW + 3_040_000, "restarting: started anew")
    store.commit(Batch(rows=late, episodes=told, absences_opened=[away]), NOW + LENGTH_S * 1000)


def _target(
    store: Store, name: str, series: tuple[Series, ...], random: np.random.Generator
) -> tuple[list[Row], list[Offset]]:
    values = np.stack([column(one, random) for one in series], axis=1)
    values[random.random(values.shape) < 0.0005] = np.nan
    read = np.ones(len(TICKS), dtype=bool)
    for low in random.integers(0, len(TICKS), 4).tolist():
        read[low : low + int(random.integers(1, 40))] = False
    counters = [place for place, one in enumerate(series) if catalog.stored(one.metric).kind is Kind.COUNTER]
    begun = int(random.integers(100, len(TICKS)))
    fresh = set(random.choice(counters, 3, replace=False).tolist()) if name == MEMBER.target else set[int]()
    early = [place for place in range(len(series)) if place not in fresh]
    full, few = store.layout(name, series), store.layout(name, tuple(series[place] for place in early))
    lags = random.integers(0, 900, len(TICKS))
    rows = [
        Row(tick, name, tick + lag, full if at >= begun else few, values[at] if at >= begun else values[at, early])
        for at, (tick, lag) in enumerate(zip(TICKS.tolist(), lags.tolist(), strict=True))
        if read[at]
    ]
    known = np.flatnonzero(read & (np.arange(len(TICKS)) >= begun))
    first = int(TICKS[known[0]]) if len(known) else int(TICKS[-1])
    steps = [Offset(name, series[at].metric, series[at].labels, first, 0.0, Step.FIRST_USE.value) for at in fresh]
    for at in np.flatnonzero(read)[random.integers(0, int(read.sum()), 2)].tolist():
        again = (counters[place] for place in random.integers(0, len(counters), 9))
        steps += [Offset(name, series[one].metric, series[one].labels, int(TICKS[at]), 1.0, Step.RESTART.value)
                  for one in dict.fromkeys(again)]  # fmt: skip
    return rows, steps
