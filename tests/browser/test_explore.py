"""Explore in the browser: choosing, zooming, reading values, and an address that says it all."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from storage.records import Event
from telemetry.catalog import gpu
from tests.browser.conftest import Complaints, MakeSite, Open, Site
from tests.web.world import constant, tick

POWER = "/explore?metric=gpu_power_watts&start=-5m"
READY = '.explore-body[data-state="ready"]'


def opened(open_page: Open, address: str, width: int = 1440, height: int = 900, **options: object) -> Page:
    """A page of Explore whose charts are drawn, after Dash has taken over."""
    page = open_page(address, width, height, **options)
    page.wait_for_selector(READY)
    page.wait_for_function("() => !document.getElementById('first')")
    return page


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def row(page: Page, name: str, chart: str = "gpu_power_watts") -> Locator:
    return page.locator(f'[data-metric="{chart}"] .explore-legend tr[data-name="{name}"]')


def drag(page: Page, chart: str, start: float, end: float) -> None:
    """Drag over a share of a chart's plot, from `start` to `end` (0–1 of the span)."""
    box = page.locator(f'[data-metric="{chart}"] .explore-over').bounding_box()
    assert box is not None
    left, width, y = box["x"] + 56, box["width"] - 64, box["y"] + box["height"] / 2
    page.mouse.move(left + start * width, y)
    page.mouse.down()
    page.mouse.move(left + (start + end) / 2 * width, y)
    page.mouse.move(left + end * width, y)
    page.mouse.up()


