"""An engine at work, one of whose counters is wrong for some pages now and then: nothing is invented, little lost."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from collectors.scrape.text import PageReader
from pipeline.ingest import Ingest

NAMES = (
    "generation_tokens_total",
    "num_preemptions_total",
    "spec_decode_num_drafts_total",
    "spec_decode_num_draft_tokens_total",
    "spec_decode_num_accepted_tokens_total",
)
MOST = 200
"""Tokens that a counter gains from one page to the next at most."""
FAULTS: dict[str, Callable[[int, random.Random], int]] = {
    "nothing": lambda _value, _rnd: 0,
    "half": lambda value, _rnd: value // 2,
    "a little less": lambda value, _rnd: max(value - MOST - 1, 0),
    "more": lambda value, _rnd: value + 5_000_000,
    "much": lambda _value, _rnd: 10**12,
    "much more": lambda value, _rnd: value + 10**12,
    "anything": lambda _value, rnd: rnd.randint(0, 10**13),
}


class Engine:
    """True counters, and what a page says of them."""

    def __init__(self, rnd: random.Random) -> None:
        self.rnd, self.says_start = rnd, rnd.random() < 0.5
        self.values = [rnd.choice((0, 50, 5000, 800_000, 10**9)) + rnd.randint(0, 100) for _ in NAMES]
        self.first: list[int] = []
        self.wrong: tuple[int, str, int] = (0, "", 0)

    def page(self) -> bytes:
        self.values = [value + self.rnd.randint(0, MOST) for value in self.values]
        self.first = self.first or list(self.values)
        shown = list(self.values)
        line, fault, pages = self.wrong
        if pages:
            shown[line] = FAULTS[fault](self.values[line], self.rnd)
            self.wrong = (line, fault, pages - 1)
        told = [f'vllm:{name}{{engine="0",model_name="m"}} {value}' for name, value in zip(NAMES, shown, strict=True)]
        return "\n".join([*told, *["process_start_time_seconds 50"] * self.says_start, ""]).encode()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_invented_and_little_is_lost(fault: str, seed: int) -> None:
    engine = Engine(random.Random(f"{fault} {seed}"))
    reader, ingest = PageReader("x"), Ingest("x")
    before = [0.0] * len(NAMES)
    faults = 0
    for second in range(50):
        if second % 10 == 5 and second < 40:
            engine.wrong = (engine.rnd.randrange(len(NAMES)), fault, engine.rnd.randint(1, 5))
            faults += 1
        values = ingest.take(reader.read(engine.page()), 1000 * second).values.tolist()
        for place, value in enumerate(values):
            if math.isnan(value):
                continue
            true = engine.values[place] - engine.first[place]
            assert before[place] <= value <= true + MOST, (NAMES[place], second)
            before[place] = value
    lost = [now - then - last for now, then, last in zip(engine.values, engine.first, before, strict=True)]
    assert max(lost) <= faults * 7 * MOST
    assert min(lost) >= -MOST
