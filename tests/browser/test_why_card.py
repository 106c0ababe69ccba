"""The card "why this speed" in a browser: the step time's share of the roofline, and its definition behind it."""

from __future__ import annotations

from playwright.sync_api import expect

from telemetry.roofline import Weights
from tests.browser.conftest import Open, Site
from tests.web.conftest import MakeWeb, MakeWorld


def test_roofline_beside_the_step_time(make_world: MakeWorld, make_web: MakeWeb, open_page: Open) -> None:
    world = make_world()
    for name in ("spark-01", "spark-02", "spark-03", "spark-04"):
        world.fact(name, "gpu.0.name", "NVIDIA GB10")
    site = Site(world, make_web(world, roofline={"Kimi-K3": Weights(132e9)}))
    try:
        site.run(60)
        page = open_page(site.address)
        row = page.locator("main .why-table tbody tr", has_text="Step time")
        expect(row.locator("small")).to_have_text("80.6 % of the roofline")
        expect(row.locator("td.now")).to_have_text("150 ms")
        assert (row.get_attribute("title") or "").startswith("Roofline: a step of 9 tokens reads 132 GB of weights")
        assert row.locator("small").evaluate(
            "(note) => note.parentElement.scrollWidth <= note.parentElement.clientWidth"
        )
        expect(page.locator("main .why-table tbody tr", has_text="Running").locator("small")).to_have_text("")
    finally:
        site.stop()
