"""Explore in the browser: ranges of all kinds, what is shown beside the charts, and what cannot be drawn."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Route, expect

from telemetry.catalog import gpu
from tests.browser.conftest import TAKEN_OVER, Complaints, MakeSite, Open, Site, taken_over, wait_until
from tests.browser.explore import POWER, READY, asked, five_minutes, opened, query, row
from tests.web.world import constant, tick


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    return five_minutes(make_site)


def test_a_range_that_ends_now_goes_on_with_what_is_new(site: Site, open_page: Open) -> None:
    page = opened(open_page, site.address + POWER)
    expect(row(page, "spark-03").locator("td").last).to_have_text("52\u00a0W")
    questions = asked(page)
    site.world.set("spark-03", gpu.GPU_POWER, constant(90.0))
    site.tick()
    expect(row(page, "spark-03").locator("td").last).to_have_text("90\u00a0W")
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
    expect(table.locator("thead th")).to_have_text(["Instant", "GPU power", "spark-02"])
    expect(page.locator(".explore-chart")).to_be_hidden()
    box = table.bounding_box()
    assert box is not None
    assert box["y"] < 300
    expect(table.locator("tbody tr")).to_have_count(60)
    expect(table.locator("tbody tr").first.locator("td")).to_have_text("40\u00a0W")
    page.get_by_role("button", name="Table").click()
    expect(table).to_be_hidden()
    expect(page.locator(".explore-chart")).to_be_visible()


def test_the_tables_columns_stand_below_their_metric(site: Site, open_page: Open) -> None:
    address = f"{site.address}/explore?metric=gpu_power_watts,gpu_temperature_celsius&start=-5m&table=1"
    page = opened(open_page, address)
    above = page.locator(".explore-table thead tr").first.locator("th")
    expect(above).to_have_text(["Instant", "GPU power", "GPU temperature"])
    assert [one.get_attribute("colspan") for one in above.all()] == [None, "4", "4"]
    names = [f"spark-{number:02}" for number in range(1, 5)]
    expect(page.locator(".explore-table thead tr").last.locator("th")).to_have_text(names * 2)
    expect(page.locator(".explore-table th.first")).to_have_text(["spark-01"] * 2)


def test_exports_have_the_parameters_of_the_view(site: Site, open_page: Open) -> None:
    page = opened(open_page, f"{site.address}{POWER}&node=spark-02,spark-03&total=1")

    def words(link: Locator) -> dict[str, str]:
        address = urlsplit(link.get_attribute("href") or "")
        assert address.path == "/api/v1/export.csv"
        return {name: values[0] for name, values in parse_qs(address.query).items()}

    drawn = words(page.locator(".explore-chart").get_by_role("link", name="CSV"))
    points = drawn.pop("points")
    # One for two pixels of the plot.
    assert 300 < int(points) < 600
    assert drawn == {
        "metric": "gpu_power_watts",
        "node": "spark-02,spark-03",
        "total": "1",
        "start": page.evaluate(f"new Date({tick(0)}).toISOString()"),
        "end": page.evaluate(f"new Date({tick(300)}).toISOString()"),
    }
    page.get_by_role("button", name="Export").click()
    every = page.locator(".explore-export fieldset").last
    expect(every).to_contain_text("before gzip")
    raw = words(every.get_by_role("link", name="CSV"))
    assert (raw["raw"], raw["gzip"]) == ("1", "1")
    packed = every.get_by_role("link", name="SQLite").get_attribute("href") or ""
    assert packed.startswith("/api/v1/export.sqlite?")
    assert {**raw, "gzip": "1"} == {
        **{name: one[0] for name, one in parse_qs(urlsplit(packed).query).items()},
        "gzip": "1",
    }
    assert "gzip" not in packed


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
    expect(page.locator(".explore-how")).to_contain_text("mean of each 5 s, band from least to most")
    questions = asked(page)
    site.world.set("spark-03", gpu.GPU_POWER, constant(90.0))
    site.run(920)
    expect(row(page, "spark-03").locator("td").last).to_have_text("90\u00a0W")
    part = next(one for one in questions if "step" in one and int(one["end"]) == tick(920))
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


def _minutes(route: Route) -> float:
    """How long the stretch is that is asked for."""
    asked = parse_qs(urlsplit(route.request.url).query)
    return (int(asked["end"][0]) - int(asked["start"][0])) / 60_000


def test_what_is_said_of_the_view_before_is_dim_while_a_range_loads_and_gone_when_it_is_refused(
    site: Site, open_page: Open, complaints: Complaints
) -> None:
    """Figures of another range would pass for those of the one that is chosen."""
    complaints.allowed = ("400",)
    page = opened(open_page, site.address + POWER)
    chart, held = page.locator(".explore-chart"), list[Route]()
    expect(row(page, "spark-03").locator("td").last).to_have_text("52\u00a0W")
    page.route("**/api/v1/series?*", lambda route: held.append(route))
    page.get_by_role("radio", name="1 h", exact=True).click()
    expect(chart).to_have_attribute("data-state", "loading")
    for part in ("canvas:first-child", ".explore-legend", ".explore-how"):
        expect(chart.locator(part)).to_have_css("opacity", "0.5")
    wait_until(page, lambda: any(_minutes(one) == 60 for one in held))
    next(one for one in held if _minutes(one) == 60).fulfill(status=400, json={"error": "This is too much."})
    expect(chart).to_have_attribute("data-state", "much")
    expect(chart.locator("tbody tr")).to_have_count(0)
    expect(chart.locator(".explore-how")).to_have_text("")
    expect(chart.locator("a.plain")).to_be_hidden()
    page.unroute("**/api/v1/series?*")
    page.get_by_role("radio", name="15 m", exact=True).click()
    expect(row(page, "spark-03").locator("td").last).to_have_text("52\u00a0W")
    expect(chart.locator(".explore-legend")).to_have_css("opacity", "1")


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
    expect(page.locator(".explore-picker")).to_be_visible()
    box = page.locator(".explore-picker").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_the_nodes_charts_ask_finer_when_zoomed(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/node/spark-02")
    page.wait_for_function("() => document.querySelector('[data-chart] .js-plotly-plot')?.data?.[0]?.y.length > 2")
    taken_over(page)
    questions = asked(page)
    page.evaluate(
        "(range) => Plotly.relayout(document.querySelector('[data-chart] .js-plotly-plot'), "
        "{ 'xaxis.range[0]': range[0], 'xaxis.range[1]': range[1] })",
        [page.evaluate(f"new Date({tick(n)} + 3600000).toISOString().slice(0, -1)") for n in (100, 160)],
    )
    page.wait_for_function("() => document.querySelector('[data-chart] .js-plotly-plot').data[0].y.length === 61")
    # What was on its way when the zoom came is not asked for it.
    power = next(one for one in questions if one["metric"] == "gpu_power_watts" and int(one["end"]) == tick(160))
    assert int(power["start"]) == tick(100)
    with page.expect_download() as download:
        page.locator("[data-chart] a", has_text="CSV").first.click()
    lines = download.value.path().read_text().splitlines()[1:]
    ends = [page.evaluate(f"new Date({tick(n)}).toISOString()") for n in (100, 160)]
    assert [lines[0].split(",")[0], lines[-1].split(",")[0]] == ends, "the stretch that was zoomed to"
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
        f"() => document.querySelector('[data-plots] .js-plotly-plot')?.data?.[0]?.y.length > 2 && {TAKEN_OVER}"
    )
    page.locator("[data-plots] a", has_text="Explore").click()
    page.wait_for_selector(READY)
    assert query(page)["metric"].startswith("decode_tokens_per_second,")
    expect(page.locator(".explore-chart")).to_have_count(3)


@pytest.mark.live
def test_a_phone_tells_lines_apart(site: Site, open_page: Open) -> None:
    """Names of many lines lose what they have in common, so that what tells them apart is not cut."""
    page = opened(
        open_page, f"{site.address}/explore?metric=rdma_transmit_bytes_total&start=-5m", width=390, height=844
    )
    names = page.locator(".explore-name")
    expect(names.first).to_have_attribute("title", re.compile("^spark-01 p0"))
    shown = names.evaluate_all(
        "(all) => all.map((one) => [getComputedStyle(one, '::before').content, one.scrollWidth > one.clientWidth])"
    )
    assert len({text for text, _ in shown}) == len(shown) > 4
    assert not any(cut for _, cut in shown)
