"""The endpoints over real HTTP, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from simulator.faults import FAULTS, Order
from simulator.server import Options, Simulator

EPOCH_S = 1_796_000_000.0
Story = Callable[["Stage"], Awaitable[None]]


class Stage:
    """A simulator that serves, a clock to turn, and a client of one connection per request."""

    def __init__(self, options: Options) -> None:
        self.now = 1000.0
        self.simulator = Simulator(options, lambda: self.now, lambda: EPOCH_S)

    async def move(self, seconds: float) -> None:
        """Let time pass, and the endpoints follow."""
        self.now += seconds
        self.simulator.advance()
        await self.simulator.attend()

    async def ask(self, url: str, method: str = "GET", content: Any = None, **headers: str) -> tuple[int, str]:
        """Status and body of one request; ConnectionError when there is no answer."""
        body = b"" if content is None else json.dumps(content).encode()
        return await self.raw(url, method, body, {"Content-Type": "application/json", **headers})

    async def raw(self, url: str, method: str, body: bytes, headers: dict[str, str]) -> tuple[int, str]:
        host, _, path = url.removeprefix("http://").partition("/")
        reader, writer = await asyncio.open_connection(*host.split(":"))
        lines = [f"{method} /{path} HTTP/1.1", f"Host: {host}", "Connection: close", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join((*lines, "", "")).encode() + body)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        if not answer:
            raise ConnectionResetError("no answer")
        head, _, text = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), text.decode()


def play(story: Story, **options: Any) -> None:
    async def run() -> None:
        stage = Stage(Options(**{"nodes": 3, **options}))
        await stage.simulator.start()
        try:
            await asyncio.wait_for(story(stage), 60)
        finally:
            await stage.simulator.stop()

    asyncio.run(run())


def test_everything_answers() -> None:
    async def story(stage: Stage) -> None:
        addresses = stage.simulator.addresses()
        assert list(addresses["nodes"]) == ["spark-01", "spark-02", "spark-03"]
        assert len({addresses["engine"], addresses["control"], *addresses["nodes"].values()}) == 5
        for url in addresses["nodes"].values():
            status, text = await stage.ask(url + "/metrics")
            assert (status, text[:20]) == (200, "# HELP tachograph_gp")
            assert (await stage.ask(url + "/other"))[0] == 404
        engine = addresses["engine"]
        assert (await stage.ask(engine + "/metrics"))[1].startswith("# HELP process_")
        assert json.loads((await stage.ask(engine + "/version"))[1]) == {"version": "0.32.0"}
        assert json.loads((await stage.ask(engine + "/v1/models"))[1])["data"][0]["id"] == "moonshotai/Kimi-K3"
        assert await stage.ask(engine + "/health") == (200, "")
        assert (await stage.ask(engine + "/v1/completions"))[0] == 404
        state = json.loads((await stage.ask(addresses["nodes"]["spark-02"] + "/state?after=1"))[1])
        assert (state["facts"]["hostname"], state["events"]) == ("spark-02", [])
        assert len(json.loads((await stage.ask(addresses["nodes"]["spark-02"] + "/state?after=x"))[1])["events"]) == 1

    play(story)


def test_a_connection_stays_open() -> None:
    async def story(stage: Stage) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.simulator.engine.port)
        for _ in range(3):
            writer.write(b"GET /version HTTP/1.1\r\nHost: x\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert b"keep-alive" in head
            await reader.readexactly(len('{"version": "0.32.0"}'))
        writer.close()
        await writer.wait_closed()

    play(story)


@pytest.mark.parametrize(
    "sent",
    [b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nContent-Length: 99999\r\n\r\n", b"GET /" + b"x" * 20_000 + b"\r\n\r\n"],
)
def test_what_is_no_request_is_refused(sent: bytes) -> None:
    async def story(stage: Stage) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.simulator.engine.port)
        writer.write(sent)
        assert (await reader.readline()).startswith(b"HTTP/1.1 400")
        writer.close()
        await writer.wait_closed()

    play(story)


def test_time_passes_on_the_pages() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.agents[0].url + "/metrics"
        name = "\ntachograph_agent_time_seconds "
        before = (await stage.ask(url))[1].partition(name)[2].split()[0]
        await stage.move(12.5)
        after = (await stage.ask(url))[1].partition(name)[2].split()[0]
        assert (float(before), float(after)) == (EPOCH_S, EPOCH_S + 12.5)
        assert stage.simulator.world.now == 25.0

    play(story, speed=2.0)


def test_one_reading_serves_a_moment_within_a_cell() -> None:
    async def story(stage: Stage) -> None:
        async def clock() -> float:
            text = (await stage.ask(stage.simulator.agents[0].url + "/metrics"))[1]
            return float(text.partition("\ntachograph_agent_time_seconds ")[2].split()[0]) - EPOCH_S

        told = []
        for seconds in (0.1, 0.01, 0.05, 0.085, 0.015):
            stage.now += seconds
            told.append(await clock())
        assert told == pytest.approx([0.1, 0.1, 0.16, 0.245, 0.26], abs=1e-6)

    play(story)


def test_ports_from_a_base() -> None:
    async def story(stage: Stage) -> None:
        simulator = stage.simulator
        base = simulator.engine.port
        assert simulator.control.port == base + 1
        assert [agent.port for agent in simulator.agents] == [base + 2, base + 3, base + 4]

    for base in (23_410, 24_810, 26_210):
        try:
            play(story, port_base=base)
        except OSError:
            continue
        return
    pytest.skip("no five free ports in a row")


def test_an_agent_that_is_down_refuses_and_comes_back_on_its_port() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.agents[1].url
        await stage.move(11)
        with pytest.raises(ConnectionRefusedError):
            await stage.ask(url + "/metrics")
        assert (await stage.ask(stage.simulator.agents[0].url + "/metrics"))[0] == 200
        await stage.move(10)
        assert (await stage.ask(url + "/metrics"))[0] == 200

    play(story, faults=(Order("agent-down", "spark-02", 10.0, 10.0),))


def test_a_node_that_is_down_says_nothing() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.agents[1].url
        await stage.move(11)
        waiting = asyncio.ensure_future(stage.ask(url + "/metrics"))
        done, _ = await asyncio.wait({waiting}, timeout=0.5)
        assert not done, "the connection is taken and nothing comes"
        assert (await stage.ask(stage.simulator.agents[0].url + "/metrics"))[0] == 200
        await stage.move(10)
        with pytest.raises(ConnectionResetError):
            await waiting
        assert (await stage.ask(url + "/metrics"))[0] == 200

    play(story, faults=(Order("node-down", "spark-02", 10.0, 10.0),))


def test_the_engine_is_silent_when_its_head_is_down() -> None:
    async def story(stage: Stage) -> None:
        await stage.move(11)
        waiting = asyncio.ensure_future(stage.ask(stage.simulator.engine.url + "/metrics"))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done
        await stage.move(10)
        with pytest.raises(ConnectionResetError):
            await waiting
        with pytest.raises(ConnectionRefusedError):
            await stage.ask(stage.simulator.engine.url + "/metrics")

    play(story, faults=(Order("node-down", "spark-01", 10.0, 10.0),))


@pytest.mark.parametrize("fault", ["engine-restart", "loading"])
def test_an_engine_without_a_process_refuses(fault: str) -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.engine.url + "/metrics"
        await stage.move(11)
        with pytest.raises(ConnectionRefusedError):
            await stage.ask(url)
        await stage.move(20)
        assert (await stage.ask(url))[0] == 200

    play(story, faults=(Order(fault, None, 10.0, 20.0),))


def test_an_engine_stopped_by_hand_still_answers_for_a_moment() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.engine.url + "/metrics"
        await stage.move(12)
        assert 'num_requests_running{engine="0",model_name="moonshotai/Kimi-K3"} 0.0' in (await stage.ask(url))[1]
        await stage.move(4)
        with pytest.raises(ConnectionRefusedError):
            await stage.ask(url)

    play(story, faults=(Order("engine-stop", None, 10.0, 60.0),))


@pytest.mark.parametrize("target", ["engine", "spark-02"])
def test_a_slow_scrape_is_late(target: str) -> None:
    async def story(stage: Stage) -> None:
        await stage.move(2)
        slow = stage.simulator.engine if target == "engine" else stage.simulator.agents[1]
        quick = stage.simulator.agents[1] if target == "engine" else stage.simulator.engine
        loop = asyncio.get_running_loop()
        start = loop.time()
        assert (await stage.ask(quick.url + "/metrics"))[0] == 200
        assert loop.time() - start < 2.0
        start = loop.time()
        assert (await stage.ask(slow.url + "/metrics"))[0] == 200
        assert loop.time() - start >= 2.5

    play(story, faults=(Order("slow-scrape", target, 1.0, 60.0),))


def test_faults_on_and_off() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.control.url
        listed = json.loads((await stage.ask(url + "/faults"))[1])
        assert [row["name"] for row in listed["known"]] == list(FAULTS)
        assert listed["incidents"] == []
        status, text = await stage.ask(
            url + "/faults", "POST", {"name": "thermal", "node": "spark-02", "duration_s": 60}
        )
        made = json.loads(text)
        assert (status, made) == (201, {"id": 1, "name": "thermal", "target": "spark-02", "start": 0.25, "end": 60.25})
        await stage.move(5)
        assert stage.simulator.world.conditions.nodes.cooling.tolist() == [1.0, 2.1, 1.0]
        listed = json.loads((await stage.ask(url + "/faults"))[1])
        assert (listed["now"], listed["incidents"]) == (5.0, [{**made, "state": "on"}])
        status, text = await stage.ask(url + "/faults/1", "DELETE")
        assert (status, json.loads(text)["end"]) == (200, 5.25)
        await stage.move(5)
        assert stage.simulator.world.conditions.nodes.cooling.tolist() == [1.0, 1.0, 1.0]
        assert json.loads((await stage.ask(url + "/faults"))[1])["incidents"][0]["state"] == "over"
        assert (await stage.ask(url + "/faults/1", "DELETE"))[0] == 404
        assert (await stage.ask(url + "/faults/x", "DELETE"))[0] == 404
        status, text = await stage.ask(url + "/faults", "POST", {"name": "wedge"})
        assert (status, json.loads(text)["end"]) == (201, None)

    play(story)


REFUSED: tuple[Any, ...] = (
    {"name": "flood"},
    {"name": "thermal", "node": "spark-77"},
    {"name": "thermal", "node": 3},
    {"name": "wedge", "duration_s": "long"},
    {"name": "wedge", "duration_s": True},
    {"name": "wedge", "duration_s": -1},
    {"node": "spark-01"},
    ["wedge"],
)


def test_what_makes_no_sense_is_refused_with_a_sentence() -> None:
    async def story(stage: Stage) -> None:
        url = stage.simulator.control.url
        for content in REFUSED:
            status, text = await stage.ask(url + "/faults", "POST", content)
            assert status == 400, content
            assert len(json.loads(text)["error"]) > 10
        broken = await stage.raw(url + "/faults", "POST", b"{", {"Content-Type": "application/json"})
        assert broken[0] == 400
        form = await stage.raw(url + "/faults", "POST", b'{"name": "wedge"}', {"Content-Type": "text/plain"})
        assert form[0] == 415, "a form of another page cannot send JSON"
        assert stage.simulator.world.incidents == []
        assert (await stage.ask(url + "/truth?after=x"))[0] == 400
        assert (await stage.ask(url + "/"))[0] == 404
        assert (await stage.ask(url + "/faults", "PUT"))[0] == 404

    play(story)


def test_truth_is_told_and_written(tmp_path: Path) -> None:
    async def story(stage: Stage) -> None:
        await stage.move(20.5)
        url = stage.simulator.control.url
        told = json.loads((await stage.ask(url + "/truth?after=17"))[1])
        assert [line["t"] for line in told["seconds"]] == [18, 19, 20]
        assert (told["epoch_s"], told["seed"], told["now"]) == (EPOCH_S, 7, 20.5)
        await stage.ask(url + "/faults", "POST", {"name": "thermal", "node": "spark-02", "duration_s": 5})
        assert [one["name"] for one in json.loads((await stage.ask(url + "/truth?after=20"))[1])["faults"]] == [
            "thermal"
        ]
        await stage.move(2)
        (file,) = tmp_path.glob("*.jsonl")
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        kinds = [line["kind"] for line in lines]
        assert kinds == ["about", *["second"] * 20, "fault", *["second"] * 2], "flushed, in order"
        assert [line["t"] for line in lines if line["kind"] == "second"] == list(range(1, 23))
        assert lines[-1]["faults"] == [1]
        assert told["seconds"] == lines[18:21]

    play(story, truth=tmp_path)


def test_no_other_origin_is_let_in() -> None:
    async def story(stage: Stage) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", stage.simulator.control.port)
        writer.write(b"OPTIONS /faults HTTP/1.1\r\nHost: x\r\nOrigin: http://evil\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        assert answer.startswith(b"HTTP/1.1 404")
        assert b"Access-Control" not in answer

    play(story)
