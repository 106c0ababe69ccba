"""A run in which nobody looked for a while: its mean leaves that time out, and its row in the list says so."""

from __future__ import annotations

import pytest

from dashboard.pages.runs import columns
from pipeline import digest
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.test_runs import keep, run
from tests.web.world import HEAD


def test_a_row_tells_how_many_tokens_its_mean_leaves_out(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """20 tokens a second; from 14 to 25 nobody looked."""
    world = make_world()
    world.away(HEAD, 15, 24)
    world.run(0, 60)
    keep(world, run(1, 10, 30), run(2, 40, None))
    web = make_web(world)
    web.step()
    live, ended = (one["numbers"] for one in web.get("runs")["runs"])
    assert (ended["speed.decode_mean"], ended["speed.decode_left_out"]) == (pytest.approx(20.0), 11 * 20)
    assert (live["speed.decode_mean"], live["speed.decode_left_out"]) == (pytest.approx(20.0), 0)


def test_the_list_is_told_which_number_has_the_mark() -> None:
    mean, left_out, why = columns()["touched"]
    assert (mean, left_out) == ("speed.decode_mean", "speed.decode_left_out")
    assert {mean, left_out} <= set(digest.HEADLINES)
    assert "{}" in why
