"""Charts of the Node page in the browser: bins are steps, gaps are gaps, and a young store is shown finely."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from telemetry.catalog import gpu
from tests.browser.conftest import MakeSite, Open
from tests.web.world import constant, tick

POWER = "[data-chart] .js-plotly-plot"


def traces(page: Page, length: int) -> list[dict[str, Any]]:
    """Traces of the first chart (power), when its last one has so many points: {x: ms, y, ground}."""
    page.wait_for_function(
        f"(length) => document.querySelector('{POWER}')?.data?.at(-1)?.y.length === length", arg=length
    )
    found = page.evaluate(
        f"document.querySelector('{POWER}').data.map((one) => ({{ x: one.x.map((x) => Date.parse(x + 'Z')), y: one.y,"
        " ground: Boolean(one.meta.ground) }))"
    )
    return list(found)


@pytest.mark.look
def test_samples_are_lines_and_a_gap_is_a_gap(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.away("spark-02", 60, 119)
    site.run(200)
    # 201 ticks less 60 that were missed; one point more where the line ends before the gap.
    (line,) = traces(open_page(f"{site.address}/node/spark-02"), 142)
    assert not line["ground"]
    assert line["y"][60] is None
    assert line["x"][61] - line["x"][59] == tick(120) - tick(59)
    assert all(value is not None for value in line["y"][:60] + line["y"][61:])


def test_bins_are_steps_on_a_ground_from_least_to_most(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_POWER, lambda number: 90.0 if number == 450 else 50.0)
    site.run(599)
    # Ten minutes at 240 points: round bins of 5 s, each with its begin and its end.
    ground, line = traces(open_page(f"{site.address}/node/spark-02"), 240)
    assert (ground["ground"], line["ground"]) == (True, False)
    assert {late - early for early, late in zip(line["x"][::2], line["x"][1::2], strict=True)} == {5000}
    assert line["x"][1:-1:2] == line["x"][2::2]
    # A second of 90 W in a bin of five: 58 W on average, and its height in the ground.
    assert max(line["y"]) == pytest.approx((90 + 4 * 50) / 5)
    assert (min(ground["y"]), max(ground["y"])) == (50, 90)


def test_a_line_stands_where_a_rule_begins_to_hold(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, constant(88.0))
    site.run(60)
    page = open_page(f"{site.address}/node/spark-02")
    shapes = "[...document.querySelectorAll('[data-chart] .js-plotly-plot')].map((one) => one.layout.shapes ?? [])"
    # Each chart draws when its own answer is there.
    names = f"{shapes}.flat().map((one) => one.label.text)"
    page.wait_for_function(f"() => ['GPU hot', 'Memory headroom low'].every((name) => {names}.includes(name))")
    found = page.evaluate(f"{shapes}.flat().map((one) => [one.label.text, one.y0, one.y1, one.label.yanchor])")
    assert ["GPU hot", 85, 85, "bottom"] in found
    # Its side is below, where the axis ends before a name would.
    assert ["Memory headroom low", "bottom"] in [[name, anchor] for name, _, _, anchor in found]


def test_limits_stand_on_the_axis_that_shows_them(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    limits = "[{ value: 2e9, title: 'low', side: 'below', severity: 'critical' }, { value: 9e9, title: 'far' }]"
    made = page.evaluate(
        f"import('/assets/live/thresholds.js').then((m) => m.shapes({limits}, [0, 4], 1e-9, (name) => name))"
    )
    assert [(one["y0"], one["label"]["text"], one["label"]["yanchor"], one["line"]["color"]) for one in made] == [
        (2, "low", "top", "critical")
    ]


def test_a_limits_name_does_not_stand_on_another_one(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    limits = "[85, 95, 90].map((value) => ({ value, title: `at ${value}`, side: 'above', severity: 'warning' }))"
    script = (
        f"import('/assets/live/thresholds.js').then((m) => m.shapes({limits}, [0, 100], 1, (name) => name, HEIGHT))"
    )
    for height, expected in (
        ("200", ["", "", "at 85"]),  # any other would be struck through
        ("280", ["at 95", "at 90", "at 85"]),
        ("100", ["", "", "at 85"]),
    ):
        assert [one["label"]["text"] for one in page.evaluate(script.replace("HEIGHT", height))] == expected


def test_a_limits_name_stays_in_its_chart(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    limits = "[{ value: 8, title: 'low', side: 'below', severity: 'warning' }]"
    script = (
        f"import('/assets/live/thresholds.js').then((m) => m.shapes({limits}, [0, 100], 1, (name) => name, HEIGHT))"
    )
    for height, anchor in (("100", "bottom"), ("175", "top")):
        assert [one["label"]["yanchor"] for one in page.evaluate(script.replace("HEIGHT", height))] == [anchor]
    drawn = """import('/assets/explore/limits.js').then((m) => {
      const told = [], context = { setLineDash() {}, beginPath() {}, moveTo() {}, lineTo() {}, stroke() {},
        fillText(text, x, y) { told.push([text, x, y, this.textBaseline]); } };
      m.drawLimitLines(context, { limits: LIMITS, axis: { low: 0, high: 100, scale: 1 }, paint: (name) => name,
        left: 10, right: 90 }, (value) => HEIGHT - value * HEIGHT / 100);
      return told; })""".replace("LIMITS", limits)
    for height, expected in (("100", ["low", 86, 91.5, "bottom"]), ("200", ["low", 86, 185.5, "top"])):
        assert page.evaluate(drawn.replace("HEIGHT", height)) == [expected]
