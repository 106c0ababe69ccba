"""Charts of the Node page: which metrics stand together, and the empty figures that the browser fills.

A chart's lines are not known before its answer: one per label set (cage, sensor, reason). So the figure is empty, and
`lines` tells the browser which series to ask for and how to name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.figures.live import Figure, base_layout, time_axis, y_axis
from telemetry.catalog import gpu, host, memory
from telemetry.catalog import ratios as quotients
from telemetry.formatting import AXES
from telemetry.model import Metric, Ratio, Unit


@dataclass(frozen=True, slots=True)
class Chart:
    """Metrics of one unit that are drawn together, each under a short name that goes before its labels' values."""

    key: str
    title: str
    metrics: tuple[tuple[str, Metric | Ratio], ...]
    dashed: tuple[str, ...] = ()
    """Short names of metrics whose lines are drawn dashed, because others lie below them."""

    @property
    def unit(self) -> Unit:
        """The unit that all of its metrics share."""
        return self.metrics[0][1].unit


NODE_CHARTS = (
    Chart("power", "Power", (("GPU", gpu.GPU_POWER), ("machine", host.SYSTEM_POWER))),
    Chart("clock", "SM clock", (("GPU", gpu.GPU_SM_CLOCK),)),
    Chart("utilization", "Utilisation", (("GPU", gpu.GPU_UTILIZATION), ("CPU", quotients.CPU_UTILIZATION))),
    Chart("temperature", "Temperature", (("GPU", gpu.GPU_TEMPERATURE), ("", host.TEMPERATURE))),
    Chart(
        "interconnect",
        "Interconnect",
        (("sent", quotients.INTERCONNECT_TRANSMIT), ("received", quotients.INTERCONNECT_RECEIVE)),
        dashed=("received",),
    ),
    Chart(
        "memory",
        "Memory",
        (("used", memory.MEMORY_USED), ("headroom", memory.MEMORY_HEADROOM), ("page cache", memory.MEMORY_CACHED)),
    ),
    Chart("throttle", "Throttled share", (("", quotients.THROTTLE_SHARE),)),
    Chart("pressure", "Pressure, full", (("", quotients.MEMORY_PRESSURE),)),
    Chart("loss", "Fabric events", (("loss", quotients.FABRIC_LOSS), ("congestion", quotients.FABRIC_CONGESTION))),
    Chart("swap", "Swapping", (("in and out", quotients.SWAP_TRAFFIC),)),
)
ONLY = {host.SYSTEM_POWER.name: {"rail": ["sys_total"]}}
"""Label values that are drawn: of the power rails the machine's total; the others are among all readings."""


def lines(chart: Chart) -> list[dict[str, Any]]:
    """What the browser asks for: [{metric, label, only, dashed}], `only` naming the label values that are wanted."""
    return [
        {
            "metric": metric.name,
            "label": label,
            "only": ONLY.get(metric.name, {}),
            "dashed": label in chart.dashed,
        }
        for label, metric in chart.metrics
    ]


def chart_figure(chart: Chart) -> Figure:
    """The empty figure of a chart, its y axis in the chart's one screen unit."""
    full = (0.0, 105.0) if chart.key == "utilization" else None
    layout = base_layout(
        margin={"l": 52, "r": 12, "t": 6, "b": 24},
        xaxis=time_axis(),
        yaxis=y_axis((0.0, 1.0), full),
    )
    if chart.unit in (Unit.CELSIUS, Unit.HERTZ):
        layout["yaxis"]["rangemode"] = "normal"
    return {"data": [], "layout": layout}


LEAST = {Unit.HERTZ: 400.0, Unit.CELSIUS: 10.0}
"""Shortest reach of an axis in its screen unit; 1 for all others."""


def axis_of(chart: Chart) -> dict[str, Any]:
    """{unit, scale, least} of a chart; `least` is the shortest reach of its axis."""
    axis = AXES[chart.unit]
    return {"unit": axis.unit, "scale": axis.scale, "least": LEAST.get(chart.unit, 1.0)}
