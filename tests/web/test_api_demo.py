"""The simulator's fault panel through our own door: same origin, session, nothing when there is no simulator."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.web.conftest import MakeWeb, MakeWorld, Web

SAME = {"Origin": "http://localhost"}


class Panel(BaseHTTPRequestHandler):
    """A fault panel: echoes what it is asked."""

    def _answer(self, status: int, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self._answer(200, {"asked": self.path})

    def do_DELETE(self) -> None:
        self._answer(200, {"ended": self.path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = json.loads(body)
        self._answer(
            400 if asked.get("name") == "nonsense" else 201, {"told": asked, "kind": self.headers["Content-Type"]}
        )

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def panel() -> Iterator[str]:
    """Address of a running panel."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Panel)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb, panel: str) -> Web:
    """A web process in demo mode."""
    return make_web(make_world(), demo_control_url=panel + "/")


def test_faults_are_passed_through(web: Web) -> None:
    assert web.get("demo/faults") == {"asked": "/faults"}
    answer = web.client.post("/api/v1/demo/faults", json={"name": "wedge"}, headers=SAME)
    assert (answer.status_code, answer.json) == (201, {"told": {"name": "wedge"}, "kind": "application/json"})
    assert web.client.delete("/api/v1/demo/faults/7", headers=SAME).json == {"ended": "/faults/7"}


def test_what_the_simulator_refuses_is_refused(web: Web) -> None:
    answer = web.client.post("/api/v1/demo/faults", json={"name": "nonsense"}, headers=SAME)
    assert (answer.status_code, answer.json["told"]) == (400, {"name": "nonsense"})


def test_another_sites_page_cannot_break_the_demo(web: Web) -> None:
    headers = {"Origin": "https://evil.example"}
    assert web.client.post("/api/v1/demo/faults", json={"name": "wedge"}, headers=headers).status_code == 403
    assert web.client.delete("/api/v1/demo/faults/7", headers=headers).status_code == 403


def test_a_form_is_no_order(web: Web) -> None:
    assert web.client.post("/api/v1/demo/faults", data={"name": "wedge"}, headers=SAME).status_code == 415


def test_a_long_order_is_refused(web: Web) -> None:
    answer = web.client.post("/api/v1/demo/faults", json={"name": "x" * 5000}, headers=SAME)
    assert answer.status_code == 413


def test_a_simulator_that_is_gone(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(make_world(), demo_control_url="http://127.0.0.1:9")
    assert web.get("demo/faults", 502) == {"error": "The simulator does not answer."}


def test_without_a_demo_there_is_no_such_route(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(make_world())
    assert web.client.get("/api/v1/demo/faults").status_code == 404
    assert not web.process.demo_control
