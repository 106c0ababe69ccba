"""The live figure and the charts of a node, as dictionaries."""

from itertools import pairwise

import pytest

from dashboard.figures import live, series
from telemetry import catalog
from telemetry.formatting import AXES
from telemetry.model import Kind, Scope, Unit


def test_three_plots_share_one_time_axis() -> None:
    figure = live.live_figure()
    assert {trace["xaxis"] for trace in figure["data"]} == {"x"}
    assert [trace["meta"]["point"] for trace in figure["data"]] == [
        "net_worst",
        "net",
        "util_min",
        "util_max",
        "util_mean",
        "prefill",
        "decode",
    ]
    layout = figure["layout"]
    assert layout["yaxis"]["domain"] == [0.69, 1.0]
    assert layout["yaxis2"]["overlaying"] == "y"
    assert layout["yaxis2"]["side"] == "right"
    assert layout["yaxis3"]["range"] == [0, 105]
    assert all(layout[name]["fixedrange"] for name in ("yaxis", "yaxis2", "yaxis3", "yaxis4"))
    assert layout["template"] is None


def test_lines_turn_base_units_into_the_axis_unit() -> None:
    scales = {trace["meta"]["point"]: trace["meta"]["scale"] for trace in live.live_figure()["data"]}
    assert scales["decode"] == scales["prefill"] == 1.0
    assert scales["util_mean"] * 0.95 == pytest.approx(95.0)
    assert scales["net"] * 7.6e9 == pytest.approx(60.8)


def test_only_the_edges_of_the_span_are_filled_and_silent() -> None:
    traces = {trace["meta"]["point"]: trace for trace in live.live_figure()["data"]}
    assert [point for point, trace in traces.items() if trace["meta"]["span"]] == ["util_min", "util_max"]
    assert [point for point, trace in traces.items() if trace["fill"] == "tonexty"] == ["util_max"]
    assert traces["util_min"]["hoverinfo"] == "skip"
    assert traces["decode"]["hovertemplate"] == "%{y:.3~g} tok/s"
    assert traces["util_mean"]["hovertemplate"] == "%{y:.3~g} %%{text}"
    assert traces["util_mean"]["meta"]["between"] == ["util_min", "util_max"]
    assert traces["net_worst"]["meta"]["names"] == "net_worst_name"
    assert not any(trace["connectgaps"] for trace in traces.values())


def test_plots_do_not_overlap_and_captions_stand_above_them() -> None:
    plots = sorted(live.PLOTS, key=lambda plot: plot.low)
    assert all(below.high < above.low for below, above in pairwise(plots))
    assert live.caption_top(live.PLOTS[0]) == "calc(24px + 0.000 * (100% - 46px) - 21px)"
    assert live.caption_top(live.PLOTS[2]) == "calc(24px + 0.730 * (100% - 46px) - 21px)"


@pytest.mark.parametrize("chart", series.NODE_CHARTS, ids=lambda chart: chart.key)
def test_a_chart_has_one_unit_and_asks_for_metrics_of_nodes(chart: series.Chart) -> None:
    for asked, (label, metric) in zip(series.lines(chart), chart.metrics, strict=True):
        assert catalog.find(asked["metric"]) is metric
        assert asked["label"] == label
        assert metric.unit is chart.unit
        assert metric.scope is Scope.NODE
        assert metric.kind in (Kind.GAUGE, Kind.RATIO), "a counter's course is no chart"
    least = {Unit.HERTZ: 400.0, Unit.CELSIUS: 10.0}.get(chart.unit, 1.0)
    assert series.axis_of(chart) == {"unit": AXES[chart.unit].unit, "scale": AXES[chart.unit].scale, "least": least}
    assert series.chart_figure(chart)["data"] == []


def test_of_the_power_rails_only_the_machine_is_drawn() -> None:
    power = next(chart for chart in series.NODE_CHARTS if chart.key == "power")
    assert [asked["only"] for asked in series.lines(power)] == [{}, {"rail": ["sys_total"]}]


def test_what_is_received_is_dashed_over_what_is_sent() -> None:
    dashed = [
        (chart.key, asked["label"]) for chart in series.NODE_CHARTS for asked in series.lines(chart) if asked["dashed"]
    ]
    assert dashed == [("interconnect", "received")]


def test_axes_of_charts_start_at_zero_but_for_clocks_and_heat() -> None:
    by_key = {chart.key: series.chart_figure(chart)["layout"]["yaxis"] for chart in series.NODE_CHARTS}
    assert by_key["power"]["rangemode"] == "tozero"
    assert by_key["clock"]["rangemode"] == by_key["temperature"]["rangemode"] == "normal"
    assert by_key["utilization"]["range"] == [0.0, 105.0]
    units = {chart.key: chart.unit for chart in series.NODE_CHARTS}
    assert units["swap"] is Unit.BYTES_PER_SECOND
