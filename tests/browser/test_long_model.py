"""A model's name of two hundred letters is cut, and no page scrolls sideways for it."""

from __future__ import annotations

from dataclasses import replace

from playwright.sync_api import expect

from tests.browser.conftest import MakeSite, Open
from tests.web.test_runs import keep, run

LONG = "m" * 200


def test_the_list_does_not_scroll_sideways(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, replace(run(1, 10, 20), model=f"org/{LONG}"), run(2, 30, 40))
    page = open_page(f"{site.address}/runs")
    chip = page.get_by_role("button", name=f"{LONG} 1")
    expect(chip).to_have_attribute("title", f"{LONG} 1")
    assert chip.evaluate("(one) => one.scrollWidth > one.clientWidth && one.clientWidth <= 320")
    page.get_by_role("button", name="Group by model").click()
    expect(page.locator(".runs-group b").filter(has_text=LONG)).to_be_visible()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("(width) => document.documentElement.scrollWidth <= width", arg=width)
