"""How often a target may be asked: by what asking costs it, and less and less where it makes no sense.

A state machine without I/O: outcomes and instants go in, "ask now or not" comes out.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

from collectors.scrape.outcome import Outcome

COST_FACTOR = 100.0
"""An engine spends at most a hundredth of its time on us."""
MIN_INTERVAL_S, MAX_INTERVAL_S = 1.0, 10.0
"""Never more often, and never more rarely: a slow network must not blind us."""
IDLE_NEEDED, IDLE_SAMPLES = 5, 15
"""Scrapes that the fastest is taken of: the first ones pay for connecting and say nothing. Only idle ones, since a busy
engine answers late without working on our page."""
GONE_FIRST_S, GONE_LAST_S = 1.0, 10.0
"""Pause after a refused, silent or broken target: first and longest, doubling."""
DENIED_FIRST_S, DENIED_LAST_S = 10.0, 300.0
"""Pause after 401, 404 and 501: what is asked for is not there, and asking does not bring it."""
_DENIED = (Outcome.NOT_FOUND, Outcome.UNAUTHORISED)


def interval_ticks(scrape_s: float | None, tick_s: float) -> int:
    """Ticks between two scrapes of an engine: 100 × its idle scrape time within 1 … 10 s, in whole ticks.

    >>> interval_ticks(None, 1.0), interval_ticks(0.004, 1.0), interval_ticks(0.0125, 1.0), interval_ticks(0.004, 0.5)
    (1, 1, 2, 2)
    """
    wanted = min(max(MIN_INTERVAL_S, COST_FACTOR * (scrape_s or 0.0)), MAX_INTERVAL_S)
    return max(1, math.ceil(wanted / tick_s - 1e-9))


def pause_s(outcome: Outcome, failures: int) -> float:
    """Seconds without a request after the given number (≥ 1) of failures of this kind in a row."""
    first, last = (DENIED_FIRST_S, DENIED_LAST_S) if outcome in _DENIED else (GONE_FIRST_S, GONE_LAST_S)
    return float(min(last, first * 2.0 ** min(failures - 1, 30)))


@dataclass
class Politeness:
    """When one target is due. tick_s: seconds between ticks; by_cost: whether its cost counts (engines, not agents)."""

    tick_s: float
    by_cost: bool = True
    _idle: deque[float] = field(default_factory=lambda: deque(maxlen=IDLE_SAMPLES))
    _next_s: float = -math.inf
    _failures: int = 0
    _last: Outcome = Outcome.OK

    def due(self, now_s: float) -> bool:
        """Whether to ask at the tick of this monotonic instant; instants of ticks may be off by a little."""
        return now_s >= self._next_s - self.tick_s / 4

    @property
    def interval_s(self) -> float:
        """Nominal seconds between two scrapes of a healthy target."""
        # The fastest: waiting of our own only ever adds to what the page costs the engine.
        fastest = min(self._idle) if len(self._idle) >= IDLE_NEEDED else None
        ticks = interval_ticks(fastest, self.tick_s)
        return (ticks if self.by_cost else 1) * self.tick_s

    @property
    def silent_s(self) -> float | None:
        """Seconds between two requests while it gives no page, growing; None while it does."""
        return max(pause_s(self._last, self._failures), self.tick_s) if self._failures else None

    def answered(self, now_s: float, seconds: float, *, idle: bool) -> None:
        """A page arrived for the tick of this instant. idle: no request was running, so its time is our cost."""
        if idle:
            self._idle.append(seconds)
        self._failures, self._last = 0, Outcome.OK
        self._next_s = now_s + self.interval_s

    def failed(self, now_s: float, outcome: Outcome) -> None:
        """No page arrived for the tick of this instant."""
        same_kind = (outcome in _DENIED) == (self._last in _DENIED)
        self._failures = self._failures + 1 if same_kind and self._failures else 1
        self._last = outcome
        self._next_s = now_s + (self.silent_s or self.tick_s)
