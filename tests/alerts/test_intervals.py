"""Rules whose condition looks back, of targets that are read every so many seconds: what happens once must not outlast
`for` by the seconds until the next read, also where one is missed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from alerts import needs
from alerts.book import Book
from alerts.machine import Phase
from alerts.slow import Slow
from alerts.view import View
from telemetry.catalog import engine, memory
from telemetry.model import Series
from tests.alerts.samples import NAN, frame
from tests.alerts.stories_of_rules import GIB, MEMBERS, Value, histogram, line, on, served
from tests.alerts.test_default_rules import RULES

BEGIN_S, LENGTH_S = 150, 900
INTERVALS = (1, 2, 7, 9, 11, 13)
Rows = Mapping[Series, Value]


def once(by: float, over_s: float = 0.0) -> Callable[[float], float]:
    """A counter that grows by so much in so many seconds, and never again."""
    return lambda second: by * min(max((second - BEGIN_S) / over_s if over_s else float(second >= BEGIN_S), 0.0), 1.0)


def since(rate: float) -> Callable[[float], float]:
    return lambda second: rate * max(second - BEGIN_S, 0.0)


def after(first: float, over_s: float, then: float) -> Callable[[float], float]:
    """A counter that grows fast for so many seconds, and slowly from then on."""
    return lambda second: once(first, over_s)(second) + then * max(second - BEGIN_S - over_s, 0.0)


def fragmented(stalls: Value) -> dict[Series, Value]:
    return on("a", memory.FREE_BLOCKS, 10.0, at_least="16MiB") | on("a", memory.COMPACTION_STALLS, stalls)


def falls(rate: float) -> dict[Series, Value]:
    def left(second: float) -> float:
        return max(23.0 - rate * max(second - BEGIN_S, 0.0), 9.0) * GIB

    return on("a", memory.MEMORY_AVAILABLE, left) | on("a", memory.MEMORY_HEADROOM, left)


def slow_ones(count: Value) -> dict[str, Value]:
    return {"1.0": 0.0, "160.0": count, "640.0": count, "+Inf": count}


ONCE: Sequence[tuple[str, str, Rows]] = [
    ("queue_growing", "a burst that drains", served(waiting=lambda s: max(50 - (s - BEGIN_S) / 5, 0) * (s >= BEGIN_S))),
    ("memory_fragmented", "one stall", fragmented(once(1))),
    ("memory_collapse", "less than 1 GiB a second", falls(0.9)),
    ("memory_collapse", "a third of it", falls(0.3)),
    ("preemptions", "three at once", served(preempted=once(3))),
    ("ttft_objective", "a hundred at once", histogram(engine.TTFT, slow_ones(once(100)))),
    ("itl_objective", "a thousand at once", histogram(engine.ITL, slow_ones(once(1000)))),
    (
        "acceptance_collapse",
        "other prompts for one minute, then nothing",
        served(accepted=once(60, 60), drafts=once(600, 60)),
    ),
    (
        "acceptance_collapse",
        "other prompts at once, then few",
        served(accepted=after(20, 1, 1.5), drafts=after(300, 1, 0.5)),
    ),
]
LASTING: Sequence[tuple[str, int, Rows]] = [
    ("queue_growing", 150, served(waiting=since(0.2))),
    ("memory_fragmented", 90, fragmented(since(40))),
    ("preemptions", 160, served(preempted=since(0.1))),
    ("ttft_objective", 490, histogram(engine.TTFT, slow_ones(since(1)))),
    ("itl_objective", 490, histogram(engine.ITL, slow_ones(since(10)))),
    ("acceptance_collapse", 420, served(accepted=since(0.2), drafts=since(2))),
]


def fired_s(name: str, rows: Rows, every_s: int, begin_s: int = 0, missed_s: int = -1) -> list[float]:
    """Seconds after the fault at which a rule fires. The hub ticks every second, the target is read every few."""
    lines = {series: line(value, LENGTH_S) for series, value in rows.items()}
    for values in lines.values():
        for second in range(LENGTH_S):
            if second % every_s != begin_s % every_s or second // every_s == missed_s // every_s:
                values[second] = NAN
    made = frame(lines, gap_ms=2500.0 * every_s)
    usual = next((one for one in needs_of(name) if one.how == "usual"), None)
    slow: Slow = {} if usual is None else {(usual, RULES[name].place.name): {("head", "0", "Kimi-K3"): 4.0}}
    turns = Book().read([RULES[name]], View(made, 0, MEMBERS, {}, {}, slow))
    begin = int(made.ticks[0]) + BEGIN_S * 1000
    return [(one.change.at_ms - begin) / 1000 for one in turns if one.change.phase is Phase.FIRING]


def needs_of(name: str) -> list:  # type: ignore[type-arg]
    return [reading for _, reading in needs.readings([RULES[name]])]


@pytest.mark.parametrize("every_s", INTERVALS)
@pytest.mark.parametrize(("name", "what", "rows"), ONCE, ids=[f"{name}: {what}" for name, what, _ in ONCE])
def test_what_happens_once_does_not_fire_at_any_interval(name: str, what: str, rows: Rows, every_s: int) -> None:
    for begin_s in {0, every_s // 2, every_s - 1}:
        assert fired_s(name, rows, every_s, begin_s) == [], (what, begin_s)


@pytest.mark.parametrize("every_s", INTERVALS)
@pytest.mark.parametrize("name", ["queue_growing", "memory_fragmented"])
def test_nor_where_a_read_is_missed_as_it_would_end(name: str, every_s: int) -> None:
    rows = next(rows for rule, _, rows in ONCE if rule == name)
    window_s = {"queue_growing": 120, "memory_fragmented": 60}[name]
    for missed_s in range(BEGIN_S + window_s - 2 * every_s, BEGIN_S + window_s + 2 * every_s, max(every_s // 2, 1)):
        assert fired_s(name, rows, every_s, 0, missed_s) == [], missed_s


@pytest.mark.parametrize("every_s", INTERVALS)
@pytest.mark.parametrize(("name", "within_s", "rows"), LASTING, ids=[name for name, _, _ in LASTING])
def test_what_lasts_does(name: str, within_s: int, rows: Rows, every_s: int) -> None:
    (found,) = fired_s(name, rows, every_s)
    assert RULES[name].timing.for_ms / 1000 <= found <= within_s + 2 * every_s


@pytest.mark.parametrize("every_s", [1, 2, 4, 5])
def test_memory_that_collapses_is_told_at_intervals_up_to_its_window(every_s: int) -> None:
    assert fired_s("memory_collapse", falls(1.2), every_s)[0] <= 5 + every_s
    assert fired_s("memory_collapse", falls(1.2), 7) == [], "of a node that is read every 7 s nobody knows it"


def test_no_rule_waits_for_as_long_as_it_looks_back() -> None:
    """A window that is all of `for` is outlasted by what happened once, by the seconds until the next read."""
    for rule in RULES.values():
        windows = [found for reading in needs_of(rule.name) if (found := needs.window_ms(reading))]
        assert not windows or not rule.timing.for_ms or min(windows) != rule.timing.for_ms, rule.name
