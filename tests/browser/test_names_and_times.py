"""Tabs are told apart by their titles, and every page writes an instant the same way."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from storage.records import Event
from tests.browser.conftest import MakeSite, Open, while_ticks_come
from tests.web.test_runs import keep, run
from tests.web.world import tick

SPEED = "20.0 tok/s · Tachograph"
INSTANT = r"\d{1,2} [A-Z][a-z]{2}( \d{4})? \d\d:\d\d"
TOLD = "(t) => import('/assets/explore/time.js').then((m) => m.instantText(t, Date.now()))"


def test_every_page_has_its_own_name_in_the_tab(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=60)
    keep(site.world, run(1, 10, 40))
    page = open_page(f"{site.address}/runs")

    def is_called(name: str) -> None:
        while_ticks_come(site, lambda wait: expect(page).to_have_title(f"{name} · {SPEED}", timeout=wait))

    is_called("Runs")
    page.get_by_role("link", name="Kimi-K3 #1").click()
    expect(page.locator(".run h1")).to_have_text("Kimi-K3 #1")
    is_called("Kimi-K3 #1")
    for link in ("Status", "Explore", "Cluster"):
        page.locator(".bar").last.get_by_role("link", name=link, exact=True).click()
        is_called(link)
    page.goto(f"{site.address}/node/spark-02")
    is_called("spark-02")


def test_instants_look_alike_on_every_page(make_site: MakeSite, open_page: Open) -> None:
    """In the viewer's zone, with 24 hours, and with seconds but for the list."""
    site = make_site(ticks=60)
    site.world.commit(events=[Event(0, tick(20) + 437, "spark-02", "throttle", "slowed by heat")])
    keep(site.world, run(1, 10, 40))
    page = open_page(f"{site.address}/runs")
    began = page.locator(".ag-center-cols-container [row-index='0'] [col-id='start']")
    expect(began).to_have_text(re.compile(f"^{INSTANT}$"))
    whole = page.evaluate(TOLD, tick(10))
    expect(began).to_have_text(whole[:-3])
    page.goto(f"{site.address}/runs/1")
    expect(page.locator(".run .page-head time").first).to_have_text(whole)
    page.goto(f"{site.address}/node/spark-02")
    expect(page.locator(".events time, [data-fragment] time").first).to_have_text(page.evaluate(TOLD, tick(20)))
