"""The way from a chart to Explore, where the same lines can be looked at over any stretch."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from telemetry.model import Metric, Ratio


def explore_link(metrics: Sequence[Metric | Ratio], start: str, **filters: str) -> Component:
    """A link to these metrics from `start` ("-15m") to now; the browser puts in the stretch that the chart shows."""
    query = {"metric": ",".join(metric.name for metric in metrics), **filters, "start": start}
    names = ", ".join(metric.label for metric in metrics)
    return html.A(
        "Explore",
        href=f"/explore?{urlencode(query, safe=',')}",
        className="inside explore-open",
        title=f"The same in Explore: {names}",
        **{"data-explore-link": ""},
    )
