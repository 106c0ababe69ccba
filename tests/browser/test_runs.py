"""Runs in the browser: from the list to one and back, and what people do to it."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from pipeline import digest
from tests.browser.conftest import Complaints, MakeSite, Open, Site, taken_over
from tests.web.test_runs import collecting, keep, run
from tests.web.world import HEAD, tick


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Two runs, one of which goes on."""
    found = make_site(ticks=60)
    keep(found.world, run(1, 10, 30), run(2, 40, None))
    return found


@pytest.mark.look
def test_from_the_list_to_a_run_and_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/runs")
    rows = page.locator(".ag-pinned-left-cols-container .ag-row")
    expect(rows).to_have_count(2)
    expect(page.locator("[data-runs-count]").last).to_have_text("2 runs, 1 going on")
    expect(page.locator(".ag-pinned-left-cols-container [row-index='0'] a")).to_have_text("Kimi-K3 #2")
    expect(page.locator(".ag-pinned-left-cols-container [row-index='0'] .tag")).to_have_text("live")
    expect(page.locator(".ag-center-cols-container [row-index='1']")).to_contain_text("20.0\u00a0tok/s")
    page.evaluate("window.stayed = true")
    page.get_by_role("link", name="Kimi-K3 #1").click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #1")
    expect(page.locator(".run .headlines .reading").nth(4)).to_contain_text("400")
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
    assert page.locator(".run .headlines :is(.label, .note, .value)").evaluate_all(cut) == []
    named = page.locator(".run .headlines .label").first
    expect(named).to_have_text("Decode, mean")
    expect(named).to_have_attribute("title", re.compile("^Decode, mean while decoding: Output tokens"))
    expect(page.locator(".run .headlines .note").first).to_have_css("white-space", "normal")
    expect(page.locator(".run tr", has_text="spark-04").first).to_contain_text("53\u00a0W")
    term = page.locator("summary", has_text="Decode, mean while decoding").first
    term.click()
    expect(page.locator(".definition[open] p").first).to_contain_text("Output tokens ∕ seconds of the active windows")
    page.go_back()
    expect(rows).to_have_count(2)
    assert page.evaluate("window.stayed") is True
    expect(page.locator(".ag-center-cols-container [row-index='0'] [col-id='requests.output']")).to_have_text(
        "400\u00a0tokens"
    )
    site.run(75)  # the run that goes on goes on
    expect(page.locator(".ag-center-cols-container [row-index='0'] [col-id='requests.output']")).to_have_text(
        "700\u00a0tokens"
    )
    page.get_by_label("Search the runs").fill("#2")
    expect(rows).to_have_count(1)


LEFT_FREE = """() => {
  const view = document.querySelector('.ag-center-cols-viewport').getBoundingClientRect();
  const heads = [...document.querySelectorAll('.ag-header-cell[col-id]')];
  const ends = heads.map((one) => one.getBoundingClientRect().right);
  return view.right - Math.max(...ends);
}"""
"""Pixels of the list behind its last column."""


@pytest.mark.live
def test_all_columns_of_the_list_fit_and_no_tag_is_cut(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    tags = ("nightly", "with a long tag", "good")
    other = replace(run(2, 32, 38), model="org/Other")
    keep(site.world, run(1, 10, 30, baseline=True, tags=tags), other, run(3, 40, None))
    page = open_page(f"{site.address}/runs")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.reload()
    expect(page.locator(".ag-pinned-left-cols-container .ag-row")).to_have_count(3)
    expect(page.locator(".ag-header-cell[col-id='model']")).to_be_visible()
    fits = "((one) => one.scrollWidth <= one.clientWidth)(document.querySelector('.ag-center-cols-viewport'))"
    page.wait_for_function(f"() => {fits} && Math.abs(({LEFT_FREE})()) <= 1")
    page.set_viewport_size({"width": 1920, "height": 900})
    page.wait_for_function(f"() => Math.abs(({LEFT_FREE})()) <= 1")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function(f"() => Math.abs(({LEFT_FREE})()) <= 1")
    names = page.locator(".ag-header-cell[col-id]").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('col-id'))"
    )
    assert names.index("phases.running_mean") - names.index("against") == 1
    seen = """(cell) => {
      const [low, right] = [cell.offsetTop + cell.clientHeight, cell.offsetLeft + cell.clientWidth];
      const whole = (one) => one.scrollWidth <= one.clientWidth && one.offsetLeft + one.offsetWidth <= right;
      const shown = [...cell.querySelectorAll('.tag')].filter((one) => one.offsetTop < low);
      return shown.map((one) => [one.textContent, whole(one)]);
    }"""
    name = page.locator(".ag-pinned-left-cols-container .run-name", has_text="Kimi-K3 #1")
    assert name.evaluate(seen) == [["baseline", True], ["nightly", True]]
    expect(name).to_have_attribute("title", "Kimi-K3 #1 · baseline · nightly · with a long tag · good")
    head = page.locator(".ag-header-cell[col-id='speed.decode_peak']")
    head.hover()
    boxes = [head.locator(part).bounding_box() for part in (".ag-header-cell-text", ".ag-header-cell-filter-button")]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["x"] < boxes[1]["x"]


