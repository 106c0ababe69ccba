"""The first screen: is it healthy, how fast is it, why this speed, and which node differs."""

from __future__ import annotations

import dash
import orjson
from dash import html
from dash.development.base_component import Component

from dashboard.components.explore import csv_link, explore_link
from dashboard.components.reading import cell, noted, reading
from dashboard.figures.live import CONFIG, PLOTS, caption_top, live_figure
from telemetry.catalog import gpu
from telemetry.catalog import ratios as quotients

SPARK = {"data-spark": "decode", "role": "img", "aria-label": "Decode speed of the last five minutes"}

RUN = html.A(
    "Run",
    href="/runs/live",
    className="inside run-link",
    title="The run that goes on, from its beginning; the last one while none does",
)


def speed() -> Component:
    """Decode and prefill: the largest figures of the page."""
    decode = html.Section(
        [
            html.Div([html.H2("Decode"), cell("phase", "chip"), RUN], className="head"),
            html.Div([cell("decode.now", "hero"), html.Canvas(className="spark", **SPARK)], className="figure"),
            noted(
                "mean ",
                cell("decode.mean", "bare"),
                " · peak ",
                cell("decode.peak", "bare"),
                " (10 s) · ",
                cell("decode.peak_1s", "bare"),
                " (1 s)",
            ),
            html.Div("", className="reason", **{"data-reason": "decode.now"}),
        ],
        className="panel speed decode",
        **{"data-reading": "decode.now"},
    )
    prefill = html.Section(
        [
            html.Div([html.H2("Prefill")], className="head"),
            html.Div([cell("prefill.throughput", "hero second")], className="figure"),
            noted("of 5 min · ", cell("prefill.now", "words")),
            html.Div("", className="reason", **{"data-reason": "prefill.throughput"}),
        ],
        className="panel speed prefill",
        **{"data-reading": "prefill.throughput"},
    )
    return html.Div([decode, prefill], className="speeds")


def latency(name: str, key: str) -> Component:
    """A latency's middle, p95 and window; the label says what the middle is, which may be a mean (`cards.js`)."""
    label: list[Component | str] = [f"{name} ", html.Span("p50", **{"data-statistic": f"{key}.p50"})]
    high = html.Span(["p95 ", cell(f"{key}.p95"), " "], **{"data-percentile": f"{key}.p95"})
    return reading(label, f"{key}.p50", high, cell(f"{key}.window", "words"))


def vitals() -> Component:
    """Eight readings of engine, machine and fabric."""
    return html.Section(
        [
            reading("Requests running", "requests.running", cell("requests.waiting"), " waiting"),
            latency("TTFT", "ttft"),
            latency("ITL", "itl"),
            reading("Acceptance", "acceptance", "length ", cell("accepted_length")),
            reading("KV cache", "kv", "in use"),
            reading("Prefix hits", "prefix_hits", "of prompt tokens"),
            reading("GPU power", "power", cell("energy_per_token", "alone")),
            reading("Interconnect", "interconnect", cell("interconnect_per_token", "alone")),
        ],
        className="panel vitals",
        **{"aria-label": "Engine and fabric"},
    )


WHY_HEAD = (
    ("", ""),
    ("now", "Trailing 10 s; the share of foreign prefill over a minute of decoding"),
    (
        "baseline",
        "Median while decoding, of the stretch that is named below the table: the last 15 minutes, or an earlier "
        "stretch at the same concurrency that was notably faster, or that ended before a fault began",
    ),
    (
        "change",
        "Of shares in percentage points (pp). Above stands the factor that changes the speed most, if by a tenth "
        "or more; steps only where running and step time do not explain them. A fault that makes steps slow stands "
        "before it",
    ),
)
"""Columns of the card, and what their numbers mean."""


def why() -> Component:
    """The factors of the speed, now and against the baseline; rows come with the live message."""
    columns = html.Tr([html.Th(text, scope="col", title=told) for text, told in WHY_HEAD])
    table = html.Table([html.Thead(columns), html.Tbody(**{"data-why": "rows"})], className="why-table")
    cause = html.Div(
        [cell("why", "words"), html.Div("", className="reason", **{"data-reason": "why"})],
        className="cause",
        **{"data-reading": "why"},
    )
    head = html.Div([html.H2("Why this speed"), cause], className="head")
    return html.Section([head, table, html.P(cell("why.against", "words"), className="against")], className="panel why")