def asked(page: Page) -> list[dict[str, str]]:
    """Gathers what the page asks of /api/v1/series from now on."""
    found: list[dict[str, str]] = []

    def note(request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.path == "/api/v1/series":
            found.append({name: values[0] for name, values in parse_qs(parts.query).items()})

    page.on("request", note)
    return found


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Five minutes of four nodes; spark-02 takes 50 to 59 W in turn, 40 W in the last ten seconds."""
    made = make_site(ticks=0)
    made.world.set("spark-02", gpu.GPU_POWER, lambda number: 40.0 if number > 290 else 50.0 + number % 10)
    made.run(300)
    return made


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
    page.wait_for_function("() => !document.getElementById('first')")
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
    page.wait_for_function("() => !document.getElementById('first')")
    row(page, "spark-02").locator(".explore-name").click()
    row(page, "spark-03").get_by_role("button", name="Hide spark-03").click()
    expect(row(page, "spark-03")).to_have_attribute("data-hidden", "true")
    assert query(page)["hide"] == "spark-03"
    page.get_by_role("button", name="Show all lines").click()
    assert "hide" not in query(page)
    expect(page.locator(".explore-legend tr[data-hidden]")).to_have_count(0)


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
    expect(page.locator(".explore-chart .head .dimmed:first-of-type").first).to_have_text("spark-02, spark-04")
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
    page.wait_for_function("() => !document.getElementById('first')")
    page.get_by_role("button", name="2 events").click()
    page.locator(".explore-notes").get_by_role("button", name="Delete annotation").click()
    expect(page.locator(".explore-marks button.mine")).to_have_count(0)
    assert site.web.process.sources.store.preference("annotations")["items"] == []


def test_a_range_that_ends_now_goes_on_with_what_is_new(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    expect(row(page, "spark-03").locator("td").last).to_have_text("52\u00a0W")
    questions = asked(page)
    site.world.set("spark-03", gpu.GPU_POWER, constant(90.0))
    site.tick()
    expect(row(page, "spark-03").locator("td").last).to_have_text("90\u00a0W", timeout=20_000)
    newest = next(one for one in questions if int(one["end"]) == tick(301))
    assert tick(301) - int(newest["start"]) <= 15_000
    page.locator(".explore-over").hover()
    expect(page.locator(".explore-readout")).to_be_visible()


def test_the_stretch_before_is_laid_over(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    questions = asked(page)
    page.get_by_role("radio", name="day", exact=True).click()
    expect(page.locator(".explore-how")).to_have_text("nothing was recorded a day earlier")
    assert query(page)["over"] == "day"
    day = 86_400_000
    assert {tick(300) - int(one["end"]) for one in questions if one["points"] not in ("1", "5000")} >= {0, day}


def test_a_stretch_is_typed_in_the_viewers_zone(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    page.get_by_role("button", name="Europe/Berlin").click()
    form = page.locator(".explore-fromto")
    expect(form).to_contain_text("Times are of Europe/Berlin.")
    local = [page.evaluate(f"new Date({tick(n)} + 3600000).toISOString().slice(0, 19)") for n in (200, 100)]
    form.get_by_label("From").fill(local[0])
    form.get_by_label("To").fill(local[1])
    form.get_by_role("button", name="Show").click()
    expect(form).to_contain_text("The end must be after the start.")
    form.get_by_label("From").fill(local[1])
    form.get_by_label("To").fill(local[0])
    form.get_by_role("button", name="Show").click()
    page.wait_for_url(re.compile("end="))
    iso = [page.evaluate(f"new Date({tick(n) // 1000 * 1000}).toISOString().replace('.000', '')") for n in (100, 200)]
    assert [query(page)["start"], query(page)["end"]] == iso
    expect(row(page, "spark-02").locator("td").nth(2)).to_have_text("59\u00a0W")


def test_the_table_says_what_is_drawn(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}{POWER}&table=1&only=spark-02")
    table = page.locator(".explore-table")
    expect(table.locator("thead th")).to_have_text(["Instant", "GPU power spark-02"])
    expect(table.locator("tbody tr")).to_have_count(60)
    expect(table.locator("tbody tr").first.locator("td")).to_have_text("40\u00a0W")
    page.get_by_role("button", name="Table").click()
    expect(table).to_be_hidden()


def test_exports_have_the_parameters_of_the_view(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}{POWER}&node=spark-02,spark-03&total=1")

    def words(link: Locator) -> dict[str, str]:
        address = urlsplit(link.get_attribute("href") or "")
        assert address.path == "/api/v1/export.csv"
        return {name: values[0] for name, values in parse_qs(address.query).items()}

    drawn = words(page.locator(".explore-chart").get_by_role("link", name="CSV"))
    points = drawn.pop("points")
    assert int(points) > 300
    assert drawn == {
        "metric": "gpu_power_watts",
        "node": "spark-02,spark-03",
        "total": "1",
        "start": page.evaluate(f"new Date({tick(0)}).toISOString()"),
        "end": page.evaluate(f"new Date({tick(300)}).toISOString()"),
    }
    page.get_by_role("button", name="Export").click()
    raw = page.locator(".explore-export fieldset").last.get_by_role("link")
    expect(raw).to_contain_text("before gzip")
    assert words(raw)["raw"] == "1"


def test_counters_are_shown_as_rates_unless_counts_are_wanted(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore?metric=generation_tokens_total&start=-5m")
    cells = row(page, "head", "generation_tokens_total").locator("td")
    expect(cells).to_have_text(["20.0\u00a0tok/s"] * 4)
    page.get_by_role("radio", name="Count", exact=True).click()
    # 20 tokens a second since tick 0.
    expect(cells).to_have_text(["0\u00a0tokens", "–", "6.0k\u00a0tokens", "6.0k\u00a0tokens"])
    assert query(page)["counts"] == "1"


def test_bins_of_a_range_that_goes_on_are_asked_for_one_by_one(site: Site, open_page: Open) -> None:
    site.run(900)
    page = opened(open_page, f"{site.address}/explore?metric=gpu_power_watts&start=-15m", 1000)
    expect(page.locator(".explore-how")).to_contain_text("mean of each 2 s, band from least to most")
    questions = asked(page)
    site.world.set("spark-03", gpu.GPU_POWER, constant(90.0))
    site.run(920)
    expect(row(page, "spark-03").locator("td").last).to_have_text("90\u00a0W", timeout=30_000)
    part = next(one for one in questions if "step" in one)
    assert tick(920) - int(part["start"]) <= 60_000
    assert "points" not in part


@pytest.mark.parametrize(
    ("address", "state", "said"),
    [
        ("?metric=gpu_fan_speed_ratio&start=-5m", "empty", "Nothing was recorded of this in this stretch."),
        ("?metric=gpu_power_watts&node=nobody&start=-5m", "much", "Parameter “node” is “nobody”"),
        ("?metric=gpu_power_watts&start=2000-01-01T00:00:00Z&end=2026-11-30T00:00:00Z", "much", "days long"),
    ],
)
def test_what_cannot_be_drawn_is_said(
    site: Site, open_page: Open, complaints: Complaints, address: str, state: str, said: str
) -> None:
    complaints.allowed = ("400",)
    page = opened(open_page, f"{site.address}/explore{address}")
    expect(page.locator(".explore-chart")).to_have_attribute("data-state", state)
    expect(page.locator(".explore-plot .nothing")).to_contain_text(said)


def test_an_unknown_metric_is_named(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore?metric=nothing_like_it,gpu_power_watts&start=-5m")
    expect(page.locator(".explore-said")).to_have_text("There is no metric “nothing_like_it”.")
    expect(page.locator(".explore-chart")).to_have_count(1)


def test_a_server_that_is_gone_leaves_what_was_drawn(site: Site, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("Failed to load", "ERR_CONNECTION")
    page = opened(open_page, site.address + POWER)
    expect(row(page, "spark-03").locator("td").last).to_have_text("52\u00a0W")
    site.stop()
    page.get_by_role("radio", name="1 h", exact=True).click()
    expect(page.locator(".explore-plot .nothing")).to_have_text("The server does not answer.")
    expect(row(page, "spark-03")).to_be_visible()


def test_explore_on_a_phone(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}/explore", 390, 844, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="+ Metric").tap()
    box = page.locator(".explore-picker").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_the_nodes_charts_ask_finer_when_zoomed(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/node/spark-02")
    page.wait_for_function("() => document.querySelector('[data-chart] .js-plotly-plot')?.data?.[0]?.y.length > 2")
    page.wait_for_function("() => !document.getElementById('first')")
    questions = asked(page)
    page.evaluate(
        "(range) => Plotly.relayout(document.querySelector('[data-chart] .js-plotly-plot'), "
        "{ 'xaxis.range[0]': range[0], 'xaxis.range[1]': range[1] })",
        [page.evaluate(f"new Date({tick(n)} + 3600000).toISOString().slice(0, -1)") for n in (100, 160)],
    )
    page.wait_for_function("() => document.querySelector('[data-chart] .js-plotly-plot').data[0].y.length === 61")
    power = next(one for one in questions if one["metric"] == "gpu_power_watts")
    assert (int(power["start"]), int(power["end"])) == (tick(100), tick(160))
    link = page.locator("[data-chart] a", has_text="Explore").first
    link.click()
    page.wait_for_selector(READY)
    told = query(page)
    assert told["node"] == "spark-02"
    assert told["metric"] == "gpu_power_watts,system_power_watts"
    start = page.evaluate(f"new Date({tick(100)}).toISOString()")
    assert told["start"] == start


def test_from_the_live_plots_to_explore(site: Site, open_page: Open) -> None:
    page = open_page(site.address)
    page.wait_for_function(
        "() => document.querySelector('[data-plots] .js-plotly-plot')?.data?.[0]?.y.length > 2"
        " && !document.getElementById('first')"
    )
    page.locator("[data-plots] a", has_text="Explore").click()
    page.wait_for_selector(READY)
    assert query(page)["metric"].startswith("decode_tokens_per_second,")
    expect(page.locator(".explore-chart")).to_have_count(3)
