"""The sentence where a target does not answer, answers somebody else's page, or has no statistics."""

from __future__ import annotations

import pytest

from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import HEAD


@pytest.mark.parametrize(
    ("state", "reason", "level", "text"),
    [
        (
            "unreachable",
            "3 requests ran",
            "critical",
            "head does not answer (3 requests ran) · Kimi-K3 does not answer on 4 nodes",
        ),
        ("stopped", "", "idle", "Kimi-K3 has stopped on 4 nodes"),
        ("loading", "", "idle", "Kimi-K3 is loading on 4 nodes"),
        ("restarting", "", "idle", "Kimi-K3 is restarting on 4 nodes"),
    ],
)  # fmt: skip
def test_engine_that_does_not_answer(
    make_world: MakeWorld, make_web: MakeWeb, state: str, reason: str, level: str, text: str
) -> None:
    world = make_world()
    world.run(0, 40)
    world.silence(HEAD, 41, state, reason)
    world.run(41, 60)
    message = make_web(world).step()
    assert (message["sentence"]["level"], message["sentence"]["text"]) == (level, text)
    assert message["cells"]["decode.now"][0] == "–"
    assert message["cells"]["decode.now"][3].startswith("head ")


def test_pages_of_somebody_else(make_world: MakeWorld, make_web: MakeWeb) -> None:
    reason = "answers, but this is no engine's metrics page (text/html)"
    world = make_world()
    world.run(0, 40)
    world.silence(HEAD, 41, "bad answer", reason)
    world.run(41, 60)
    web = make_web(world)
    message = web.step()
    assert message["sentence"]["text"].startswith(f"head {reason} · ")
    assert message["cells"]["decode.now"] == ["–", *message["cells"]["decode.now"][1:3], f"head {reason}"]
    (told,) = web.get("status")["engines"]
    assert (told["state"], told["reason"]) == ("bad answer", reason)


def test_several_pages_of_somebody_else(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 40)
    for name in ("spark-02", "spark-03"):
        world.silence(name, 41, "bad answer", "answers, but with an empty page (text/plain)")
    world.run(41, 60)
    text = make_web(world).step()["sentence"]["text"]
    assert text.startswith("spark-02 and spark-03 answer, but with an empty page (text/plain)"), text


def test_engine_without_statistics(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    keep = ("scrape_duration_seconds", "scrape_size_bytes")
    world.series[HEAD] = {one: value for one, value in world.series[HEAD].items() if one.metric in keep}
    del world.series["deployment/Kimi-K3"]
    world.state(HEAD, "no statistics", "started with --disable-log-stats")
    world.run(0, 60)
    message = make_web(world).step()
    assert message["sentence"]["level"] == "unknown"
    assert message["sentence"]["text"] == "head offers no statistics on 4 nodes"
    assert message["cells"]["decode.now"][3] == "head offers no statistics (started with --disable-log-stats)"
