"""The drilldown of a run in the browser: stretches, nodes, moments, and back with the Back button."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from runs.model import Mark
from storage.records import Batch, Event, RunMark
from telemetry.catalog import gpu
from tests.browser.conftest import TAKEN_OVER, MakeSite, Open, Site
from tests.web.test_run_timeline import forget
from tests.web.test_runs import keep, run
from tests.web.world import tick

READY = f"() => document.querySelector('.run-body[data-state=ready]') && {TAKEN_OVER}"
LEFT, RIGHT = 112, 56
TOKENS = 60
"""Height of the middle of the first lane."""


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """A run of two minutes in which spark-03 slows down, and one that goes on."""
    found = make_site(ticks=0)
    found.world.set("spark-03", gpu.GPU_SM_CLOCK, lambda number: 2.4e9 if number < 70 else 1.8e9)
    found.run(180)
    found.world.prefill(40, 50, 9000, 10.0)
    found.world.commit(events=[Event(0, tick(70), "spark-03", "throttle", "slowed by heat")])
    keep(found.world, run(1, 10, 130), run(2, 140, None))
    found.world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(100), "note", "fan on"))]), found.world.now)
    return found


def opened(site: Site, open_page: Open, path: str = "/runs/1", **options: Any) -> Page:
    page = open_page(site.address + path, **options)
    page.wait_for_function(READY)
    expect(page.locator(".headlines .reading").first).to_be_visible()
    return page


def test_a_run_that_is_not_there_is_said_to_be_so_once(site: Site, open_page: Open, complaints: Any) -> None:
    complaints.allowed = ("404",)
    page = open_page(f"{site.address}/runs/99")
    page.wait_for_function("() => document.querySelector('.run-body') && document.querySelector('.run-bar').hidden")
    expect(page.get_by_role("heading", name="There is no run 99")).to_be_visible()
    expect(page.get_by_text("There is no run 99")).to_have_count(1)


def at(page: Page, second: int, first: int = 10, last: int = 130, y: float = TOKENS) -> tuple[float, float]:
    """Where a second of the world stands on the timeline, in the window."""
    box = page.locator(".run-over").bounding_box()
    assert box is not None
    wide = box["width"] - LEFT - RIGHT
    return box["x"] + LEFT + (second - first) / (last - first) * wide, box["y"] + y


def drag(page: Page, first: int, last: int) -> None:
    """Choose the stretch between two seconds of the whole run."""
    page.mouse.move(*at(page, first))
    page.mouse.down()
    page.mouse.move(*at(page, last), steps=5)
    page.mouse.up()


def number(page: Page, label: str) -> str:
    """A key number."""
    return page.locator(".headlines .reading", has_text=label).locator(".value").inner_text()


def tokens(page: Page, text: str) -> None:
    """Wait for the output tokens of the stretch."""
    expect(page.locator(".headlines .reading", has_text="Output tokens").locator(".value")).to_have_text(text)


@pytest.mark.look
def test_from_the_list_to_a_run_a_node_a_moment_and_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/runs")
    page.get_by_role("link", name="Kimi-K3 #1").click()
    page.wait_for_function(READY)
    page.evaluate("window.stayed = true")
    page.locator(".run-names button", has_text="03").click()
    page.wait_for_url("**/runs/1?node=spark-03")
    expect(page.locator(".run-node h2")).to_have_text("spark-03 in this stretch")
    expect(page.locator(".run-node tr", has_text="SM clock, min")).to_contain_text("1800")
    expect(page.locator(".run-names [aria-pressed=true]")).to_have_attribute("title", "spark-03")
    page.mouse.click(*at(page, 90))
    page.wait_for_url("**/runs/1?at=*&node=spark-03")
    slow = page.locator(".moment tr", has_text="spark-03")
    expect(slow).to_contain_text("1800")
    expect(slow.locator(".outlier")).to_have_count(1)
    expect(page.locator(".run-moment .note")).to_have_text("spark-03: SM clock below the others.")
    page.go_back()
    page.wait_for_url("**/runs/1?node=spark-03")
    expect(page.locator(".moment")).to_have_count(0)
    page.go_back()
    page.wait_for_url("**/runs/1")
    expect(page.locator(".run-node h2")).to_have_count(0)
    page.go_back()
    expect(page.locator("[data-runs-count]").last).to_have_text("2 runs, 1 going on")
    assert page.evaluate("window.stayed") is True


@pytest.mark.look
def test_a_brushed_stretch_changes_every_number_and_back_leads_out(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    tokens(page, "2.4k\u00a0tokens")
    expect(page.locator(".run-bar")).to_contain_text("The whole run, 2 min")
    drag(page, 40, 70)
    page.wait_for_url("**/runs/1?start=*&end=*")
    expect(page.locator(".headlines .reading", has_text="Length").locator(".value")).not_to_contain_text("2m")
    start, end = page.evaluate("[...new URLSearchParams(location.search).values()].map(Number)")
    assert (start, end) == (pytest.approx(tick(40), abs=1000), pytest.approx(tick(70), abs=1000))
    assert start % 1000 == end % 1000 == 0
    tokens(page, f"{(end - start) // 1000 * 20}\u00a0tokens")
    expect(page.locator(".run-body .fragment[data-stale]")).to_have_count(0)
    row = page.locator(".entries tr", has=page.locator("summary", has_text="Output tokens"))
    expect(row.first).to_contain_text(str((end - start) // 1000 * 20))
    for form in ("csv", "parquet"):
        link = page.locator(f"a[href^='/api/v1/export.{form}']")
        expect(link).to_have_attribute("href", re.compile(f"start={start}&end={end}&raw=1"))
    page.reload()
    page.wait_for_function(READY)
    tokens(page, f"{(end - start) // 1000 * 20}\u00a0tokens")
    page.go_back()
    page.wait_for_url("**/runs/1")
    tokens(page, "2.4k\u00a0tokens")


def test_ways_out_of_a_stretch(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    drag(page, 40, 100)
    page.wait_for_url("**start=*")
    first = page.url
    page.wait_for_function(READY)
    expect(page.get_by_role("button", name="Whole run")).to_be_visible()
    x, y = at(page, 70, y=130)
    page.mouse.move(x - 60, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=5)
    page.mouse.up()
    page.wait_for_function("(first) => location.href !== first", arg=first)
    page.mouse.dblclick(x, y)
    page.wait_for_url(first)
    page.get_by_role("button", name="Whole run").click()
    page.wait_for_url("**/runs/1")
    tokens(page, "2.4k\u00a0tokens")
    expect(page.get_by_role("button", name="Whole run")).to_be_hidden()


def test_a_stretch_is_chosen_in_the_strip_of_the_whole_run(site: Site, open_page: Open) -> None:
    page = opened(site, open_page, f"/runs/1?start={tick(20)}&end={tick(40)}")
    tokens(page, "400\u00a0tokens")
    x, y = at(page, 80, y=40)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*at(page, 110, y=40), steps=5)
    page.mouse.up()
    page.wait_for_function(f"() => Number(new URLSearchParams(location.search).get('start')) > {tick(70)}")
    tokens(page, "600\u00a0tokens")


def test_the_cursor_tells_every_value_and_the_map_its_node(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    page.mouse.move(*at(page, 45))
    box = page.locator(".run-readout")
    expect(box).to_be_visible()
    for words in ("Decode20.0\u00a0tok/s", "Phasedecoding", "Running3", "Waiting1", "KV cache41.0\u00a0%"):
        expect(box).to_contain_text(words)
    expect(box).to_contain_text("Prefill9.0k\u00a0tokens in 10.0\u00a0s: 900\u00a0tok/s")
    row = page.locator(".run-names button").nth(2).bounding_box()
    assert row is not None
    page.mouse.move(at(page, 90)[0], row["y"] + 5)
    expect(box).to_contain_text("spark-03, GPU power52\u00a0W")
    page.get_by_role("radio", name="Clock").click()
    page.wait_for_url("**map=clock")
    page.wait_for_function(READY)
    page.mouse.move(at(page, 90)[0], row["y"] + 6)
    expect(box).to_contain_text("spark-03, SM clock1800\u00a0MHz")
    page.mouse.move(5, 300)
    expect(box).to_be_hidden()


def test_a_click_on_a_row_chooses_node_and_moment(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    row = page.locator(".run-names button").nth(1).bounding_box()
    assert row is not None
    page.mouse.click(at(page, 60)[0], row["y"] + 6)
    page.wait_for_url("**node=spark-02*")
    expect(page.locator(".moment .tag")).to_have_text("chosen")
    page.get_by_role("button", name="Close").first.click()
    expect(page.locator(".moment")).to_have_count(0)
    expect(page.locator(".run-node h2")).to_have_text("spark-02 in this stretch")


def test_by_keys(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    page.locator(".run-over").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".run-readout")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.locator(".moment tbody tr")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(page.locator(".moment")).to_have_count(0)
    page.keyboard.press("+")
    page.wait_for_url("**start=*")
    page.keyboard.press("-")
    page.wait_for_url("**/runs/1")


def test_marks_tell_what_happened_and_lead_to_the_moment(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    marks = page.locator(".run-marks button")
    expect(marks).to_have_count(2)
    assert "throttle · spark-03 · slowed by heat" in (marks.first.get_attribute("title") or "")
    expect(marks.nth(1)).to_have_class("mine")
    marks.first.click()
    expect(page.locator(".moment tr", has_text="spark-03").locator(".outlier")).to_have_count(1)
    expect(page.locator(".events tbody tr")).to_have_count(2)
    page.locator(".events .picker").nth(1).click()
    page.wait_for_url(f"**at={tick(100)}*")


def test_who_stands_out_is_said(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    said = page.locator(".stand-out")
    expect(said).to_contain_text("Slowest: spark-03, 25.0\u00a0% below the middle node, since ")
    said.get_by_role("button", name="spark-03").click()
    page.wait_for_url("**node=spark-03")


def test_a_run_that_only_a_benchmark_tells_of_has_a_sentence_in_place_of_a_timeline(
    site: Site, open_page: Open
) -> None:
    alone = replace(run(3, 20, 60), by="benchmark", deployment="benchmark:other/model", engines=())
    site.world.writer.commit(Batch(runs=[alone]), site.world.now)
    page = open_page(f"{site.address}/runs/3")
    page.wait_for_function(READY)
    expect(page.locator(".run-stretch")).to_have_text("No timeline: there are no samples of this run here.")
    expect(page.locator(".run-timeline")).to_be_hidden()
    expect(page.locator(".run-key")).to_be_empty()
    page.goto(f"{site.address}/runs/1")
    page.wait_for_function(READY)
    expect(page.locator(".run-timeline")).to_be_visible()
    expect(page.locator(".run-stretch")).to_contain_text("The whole run, 2 min")


EMPTY: dict[str, Any] = {"overview": None, "phases": [], "prefills": [], "map": {"t": []}, "lines": {}}


def test_only_what_shows_nothing_at_all_is_empty(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    asked = "async (answer) => (await import('/assets/run/scales.js')).isEmpty(answer)"
    assert page.evaluate(asked, EMPTY)
    whole = page.evaluate("async () => (await fetch('/api/v1/runs/1/timeline?points=60')).json()")
    for name in ("phases", "prefills", "map", "lines"):
        assert not page.evaluate(asked, EMPTY | {name: whole[name]}), name
    assert not page.evaluate(asked, EMPTY | {"overview": whole["lines"]["decode"]})


def test_requests_are_counted_in_whole_numbers(site: Site, open_page: Open) -> None:
    page = opened(site, open_page)
    step = "async () => (await import('/assets/run/scales.js')).gather({lane}, {{}}, [0, 9]).axis.step"
    assert page.evaluate(step.format(lane="{ lines: [], unit: 'requests', whole: true }")) == 1
    assert page.evaluate(step.format(lane="{ lines: [], unit: 'requests' }")) == 1, "counted in ones anyhow"
    assert page.evaluate(step.format(lane="{ lines: [], unit: 'tokens_per_second' }")) == 0.25


def test_a_run_that_goes_on_is_drawn_on(site: Site, open_page: Open) -> None:
    page = opened(site, open_page, "/runs/live")
    expect(page.locator(".run-bar")).to_contain_text("The whole run so far · drag")
    expect(page.locator("main")).to_contain_text("40.0 s")
    site.run(200)
    expect(page.locator("main")).to_contain_text("1m 0s")


def test_a_run_without_samples_says_so(site: Site, open_page: Open) -> None:
    forget(site.web)
    page = opened(site, open_page)
    expect(page.locator(".run-plot > .nothing")).to_have_text(
        "Its samples were given up; drawn from the charts of 10 s that were kept with the run."
    )
    tokens(page, "2.4k\u00a0tokens")


def test_on_a_phone(site: Site, open_page: Open) -> None:
    page = opened(site, open_page, width=390, height=844, is_mobile=True, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


CASES: list[tuple[str, Any]] = [
    ("view.write(view.parse('?start=10000&end=20000&at=15000&node=a%20b&map=clock'))",
     "?start=10000&end=20000&at=15000&node=a%20b&map=clock"),
    ("view.write(view.parse(''))", ""),
    ("view.write(view.parse('?start=20000&end=10000&at=x'))", ""),
    ("view.write(view.parse('?start=20000'))", ""),
    ("view.stretch(61400, 20600, [0, 100000])", {"start": 21000, "end": 61000}),
    ("view.stretch(50000, 50001, [0, 100000])", {"start": 48000, "end": 52000}),
    ("view.stretch(1000, 1000, [0, 100000])", {"start": 0, "end": 4000}),
    ("view.stretch(99900, 99950, [500, 100000])", {"start": 96000, "end": 100000}),
    ("view.stretch(0, 9, [500, 1500])", {"start": 500, "end": 1500}),
    ("view.within({ start: 1, end: 9, at: 5, node: 'n', map: null }, { start: 6000, end: 9000 }, [0, 10000])",
     {"start": 6000, "end": 9000, "at": None, "node": "n", "map": None}),
    ("view.within({ start: 1, end: 9, at: 5, node: null, map: null }, { start: 0, end: 10000 }, [0, 10000])",
     {"start": None, "end": None, "at": 5, "node": None, "map": None}),
    ("view.range({ start: 4, end: 5 })", {"start": 4, "end": 5}),
    ("view.range({ start: null, end: null })", {}),
    ("lanes.rowAt({ top: 100, row: 10, height: 40 }, 99)", -1),
    ("lanes.rowAt({ top: 100, row: 10, height: 40 }, 139)", 3),
    ("lanes.rowAt({ top: 100, row: 10, height: 40 }, 140)", -1),
    ("lanes.layOut({ overview: true, count: 16, readings: [] }).lanes.map((lane) => lane.key)",
     ["overview", "tokens", "phases", "requests", "kv"]),
    ("lanes.layOut({ overview: false, count: 64, readings: [] }).map.height", 640),
    ("lanes.layOut({ overview: false, count: 2, readings: [] }).map.height", 36),
    ("scales.wholeSteps({ low: 0, high: 1, step: 0.25 })", {"low": 0, "high": 1, "step": 1}),
    ("scales.wholeSteps({ low: 0, high: 7.5, step: 2.5 })", {"low": 0, "high": 9, "step": 3}),
    ("scales.wholeSteps({ low: 0, high: 8, step: 2 })", {"low": 0, "high": 8, "step": 2}),
    ("lanes.LINES.filter((lane) => lane.whole).map((lane) => lane.key)", ["requests"]),
    ("scales.episodes([[0, 10, 500, 2], [0, 1, null, 2], [0, 1, 5, null]]).map((one) => one.speed)", [250, None, None]),
    ("scales.column({ t: [0, 1000, 2000], step_ms: 1000 }, 2499)", 2),
    ("scales.column({ t: [0, 1000, 2000], step_ms: 1000 }, 4501)", -1),
    ("scales.column({ t: [5, 1000], step_ms: 1000 }, 4)", -1),
    ("scales.spanAt([[0, 5, 'a'], [5, 9, 'b']], 5)[2]", "b"),
    ("scales.spanAt([[0, 5, 'a']], 5)", None),
]  # fmt: skip


@pytest.mark.look
def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    modules = "['view', 'lanes', 'scales'].map((name) => import(`/assets/run/${name}.js`))"
    imports = f"const [view, lanes, scales] = await Promise.all({modules})"
    wrong = []
    for asked, answer in CASES:
        found = page.evaluate(f"(async () => {{ {imports}; return {asked}; }})()")
        if found != answer:
            wrong.append(f"{asked} is {found}, not {answer}")
    assert not wrong, "\n".join(wrong)
