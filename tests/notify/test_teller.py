"""What an alert is as far as telling goes, what is still owed to channels, and the words of messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerts import notices
from alerts.machine import Phase, Standing
from alerts.notices import Channel, Memory, Told, Word
from alerts.outbox import (
    OVERDUE_MS,
    Account,
    ChannelMemory,
    Outgoing,
    State,
    account,
    held_of,
    told_json,
    told_of,
    words_of,
)
from alerts.record import Alert, Silence
from pipeline.notify.compose import Context, labels, message, title
from pipeline.notify.destination import SCHEMES
from pipeline.notify.teller import Seen, Teller, as_told
from tests.notify.stage import RULES
from tests.notify.test_transport import HOT

NOW = 1_790_000_065_000
HOLDS = Standing(Phase.FIRING, 0, 0, seen_ms=NOW, holds=True)
WHERE = (HOT.rule, HOT.key)


def seen(**more: object) -> Seen:
    usual = Seen(NOW, {7: "warning"}, {WHERE: HOLDS}, (), RULES, {"ops", "night"})
    return replace(usual, **more)  # type: ignore[arg-type]


def test_an_alert_that_is_simply_there() -> None:
    found = as_told(HOT, seen())
    assert (found.id, found.severity.value, found.fired_ms, found.over_ms) == (7, "warning", HOT.fired_ms, None)
    assert (found.caused, found.silenced, found.acknowledged, found.known, found.channels) == (
        False,
        False,
        False,
        True,
        (),
    )


@pytest.mark.parametrize(
    ("alert", "change", "field", "value"),
    [
        ({"cause": 3}, {"fires": {3: "critical", 7: "warning"}}, "caused", True),
        ({"cause": 3}, {"fires": {3: "warning"}}, "caused", True),
        ({"cause": 3}, {"fires": {3: "info"}}, "caused", False),
        ({"cause": 3, "severity": "critical"}, {"fires": {3: "warning"}}, "caused", False),
        ({"cause": 3, "severity": "critical"}, {"fires": {3: "critical"}}, "caused", True),
        ({"cause": 3}, {}, "caused", False),
        ({}, {"awaiting": frozenset({7})}, "caused", True),
        ({}, {"awaiting": frozenset({8})}, "caused", False),
        ({}, {"silences": (Silence(1, 0, NOW + 1),)}, "silenced", True),
        ({}, {"silences": (Silence(1, 0, NOW),)}, "silenced", False),
        ({}, {"silences": (Silence(1, 0, NOW + 1, node="spark-08"),)}, "silenced", False),
        ({"acknowledged_ms": 0}, {}, "acknowledged", True),
        ({}, {"standings": {}}, "known", False),
        ({}, {"standings": {WHERE: replace(HOLDS, holds=False)}}, "known", False),
        ({}, {"standings": {WHERE: replace(HOLDS, seen_ms=NOW - 1)}}, "known", False),
        ({}, {"standings": {WHERE: replace(HOLDS, seen_ms=NOW + 1)}}, "known", False),
        ({}, {"rules": {}}, "channels", ()),
    ],
)
def test_what_changes_telling(alert: dict[str, object], change: dict[str, object], field: str, value: object) -> None:
    assert getattr(as_told(replace(HOT, **alert), seen(**change)), field) == value  # type: ignore[arg-type]


def test_channels_that_are_not_there_leave_nobody_out() -> None:
    def channels(*named: str) -> tuple[str, ...]:
        return as_told(HOT, seen(rules={HOT.rule: replace(RULES[HOT.rule], channels=named)})).channels

    assert channels("night", "gone") == ("night",)
    assert channels("gone") == ()


@pytest.mark.parametrize(("on", "told"), [(False, ["ops"]), (True, ["night"])])
def test_a_channel_that_is_off_leaves_nobody_out(on: bool, told: list[str]) -> None:
    teller = Teller([Channel("ops", gather_ms=0), Channel("night", gather_ms=0, enabled=on)])
    book = {HOT.rule: replace(RULES[HOT.rule], channels=("night",))}
    spoken = teller.tick(NOW, [HOT], [HOT], {WHERE: HOLDS}, (), book)
    assert [one.channel for one in spoken.notices] == told


def test_what_a_channel_that_is_off_heard_is_forgotten_once_but_not_how_much_it_heard() -> None:
    teller = Teller([Channel("ops", enabled=False)])
    teller.resume([ChannelMemory("ops", Memory({1: Told(Word.FIRING, 5)}, (NOW - 1000,)))], lambda _: None)
    first, second = (teller.tick(NOW + at, [], [], {}, (), RULES).memories for at in (0, 1000))
    assert first == [ChannelMemory("ops", Memory(sent_ms=(NOW - 1000,)))]
    assert second == []
    teller.resume(first, lambda _: None)
    assert teller.tick(NOW + 2000, [], [], {}, (), RULES).memories == []


def test_an_alert_that_fires_on_over_a_restart_is_told_once_in_a_message() -> None:
    teller = Teller([Channel("ops", gather_ms=0)])
    told = Memory({HOT.id: Told(Word.FIRING, NOW - 4 * notices.HOUR_MS)})
    teller.resume([ChannelMemory("ops", told)], lambda _: HOT)
    (notice,) = teller.tick(NOW, [HOT], [], {WHERE: HOLDS}, (), RULES).notices
    assert notice.words == ((HOT.id, Word.STILL),)


def test_a_channel_that_fails_is_not_told_so_itself() -> None:
    failing = replace(HOT, rule="channel_failing", place="channel", key=("ops",))

    def told(*named: str) -> dict[str, bool]:
        book = {"channel_failing": replace(RULES["channel_failing"], channels=named)}
        where = {("channel_failing", ("ops",)): HOLDS}
        found = as_told(failing, seen(rules=book, standings=where))
        return {
            name: notices.due(Channel(name, gather_ms=0), [found], Memory(), NOW)[0] is not None
            for name in ("ops", "night")
        }

    assert told() == told("ops") == told("night") == told("gone") == {"ops": False, "night": True}
    assert as_told(HOT, seen()).about == ""


def test_what_is_owed_is_what_a_channel_that_wants_ends_heard_begin() -> None:
    told = {1: Told(Word.FIRING, 5), 2: Told(Word.RESOLVED, 6), 3: Told(Word.STILL, 7)}
    for channel, owed in (
        (Channel("ops"), {1, 3}),
        (Channel("ops", resolved=False), set()),
        (Channel("ops", enabled=False), set()),
        (Channel("other"), set()),
    ):
        teller = Teller([channel])
        teller.resume([ChannelMemory("ops", Memory(told))], lambda _: None)
        assert teller.owed() == owed


def test_without_channels_nothing_is_kept() -> None:
    spoken = Teller().tick(NOW, [HOT], [HOT], {}, [], RULES)
    assert (spoken.notices, spoken.memories) == ([], [])


def test_what_is_kept_comes_back() -> None:
    told = {3: Told(Word.STILL, 7), 1: Told(Word.FIRING, 5)}
    assert told_json(told) == [[1, "firing", 5], [3, "still firing", 7]]
    assert told_of(told_json(told)) == told
    kept = told_json(told, {9: 8, 4: 6})
    assert kept[2:] == [[4, "held back", 6], [9, "held back", 8]]
    assert (told_of(kept), held_of(kept), held_of(told_json(told))) == (told, {4: 6, 9: 8}, {})
    assert words_of(None) is None


OVER = replace(HOT, id=8, ended_ms=HOT.fired_ms + 90_000, ended="it is well again")
CLUSTER = Alert(9, "channel_failing", "A channel fails", "cluster", (), "critical", "", 0, 1000, "the cluster: bad")


def test_titles() -> None:
    assert title([(OVER, Word.RESOLVED)]) == "Resolved: GPU hot on spark-07 (warning)"
    assert title([(HOT, Word.STILL)]) == "Still firing: GPU hot on spark-07 (warning)"
    assert title([(CLUSTER, Word.FIRING)]) == "Firing: A channel fails (critical)"
    assert title([(CLUSTER, Word.FIRING), (HOT, Word.FIRING), (OVER, Word.RESOLVED)]) == (
        "3 alerts: 2 firing, 1 resolved; first A channel fails on the cluster"
    )
    assert "\n" not in title([(replace(HOT, title="a\r\nBcc: b"), Word.FIRING)])
    failing = replace(CLUSTER, title="Notification channel fails", place="channel", key=("bad",))
    assert title([(failing, Word.FIRING)]) == "Firing: Notification channel bad fails (critical)"
    assert title([(replace(failing, title="Mute"), Word.FIRING)]) == "Firing: Mute on bad (critical)"


FEW = [(replace(HOT, id=number, key=(f"n{number}", "0")), Word.FIRING) for number in range(1, 4)]


def test_one_story_is_one_paragraph() -> None:
    assert title(FEW) == "Firing: GPU hot on n1 and 2 more (warning)"
    assert title(FEW[:2]) == "2 alerts: 2 firing; first GPU hot on n1"
    late = (replace(HOT, id=4, key=("n4", "0"), fired_ms=HOT.fired_ms + 60_001), Word.FIRING)
    assert title([*FEW, late]) == "4 alerts: 4 firing; first GPU hot on n1"
    wanted = Outgoing("x", "ops", NOW, tuple((one.id, word) for one, word in [*FEW, late]))
    found = message(wanted, {one.id: one for one, _ in [*FEW, late]}, Context("http://hub:8050"), 9_000)
    assert found is not None
    first, second = found.body.split("\n\n")
    assert first.splitlines()[1] == "and on 2 more: n2, GPU 0; n3, GPU 0"
    assert first.splitlines()[-1] == "http://hub:8050/alerts/1"
    assert "more" not in second
    assert [one["id"] for one in found.payload["alerts"]] == [1, 2, 3, 4], "programs are told of each"
    short = message(wanted, {one.id: one for one, _ in [*FEW, late]}, Context("http://hub:8050"), len(first) + 40)
    assert short is not None
    assert short.body.split("\n\n") == [first, "… and 1 more: http://hub:8050/alerts"]


def test_ends_are_one_story_by_when_they_came() -> None:
    over = [(replace(OVER, id=at, fired_ms=HOT.fired_ms + 70_000 * at), Word.RESOLVED) for at in range(3)]
    assert title(over) == "Resolved: GPU hot on spark-07 and 2 more (warning)"
    apart = [(replace(OVER, id=at, ended_ms=HOT.fired_ms + 70_000 * at), Word.RESOLVED) for at in range(3)]
    assert title(apart).startswith("3 alerts: 3 resolved")


@pytest.mark.parametrize("other", [{"rule": "x"}, {"deployment": "x"}, {"severity": "critical"}])
def test_what_is_another_story(other: dict[str, str]) -> None:
    assert title([*FEW[:2], (replace(FEW[2][0], **other), Word.FIRING)]).startswith("3 alerts")  # type: ignore[arg-type]


def test_a_silence_hides_what_it_matches_and_not_what_follows_from_it() -> None:
    """The cause is silenced by its rule; what follows from it is a rule of its own, and is told."""
    cause = replace(HOT, id=3, rule="node_silent", key=("spark-07",), place="node")
    effect = replace(HOT, cause=3)

    def told(*silences: Silence) -> list[int]:
        spoken = Teller([Channel("ops", gather_ms=0)]).tick(
            NOW,
            [cause, effect],
            [],
            {WHERE: HOLDS, (cause.rule, cause.key): HOLDS},
            silences,
            RULES,
        )
        return [number for notice in spoken.notices for number, _ in notice.words]

    assert told() == [3]
    assert told(Silence(1, 0, NOW + 1, rule="node_silent")) == [7]
    assert told(Silence(1, 0, NOW, rule="node_silent")) == [3], "it is over"
    assert told(Silence(1, 0, NOW + 1, node="spark-07")) == []


def test_labels_name_the_instance() -> None:
    assert labels(CLUSTER) == {}
    engine = replace(HOT, place="engine", key=("head", "0", "m"), deployment="")
    assert labels(engine) == {"target": "head", "engine": "0", "model": "m"}
    assert labels(replace(HOT, place="deployment", key=("kimi",))) == {"deployment": "kimi"}
    assert labels(replace(HOT, place="mount", key=("a", "/"), deployment="")) == {"node": "a", "mount": "/"}
    assert labels(replace(HOT, place="gone", deployment="")) == {}


def test_a_long_message_says_how_much_is_left_out() -> None:
    alerts = {number: replace(HOT, id=number, rule=f"r{number}") for number in range(40)}
    wanted = Outgoing("x", "ops", NOW, tuple((number, Word.FIRING) for number in range(40)))
    found = message(wanted, alerts, Context("http://hub:8050/"), 1_900)
    assert found is not None
    assert len(found.body) <= 1_900
    paragraphs = found.body.split("\n\n")
    assert paragraphs[-1] == f"… and {40 - len(paragraphs) + 1} more: http://hub:8050/alerts"
    assert len(paragraphs) > 5
    assert len(found.payload["alerts"]) == 40
    for most in range(700, 1_000, 7):
        short = message(wanted, alerts, Context("http://hub:8050/"), most)
        assert short is not None
        assert len(short.body) <= most


def test_no_message_is_longer_than_discord_takes() -> None:
    """2,000 characters, its title and the end of its line among them, or it would be refused for a day."""
    text = "w" * 600
    alerts = {
        number: replace(HOT, id=number, title=text, message=text, key=(text[:200], str(number)))
        for number in range(1, 5)
    }
    rules = {HOT.rule: replace(RULES[HOT.rule], runbook=f"https://{text}")}
    wanted = Outgoing("x", "ops", NOW, tuple((number, Word.FIRING) for number in alerts))
    found = message(wanted, alerts, Context("http://hub:8050/", rules), SCHEMES["discord"].most)
    assert found is not None
    assert len(found.body) > 1_500
    assert len(found.title) + 2 + len(found.body) <= 2_000
    assert found.body.endswith("http://hub:8050/alerts/1")


def test_paragraphs() -> None:
    rules = {HOT.rule: replace(RULES[HOT.rule], runbook="https://wiki/hot")}
    wanted = Outgoing("x", "ops", NOW, ((8, Word.RESOLVED), (7, Word.FIRING), (99, Word.FIRING)))
    found = message(wanted, {7: HOT, 8: OVER}, Context("http://hub:8050", rules), 9_000)
    assert found is not None
    assert found.bad
    assert found.body == (
        "FIRING (warning): spark-07, GPU 0: GPU hot (GPU temperature 86.0 °C), for 1m 0s\n"
        "since 2026-09-21 14:13:20 UTC, fired 2026-09-21 14:14:20 UTC\n"
        "Runbook: https://wiki/hot\n"
        "http://hub:8050/alerts/7\n\n"
        "RESOLVED (warning): spark-07, GPU 0: GPU hot (GPU temperature 86.0 °C), for 1m 0s\n"
        "it is well again, 2026-09-21 14:15:50 UTC; it fired for 1m 30s\n"
        "http://hub:8050/alerts/8"
    )
    assert [one["runbook"] for one in found.payload["alerts"]] == ["https://wiki/hot"] * 2
    ours = {HOT.rule: replace(RULES[HOT.rule], runbook=f"docs/alerts.md#{HOT.rule}")}
    assert Context("http://hub:8050/", ours).runbook(HOT) == f"http://hub:8050/alerts#rule-{HOT.rule}"
    assert Context("", ours).runbook(HOT) == f"docs/alerts.md#{HOT.rule}"
    other = {HOT.rule: replace(RULES[HOT.rule], runbook="docs/alerts.md#node_silent")}
    assert Context("http://hub:8050", other).runbook(HOT) == "docs/alerts.md#node_silent"
    assert message(replace(wanted, words=((99, Word.FIRING),)), {}, Context(), 9_000) is None
    leapt = replace(OVER, fired_ms=OVER.ended_ms + 1)  # type: ignore[operator]
    found = message(replace(wanted, words=((8, Word.RESOLVED),)), {8: leapt}, Context(), 9_000)
    assert found is not None
    assert found.body.splitlines()[1] == "it is well again, 2026-09-21 14:15:50 UTC"
    over = message(replace(wanted, words=((8, Word.RESOLVED),)), {8: OVER}, Context(), 9_000)
    assert over is not None
    assert not over.bad


def outgoing(state: State, at_ms: int, error: str = "", *, test: bool = False, attempts: int = 1) -> Outgoing:
    words = None if test else ((1, Word.FIRING),)
    return Outgoing(f"{state.value}{at_ms}", "ops", at_ms, words, state, attempts, 0, at_ms, error)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], Account("ops")),
        ([outgoing(State.SENT, 5)], Account("ops", 5)),
        ([outgoing(State.WAITING, NOW - OVERDUE_MS)], Account("ops", waiting=1)),
        ([outgoing(State.WAITING, NOW - OVERDUE_MS - 1)], Account("ops", waiting=1, failing=True)),
        ([outgoing(State.WAITING, NOW, "no")], Account("ops", None, "no", NOW, 1, False)),
        ([outgoing(State.WAITING, NOW, "no", attempts=2)], Account("ops", None, "no", NOW, 1, True)),
        ([outgoing(State.WAITING, NOW, attempts=2)], Account("ops", waiting=1)),
        ([outgoing(State.WAITING, 5, test=True)], Account("ops")),
        ([outgoing(State.FAILED, 5, "no", test=True)], Account("ops", None, "no", 5)),
        ([outgoing(State.DROPPED, 5, "gone")], Account("ops")),
        ([outgoing(State.SENT, 5, "taken", test=True)], Account("ops", 5)),
        ([outgoing(State.GIVEN_UP, 5, "no"), outgoing(State.SENT, 4)], Account("ops", 4, "no", 5, failing=True)),
        ([outgoing(State.GIVEN_UP, 5, "no"), outgoing(State.DROPPED, 6)], Account("ops", None, "no", 5, failing=True)),
        ([outgoing(State.GIVEN_UP, 5, "no"), outgoing(State.SENT, 6)], Account("ops", 6, "no", 5)),
    ],
)
def test_how_a_channel_does(found: list[Outgoing], expected: Account) -> None:
    assert account("ops", found, NOW) == expected


@pytest.mark.parametrize(
    ("next_ms", "tried_ms", "due"),
    [(NOW, None, True), (NOW + 1, 5, False), (NOW + 1, NOW, False), (NOW + 1, NOW + 1, True)],
)
def test_when_a_message_is_due(next_ms: int, tried_ms: int | None, due: bool) -> None:
    assert Outgoing("x", "ops", 0, None, next_ms=next_ms, tried_ms=tried_ms).due(NOW) is due
