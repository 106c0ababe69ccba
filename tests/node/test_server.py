"""The agent's HTTP server over real sockets: answers, limits, connections, tokens, goodbye."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from collectors.node import server as server_module
from collectors.node.answers import Answers
from collectors.node.request import BadRequestError, parse_head, parse_query
from collectors.node.rounds import Rounds
from collectors.node.scrapers import Scrapers
from collectors.node.server import AgentServer
from tests.node.node_machine import Node, machine, values

MakeNode = Callable[..., Node]
Start = Callable[..., "Running"]


class Running:
    """A server in its thread, and a client for it."""

    def __init__(self, rounds: Rounds, token: str | None, host: str) -> None:
        self.rounds, self.scrapers = rounds, Scrapers()
        self.server = AgentServer(host, 0, Answers(rounds, self.scrapers, token))
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(self.server.server_address[:2], timeout=20)

    def ask(self, request: str) -> tuple[int, dict[str, str], bytes]:
        with self.connect() as client:
            client.sendall(request.encode("latin-1"))
            return answer(client)

    def get(self, path: str, *headers: str) -> tuple[int, dict[str, str], bytes]:
        return self.ask("\r\n".join((f"GET {path} HTTP/1.1", "Host: x", *headers, "", "")))

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.close_all()


def answer(client: socket.socket, body: bool = True) -> tuple[int, dict[str, str], bytes]:
    """One whole answer from a connection."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = client.recv(65536)
        if not chunk:
            raise ConnectionResetError("closed")
        received += chunk
    head, _, rest = received.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    while body and len(rest) < int(headers["content-length"]):
        rest += client.recv(65536)
    return int(lines[0].split()[1]), headers, rest


@pytest.fixture
def start(node: MakeNode) -> Iterator[Start]:
    running: list[Running] = []

    def begin(token: str | None = None, host: str = "127.0.0.1") -> Running:
        running.append(Running(Rounds(machine(node())), token, host))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


def test_the_pages(start: Start) -> None:
    agent = start()
    status, headers, body = agent.get("/metrics")
    assert (status, headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert values(body)["cpu_cores"] == 20
    status, headers, body = agent.get("/state?after=0")
    assert (status, headers["content-type"], body[:1]) == (200, "application/json", b"{")
    assert agent.get("/healthz")[2] == b"ok\n"
    assert agent.get("/")[0] == 404


def test_any_number_of_scrapers_see_the_same(start: Start) -> None:
    agent = start()
    assert len({agent.get("/metrics")[2] for _ in range(5)}) == 1


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("POST /metrics HTTP/1.1", 405),
        ("GET /metrics", 400),
        ("GET http://x/metrics HTTP/1.1", 400),
        ("GET /metrics HTTP/2.0", 400),
        ("", 400),
        ("GET /state?after=-1 HTTP/1.1", 400),
        ("GET /state?after=x HTTP/1.1", 400),
        ("GET /state?after=²  HTTP/1.1", 400),
        ("GET /state?after=99999999999999999999999999 HTTP/1.1", 200),
        ("GET /state HTTP/1.1", 200),
    ],
)
def test_requests(start: Start, request_line: str, status: int) -> None:
    assert start().ask(f"{request_line}\r\nHost: x\r\n\r\n")[0] == status


@pytest.mark.parametrize("header", ["Content-Length: 5", "Transfer-Encoding: chunked", "no colon", ": x", "A : x"])
def test_headers_that_are_refused(start: Start, header: str) -> None:
    status, headers, _ = start().get("/metrics", header)
    assert (status, headers["connection"]) == (400, "close")


def test_head_has_no_body(start: Start) -> None:
    with start().connect() as client:
        client.sendall(b"HEAD /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n")
        received = b""
        while chunk := client.recv(4096):
            received += chunk
    assert received.count(b"Content-Length: 3") == 2
    assert received.count(b"ok\n") == 1


def test_a_connection_serves_many_requests(start: Start) -> None:
    with start().connect() as client:
        for _ in range(3):
            client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert answer(client)[2] == b"ok\n"


