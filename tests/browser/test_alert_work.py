"""What people do on the page of alerts beside the cards: filters, new rules, replays as charts, channels, windows."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from alerts.notices import Channel
from dashboard.api import channel_answers
from pipeline.notify.destination import Shown
from telemetry.catalog import gpu
from tests.browser.conftest import Complaints, MakeSite, Open, Site
from tests.browser.test_alerts import orders, rule
from tests.web.alert_world import collecting, raise_alerts
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import tick


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    """Three causes fire; one alert, of the engine, is over."""
    found = make_site(ticks=60)
    raise_alerts(found.world)
    return found


def over(page: Page) -> Any:
    """Rows of what is over."""
    return page.locator(".alert-history tbody tr")


def test_earlier_alerts_are_chosen_in_the_address(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    expect(over(page)).to_have_count(1)
    form = page.locator("[data-alert-filters]")
    form.get_by_label("Severity").select_option("critical")
    expect(page.get_by_text("No alert that is over is like that.")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query) == {"severity": ["critical"]}
    form.get_by_label("Severity").select_option("warning")
    expect(over(page)).to_have_count(1)
    form.get_by_label("Words").fill("xid")
    expect(over(page)).to_have_count(0)
    assert parse_qs(urlsplit(page.url).query) == {"severity": ["warning"], "text": ["xid"]}
    page.get_by_role("button", name="All", exact=True).click()
    expect(over(page)).to_have_count(1)
    assert urlsplit(page.url).query == ""


def test_an_address_chooses_earlier_alerts(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts?rule=kv_full&end={tick(11)}")
    expect(page.get_by_text("No alert that is over is like that.")).to_be_visible()
    form = page.locator("[data-alert-filters]")
    expect(form.get_by_label("Rule")).to_have_value("kv_full")
    # The viewer's zone is Berlin, an hour ahead.
    expect(form.get_by_label("Until")).to_have_value("2026-11-30T01:53:31")
    form.get_by_label("Until").fill("2026-11-30T01:54:00")
    expect(over(page)).to_have_count(1)


def test_a_window_is_planned_from_and_until_a_moment(site: Site, open_page: Open) -> None:
    page = open_page(f"{site.address}/alerts")
    sent = orders(page)
    with collecting(site.world):
        page.get_by_text("Silence alerts, or plan a maintenance").click()
        form = page.locator("[data-key=silence] form.typed")
        form.get_by_label("Node or engine").fill("spark-02")
        form.get_by_label("From (empty: now)").fill("2026-12-01T22:00")
        form.get_by_label("Or until").fill("2026-12-02T06:30")
        form.get_by_role("button").click()
        expect(page.locator(".silences tbody tr", has_text="node spark-02")).to_contain_text("planned")
    start = 1_796_158_800_000
    assert sent == [{"kind": "silence", "node": "spark-02", "start_ms": start, "end_ms": start + 30_600_000}]


def test_a_rule_is_made_and_deleted_and_the_log_says_so(site: Site, open_page: Open, complaints: Complaints) -> None:
    complaints.allowed = ("400 (BAD REQUEST)",)
    page = open_page(f"{site.address}/alerts")
    page.on("dialog", lambda dialog: dialog.accept())
    with collecting(site.world):
        page.get_by_text("Make a rule").click()
        form = page.locator("[data-key='create'] form")
        form.get_by_label("Name").fill("Fan gone!")
        form.get_by_label("Title").fill("Fan gone")
        form.get_by_label("Wrong when").fill("gpu_temperature_celsius > 80 °C")
        form.get_by_role("button", name="When would this have fired?").click()
        expect(form.locator("[data-replayed]")).to_contain_text("It would not have fired")
        form.get_by_role("button", name="Make the rule").click()
        said = form.locator("[data-said]")
        expect(said).to_contain_text("expected a rule's name")
        form.get_by_label("Name").fill("fan_gone")
        form.get_by_label("Told").fill("ops, night")
        form.get_by_role("button", name="Make the rule").click()
        expect(said).to_have_text("Made: Fan gone")
        expect(form.locator("[data-replayed]")).to_be_empty()
        mine = rule(page, "fan_gone")
        mine.locator("summary").first.click()
        expect(mine.get_by_role("button", name="Save")).not_to_be_visible()
        said.get_by_role("link").click()
        expect(mine.get_by_role("button", name="Save")).to_be_visible()
        expect(mine.locator("summary").first).to_contain_text("made here")
        mine.get_by_role("button", name="Delete").click()
        expect(mine).to_have_count(0)
    page.reload()
    rows = page.locator(".rule-log tbody tr")
    expect(rows.first).to_contain_text("everything taken back")
    expect(rows.last).to_contain_text("when: gpu_temperature_celsius > 80 °C")
    expect(rows.last).to_contain_text("channels: ops, night")


WEEKS = """(days) => import("/assets/alert/replayed.js").then((m) => {
  const found = { recorded: [1, days * 864e5 + 1], start: 0, fired: [{ fired: 7.5 * 864e5, key: [] }],
    metrics: [], severity: "" };
  return [...new m.Replayed(found).place.querySelectorAll(".replay-weeks b")].map((one) => one.textContent);
})"""


def test_a_replay_stands_on_the_course_of_what_the_rule_reads(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, lambda number: 88.0 if 20 <= number < 40 else 60.0)
    site.run(120)
    page = open_page(f"{site.address}/alerts")
    hot = rule(page, "gpu_hot")
    hot.locator("[name='table.for']").fill("5s")
    hot.get_by_role("button", name="When would this have fired?").click()
    chart = hot.locator(".replay-charts figure")
    expect(chart).to_have_count(1)
    expect(chart.locator("h3")).to_have_text("GPU temperature")
    assert [page.evaluate(WEEKS, days) for days in (2, 7, 8)] == [[], [], ["0", "1"]], "of less than a week none"
    expect(chart.locator(".evidence-axis span").first).to_be_attached()
    chart.locator(".evidence-over").hover()
    expect(chart.locator(".evidence-value")).to_have_text("60.0 °C")


def test_a_channel_is_tried(
    make_world: MakeWorld, make_web: MakeWeb, open_page: Open, complaints: Complaints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_answers, "WAIT_S", 0.2)
    world = make_world()
    web = make_web(world, channels=(Shown(Channel("ops"), "ntfys://…"),))
    site = Site(world, web)
    try:
        site.run(30)
        page = open_page(f"{site.address}/alerts")
        row = page.locator(".channels tbody tr")
        expect(row).to_contain_text("ops ntfys://…")
        expect(row).to_contain_text("nothing delivered yet")
        row.get_by_role("button", name="Send a test").click()
        expect(row.locator("[data-said]")).to_have_text(channel_answers.SILENT)
        expect(rule(page, "gpu_hot")).to_contain_text("every channel")
    finally:
        site.stop()
