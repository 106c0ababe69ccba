"""The form of the demo: a fault is asked for, goes on in the real simulator, and is ended."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Complaints, Open, Site
from tests.web.conftest import MakeWeb, MakeWorld

ROOT = Path(__file__).parents[2]
Incidents = list[dict[str, Any]]


class Simulator:
    """A simulated cluster and its control page."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "simulator", "--nodes", "4"]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address: str = json.loads(self.process.stdout.readline())["control"]

    def told(self) -> dict[str, Any]:
        """What the simulator itself says of its faults."""
        with urllib.request.urlopen(f"{self.address}/faults", timeout=20) as answer:
            return dict(json.load(answer))

    def going(self) -> Incidents:
        """Those that are not over."""
        return [one for one in self.told()["incidents"] if one["state"] != "over"]

    def once_on(self, *names: str) -> Incidents:
        """The named ones as soon as they are on: what is asked for begins with the next second of the simulation."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = [one for one in self.going() if one["state"] == "on"]
            if [one["name"] for one in found] == list(names):
                return found
            time.sleep(0.05)
        raise AssertionError(f"not on: {self.going()}")

    def stop(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    made = Simulator()
    yield made
    made.stop()


@pytest.fixture
def page(simulator: Simulator, make_world: MakeWorld, make_web: MakeWeb, open_page: Open) -> Iterator[Page]:
    """The first screen of a demo with the panel open."""
    world = make_world()
    site = Site(world, make_web(world, demo_control_url=simulator.address))
    site.run(30)
    opened = open_page(site.address)
    button = opened.locator("#react-entry-point [data-faults-toggle]")
    expect(panel(opened)).to_be_hidden()
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    yield opened
    site.stop()


def panel(page: Page) -> Locator:
    return page.locator("#react-entry-point [data-faults]")


def choose(page: Page, fault: str, node: str | None = None, seconds: str = "") -> None:
    panel(page).get_by_label("Fault").select_option(fault)
    if node is not None:
        panel(page).get_by_label("Where").select_option(node)
    panel(page).get_by_label("Seconds").fill(seconds)


def start(page: Page) -> None:
    panel(page).get_by_role("button", name="Start").click()


def test_faults_of_nodes_are_started_and_ended(page: Page, simulator: Simulator) -> None:
    lines = panel(page).get_by_role("listitem")
    choose(page, "thermal", "spark-03")
    start(page)
    expect(lines).to_have_text([re.compile("thermal spark-03")])
    choose(page, "straggler", "spark-01", "3600")
    start(page)
    expect(lines).to_have_text([re.compile("thermal spark-03"), re.compile("straggler spark-01")])
    first, second = simulator.going()
    first, second = simulator.once_on("thermal", "straggler")
    assert (first["name"], first["target"]) == ("thermal", "spark-03")
    assert (second["name"], second["target"]) == ("straggler", "spark-01")
    assert second["end"] - second["start"] == pytest.approx(3600)
    lines.filter(has_text="thermal").get_by_role("button", name="End").click()
    expect(lines).to_have_text([re.compile("straggler spark-01")])
    assert [one["name"] for one in simulator.going()] == ["straggler"]


def test_every_fault_is_offered_with_what_it_does_and_where(page: Page, simulator: Simulator) -> None:
    known = simulator.told()["known"]
    options = panel(page).get_by_label("Fault").locator("option")
    expect(options).to_have_count(len(known))
    assert len(known) >= 21
    for fault in known:
        choose(page, fault["name"])
        expect(panel(page).locator("form .note")).to_have_text(fault["text"])
        where = panel(page).get_by_label("Where")
        if "node" not in fault["reach"]:
            expect(where).to_be_hidden()
            continue
        nodes = [f"spark-{number:02}" for number in range(1, 5)]
        expected = ["engine", *nodes] if "engine" in fault["reach"] else nodes
        assert where.locator("option").all_text_contents() == expected, fault["name"]


def test_a_fault_of_the_engine_needs_no_place(page: Page, simulator: Simulator) -> None:
    choose(page, "engine-stop")
    start(page)
    expect(panel(page).get_by_role("listitem")).to_contain_text("engine-stop")
    (fault,) = simulator.going()
    assert fault["name"] == "engine-stop"


def test_escape_closes_it_and_a_simulator_that_is_gone_is_named(
    page: Page, simulator: Simulator, complaints: Complaints
) -> None:
    complaints.allowed = ("502",)
    expect(panel(page).get_by_role("heading")).to_have_text("Faults of the simulated cluster")
    simulator.process.terminate()
    simulator.process.wait(60)
    expect(panel(page)).to_contain_text("The simulator does not answer.")
    page.keyboard.press("Escape")
    expect(panel(page)).to_be_hidden()
