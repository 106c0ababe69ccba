"""Ways from a chart: to Explore, where the same lines can be looked at over any stretch, and to a file of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from telemetry.model import Metric, Ratio


def explore_link(metrics: Sequence[Metric | Ratio], start: str, **filters: str) -> Component:
    """A link to these metrics from `start` ("-15m") to now; the browser puts in the stretch that the chart shows."""
    address = f"/explore?{_query(metrics, start, filters)}"
    return _link("Explore", address, f"The same in Explore: {_names(metrics)}", "inside")


def csv_link(metrics: Sequence[Metric | Ratio], start: str, **filters: str) -> Component:
    """A link to a file of them: every sample of the stretch that the chart shows."""
    address = f"/api/v1/export.csv?{_query(metrics, start, {**filters, 'raw': '1'})}"
    return _link("CSV", address, f"Every sample of what is shown, as a file: {_names(metrics)}", "file")


def _link(text: str, address: str, title: str, kind: str) -> Component:
    words = {"className": f"{kind} explore-open", "title": title}
    return html.A(text, href=address, **words, **{"data-stretch-link": ""})


def _query(metrics: Sequence[Metric | Ratio], start: str, filters: Mapping[str, str]) -> str:
    named = {"metric": ",".join(metric.name for metric in metrics), **filters, "start": start}
    return urlencode(named, safe=",")


def _names(metrics: Sequence[Metric | Ratio]) -> str:
    return ", ".join(metric.label for metric in metrics)
