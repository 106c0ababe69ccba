"""A prefill beside requests in decode is not one that ran before nobody looked."""

from __future__ import annotations

from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.test_live_why import card, prefilling_beside
from tests.web.world import HEAD, World


def test_a_gap_begins_a_prefill_beside_anew(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Seen from 270 on, but nobody looked from 275 to 284: the ticks after 285 are of it, 15 of the last 60."""

    def unseen(world: World) -> None:
        prefilling_beside(world)
        world.away(HEAD, 275, 284)

    rows, _ = card(make_world, make_web, unseen)
    assert rows["foreign_prefill"]["now"] == "25.0 %"
