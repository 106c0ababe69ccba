"""From an alert to what a receiver got: decided, stored, delivered; receivers that fail, silences, restarts."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.notices import Channel
from alerts.outbox import State
from alerts.record import Silence
from alerts.rule import Severity
from pipeline.notify.destination import Destination
from storage.errors import StoreFull
from tests.notify.receivers import Hook, hook
from tests.notify.stage import OPS, START_MS, Watch


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as found:
        yield found


@pytest.fixture
def watch(tmp_path: Path, receiver: Hook) -> Iterator[Watch]:
    found = Watch(tmp_path / "store.db", [Destination(OPS, receiver.url())])
    yield found
    found.close()


def told(receiver: Hook, since: int = 0) -> list[list[tuple[int, str]]]:
    """(alert, word) of each message."""
    return [[(one["id"], one["word"]) for one in body["alerts"]] for body in receiver.bodies()[since:]]


def test_an_alert_is_told_when_it_fires_and_when_it_is_over(watch: Watch, receiver: Hook) -> None:
    alert = watch.fire(1, "spark-01")
    watch.tick(alert)
    watch.wait(5)
    watch.tick(watch.end(alert))
    watch.wait(5)
    assert told(receiver) == [[(1, "firing")], [(1, "resolved")]]
    first, last = receiver.bodies()
    assert (first["channel"], first["alerts"][0]["resolved"]) == ("ops", None)
    assert last["alerts"][0]["resolved"] == START_MS + 7000 - 1000
    assert last["alerts"][0]["why_resolved"] == "it is well again"
    assert last["alerts"][0]["link"] == "http://hub:8050/alerts/1"
    assert [one.state for one in watch.store.outgoing()] == [State.SENT, State.SENT]


def test_what_is_due_comes_in_one_message_the_worst_first(watch: Watch, receiver: Hook) -> None:
    watch.tick(watch.fire(1, "spark-01", "warning"), watch.fire(2, "spark-02"), watch.fire(3, "spark-03", "info"))
    assert told(receiver) == [[(2, "firing"), (1, "firing")]]


def test_ten_minutes_of_a_failing_receiver_lose_nothing_that_still_matters(watch: Watch, receiver: Hook) -> None:
    """1 is told before. Meanwhile it ends, 2 comes and goes, 3 comes and stays."""
    one = watch.fire(1, "spark-01")
    watch.tick(one)
    receiver.status, receiver.answer = 503, b"not now"
    two, three = watch.fire(2, "spark-02"), watch.fire(3, "spark-03")
    watch.tick(two)
    watch.wait(60)
    watch.tick(watch.end(one), watch.end(two), three)
    watch.wait(540)
    tries = len(receiver.got) - 1
    assert 6 <= tries <= 12
    account = watch.store.accounts(["ops"], watch.now_ms)["ops"]
    assert (account.failing, account.waiting, account.last_error) == (True, 1, "HTTP 503 Service Unavailable")
    receiver.status = 200
    watch.wait(600)
    assert told(receiver, 1 + tries) == [[(3, "firing"), (1, "resolved"), (2, "resolved")]]
    account = watch.store.accounts(["ops"], watch.now_ms)["ops"]
    assert (account.failing, account.waiting) == (False, 0)
    assert Counter(one.state for one in watch.store.outgoing()) == {State.SENT: 2, State.DROPPED: 1}


def test_what_waited_says_of_each_alert_the_last_word_in_order(watch: Watch, receiver: Hook) -> None:
    one = watch.fire(1, "spark-01")
    changes = ((one, watch.fire(2, "spark-02")), (watch.fire(3, "spark-03"),), (watch.end(one),), ())
    for changed in changes:
        watch.second += 1
        watch.decide(*changed)
    watch.deliver()
    assert told(receiver) == [[(2, "firing")], [(3, "firing")], [(1, "resolved")]]


def test_a_message_that_is_tried_again_has_the_same_id(watch: Watch, receiver: Hook) -> None:
    receiver.status = 500
    watch.tick(watch.fire(1, "spark-01"))
    watch.wait(9)
    assert len(receiver.got) == 1
    watch.wait(1)
    receiver.status = 200
    watch.wait(20)
    bodies = receiver.bodies()
    assert len(bodies) == 3
    assert bodies[0] == bodies[1] == bodies[2]


def test_after_a_day_it_is_given_up_loudly(watch: Watch, receiver: Hook, caplog: pytest.LogCaptureFixture) -> None:
    receiver.status, receiver.answer = 500, b"broken"
    watch.tick(watch.fire(1, "spark-01"))
    watch.second += 24 * 3600 - 1
    watch.deliver()
    assert [one.state for one in watch.store.outgoing()] == [State.WAITING]
    watch.second += 1
    with caplog.at_level(logging.CRITICAL):
        watch.deliver()
    assert [(one.state, one.attempts) for one in watch.store.outgoing()] == [(State.GIVEN_UP, 2)]
    assert "could not be delivered for a day and is given up (HTTP 500 Internal Server Error): alerts 1" in caplog.text
    assert watch.store.accounts(["ops"], watch.now_ms)["ops"].failing


def test_sixteen_nodes_that_flap_for_an_hour_are_at_most_twenty_messages(watch: Watch, receiver: Hook) -> None:
    number, firing = 0, {}
    for second in range(0, 3600, 5):
        watch.second = second
        changed = []
        for node in range(16):
            if (second // 5 + node) % 4 == 0:
                number += 1
                firing[node] = watch.fire(number, f"spark-{node:02}")
                changed.append(firing[node])
            elif (second // 5 + node) % 4 == 2 and node in firing:
                changed.append(watch.end(firing.pop(node)))
        watch.decide(*changed)
        watch.deliver()
    assert number > 2800
    assert len(receiver.got) == 19


def test_after_a_window_only_what_is_newly_wrong_and_once_what_recovered(watch: Watch, receiver: Hook) -> None:
    """1 goes on, 2 recovers inside, 3 begins inside and goes on, 4 comes and goes inside."""
    one, two = watch.fire(1, "spark-01"), watch.fire(2, "spark-02")
    watch.tick(one, two)
    watch.silences = [Silence(1, watch.now_ms + 1000, watch.now_ms + 60_000)]
    watch.wait(2)
    three, four = watch.fire(3, "spark-03"), watch.fire(4, "spark-04")
    watch.tick(three, four, watch.end(two))
    watch.tick(watch.end(four))
    watch.wait(20)
    watch.begin_again()
    watch.wait(20)
    assert told(receiver) == [[(1, "firing"), (2, "firing")]]
    watch.wait(60)
    assert told(receiver, 1) == [[(3, "firing"), (2, "resolved")]]


def test_a_collector_that_starts_anew_tells_nothing_twice_and_forgets_nothing(watch: Watch, receiver: Hook) -> None:
    one = watch.fire(1, "spark-01")
    watch.second += 1
    watch.decide(one)
    watch.begin_again()
    watch.wait(3)
    assert told(receiver) == [[(1, "firing")]]
    watch.tick(watch.end(one))
    watch.begin_again()
    watch.wait(3)
    assert told(receiver) == [[(1, "firing")], [(1, "resolved")]]


def test_an_end_that_waits_for_room_outlives_a_restart(tmp_path: Path, receiver: Hook) -> None:
    channel = Channel("ops", gather_ms=0, per_hour=1)
    watch = Watch(tmp_path / "store.db", [Destination(channel, receiver.url())])
    one = watch.fire(1, "spark-01")
    watch.tick(one)
    watch.tick(watch.end(one))
    watch.begin_again()
    watch.wait(3)
    assert told(receiver) == [[(1, "firing")]]
    watch.second += 3600
    watch.tick()
    assert told(receiver) == [[(1, "firing")], [(1, "resolved")]]
    watch.close()


def test_a_slow_channel_keeps_no_other_waiting(tmp_path: Path) -> None:
    with hook() as slow, hook() as quick:
        slow.hold = threading.Event()
        channels = [
            Destination(Channel("a", gather_ms=0), slow.url()),
            Destination(Channel("b", gather_ms=0), quick.url()),
        ]
        watch = Watch(tmp_path / "store.db", channels)
        watch.decide(watch.fire(1, "spark-01"))
        watch.sender.step(watch.now_ms)
        assert quick.heard.wait(30)
        watch.sender.step(watch.now_ms)
        slow.hold.set()
        watch.sender.finish()
        assert (len(slow.got), len(quick.got)) == (1, 1)
        watch.close()


def test_each_channel_hears_what_it_wants(tmp_path: Path) -> None:
    with hook() as all_of, hook() as worst, hook() as off:
        channels = [
            Destination(Channel("all", Severity.INFO, gather_ms=0, resolved=False), all_of.url()),
            Destination(Channel("worst", Severity.CRITICAL, gather_ms=0), worst.url()),
            Destination(Channel("off", gather_ms=0, enabled=False), off.url()),
        ]
        watch = Watch(tmp_path / "store.db", channels)
        mild, bad = watch.fire(1, "spark-01", "info"), watch.fire(2, "spark-02")
        watch.tick(mild, bad)
        watch.tick(watch.end(mild), watch.end(bad))
        watch.wait(2)
        assert told(all_of) == [[(2, "firing"), (1, "firing")]]
        assert told(worst) == [[(2, "firing")], [(2, "resolved")]]
        assert off.got == []
        watch.close()


def test_messages_of_a_channel_that_is_gone_are_dropped(watch: Watch, receiver: Hook) -> None:
    receiver.status = 500
    watch.tick(watch.fire(1, "spark-01"))
    watch.sender.destinations = []
    watch.deliver()
    (one,) = watch.store.outgoing()
    assert (one.state, one.error) == (State.DROPPED, "the settings have no such channel that is on")


@pytest.mark.parametrize(("there", "bodies"), [(True, [True]), (False, [])])
def test_of_a_channel_that_is_off_only_a_test_is_sent(
    watch: Watch, receiver: Hook, there: bool, bodies: list[bool]
) -> None:
    """A test that waits for a channel which is there no more is dropped, too."""
    watch.decide(watch.fire(1, "spark-01"))
    watch.store.ask_test("ops", watch.now_ms)
    watch.sender.destinations = [Destination(replace(OPS, enabled=False), receiver.url())] if there else []
    watch.deliver()
    assert [one["test"] for one in receiver.bodies()] == bodies
    states = {one.is_test: one.state for one in watch.store.outgoing()}
    assert states == {False: State.DROPPED, True: State.SENT if there else State.DROPPED}


def test_a_test_is_sent_once_and_the_answer_kept(watch: Watch, receiver: Hook) -> None:
    identity = watch.store.ask_test("ops", watch.now_ms)
    watch.deliver()
    found = watch.store.notice(identity)
    assert found is not None
    assert (found.state, found.error, found.attempts) == (State.SENT, "HTTP 200 OK", 1)
    assert receiver.bodies() == [
        {"version": 1, "id": identity, "channel": "ops", "at": watch.now_ms, "test": True, "alerts": []}
    ]
    receiver.status, receiver.answer = 410, b"gone"
    watch.second += 1
    failed = watch.store.ask_test("ops", watch.now_ms)
    watch.wait(70)
    found = watch.store.notice(failed)
    assert found is not None
    assert (found.state, found.error, found.attempts) == (State.FAILED, "HTTP 410 Gone", 1)
    account = watch.store.accounts(["ops"], watch.now_ms)["ops"]
    assert (account.failing, account.last_error) == (False, "HTTP 410 Gone")


def test_a_clock_that_was_set_back_delays_nothing(watch: Watch, receiver: Hook) -> None:
    receiver.status = 500
    watch.second = 7200
    watch.decide(watch.fire(1, "spark-01"))
    watch.deliver()
    receiver.status = 200
    watch.sender.step(watch.now_ms - 3_600_000)
    watch.sender.finish()
    assert len(receiver.got) == 2


def test_the_repeat_says_still(watch: Watch, receiver: Hook) -> None:
    watch.tick(watch.fire(1, "spark-01"))
    watch.second += 4 * 3600 - 1
    watch.tick()
    watch.wait(1)
    assert told(receiver) == [[(1, "firing")], [(1, "still firing")]]


def test_old_messages_are_forgotten_and_waiting_ones_are_not(watch: Watch, receiver: Hook) -> None:
    watch.tick(watch.fire(1, "spark-01"))
    receiver.status = 500
    watch.tick(watch.fire(2, "spark-02"))
    assert watch.sender.tidy(watch.now_ms + 90 * 86_400_000 + 1) == 1
    assert [one.state for one in watch.store.outgoing()] == [State.WAITING]


def test_a_store_that_is_full_makes_no_message_two(
    watch: Watch, receiver: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came of an attempt cannot be written for a while: it is written before anything is sent again."""
    written = watch.store.settle_notice

    def full(*_: object) -> None:
        raise StoreFull("the disk is full")

    monkeypatch.setattr(watch.store, "settle_notice", full)
    watch.tick(watch.fire(1, "spark-01"))
    watch.wait(30)
    assert len(receiver.got) == 1
    monkeypatch.setattr(watch.store, "settle_notice", written)
    watch.wait(30)
    assert len(receiver.got) == 1
    assert [one.state for one in watch.store.outgoing()] == [State.SENT]
