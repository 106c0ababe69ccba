"""What the users of the imaginary cluster ask: an open loop of requests in spells of work, with pauses between."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from simulator.draws import stream

BLOCK = 128
"""Tokens in a block of the KV cache: prefixes are found in whole blocks."""
PROMPT_TOKENS = (2_000, 60_000)
ANSWER_TOKENS = (300, 3_000)
ANSWER_MEDIAN = 620
NEW_CONVERSATION = 0.35
SPELL_S = 420.0
ARRIVAL_GAP_S = 68.0
PAUSE_S = (15.0, 30.0)
"""Shortest pause between two spells, and the mean of what comes on top."""

FIRST_EXTRA = 1_000_000
"""Requests outside the loop are numbered from here, so that they change nothing in the others."""


@dataclass(eq=False)
class Request:
    """One request and how far it has got; times in seconds of the simulated clock.

    cached: tokens of the prompt that the prefix cache holds. computed: tokens of the rest already computed.
    alone: nothing is decoded while its prompt is computed.
    """

    number: int
    arrived: float
    prompt: int
    cached: int
    answer: int
    stream: random.Random
    alone: bool = False
    computed: int = 0
    generated: int = 0
    admitted: float = 0.0
    first_token: float | None = None
    last_token: float = 0.0
    mood: float = 0.0

    @property
    def to_compute(self) -> int:
        """Tokens of the prompt that are not in the cache."""
        return self.prompt - self.cached

    @property
    def tokens(self) -> int:
        """Tokens in the KV cache now."""
        return self.cached + self.computed + self.generated


class Arrivals:
    """The requests of one seed, in order of arrival."""

    def __init__(self, seed: int, start: float) -> None:
        self._seed = seed
        self._draw = stream(seed, "arrivals")
        self._number = self._extras = 0
        self._spell_end = start + self._draw.uniform(0.7, 1.3) * SPELL_S
        self.next = self._make(start + self._draw.uniform(0.5, 3.0))

    def take(self) -> Request:
        """The next request; the one after it becomes `next`."""
        request, arrived = self.next, self.next.arrived + self._gap()
        if arrived > self._spell_end:
            shortest, mean = PAUSE_S
            arrived = self._spell_end + shortest + self._draw.expovariate(1 / mean)
            self._spell_end = arrived + self._draw.uniform(0.5, 1.5) * SPELL_S
        self.next = self._make(arrived)
        return request

    def extra(self, now: float, prompt: int, answer: int) -> Request:
        """A request outside the loop, nothing of it cached; drawn from streams of its own."""
        self._extras += 1
        number = FIRST_EXTRA + self._extras
        return Request(number, now, prompt, 0, answer, stream(self._seed, "request", str(number)))

    def _gap(self) -> float:
        """Seconds between two arrivals: the sum of two waits, so arrivals bunch less than pure chance."""
        return sum(self._draw.expovariate(2 / ARRIVAL_GAP_S) for _ in range(2))

    def _make(self, arrived: float) -> Request:
        draw = self._draw
        low, high = PROMPT_TOKENS
        prompt = int(low * math.exp(draw.random() * math.log(high / low)))
        share = 0.0 if draw.random() < NEW_CONVERSATION else draw.uniform(0.4, 0.95)
        cached = min(int(prompt * share), prompt - 1) // BLOCK * BLOCK
        answer = int(min(max(draw.lognormvariate(math.log(ANSWER_MEDIAN), 0.6), ANSWER_TOKENS[0]), ANSWER_TOKENS[1]))
        self._number += 1
        return Request(self._number, arrived, prompt, cached, answer, stream(self._seed, "request", str(self._number)))
