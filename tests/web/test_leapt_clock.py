"""The live page after a collector whose clock had leapt into another year, and is right again."""

from __future__ import annotations

from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import tick

YEAR_S = 365 * 86_400


def test_the_page_goes_on_when_the_clock_is_right_again(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world(nodes=1)
    world.run(0, 30)
    web = make_web(world)
    web.step()
    world.run(YEAR_S, YEAR_S + 2)
    assert web.step()["tick"] == tick(YEAR_S + 2)
    for start, end in ((40, 41), (42, 42)):
        world.run(start, end)
        assert web.step()["tick"] == tick(end)
    assert web.get("status")["nodes"][0]["state"] == "ok"
