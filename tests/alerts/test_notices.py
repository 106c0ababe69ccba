"""Who is told what, and when."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.notices import HOUR_MS, Alert, Channel, Memory, Notice, Retry, Told, Word, due, owed, superseded
from alerts.rule import Severity

OPS = Channel("ops", gather_ms=0)
HOT = Alert(7, Severity.CRITICAL, fired_ms=1000)


def words(notice: Notice | None) -> list[tuple[int, str]]:
    return [] if notice is None else [(number, word.value) for number, word in notice.words]


def test_once_and_then_when_it_is_over() -> None:
    first, memory = due(OPS, [HOT], Memory(), 1000)
    assert words(first) == [(7, "firing")]
    assert memory == Memory({7: Told(Word.FIRING, 1000)}, (1000,))
    nothing, memory = due(OPS, [HOT], memory, 2000)
    assert nothing is None
    over = replace(HOT, over_ms=3000)
    last, memory = due(OPS, [over], memory, 3000)
    assert words(last) == [(7, "resolved")]
    assert due(OPS, [over], memory, 4000)[0] is None


@pytest.mark.parametrize(
    ("change", "channel"),
    [
        ({"severity": Severity.INFO}, OPS),
        ({"silenced": True}, OPS),
        ({"caused": True}, OPS),
        ({"known": False}, OPS),
        ({"channels": ("night",)}, OPS),
        ({"over_ms": 900}, OPS),
        ({}, replace(OPS, enabled=False)),
        ({}, replace(OPS, least=Severity.CRITICAL, per_hour=0)),
    ],
)
def test_what_nobody_is_told(change: dict[str, object], channel: Channel) -> None:
    assert due(channel, [replace(HOT, **change)], Memory(), 1000)[0] is None  # type: ignore[arg-type]


def test_everything_that_is_due_comes_in_one_message_in_any_order() -> None:
    alerts = [Alert(number, Severity.WARNING, 1000) for number in range(16)]
    shuffled = random.Random(3).sample(alerts, 16)
    one, other = due(OPS, alerts, Memory(), 1000), due(OPS, shuffled, Memory(), 1000)
    assert one == other
    assert words(one[0]) == [(number, "firing") for number in range(16)]


def test_what_fires_within_seconds_comes_together() -> None:
    gathering = replace(OPS, gather_ms=5000)
    assert due(gathering, [HOT], Memory(), 5999)[0] is None
    late = Alert(8, Severity.WARNING, 5500)
    assert words(due(gathering, [HOT, late], Memory(), 6000)[0]) == [(7, "firing"), (8, "firing")]


def test_what_ends_within_seconds_comes_together() -> None:
    gathering = replace(OPS, gather_ms=5000)
    memory = Memory({7: Told(Word.FIRING, 1000), 8: Told(Word.FIRING, 1000)})
    one = replace(HOT, over_ms=60_000)
    assert due(gathering, [one], memory, 64_999)[0] is None
    other = replace(HOT, id=8, over_ms=64_000)
    assert words(due(gathering, [one, other], memory, 65_000)[0]) == [(7, "resolved"), (8, "resolved")]


YEAR_MS = 365 * 24 * HOUR_MS


def test_what_was_told_by_a_clock_that_had_leapt_ahead_keeps_nobody_waiting() -> None:
    """Of twenty messages, told in the year to come, none is of the last hour; what was told then is told again as late
    as if it was told now, and what fired then and was not told is not young."""
    ahead = Memory({7: Told(Word.FIRING, YEAR_MS)}, tuple(YEAR_MS + second for second in range(20)))
    late = Alert(8, Severity.CRITICAL, 5000)
    notice, memory = due(OPS, [HOT, late], ahead, 6000)
    assert words(notice) == [(8, "firing")]
    assert memory == Memory({7: Told(Word.FIRING, 6000), 8: Told(Word.FIRING, 6000)}, (6000,))
    assert words(due(OPS, [HOT], memory, 6000 + 4 * HOUR_MS)[0]) == [(7, "still firing")]
    assert words(due(replace(OPS, gather_ms=5000), [replace(HOT, fired_ms=YEAR_MS)], Memory(), 6000)[0]) == [
        (7, "firing")
    ]


def test_again_after_a_while_unless_somebody_has_seen_it() -> None:
    memory = Memory({7: Told(Word.FIRING, 0)})
    assert due(OPS, [HOT], memory, 4 * HOUR_MS - 1)[0] is None
    notice, after = due(OPS, [HOT], memory, 4 * HOUR_MS)
    assert words(notice) == [(7, "still firing")]
    assert due(OPS, [HOT], after, 4 * HOUR_MS + 1000)[0] is None
    assert due(OPS, [replace(HOT, acknowledged=True)], memory, 4 * HOUR_MS)[0] is None
    assert due(replace(OPS, repeat_ms=0), [HOT], memory, 40 * HOUR_MS)[0] is None


def test_after_a_maintenance_only_what_is_newly_wrong_and_what_recovered() -> None:
    """1 was told before and goes on, 2 was told before and recovered inside, 3 began inside, 4 came and went inside."""
    before = Memory({1: Told(Word.FIRING, 0), 2: Told(Word.FIRING, 0)})
    alerts = [
        Alert(1, Severity.WARNING, 0, silenced=True),
        Alert(2, Severity.WARNING, 0, over_ms=5000, silenced=True),
        Alert(3, Severity.WARNING, 4000, silenced=True),
        Alert(4, Severity.WARNING, 4000, over_ms=5000, silenced=True),
    ]
    notice, memory = due(OPS, alerts, before, 6000)
    assert notice is None
    notice, memory = due(OPS, [replace(alert, silenced=False) for alert in alerts], memory, 9000)
    assert words(notice) == [(2, "resolved"), (3, "firing")]


@pytest.mark.parametrize(
    ("channel", "rule"), [(replace(OPS, least=Severity.CRITICAL), ()), (OPS, ("night",)), (OPS, ("ops",))]
)
def test_the_end_is_told_to_whoever_heard_the_begin(channel: Channel, rule: tuple[str, ...]) -> None:
    """Whatever the channel or the rule says by now: nobody is left with a fault that is over."""
    alert = Alert(7, Severity.WARNING, 0, over_ms=2000, channels=rule)
    notice, memory = due(channel, [alert], Memory({7: Told(Word.FIRING, 0)}), 2000)
    assert words(notice) == [(7, "resolved")]
    assert owed(channel, memory) == set()
    assert due(replace(channel, enabled=False), [alert], Memory({7: Told(Word.FIRING, 0)}), 2000)[0] is None
    unheard = due(channel, [alert], Memory(), 2000)[0]
    assert unheard is None


def test_a_channel_that_wants_no_ends() -> None:
    memory = Memory({7: Told(Word.FIRING, 0)})
    assert due(replace(OPS, resolved=False), [replace(HOT, over_ms=2000)], memory, 3000)[0] is None


def test_sixteen_nodes_that_flap_for_an_hour_stay_under_the_limit() -> None:
    """Every node's alert fires and ends every 20 s: 2,880 of them. No more than 20 messages, and nothing is lost."""
    channel, memory, notices = replace(OPS, per_hour=20), Memory(), []
    alerts: dict[int, Alert] = {}
    seen: set[int] = set()
    for second in range(0, 3600, 4):
        now = second * 1000
        for node in range(16):
            number = node + 16 * (second // 20)
            wrong = (second + node) % 20 < 10
            if wrong and number not in seen:
                seen.add(number)
                alerts[number] = Alert(number, Severity.CRITICAL, now)
            elif not wrong and number in alerts and alerts[number].over_ms is None:
                alerts[number] = replace(alerts[number], over_ms=now)
        notice, memory = due(channel, alerts.values(), memory, now)
        notices += [notice] if notice else []
        kept = owed(channel, memory)
        alerts = {number: one for number, one in alerts.items() if one.over_ms is None or number in kept}
    assert len(notices) == 19
    assert {number for one in notices for number, _ in one.words} | set(memory.held) == seen
    assert max(later.at_ms - one.at_ms for one, later in pairwise(notices)) <= 370_000
    standing = Alert(99_999, Severity.CRITICAL, 3_600_000)
    notice, _ = due(channel, [standing], memory, 2 * 3_600_000)
    assert words(notice) == [(99_999, "firing")]


@pytest.mark.parametrize(
    ("per_hour", "sent", "after_s", "told"),
    [
        (20, 9, 0, True),
        (20, 10, 359, False),
        (20, 10, 360, True),
        (20, 19, 360, True),
        (20, 20, 360, False),
        (5, 1, 0, True),
        (5, 2, 1199, False),
        (5, 2, 1200, True),
        (4, 1, 0, True),
        (4, 2, 1799, False),
        (3, 2, 0, True),
        (3, 3, 3000, False),
    ],
)
def test_half_of_an_hour_is_kept_for_the_rest_of_it(per_hour: int, sent: int, after_s: int, told: bool) -> None:
    memory = Memory(sent_ms=tuple(HOUR_MS + number for number in range(sent)))
    now_ms = HOUR_MS + sent - 1 + after_s * 1000
    assert bool(due(replace(OPS, per_hour=per_hour), [HOT], memory, now_ms)[0]) is told


def test_the_limit_holds_in_any_hour_and_what_waits_comes_together() -> None:
    channel = replace(OPS, per_hour=2)
    memory = Memory(sent_ms=(10, 20))
    held, memory = due(channel, [HOT], memory, HOUR_MS + 9)
    assert held is None
    late = Alert(8, Severity.WARNING, HOUR_MS + 10)
    notice, memory = due(channel, [HOT, late], memory, HOUR_MS + 10)
    assert words(notice) == [(7, "firing"), (8, "firing")]
    assert memory.sent_ms == (20, HOUR_MS + 10)


FULL = Memory(sent_ms=(10, 20))
TWO = replace(OPS, per_hour=2)
ROOM_MS = HOUR_MS + 10


def test_what_came_and_went_while_the_limit_held_it_back_is_told_once() -> None:
    nothing, memory = due(TWO, [HOT], FULL, 1000)
    assert (nothing, memory.held, owed(TWO, memory)) == (None, {7: 1000}, {7})
    nothing, again = due(TWO, [HOT], memory, 2000)
    assert (nothing, again) == (None, memory), "nothing to be written at every tick"
    over = replace(HOT, over_ms=3000)
    nothing, memory = due(TWO, [over], memory, 3000)
    assert (nothing, memory.held) == (None, {7: 1000})
    notice, memory = due(TWO, [over], memory, ROOM_MS)
    assert words(notice) == [(7, "resolved")]
    assert (memory.held, owed(TWO, memory)) == ({}, set())
    assert due(TWO, [over], memory, 2 * HOUR_MS)[0] is None


def test_a_channel_that_wants_no_ends_hears_of_what_it_would_never_hear_of() -> None:
    quiet = replace(TWO, resolved=False)
    _, memory = due(quiet, [HOT], FULL, 1000)
    assert owed(quiet, memory) == {7}
    notice, memory = due(quiet, [replace(HOT, over_ms=3000)], memory, ROOM_MS)
    assert words(notice) == [(7, "resolved")]
    told = Memory({7: Told(Word.FIRING, 5)}, (10, 20))
    assert due(quiet, [replace(HOT, over_ms=3000)], told, 3000)[1].held == {}
    assert owed(quiet, told) == set()
    assert owed(TWO, told) == {7}


def test_an_end_that_the_limit_holds_back_counts_as_waiting_and_a_repetition_does_not() -> None:
    told = Memory({7: Told(Word.FIRING, -8 * HOUR_MS)}, (10, 20))
    assert due(TWO, [HOT], told, 1000)[1].held == {}
    nothing, memory = due(TWO, [replace(HOT, over_ms=900)], told, 1000)
    assert (nothing, memory.held) == (None, {7: 1000})
    assert words(due(TWO, [replace(HOT, over_ms=900)], memory, ROOM_MS)[0]) == [(7, "resolved")]


@pytest.mark.parametrize("change", [{"caused": True}, {"severity": Severity.INFO}, {"channels": ("night",)}])
def test_what_another_explains_or_is_not_for_this_channel_waits_no_more(change: dict[str, object]) -> None:
    _, memory = due(TWO, [HOT], FULL, 1000)
    nothing, memory = due(TWO, [replace(HOT, **change)], memory, 2000)  # type: ignore[arg-type]
    assert (nothing, memory.held) == (None, {})
    nothing, memory = due(TWO, [replace(HOT, over_ms=3000, **change)], memory, ROOM_MS)  # type: ignore[arg-type]
    assert nothing is None


def test_what_waits_is_not_told_while_it_is_silenced_but_after_that() -> None:
    _, memory = due(TWO, [HOT], FULL, 1000)
    over = replace(HOT, over_ms=3000)
    nothing, memory = due(TWO, [replace(over, silenced=True)], memory, ROOM_MS)
    assert (nothing, memory.held) == (None, {7: 1000})
    assert words(due(TWO, [over], memory, ROOM_MS + 1)[0]) == [(7, "resolved")]


def test_what_waits_and_has_gone_young_things_beside_it_is_told_with_them() -> None:
    gathering = replace(TWO, gather_ms=5000)
    _, memory = due(gathering, [HOT], FULL, 1000)
    late = Alert(8, Severity.WARNING, ROOM_MS)
    notice, memory = due(gathering, [replace(HOT, over_ms=3000), late], memory, ROOM_MS)
    assert words(notice) == [(7, "resolved"), (8, "firing")]


def test_a_channel_that_is_off_is_owed_nothing() -> None:
    memory = Memory({1: Told(Word.FIRING, 0)}, held={7: 1000})
    off = replace(OPS, enabled=False)
    assert owed(off, memory) == set()
    assert due(off, [HOT], memory, 2000)[1].held == {}


def test_the_same_words_have_the_same_id_and_others_another() -> None:
    one, again = due(OPS, [HOT], Memory(), 1000)[0], due(OPS, [HOT], Memory(), 1000)[0]
    later = due(OPS, [HOT], Memory(), 2000)[0]
    other = due(replace(OPS, name="night"), [HOT], Memory(), 1000)[0]
    assert one
    assert again
    assert later
    assert other
    assert one.id == again.id
    assert len({one.id, later.id, other.id}) == 3


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 10), (2, 20), (3, 40), (7, 600), (5000, 600)])
def test_a_message_is_tried_again_later_and_later(attempts: int, seconds: int) -> None:
    assert Retry().after(attempts) == seconds * 1000


