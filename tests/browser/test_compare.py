"""Comparisons in the browser: from the list to one, to a run and back; the curves on their common axis."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MakeSite, Open, Site
from tests.web.compare_world import compared

MODULES: list[tuple[str, str, Any]] = [
    ("compare/axis", "[0, 400, 10000, -10000, 300000, 5400000, 90000000, 86400000].map(m.offsetText)",
     ["0", "0", "10 s", "−10 s", "5 min", "1 h 30 min", "1 d 1 h", "1 d"]),
    ("compare/axis", "m.offsets([-1000, 61000], 600, 90)", [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]),
    ("compare/axis", "m.offsets([0, 3600000], 400, 90)", [0, 900_000, 1_800_000, 2_700_000, 3_600_000]),
    ("compare/axis", "m.extent([{ from_ms: -5, step_ms: 10, v: [1, 2] }, { from_ms: 0, step_ms: 10, v: [1, 2, 3] }])",
     [-5, 30]),
    ("compare/axis", "m.extent([{ from_ms: 0, step_ms: 10, v: [] }])", None),
    ("compare/axis", "[-1, 0, 9, 10, 20, 30].map((o) => m.valueAt({ from_ms: 0, step_ms: 10, v: [1, null, 3] }, o))",
     [None, 1, 1, None, 3, None]),
    ("compare/axis", "m.binsIn({ from_ms: 0, step_ms: 10, v: [1, null, 3, 4] }, [5, 25])",
     [[5, 10, 1], [10, 20, None], [20, 25, 3]]),
    ("compare/axis", "m.binsIn({ from_ms: 0, step_ms: 10, v: [1, 2] }, [20, 30])", []),
    ("explore/closer", "[[9000, 5000], [-100, 4000], [4000, 99000], [500, 2499], [20000, 30000]].map((one) =>"
     " m.within(one, [0, 10000]))", [[5000, 9000], [0, 4000], [4000, 10_000], None, None]),
    ("runs/compare", "m.address([{ id: 3, start: 5 }, { id: 7, start: 2 }])", "/compare?runs=7,3&align=start"),
    ("runs/compare", "m.address([{ id: 3, start: 5, baseline: true }, { id: 7, start: 2, baseline: false }])",
     "/compare?runs=3,7&align=start"),
    ("runs/compare", "[1, 2, 8, 9].map((n) => m.address([...Array(n)].map((_, id) => ({ id, start: id }))) !== '')",
     [False, True, True, False]),
]  # fmt: skip


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Five runs that ended, of known speeds."""
    found = make_site(ticks=0)
    compared(found.world)
    found.web.step()
    return found


def choose(page: Page, *names: str) -> None:
    """Tick runs in the list."""
    for name in names:
        row = page.locator(".ag-pinned-left-cols-container .ag-row", has_text=name)
        row.locator("input[type=checkbox]").check()


@pytest.mark.look
def test_from_the_list_to_a_comparison_to_a_run_and_back(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/runs")
    expect(page.locator(".ag-pinned-left-cols-container .ag-row")).to_have_count(5)
    link = page.get_by_text("Compare", exact=True)
    expect(link).to_be_hidden()
    choose(page, "Kimi-K3 #2")
    expect(link).to_have_attribute("title", "Choose 2 to 8 runs")
    choose(page, "Kimi-K3 #1", "Kimi-K3 #4")
    page.evaluate("window.stayed = true")
    link.click()
    expect(page).to_have_url(f"{site.address}/compare?runs=1,2,4&align=start")
    words = page.locator(".verdict-word")
    expect(words).to_have_count(2)
    expect(words.nth(0)).to_contain_text("% faster")
    expect(words.nth(1)).to_have_text("Too short to say")
    expect(page.locator(".overlay-line")).to_have_count(3)
    page.locator(".compared a", has_text="Kimi-K3 #2").click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #2")
    page.go_back()
    expect(words).to_have_count(2)
    expect(page.locator(".overlay-line")).to_have_count(3)
    page.go_back()
    expect(page.locator(".ag-pinned-left-cols-container .ag-row")).to_have_count(5)
    assert page.evaluate("window.stayed") is True


def test_the_course_of_two_runs(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare?runs=1,2")
    expect(page.locator(".overlay-line")).to_have_count(2)
    expect(page.locator(".overlay-band")).to_have_count(3)
    expect(page.locator(".overlay-keys .note").first).to_have_text(
        "A Kimi K3 on 16 × GB10: 20 tok/s, peak 38, as published"
    )
    box = page.locator(".overlay-chart").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100)
    expect(page.locator(".overlay-at")).to_contain_text("at 5 min")
    values = page.locator(".overlay-keys li:not(.note) b").all_inner_texts()
    assert [20 < float(text.split("\u00a0")[0]) + 3 * (1 - at) < 28 for at, text in enumerate(values)] == [True, True]
    page.get_by_role("button", name="Running").click()
    expect(page.locator(".overlay-band")).to_have_count(0)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 120)
    expect(page.locator(".overlay-keys li b").first).to_have_text("4")
    with page.expect_response(lambda answer: "/api/v1/compare" in answer.url and "align=first_token" in answer.url):
        page.get_by_role("link", name="from the first token").click()
    expect(page).to_have_url(f"{site.address}/compare?runs=1,2&align=first_token")
    expect(page.get_by_role("link", name="from the first token")).to_have_class("chosen")
    expect(page.locator(".overlay-line")).to_have_count(2)
    page.go_back()
    expect(page.get_by_role("link", name="from the start")).to_have_class("chosen")


