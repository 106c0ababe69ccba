"""Runs in the browser: from the list to one and back, and what people do to it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline import digest
from tests.browser.conftest import MakeSite, Open, Site
from tests.web.test_runs import collecting, keep, run


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Two runs, one of which goes on."""
    found = make_site(ticks=60)
    keep(found.world, run(1, 10, 30), run(2, 40, None))
    return found


def test_from_the_list_to_a_run_and_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/runs")
    rows = page.locator(".ag-pinned-left-cols-container .ag-row")
    expect(rows).to_have_count(2)
    expect(page.locator("[data-runs-count]").last).to_have_text("2 runs, 1 going on")
    assert page.locator(".ag-pinned-left-cols-container [row-index='0']").inner_text() == "Kimi-K3 #2"
    expect(page.locator(".ag-center-cols-container [row-index='1']")).to_contain_text("20.0\u00a0tok/s")
    page.evaluate("window.stayed = true")
    page.get_by_role("link", name="Kimi-K3 #1").click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #1")
    expect(page.locator(".run .headlines .reading").nth(4)).to_contain_text("400")
    expect(page.locator(".run tr", has_text="spark-04").first).to_contain_text("53\u00a0W")
    term = page.locator("summary", has_text="Decode, mean while decoding").first
    term.click()
    expect(page.locator(".definition[open] p").first).to_contain_text("Output tokens ∕ seconds of the active windows")
    page.go_back()
    expect(rows).to_have_count(2)
    assert page.evaluate("window.stayed") is True
    page.get_by_label("Search the runs").fill("#2")
    expect(rows).to_have_count(1)


def test_a_run_is_renamed_and_deleted(site: Site, open_page: Open) -> None:
    with collecting(site.world):
        page = open_page(f"{site.address}/runs/1")
        page.get_by_text("Name, tags, notes").click()
        page.get_by_label("Name", exact=True).fill("with drafts")
        page.get_by_role("button", name="Rename").click()
        expect(page.locator(".run h1")).to_have_text("with drafts")
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete").click()
        expect(page.locator(".ag-pinned-left-cols-container .ag-row")).to_have_count(1)
    assert site.world.writer.run(1) is None
    assert site.world.writer.unsettled_runs(digest.SUMMARY) == []


def test_the_run_that_goes_on(site: Site, open_page: Open) -> None:
    page = open_page(site.address)
    page.wait_for_function("() => !document.getElementById('first')")
    page.get_by_role("link", name="Run", exact=True).click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #2")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("link", name="Open in Explore")).to_have_attribute(
        "href",
        "/explore?metric=decode_tokens_per_second,gpu_utilization_ratio,gpu_power_watts,"
        f"interconnect_transmit_bytes_per_second&start={site.world.rows['head'].since_ms + 40_000}&end=now",
    )


@pytest.mark.live
@pytest.mark.parametrize("path", ["/runs", "/runs/1"])
def test_runs_on_a_phone(site: Site, open_page: Open, path: str) -> None:
    page = open_page(site.address + path, 390, 844, is_mobile=True, has_touch=True)
    expect(page.locator("main h1").last).to_be_visible()
    page.wait_for_function("() => !document.getElementById('first')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
