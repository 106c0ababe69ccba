"""A run's report in the browser: opened from a file, without a network, on a desk, a phone and paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from runs.model import Mark
from storage.records import Batch, RunMark
from tests.browser.conftest import MakeSite, Open
from tests.exchange.results import packed
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.test_benchmarks import result, send
from tests.web.test_runs import collecting, keep, run
from tests.web.world import tick


@pytest.fixture
def report(make_world: MakeWorld, make_web: MakeWeb, tmp_path: Path) -> Path:
    """The report of a run of a minute and a half with a benchmark in it, as a file."""
    world = make_world()
    world.run(0, 120)
    keep(world, run(1, 10, 100))
    world.writer.commit(Batch(marks=[RunMark(1, Mark(tick(55), "note", "fan on"))]), world.now)
    web = make_web(world)
    web.step()
    with collecting(world):
        send(web, packed(result(100, total_output_tokens=1800, duration=90.0)))
    path = tmp_path / "report.html"
    path.write_bytes(web.client.get("/api/v1/runs/1/report.html").data)
    return path


@pytest.fixture
def opened(chromium: Browser, report: Path) -> Iterator[Any]:
    """Opens it: opened(width=…, color_scheme=…). Whatever it says, or asks for, fails the test."""
    contexts, said = [], []

    def opening(width: int = 1200, **settings: Any) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if _foreign(request.url, report) else None)
        page.goto(report.as_uri())
        return page

    yield opening
    for context in contexts:
        context.close()
    assert said == []


def _foreign(address: str, report: Path) -> bool:
    return not address.startswith("data:") and address != report.as_uri()


@pytest.mark.look
def test_it_opens_from_a_file_and_reads_under_the_pointer(opened: Any) -> None:
    page = opened()
    expect(page.locator("h1")).to_have_text("Kimi-K3 #1")
    expect(page.locator(".hero .value").first).to_have_text("20.0tok/s")
    plots = page.locator(".plot[data-plot]")
    assert plots.count() >= 8
    box = plots.first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    outputs = page.locator("figure output")
    expect(outputs.first).to_have_text("00:00:50 · 20.0\u00a0tok/s")
    power = page.locator("figure", has_text="GPU power, all nodes").locator("output")
    expect(power).to_have_text("00:00:50 · 206\u00a0W")
    cells = page.locator("figure.map").first.locator(".plot")
    cells.scroll_into_view_if_needed()
    box = cells.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.9)
    expect(page.locator("figure.map").first.locator("output")).to_have_text("00:00:50 · spark-04 · 53\u00a0W")
    page.mouse.move(5, 5)
    expect(outputs.first).to_have_text("")


def test_the_keyboard_reads_too(opened: Any) -> None:
    page = opened()
    page.locator(".plot[data-plot]").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator("figure output").first).to_have_text("00:00:30 · 20.0\u00a0tok/s")


def test_light_and_dark(opened: Any) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light, dark = opened(color_scheme="light"), opened(color_scheme="dark")
    assert light.evaluate(ground) == "rgb(243, 245, 248)"
    assert dark.evaluate(ground) == "rgb(13, 17, 23)"
    dark.get_by_role("button", name="Light / dark").click()
    assert dark.evaluate(ground) == "rgb(243, 245, 248)"
    dark.emulate_media(media="print")
    assert dark.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--text')") == "#161b22"


def test_a_phone_need_not_scroll_sideways(opened: Any) -> None:
    page = opened(390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_what_is_folded_is_open_on_paper(opened: Any) -> None:
    page = opened()
    folded = page.locator("details", has_text="Definitions")
    expect(folded).not_to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(folded).to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(folded).not_to_have_attribute("open", "")
    assert page.pdf().startswith(b"%PDF")


def test_it_is_complete_without_a_script(opened: Any) -> None:
    page = opened(java_script_enabled=False)
    expect(page.locator(".chart svg").first).to_be_visible()
    expect(page.locator("th", has_text="Output throughput")).to_be_visible()


def test_from_the_page_of_a_run(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 30))
    page = open_page(f"{site.address}/runs/1")
    page.locator("summary", has_text="Report").click()
    with page.expect_download() as waited:
        page.get_by_role("link", name="Report", exact=True).click()
    assert waited.value.suggested_filename == "run-1-Kimi-K3-1.html"
    assert Path(waited.value.path()).read_bytes().startswith(b"<!doctype html>")
    with page.expect_download() as waited:
        page.locator(".report-files div", has_text="Text for a forum").get_by_text("without names").click()
    assert "spark-" not in Path(waited.value.path()).read_text()


def test_what_came_from_outside_is_called_so(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 30))
    with collecting(site.world):
        number = send(site.web, packed(result(model_id="other/model")))["results"][0]["run"]
    page = open_page(f"{site.address}/runs")
    rows = page.locator(".ag-center-cols-container .ag-row")
    expect(rows).to_have_count(2)
    expect(page.locator(".ag-root")).to_contain_text("benchmark")
    page = open_page(f"{site.address}/runs/{number}")
    expect(page.locator(".page-head .tag").first).to_have_text("benchmark without telemetry")
    expect(page.get_by_role("link", name="CSV")).to_have_count(0)
    expect(page.get_by_role("link", name="Open in Explore")).to_have_count(0)
    panel = page.locator(".panel", has_text="Benchmark: vllm bench serve")
    expect(panel.locator("tr", has_text="Output tokens")).to_contain_text("400")
