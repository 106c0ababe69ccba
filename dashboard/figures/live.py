"""The three live plots on one time axis: tokens per second, GPU utilisation, interconnect.

One figure, because one replot a second costs less than three and a zoom then holds for all of them. Lines carry no
colour: the browser paints every trace with the CSS variable named in `meta.colour`, in the theme at hand. `meta.point`
names the point of the live message that feeds the line, `meta.scale` turns its base unit into the axis's, and
`meta.span` marks the two edges of a filled span, which a gap has to close because Plotly fills across it. Of what the
hover box adds, `meta.names` names the point with a name and `meta.between` those of the least and the most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from telemetry.catalog import cluster, gpu
from telemetry.catalog import ratios as quotients
from telemetry.formatting import AXES
from telemetry.model import Metric, Ratio, Unit

Figure = dict[str, Any]

TOP, BOTTOM, LEFT, RIGHT = 24, 22, 44, 44
NEUTRAL = "#808894"
"""Colour of whatever the browser has not painted yet: readable on both themes."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One of the plots: its place in the figure (0 bottom, 1 top) and its y axis."""

    key: str
    title: str
    low: float
    high: float
    axis: str
    unit: Unit
    range_: tuple[float, float] | None = None
    watched: tuple[Metric | Ratio, ...] = ()
    """Metrics whose limits in rules stand on its axis."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line: which point it draws, where and how."""

    point: str
    label: str
    axis: str
    unit: Unit
    colour: str
    width: float = 1.6
    dash: str = "solid"
    fill: bool = False
    span: bool = False
    names: str = ""
    between: tuple[str, str] | None = None


PLOTS = (
    Plot("tps", "Tokens per second", 0.69, 1.0, "y", Unit.TOKENS_PER_SECOND,
         watched=(cluster.RECORDED_DECODE, quotients.DECODE_TPS)),
    Plot("util", "GPU utilisation", 0.36, 0.60, "y3", Unit.RATIO, (0, 105), watched=(gpu.GPU_UTILIZATION,)),
    Plot("net", "Interconnect", 0.0, 0.27, "y4", Unit.NETWORK_BYTES_PER_SECOND,
         watched=(cluster.CLUSTER_TRANSMIT, quotients.INTERCONNECT_TRANSMIT)),
)  # fmt: skip
PREFILL_AXIS = "y2"
LINES = (
    Line("net_worst", "busiest cage", "y4", Unit.NETWORK_BYTES_PER_SECOND, "net-worst", 1.2, "dot",
         names="net_worst_name"),
    Line("net", "interconnect", "y4", Unit.NETWORK_BYTES_PER_SECOND, "net"),
    Line("util_min", "lowest", "y3", Unit.RATIO, "util-span", 0, span=True),
    Line("util_max", "highest", "y3", Unit.RATIO, "util-span", 0, fill=True, span=True),
    Line("util_mean", "utilisation", "y3", Unit.RATIO, "util", between=("util_min", "util_max")),
    Line("prefill", "prefill", PREFILL_AXIS, Unit.TOKENS_PER_SECOND, "prefill"),
    Line("decode", "decode", "y", Unit.TOKENS_PER_SECOND, "decode", 1.8),
)  # fmt: skip
"""From the lowest plot up: Plotly's hover box turns the order round where a line is filled down to another."""


def _trace(line: Line) -> Figure:
    axis = AXES[line.unit]
    beside = "%{text}" if line.names or line.between else ""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": line.label,
        "x0": 0,
        "dx": 1000,
        "y": [],
        "xaxis": "x",
        "yaxis": line.axis,
        "connectgaps": False,
        "line": {"width": line.width, "dash": line.dash, "color": NEUTRAL},
        "fill": "tonexty" if line.fill else "none",
        **({"hoverinfo": "skip"} if line.span else {"hovertemplate": f"%{{y:.3~g}} {axis.unit}{beside}"}),
        "meta": {
            "point": line.point,
            "scale": axis.scale,
            "colour": line.colour,
            "span": line.span,
            **({"names": line.names} if line.names else {}),
            **({"between": list(line.between)} if line.between else {}),
        },
    }


def _axis(name: str) -> str:
    return name.replace("y", "yaxis")


def y_axis(domain: tuple[float, float], range_: tuple[float, float] | None = None) -> Figure:
    """A quiet y axis that starts at 0, cannot be zoomed, and has few ticks."""
    limits: Figure = {"range": list(range_), "autorange": False} if range_ else {"rangemode": "tozero"}
    return {
        "domain": list(domain),
        "fixedrange": True,
        "zeroline": False,
        "nticks": 5,
        "exponentformat": "none",
        "tickmode": "auto",
        "showline": False,
        "ticks": "",
        "ticklabeloverflow": "allow",
        "anchor": "x",
        **limits,
    }


CROSSHAIR = {"spikethickness": 1, "spikedash": "solid", "spikecolor": NEUTRAL, "spikesnap": "hovered data"}
"""A hair line; its ground of a contrasting colour is taken away by the style sheet."""


def time_axis() -> Figure:
    """A quiet time axis: the clock alone, with seconds once zoomed in; the zone stands in the page's header."""
    return {
        "type": "date",
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "nticks": 7,
        "tickangle": 0,
        "ticklabelstandoff": 4,
        "ticklabeloverflow": "hide past div",
        "hoverformat": "%H:%M:%S",
        **CROSSHAIR,
        "tickformatstops": [
            {"dtickrange": [None, 59_999], "value": "%H:%M:%S"},
            {"dtickrange": [60_000, None], "value": "%H:%M"},
        ],
    }


def base_layout(**more: Any) -> Figure:
    """What all charts share: transparent ground, no legend, no template, one hover box for one instant."""
    return {
        "template": None,
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "hovermode": "x unified",
        "dragmode": "zoom",
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": NEUTRAL},
        **more,
    }


CONFIG: Mapping[str, Any] = {"displayModeBar": False, "responsive": True, "doubleClick": False, "showTips": False}


def live_figure() -> Figure:
    """The empty figure; the browser fills it from the bootstrap and extends it every tick."""
    axes = {_axis(plot.axis): y_axis((plot.low, plot.high), plot.range_) for plot in PLOTS}
    axes["yaxis2"] = y_axis((PLOTS[0].low, PLOTS[0].high)) | {"overlaying": "y", "side": "right", "showgrid": False}
    layout = base_layout(
        margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        hoversubplots="axis",
        # The margins hold half a label: hiding what sticks out would measure each label on every tick (a layout each).
        xaxis=time_axis() | {"anchor": "y4", "ticklabeloverflow": "allow"},
        **axes,
    )
    layout["meta"] = {"watched": [_watched(plot) for plot in PLOTS]}
    return {"data": [_trace(line) for line in LINES], "layout": layout}


def _watched(plot: Plot) -> Figure:
    """Which metrics' limits and alerts belong on a plot's axis, and the scale from their base unit to it."""
    return {
        "axis": _axis(plot.axis),
        "metrics": [metric.name for metric in plot.watched],
        "scale": AXES[plot.unit].scale,
    }


def caption_top(plot: Plot) -> str:
    """CSS position of a plot's caption above it, in a box as high as the figure."""
    return f"calc({TOP}px + {1 - plot.high:.3f} * (100% - {TOP + BOTTOM}px) - 21px)"
