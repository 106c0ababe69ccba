"""Awaited: what became of orders, within a moment. What nobody has carried out then is taken back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from dashboard.sources import Sources

UNHEARD = 503
"""Status of an answer that no collector has carried out."""
WAIT_S, LOOK_S = 4.0, 0.05
TICK_MS = 1_000
TICKS = 2
"""An order is fetched after one tick and carried out in the next."""
SILENT = "No collector has carried this out in time, so it was taken back: it is busy, or does not run."
TAKEN_BACK = "no collector had carried it out in time, so it was taken back"

Outcome = Callable[[int], dict[str, Any]]
"""Number of a command → {command, applied, error}."""


def awaited(sources: Sources, numbers: Sequence[int], outcome: Outcome, wait_s: float) -> list[dict[str, Any]]:
    """What became of commands, as soon as all were carried out or the time is over: then with `why`.

    An order that its caller was told of in vain must not be carried out later, by whatever collector comes: it may
    end a run that nobody meant. So it is taken back, also where the caller is interrupted. wait_s: of a collector that
    reads every second; one that reads more rarely is given its ticks.
    """
    deadline = time.monotonic() + wait_s + TICKS * max(sources.step_ms() - TICK_MS, 0) / 1000
    found = {number: outcome(number) for number in numbers}
    waiting = list(numbers)
    try:
        while waiting := [number for number in waiting if found[number]["applied"] is None]:
            if time.monotonic() >= deadline:
                break
            time.sleep(LOOK_S)
            found |= {number: outcome(number) for number in waiting}
    finally:
        back = sources.store.take_back(waiting, TAKEN_BACK, sources.now_ms()) if waiting else set()
    return [{**found[number], "why": SILENT} if number in back else outcome(number) for number in numbers]
