"""Node, Status, the empty installation and the way between pages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from telemetry.catalog import cluster, gpu
from tests.browser.conftest import Complaints, MakeSite, Open, taken_over, wait_for_charts
from tests.web.world import constant


@pytest.mark.look
def test_from_a_tile_to_its_node_and_back_without_a_reload(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    page.evaluate("window.stayed = true")
    page.locator(".tile", has_text="spark-02").click()
    expect(page.locator(".node h1")).to_have_text("spark-02")
    expect(page.locator(".headlines .reading").first).to_contain_text("51\u00a0W")
    page.wait_for_function("() => document.querySelector('[data-chart] .js-plotly-plot')?.data?.[0]?.y.length > 2")
    power = page.evaluate("document.querySelector('[data-chart] .js-plotly-plot').data[0].y.filter((y) => y !== null)")
    assert set(power) == {51}
    page.get_by_role("link", name="spark-03 ›").click()
    expect(page.locator(".node h1")).to_have_text("spark-03")
    page.go_back()
    page.go_back()
    wait_for_charts(page)
    expect(page.locator(".tile")).to_have_count(4)
    assert page.evaluate("window.stayed") is True
    site.world.set("spark-02", gpu.GPU_POWER, constant(71.0))
    site.tick()
    expect(page.locator(".tile", has_text="spark-02").locator(".power")).to_have_text("71\u00a0W")


def test_a_fragment_is_written_anew_and_keeps_what_is_open(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(f"{site.address}/status")
    taken_over(page)
    row = page.locator("main tr", has_text="spark-04").first
    expect(row).to_contain_text("4.0\u00a0ms")
    expect(page.locator('.menu-link[href="/status"]')).to_have_attribute("aria-current", "page")
    row.locator("summary").click()
    expect(row.locator("li").first).to_be_visible()
    page.evaluate("document.querySelector('[data-fragment]').dataset.marked = 'yes'")
    site.world.set("spark-04", cluster.SCRAPE_SECONDS, constant(0.25))
    site.tick()
    expect(row).to_contain_text("250\u00a0ms")
    expect(row.locator("li").first).to_be_visible()
    assert page.evaluate("document.querySelector('[data-fragment]').dataset.marked") == "yes"


def test_readings_of_a_node_come_when_they_are_asked_for(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(f"{site.address}/node/spark-01")
    expect(page.locator(".node h1")).to_have_text("spark-01")
    assert page.locator(".readings").count() == 0
    page.get_by_text("All readings of this node").last.click()
    expect(page.locator(".readings").last).to_contain_text("GPU temperature")


@pytest.mark.look
@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/", "Nothing is watched yet"),
        ("/status", "None is watched. Name one: --engine http://10.0.0.1:8000"),
        ("/nowhere", "There is no such page"),
    ],
)
def test_an_empty_installation_says_what_to_do(
    make_site: MakeSite, open_page: Open, complaints: Complaints, path: str, told: str
) -> None:
    complaints.allowed = ("404",) if path == "/nowhere" else ()
    site = make_site(ticks=0, nodes=0, engines=False)
    page = open_page(site.address + path)
    expect(page.locator("#react-entry-point main > div")).to_contain_text(told)
    taken_over(page)


def test_a_node_nobody_knows(make_site: MakeSite, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("404",)
    site = make_site()
    page = open_page(f"{site.address}/node/nobody")
    expect(page.locator("main h1")).to_have_text("There is no node “nobody”")
    expect(page.locator("main li")).to_have_count(4)


@pytest.mark.parametrize("path", ["/status", "/node/spark-01"])
def test_other_pages_on_a_phone(make_site: MakeSite, open_page: Open, path: str) -> None:
    site = make_site()
    page = open_page(site.address + path, 390, 844, is_mobile=True, has_touch=True)
    expect(page.locator("main h1")).to_be_visible()
    taken_over(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    ways = page.locator(".chart .explore-open").all()
    assert all(box["x"] + box["width"] <= 382 - 12 for one in ways if (box := one.bounding_box())), "inside their cards"


def test_page_changes_leave_nothing_behind(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    # No locators here: each would hold on to what it found.
    def kept(changes: int) -> dict[str, float]:
        for _ in range(changes):
            page.evaluate("""() => { document.querySelector('.menu-link[href="/status"]').click() }""")
            page.wait_for_function("() => !!document.querySelector('.page.status tr')")
            page.evaluate("""() => { document.querySelector('.menu-link[href="/"]').click() }""")
            wait_for_charts(page)
        session.send("HeapProfiler.collectGarbage")
        return {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}

    before, after = kept(5), kept(25)
    assert after["Nodes"] - before["Nodes"] < 50
    assert after["JSEventListeners"] - before["JSEventListeners"] < 25
    assert after["JSHeapUsedSize"] - before["JSHeapUsedSize"] < 3e6