@pytest.mark.parametrize(
    ("version", "connection", "expected"),
    [("1.1", "", "keep-alive"), ("1.1", "Close", "close"), ("1.0", "", "close"), ("1.0", "Keep-Alive", "keep-alive")],
)
def test_how_long_a_connection_lives(version: str, connection: str, expected: str) -> None:
    lines = f"GET / HTTP/{version}" + (f"\r\nConnection: {connection}" if connection else "")
    assert parse_head(lines.encode()).keep_alive is (expected == "keep-alive")


def test_a_request_in_pieces(start: Start) -> None:
    with start().connect() as client:
        for piece in (b"GET /heal", b"thz HTTP/1.1\r\nHo", b"st: x\r\n\r", b"\n"):
            client.sendall(piece)
        assert answer(client)[2] == b"ok\n"


def test_a_long_head_is_refused(start: Start) -> None:
    assert start().get("/metrics", "X: " + "x" * 9000)[0] == 431


def test_a_slow_head_is_dropped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "HEAD_S", 0.05)
    with start().connect() as client:
        client.sendall(b"GET /met")
        assert client.recv(100) == b""


def test_an_idle_connection_is_dropped(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "IDLE_S", 0.05)
    with start().connect() as client:
        assert client.recv(100) == b""


def test_a_newcomer_takes_the_place_of_the_longest_idle(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 2)
    agent = start()
    with agent.connect() as first, agent.connect() as second:
        for client in (first, second, first):
            client.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            answer(client)
        with agent.connect() as third:
            third.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert answer(third)[0] == 200
            assert second.recv(100) == b""
            first.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert answer(first)[0] == 200


def test_a_token(start: Start) -> None:
    agent = start(token="s3cret")
    for path in ("/metrics", "/state", "/nothing"):
        status, headers, _ = agent.get(path)
        assert (status, headers["www-authenticate"]) == (401, "bearer")
    assert agent.get("/metrics", "Authorization: Bearer wrong")[0] == 401
    assert agent.get("/metrics", "Authorization: Bearer s3cre")[0] == 401
    assert agent.get("/metrics", "Authorization: Bearer s3cret")[0] == 200
    assert agent.get("/healthz")[0] == 200


def test_ipv6(start: Start) -> None:
    if not socket.has_ipv6:
        pytest.skip("this Python has no IPv6")
    try:
        agent = start(host="::1")
    except OSError as error:
        pytest.skip(f"this machine has no IPv6 loopback: {error}")
    assert agent.get("/healthz")[0] == 200


def test_queries() -> None:
    assert parse_query("after=3&x=&=1&y") == {"after": "3", "x": "", "y": ""}
    assert parse_head(b"GET /state?after=3?4 HTTP/1.1").query == {"after": "3?4"}
    with pytest.raises(BadRequestError):
        parse_head(b"GET  /x HTTP/1.1")


def test_scrapers_are_told_once(start: Start) -> None:
    scrapers = Scrapers()
    one, two, old = ("10.0.0.1", "hub"), ("10.0.0.2", "Prometheus"), ("10.0.0.3", "")
    scrapers.saw(old, 30.0, goodbye=False)
    scrapers.saw(one, 95.0, goodbye=False)
    scrapers.saw(two, 99.0, goodbye=False)
    assert scrapers.untold(100.0) == {one, two}, "the third was here more than a minute ago"
    scrapers.saw(one, 101.0, goodbye=True)
    assert scrapers.untold(101.0) == {two}
    assert scrapers.wait_until_told(101.0, 0.0) is False
    scrapers.saw(two, 101.5, goodbye=True)
    assert scrapers.wait_until_told(101.5, 0.0) is True


def test_a_scraper_is_an_address_and_a_name(start: Start) -> None:
    agent = start()
    agent.get("/metrics", "User-Agent: hub")
    agent.get("/metrics", "User-Agent: Prometheus")
    agent.get("/state", "User-Agent: browser")
    now = agent.rounds.machine.monotonic()
    assert agent.scrapers.untold(now) == {("127.0.0.1", "hub"), ("127.0.0.1", "Prometheus")}
    agent.rounds.say_goodbye()
    assert values(agent.get("/metrics", "User-Agent: hub")[2])["agent_goodbye"] == 1
    assert agent.scrapers.untold(now) == {("127.0.0.1", "Prometheus")}