CAPTIONS = {
    "tps": [("decode", "decode", "", ""), ("prefill", "prefill (right)", "", "")],
    "util": [("util", "mean", "", ""), ("util-span", "span of the nodes", "util_outlier", "outlier ")],
    "net": [("net", "cluster", "", ""), ("net-worst", "busiest cage", "net_worst_name", "")],
}
"""Per plot: (colour, what it is, point that names somebody, words before the name)."""
SWATCHES = {"util-span": "band", "net-worst": "dotted"}
"""Colours that are not drawn as a plain line."""


def _legend(key: str) -> list[Component]:
    entries: list[Component] = []
    for colour, label, name, before in CAPTIONS[key]:
        shape = f"swatch {SWATCHES.get(colour, '')}".strip()
        swatch = html.Span("", className=shape, style={"background": f"var(--{colour})"})
        named = [html.Span("", className="named", **{"data-point-name": name, "data-before": before})] if name else []
        entries.append(html.Span([swatch, html.Span(label), *named], className="legend"))
    return entries


PLOTTED = (quotients.DECODE_TPS, gpu.GPU_UTILIZATION, quotients.INTERCONNECT_TRANSMIT)
WAYS = html.Div([explore_link(PLOTTED, "-15m"), csv_link(PLOTTED, "-15m")], className="ways")
"""To the same in Explore, and to a file of it."""


def plots() -> Component:
    """Three plots, one time axis, drawn by the browser from `data-figure`: a graph of Dash's would stand only when all
    of Dash does. Captions are HTML, so that naming the outlier costs no replot."""
    captions = [
        html.Div(
            [html.H3([plot.title, html.I(unit)]), *_legend(plot.key)],
            className="caption",
            style={"top": caption_top(plot)},
        )
        for plot, unit in zip(PLOTS, ("tok/s", "%", "Gb/s"), strict=True)
    ]
    figure = orjson.dumps(live_figure() | {"config": CONFIG}).decode()
    graph = html.Div(className="graph", **{"data-figure": figure})
    back = html.Button("Back to live", className="back", type="button", hidden=True, **{"data-back": "live"})
    return html.Section(
        [html.Div([graph, *captions, WAYS, back], className="plots", **{"data-plots": "live"})],
        className="panel charts",
        **{"aria-label": "Tokens per second, GPU utilisation and interconnect of the last minutes"},
    )


def fleet() -> Component:
    """Node × time map with its switches, and below it one tile per node."""
    head = html.Div(
        [
            html.H2("Nodes"),
            html.Div([html.Span("–"), html.I(""), html.Span("–")], className="scale", **{"data-map-scale": ""}),
            html.Div(
                "", className="switch", role="radiogroup", **{"data-map-switch": "", "aria-label": "Reading on the map"}
            ),
            html.Button(
                "Table", className="plain", type="button", **{"data-table-toggle": "", "aria-pressed": "false"}
            ),
        ],
        className="head",
    )
    canvas = html.Canvas(className="map-canvas", **{"role": "img", "aria-label": "Reading of every node over time"})
    area = html.Div([canvas, html.Div("", className="tip", hidden=True)], className="map", **{"data-map": ""})
    table = html.Div("", className="map-table", hidden=True, **{"data-map-table": ""})
    return html.Section(
        [head, area, table, html.Div("", className="tiles", **{"data-tiles": ""})],
        className="panel fleet",
        **{"aria-label": "Nodes"},
    )


def empty() -> Component:
    """What to do while nothing is watched yet; shown by the browser when the sentence's level is `empty`."""
    return html.Section(
        [
            html.H2("Nothing is watched yet"),
            html.P("Start an agent on each node, then tell the collector about nodes and engines:"),
            html.Pre("app.py agent                       # on every node, port 9810\n"
                     "app.py run --node spark-01=http://10.0.0.1:9810 \\\n"
                     "           --engine http://10.0.0.1:8000"),
            html.P("Each flag may be repeated; all settings can stand in tachograph.toml."),
            html.P("To look around first, run app.py demo."),
        ],
        className="panel empty",
    )  # fmt: skip


def page() -> Component:
    """The whole page, without numbers: those come with the snapshot and the stream."""
    return html.Div(
        [speed(), vitals(), why(), plots(), fleet(), empty()], className="cluster", **{"data-live-root": "cluster"}
    )


def register() -> None:
    """Make this the start page."""
    dash.register_page("cluster", path="/", title="Cluster · Tachograph", name="Cluster", layout=lambda **_: page())
