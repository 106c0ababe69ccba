"""What Explore needs of /api/v1/series: several names in one filter, and bins of a stated width."""

from __future__ import annotations

import pytest

from tests.web.conftest import MakeWeb, MakeWorld, Web, make_web, make_world
from tests.web.world import T0, tick

__all__ = ["make_web", "make_world"]
POWER = f"series?metric=gpu_power_watts&start={T0}&end={tick(30)}"


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Thirty ticks of four nodes with 50, 51, 52, 53 W."""
    world = make_world()
    world.run(0, 30)
    made = make_web(world)
    made.step()
    return made


def test_several_nodes_in_one_filter(web: Web) -> None:
    lines = web.get(f"{POWER}&node=spark-02,spark-04")["series"]
    assert [(line["labels"]["target"], line["v"][-1]) for line in lines] == [("spark-02", 51.0), ("spark-04", 53.0)]
    total = web.get(f"{POWER}&node=spark-02,spark-04&total=1")["series"]
    assert [line["v"][-1] for line in total] == [104.0]
    assert "“nobody”" in web.get(f"{POWER}&node=spark-02,nobody", 400)["error"]
    assert "“”" in web.get(f"{POWER}&node=spark-02,", 400)["error"]


def test_several_filters_leave_what_all_let_through(web: Web) -> None:
    address = f"series?metric=decode_tokens_per_second&start={T0}&end={tick(30)}&engine=head&deployment=Kimi-K3"
    assert len(web.get(address)["series"]) == 1


def test_bins_of_a_stated_width(web: Web) -> None:
    answer = web.get(f"{POWER}&node=spark-02&step=10s")
    assert answer["step_ms"] == 10_000
    line = answer["series"][0]
    assert line["t"] == [T0, T0 + 10_000, T0 + 20_000, T0 + 30_000]
    assert line["mean"] == [51.0, 51.0, 51.0, 51.0]


def test_a_part_has_the_bins_of_the_whole(web: Web) -> None:
    whole = web.get(f"{POWER}&node=spark-02&step=4s")
    part = web.get(f"series?metric=gpu_power_watts&start={tick(12)}&end={tick(30)}&node=spark-02&step=4s")
    assert part["series"][0]["t"] == whole["series"][0]["t"][3:]
    assert part["fold"] == whole["fold"] == "mean"


def test_steps_that_cannot_be_are_refused(web: Web) -> None:
    assert "exclude each other" in web.get(f"{POWER}&step=10s&points=5", 400)["error"]
    assert "“step” is “soon”" in web.get(f"{POWER}&step=soon", 400)["error"]
    assert "“step” is “0s”" in web.get(f"{POWER}&step=0s", 400)["error"]
    assert "more than 5000" in web.get(f"{POWER}&step=5ms", 400)["error"]
    assert web.get(f"{POWER}&step=6ms")["step_ms"] == 1000
