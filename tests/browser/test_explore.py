"""Explore in the browser: choosing, zooming, reading values, and an address that says it all."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from storage.records import Event
from tests.browser.conftest import MakeSite, Open, Site, taken_over
from tests.browser.explore import POWER, READY, asked, drag, five_minutes, opened, query, row
from tests.web.world import tick


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return five_minutes(make_site)


@pytest.mark.look
def test_four_charts_with_least_mean_most_and_newest(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore")
    expect(page.locator(".explore-chart")).to_have_count(4)
    expect(page.locator(".menu-link[aria-current]")).to_have_text("Explore")
    cells = row(page, "spark-02").locator("td")
    # 291 ticks of 50 … 59 (0 to 290) and ten of 40: (29 × 545 + 50 + 400) / 301.
    expect(cells).to_have_text(["40\u00a0W", "54\u00a0W", "59\u00a0W", "40\u00a0W"])
    expect(row(page, "head", "decode_tokens_per_second").locator("td").last).to_have_text("20.0\u00a0tok/s")
    expect(row(page, "spark-01 p0", "interconnect_transmit_bytes_per_second").locator("td").last).to_have_text(
        "1.6\u00a0Gb/s"
    )
    expect(page.locator('[data-metric="gpu_sm_clock_hertz"] .explore-unit')).to_have_text("MHz")


@pytest.mark.look
def test_a_zoom_asks_finer_and_is_an_address(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    questions = asked(page)
    drag(page, "gpu_power_watts", 0.2, 0.4)
    page.wait_for_url(re.compile("end="))
    page.wait_for_selector(READY)
    # The span is the 300 s before tick 300: 20 % to 40 % of it is tick 60 to 120.
    first = next(one for one in questions if one["points"] not in ("1", "5000"))
    assert int(first["start"]) == pytest.approx(tick(60), abs=1500)
    assert int(first["end"]) == pytest.approx(tick(120), abs=1500)
    expect(row(page, "spark-02").locator("td")).to_have_text(
        ["50\u00a0W", "54\u00a0W", "59\u00a0W", re.compile(" W|W")]
    )
    assert page.evaluate("document.documentElement.dataset.zoomed") == "true"
    zoomed = page.url
    drag(page, "gpu_power_watts", 0.5, 0.75)
    page.wait_for_function("(before) => location.href !== before", arg=zoomed)
    page.wait_for_selector(READY)
    page.locator(".explore-over").dblclick()
    page.wait_for_function("(before) => location.href === before", arg=zoomed)
    page.locator(".explore-over").dblclick()
    page.wait_for_url(re.compile("start=-5m$"))
    page.get_by_role("button", name="Previous view").click()
    page.wait_for_function("(before) => location.href === before", arg=zoomed)
    page.reload()
    page.wait_for_selector(READY)
    assert page.url == zoomed
    expect(row(page, "spark-02").locator("td").first).to_have_text("50\u00a0W")
    # The way out is known after a reload, too.
    taken_over(page)
    page.locator(".explore-over").dblclick()
    page.wait_for_url(re.compile("start=-5m$"))


def test_back_and_forward_lead_through_the_views(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    page.evaluate("window.stayed = true")
    page.get_by_role("radio", name="1 h", exact=True).click()
    page.get_by_role("radio", name="Total").click()
    expect(row(page, "sum").locator("td").last).to_have_text("195\u00a0W")
    assert query(page) == {"metric": "gpu_power_watts", "start": "-1h", "total": "1"}
    page.go_back()
    expect(row(page, "spark-04")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("radio", name="5 m", exact=True)).to_have_attribute("aria-checked", "true")
    page.go_forward()
    page.go_forward()
    expect(row(page, "sum")).to_be_visible()
    page.locator('.menu-link[href="/status"]').click()
    expect(page.locator(".page.status")).to_be_visible()
    expect(page.locator(".explore-body")).to_have_count(0)
    page.go_back()
    expect(row(page, "sum")).to_be_visible()
    assert page.evaluate("window.stayed") is True


def test_the_crosshair_reads_all_charts_at_one_instant(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore?metric=gpu_power_watts,gpu_temperature_celsius&start=-5m")
    plot = page.locator('[data-metric="gpu_power_watts"] .explore-over')
    box = plot.bounding_box()
    assert box is not None
    plot.hover(position={"x": 56 + (box["width"] - 64) * 105.2 / 300, "y": 20})
    readout = page.locator(".explore-readout")
    expect(readout).to_be_visible()
    expect(readout.locator("tr").first).to_have_text("GPU powerGPU temperature")
    # Tick 105, in the zone of the browser.
    expect(readout.locator("tr", has_text="spark-02")).to_have_text("spark-0255\u00a0W61.0\u00a0°C")
    instant = page.evaluate(f"new Date({tick(105)}).toLocaleTimeString('en-GB')")
    expect(readout.locator("p").first).to_contain_text(instant)
    expect(page.locator(".explore-flag")).to_have_text(instant)
    page.mouse.move(5, 5)
    expect(readout).to_be_hidden()
    plot.focus()
    page.keyboard.press("ArrowRight")
    expect(readout).to_be_visible()
    page.keyboard.press("Escape")
    expect(readout).to_be_hidden()


def test_the_legend_isolates_and_hides(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    row(page, "spark-02").locator(".explore-name").click()
    expect(row(page, "spark-01")).to_have_attribute("data-hidden", "true")
    assert query(page)["only"] == "spark-02"
    page.reload()
    page.wait_for_selector(READY)
    expect(row(page, "spark-01")).to_have_attribute("data-hidden", "true")
    taken_over(page)
    row(page, "spark-02").locator(".explore-name").click()
    row(page, "spark-03").get_by_role("button", name="Hide spark-03").click()
    expect(row(page, "spark-03")).to_have_attribute("data-hidden", "true")
    assert query(page)["hide"] == "spark-03"
    page.get_by_role("button", name="Show all lines").click()
    expect(page.locator(".explore-legend tr[data-hidden]")).to_have_count(0)
    assert "hide" not in query(page)


def test_a_node_that_is_isolated_is_isolated_in_every_chart(site: Site, open_page: Open) -> None:
    cages = "interconnect_transmit_bytes_per_second"
    page = opened(
        open_page, f"{site.address}/explore?metric=gpu_power_watts,{cages},decode_tokens_per_second&start=-5m"
    )
    row(page, "spark-02").locator(".explore-name").click()
    left = page.locator(f'[data-metric="{cages}"] .explore-legend tbody tr:not([data-hidden])')
    expect(left.locator(".explore-name")).to_have_text(["spark-02 p0", "spark-02 p1"])
    expect(row(page, "head", "decode_tokens_per_second")).not_to_have_attribute("data-hidden", "true")
    row(page, "spark-03 p1", cages).locator(".explore-name").click()
    expect(left.locator(".explore-name")).to_have_text(["spark-03 p1"])
    expect(page.locator('[data-metric="gpu_power_watts"] tbody tr:not([data-hidden]) .explore-name')).to_have_text(
        ["spark-03"]
    )


def test_a_name_under_the_pointer_is_lit_in_every_chart_that_knows_it(site: Site, open_page: Open) -> None:
    metrics = "gpu_power_watts,interconnect_transmit_bytes_per_second,decode_tokens_per_second"
    page = opened(open_page, f"{site.address}/explore?metric={metrics}&start=-5m")
    page.evaluate("document.fonts.ready")

    def drawn() -> list[str]:
        found = page.evaluate(
            "[...document.querySelectorAll('.explore-plot > canvas:first-child')].map((one) => one.toDataURL())"
        )
        return list(found)

    before = drawn()
    row(page, "spark-02").hover()
    lit = drawn()
    assert [one == two for one, two in zip(before, lit, strict=True)] == [False, False, True]
    page.mouse.move(5, 5)
    assert drawn() == before


def test_a_large_readout_hides_no_line(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore")
    plot = page.locator('[data-metric="gpu_power_watts"] .explore-over')
    box = plot.bounding_box()
    assert box is not None
    plot.hover(position={"x": 100, "y": 20})
    readout = page.locator(".explore-readout")
    expect(readout).to_be_visible()
    place = readout.bounding_box()
    assert place is not None
    assert place["width"] > 320
    assert place["x"] + place["width"] == pytest.approx(1440 - 16, abs=1)
    plot.hover(position={"x": box["width"] - 12, "y": 20})
    page.wait_for_function("() => document.querySelector('.explore-readout').getBoundingClientRect().left < 500")


def test_metrics_are_found_by_words_and_keys(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    page.get_by_role("button", name="+ Metric").click()
    page.keyboard.type("ttft")
    expect(page.locator(".explore-results label")).to_have_count(2)
    expect(page.locator(".explore-results legend")).to_have_text("Latency")
    page.keyboard.press("Enter")
    expect(page.locator(".explore-chart")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator(".explore-picker")).to_be_hidden()
    # One observation a second: 0.2 of them below 1 s, 0.9 below 5 s, so p95 lies in the bucket of 5 to 10 s.
    page.get_by_role("radio", name="p95").click()
    expect(row(page, "head", "time_to_first_token_seconds").locator("td").last).to_have_text("7.5\u00a0s")
    expect(row(page, "head", "time_to_first_token_seconds").locator("td").nth(1)).to_have_text("–")
    assert query(page)["quantile"] == "0.95"
    page.locator('[data-metric="gpu_power_watts"]').get_by_role("button", name="Remove GPU power").click()
    expect(page.locator(".explore-chart")).to_have_count(1)
    page.get_by_role("button", name="Remove TTFT").first.click()
    expect(page.locator(".explore-said")).to_have_text("Nothing is chosen yet: add a metric.")


def test_scopes_limit_what_is_drawn_and_say_so(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore?metric=gpu_power_watts,decode_tokens_per_second&start=-5m")
    page.get_by_role("button", name="Of: everything").click()
    page.get_by_label("spark-02", exact=True).check()
    page.get_by_label("spark-04", exact=True).check()
    expect(page.locator(".explore-chart .explore-of").first).to_have_text("spark-02, spark-04")
    expect(page.locator('[data-metric="gpu_power_watts"] .explore-legend tbody tr')).to_have_count(2)
    expect(page.locator('[data-metric="decode_tokens_per_second"] .head')).to_contain_text("all engines")
    assert query(page)["node"] == "spark-02,spark-04"


def test_what_this_number_is(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    page.get_by_role("button", name="What is GPU power?").click()
    drawer = page.locator(".explore-drawer")
    expect(drawer.locator("h2")).to_have_text("GPU power")
    expect(drawer).to_contain_text("gpu_power_watts")
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()


@pytest.mark.live
def test_what_is_not_of_now_does_not_stand_as_such(make_site: MakeSite, open_page: Open) -> None:
    made = make_site(ticks=0)
    made.world.away("spark-02", 291, 300)
    made.run(300)
    page = opened(open_page, made.address + POWER)
    expect(row(page, "spark-01").locator("td").last).to_have_text("50\u00a0W")
    now = row(page, "spark-02").locator("td").last
    expect(now).to_have_text("–")
    expect(now).to_have_attribute("title", "Not known now; the newest value of the stretch was 51\u00a0W")
    expect(row(page, "spark-02").locator("td").nth(1)).to_have_text("51\u00a0W")


def test_a_legend_has_whole_rows_and_says_how_many(site: Site, open_page: Open) -> None:
    metrics = "gpu_power_watts,gpu_temperature_celsius,gpu_sm_clock_hertz,memory_used_bytes,gpu_utilization_ratio"
    page = opened(open_page, f"{site.address}/explore?metric={metrics}&start=-5m", 1440, 610)
    legend = page.locator('[data-metric="gpu_power_watts"] .explore-legend')
    expect(legend.locator("thead th").first).to_have_text("4 lines")
    assert legend.evaluate("(one) => one.clientHeight % 18") == 0


def test_a_single_chart_fills_the_page_and_four_fit_on_it(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    height = "document.querySelector('.explore-charts').getBoundingClientRect().bottom"
    assert 820 < page.evaluate(height) <= 900
    page.goto(f"{site.address}/explore")
    page.wait_for_selector(READY)
    taken_over(page)
    assert 820 < page.evaluate(height) <= 900


def test_a_long_word_of_an_annotation_stays_in_its_panel(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    page.get_by_role("button", name="Annotate").click()
    page.get_by_role("textbox", name="Annotation").fill("x" * 200)
    page.keyboard.press("Enter")
    expect(page.locator(".explore-notes tr", has_text="xxxx")).to_be_visible()
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        # The charts follow the window when they hear of it.
        page.wait_for_function("(width) => document.documentElement.scrollWidth === width", arg=width)
        assert page.locator(".explore-notes").evaluate("(one) => one.scrollWidth <= one.clientWidth")


def test_annotations_are_made_drawn_and_deleted(site: Site, open_page: Open) -> None:
    site.world.commit(events=[Event(0, tick(100), "spark-01", "xid", "Xid 79")])
    page = opened(open_page, site.address + POWER)
    expect(page.locator(".explore-marks button")).to_have_count(1)
    page.get_by_role("button", name="Annotate").click()
    page.get_by_role("textbox", name="Annotation").fill("swapped <b>the</b> cable")
    page.keyboard.press("Enter")
    listed = page.locator(".explore-notes tr", has_text="swapped")
    expect(listed).to_contain_text("swapped <b>the</b> cable")
    expect(page.locator(".explore-marks button.mine")).to_have_count(1)
    expect(page.locator(".explore-notes tr", has_text="Xid 79")).to_be_visible()
    page.reload()
    page.wait_for_selector(READY)
    expect(page.locator(".explore-marks button.mine")).to_have_count(1)
    taken_over(page)
    page.get_by_role("button", name="2 events").click()
    page.locator(".explore-notes").get_by_role("button", name="Delete annotation").click()
    expect(page.locator(".explore-marks button.mine")).to_have_count(0)
    assert site.web.process.sources.store.preference("annotations")["items"] == []
