"""The Cluster page in a browser: first paint, ticks, zoom, themes, sizes, silence."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from storage.records import Batch
from telemetry.catalog import engine, gpu
from tests.browser.conftest import Complaints, MakeSite, Open, wait_for_charts, while_ticks_come
from tests.web.alert_world import alert
from tests.web.world import HEAD, constant

RANGE = "document.querySelector('[data-plots] .js-plotly-plot')._fullLayout.xaxis.range.map(String)"
SILENT = re.compile(r"Collector silent for \d")


def cell(page: Page, key: str) -> Any:
    return page.locator(f'[data-cell="{key}"]').last


@pytest.mark.look
def test_numbers_stand_in_the_page_before_any_script(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address, whole=False, java_script_enabled=False)
    expect(page.locator(".sentence .words")).to_have_text("Serving Kimi-K3 on 4 nodes")
    expect(cell(page, "decode.now")).to_have_text("20.0\u00a0tok/s")
    expect(cell(page, "prefill.throughput")).to_have_text("750\u00a0tok/s")


@pytest.mark.look
def test_a_tick_changes_numbers_tiles_and_lines(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    while_ticks_come(site, lambda wait: expect(page).to_have_title("Cluster · 20.0 tok/s · Tachograph", timeout=wait))
    expect(cell(page, "requests.running")).to_have_text("3")
    expect(page.locator("[data-zone]")).to_have_text("Europe/Berlin")
    site.world.set(HEAD, engine.REQUESTS_RUNNING, constant(5.0))
    site.world.set("spark-03", gpu.GPU_POWER, constant(77.0))
    site.tick()
    expect(cell(page, "requests.running")).to_have_text("5")
    expect(page.locator(".tile", has_text="spark-03").locator(".power")).to_have_text("77\u00a0W")
    site.tick()
    drawn = "document.querySelector('[data-plots] .js-plotly-plot').data[0].y.length"
    page.wait_for_function(f"(ticks) => {drawn} === ticks", arg=site.last + 1)
    last = page.evaluate(
        "Object.fromEntries(document.querySelector('[data-plots] .js-plotly-plot').data"
        ".map((line) => [line.name, line.y.at(-1)]))"
    )
    assert last["decode"] == pytest.approx(20.0)
    assert last["utilisation"] == pytest.approx(96.0)
    assert last["interconnect"] == pytest.approx(12.8)


def test_the_hover_box_keeps_the_legends_order_and_names_who_is_meant(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=120)
    page = open_page(site.address)
    wait_for_charts(page)
    for _ in range(6):
        site.tick()
    page.wait_for_function("() => document.querySelector('[data-plots] .js-plotly-plot').data[0].y.length === 127")
    box = page.locator("[data-plots] .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 30)
    lines = page.locator("[data-plots] .hoverlayer .legendtext")
    expect(lines).to_have_text(
        [
            "decode : 20 tok/s",
            "utilisation : 96 % (96–96)",
            "interconnect : 12.8 Gb/s",
            re.compile(r"busiest cage : 1.6 Gb/s spark-0\d p\d"),
        ]
    )


def test_zoom_survives_ticks_until_one_goes_back(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=120)
    page = open_page(site.address)
    wait_for_charts(page)
    box = page.locator("[data-plots] .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.90, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.96, box["y"] + 32, steps=4)
    page.mouse.up()
    expect(page.locator("[data-back]")).to_be_visible()
    zoomed = page.evaluate(RANGE)
    page.wait_for_function("() => !document.querySelector('[data-plots] .hoverlayer .legend')")
    colours = "[m._fullLayout.font.color, getComputedStyle(document.documentElement).getPropertyValue('--dim').trim()]"
    page.wait_for_function(
        "() => { const m = document.querySelector('[data-plots] .js-plotly-plot'), "
        f"c = {colours}; return c[0] === c[1]; }}"
    )
    for _ in range(2):
        site.tick()
    while_ticks_come(site, lambda wait: expect(page.locator("[data-age]")).to_have_text("zoomed", timeout=wait))
    drawn = "document.querySelector('[data-plots] .js-plotly-plot').data[0].y.length"
    page.wait_for_function(f"(ticks) => {drawn} === ticks", arg=site.last + 1)
    assert page.evaluate(RANGE) == zoomed
    page.locator("[data-back]").click()
    expect(page.locator("[data-back]")).to_be_hidden()
    page.wait_for_function(f"(before) => {RANGE}[0] !== before", arg=zoomed[0])
    while_ticks_come(site, lambda wait: expect(page.locator("[data-age]")).to_have_text("live", timeout=wait))


@pytest.mark.look
def test_a_silent_collector_is_named_by_the_page_itself(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    while_ticks_come(site, lambda wait: expect(page.locator("[data-age]")).to_have_text("live", timeout=wait))
    expect(page.locator(".sentence .words")).to_have_text(SILENT)
    expect(page.locator(".sentence")).to_have_attribute("data-level", "critical")
    expect(page).to_have_title("Cluster · ⚠ Collector silent · Tachograph")
    expect(page.locator("[data-age]")).to_have_text(re.compile(r"\d ?s ago"))
    opacity = page.evaluate("getComputedStyle(document.querySelector('[data-cell=\"decode.now\"]')).opacity")
    assert float(opacity) < 1
    said = page.locator(".sentence .words")
    while_ticks_come(site, lambda wait: expect(said).to_have_text("Serving Kimi-K3 on 4 nodes", timeout=wait))


def test_a_server_that_is_gone_is_told_from_a_silent_collector(
    make_site: MakeSite, open_page: Open, complaints: Complaints
) -> None:
    complaints.allowed = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_CONNECTION_RESET", "ERR_EMPTY")
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    site.stop()
    expect(page.locator(".sentence .words")).to_have_text(re.compile("The server does not answer"))


def test_polling_goes_on_where_no_stream_is_to_be_had(
    make_site: MakeSite, open_page: Open, complaints: Complaints
) -> None:
    complaints.allowed = ("503",)
    site = make_site()
    page = open_page("about:blank", whole=False)
    page.route("**/api/v1/stream*", lambda route: route.fulfill(status=503, body="no place"))
    page.goto(site.address)
    wait_for_charts(page)
    site.world.set(HEAD, engine.REQUESTS_RUNNING, constant(6.0))
    site.tick()
    expect(cell(page, "requests.running")).to_have_text("6")
    site.world.set(HEAD, engine.REQUESTS_RUNNING, constant(7.0))
    site.tick()
    expect(cell(page, "requests.running")).to_have_text("7")


HIDE = """(hidden) => { Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
document.dispatchEvent(new Event("visibilitychange")); }"""


def test_a_hidden_page_rests_and_catches_up(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    page.evaluate(HIDE, True)
    site.world.set(HEAD, engine.REQUESTS_RUNNING, constant(9.0))
    site.tick()
    site.tick()
    with page.expect_request("**/api/v1/live?minutes=15"):
        page.evaluate(HIDE, False)
    expect(cell(page, "requests.running")).to_have_text("9")
    page.wait_for_function("() => document.querySelector('[data-plots] .js-plotly-plot').data[0].y.length === 33")


def test_theme_follows_the_system_then_the_button_and_is_kept(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address, color_scheme="dark")
    scheme = "document.documentElement.dataset.theme"
    ground = "getComputedStyle(document.body).backgroundColor"
    wait_for_charts(page)
    assert page.evaluate(scheme) == "dark"
    dark = page.evaluate(ground)
    line = "document.querySelector('[data-plots] .js-plotly-plot').data.at(-1).line.color"
    page.wait_for_function(f"() => {line} === '#69aefc'")
    page.locator("[data-theme-toggle]").click()
    assert page.evaluate(scheme) == "light"
    assert page.evaluate(ground) != dark
    page.wait_for_function(f"() => {line} === '#1a5fb8'")
    page.reload()
    assert page.evaluate(scheme) == "light"
    wait_for_charts(page)
    assert page.evaluate(scheme) == "light"


def test_the_map_by_keyboard_and_as_a_table(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    switch = page.locator("[data-map-switch]")
    expect(switch.get_by_role("radio", name="Power")).to_be_checked()
    expect(page.locator("[data-map-scale]")).to_have_text("4853 W")
    switch.get_by_role("radio", name="Power").focus()
    page.keyboard.press("ArrowRight")
    expect(switch.get_by_role("radio", name="Util")).to_be_checked()
    expect(page.locator("[data-map-scale]")).to_have_text("0100 %")
    expect(page).to_have_url(f"{site.address}/?map=utilization")
    page.locator("[data-map] canvas").hover(position={"x": 400, "y": 10})
    expect(page.locator(".tip")).to_contain_text("spark-01")
    page.get_by_role("button", name="Table").press("Enter")
    row = page.locator("[data-map-table] tr", has_text="spark-04")
    expect(row).to_contain_text("53\u00a0W")
    expect(page.locator("[data-map]")).to_be_hidden()
    for what in ("[data-map-scale]", "[data-map-switch]", "[data-tiles]"):
        expect(page.locator(what)).not_to_be_visible()
    site.world.set("spark-04", gpu.GPU_POWER, constant(88.0))
    site.tick()
    expect(row).to_contain_text("88\u00a0W")
    page.get_by_role("button", name="Table").press("Enter")
    expect(page.locator("[data-map]")).to_be_visible()
    page.reload()
    wait_for_charts(page)
    expect(switch.get_by_role("radio", name="Util")).to_be_checked()
    switch.get_by_role("radio", name="Power").click()
    expect(page).to_have_url(f"{site.address}/")


@pytest.mark.parametrize("nodes", [1, 2, 4, 16, 64])
def test_the_first_screen_needs_no_scrolling(make_site: MakeSite, open_page: Open, nodes: int) -> None:
    site = make_site(ticks=5, nodes=nodes)
    page = open_page(site.address)
    wait_for_charts(page)
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    assert page.locator(".tile").count() == nodes
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.querySelectorAll('*').length") <= 1500


COVERED = """[...document.querySelectorAll(".plots .ways a")].map((link) => link.getBoundingClientRect())
.flatMap((link) => [...document.querySelectorAll(".plots .legend, .plots h3")]
.map((name) => name.getBoundingClientRect()).filter((name) => name.left < link.right && link.left < name.right
&& name.top < link.bottom && link.top < name.bottom))"""
INSIDE = """(tile) => {
  const panel = tile.closest(".panel").getBoundingClientRect();
  return tile.getBoundingClientRect().bottom <= panel.bottom - 4;
}"""
CUT = """[...document.querySelectorAll(".tile, .tile .name strong, .tile .cell, .reading .value, .hero, .why-table td")]
.filter((box) => box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).display !== "inline")
.map((box) => box.className + ": " + box.textContent)"""
SMALL = """[...document.querySelectorAll("body *")].filter((box) => [...box.childNodes].some((node) =>
node.nodeType === 3 && node.data.trim()) && box.checkVisibility() && parseFloat(getComputedStyle(box).fontSize) < 12)
.map((box) => box.tagName + ": " + box.textContent)"""


SIZES = """[...document.querySelectorAll("main *")].filter((box) => box.checkVisibility()
&& [...box.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
.map((box) => [parseFloat(getComputedStyle(box).fontSize), !!box.closest("[data-cell='decode.now']")])"""
HEIGHTS = """[...document.querySelectorAll(".tile")].map((tile) => [...tile.querySelectorAll(".cell")]
.map((cell) => Math.round(cell.getBoundingClientRect().top - tile.getBoundingClientRect().top)))"""


def test_the_speed_is_the_largest_figure_and_readings_of_all_tiles_are_level(
    make_site: MakeSite, open_page: Open
) -> None:
    """With one node silent and one too hot, too: their tiles are no higher than the others."""
    site = make_site(ticks=5, nodes=16)
    site.world.silence("spark-03", 4, "timed out", "")
    site.tick()
    page = open_page(site.address)
    wait_for_charts(page)
    sizes = page.evaluate(SIZES)
    largest = max(size for size, _ in sizes)
    assert {mine for size, mine in sizes if size == largest} >= {True}
    heights = page.evaluate(HEIGHTS)
    assert len(heights) == 16
    assert all(len(one) >= 5 and one == heights[0] for one in heights)
    assert page.locator("main form, main button[data-order], main .danger").count() == 0, "nothing that destroys"


@pytest.mark.look
def test_a_phone_shows_speed_and_all_nodes_on_its_first_screen(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(nodes=16)
    page = open_page(site.address, 390, 844, is_mobile=True, has_touch=True)
    wait_for_charts(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".sentence .words")).to_be_in_viewport(ratio=1)
    expect(cell(page, "decode.now")).to_be_in_viewport(ratio=1)
    expect(cell(page, "prefill.throughput")).to_be_in_viewport(ratio=1)
    expect(page.locator(".tile").last).to_be_in_viewport(ratio=1)
    assert page.evaluate(CUT) == []
    assert page.evaluate(SMALL) == []
    assert page.evaluate(COVERED) == [], "the links stand below the plots, where no legend is"


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_a_phone_shows_few_nodes_beside_each_other(make_site: MakeSite, open_page: Open, nodes: int) -> None:
    site = make_site(nodes=nodes)
    page = open_page(site.address, 390, 844, is_mobile=True, has_touch=True)
    wait_for_charts(page)
    boxes = [box for tile in page.locator(".tile").all() if (box := tile.bounding_box())]
    assert len(boxes) == nodes
    assert len({box["x"] for box in boxes}) == min(nodes, 2)
    expect(page.locator(".tile").last).to_be_in_viewport(ratio=1)
    assert (boxes[-1]["width"] > 300) is (nodes % 2 == 1), "one that is left over takes the line"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CUT) == []


def test_everything_to_press_or_look_at_has_a_name_and_can_be_read(make_site: MakeSite, open_page: Open) -> None:
    site = make_site()
    page = open_page(site.address)
    wait_for_charts(page)
    nameless = """[...document.querySelectorAll("button, a, [role=img], canvas")].filter((box) => box.checkVisibility()
    && !box.textContent.trim() && !box.getAttribute("aria-label") && !box.ariaHidden)
    .map((box) => box.outerHTML.slice(0, 80))"""
    assert page.evaluate(nameless) == []
    assert page.evaluate(SMALL) == []


@pytest.mark.live
def test_sixteen_nodes_keep_their_names_on_the_map_whatever_tiles_say(make_site: MakeSite, open_page: Open) -> None:
    """What is the matter takes two lines in both rows; each name needs twelve pixels of the map."""
    site = make_site(ticks=0, nodes=16)
    for number, name in enumerate(("spark-07", "spark-15"), 1):
        fired = alert(number, "power_delivery", (name, "0"), 10, title="Power delivery limited")
        site.world.writer.commit(Batch(alerts=[fired]), site.world.now)
    for name in ("spark-05", "spark-13"):
        site.world.set(name, gpu.GPU_CLOCK_EVENT_REASONS, constant(0x40))
    for name in ("spark-03", "spark-11"):
        site.world.silence(name, 20, "refused", "no agent listens on this port of the machine")
    site.run(60)
    page = open_page(site.address)
    wait_for_charts(page)
    assert page.locator("[data-map]").evaluate("(map) => map.getBoundingClientRect().height") >= 16 * 12 + 18
    said = page.locator(".tile .said").all()
    assert max(one.bounding_box()["height"] for one in said if one.inner_text().startswith("Power")) == 28  # type: ignore[index]
    assert page.locator(".fleet").evaluate("(box) => box.scrollHeight - box.clientHeight") <= 0
    assert page.locator(".tile").last.evaluate(INSIDE)
    assert page.evaluate("document.documentElement.scrollHeight") <= 900
    assert page.evaluate(CUT) == []
