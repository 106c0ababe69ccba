"""A run that was merged into another is not just gone: every door says of which run it is a part now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dashboard.layout.static import render
from dashboard.pages.run import lost
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_runs import collecting, keep, run
from tests.web.world import tick


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """Three runs one after the other."""
    world = make_world()
    world.run(0, 60)
    keep(world, run(1, 10, 20), run(2, 25, 35), run(3, 40, 50))
    web = make_web(world)
    web.step()
    return web


def ask(web: Web, status: int = 200, **body: Any) -> Any:
    answer = web.client.post("/api/v1/runs/commands", json=body)
    assert answer.status_code == status, answer.text
    return answer.json


def test_of_which_run_it_is_a_part(web: Web) -> None:
    store = web.world.writer
    with collecting(web.world):
        ask(web, kind="merge", run=3, other=2)
        said = "There is no run 3. It is part of run 2 now, “Kimi-K3 #2”."
        assert web.get("runs/3", 404)["error"] == web.get("compare?runs=1,3", 404)["error"] == said
        assert ask(web, 409, kind="pin", run=3)["error"] == "there is no run 3: it is part of run 2 now"
        ask(web, kind="merge", run=1, other=2)
        assert [getattr(store.merged_into(number), "id", None) for number in (1, 2, 3, 9)] == [None, 1, 1, None]
        assert ask(web, 409, kind="merge", run=1, other=3)["error"] == "there is no run 3: it is part of run 1 now"
        ask(web, kind="split", run=1, at_ms=tick(37))  # where 2 and 3 met: 3 is a run of its own, with a new number
        later = max(one.id for one in store.runs())
        assert [getattr(store.merged_into(number), "id", None) for number in (2, 3)] == [1, later]
        ask(web, kind="delete", run=1)
        ask(web, kind="delete", run=later)
        assert web.get("runs/2", 404)["error"] == "There is no run 2."


def test_what_stands_instead(web: Web) -> None:
    process = web.server.extensions["tachograph"]
    assert process.run_instead("live") == {"id": 3, "name": "Kimi-K3 #3", "end": tick(50)}
    assert process.run_instead("3") is process.run_instead("x") is None
    with collecting(web.world):
        ask(web, kind="merge", run=3, other=2)
    instead = process.run_instead("3")
    assert instead == {"id": 2, "name": "Kimi-K3 #2", "end": tick(50)}
    shown = render(lost("3", instead), {})
    assert "There is no run 3" in shown
    assert 'href="/runs/2"' in shown
    assert "It is part of " in shown
    idle = render(lost("live", process.run_instead("live")), {})
    assert "No run goes on" in idle
    assert "The last one, " in idle
    assert f'data-instant="{tick(50)}"' in idle
    assert "part of" not in render(lost("99", None), {})


def test_the_last_run_of_long_ago_stands_instead_too(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was taken here goes before a later one that came from elsewhere."""
    process = web.server.extensions["tachograph"]
    keep(web.world, replace(run(4, 51, 55), by="foreign"))
    assert process.run_instead("live")["id"] == 3
    monkeypatch.setattr("dashboard.process.LATELY_MS", 8_000)
    assert process.run_instead("live")["id"] == 3
    monkeypatch.setattr("dashboard.process.LATELY_MS", 0)
    assert process.run_instead("live")["id"] == 3
