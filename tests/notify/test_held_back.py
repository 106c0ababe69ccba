"""What the limit of messages in an hour holds back: it is told when there is room, and said meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.notices import HOUR_MS
from dashboard.api import alert_answers
from dashboard.components.alert_channels import state
from dashboard.config import WebConfig
from dashboard.pages import alert as alert_page
from dashboard.process import WebProcess
from dashboard.server import build
from pipeline.notify.destination import Destination, Shown
from storage.store import open_store
from tests.notify.receivers import Hook, hook
from tests.notify.stage import OPS, Watch

FOUR = replace(OPS, per_hour=4)
"""Two at once, and one half an hour after the one before."""


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as found:
        yield found


def said(receiver: Hook) -> list[list[tuple[int, str]]]:
    return [[(one["id"], one["word"]) for one in body["alerts"]] for body in receiver.bodies()]


def test_a_receiver_hears_of_what_came_and_went_while_it_was_held_back(tmp_path: Path, receiver: Hook) -> None:
    """Two messages are all that goes out at once. What fires then, and ends before there is room, is told once, with
    what fires still, by another collector than the one that held it back; and until then the page and the API say so.
    """
    path = tmp_path / "store.db"
    with closing(Watch(path, [Destination(FOUR, receiver.url())])) as watch:
        watch.tick(watch.fire(1, "a"))
        watch.tick(watch.fire(2, "b"))
        assert said(receiver) == [[(1, "firing")], [(2, "firing")]]
        watch.tick(third := watch.fire(3, "c", "warning"))
        watch.second += 240
        watch.tick(watch.end(third))
        watch.tick(fourth := watch.fire(4, "d"))
        assert len(receiver.bodies()) == 2
        assert watch.store.accounts(["ops"], watch.now_ms)["ops"].held == 2
        watch.begin_again()
        watch.second = 2 + 1799
        watch.tick()
        assert said(receiver)[2:] == [[(4, "firing"), (3, "resolved")]]
        last = receiver.bodies()[-1]["alerts"][1]
        assert (last["resolved"] - last["fired"], last["why_resolved"]) == (241_000, "it is well again")
        assert watch.store.accounts(["ops"], watch.now_ms)["ops"].held == 0
        watch.begin_again()
        watch.second += 2 * HOUR_MS // 1000
        watch.tick()
        assert len(receiver.bodies()) == 3, "once"
        watch.tick(watch.end(fourth))
        assert said(receiver)[3:] == [[(4, "resolved")]]


def test_what_waits_is_said_of_the_channel_and_of_the_alert(tmp_path: Path, receiver: Hook) -> None:
    path = tmp_path / "store.db"
    with closing(Watch(path, [Destination(FOUR, receiver.url())])) as watch:
        watch.tick(watch.fire(1, "a"))
        watch.tick(watch.fire(2, "b"))
        watch.tick(third := watch.fire(3, "c"))
        config = WebConfig(str(path), channels=(Shown(FOUR, "json://…"),))
        with closing(WebProcess(config, open_store(str(path), writer=False, now_ms=0))) as process:
            web = build(process, pages=False).test_client()
            (channel,) = web.get("/api/v1/channels").get_json()["channels"]
            assert (channel["held"], channel["waiting"], channel["failing"]) == (1, 0, False)
            assert state(channel).endswith(", held back by the limit of 4 an hour: 1 waiting")
            found = {one["id"]: one["held_back"] for one in web.get("/api/v1/alerts").get_json()["alerts"]}
            assert found == {1: [], 2: [], 3: ["ops"]}
            assert "Not told yet to ops: held back by the limit" in reasons(process, 3)
            assert "held back" not in reasons(process, 2)
            watch.tick(watch.end(third))
            assert "Not told yet that it is over to ops: held back" in reasons(process, 3)


def reasons(process: WebProcess, number: int) -> str:
    answer = alert_answers.one(process.sources, {}, number)
    return " ".join(str(one.to_plotly_json()["props"]["children"]) for one in alert_page.reasons(answer))