@pytest.mark.live
def test_a_mean_that_leaves_a_gap_out_has_a_mark(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.away(HEAD, 15, 24)
    site.run(60)
    keep(site.world, run(1, 10, 30), run(2, 40, None))
    page = open_page(f"{site.address}/runs")
    mean = page.locator(".ag-center-cols-container [row-index='1'] [col-id='speed.decode_mean'] span")
    expect(mean.last).to_have_text("20.0\u00a0tok/s\u00a0∗")
    expect(mean.last).to_have_attribute("title", re.compile("^Nobody looked, or the engine restarted, while 220"))
    cell = page.locator(".ag-center-cols-container [row-index='1'] [col-id='speed.decode_mean']")
    inside = """(cell) => {
      const [own, number] = [cell, [...cell.querySelectorAll("span")].at(-1)].map((one) => one.getBoundingClientRect());
      return [number.left >= own.left, number.right <= own.right];
    }"""
    assert cell.evaluate(inside) == [True, True]
    # Where it has too little room its first digit stands all the same.
    cell.evaluate("(cell) => { cell.style.width = '60px'; }")
    assert cell.evaluate(inside) == [True, False]
    other = page.locator(".ag-center-cols-container [row-index='0'] [col-id='speed.decode_mean'] span")
    expect(other.last).to_have_text("20.0\u00a0tok/s")


def test_no_run_yet(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(f"{make_site(ticks=5).address}/runs")
    expect(page.locator(".ag-overlay")).to_have_text(
        "No run was recorded yet. One begins when requests run or tokens flow."
    )
    expect(page.locator("[data-runs-count]").last).to_have_text("0 runs")


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
    taken_over(page)
    page.get_by_role("link", name="Run", exact=True).click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #2")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    expect(page.get_by_role("link", name="Open in Explore")).to_have_attribute(
        "href",
        "/explore?metric=decode_tokens_per_second,gpu_utilization_ratio,gpu_power_watts,"
        f"interconnect_transmit_bytes_per_second&start={site.world.rows['head'].since_ms + 40_000}&end=now",
    )


def test_a_run_is_annotated_split_and_merged(site: Site, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("400 (BAD REQUEST)",)
    with collecting(site.world):
        page = open_page(f"{site.address}/runs/1")
        page.on("dialog", lambda dialog: dialog.accept())
        page.get_by_text("Name, tags, notes").click()
        annotate = page.locator("[data-run-order='annotate']")
        annotate.get_by_label("Annotation").fill("fan on")
        annotate.get_by_label("Seconds after the start").fill("2.5")
        annotate.get_by_role("button").click()
        expect(page.locator("tr", has_text="fan on")).to_have_count(1)
        assert [mark.at_ms for mark in site.world.writer.marks(1)] == [tick(10) + 2500]
        annotate.get_by_label("Annotation").fill("x")
        annotate.get_by_label("Seconds after the start").fill("soon")
        annotate.get_by_role("button").click()
        expect(annotate.locator("[data-said]")).to_have_text("“at_ms” is 'soon', expected a whole number.")
        split = page.locator("[data-run-order='split']")
        split.get_by_role("button").click()
        expect(split.locator("[data-said]")).to_have_text("“at_ms” is missing, expected a whole number.")
        split.get_by_label("Split: seconds after the start").fill("12")
        split.get_by_role("button").click()
        expect(page.locator(".run .head, .run .page-head").first).to_contain_text("split by hand")
        assert [(run.id, run.start_ms) for run in site.world.writer.runs()] == [
            (2, tick(40)),
            (3, tick(22)),
            (1, tick(10)),
        ]
        page.goto(f"{site.address}/runs/3")
        page.get_by_text("Name, tags, notes").click()
        page.get_by_role("button", name="Merge with the run before it, “Kimi-K3 #1”").click()
        page.wait_for_url("**/runs/1")
        expect(page.locator(".run h1")).to_have_text("Kimi-K3 #1")
    assert [(run.id, run.end_ms) for run in site.world.writer.runs()] == [(2, None), (1, tick(30))]


@pytest.mark.live
def test_moments_as_people_write_them(site: Site, open_page: Open) -> None:
    """Seconds from an end, or the first time that a clock shows so on its side of it: here from 01:53:30 in Berlin."""
    page = open_page(f"{site.address}/runs")
    asked = {
        ("", 1): None,
        ("90", 1): tick(100),
        ("2.5", -1): tick(10) - 2500,
        ("01:54", 1): tick(40),
        ("01:53:30", 1): tick(10),
        ("01:53:29.5", -1): tick(10) - 500,
        ("01:53:00", 1): tick(10) + 86_370_000,
        ("01:53:31", -1): tick(10) - 86_399_000,
        ("2026-11-30 01:53:40", 1): tick(20),
        ("soon", 1): "soon",
        ("-5", 1): "-5",
    }
    call = f"([text, way]) => import('/assets/runs/moments.js').then((m) => m.moment(text, {tick(10)}, way))"
    assert {given: page.evaluate(call, list(given)) for given in asked} == asked


@pytest.mark.live
def test_a_run_is_trimmed_split_and_noted_where_one_looks(site: Site, open_page: Open) -> None:
    """With a stretch chosen, or a moment, nobody counts seconds; and a clock time is one."""
    with collecting(site.world):
        page = open_page(f"{site.address}/runs/1?start={tick(15)}&end={tick(25)}")
        page.on("dialog", lambda dialog: dialog.accept())
        expect(page.get_by_role("button", name="Split here")).to_be_hidden()
        page.get_by_role("button", name="Trim to this stretch").click()
        expect(page.locator(".run .page-head").first).to_contain_text("trimmed, the whole run is")
        expect(page.get_by_role("button", name="Trim to this stretch")).to_be_hidden()
        trimmed = next(run for run in site.world.writer.runs() if run.id == 1)
        assert (trimmed.trim_start_ms, trimmed.trim_end_ms) == (tick(15), tick(25))
        page.goto(f"{site.address}/runs/1?at={tick(20)}")
        taken_over(page)
        page.get_by_role("button", name="Note here").click()
        page.keyboard.type("fan on")
        page.keyboard.press("Enter")
        expect(page.locator("tr", has_text="fan on")).to_have_count(1)
        assert [mark.at_ms for mark in site.world.writer.marks(1)] == [tick(20)]
        page.get_by_role("button", name="Split here").click()
        expect(page.locator(".run .page-head").first).to_contain_text("split by hand")
        assert sorted((run.id, run.start_ms) for run in site.world.writer.runs())[-1] == (3, tick(20))


@pytest.fixture
def many(site: Site) -> Site:
    """Besides, two runs of another model."""
    others = (replace(run(number, 0, 5 + number), model="org/tiny", name=f"tiny {number}") for number in (3, 4))
    keep(site.world, *others)
    return site


def names(page: Page) -> list[str]:
    """What stands in the list, from top to bottom: names of runs, and headings."""
    script = """() => [...document.querySelectorAll(".ag-row")].map((row) => [row.getBoundingClientRect().top,
        row.querySelector(".runs-group b")?.textContent ?? row.querySelector(".run-name a")?.textContent])
        .filter(([, name]) => name).sort(([one], [other]) => one - other).map(([, name]) => name)"""
    return page.evaluate(script)  # type: ignore[no-any-return]


def shows(page: Page, expected: list[str]) -> None:
    """Wait until exactly this stands in the list."""
    deadline = time.monotonic() + 60
    while names(page) != expected:
        assert time.monotonic() < deadline, names(page)
        page.wait_for_timeout(50)


def test_models_and_headings(many: Site, open_page: Open) -> None:
    page = open_page(f"{many.address}/runs")
    shows(page, ["Kimi-K3 #2", "Kimi-K3 #1", "tiny 4", "tiny 3"])
    page.get_by_role("button", name="Group by model").click()
    shows(page, ["Kimi-K3", "Kimi-K3 #2", "Kimi-K3 #1", "tiny", "tiny 4", "tiny 3"])
    page.get_by_role("columnheader", name="Length").click()
    shows(page, ["Kimi-K3", "Kimi-K3 #2", "Kimi-K3 #1", "tiny", "tiny 3", "tiny 4"])
    page.get_by_label("Search the runs").fill("#1")
    shows(page, ["Kimi-K3", "Kimi-K3 #1"])
    expect(page.locator(".runs-group .note")).to_have_text("1 run")
    expect(page.locator("[data-runs-count]").last).to_have_text("1 of 4 runs, 1 going on")
    page.get_by_label("Search the runs").fill("")
    page.get_by_role("button", name="tiny 2").click()
    shows(page, ["tiny", "tiny 3", "tiny 4"])
    page.get_by_role("button", name="Group by model").click()
    page.get_by_role("button", name="All 4").click()
    shows(page, ["Kimi-K3 #2", "tiny 3", "tiny 4", "Kimi-K3 #1"])


def test_courses_and_differences_are_drawn(many: Site, open_page: Open) -> None:
    keep(many.world, replace(run(4, 0, 9), model="org/tiny", name="tiny 4", baseline=True))
    page = open_page(f"{many.address}/runs")
    shows(page, ["Kimi-K3 #2", "Kimi-K3 #1", "tiny 4", "tiny 3"])
    row = page.locator(".ag-center-cols-container [row-index='1']")
    expect(row.locator("[col-id='against']")).to_have_text("0.0\u00a0%")
    expect(page.locator(".ag-center-cols-container [row-index='2'] [col-id='against']")).to_have_text("–")
    line = row.get_by_role("img", name="Course of decode speed, up to 20.0\u00a0tok/s")
    expect(line.locator("path").last).to_have_attribute("d", "M1.0 2.0L48.0 2.0L95.0 2.0")


def test_several_are_tagged_and_deleted(many: Site, open_page: Open) -> None:
    with collecting(many.world):
        page = open_page(f"{many.address}/runs")
        shows(page, ["Kimi-K3 #2", "Kimi-K3 #1", "tiny 4", "tiny 3"])
        for place in (0, 2, 3):
            page.locator(f"[row-index='{place}'] .ag-checkbox-input").click()
        bar = page.get_by_role("group", name="Selected")
        expect(bar.locator("b")).to_have_text("3 runs selected")
        bar.get_by_label("Tag of the selected runs").fill("night")
        bar.get_by_role("button", name="Add tag").click()
        expect(page.locator(".run-name .tag", has_text="night")).to_have_count(3)
        asked: list[str] = []
        page.once("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
        bar.get_by_role("button", name="Delete").click()
        assert asked == [
            "Delete 2 runs and what was worked out of them? Samples stay. The one that goes on is left out."
        ]
        assert len(many.world.writer.runs()) == 4
        page.once("dialog", lambda dialog: dialog.accept())
        bar.get_by_role("button", name="Delete").click()
        shows(page, ["Kimi-K3 #2", "Kimi-K3 #1"])
    assert [(one.id, one.tags) for one in many.world.writer.runs()] == [(2, ("night",)), (1, ())]


@pytest.mark.parametrize("path", ["/runs", "/runs/1"])
def test_runs_on_a_phone(site: Site, open_page: Open, path: str) -> None:
    page = open_page(site.address + path, 390, 844, is_mobile=True, has_touch=True)
    expect(page.locator("main h1").last).to_be_visible()
    taken_over(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.live
def test_a_run_is_started_by_hand(site: Site, open_page: Open) -> None:
    with collecting(site.world):
        page = open_page(f"{site.address}/runs")
        page.locator(".runs-start summary").click()
        form = page.locator("[data-run-order=start]")
        expect(form.get_by_label("Deployment").locator("option")).to_have_text(["Kimi-K3"])
        form.get_by_label("Name, if any").fill("eight at once")
        form.get_by_role("button", name="Start").click()
        expect(page).to_have_url(f"{site.address}/runs/live")
        expect(page.locator(".run h1")).to_have_text("eight at once")
        expect(page.locator(".run .page-head")).to_contain_text("started by hand")
    begun = max(site.world.writer.runs(), key=lambda one: one.id)
    assert (begun.deployment, begun.name, begun.live) == ("Kimi-K3", "eight at once", True)
