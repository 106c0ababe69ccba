"""Readings of every node: one column per node, in the nodes' order. Tiles, map, span and stragglers read from here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dashboard.live import current
from dashboard.live.scene import Scene
from telemetry import ratios
from telemetry.catalog import gpu, memory
from telemetry.catalog import ratios as quotients
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame
from telemetry.model import Metric, Ratio, Series, Unit


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a node. low, high: ends of a map's colour scale, None where it follows what was seen."""

    key: str
    metric: Metric | Ratio
    label: str
    low: float | None = None
    high: float | None = None

    @property
    def unit(self) -> Unit:
        """Unit of its values."""
        return self.metric.unit


UTILIZATION = Reading("utilization", gpu.GPU_UTILIZATION, "GPU utilisation", 0.0, 1.0)
POWER = Reading("power", gpu.GPU_POWER, "GPU power")
TEMPERATURE = Reading("temperature", gpu.GPU_TEMPERATURE, "GPU temperature", 30.0, 90.0)
CLOCK = Reading("clock", gpu.GPU_SM_CLOCK, "SM clock")
HEADROOM = Reading("headroom", memory.MEMORY_HEADROOM, "Memory headroom")
MEMORY = Reading("memory", quotients.MEMORY_USE, "Memory used", 0.0, 1.0)
INTERCONNECT = Reading("interconnect", quotients.INTERCONNECT_TRANSMIT, "Interconnect sent", 0.0)

TILE = (UTILIZATION, POWER, TEMPERATURE, CLOCK, HEADROOM, INTERCONNECT)
"""What stands on a node's tile, in this order."""
MAP = (POWER, UTILIZATION, CLOCK, TEMPERATURE, MEMORY, INTERCONNECT)
"""What the node × time map can show; the first is shown first, because it differs where utilisation does not."""
READINGS = tuple({reading.key: reading for reading in (*TILE, *MAP)}.values())


def by_target(series: Series) -> str:
    """A node's series belong together."""
    return series.target


def rows_by_node(frame: Frame, metric: Metric) -> dict[str, Frame]:
    """Rows of a metric, by node."""
    rows: dict[str, list[int]] = {}
    for row, series in enumerate(frame.series):
        if series.metric == metric.name:
            rows.setdefault(series.target, []).append(row)
    return {target: frame.take(index) for target, index in rows.items()}


def column(scene: Scene, reading: Reading) -> dict[str, float]:
    """A reading of every node at the scene's tick, by name; a node without one is not in it."""
    if reading is INTERCONNECT:
        return by_node(cage_rates(scene, quotients.INTERCONNECT_TRANSMIT))
    if isinstance(reading.metric, Ratio):
        return _of_now(scene, reading.metric)
    return _newest(scene, reading.metric)


def _newest(scene: Scene, metric: Metric) -> dict[str, float]:
    rows: dict[str, list[int]] = {}
    for row in scene.node_rows(metric):
        if not np.isnan(scene.node_now[row]):
            rows.setdefault(scene.nodes.series[row].target, []).append(row)
    return {name: _folded(scene.node_now[index], metric) for name, index in rows.items()}


def _folded(values: Floats, metric: Metric) -> float:
    return float(values[0]) if len(values) == 1 else float(fold(values[:, np.newaxis], metric.across)[0])


def _of_now(scene: Scene, ratio: Ratio) -> dict[str, float]:
    """A ratio without a window, of one gauge and another."""
    assert ratio.window_s == 0, f"{ratio.name} has a window"
    (numerator,), (denominator,) = ratio.numerator, ratio.denominator
    above, below = _newest(scene, numerator), _newest(scene, denominator)
    both = {name: value for name, value in above.items() if below.get(name, 0.0) > 0}
    return {name: value / below[name] * ratio.scale + ratio.offset for name, value in both.items()}


Cage = tuple[str, str]
"""A node, and one of its cages."""


def by_cage(series: Series) -> Cage:
    """A cage's two functions belong together."""
    return series.target, series.label("cage") or ""


def cage_rates(scene: Scene, ratio: Ratio) -> dict[Cage, float]:
    """What every cage sends or receives at the scene's tick; NaN where unknown. Computed once per scene."""
    known = scene.kept.get(ratio.name)
    if known is None:
        known = scene.kept[ratio.name] = current.ratio(ratio, scene.nodes_of(ratio), scene.tick, by_cage)
    return known  # type: ignore[no-any-return]


def by_node(rates: dict[Cage, float]) -> dict[str, float]:
    """Sum over a node's cages; a node of which one cage is unknown is left out."""
    sums: dict[str, float] = {}
    for (target, _), rate in rates.items():
        sums[target] = sums.get(target, 0.0) + rate
    return {target: rate for target, rate in sums.items() if not np.isnan(rate)}


def lines(frame: Frame, reading: Reading) -> dict[str, Floats]:
    """A reading of every node at each tick of a frame, by name: float64[tick]."""
    if isinstance(reading.metric, Ratio):
        found = ratios.evaluate(reading.metric, frame, by_target)
        return {str(name): values for name, values in found.items()}
    ticks = frame.ticks.astype(np.float64)
    return {
        name: fold(ratios.hold(part.values, part.gap_ms, ticks, read=~np.isnan(part.at_ms)), reading.metric.across)
        for name, part in rows_by_node(frame, reading.metric).items()
    }


Columns = dict[str, dict[str, float]]


def columns(scene: Scene) -> Columns:
    """Every reading of every node: {reading's key: {node: value}}."""
    return {reading.key: column(scene, reading) for reading in READINGS}


def in_order(values: dict[str, float], names: list[str]) -> Floats:
    """Values in the order of names: float64[name], NaN where unknown."""
    return np.array([values.get(name, np.nan) for name in names], dtype=np.float64)


def extreme(values: dict[str, float], pick: Callable[[Floats], np.intp]) -> tuple[str, float] | None:
    """Name and value that `pick` (argmin, argmax) chooses, None of nothing."""
    if not values:
        return None
    names = list(values)
    place = int(pick(in_order(values, names)))
    return names[place], values[names[place]]
