"""States of a target, with the sentence that each stands for. Pure: outcomes of requests in, states out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class TargetState(Enum):
    """What is known of a target after its last request."""

    OK = "ok"
    NOT_YET_SCRAPED = "not yet scraped"
    UNREACHABLE = "unreachable"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    BAD_ANSWER = "bad answer"
    NOT_FOUND = "not found"
    UNAUTHORISED = "unauthorised"
    NO_STATISTICS = "no statistics"
    STOPPED = "stopped"
    LOADING = "loading"
    RESTARTING = "restarting"


REMOVED = "removed"
"""What the store has as the state of a target that the settings do not name any more; no collector judges it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A state and why it is so, in words."""

    state: TargetState
    reason: str


@dataclass(frozen=True, slots=True)
class Before:
    """What was true of a target when it last answered; None is not known.

    goodbye: a node's agent said that it shuts down. running: requests an engine had in execution.
    fatal: an OOM kill, a fatal Xid or the loss of a node was seen since then. ever: it has answered at least once.
    memory_rising: memory held by GPU processes has been growing while the engine was away.
    stopped: it has been judged stopped for a while, which what happens later does not change. machine_off: a
    node's agent has said goodbye and is gone since.
    """

    ever: bool = False
    goodbye: bool = False
    running: float | None = None
    fatal: bool = False
    memory_rising: bool = False
    stopped: bool = False
    machine_off: bool = False


def silent_node(failure: TargetState, detail: str, before: Before) -> Verdict:
    """Verdict on a node whose agent did not answer."""
    if before.goodbye and failure in (TargetState.REFUSED, TargetState.UNREACHABLE, TargetState.TIMED_OUT):
        return Verdict(TargetState.STOPPED, "the agent said goodbye and stopped")
    if failure is TargetState.REFUSED:
        return Verdict(failure, "the host is alive, but no agent listens there")
    if failure is TargetState.TIMED_OUT:
        return Verdict(failure, "the host does not answer")
    return Verdict(failure, detail)


IDLE = "no request ran when it went, so whether somebody stopped it or it fell is not known"


def silent_engine(failure: TargetState, detail: str, before: Before) -> Verdict:
    """Verdict on an engine that did not answer with a page: loading, stopped, restarting, or gone.

    An engine says no goodbye: one that goes while it is idle was stopped, or fell, and nobody knows which.
    """
    if failure is TargetState.LOADING:
        return Verdict(failure, detail)
    if failure in (TargetState.TIMED_OUT, TargetState.UNREACHABLE):
        idle = before.running == 0 and not before.fatal
        if before.stopped or (idle and before.machine_off):
            return Verdict(TargetState.STOPPED, "no request ran when it went, and its machine does not answer since")
    if failure is not TargetState.REFUSED:
        return Verdict(failure, detail)
    if before.memory_rising:
        if before.ever:
            return Verdict(TargetState.RESTARTING, "nothing listens there, and GPU memory is filling: a restart")
        return Verdict(TargetState.LOADING, "nothing listens there yet, and GPU memory is filling")
    if before.stopped or (before.running == 0 and not before.fatal):
        return Verdict(TargetState.STOPPED, f"nothing listens there; {IDLE}")
    if before.ever and before.running:
        ran = "1 request" if before.running == 1 else f"{before.running:g} requests"
        return Verdict(TargetState.UNREACHABLE, f"nothing listens there; {ran} ran when it went")
    return Verdict(TargetState.REFUSED, "nothing listens there")
