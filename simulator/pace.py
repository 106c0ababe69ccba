"""How long a step of the engine takes and how many drafted tokens survive it: the published run, and its noise.

16 GB10 nodes, Kimi K3, DSpark with eight draft tokens: 20 tokens/s in the mean, 38 at the peak, 750 of prefill.
Each running request draws experts of its own, so a step grows with the batch. The noise is that of a recorded server,
whose 10 s blocks vary by 19 %.
"""

from __future__ import annotations

import math
import random

from simulator.requests import Request
from simulator.tally import DRAFT_TOKENS

STEP_S = 0.042
STEP_PER_REQUEST_S = 0.118
PREFILL_CHUNK = 512
PREFILL_TOKENS_PER_S = 810.0
CHUNK_OVERHEAD_S = 0.045
JITTER = 0.04
ACCEPT = 0.764
"""Chance that the next draft token survives, given that all before it did."""
MOOD_SPREAD = 0.066
MOOD_MEMORY_S = 14.0
WEATHER_SPREAD = 0.05
WEATHER_MEMORY_S = 25.0


class Pace:
    """Draws step times; `decode` and `prefill` are the factors by which faults stretch them."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self._weather = 0.0
        self.decode = 1.0
        self.prefill = 1.0

    def step_s(self, decoding: int, chunk: int) -> float:
        """Duration of a step for so many decoding requests and so many prompt tokens; at least one of them."""
        if chunk:
            base, weather = (CHUNK_OVERHEAD_S + chunk / PREFILL_TOKENS_PER_S) * self.prefill, 0.0
        else:
            base, weather = (STEP_S + STEP_PER_REQUEST_S * decoding) * self.decode, self._weather
        duration = base * math.exp(weather + self._draw.gauss(0.0, JITTER))
        self._weather = drift(self._draw, self._weather, duration, WEATHER_SPREAD, WEATHER_MEMORY_S)
        return duration


def drift(draw: random.Random, value: float, passed_s: float, spread: float, memory_s: float) -> float:
    """The next value of a wandering quantity around 0 that forgets over `memory_s`."""
    keep = math.exp(-passed_s / memory_s)
    return value * keep + draw.gauss(0.0, spread) * math.sqrt(1 - keep * keep)


def accepted(request: Request, passed_s: float) -> int:
    """How many of a request's draft tokens survive a step: 0 to 8. Its text wanders between easy and hard."""
    request.mood = drift(request.stream, request.mood, passed_s, MOOD_SPREAD, MOOD_MEMORY_S)
    chance = min(max(ACCEPT + request.mood, 0.45), 0.92)
    survivors = 0
    while survivors < DRAFT_TOKENS and request.stream.random() < chance:
        survivors += 1
    return survivors
