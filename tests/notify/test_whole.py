"""A collector with rules, an outbox, a sender and a real receiver; and the answers of the API about it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from alerts.defaults import defaults
from alerts.given import CHANNEL_FAILING
from alerts.notices import Channel
from alerts.rule import rules
from dashboard.api import channel_answers
from dashboard.config import WebConfig
from dashboard.process import WebProcess
from dashboard.server import build
from pipeline.config import TargetKind
from pipeline.notify.destination import Destination, Shown
from pipeline.notify.sender import Sender
from pipeline.notify.transport import Transport
from pipeline.upkeep import Upkeep
from storage.store import Store, open_store
from tests.notify.receivers import Hook, hook
from tests.pipeline.stage import Stage
from tests.pipeline.test_alarms import PAGE, Node

OPS = Channel("ops", gather_ms=0)


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as found:
        yield found


def sender(store: Store, receiver: Hook) -> Sender:
    return Sender(
        store, [Destination(OPS, receiver.url())], Transport().deliver, lambda: rules(defaults()), "http://hub:8050"
    )


def test_a_gpu_that_gets_hot_is_told_and_that_it_is_well_again(tmp_path: Path, receiver: Hook) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)
    stage.settings = {"channels": (OPS,)}

    async def story(stage: Stage) -> None:
        for second in range(1, 141):
            stage.status, stage.body = 200, PAGE.format(degrees=86 if second < 71 else 80).encode()
            await stage.tick(second)

    stage.play(story)
    store = open_store(str(stage.path), writer=False, now_ms=0)
    found = sender(store, receiver)
    words = [one.words for one in store.outgoing()]
    assert [[(number, word.value) for number, word in one or ()] for one in words] == [
        [(1, "firing")],
        [(1, "resolved")],
    ]
    assert [one.at_ms for one in store.outgoing()] == [61_000, 131_000]
    found.step(61_000)
    found.finish()
    store.close()
    (body,) = receiver.bodies()[:1]
    assert body["alerts"][0]["message"] == "one: GPU 0 is at 86.0 °C, limit 85.0 °C, for 1m 0s"
    assert body["alerts"][0]["labels"] == {"node": "one", "gpu": "0"}


@pytest.mark.parametrize(
    ("silent_from_s", "hot_until_s", "told"),
    [
        (30, 200, [("firing", 150)]),  # it begins inside, and goes on
        (70, 80, [("firing", 61), ("resolved", 150)]),  # it recovers inside
        (30, 75, []),  # it comes and goes inside
        (70, 200, [("firing", 61)]),  # it goes on all the time
    ],
)
def test_a_maintenance(tmp_path: Path, silent_from_s: int, hot_until_s: int, told: list[tuple[str, int]]) -> None:
    """Hot from second 1 on, which fires at 61 and is over a minute after the heat; nobody is told until 150."""
    node = Node(tmp_path / "store.db", TargetKind.NODE)
    node.settings = {"channels": (OPS,)}

    async def story(stage: Stage) -> None:
        await node.ticks(1, silent_from_s - 1, 86)
        assert await node.asks(silent_from_s, "silence", node="one", end_ms=150_000) is None
        await node.ticks(silent_from_s + 2, hot_until_s, 86)
        await node.ticks(hot_until_s + 1, 200, 80)

    node.play(story)
    store = open_store(str(node.path), writer=False, now_ms=0)
    found = [(word.value, one.at_ms // 1000) for one in store.outgoing() for _, word in one.words or ()]
    store.close()
    assert found == told


def test_a_channel_that_fails_is_what_a_rule_reads(tmp_path: Path, receiver: Hook) -> None:
    stage = Stage(tmp_path / "store.db", TargetKind.NODE)
    stage.settings = {"channels": (OPS, Channel("off", enabled=False))}
    told: list[Any] = []

    async def story(stage: Stage) -> None:
        sampler = stage.sampler
        upkeep = Upkeep(sampler.writer.store, sampler, None, lambda _: None)  # type: ignore[arg-type]

        async def failing() -> float:
            await sampler.written()
            await upkeep.look_at_channels()
            given = sampler.hub.lookout.givens.at(sampler.last_tick, [])[CHANNEL_FAILING.name]
            assert list(given) == ["ops"]
            return float(given["ops"][0])

        stage.status, stage.body = 200, PAGE.format(degrees=86).encode()
        for second in range(1, 62):
            await stage.tick(second)
        told.append(await failing())
        with closing(open_store(str(stage.path), writer=False, now_ms=0)) as store:
            receiver.status = 500
            out = sender(store, receiver)
            out.step(62_000)
            out.finish()
            out.step(75_000)
            out.finish()
            told.append(await failing())
            receiver.status = 200
            out.step(100_000)
            out.finish()
            told.append(await failing())

    # The clock of upkeep is the machine's monotonic one; the hub's clock of this stage is the story's.
    stage.play(story)
    assert told[1:] == [1.0, 0.0]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[tuple[FlaskClient, Store]]:
    path = str(tmp_path / "store.db")
    store = open_store(path, writer=True, now_ms=0)
    process = WebProcess(WebConfig(path, channels=(Shown(OPS, "json://…"),)), open_store(path, writer=False, now_ms=0))
    app: Flask = build(process, pages=False)
    yield app.test_client(), store
    process.close()
    store.close()


def test_the_answers_about_channels(client: tuple[FlaskClient, Store], receiver: Hook) -> None:
    web, _ = client
    found = web.get("/api/v1/channels").get_json()
    assert found == {
        "channels": [
            {
                "name": "ops",
                "scheme": "json",
                "url": "json://…",
                "severity": "warning",
                "repeat_s": 14400,
                "resolved": True,
                "per_hour": 20,
                "gather_s": 0,
                "enabled": True,
                "last_success": None,
                "last_error": None,
                "waiting": 0,
                "held": 0,
                "failing": False,
            }
        ]
    }


def test_a_test_waits_for_what_the_receiver_says(client: tuple[FlaskClient, Store], receiver: Hook) -> None:
    web, store = client
    out, stop = sender(store, receiver), threading.Event()

    def run() -> None:
        while not stop.wait(0.02):
            waiting = store.outgoing()
            out.step(waiting[-1].at_ms if waiting else 0)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        answer = web.post("/api/v1/channels/ops/test")
        assert (answer.status_code, answer.get_json()["text"]) == (200, "HTTP 200 OK")
        receiver.status, receiver.answer = 403, b"not you, s3cr3t-token"
        answer = web.post("/api/v1/channels/ops/test")
        assert (answer.status_code, answer.get_json()["delivered"]) == (502, False)
        assert answer.get_json()["text"] == "HTTP 403 Forbidden"
    finally:
        stop.set()
        thread.join()
        out.finish()
    last = web.get("/api/v1/channels").get_json()["channels"][0]
    assert last["last_error"]["text"] == "HTTP 403 Forbidden"
    assert last["last_success"] is not None


def test_nobody_sends(client: tuple[FlaskClient, Store], monkeypatch: pytest.MonkeyPatch) -> None:
    web, _ = client
    monkeypatch.setattr(channel_answers, "WAIT_S", 0.2)
    answer = web.post("/api/v1/channels/ops/test")
    assert (answer.status_code, answer.get_json()["delivered"]) == (202, None)
    assert answer.get_json()["text"] == channel_answers.SILENT
    answer = web.post("/api/v1/channels/night/test")
    assert (answer.status_code, answer.get_json()["error"]) == (404, "There is no channel night.")
