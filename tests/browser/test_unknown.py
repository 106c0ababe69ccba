"""What the first screen says of numbers that are not there, or are other than their label's."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from telemetry.catalog import engine
from tests.browser.conftest import MakeSite, Open, Site, wait_for_charts
from tests.web.world import HEAD, rising

OVERFLOWING = """[...document.querySelectorAll(".why-table, .why-table td, .reading, .speed")]
.filter((box) => box.scrollWidth > box.clientWidth + 1 || box.getBoundingClientRect().right > innerWidth)
.map((box) => box.className)"""
SAID = """(panel) => [...document.querySelectorAll(panel + " [data-reason], " + panel + " small")]
.map((place) => place.textContent).filter((text) => text.includes("does not answer") || text.includes("refuses"))"""


def few_requests(site: Site, rate: float) -> None:
    """Requests at this rate, each of 4 s to the first token."""
    for series in list(site.world.series[HEAD]):
        if series.metric.startswith(engine.TTFT.name):
            share = {"1.0": 0.2, "5.0": 0.9}.get(series.label("le") or "", 1.0)
            site.world.series[HEAD][series] = rising(rate * (4.0 if series.metric.endswith("_sum") else share))


def test_a_mean_is_named_once_and_is_no_percentile(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    few_requests(site, 0.02)
    site.run(300)
    page = open_page(site.address)
    wait_for_charts(page)
    ttft = page.locator('main [data-reading="ttft.p50"]')
    expect(ttft.locator(".label")).to_have_text("TTFT mean")
    expect(ttft.locator(".value")).to_have_text("4.0\u00a0s")
    expect(ttft.get_by_text("p95")).to_be_hidden()
    itl = page.locator('main [data-reading="itl.p50"]')
    expect(itl.locator(".label")).to_have_text("ITL p50")
    expect(itl.get_by_text("p95")).to_be_visible()


def test_a_reason_is_said_once_in_a_panel_and_breaks_no_line(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    heights = "[...document.querySelectorAll('.vitals, .why, .speeds')].map((box) => box.clientHeight)"
    before = page.evaluate(heights)
    site.world.silence(HEAD, 31, reason=f"refuses the connection ({'nothing listens there; ' * 8})")
    site.run(33)
    expect(page.locator('main [data-reading="kv"]')).to_have_attribute("data-unknown", "true")
    for panel in (".decode", ".vitals", ".why"):
        assert len(page.evaluate(SAID, panel)) <= 1, panel
    assert len(page.evaluate(SAID, ".vitals")) == 1
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(heights) == before


@pytest.mark.live
def test_a_tile_is_called_by_what_is_the_matter(make_site: MakeSite, open_page: Open) -> None:
    """Who has no pointer reads no title: the link's name says it."""
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    site.world.silence("spark-02", 31, "timed out", "")
    site.run(35)
    expect(page.get_by_role("link", name="spark-02: does not answer in time", exact=True)).to_have_count(1)
    expect(page.get_by_role("link", name="spark-03", exact=True)).to_have_count(1)
