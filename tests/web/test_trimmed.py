"""A trimmed run begins, lasts and counts the same by every door, and the whole run is said where it is known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from dashboard.layout.static import render
from dashboard.pages.run import head
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_runs import keep, run
from tests.web.world import tick


def clock(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Run 1, 10 to 30, of which 15 to 25 is left; run 2 whole; run 3, which goes on, without its first seconds."""
    world = make_world()
    world.run(0, 60)
    keep(
        world,
        run(1, 10, 30, trim_start_ms=tick(15), trim_end_ms=tick(25)),
        run(2, 32, 38),
        run(3, 40, None, trim_start_ms=tick(45)),
    )
    web = make_web(world)
    web.step()
    return web


def test_lists_have_the_stretch(web: Web) -> None:
    runs = {one["id"]: one for one in web.get("runs")["runs"]}
    told = {number: (one["start"], one["end"], one["stretch"]) for number, one in runs.items()}
    assert told == {
        1: (tick(10), tick(30), [tick(15), tick(25)]),
        2: (tick(32), tick(38), [tick(32), tick(38)]),
        3: (tick(40), None, [tick(45), None]),
    }
    assert runs[1]["numbers"]["speed.seconds"] == 10
    table = web.get("runs/table?start=-1h")
    rows = {row[0]: dict(zip(table["columns"], row, strict=True)) for row in table["runs"]}
    assert {number: (row["start"], row["end"], row["trimmed"]) for number, row in rows.items()} == {
        1: (tick(15), tick(25), True),
        2: (tick(32), tick(38), False),
        3: (tick(45), None, True),
    }
    assert rows[1]["speed.seconds"] == 10


def test_the_course_in_the_list_is_of_the_stretch(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 60)
    keep(world, run(1, 0, 50, trim_start_ms=tick(20), trim_end_ms=tick(35)))
    web = make_web(world)
    web.step()
    table = web.get("runs/table")
    assert len(table["runs"][0][table["columns"].index("spark")]) == 2


def test_the_page_says_both(web: Web) -> None:
    heads = {number: render(head(web.get(f"runs/{number}")), {}) for number in (1, 2, 3)}
    places = [heads[1].index(f'data-instant="{tick(at)}"') for at in (15, 25, 10, 30)]
    assert places == sorted(places)
    assert "trimmed, the whole run is" in heads[1]
    assert "trimmed" not in heads[2]
    assert heads[3].index(f'data-instant="{tick(45)}"') < heads[3].index(f'data-instant="{tick(40)}"')


def test_reports_say_both(web: Web) -> None:
    whole = f"trimmed, the whole run is from {clock(tick(10))} to {clock(tick(30))}"
    lead = web.client.get("/api/v1/runs/1/report.md").text.splitlines()[2]
    assert lead.endswith(f" · {clock(tick(15))} · 10.0 s · {whole}")
    page = web.client.get("/api/v1/runs/1/report.html").text
    assert f"{clock(tick(15))}</time> · 10.0 s · {whole}" in page
    other = web.client.get("/api/v1/runs/2/report.md").text
    assert f"{clock(tick(32))} · 6.0 s" in other
    assert "trimmed" not in other
    going = web.client.get("/api/v1/runs/3/report.md").text
    assert f"{clock(tick(45))} · 15.0 s · trimmed, the whole run is from {clock(tick(40))} and goes on" in going


def test_a_comparison_has_the_stretch(web: Web) -> None:
    told = web.get("compare?runs=1,2")["runs"]
    assert [(one["start"], one["end"]) for one in told] == [(tick(15), tick(25)), (tick(32), tick(38))]
