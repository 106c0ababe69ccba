"""Streams and polling over real HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dashboard.api.stream import events, follow
from dashboard.live.hub import Hub
from telemetry.catalog import engine
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_live_hub import message
from tests.web.world import HEAD, constant, node_series, tick

Serve = Callable[[Web], str]


class Events:
    """Reads a stream's events as a browser would."""

    def __init__(self, reply: Any) -> None:
        self.reply = reply

    def next(self) -> tuple[str, int | None, Any]:
        """(name, id, data) of the next event; comments and retry lines are passed over."""
        fields: dict[str, str] = {}
        while True:
            line = self.reply.readline().decode()
            assert line, "the stream ended"
            if line == "\n" and "data" in fields:
                number = fields.get("id")
                return fields["event"], None if number is None else int(number), json.loads(fields["data"])
            name, _, value = line.rstrip("\n").partition(": ")
            fields[name] = value


@contextmanager
def stream(address: str, query: str = "", **headers: str) -> Iterator[Events]:
    request = urllib.request.Request(f"{address}/api/v1/stream{query}", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as reply:
        assert reply.headers["Content-Type"] == "text/event-stream"
        assert reply.headers["Cache-Control"] == "no-cache"
        yield Events(reply)


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    """A web process whose world stands at tick 30."""
    world = make_world()
    world.run(0, 30)
    web = make_web(world)
    web.step()
    return web


def go_on(web: Web, number: int) -> None:
    """One more tick, published."""
    web.world.run(number, number)
    web.step()


def test_bootstrap_then_stream_then_differences(web: Web, serve: Serve) -> None:
    address = serve(web)
    boot = web.get("live?minutes=15")
    assert boot["tick"] == tick(30)
    web.world.set(HEAD, engine.REQUESTS_RUNNING, constant(5.0))
    go_on(web, 31)
    with stream(address, f"?after={boot['tick']}") as told:
        name, number, first = told.next()
        assert (name, number) == ("tick", tick(31))
        assert first["cells"]["requests.running"] == ["5", ""]
        assert "decode.now" not in first["cells"], "what did not change is not told again"
        assert first["nodes"] == []
        go_on(web, 32)
        assert told.next()[1] == tick(32)


def test_interrupted_stream_resumes_by_its_last_event(web: Web, serve: Serve) -> None:
    address = serve(web)
    go_on(web, 31)
    go_on(web, 32)
    with stream(address, **{"Last-Event-ID": str(tick(31))}) as told:
        assert told.next()[1] == tick(32)


def test_stream_without_a_start_begins_with_the_whole(web: Web, serve: Serve) -> None:
    with stream(serve(web)) as told:
        name, number, whole = told.next()
        assert (name, number) == ("tick", tick(30))
        assert len(whole["cells"]) == 25
        assert [node["name"] for node in whole["nodes"]] == ["spark-01", "spark-02", "spark-03", "spark-04"]


def test_stream_from_an_unknown_tick_is_reset(web: Web, serve: Serve) -> None:
    with stream(serve(web), "?after=5") as told:
        assert told.next()[::2] == ("reset", {})
        assert told.next()[0] == "tick"


def test_stream_is_reset_when_a_node_joins(web: Web, serve: Serve) -> None:
    with stream(serve(web), f"?after={tick(30)}") as told:
        web.world.add("spark-05", "node", node_series(4))
        go_on(web, 31)
        assert told.next()[0] == "reset"
        assert len(told.next()[2]["nodes"]) == 5


def test_polling(web: Web) -> None:
    assert web.get(f"live?after={tick(30)}") == {"messages": []}
    go_on(web, 31)
    go_on(web, 32)
    messages = web.get(f"live?after={tick(30)}")["messages"]
    assert [one["tick"] for one in messages] == [tick(31), tick(32)]
    assert web.get("live?after=7") == {"reset": True}
    assert "after" in web.get("live?after=x", 400)["error"]


def test_no_place_left_is_503_with_what_to_do(web: Web, serve: Serve) -> None:
    address = serve(web)
    web.process.hub._stream_cap = 1
    with stream(address) as told:
        told.next()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{address}/api/v1/stream", timeout=60)
        with refused.value as answer:
            assert answer.code == 503
            assert answer.headers["Retry-After"] == "10"
            assert "live?after=TICK" in json.load(answer)["error"]


def test_place_is_given_back_when_the_client_leaves(web: Web) -> None:
    answer = web.client.get("/api/v1/stream", buffered=False)
    assert web.process.hub.streams == 1
    answer.close()
    assert web.process.hub.streams == 0


def test_quiet_stream_is_kept_alive_by_comments() -> None:
    hub = Hub()
    hub.publish(message(1))
    told = events(hub, 1, quiet_s=0.01)
    assert next(told) == b"retry: 1000\n\n"
    assert next(told) == b": still here\n\n"
    hub.publish(message(2))
    assert next(told).startswith(b"event: tick\nid: 2\ndata: {")
    hub.close()
    assert list(told) == []


def test_stream_before_the_first_message_waits_for_it() -> None:
    hub = Hub()
    told = follow(hub, 0, quiet_s=30)
    hub.publish(message(1))
    assert next(told) == b"event: reset\ndata: {}\n\n"
    assert b'"tick":1' in next(told)


def test_history_of_the_bootstrap(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.silence("spark-02", 100)
    world.prefill(10, 20, 7_500, 10.0)
    world.run(0, 120)
    web = make_web(world)
    web.step()
    history = web.get("live?minutes=1")["history"]
    assert history["t"] == [tick(number) for number in range(60, 121)]
    assert set(history["points"]) == {
        "decode", "prefill", "util_mean", "util_min", "util_max", "util_outlier", "net", "net_worst"
    }  # fmt: skip
    assert history["points"]["decode"] == [20.0] * 61
    assert history["points"]["prefill"] == [None] * 61
    assert history["node_cells"] == ["utilization", "power", "temperature", "clock", "headroom", "interconnect"]
    assert [metric["key"] for metric in history["map_metrics"]] == list(history["map"])
    power = history["map"]["power"]
    assert power[0] == [50] * 61
    assert power[1] == [51] * 42 + [None] * 19, "held for two ticks, then unknown"
    assert history["map"]["interconnect"][0] == [3.2] * 61
    assert history["map_metrics"][1] == {
        "key": "utilization", "label": "GPU utilisation", "unit": "%", "low": 0.0, "high": 100.0
    }  # fmt: skip


def test_prefill_stands_in_history_where_it_happened(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.prefill(10, 20, 7_500, 10.0)
    world.prefill(20, 21, 100, None)
    world.run(0, 40)
    web = make_web(world)
    web.step()
    prefill = web.get("live?minutes=15")["history"]["points"]["prefill"]
    assert prefill == [None] * 10 + [750.0] * 11 + [None] * 20


def test_history_of_no_time_is_empty(web: Web) -> None:
    history = web.get("live?minutes=0")["history"]
    assert history["t"] == []
    assert set(map(len, history["points"].values())) == {0}
    assert history["map"]["power"] == [[], [], [], []]
    assert len(history["map_metrics"]) == 6


def test_bootstrap_is_shared_within_a_second(web: Web) -> None:
    first = web.process.live(15)
    assert web.process.live(15) is first
    assert web.process.live(5) is not first
    web.world.now += 1000
    assert web.process.live(15) is not first


def test_bootstraps_of_several_spans_are_kept_beside_each_other(web: Web) -> None:
    """Pages ask for none with their HTML and for all by script; neither may make the other's anew."""
    spans = (0.0, 15.0, 0.1, 0.25)
    made = [web.process.live(minutes) for minutes in spans]
    assert [len(one["history"]["t"]) for one in made if one] == [0, 31, 7, 16]
    assert all(web.process.live(minutes) is one for minutes, one in zip(spans, made, strict=True))
    fifth = web.process.live(0.4)
    assert web.process.live(0.4) is fifth
    assert [web.process.live(minutes) is one for minutes, one in zip(spans[1:], made[1:], strict=True)] == [True] * 3
    assert web.process.live(0.0) is not made[0], "the one asked for longest ago is given up"


def test_bootstrap_fits_the_differences_that_follow(web: Web) -> None:
    """A tick that has come but is not told yet must not be in the bootstrap."""
    web.world.run(31, 31)
    web.process.sources.tail.follow()
    assert web.process.live(15)["tick"] == tick(30)  # type: ignore[index]


@pytest.mark.parametrize("minutes", ["16", "-1", "x"])
def test_minutes_are_checked(web: Web, minutes: str) -> None:
    assert "minutes" in web.get(f"live?minutes={minutes}", 400)["error"]


def test_ticks_that_come_together_are_told_one_by_one(web: Web) -> None:
    web.world.run(31, 50)
    assert web.process.follower.step() == 10
    web.world.run(29, 29)
    assert web.process.follower.step() == 0, "late rows of an old tick make no message"
