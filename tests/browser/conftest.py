"""Chromium in front of a real web process over a real store. The test is the collector: it writes the ticks.

Whatever a page does wrong by itself fails the test that opened it: an error on the console, a script that throws, a
request to another host.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from werkzeug.serving import make_server

from dashboard.server import build
from tests.web.conftest import MakeWeb, MakeWorld, Web, make_web, make_world
from tests.web.world import World

__all__ = ["make_web", "make_world"]

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000
HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Every test below this folder drives a browser; those that are not marked `look` are live tests."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if not item.get_closest_marker("look"):
                item.add_marker(pytest.mark.live)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, quiet and without a sandbox of its own; one for all tests."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no Chromium at {CHROMIUM}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield browser
        browser.close()


class Site:
    """A world, the process that shows it, and the address where it does. `tick` writes the next one."""

    def __init__(self, world: World, web: Web) -> None:
        self.world, self.web = world, web
        self.server = make_server("127.0.0.1", 0, build(web.process), threaded=True)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        self.last = -1

    def run(self, last: int) -> None:
        """Write all ticks up to this one, and tell them."""
        self.world.run(self.last + 1, last)
        self.last = last
        self.web.step()

    def tick(self) -> None:
        """The next tick."""
        self.run(self.last + 1)

    def stop(self) -> None:
        """The server goes away."""
        self.web.process.hub.close()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(timeout=10)


MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(make_world: MakeWorld, make_web: MakeWeb) -> Iterator[MakeSite]:
    """Makes sites: make_site(ticks=30, nodes=4, engines=True)."""
    made: list[Site] = []

    def make(ticks: int = 30, **shape: Any) -> Site:
        world = make_world(**shape)
        made.append(Site(world, make_web(world)))
        if ticks:
            made[-1].run(ticks)
        return made[-1]

    yield make
    for site in made:
        if site.thread.is_alive():
            site.stop()


class Complaints:
    """What went wrong on the pages of a test. `allowed` names texts that a test provokes."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.allowed: tuple[str, ...] = ()

    def console(self, message: ConsoleMessage) -> None:
        """Errors and warnings count."""
        if message.type in ("error", "warning"):
            self.found.append(f"console {message.type}: {message.text} ({message.location.get('url', '')})")

    def left(self) -> list[str]:
        """Those that no test asked for."""
        return [text for text in self.found if not any(known in text for known in self.allowed)]


@pytest.fixture
def complaints() -> Complaints:
    """Shared by the pages of a test."""
    return Complaints()


def observe(context: BrowserContext, complaints: Complaints) -> None:
    """Gather what the pages of a context do wrong."""

    def opened(page: Page) -> None:
        page.on("console", complaints.console)
        page.on("pageerror", lambda error: complaints.found.append(f"error: {error}"))
        page.on("request", lambda request: _same_host(request.url, complaints))
        page.set_default_timeout(PATIENCE_MS)

    context.on("page", opened)


def _same_host(url: str, complaints: Complaints) -> None:
    parts = urlsplit(url)
    if parts.scheme not in ("data", "blob") and parts.hostname != "127.0.0.1":
        complaints.found.append(f"request to {url}")


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser, complaints: Complaints) -> Iterator[Open]:
    """Opens pages: open_page(address, width=1440, height=900, whole=True, **context options). Complaints fail the test.

    Unless `whole` is false it waits until Dash has taken the page over: what a test opened before would be shut.
    """
    contexts: list[BrowserContext] = []
    expect.set_options(timeout=PATIENCE_MS)

    def open_(address: str, width: int = 1440, height: int = 900, whole: bool = True, **options: Any) -> Page:
        size = {"width": width, "height": height}
        context = chromium.new_context(viewport=size, timezone_id="Europe/Berlin", **options)  # type: ignore[arg-type]
        contexts.append(context)
        observe(context, complaints)
        page = context.new_page()
        page.goto(address, wait_until="commit")
        if whole:
            taken_over(page)
        return page

    yield open_
    left = complaints.left()
    for context in contexts:
        context.close()
    assert left == []


# "There is no #first" alone is true of a document whose body has not come yet, too.
TAKEN_OVER = "!!document.querySelector('#react-entry-point .bar') && !document.getElementById('first')"


def taken_over(page: Page) -> None:
    """Wait until the page that Dash draws stands in place of the one in the HTML."""
    page.wait_for_function(f"() => {TAKEN_OVER}")


def while_ticks_come(site: Site, expected: Callable[[float], object]) -> None:
    """Write a tick a second until what is expected holds: for three seconds only is a page sure of the newest one.

    expected: is given how many milliseconds to wait.
    """
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while True:
        site.tick()
        try:
            expected(1000)
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        else:
            return


def wait_until(page: Page, holds: Callable[[], object]) -> None:
    """Until something holds that the test itself gathers from the page's events."""
    deadline = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


def wait_for_charts(page: Page) -> None:
    """Until the live figure shows what was recorded, and the first screen has given way to it."""
    page.wait_for_function(
        f"""() => {{ const graph = document.querySelector("[data-plots] .js-plotly-plot");
        return graph && graph.data && graph.data[0].y.length > 2 && {TAKEN_OVER}; }}"""
    )
