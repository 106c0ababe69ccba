"""The live figure does not wait for Dash: it is drawn into the page of the HTML, and moves into Dash's."""

from __future__ import annotations

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import MakeSite, Open, taken_over, wait_until
from tests.web.test_runs import keep, run

DRAWN = """() => { const graph = document.querySelector("#first .js-plotly-plot");
return graph?.data && graph.data[0].y.length > 2; }"""

ZOOM = """Plotly.relayout(drawn, { "xaxis.range[0]": drawn._fullLayout.xaxis.range[0],
"xaxis.range[1]": new Date(Date.parse(drawn._fullLayout.xaxis.range[0] + "Z") + 60000).toISOString().slice(0, -1) })"""


@pytest.mark.look
def test_the_figure_is_drawn_before_dash_and_keeps_its_zoom(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=120)
    page = open_page("about:blank", whole=False)
    held: list[Route] = []
    page.route("**/dash_renderer*", lambda route: held.append(route))
    page.goto(site.address, wait_until="commit")
    page.wait_for_function(DRAWN)
    wait_until(page, lambda: held)  # Dash
    page.evaluate("window.drawn = document.querySelector('#first .js-plotly-plot')")
    page.evaluate(ZOOM)
    expect(page.locator("#first [data-back]")).to_be_visible()
    held.pop().continue_()
    taken_over(page)
    assert page.evaluate("drawn === document.querySelector('#react-entry-point [data-plots] .js-plotly-plot')")
    expect(page.locator("[data-back]")).to_be_visible()
    page.locator("[data-back]").click()
    expect(page.locator("[data-back]")).to_be_hidden()
    site.tick()
    page.wait_for_function("() => drawn.data[0].y.length === 122")


def test_no_page_asks_for_plotly_sooner_than_it_may_use_it(make_site: MakeSite, open_page: Open) -> None:
    """A browser warns of what is preloaded and not used within seconds, which slow phones would not."""
    site = make_site(ticks=5)
    for path in ("", "/node/spark-01", "/status"):
        page = open_page(site.address + path, 390, 844)
        page.wait_for_selector("#react-entry-point .bar")
        assert page.locator("link[rel=preload]").count() == 0, path


def test_a_page_that_comes_without_plotly_fetches_it_when_the_figure_is_wanted(
    make_site: MakeSite, open_page: Open
) -> None:
    page = open_page(make_site(ticks=30).address + "/status")
    page.wait_for_selector("#react-entry-point .targets tr")
    # Once the page has what it needs itself, and a moment to spare.
    page.wait_for_function("() => document.getElementById('plotly').rel === 'prefetch'")
    assert not page.evaluate("'Plotly' in window")
    page.get_by_role("link", name="Cluster").click()
    page.wait_for_function("() => document.querySelector('[data-plots] .js-plotly-plot')?.data?.[0].y.length > 2")
    page.get_by_role("link", name="Status").click()
    page.wait_for_selector("#react-entry-point .targets tr")
    page.get_by_role("link", name="Cluster").click()
    page.wait_for_function("() => document.querySelector('[data-plots] .js-plotly-plot')?.data?.[0].y.length > 2")
    assert page.locator("[data-plots] .js-plotly-plot").count() == 1


LISTED = ".ag-center-cols-container .ag-row"


def test_the_grid_of_the_list_is_fetched_when_somebody_points_at_it(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 30))
    page = open_page(site.address)
    assert page.locator("script[src*=dash_ag_grid], script[src*=dash_table]").count() == 0
    assert not page.evaluate("'dash_ag_grid' in window")
    page.evaluate("window.stayed = true")
    link = page.get_by_role("link", name="Runs", exact=True)
    link.hover()
    page.wait_for_function("() => window.dash_ag_grid")
    link.click()
    expect(page.locator(LISTED)).to_have_count(1)
    assert page.evaluate("window.stayed") is True


def test_who_is_sooner_than_the_grid_loads_the_list_anew(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 30))
    page = open_page(site.address)
    page.evaluate("window.stayed = true")
    page.get_by_role("link", name="Runs", exact=True).evaluate("link => link.click()")  # nothing pointed at it before
    expect(page.locator(LISTED)).to_have_count(1)
    assert page.evaluate("window.stayed") is None
    page.get_by_role("link", name="Cluster", exact=True).click()
    page.wait_for_selector("#react-entry-point [data-live-root]")
    page.reload(wait_until="commit")
    taken_over(page)
    assert not page.evaluate("'dash_ag_grid' in window")
    page.go_back(wait_until="commit")
    expect(page.locator(LISTED)).to_have_count(1)
