"""Rules at every tick of a real collector: what fires, ends and is asked for is stored with the tick's samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from alerts.given import CHANNEL_FAILING
from alerts.notices import Channel
from alerts.record import Alert, Silence
from alerts.rulebook import Rulebook
from alerts.view import View
from pipeline.alarms import Alarms
from pipeline.config import TargetKind
from storage.records import Command, MarksMoved
from storage.store import open_store
from telemetry.catalog import gpu, memory
from telemetry.frame import empty
from tests.pipeline.stage import Stage

PAGE = (
    f"tachograph_{memory.MEMORY_TOTAL.name} 128e9\n"
    f'tachograph_{gpu.GPU_TEMPERATURE.name}{{{{gpu="0"}}}} {{degrees}}\n'
    f'tachograph_{gpu.GPU_UTILIZATION.name}{{{{gpu="0"}}}} 0.5\n'
)


class Node(Stage):
    """A node with one GPU."""

    def is_at(self, degrees: float) -> None:
        self.status, self.body = 200, PAGE.format(degrees=degrees).encode()

    async def ticks(self, first: int, last: int, degrees: float | None) -> None:
        """Ticks from one second to another, both included; None: the node answers with a fault."""
        for second in range(first, last + 1):
            if degrees is None:
                self.status = 500
            else:
                self.is_at(degrees)
            await self.tick(second)

    async def asks(self, second: int, kind: str, **payload: Any) -> str | None:
        """Put an order in and let two ticks pass; why it was refused."""
        await self.sampler.written()
        store = self.sampler.writer.store
        number = store.enqueue(f"alert.{kind}", payload, second * 1000)
        await self.tick(second)
        await self.sampler.written()
        await self.tick(second + 1)
        await self.sampler.written()
        found = store.command(number)
        assert isinstance(found, Command)
        assert found.applied_ms == (second + 1) * 1000
        return found.error


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path / "store.db", TargetKind.NODE)


def alerts(node: Node) -> list[Alert]:
    store = open_store(str(node.path), writer=False, now_ms=0)
    found = store.alerts()
    store.close()
    return found


def times(alert: Alert) -> tuple[str, int, int, int | None]:
    ended = None if alert.ended_ms is None else alert.ended_ms // 1000
    return alert.rule, alert.began_ms // 1000, alert.fired_ms // 1000, ended


def test_a_hot_gpu_fires_after_its_time_and_is_over_after_its_time(node: Node) -> None:
    async def story(stage: Stage) -> None:
        await node.ticks(1, 5, 70)
        await node.ticks(6, 70, 86)
        await node.ticks(71, 140, 80)

    node.play(story)
    (alert,) = alerts(node)
    assert times(alert) == ("gpu_hot", 6, 66, 131)
    assert (alert.key, alert.place, alert.severity, alert.ended) == (("one", "0"), "gpu", "warning", "it is well again")
    assert alert.message == "one: GPU 0 is at 86.0 °C, limit 85.0 °C, for 1m 0s"
    assert [(one["metric"], one["value"], one["unit"]) for one in alert.values] == [
        ("gpu_temperature_celsius", 86.0, "celsius")
    ]


def test_a_silent_node_explains_what_it_leaves_behind(node: Node) -> None:
    """It is hot when it falls silent: that goes on, because of the silence, until it is known to be well. A node that
    fails is asked every five seconds."""

    async def story(stage: Stage) -> None:
        await node.ticks(1, 70, 86)
        await node.ticks(71, 120, None)
        await node.ticks(121, 200, 80)

    node.play(story)
    silent, hot = alerts(node)
    assert times(hot) == ("gpu_hot", 1, 61, 186)
    assert times(silent) == ("node_silent", 71, 101, 136)
    assert (hot.cause, silent.cause) == (silent.id, None)
    assert silent.message == "one: its agent does not answer: bad answer, for 30 s"


YEAR_S = 365 * 86_400


def test_a_clock_that_had_leapt_a_year_ahead_loses_no_alert(node: Node) -> None:
    """Hot for half a minute by a clock that had leapt; by the right one it fires half a minute later, and ends."""

    async def leapt(stage: Stage) -> None:
        await node.ticks(YEAR_S + 1, YEAR_S + 31, 86)

    async def right(stage: Stage) -> None:
        await node.ticks(1, 60, 86)
        await node.ticks(61, 140, 60)

    node.play(leapt)
    node.play(right)
    (alert,) = alerts(node)
    assert times(alert) == ("gpu_hot", -29, 31, 121)
    assert alert.message.endswith(", for 1m 0s")


def test_what_fires_by_a_clock_that_had_leapt_ends_by_the_right_one(node: Node) -> None:
    async def leapt(stage: Stage) -> None:
        await node.ticks(YEAR_S + 1, YEAR_S + 70, 86)

    async def right(stage: Stage) -> None:
        await node.ticks(1, 80, 60)

    node.play(leapt)
    node.play(right)
    (alert,) = alerts(node)
    assert times(alert) == ("gpu_hot", YEAR_S + 1, YEAR_S + 61, 61)


@pytest.mark.parametrize("left", [(Channel("night"),), (Channel("night"), Channel("ops", enabled=False))])
def test_a_channel_that_is_told_no_more_fails_no_more(node: Node, left: tuple[Channel, ...]) -> None:
    """It was removed from the settings, or is switched off: nobody looks how it goes."""

    async def failing(stage: Stage) -> None:
        stage.sampler.hub.lookout.givens.tell(CHANNEL_FAILING.name, 1.0, "ops")
        await node.ticks(1, 15, 60)

    node.settings = {"channels": (Channel("ops"), Channel("night"))}
    node.play(failing)
    assert [times(alert) for alert in alerts(node)] == [("channel_failing", 1, 11, None)]
    node.play(lambda _: node.ticks(16, 16, 60))
    assert [times(alert) for alert in alerts(node)] == [("channel_failing", 1, 11, None)], "it is not known to be well"
    node.settings = {"channels": left}
    node.play(lambda _: node.ticks(17, 18, 60))
    (alert,) = alerts(node)
    assert (times(alert), alert.ended) == (("channel_failing", 1, 11, 17), "it is not watched any more")


def test_a_collector_that_starts_anew_goes_on(node: Node) -> None:
    async def first(stage: Stage) -> None:
        await node.ticks(1, 30, 86)

    async def second(stage: Stage) -> None:
        await node.ticks(31, 80, 86)

    async def third(stage: Stage) -> None:
        await node.ticks(81, 150, 80)

    for story in (first, second, third):
        node.play(story)
    (alert,) = alerts(node)
    assert times(alert) == ("gpu_hot", 1, 61, 141)
    assert alert.revision == 2


MEMORY_RULE = {"title": "X", "place": "node", "when": "memory_total_bytes > $most", "settings": {"most": "1 GiB"}}
HEAT_RULE = {"title": "X", "place": "gpu", "when": "gpu_temperature_celsius > 100 °C", "because_of": ["gpu_hot"]}


@pytest.mark.parametrize(
    ("changed", "ended", "again"),
    [
        (HEAT_RULE, 31, None),
        ({**MEMORY_RULE, "when": "memory_total_bytes > $most and memory_total_bytes > 1 GiB"}, 31, 31),
        ({**MEMORY_RULE, "settings": {"most": "900 GiB"}}, 31, None),
        ({**MEMORY_RULE, "for": "5s"}, 31, 36),
        ({**MEMORY_RULE, "clear_for": "5s"}, 31, 31),
        ({**MEMORY_RULE, "clear": "memory_total_bytes < $most"}, 31, 31),
        ({**MEMORY_RULE, "title": "Y", "settings": {"most": "1 GiB"}}, None, None),
    ],
)
def test_a_rule_of_the_settings_file_that_is_another_begins_anew(
    node: Node, changed: dict[str, Any], ended: int | None, again: int | None
) -> None:
    """As where people change it on the page. What fires beside it goes on."""
    node.settings = {"alerts": {"x": {**MEMORY_RULE, "severity": "warning"}}}
    node.play(lambda _: node.ticks(1, 30, 86))
    node.settings = {"alerts": {"x": {**changed, "severity": "critical"}}}
    node.play(lambda _: node.ticks(31, 70, 86))
    found = sorted(alerts(node), key=lambda one: one.id)
    first, *later = [one for one in found if one.rule == "x"]
    assert times(first) == ("x", 1, 1, ended)
    assert first.ended == ("" if ended is None else "the rule was changed")
    assert [one.fired_ms // 1000 for one in later] == ([] if again is None else [again])
    assert [times(one) for one in found if one.rule == "gpu_hot"] == [("gpu_hot", 1, 61, None)]
    node.play(lambda _: node.ticks(71, 75, 86))
    assert sorted(alerts(node), key=lambda one: one.id) == found, "once"


def effect(*because_of: str) -> dict[str, Any]:
    when = "memory_total_bytes > 1 GiB"
    return {"title": "E", "place": "node", "severity": "warning", "when": when, "because_of": list(because_of)}


def at(degrees: int, *because_of: str) -> dict[str, Any]:
    when = f"gpu_temperature_celsius >= {degrees} °C"
    return {"title": "C", "place": "node", "severity": "warning", "when": when, "because_of": list(because_of)}


@pytest.mark.parametrize(
    ("rules", "second", "cause"),
    [
        ({"e": effect("late", "first"), "first": at(80), "late": at(90)}, 31, "first"),
        ({"e": effect("late", "first"), "first": at(80, "late"), "late": at(90)}, 31, "late"),
        (
            {"e": effect("late", "first"), "first": at(80), "late": {**at(80), "for": "9s"}},
            31,
            "late",
        ),
        ({"e": effect("late"), "late": at(90)}, 31, "late"),
        ({"e": effect("late"), "late": at(90)}, 123, None),
    ],
    ids=["stays", "explained itself", "began as early", "in time", "too late"],
)
def test_a_cause_that_was_found_stays(node: Node, rules: dict[str, Any], second: int, cause: str | None) -> None:
    """An effect from the first second on, and a cause; another begins to hold later."""
    node.settings = {"alerts": rules}

    async def story(stage: Stage) -> None:
        await node.ticks(1, second - 1, 81)
        await node.ticks(second, second + 10, 91)
        await node.ticks(second + 11, second + 20, 70)

    node.play(story)
    found = {one.rule: one for one in alerts(node) if one.rule in rules}
    assert found["e"].cause == (None if cause is None else found[cause].id)


def test_an_alert_of_an_earlier_version_is_over_where_its_rule_looks_elsewhere() -> None:
    """That version did not write what decided of rules."""
    alarms = Alarms(Rulebook({}))
    alarms.resume([Alert(1, "gpu_hot", "", "node", ("n",), "warning", "", 5, 5, "")], [], [])
    raised = alarms.tick(1000, View(empty()), {})
    assert [(one.id, one.ended_ms, one.ended) for one in raised.alerts.values()] == [(1, 1000, "the rule was changed")]
    assert alarms.tick(2000, View(empty()), {}).standings == []


def test_a_silence_holds_when_a_clock_that_leapt_ahead_is_set_right() -> None:
    alarms = Alarms(Rulebook({}))
    alarms.resume([], [], [Silence(1, 0, 3_600_000), Silence(2, 0, 90_000_000)])
    alarms.tick(80_000_000, View(empty()), {})
    alarms.tick(1000, View(empty()), {})
    assert [one.id for one in alarms.silences.values() if one.active(1000)] == [1, 2]
    alarms.tick(90_000_000, View(empty()), {})
    assert list(alarms.silences) == [2], "over for a day: let go of"


def test_what_fires_follows_the_minutes_of_its_run() -> None:
    """Else the next change of the alert would bring the number of a run back that is not there any more."""
    alarms = Alarms(Rulebook({}))
    fired = {"early": 100, "late": 150}
    alarms.resume(
        [
            Alert(n, rule, "", "node", ("n",), "info", "M", at, at, "", run=7)
            for n, (rule, at) in enumerate(fired.items(), 1)
        ],
        [],
        [],
    )

    def owners() -> list[int | None]:
        return [alert.run for alert in alarms.open.values()]

    alarms.follow([MarksMoved(7, None, 120, 120), MarksMoved(7, 9, kind="note"), MarksMoved(8, 9)])
    assert owners() == [7, 7]
    alarms.follow([MarksMoved(7, 9, 101, 150)])
    assert owners() == [7, 9]
    alarms.follow([MarksMoved(9, 7), MarksMoved(7, 3)])
    assert owners() == [3, 3]


def test_what_people_ask_of_alerts(node: Node) -> None:
    async def story(stage: Stage) -> None:
        await node.ticks(1, 70, 86)
        assert await node.asks(71, "acknowledge", alert=1, by="ann") is None
        assert await node.asks(72, "acknowledge", alert=1, by="eve") == "alert 1 is already acknowledged by ann"
        assert await node.asks(73, "acknowledge", alert=2) == "there is no alert 2 that fires"
        assert await node.asks(75, "acknowledge", number=1) == "“acknowledge” has no “number”, known are: alert, by"
        assert await node.asks(77, "silence", node="one", end_ms=200_000, comment="fan", by="ann") is None
        assert await node.asks(79, "silence", end_ms=1000) == "a silence ends after it begins, and not before now"
        assert await node.asks(81, "silence", rule="x", end_ms=200_000) == "there is no rule x"
        assert await node.asks(83, "unsilence", silence=7) == "there is no silence 7 that holds or is to come"
        assert await node.asks(85, "unsilence", silence=1) is None

    node.play(story)
    (alert,) = alerts(node)
    assert (alert.acknowledged_ms, alert.acknowledged_by, alert.ended_ms) == (72_000, "ann", None)
    store = open_store(str(node.path), writer=False, now_ms=0)
    (silence,) = store.silences()
    store.close()
    assert (silence.start_ms, silence.end_ms, silence.node, silence.comment) == (78_000, 86_000, "one", "fan")
    assert silence.matches(alert)


def test_what_people_change_of_rules(node: Node) -> None:
    async def story(stage: Stage) -> None:
        node.is_at(86)
        refused = await node.asks(1, "rule", name="gpu_hot", table={"when": "gpu_temp > 1"})
        assert refused is not None
        assert refused.startswith("rule gpu_hot: when: there is no metric gpu_temp")
        assert await node.asks(3, "rule", name="gpu_hot", table={"for": "5s", "severity": "critical"}, by="ann") is None
        await node.ticks(5, 12, 86)
        assert await node.asks(13, "enable", name="gpu_hot", on=False) is None
        assert await node.asks(15, "reset", name="gpu_hot") is None
        assert await node.asks(17, "reset", name="gpu_hot") == "rule gpu_hot: nobody has changed it here"

    node.play(story)
    (alert,) = alerts(node)
    assert times(alert) == ("gpu_hot", 4, 9, 14)
    assert (alert.severity, alert.ended) == ("critical", "the rule was switched off")
    store = open_store(str(node.path), writer=False, now_ms=0)
    changes = store.rule_changes()
    store.close()
    assert [(one.id, one.name, one.table, one.by) for one in changes] == [
        (1, "gpu_hot", {"for": "5s", "severity": "critical"}, "ann"),
        (2, "gpu_hot", {"for": "5s", "severity": "critical", "enabled": False}, ""),
        (3, "gpu_hot", None, ""),
    ]


@pytest.mark.parametrize(("second", "cause"), [(11, "then"), (200, "first")], ids=["at once", "long after"])
def test_when_its_cause_is_over_another_that_goes_on_takes_its_place(node: Node, second: int, cause: str) -> None:
    """So that what is left is one thing again; but what begins well after an effect has not led to it."""
    rules = {"e": effect("first", "then"), "first": at(90), "then": at(80, "first")}
    node.settings = {"alerts": rules}

    async def story(stage: Stage) -> None:
        await node.ticks(1, 10, 91)
        await node.ticks(11, second, 81 if second == 11 else 70)
        await node.ticks(second + 1, second + 10, 81)

    node.play(story)
    found = {one.rule: one for one in sorted(alerts(node), key=lambda one: one.id) if one.rule in rules}
    assert found["first"].ended_ms is not None
    assert found["then"].firing
    assert found["e"].cause == next(one.id for one in alerts(node) if one.rule == cause)
