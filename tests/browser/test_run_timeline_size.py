"""A run's timeline is drawn at the size at which it is shown, however the page was come to."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import MakeSite, Open
from tests.browser.test_run_page import READY
from tests.web.test_runs import keep, run

SIZES = """() => { const still = document.querySelector(".run-plot canvas"), shown = still.getBoundingClientRect();
return { shown: [shown.width * devicePixelRatio, shown.height * devicePixelRatio], drawn: [still.width, still.height],
tops: [...document.querySelectorAll(".run-names button")].map((one) => one.getBoundingClientRect().top - shown.top),
}; }"""
FITS = f"""(count) => {{ const {{ shown, drawn, tops }} = ({SIZES})();
return tops.length === count && shown.every((one, at) => Math.abs(one - drawn[at]) < 1); }}"""
LAID = """async (count) => (await import("/assets/run/lanes.js"))
.layOut({ overview: false, count, readings: [] })"""


def drawn_as_shown(page: Page, nodes: int) -> list[float]:
    """The canvas has the pixels it is shown with, and each name stands beside its row; how many pixels those are."""
    page.wait_for_function(READY)
    page.wait_for_function(FITS, arg=nodes)
    found, laid = page.evaluate(SIZES), page.evaluate(LAID, nodes)
    rows = [laid["map"]["top"] + row * laid["map"]["row"] for row in range(nodes)]
    assert found["tops"] == pytest.approx(rows, abs=0.5)
    assert found["shown"][1] == laid["height"] * page.evaluate("devicePixelRatio")
    drawn: list[float] = found["drawn"]
    return drawn


@pytest.mark.parametrize("density", [1, 2])
@pytest.mark.parametrize("nodes", [4, 16])
def test_a_timeline_is_drawn_as_large_as_it_is_shown(
    make_site: MakeSite, open_page: Open, nodes: int, density: int
) -> None:
    site = make_site(ticks=60, nodes=nodes)
    keep(site.world, run(1, 10, 40), run(2, 45, None))
    page = open_page(f"{site.address}/runs", device_scale_factor=density)
    page.get_by_role("link", name="Kimi-K3 #1").click()
    wide, tall = drawn_as_shown(page, nodes)
    page.reload()
    assert drawn_as_shown(page, nodes) == [wide, tall]
    page.set_viewport_size({"width": 1100, "height": 800})
    page.wait_for_function(
        "(before) => document.querySelector('.run-plot canvas').width === before", arg=wide - 340 * density
    )
    assert drawn_as_shown(page, nodes) == [wide - 340 * density, tall]
    page.goto(f"{site.address}/runs/live")
    drawn_as_shown(page, nodes)


def test_what_is_stretched_is_drawn_again(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 40))
    page = open_page(f"{site.address}/runs/1")
    drawn = drawn_as_shown(page, 4)
    page.evaluate("document.querySelector('.run-plot').style.height = '900px'")
    page.wait_for_function(FITS, arg=4)
    assert drawn_as_shown(page, 4) == drawn


KEEP_QUERIES = """() => { const ask = window.matchMedia; window.asked = [];
window.matchMedia = (query) => { const found = ask.call(window, query); asked.push(found); return found; }; }"""


def test_another_screen_has_other_pixels(make_site: MakeSite, open_page: Open) -> None:
    """A browser tells of another density by its media queries; an emulated one has to be made to."""
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 40))
    page = open_page(f"{site.address}/runs/1")
    drawn_as_shown(page, 4)
    page.add_init_script(f"({KEEP_QUERIES})()")
    page.reload()
    wide, tall = drawn_as_shown(page, 4)
    session = page.context.new_cdp_session(page)
    for density in (2, 1):
        size = {"width": 1440, "height": 900, "deviceScaleFactor": density, "mobile": False}
        session.send("Emulation.setDeviceMetricsOverride", size)
        page.wait_for_function("(density) => devicePixelRatio === density", arg=density)
        last = "asked.findLast((one) => one.media.includes('resolution'))"
        page.evaluate(f"{last}.dispatchEvent(new Event('change'))")
        across = "(wide) => document.querySelector('.run-plot canvas').width === wide"
        page.wait_for_function(across, arg=wide * density)
        assert drawn_as_shown(page, 4) == [wide * density, tall * density]
