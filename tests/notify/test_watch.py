"""That the collector is silent is told by whoever delivers: once, by the rule's words, and by a clock nobody sets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from alerts.defaults import defaults, merged
from alerts.notices import Channel, Retry
from alerts.record import Alert, Silence
from alerts.rule import Rule, Severity, rules
from pipeline.notify.destination import Destination
from pipeline.notify.direct import Direct
from pipeline.notify.teller import Teller
from pipeline.notify.transport import Transport
from pipeline.notify.watch import Due, Look, Watch
from storage.store import open_store
from tests.notify.receivers import Hook, hook
from tests.notify.test_process import configure, notifier

NOW_MS = 1_790_000_000_000
CHANNEL = Channel("ops", gather_ms=0)


def book(**fields: Any) -> Mapping[str, Rule]:
    return rules(merged(defaults(), {"collector_silent": fields}))


class Hub:
    """A store that a test lets commit, and the watch over it, second by second."""

    def __init__(self, *channels: Channel, interval_s: float = 1.0, **fields: Any) -> None:
        self.watch = Watch([Destination(one, "json://127.0.0.1:1/") for one in channels])
        self.rules, self.interval_s, self.silences = book(**fields), interval_s, list[Silence]()
        self.sequence: int | None = 0
        self.second, self.step_ms = 0.0, 0
        self.told: list[tuple[float, str, str]] = []

    def go(self, seconds: int, *, commits: bool) -> None:
        for _ in range(seconds):
            self.second += 1
            if commits and self.sequence is not None:
                self.sequence += 1
            look = Look(self.sequence, self.interval_s, self.rules, self.silences)
            now_ms = NOW_MS + round(self.second * 1000) + self.step_ms
            for due in self.watch.look(look, self.second, now_ms):
                self.told += [
                    (self.second, due.destination.channel.name, word.value) for _, word in due.outgoing.words or ()
                ]


def test_a_silent_collector_is_told_after_ten_seconds_and_that_it_is_well_again_once() -> None:
    hub = Hub(CHANNEL)
    hub.go(30, commits=True)
    hub.go(60, commits=False)  # the last commit is of second 30, the next was due at 31
    hub.go(30, commits=True)
    assert hub.told == [(42, "ops", "firing"), (101, "ops", "resolved")]
    hub.go(20, commits=False)
    assert hub.told[2:] == [(132, "ops", "firing")]


def test_one_slow_commit_is_told_to_nobody() -> None:
    hub = Hub(CHANNEL)
    for _ in range(5):
        hub.go(10, commits=False)
        hub.go(1, commits=True)
    assert hub.told == []


def test_a_collector_that_looks_rarely_is_not_silent_between_two_looks() -> None:
    hub = Hub(CHANNEL, interval_s=30.0)
    hub.go(1, commits=True)
    hub.go(40, commits=False)
    assert hub.told == []
    hub.go(1, commits=False)
    assert hub.told == [(42, "ops", "firing")]


def test_a_store_that_cannot_be_read_tells_nothing_new() -> None:
    hub = Hub(CHANNEL)
    hub.go(5, commits=True)
    hub.sequence = None
    hub.go(12, commits=False)
    assert hub.told == [(17, "ops", "firing")]


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_a_clock_that_is_set_changes_nothing(step_ms: int) -> None:
    hub = Hub(CHANNEL)
    hub.go(10, commits=True)
    hub.step_ms = step_ms
    hub.go(15, commits=False)
    hub.step_ms = 0
    hub.go(20, commits=True)
    assert hub.told == [(22, "ops", "firing"), (36, "ops", "resolved")]


def test_it_is_told_like_any_other_alert() -> None:
    night = Channel("night", gather_ms=0, least=Severity.CRITICAL, resolved=False)
    off = Channel("off", gather_ms=0, enabled=False)
    hub = Hub(CHANNEL, night, off)
    hub.go(20, commits=False)
    hub.go(20, commits=True)
    assert hub.told == [(13, "ops", "firing"), (13, "night", "firing"), (31, "ops", "resolved")]
    only = Hub(CHANNEL, night, channels=["night"])
    only.go(20, commits=False)
    assert [name for _, name, _ in only.told] == ["night"]
    else_nobody = Hub(CHANNEL, off, channels=["off"])
    else_nobody.go(20, commits=False)
    assert [name for _, name, _ in else_nobody.told] == ["ops"]
    mild = Hub(night, severity="warning")
    mild.go(20, commits=False)
    assert mild.told == []
    silent = Hub(CHANNEL)
    silent.silences = [Silence(1, 0, NOW_MS + 25_000, rule="collector_silent")]
    silent.go(30, commits=False)
    assert silent.told == [(25, "ops", "firing")]
    again = Hub(replace(CHANNEL, repeat_ms=60_000))
    again.go(80, commits=False)
    assert again.told == [(13, "ops", "firing"), (73, "ops", "still firing")]


@pytest.mark.parametrize("fields", [{"enabled": False}, {"settings": {"most": "60 s"}}])
def test_the_rule_is_as_people_made_it(fields: dict[str, Any]) -> None:
    hub = Hub(CHANNEL, **fields)
    hub.go(60, commits=False)
    assert hub.told == []


def test_a_rule_that_is_switched_off_meanwhile_is_forgotten() -> None:
    hub = Hub(CHANNEL)
    hub.go(20, commits=False)
    hub.rules = book(enabled=False)
    hub.go(5, commits=True)
    hub.rules = book()
    hub.go(5, commits=True)
    assert hub.told == [(13, "ops", "firing")]


def test_a_channel_that_wants_no_ends_hears_of_the_next_silence() -> None:
    hub = Hub(replace(CHANNEL, resolved=False))
    for _ in range(2):
        hub.go(20, commits=False)
        hub.go(20, commits=True)
    assert hub.told == [(13, "ops", "firing"), (52, "ops", "firing")]


def test_a_rule_that_is_switched_on_again_tells_of_the_next_silence() -> None:
    hub = Hub(CHANNEL)
    hub.go(20, commits=False)
    hub.rules = book(enabled=False)
    hub.go(5, commits=True)
    hub.rules = book()
    hub.go(1, commits=True)
    hub.go(20, commits=False)
    assert hub.told == [(13, "ops", "firing"), (38, "ops", "firing")]


def test_the_collector_tells_nobody_of_it() -> None:
    """It may find out itself that it could not write, afterwards: then it was told already."""
    alert = Alert(1, "collector_silent", "", "cluster", (), "critical", "", NOW_MS, NOW_MS, "it hangs")
    teller, found = Teller([CHANNEL]), book()
    assert teller.tick(NOW_MS, [alert], [alert], {}, [], found).notices == []
    over = replace(alert, ended_ms=NOW_MS)
    assert teller.tick(NOW_MS + 1, [], [over], {}, [], found).notices == []


# Delivery -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def receiver() -> Iterator[Hook]:
    with hook() as found:
        yield found


def dues(receiver: Hook, seconds: int, *, commits: bool, hub: Hub) -> list[Due]:
    hub.watch.destinations = [Destination(CHANNEL, receiver.url())]
    found: list[Due] = []
    for _ in range(seconds):
        hub.second += 1
        hub.sequence = (hub.sequence or 0) + commits
        look = Look(hub.sequence, 1.0, hub.rules)
        found += hub.watch.look(look, hub.second, NOW_MS + round(hub.second * 1000))
    return found


def step(direct: Direct, hub: Hub, now_s: float) -> None:
    direct.step(hub.rules, now_s)
    direct.finish(10)


def test_what_a_webhook_is_told(receiver: Hook) -> None:
    direct, hub = Direct(Transport().deliver, "http://hub:8050/"), Hub(CHANNEL)
    direct.add(dues(receiver, 20, commits=False, hub=hub))
    step(direct, hub, 0)
    step(direct, hub, 1)
    direct.add(dues(receiver, 20, commits=True, hub=hub))
    step(direct, hub, 2)
    first, second = (body["alerts"][0] for body in receiver.bodies())
    assert (first["word"], first["rule"], first["severity"], first["link"]) == (
        "firing",
        "collector_silent",
        "critical",
        "http://hub:8050/alerts",
    )
    assert first["message"] == "the cluster: nothing was committed for 11.0 s, limit 10 s"
    assert first["runbook"] == "http://hub:8050/alerts#rule-collector_silent"
    assert (second["word"], second["why_resolved"]) == ("resolved", "something is committed again")
    assert second["resolved"] - first["fired"] == 18_000


def test_a_channel_that_fails_is_tried_again_and_what_is_over_before_is_not_told(receiver: Hook) -> None:
    direct, hub = Direct(Transport().deliver, retry=Retry(10_000, 10_000)), Hub(CHANNEL)
    receiver.status = 500
    direct.add(dues(receiver, 20, commits=False, hub=hub))
    for now_s, asked in ((0, 1), (9, 1), (10, 2)):
        step(direct, hub, now_s)
        assert len(receiver.got) == asked
    receiver.status = 200
    step(direct, hub, 20)
    step(direct, hub, 30)
    assert len(receiver.got) == 3
    receiver.status = 500
    direct.add(dues(receiver, 20, commits=True, hub=hub))
    step(direct, hub, 40)
    direct.add(dues(receiver, 20, commits=False, hub=hub))
    receiver.status = 200
    step(direct, hub, 50)
    assert [one["alerts"][0]["word"] for one in receiver.bodies()[3:]] == ["resolved", "firing"], "the newest word"
    receiver.status = 500
    unheard, hub = Direct(Transport().deliver), Hub(CHANNEL)
    unheard.add(dues(receiver, 20, commits=False, hub=hub))
    step(unheard, hub, 0)
    receiver.status = 200
    unheard.add(dues(receiver, 20, commits=True, hub=hub))
    step(unheard, hub, 100)
    assert len(receiver.got) == 6, "that it is over is nothing to somebody who never heard of it"


def test_that_it_is_over_is_told_to_who_is_just_being_told(receiver: Hook) -> None:
    direct, hub = Direct(Transport().deliver), Hub(CHANNEL)
    receiver.hold = threading.Event()
    direct.add(dues(receiver, 20, commits=False, hub=hub))
    direct.step(hub.rules, 0)
    assert receiver.heard.wait(30)
    direct.add(dues(receiver, 20, commits=True, hub=hub))
    receiver.hold.set()
    direct.finish(10)
    step(direct, hub, 1)
    assert [one["alerts"][0]["word"] for one in receiver.bodies()] == ["firing", "resolved"]


@pytest.mark.live
def test_a_collector_that_is_stopped_is_told_by_the_process_that_delivers(tmp_path: Path, receiver: Hook) -> None:
    path = configure(tmp_path, receiver)
    open_store(str(path), writer=True, now_ms=NOW_MS).close()
    root = Path(__file__).parents[2]
    imports = "from pipeline.collector import run; from pipeline.config import *"
    code = f"{imports}; run(CollectorConfig({str(path)!r}, (), ()))"
    with subprocess.Popen([sys.executable, "-c", code], cwd=root) as collector, notifier(tmp_path):
        try:
            assert not receiver.heard.wait(15), receiver.bodies()
            os.kill(collector.pid, signal.SIGSTOP)
            assert receiver.heard.wait(40)
            assert receiver.bodies()[0]["alerts"][0]["rule"] == "collector_silent"
            receiver.heard.clear()
            os.kill(collector.pid, signal.SIGCONT)
            assert receiver.heard.wait(40)
            assert receiver.bodies()[1]["alerts"][0]["word"] == "resolved"
        finally:
            os.kill(collector.pid, signal.SIGCONT)
            collector.terminate()
