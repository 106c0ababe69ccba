"""While the tail is being loaded: answers come whole from the store, and the live data says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dashboard.services import Services
from storage.errors import StoreBusy
from telemetry.catalog import cluster
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, tick

LAST = 700
"""Its rows are loaded in three slices."""
LOADING = {"tick": None, "sentence": {"level": "unknown", "text": "Loading what was recorded", "worst": None}}
Answers = dict[str, Any]


def ask(web: Web) -> Answers:
    """What is told of now, by several routes."""
    series = f"series?metric=gpu_power_watts&node=spark-02&start={tick(LAST - 2)}&end={tick(LAST)}"
    return {
        "latest": web.get("latest?metric=gpu_power_watts,decode_tokens_per_second"),
        "series": web.get(series)["series"],
        "deployment": web.get(f"series?metric=requests_running&deployment=Kimi-K3&start={tick(LAST - 2)}")["series"],
        "status": {name: told for name, told in web.get("status").items() if name != "store"},  # its size is of now
    }


@pytest.fixture
def halfway(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Web, Callable[[], None]]]:
    """A web process whose tail holds the first 500 s or so of 700, and what lets it load the rest."""
    world = make_world(nodes=2)
    world.set(HEAD, cluster.SCRAPE_SECONDS, lambda number: 0.01 if number > LAST - 10 else 9.0)
    world.run(0, LAST)
    web = make_web(world)
    store, tail = web.process.sources.store, web.process.sources.tail
    reached, go_on, rows = threading.Event(), threading.Event(), store.rows

    def gated(*given: Any, **named: Any) -> Any:
        if named.get("end") == tick(LAST):
            reached.set()
            assert go_on.wait(30)
        return rows(*given, **named)

    monkeypatch.setattr(store, "rows", gated)
    thread = threading.Thread(target=web.process.follower.step, daemon=True)
    thread.start()
    assert reached.wait(30)
    assert tail.latest_tick is not None
    assert tail.latest_tick < tick(LAST), "a slice is still missing"

    def finish() -> None:
        go_on.set()
        thread.join(30)

    yield web, finish
    finish()


def test_questions_are_answered_from_the_store(halfway: tuple[Web, Callable[[], None]]) -> None:
    web, finish = halfway
    assert not web.process.sources.tail.loaded
    early = ask(web)
    power = [(one["labels"]["target"], one["t"], one["v"]) for one in early["latest"]["values"][:2]]
    assert power == [("spark-01", tick(LAST), 50.0), ("spark-02", tick(LAST), 51.0)]
    assert early["latest"]["values"][2]["v"] == pytest.approx(20.0)
    assert early["series"][0]["t"] == [tick(LAST - 2), tick(LAST - 1), tick(LAST)]
    assert early["series"][0]["v"] == [51.0] * 3
    assert [line["labels"]["target"] for line in early["deployment"]] == [HEAD]
    assert early["status"]["sentence"] == {"level": "ok", "text": "Serving Kimi-K3 on 2 nodes", "worst": None}
    assert early["status"]["engines"][0]["scrape_s"] == 0.01
    assert early["status"]["deployments"][0]["engines"] == [HEAD]
    finish()
    assert web.process.sources.tail.loaded
    assert ask(web) == early


def test_live_data_says_that_it_is_loading(halfway: tuple[Web, Callable[[], None]]) -> None:
    web, finish = halfway
    services: Services = web.process
    assert web.get("live?minutes=1") == services.live(0) == LOADING
    assert "recorded_decode" not in web.client.get("/metrics").text
    finish()
    assert web.get("live?minutes=1")["tick"] == tick(LAST)
    assert "recorded_decode_tokens_per_second" in web.client.get("/metrics").text


def test_before_the_first_commit_nothing_is_loading(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(make_world(nodes=0, engines=False))
    web.process.follower.step()
    assert web.get("live")["sentence"]["text"] == "Nothing is watched yet"
    assert not web.process.sources.tail.loaded


def test_loading_that_fails_begins_anew(
    make_world: MakeWorld, make_web: MakeWeb, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world(nodes=1)
    world.run(0, LAST)
    web = make_web(world)
    store, tail = web.process.sources.store, web.process.sources.tail
    rows, failures = store.rows, [StoreBusy("busy")]

    def failing(*given: Any, **named: Any) -> Any:
        if failures and named.get("end") == tick(LAST):
            raise failures.pop()
        return rows(*given, **named)

    monkeypatch.setattr(store, "rows", failing)
    with pytest.raises(StoreBusy):
        tail.follow()
    assert not tail.loaded
    ticks = tail.follow()
    assert (tail.loaded, ticks[0], ticks[-1], len(ticks)) == (True, tick(0), tick(LAST), LAST + 1)
    frame = tail.frame({"gpu_power_watts"})
    assert frame.values[0].tolist() == [50.0] * (LAST + 1)


def test_what_the_store_holds_of_long_ago_is_no_target_of_now(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A deployment of yesterday is none while the tail is loaded, as it is none afterwards."""
    world = make_world(nodes=1)
    world.run(0, 10)
    del world.series["deployment/Kimi-K3"]
    world.run(75 * 60 + 10, 75 * 60 + 20)
    web = make_web(world)
    assert web.process.sources.deployments() == []
    web.step()
    assert web.process.sources.deployments() == []
