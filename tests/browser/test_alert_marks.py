"""Where alerts and rules stand on other pages: the plots of Cluster, the charts of a node, a run's timeline."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from alerts.record import RuleChange
from telemetry.catalog import gpu
from tests.browser.conftest import MakeSite, Open, wait_for_charts
from tests.browser.test_alert_evidence import LISTEN
from tests.web.alert_world import VALUES, alert
from tests.web.test_runs import keep, run
from tests.web.world import constant, tick

SLOW = {
    "title": "Slow decode",
    "place": "deployment",
    "when": "recorded_decode_tokens_per_second < 10 tok/s",
    "severity": "warning",
}


def test_the_plots_of_cluster_have_lines_of_rules_and_bars_of_alerts(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    site.world.commit(rule_changes=[RuleChange(1, "slow", SLOW, tick(0))], alerts=[alert(1, "slow", ("Kimi-K3",), 30)])
    page = open_page(site.address)
    page.evaluate(LISTEN)
    wait_for_charts(page)
    site.tick()
    page.wait_for_function("() => window.written.includes('Slow decode')")
    ink = """() => { const canvas = document.querySelector("canvas.fired"), context = canvas.getContext("2d");
      const { data } = context.getImageData(0, canvas.height - 40, canvas.width, 40);
      return data.some((value) => value > 0); }"""
    page.wait_for_function(ink)


PURE: list[tuple[str, Any]] = [
    ("m.reachOf({ fired: 10, ended: 20 }, [0, 100], 50, 200)", [70, 90]),
    ("m.reachOf({ fired: -10, ended: null }, [0, 100], 50, 200)", [50, 250]),
    ("m.reachOf({ fired: 10, ended: 10 }, [0, 100], 50, 200)", [70, 71]),
    ("m.reachOf({ fired: -10, ended: -1 }, [0, 100], 50, 200)", None),
    ("m.reachOf({ fired: 101, ended: null }, [0, 100], 50, 200)", None),
    ("m.concerns({ values: [{ metric: 'channel_failing' }] })", False),
    ("m.concerns({ values: [{ metric: 'store_fill_ratio' }] })", False),
    ("m.concerns({ values: [{ metric: 'ticks_missed_ratio' }] })", True),
    ("m.concerns({ values: [{ metric: 'channel_failing' }, { metric: 'gpu_power_watts' }] })", True),
    ("m.concerns({ values: [] })", True),
]


def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    for asked, answer in PURE:
        assert page.evaluate(f"import('/assets/live/fired.js').then((m) => {asked})") == answer, asked
    gravest = "[[{ severity: 'info' }, { severity: 'critical' }], [{}]].map((some) => m.gravest(some) ?? null)"
    assert page.evaluate(f"import('/assets/run/marks.js').then((m) => {gravest})") == ["critical", None]


def test_a_nodes_charts_have_grounds_while_an_alert_fired(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, constant(88.0))
    site.run(60)
    of = {"values": VALUES, "ended_ms": tick(40), "severity": "critical"}
    site.world.commit(
        alerts=[alert(1, "gpu_hot", ("spark-02", "0"), 30, **of), alert(2, "gpu_hot", ("spark-01", "0"), 30, **of)]
    )
    page = open_page(f"{site.address}/node/spark-02")
    shapes = (
        "[...document.querySelectorAll('[data-chart] .js-plotly-plot')]"
        ".map((one) => (one.layout.shapes ?? []).filter((one) => one.type === 'rect'))"
    )
    # Each chart draws when its own answer is there, and says then whether there is nothing to show.
    drawn = "[...document.querySelectorAll('[data-chart]')].every((one) => one.querySelector('.nothing'))"
    page.wait_for_function(f"() => {drawn} && {shapes}.flat().length > 0")
    found = page.evaluate(shapes)
    assert [len(one) for one in found] == [0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    ends = page.evaluate(f"{shapes}.flat().map((one) => [one.x0, one.x1].map((at) => Date.parse(at + 'Z')))")
    assert ends[0][1] - ends[0][0] == 10_000


def test_a_runs_timeline_has_marks_of_its_alerts(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=180)
    keep(site.world, run(1, 10, 130))
    site.world.commit(
        alerts=[alert(1, "gpu_hot", ("spark-02", "0"), 60, run=1, ended_ms=tick(80), severity="critical")]
    )
    page = open_page(f"{site.address}/runs/1")
    mark = page.locator(".run-marks button[data-severity=critical]")
    expect(mark).to_have_count(1)
    expect(mark).to_have_attribute("title", "30 Nov 01:54:20 · alert · spark-02 · gpu_hot 1")


def test_a_runs_lanes_have_lines_of_rules(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, constant(88.0))
    site.run(180)
    site.world.commit(rule_changes=[RuleChange(1, "slow", SLOW, tick(0))])
    keep(site.world, run(1, 10, 130))
    page = open_page(f"{site.address}/runs/1")
    page.evaluate(LISTEN)
    page.wait_for_function("() => document.querySelector('.run-body')?.dataset.state === 'ready'")
    page.locator("[data-theme-toggle]").first.click()
    page.wait_for_function("() => window.written.includes('Slow decode')")
    assert "GPU hot" not in page.evaluate("window.written"), "no lane of a node is shown"
    page.locator(".run-names button", has_text="02").click()
    page.wait_for_function("() => window.written.includes('GPU hot')")
    assert "Memory headroom low" not in page.evaluate("window.written"), "no lane shows headroom"