def axis(page: Page) -> list[str]:
    """What stands below the curves."""
    return page.locator(".overlay-grid text[y='272']").all_inner_texts()


def test_a_stretch_of_the_course_is_looked_at_closer(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare?runs=1,2")
    expect(page.locator(".overlay-line")).to_have_count(2)
    whole, box = axis(page), page.locator(".overlay-chart").bounding_box()
    assert box is not None
    middle, high = box["x"] + box["width"] / 2, box["y"] + 100
    page.mouse.move(middle - 60, high)
    page.mouse.down()
    page.mouse.move(middle, high, steps=3)
    page.mouse.move(middle + 60, high, steps=3)
    assert float(page.locator(".overlay-brush").get_attribute("width") or 0) == pytest.approx(120, abs=2)
    page.mouse.up()
    expect(page.locator("html[data-zoomed]")).to_have_count(1)
    assert len(axis(page)) > 2
    assert axis(page) != whole
    page.mouse.move(middle, high)
    expect(page.locator(".overlay-at")).to_contain_text("at 5 min")
    page.locator(".overlay-chart").press("+")
    closer = axis(page)
    page.locator(".overlay-chart").press("-")
    assert axis(page) not in (closer, whole)
    page.mouse.dblclick(middle, high)
    assert axis(page) == whole
    expect(page.locator("html[data-zoomed]")).to_have_count(0)


def test_tables_and_what_a_verdict_is_made_of(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare?runs=1,2")
    expect(page.locator(".numbers tr", has_text="Decode, mean while decoding")).to_contain_text("+18.8\u00a0%")
    expect(page.locator(".per-node tr", has_text="spark-01").first).to_contain_text("2400\u00a0MHz")
    expect(page.locator(".fingerprints tr", has_text="Tool, as told")).to_contain_text("llama-benchy")
    expect(page.locator(".references tr", has_text="Gemini 1.5 Pro")).to_contain_text("20.0–30.0\u00a0tok/s")
    expect(page.locator(".references tr", has_text="Kimi-K3 #2")).to_contain_text("measured here")
    page.get_by_text("By number of requests running").click()
    expect(page.locator(".strata tbody tr")).to_have_count(1)
    expect(page.locator(".strata tbody th")).to_have_text("4")
    page.locator(".measures summary").first.click()
    expect(page.locator(".measures .definition[open] p").first).to_contain_text("in cells with equally many running")


def test_published_results_stand_on_the_run_s_page(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/runs/2")
    row = page.locator(".references tr", has_text="Kimi K3 on 16 × GB10")
    expect(row).to_contain_text("750\u00a0tok/s")
    expect(page.locator(".references tr", has_text="measured here")).to_contain_text("24.0\u00a0tok/s")
    expect(page.get_by_text("as published, not measured here; window and load not stated")).to_be_visible()


def test_what_cannot_be_compared(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare")
    expect(page.get_by_text("Pick two to eight runs in")).to_be_visible()
    page.get_by_role("link", name="the list").click()
    expect(page.locator(".ag-pinned-left-cols-container .ag-row")).to_have_count(5)


def test_a_run_that_is_not_there(site: Site, open_page: Open, complaints: Any) -> None:
    complaints.allowed = ("404",)
    page = open_page(f"{site.address}/compare?runs=1,77")
    expect(page.get_by_text("There is no run 77.")).to_be_visible()
    expect(page.locator("[data-overlay]")).to_be_hidden()


@pytest.mark.look
def test_the_pure_functions(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare?runs=1,2")
    for module, expression, expected in MODULES:
        script = f"async () => {{ const m = await import('/assets/{module}.js'); return {expression}; }}"
        assert page.evaluate(script) == expected, expression


def test_comparisons_on_a_phone(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/compare?runs=1,2,3", 390, 844, is_mobile=True, has_touch=True)
    expect(page.locator(".verdict-word")).to_have_count(2)
    expect(page.locator(".overlay-line")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
