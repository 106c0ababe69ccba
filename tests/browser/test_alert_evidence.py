"""An alert's own page in the browser: charts of what is kept with it, there when the samples are gone; files."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import MakeSite, Open, Site
from tests.web.alert_world import alert, raise_alerts
from tests.web.test_alert_charts import heat, keep_and_forget

LISTEN = """() => {
  window.written = [];
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    window.written.push(text);
    write.call(this, text, ...where);
  };
}"""


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """One alert, at tick 30; GPU 0 of spark-02 is at 88 °C from tick 20 on."""
    found = make_site(ticks=0)
    heat(found.world)
    found.last = 60
    found.web.step()
    return found


def chart(page: Page, title: str) -> Any:
    """A chart by its title."""
    return page.locator(".evidence-chart", has=page.get_by_role("heading", name=title, exact=True))


@pytest.mark.look
def test_the_minutes_around_are_there_when_the_samples_are_gone(site: Site, open_page: Open) -> None:
    keep_and_forget(site.world)
    page = open_page(f"{site.address}/alerts/1")
    hot = chart(page, "GPU temperature")
    expect(hot.locator(".evidence-value")).to_have_text("88.0 °C")
    expect(page.locator(".evidence").first).to_contain_text("kept for good")
    expect(chart(page, "GPU power").locator(".evidence-value")).to_have_text("51 W")
    page.evaluate(LISTEN)
    page.locator("[data-theme-toggle]").first.click()
    page.wait_for_function("() => window.written.includes('wrong from 85.0 °C')")
    assert "over below 82.0 °C" in page.evaluate("window.written")
    box = hot.locator(".evidence-over").bounding_box()
    assert box is not None
    # Tick 10; what is drawn begins a minute before the alert, which fired at tick 30, and ends ten minutes after it.
    span = box["width"] - 56 - 8
    page.mouse.move(box["x"] + 56 + span * (30 + 10) / 660, box["y"] + 40)
    expect(hot.locator(".evidence-value")).to_have_text("60.0 °C")
    expect(page.locator(".evidence").nth(1)).to_contain_text("values at")
    page.mouse.move(0, 0)
    expect(hot.locator(".evidence-value")).to_have_text("88.0 °C")
    with page.expect_download() as download:
        page.locator(".files a", has_text="CSV").click()
    assert download.value.suggested_filename == "alert-1.csv"
    expect(page.locator(".alert-events")).to_contain_text("Xid 79")
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_a_stretch_of_the_minutes_is_looked_at_closer_in_all_charts(site: Site, open_page: Open) -> None:
    keep_and_forget(site.world)
    page = open_page(f"{site.address}/alerts/1")
    hot, other = (chart(page, title) for title in ("GPU temperature", "GPU power"))
    expect(hot.locator(".evidence-value")).to_have_text("88.0 °C")

    def labels() -> list[list[str]]:
        return [one.locator(".evidence-axis span").all_inner_texts() for one in (hot, other)]

    # Its numbers stand before a chart has a size, and with it an axis.
    for one in (hot, other):
        expect(one.locator(".evidence-axis span").first).to_be_attached()
    whole, box = labels(), hot.locator(".evidence-over").bounding_box()
    assert box is not None
    span, high = box["width"] - 56 - 8, box["y"] + 40
    # From tick 0 to tick 30: what is drawn begins a minute before the alert, which fired at tick 30.
    page.mouse.move(box["x"] + 56 + span * 30 / 660, high)
    page.mouse.down()
    page.mouse.move(box["x"] + 56 + span * 60 / 660, high, steps=4)
    page.mouse.up()
    expect(page.locator(".evidence").first).to_contain_text("a double click goes one step out")
    closer = labels()
    assert all(one != before for one, before in zip(closer, whole, strict=True))
    page.mouse.move(box["x"] + 56 + span / 3, high)
    expect(hot.locator(".evidence-value")).to_have_text("60.0 °C")
    page.mouse.move(box["x"] + 56 + span * 0.9, high)
    expect(hot.locator(".evidence-value")).to_have_text("88.0 °C")
    expect(page.locator("html[data-zoomed]")).to_have_count(1)
    other.locator(".evidence-over").press("+")
    assert labels() not in (closer, whole)
    other.locator(".evidence-over").press("-")
    assert labels() == closer
    page.mouse.dblclick(box["x"] + 56 + span / 2, high)
    assert labels() == whole
    expect(page.locator("html[data-zoomed]")).to_have_count(0)


def test_before_it_is_kept_it_grows(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts/1")
    expect(chart(page, "GPU temperature").locator(".evidence-value")).to_have_text("88.0 °C")
    expect(page.locator(".evidence").first).to_contain_text("so far; kept for good at")
    page.evaluate("window.stayed = true")
    page.locator("dd a", has_text="gpu_hot").click()
    expect(page.locator(".evidence-chart")).to_have_count(0)
    page.go_back()
    expect(chart(page, "GPU temperature").locator(".evidence-value")).to_have_text("88.0 °C")
    assert page.evaluate("window.stayed") is True


def test_states_are_named_and_nothing_is_said_of_what_was_not_kept(site: Site, open_page: Open) -> None:
    site.world.commit(alerts=[alert(2, "gpu_lost", ("spark-01", "0"), 40), alert(3, "gone", ("spark-09",), -100_000)])
    page = open_page(f"{site.address}/alerts/2")
    expect(chart(page, "NVML reading").locator(".evidence-value")).to_have_text("ok")
    page = open_page(f"{site.address}/alerts/3")
    expect(page.locator(".alert-evidence")).to_contain_text("Nothing is kept of these minutes")


def test_a_phone_has_it_in_one_column(site: Site, open_page: Open) -> None:
    raise_alerts(site.world)
    page = open_page(f"{site.address}/alerts/1", 390, 844)
    expect(page.locator(".evidence-chart").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


PURE: list[tuple[str, str, Any]] = [
    ("lines", "m.bandsOf({ began: 1, fired: 5, ended: null, severity: 'critical' }, 9)",
     [{"fired": 1, "ended": 5, "severity": ""}, {"fired": 5, "ended": 9, "severity": "critical"}]),
    ("lines", "m.bandsOf({ began: 5, fired: 5, ended: 7, severity: 'info' }, 9)",
     [{"fired": 5, "ended": 7, "severity": "info"}]),
    ("spans", "m.spanAt([[1, 3, 'a'], [3, 5, 'b']], 3)[2]", "b"),
    ("spans", "m.spanAt([[1, 3, 'a']], 3)", None),
    ("spans", "m.rowName({ target: 'a', gpu: '0' }, ['gpu'])", "0"),
    ("spans", "m.enough([{ labels: { a: 'x', b: 'm' } }, { labels: { a: 'y', b: 'n' } }], ['a', 'b'])", ["a"]),
    ("spans", "m.enough([{ labels: { a: 'x', b: 'm' } }, { labels: { a: 'x', b: 'n' } }], ['a', 'b'])", ["a", "b"]),
    ("spans", "m.enough([{ labels: { a: 'x' } }], [])", []),
    ("spans", "[8, 7, 5, 1, 0].map((room) => m.shortened('spark-02', room, (text) => text.length))",
     ["spark-02", "spark-…", "spar…", "…", "…"]),
    ("spans", "m.shortened('', 5, (text) => text.length)", ""),
    ("filters", "m.asked('?severity=info&x=1&text=a b&rule=').toString()", "severity=info&text=a+b"),
    ("replayed", "m.weeks([{ fired: 0 }, { fired: 6048e5 }, { fired: 6048e5 + 7 }], [0, 6048e5])",
     [[0, 604_800_000, 2]]),
    ("replayed", "m.weeks([{ fired: 11 }, { fired: 10 }, { fired: 6048e5 + 1 }], [0, 6048e5 + 10])",
     [[0, 10, 1], [10, 604_800_010, 2]]),
    ("replayed", "m.weeks([], [5, 5])", []),
    ("replayed", "m.looked([['a', '0'], ['b', '0'], ['b', '1']].map(([target, gpu]) => ({ labels: { target, gpu } })),"
     " { labels: { gpu: ['0'] } }, new Set(['b'])).map((one) => one.labels.target + one.labels.gpu)", ["b0"]),
    ("replayed", "m.looked([{ labels: { target: 'a' } }], { labels: {} }, new Set(['b'])).length", 1),
]  # fmt: skip
VALUES = """(async () => {
  const { valueText } = await import("/assets/alert/lines.js");
  const { useTables } = await import("/assets/explore/format.js");
  useTables(JSON.parse(document.querySelector("[data-tables]").dataset.tables));
  const line = (name, own, ...mid) => ({ name, own, t: [0, 1000, 2000].slice(0, mid.length), mid, gap: 2500 });
  const of = (lines, at = 0) => valueText(lines, at, "watts");
  return [of([line("a", true, 20, 30), line("b", false, 50)], 1000), of([line("a", false, 20), line("b", false, 50)]),
    of(["a", "b", "c", "d"].map((name, at) => line(name, false, at * 10))), of([line("a", true, null)]), of([])];
})()"""


def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(f"{make_site(ticks=0, nodes=0, engines=False).address}/alerts")
    for module, asked, answer in PURE:
        assert page.evaluate(f"import('/assets/alert/{module}.js').then((m) => {asked})") == answer, asked
    assert page.evaluate(VALUES) == ["30\u00a0W", "a 20\u00a0W · b 50\u00a0W", "0\u00a0W – 30\u00a0W", "–", "–"]
