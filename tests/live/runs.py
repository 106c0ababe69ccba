"""A run of the demo, every door: page, API, CSV and the store's own summary say the same of stretches of it."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from tests.cli.test_end_to_end import get
from tests.live.demo import Demo
from tests.web.run_doors import Place, by_api, by_csv, by_page, by_summary

NUMBERS, STRETCHES = 200, 4
SETTLED_MS = 10_000
"""What is older than this does not change any more: late rows have come."""


def body(demo: Demo, path: str) -> bytes:
    """Of an address below the demo's root."""
    status, content = get(f"{demo.url}{path}")
    assert status == 200, content[:300]
    return content


def stretches(demo: Demo, dice: random.Random, start_ms: int) -> Iterator[tuple[int, int]]:
    """The run as far as it is settled, and stretches of it; at instants between ticks, too."""
    newest = max(demo.ticks()) - SETTLED_MS
    yield start_ms, newest
    for _ in range(STRETCHES - 1):
        low, high = sorted(dice.sample(range(start_ms, newest), 2))
        yield low, high


def page_places(demo: Demo, number: int, start: int, end: int) -> dict[Place, tuple[str, str]]:
    """Where the page shows each number: by the labels of its section and itself."""
    told = demo.get(f"runs/{number}?start={start}&end={end}")["summary"]
    return {
        (section["key"], one["key"], one.get("of", "")): (
            section["label"],
            f"{one['label']} · {one['of']}" if one.get("of") else one["label"],
        )
        for section in told
        for one in section["entries"]
        if not one["key"].endswith("_on")
    }


def compare_runs(demo: Demo, dice: random.Random) -> int:
    """Numbers that were compared."""
    run = min(demo.store.runs(), key=lambda one: one.start_ms)
    known = []
    for start, end in stretches(demo, dice, run.start_ms):
        if run.end_ms is not None:
            end = min(end, run.end_ms)
        doors = [read(lambda path: body(demo, path), run.id, start, end) for read in (by_api, by_csv, by_page)]
        known.append((by_summary(demo.store, run, start, end), *doors, page_places(demo, run.id, start, end)))
    compared = 0
    for _ in range(NUMBERS):
        summary, api, csv, page, places = dice.choice(known)
        place = dice.choice([one for one, (value, _) in summary.items() if value is not None])
        value, shown = summary[place]
        for door in (api, csv):  # the tail adds rows up in an order of its own
            told = door[place]
            assert told is not None
            assert math.isclose(told, value or 0.0, rel_tol=1e-9, abs_tol=1e-12), (place, told, value)
        if place in places:
            assert "".join(page[places[place]].split()) == "".join(shown.split()), place
            compared += 1
    return compared
