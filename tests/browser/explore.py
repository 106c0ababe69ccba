"""Explore in the browser: a view of five minutes, and how a test looks at it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Locator, Page, Request

from telemetry.catalog import gpu
from tests.browser.conftest import MakeSite, Open, Site, taken_over

POWER = "/explore?metric=gpu_power_watts&start=-5m"
READY = '.explore-body[data-state="ready"]'


def opened(open_page: Open, address: str, width: int = 1440, height: int = 900, **options: object) -> Page:
    """A page of Explore whose charts are drawn, after Dash has taken over."""
    page = open_page(address, width, height, **options)
    page.wait_for_selector(READY)
    taken_over(page)
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


def five_minutes(make_site: MakeSite) -> Site:
    """Five minutes of four nodes; spark-02 takes 50 to 59 W in turn, 40 W in the last ten seconds."""
    made = make_site(ticks=0)
    made.world.set("spark-02", gpu.GPU_POWER, lambda number: 40.0 if number > 290 else 50.0 + number % 10)
    made.run(300)
    return made
