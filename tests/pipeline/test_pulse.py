"""Pauses of the process, by a clock in the test's hand."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.pulse import BEAT_S, SETTLE_S, TOLERANCE_S, Pulse
from tests.pipeline.served import Clock

LONGEST_S = BEAT_S + TOLERANCE_S


def beating(*at_s: float) -> tuple[Pulse, Clock]:
    """A pulse that has beaten at these instants; the clock stands at the last."""
    clock = Clock(at_s[0])
    pulse = Pulse(clock)

    async def first() -> None:
        task = asyncio.get_running_loop().create_task(pulse.run())
        await asyncio.sleep(0)
        task.cancel()

    asyncio.run(first())
    for at in at_s[1:]:
        clock.now_s = at
        pulse.beat()
    return pulse, clock


def test_one_that_never_began_says_nothing() -> None:
    assert not Pulse(Clock(1000.0)).hid(0.0)


@pytest.mark.parametrize(("now_s", "hid"), [(BEAT_S, False), (LONGEST_S, False), (LONGEST_S + 0.001, True)])
def test_a_beat_that_is_missed_for_long_is_a_pause(now_s: float, hid: bool) -> None:
    """Answers that lie ready may be taken in before the first beat is."""
    pulse, clock = beating(0.0)
    clock.now_s = now_s
    assert pulse.hid(0.0) is hid


def test_what_was_asked_before_a_pause_and_is_there_right_after_it_may_have_come_in_it() -> None:
    pulse, clock = beating(0.0, 0.25, 30.0)
    assert pulse.hid(sent_s=0.3)
    clock.now_s = 30.0 + SETTLE_S - 0.01
    assert pulse.hid(sent_s=29.9)
    assert not pulse.hid(sent_s=30.0), "asked after it"
    clock.now_s = 30.0 + SETTLE_S
    assert not pulse.hid(sent_s=0.3), "it came while we listened"


def test_late_beats_are_no_pauses() -> None:
    pulse, _ = beating(0.0, LONGEST_S, 2 * LONGEST_S)
    assert not pulse.hid(0.0)


def test_it_beats_by_itself() -> None:
    async def story() -> None:
        clock = Clock()
        pulse = Pulse(clock)
        task = asyncio.get_running_loop().create_task(pulse.run())
        await asyncio.sleep(0)
        clock.now_s = 9.0
        assert pulse.hid(9.0), "nobody knows yet that it goes on"
        async with asyncio.timeout(20):
            while pulse.hid(9.0):
                await asyncio.sleep(0.01)
        assert pulse.hid(8.9)
        task.cancel()

    asyncio.run(story())
