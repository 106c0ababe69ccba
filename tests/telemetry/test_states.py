"""States of targets that do not answer, from what was true when they last did."""

from __future__ import annotations

import pytest

from telemetry.states import Before, TargetState, silent_engine, silent_node

S = TargetState
DETAIL = "as the socket said it"


@pytest.mark.parametrize(
    ("failure", "before", "state", "reason"),
    [
        (S.REFUSED, Before(), S.REFUSED, "the host is alive, but no agent listens there"),
        (S.TIMED_OUT, Before(), S.TIMED_OUT, "the host does not answer"),
        (S.UNREACHABLE, Before(), S.UNREACHABLE, DETAIL),
        (S.BAD_ANSWER, Before(), S.BAD_ANSWER, DETAIL),
        (S.REFUSED, Before(goodbye=True), S.STOPPED, "the agent said goodbye and stopped"),
        (S.TIMED_OUT, Before(goodbye=True), S.STOPPED, "the agent said goodbye and stopped"),
        (S.UNREACHABLE, Before(goodbye=True), S.STOPPED, "the agent said goodbye and stopped"),
        (S.BAD_ANSWER, Before(goodbye=True), S.BAD_ANSWER, DETAIL),
        (S.UNAUTHORISED, Before(goodbye=True), S.UNAUTHORISED, DETAIL),
    ],
)
def test_silent_node(failure: S, before: Before, state: S, reason: str) -> None:
    verdict = silent_node(failure, DETAIL, before)
    assert (verdict.state, verdict.reason) == (state, reason)


@pytest.mark.parametrize(
    ("failure", "before", "state", "says"),
    [
        (S.LOADING, Before(), S.LOADING, DETAIL),
        (S.LOADING, Before(ever=True, running=3), S.LOADING, DETAIL),
        (S.TIMED_OUT, Before(ever=True, running=0), S.TIMED_OUT, DETAIL),
        (S.UNAUTHORISED, Before(memory_rising=True), S.UNAUTHORISED, DETAIL),
        (S.REFUSED, Before(), S.REFUSED, "nothing listens there"),
        (S.REFUSED, Before(ever=True), S.REFUSED, "nothing listens there"),
        (S.REFUSED, Before(ever=True, running=0), S.STOPPED, "it fell is not known"),
        (S.REFUSED, Before(ever=True, running=0, fatal=True), S.REFUSED, "nothing listens there"),
        (S.REFUSED, Before(ever=True, running=2), S.UNREACHABLE, "2 requests ran when it went"),
        (S.REFUSED, Before(ever=True, running=1), S.UNREACHABLE, "1 request ran when it went"),
        (S.REFUSED, Before(ever=True, running=2, fatal=True), S.UNREACHABLE, "2 requests ran when it went"),
        (S.REFUSED, Before(ever=True, running=0, fatal=True, stopped=True), S.STOPPED, "it fell is not known"),
        (S.REFUSED, Before(ever=True, stopped=True, memory_rising=True), S.RESTARTING, "a restart"),
        (S.TIMED_OUT, Before(ever=True, running=0, stopped=True), S.STOPPED, "its machine does not answer since"),
        (S.UNREACHABLE, Before(ever=True, stopped=True, fatal=True), S.STOPPED, "its machine does not answer since"),
        (S.BAD_ANSWER, Before(ever=True, running=0, stopped=True), S.BAD_ANSWER, DETAIL),
        (S.TIMED_OUT, Before(ever=True, running=0, machine_off=True), S.STOPPED, "its machine does not answer since"),
        (S.TIMED_OUT, Before(ever=True, running=0, machine_off=True, fatal=True), S.TIMED_OUT, DETAIL),
        (S.TIMED_OUT, Before(ever=True, running=2, machine_off=True), S.TIMED_OUT, DETAIL),
        (S.REFUSED, Before(memory_rising=True), S.LOADING, "GPU memory is filling"),
        (S.REFUSED, Before(ever=True, memory_rising=True, running=0), S.RESTARTING, "a restart"),
        (S.REFUSED, Before(ever=True, memory_rising=True, running=5), S.RESTARTING, "a restart"),
    ],
)
def test_silent_engine(failure: S, before: Before, state: S, says: str) -> None:
    verdict = silent_engine(failure, DETAIL, before)
    assert verdict.state is state
    assert says in verdict.reason
