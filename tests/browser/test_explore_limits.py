"""Explore shows what rules say of its charts: limits as lines, alerts as grounds and among the events."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from telemetry.catalog import gpu
from tests.browser.conftest import MakeSite, Open, taken_over
from tests.web.alert_world import raise_alerts
from tests.web.world import constant

AXIS = "{ low: 0, high: 100, scale: 1 }"
CASES: list[tuple[str, Any]] = [
    (
        f"m.placed([{{ value: 85 }}, {{ value: 101 }}, {{ value: 90 }}, {{ value: -1 }}], {AXIS}, (v) => 100 - v)"
        ".map((one) => [one.value, one.y, one.named])",
        [[90, 10.5, False], [85, 15.5, True]],
    ),
    (
        f"m.placed([{{ value: 80 }}, {{ value: 0 }}, {{ value: 100 }}], {AXIS}, (v) => 100 - v)"
        ".map((one) => [one.value, one.named, one.above])",
        [[100, True, False], [80, True, False], [0, True, True]],
    ),
    ("m.placed([{ value: 2e9 }], { low: 0, high: 3, scale: 1e-9 }, () => 5).length", 1),
    ("m.placed([{ value: 4e9 }], { low: 0, high: 3, scale: 1e-9 }, () => 5).length", 0),
]
ALERTS = """[
  { id: 1, key: ["a", "0"], values: [{ metric: "x" }, { metric: "y" }] },
  { id: 2, key: ["b"], values: [{ metric: "x" }] }, { id: 3, key: [], values: [{ metric: "x" }] },
  { id: 4, key: ["a"], values: [] }]"""
PAINTED = """(() => {
  const done = [], put = { beginPath() {}, rect: (_x, _y, wide) => done.push(wide), fill: () => done.push("fill"),
    set fillStyle(name) { done.push(name); } };
  const fired = [["info", 0, 10], ["critical", 3, 3], ["info", 10, null], ["", 0, 2]];
  m.drawFired(put, { fired: fired.map(([severity, fired, ended]) => ({ severity, fired, ended })), size: { height: 99 },
    now: 20, paint: (name) => name }, { x: (at) => at });
  return done;
})()"""
"""What drawFired fills: areas of one severity at once, so that many are no darker than one."""
SENSORS = "['nvme', 'nvme', 'mlx5'].map((sensor) => ({ labels: { sensor } }))"
CASES += [
    # A limit of some labels says whose it is where other lines stand beside, and is left out where none is of them.
    (
        f"m.applying([{{ title: 'hot', labels: {{ sensor: ['nvme'] }} }},"
        f" {{ title: 'cold', labels: {{ sensor: ['gpu'] }} }}, {{ title: 'all', labels: {{}} }}],"
        f" {SENSORS}).map((one) => [one.title, one.own.length])",
        [["hot (nvme)", 2], ["all", 3]],
    ),
    (
        "m.applying([{ title: 'hot', labels: { sensor: ['nvme'] } }],"
        f" {SENSORS}.slice(0, 2)).map((one) => one.title)",
        ["hot"],
    ),
    (PAINTED, ["dim", 2, "fill", 2, "fill", "dim", 10, 10, "fill", 10, 10, "fill", "critical", 1, "fill", 1, "fill"]),
    (f"m.firedOn({ALERTS}, 'x', new Set(['a'])).map((one) => one.id)", [1, 3]),
    (f"m.firedOn({ALERTS}, 'x', null).map((one) => one.id)", [1, 2, 3]),
    (f"m.firedOn({ALERTS}, 'y', null).map((one) => one.id)", [1]),
    *(
        (
            f"m.limitsOf({{ explorer: {{ view: {{ total: {total} }}, rules: {{ limits: {{ x: [1] }} }} }},"
            f" metric: {{ name: '{name}', kind: '{kind}' }}, shown: () => [{{ labels: {{}} }}] }}).length",
            found,
        )
        for name, kind, total, found in (
            ("x", "gauge", "false", 1),
            ("x", "ratio", "false", 1),
            ("x", "gauge", "true", 0),
            ("x", "counter", "false", 0),
            ("x", "histogram", "false", 0),
            ("y", "gauge", "false", 0),
        )
    ),
]


@pytest.mark.look
def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    for asked, answer in CASES:
        assert page.evaluate(f"import('/assets/explore/limits.js').then((m) => {asked})") == answer, asked


LISTEN = """() => {
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    window.written.push(text);
    write.call(this, text, ...where);
  };
}"""


def test_a_chart_shows_the_limits_and_the_alerts_of_its_metric(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, constant(88.0))
    site.run(60)
    raise_alerts(site.world)
    page = open_page(f"{site.address}/explore?metric=gpu_temperature_celsius&start=-5m")
    expect(page.locator(".explore-body")).to_have_attribute("data-state", "ready")
    taken_over(page)
    expect(page.locator(".explore-marks button[title*='node_silent']").first).to_be_attached()
    expect(page.locator(".explore-strip > button")).to_have_text("4 events")
    page.evaluate(LISTEN)
    page.locator("#react-entry-point [data-theme-toggle]").click()
    page.wait_for_function("() => window.written.includes('GPU hot')")
