"""A world, a web process over its store, and real HTTP in front of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from dashboard.config import WebConfig
from dashboard.process import WebProcess
from dashboard.server import build
from storage.store import open_store
from tests.web.world import World


class Web:
    """A web process over a world, driven step by step: no thread, no wall clock."""

    def __init__(self, world: World, **settings: Any) -> None:
        self.world = world
        config = WebConfig(store_url=world.url, **settings)
        store = open_store(world.url, writer=False, now_ms=world.now)
        self.process = WebProcess(config, store, lambda: world.now)

    @cached_property
    def server(self) -> Flask:
        """The Flask server around it without the pages, made when it is first asked for."""
        return build(self.process, pages=False)

    @cached_property
    def pages(self) -> FlaskClient:
        """A client of the server with its pages."""
        return build(self.process).test_client()

    @cached_property
    def client(self) -> FlaskClient:
        """A client of it that needs no socket."""
        return self.server.test_client()

    def step(self) -> dict[str, Any]:
        """Look at the store; the newest message, whole."""
        self.process.follower.step()
        message = self.process.hub.latest()[1]
        assert message is not None, "nothing was published"
        return dict(message)

    def get(self, path: str, status: int = 200) -> Any:
        """JSON of an API route."""
        answer = self.client.get(f"/api/v1/{path}")
        assert answer.status_code == status, answer.text
        return answer.json

    def close(self) -> None:
        """Close everything."""
        self.process.close()


MakeWorld = Callable[..., World]
MakeWeb = Callable[..., Web]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[MakeWorld]:
    """Makes worlds: make_world(nodes=4, engines=True)."""
    made: list[World] = []

    def make(**shape: Any) -> World:
        made.append(World(tmp_path / f"store{len(made)}.db", **shape))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture
def make_web() -> Iterator[MakeWeb]:
    """Makes web processes: make_web(world, token=…)."""
    made: list[Web] = []

    def make(world: World, **settings: Any) -> Web:
        made.append(Web(world, **settings))
        return made[-1]

    yield make
    for web in made:
        web.close()


@pytest.fixture
def serve() -> Iterator[Callable[[Web], str]]:
    """Serves a web process over real HTTP; gives its address."""
    running: list[Any] = []

    def start(web: Web) -> str:
        server = make_server("127.0.0.1", 0, web.server, threaded=True)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        running.append((server, web))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, web in running:
        web.process.hub.close()
        server.shutdown()
        server.server_close()
