"""A store that is deleted under the web process: said everywhere at once, and left for the next one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from dashboard.api.stream import events
from dashboard.config import WebConfig
from dashboard.live.hub import Hub
from dashboard.process import WebProcess
from dashboard.renewal import Renewal
from storage.store import open_store
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import World


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    made = make_world(nodes=2)
    made.run(0, 60)
    return made


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    made = make_web(world)
    made.step()
    return made


def delete(world: World) -> Path:
    path = Path(world.url.removeprefix("sqlite:///"))
    path.unlink()
    return path


def test_health_api_and_bootstrap_say_so(world: World, web: Web) -> None:
    assert web.client.get("/healthz").status_code == 200
    path = delete(world)
    gone = f"the store {path} was deleted while it was open"
    health = web.client.get("/healthz")
    assert (health.status_code, health.text) == (503, f"{gone}\n")
    assert web.get("status", 503) == {"error": gone}
    said = {"level": "critical", "text": f"The{gone[3:]}: nothing here is of now", "worst": None}
    assert web.get("live") == {"tick": None, "sentence": said}
    assert web.process.live(15) == {"tick": None, "sentence": said}


def test_open_streams_start_afresh_and_find_nothing(world: World, web: Web) -> None:
    stream = events(web.process.hub, None, quiet_s=0.01)
    assert next(stream) == b"retry: 1000\n\n"
    assert b"event: tick" in next(stream)
    assert web.process.renewal.step() is False
    delete(world)
    assert web.process.renewal.step() is False
    assert next(stream) == b"event: reset\ndata: {}\n\n"
    assert next(stream) == b": still here\n\n", "no message of before"
    web.process.renewal.step()
    assert next(stream) == b": still here\n\n", "told once"
    stream.close()
    assert web.get(f"live?after={web.process.sources.tail.latest_tick}") == {"reset": True}


def test_the_next_process_begins_once_there_is_a_store_again(world: World) -> None:
    asked: list[str] = []
    store = open_store(world.url, writer=False, now_ms=world.now)
    renewal = Renewal(store, Hub(), world.url, lambda: world.now, lambda: asked.append("renew"))
    path = delete(world)
    assert renewal.step() is False
    path.write_bytes(b"")  # as a collector leaves it for a moment
    assert (renewal.step(), asked) == (False, [])
    open_store(world.url, writer=True, now_ms=world.now).close()
    assert (renewal.step(), asked) == (True, ["renew"])
    store.close()


def test_a_running_process_asks_to_be_renewed(world: World) -> None:
    """The thread that looks is started and ended with the process."""
    asked = threading.Event()
    store = open_store(world.url, writer=False, now_ms=world.now)
    process = WebProcess(WebConfig(store_url=world.url), store, lambda: world.now, asked.set)
    process.start()
    delete(world)
    open_store(world.url, writer=True, now_ms=world.now).close()
    assert asked.wait(30)
    process.close()
