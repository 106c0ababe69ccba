"""Two stores on two engines that are told the same give the same answers, to the last bit."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from storage.imports import ImportedHour, Imports
from storage.records import Absence, Batch, Episode, Event, Fact, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries
from tests.storage.server import Server
from tests.storage.worlds import NOW, SECOND

LATER = NOW + 10 * HOUR_MS
NAMES = ("gpu_power_watts", "generation_tokens_total", "x", "time_to_first_token_seconds_bucket")
TARGETS = ("a", "B", "é")
HOURS = 2
STEP_S = 48


@pytest.fixture
def stores(tmp_path: Path, server: Server) -> Iterator[list[Store]]:
    """One of each engine, empty."""
    urls = (f"sqlite:///{tmp_path}/store.db", server.url(schema=server.new("SCHEMA")))
    found = [open_store(url, writer=True, now_ms=NOW) for url in urls]
    yield found
    for one in found:
        one.close()


def series_of(target: str, tick: int) -> tuple[Series, ...]:
    """Layouts change, and some series are there in some hours only."""
    names = NAMES if tick % 7 else NAMES[:3]
    return tuple(Series(target, name, (("le", "+Inf"),) if name.endswith("bucket") else ()) for name in names)


def numbers(chance: random.Random, at: int) -> list[float]:
    """Digits of every length, unknown ones, infinite ones, and zeros of both signs."""
    strange = (float("nan"), float("inf"), -0.0, 5e-324, 1 / 3, 2.0**60)
    gauge = chance.choice(strange) if chance.random() < 0.1 else round(chance.uniform(-50, 700), chance.randrange(4))
    return [gauge, 17.0 * at, chance.choice((0.0, 0.0, float("nan"))), at / 7]


def tell(store: Store, seed: int) -> None:
    """Some hours of everything that a collector writes."""
    chance = random.Random(seed)
    for at in range(0, HOURS * 3600, STEP_S):
        tick = NOW + at * SECOND
        rows = []
        for target in TARGETS:
            if chance.random() < 0.05:
                continue
            series = series_of(target, at // 600)
            values = numbers(chance, at)[: len(series)]
            rows.append(Row(tick, target, tick + chance.randrange(300), store.layout(target, series), values))
        store.commit(Batch(rows=rows, **beside(chance, tick)), tick)  # type: ignore[arg-type]


def beside(chance: random.Random, tick: int) -> dict[str, list[object]]:
    """What is no sample, now and then; some of it twice in a batch."""
    target, end = chance.choice(TARGETS), tick + 500
    kinds: dict[str, object] = {
        "offsets": Offset(target, NAMES[1], (), tick, chance.random(), chance.choice(("restart", "first use", "wrap"))),
        "absences_opened": Absence(target, chance.choice((None, "x")), tick, None, "because"),
        "absences_closed": Absence(target, "x", tick, end, "because"),
        "facts": Fact(target, chance.choice("mn"), chance.choice(("v", "w", "Ω 'q'")), tick),
        "events": Event(0, tick, target, "kind", "text\t%s", {"l": "1"}),
        "episodes": Episode("d", target, "e", tick, end, chance.choice((None, 7)), chance.choice((None, 0.5))),
        "targets": TargetRow(target, "node", "http://x", chance.choice((1000, 20_000)), "up", "", tick, None, {"a": 1}),
    }
    return {name: [one] * chance.randrange(1, 3) for name, one in kinds.items() if chance.random() < 0.1}


def bits(value: Frame | Summaries) -> dict[str, object]:
    """What can be compared: bits, not numbers, so that NaN is NaN and, in samples, -0.0 is not 0.0.

    In a column of its own SQLite keeps no sign of a zero: summaries are without.
    """
    sign = 0.0 if isinstance(value, Summaries) else -0.0
    found: dict[str, object] = {}
    for one in fields(value):
        part = getattr(value, one.name)
        if isinstance(part, np.ndarray) and part.dtype.kind == "f":
            part = part + sign
        found[one.name] = (part.dtype.str, part.shape, part.tobytes()) if isinstance(part, np.ndarray) else part
    return found


def answers(store: Store) -> dict[str, object]:
    """Everything that can be asked."""
    ranges = [(NOW, LATER), (NOW + HOUR_MS // 2, NOW + 2 * HOUR_MS + 777), (NOW + 61_000, NOW + 62_000)]
    found: dict[str, object] = {
        f"{ask.__name__} {start} {end} {wanted}": bits(ask(wanted, targets, start, end))
        for start, end in ranges
        for wanted, targets in ((NAMES, None), (NAMES[:1], ["a", "é"]), (("nothing",), None))
        for ask in (store.frame, store.ends, store.summaries)
    }
    for name, ask in {
        "rows": store.rows,
        "last_rows": store.last_rows,
        "commits": lambda: store.commits_after(0, 10**6),
        "latest": store.latest_commit,
        "offsets": lambda: store.offsets(0, LATER),
        "last_offsets": lambda: [store.last_offsets(target) for target in TARGETS],
        "facts": store.facts,
        "facts then": lambda: store.facts(at_ms=NOW + HOUR_MS),
        "absences": lambda: store.absences(0, LATER),
        "events": lambda: store.events(0, LATER, limit=50),
        "episodes": lambda: store.episodes("d", 0, LATER),
        "targets": store.targets,
        "sealed": lambda: store.sealed(0, LATER),
        "unsealed": lambda: store.unsealed(0, LATER),
        "due": lambda: store.due(LATER),
        "forgotten": lambda: store.forgotten(0, LATER),
        "extent": store.extent,
        "weight": lambda: store.weigh(NOW),
        "newest hours": lambda: store.newest_hours(2),
        "oldest": lambda: (store.oldest_samples(), store.oldest_summaries()),
        "verified": store.verify,
    }.items():
        found[name] = ask()
    return found


def assert_alike(stores: list[Store]) -> None:
    """One answer after the other, so that a failure names the question."""
    first, second = map(answers, stores)
    assert first.keys() == second.keys()
    for question, answer in first.items():
        assert answer == second[question], question


def each(stores: list[Store], ask: str, *arguments: object) -> None:
    """The same of both, with the same outcome."""
    first, second = (getattr(one, ask)(*arguments) for one in stores)
    assert first == second, ask


def test_the_same_input_gives_the_same_answers(stores: list[Store]) -> None:
    for one in stores:
        tell(one, seed=1)
    assert_alike(stores)
    for target, hour in stores[0].due(LATER)[:-2]:
        each(stores, "seal", target, hour, LATER)
    assert_alike(stores)
    late = NOW + HOUR_MS + 5
    for one in stores:
        one.commit(Batch(rows=[Row(late, "a", late, one.layout("a", series_of("a", 1)), [1, 2, 3, 4])]), LATER)
    assert_alike(stores)
    each(stores, "prune", LATER)
    for target, hour in stores[0].due(LATER):
        each(stores, "seal", target, hour, LATER)
    each(stores, "forget", NOW + HOUR_MS)
    assert_alike(stores)
    each(stores, "drop_summaries", NOW + HOUR_MS)
    each(stores, "tidy", NOW + HOUR_MS)
    assert_alike(stores)


def test_hours_from_elsewhere_are_alike(stores: list[Store]) -> None:
    ticks = NOW - HOUR_MS + 30_000 * np.arange(120, dtype=np.int64)
    series = series_of("a", 1)
    values = np.array([numbers(random.Random(number), number) for number in range(120)]).T.copy()
    steps = [Offset("a", NAMES[1], (), int(ticks[50]), 3.0, "restart")]
    hour = ImportedHour("a", NOW - HOUR_MS, ticks, series, values, steps, 30_000, {"model": "m"})
    for one in stores:
        tell(one, seed=3)
        assert Imports(one).write(hour)
        assert not Imports(one).write(hour)
    each(stores, "seal", "a", NOW, LATER)
    assert_alike(stores)