def test_what_a_later_message_says_need_not_be_said() -> None:
    early = ((1, Word.FIRING), (2, Word.FIRING))
    assert superseded(early, [(2, Word.RESOLVED)]) == ((1, Word.FIRING),)


steps = st.lists(st.sampled_from(["fire", "end", "silence", "speak", "cause", "free", "tick"]), max_size=40)


@given(steps)
def test_words_alternate_whatever_happens(steps: list[str]) -> None:
    """Firing before resolved, each once; nothing while it is silenced."""
    alert, memory, said, number = None, Memory(), [], 0
    silenced = caused = False
    for second, step in enumerate(steps):
        now = second * 1000
        silenced = {"silence": True, "speak": False}.get(step, silenced)
        caused = {"cause": True, "free": False}.get(step, caused)
        if step == "fire" and (alert is None or alert.over_ms is not None):
            number += 1
            alert = Alert(number, Severity.CRITICAL, now)
        if step == "end" and alert is not None and alert.over_ms is None:
            alert = replace(alert, over_ms=now)
        if alert is not None:
            notice, memory = due(OPS, [replace(alert, silenced=silenced, caused=caused)], memory, now)
            assert not (notice and silenced)
            said += words(notice)
    for one in range(1, number + 1):
        expected = ([], ["firing"], ["firing", "resolved"], ["resolved"])
        assert [word for of, word in said if of == one] in expected
