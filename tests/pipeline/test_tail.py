"""The tail says of the last while what the store says: a gap is one by the interval at which it was read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from pipeline.tail import Tail
from pipeline.window import Window
from storage.errors import StoreAway, StoreBroken, StoreBusy, StoreError
from storage.intervals import OWN_FACT
from storage.records import Batch, Fact, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry.catalog import engine
from telemetry.counters import Step, trailing_increase
from telemetry.frame import Frame
from telemetry.model import Series
from tests.pipeline.stage import Stage

TOKENS = Series("e", engine.GENERATION_TOKENS.name, (("engine", "0"), ("model", "m")))
OTHER = Series("f", engine.GENERATION_TOKENS.name, (("engine", "0"), ("model", "m")))
T0 = 1_796_000_000_000
CHANGE = 120


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Store]:
    store = open_store(str(tmp_path / "tail.db"), writer=True, now_ms=T0)
    yield store
    store.close()


def write(store: Store, target: str, seconds: list[int]) -> None:
    """A counter of 20 a second, read at these seconds."""
    layout = store.layout(target, (TOKENS if target == "e" else OTHER,))
    rows = [Row(T0 + 1000 * at, target, T0 + 1000 * at, layout, [20.0 * at]) for at in seconds]
    store.commit(Batch(rows=rows), T0 + 1000 * seconds[-1])


def told(store: Store, before_ms: int, now_ms: int) -> None:
    """The interval of `e` changed at CHANGE; `f` has always been read every second."""
    facts = [Fact("e", OWN_FACT, str(before_ms), T0), Fact("e", OWN_FACT, str(now_ms), T0 + 1000 * CHANGE)]
    rows = [TargetRow(name, "engine", "", each, "ok", "", T0, T0, {}) for name, each in (("e", now_ms), ("f", 1000))]
    store.commit(Batch(facts=[*facts, Fact("f", OWN_FACT, "1000", T0)], targets=rows), T0)


def rates(frame: Frame) -> dict[int, float]:
    """Increase over the trailing 10 s of `e`, by second; unknown ones left out."""
    line = trailing_increase(frame, 10_000)[frame.series.index(TOKENS)]
    seconds = (frame.ticks - T0) // 1000
    return {int(at): float(value) for at, value in zip(seconds, line, strict=True) if not np.isnan(value)}


def assert_same(store: Store, tail: Tail) -> Frame:
    """The tail's frame, which is the store's."""
    mine = tail.frame([TOKENS.metric])
    theirs = store.frame([TOKENS.metric], None, int(mine.ticks[0]), int(mine.ticks[-1]))
    assert mine.series == theirs.series
    for name in ("ticks", "values", "at_ms", "breaks", "gap_ms"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
    return mine


class Unsteady:
    """A store that fails when it is asked for one thing, as often as it is told."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.fails: tuple[str, type[StoreError]] | None = None

    def __getattr__(self, name: str) -> Any:
        if self.fails is not None and self.fails[0] == name:
            raise self.fails[1]("a moment, please")
        return getattr(self._store, name)


@pytest.mark.parametrize("error", [StoreAway, StoreBusy])
@pytest.mark.parametrize("asked", ["commits_after", "targets", "intervals", "rows", "offsets"])
def test_what_cannot_be_read_for_a_moment_is_read_at_the_next_look(
    opened: Store, asked: str, error: type[StoreError]
) -> None:
    told(opened, 1000, 1000)
    unsteady = Unsteady(opened)
    tail = Tail(cast(Store, unsteady))
    write(opened, "e", list(range(5)))
    tail.follow()
    write(opened, "e", [5, 6])
    unsteady.fails = (asked, error)
    for _ in range(2):
        with pytest.raises(error):
            tail.follow()
    write(opened, "e", [7])
    unsteady.fails = None
    assert tail.follow() == [T0 + 5000, T0 + 6000, T0 + 7000]
    assert assert_same(opened, tail).values[0].tolist() == [20.0 * at for at in range(8)]
    assert tail.follow() == []


def test_what_is_damaged_is_passed_over(opened: Store) -> None:
    unsteady = Unsteady(opened)
    tail = Tail(cast(Store, unsteady))
    write(opened, "e", [0])
    tail.follow()
    write(opened, "e", [1])
    unsteady.fails = ("rows", StoreBroken)
    with pytest.raises(StoreBroken):
        tail.follow()
    write(opened, "e", [2])
    unsteady.fails = None
    assert tail.follow() == [T0 + 2000]


@pytest.mark.parametrize("at_once", [True, False])
def test_what_was_read_every_four_seconds_has_rates_though_each_second_is_read_now(
    opened: Store, at_once: bool
) -> None:
    tail = Tail(opened)
    told(opened, 4000, 1000)
    if not at_once:
        tail.follow()
    write(opened, "e", [*range(0, CHANGE, 4), *[at for at in range(CHANGE, 240) if not 200 <= at < 206]])
    write(opened, "f", list(range(240)))
    tail.follow()
    known = rates(assert_same(opened, tail))
    assert set(range(12, CHANGE, 4)) <= known.keys()
    assert known[12] == known[CHANGE] == known[199] == 200.0
    assert {*range(206, 216)}.isdisjoint(known), "six seconds without a sample are a gap where each second is read"


def test_what_was_a_gap_is_one_though_it_is_read_every_four_seconds_now(opened: Store) -> None:
    told(opened, 1000, 4000)
    write(opened, "e", [*range(60), *range(65, CHANGE), *range(CHANGE, 240, 4)])
    write(opened, "f", list(range(240)))
    tail = Tail(opened)
    tail.follow()
    known = rates(assert_same(opened, tail))
    assert {*range(65, 75)}.isdisjoint(known)
    assert known[59] == known[75] == known[CHANGE + 40] == 200.0


def test_an_interval_that_changes_while_the_tail_follows(opened: Store) -> None:
    write(opened, "f", [0])
    tail = Tail(opened)
    rows = [TargetRow("e", "engine", "", 1000, "ok", "", T0, T0, {})]
    opened.commit(Batch(facts=[Fact("e", OWN_FACT, "1000", T0)], targets=rows), T0)
    write(opened, "e", list(range(CHANGE)))
    tail.follow()
    told(opened, 1000, 4000)
    write(opened, "e", list(range(CHANGE, 240, 4)))
    tail.follow()
    frame = assert_same(opened, tail)
    assert frame.gap_ms.tolist() == [10_000.0, 2500.0]


def test_a_window_keeps_the_intervals_of_each_stretch() -> None:
    """Read every second, then every four, then every second again; each stretch has a hole of five seconds."""
    window = Window(3_600_000)
    window.set_intervals({"e": 1000})
    for stretch, seconds in enumerate((range(60), range(60, 120, 4), range(120, 180))):
        if stretch:
            window.end_stretch("e", (1000.0, 4000.0)[stretch - 1], 60_000 * stretch)
        for at in seconds:
            if at not in (20, 21, 22, 23, 140, 141, 142, 143):
                window.add("e", 1000 * at, 1000.0 * at, (TOKENS,), np.array([20.0 * at]))
    frame = window.frame([TOKENS.metric])
    assert frame.gap_ms.tolist() == [10_000.0]
    assert (frame.ticks[frame.breaks[0]] // 1000).tolist() == [24, 144]
    late = window.frame([TOKENS.metric], start_ms=120_000)
    assert (late.gap_ms.tolist(), late.breaks.any()) == ([2500.0], False), "its own interval alone"


def test_a_window_forgets_stretches_that_are_over() -> None:
    window = Window(10_000)
    window.end_stretch("e", 4000.0, 5000)
    for at in range(30):
        window.add("e", 1000 * at, 1000.0 * at, (TOKENS,), np.array([0.0]))
        window.trim()
    window._blocks["e"] = window._blocks["e"][-1:]
    window.add("e", 400_000, 400_000.0, (OTHER,), np.array([0.0]))
    window.trim()
    assert window._stretches == {}


def test_a_collector_judges_the_seconds_before_its_interval_changed_by_that_of_then(stage: Stage, store: Store) -> None:
    """Its engine answers in two seconds for a while, so that it is asked that often."""
    gaps = []

    async def story(stage: Stage) -> None:
        for second in range(1, 40):
            stage.slow_s = 0.0 if second < 15 else 2.5
            stage.says(20 * second)
            await stage.tick(float(second) if second < 15 else 15.0 + 5 * (second - 15))
            frame = stage.sampler.hub.window.frame([TOKENS.metric])
            gaps.append((frame.gap_ms.tolist(), frame.breaks.any()))

    stage.play(story)
    assert gaps[10][0] == [2500.0]
    assert gaps[-1][0][0] > 2500.0
    assert len(store.facts("one", name=OWN_FACT)) >= 2


class Watched(Tail):
    """One that is read by another thread after each row."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.seen: list[dict[int, float]] = []

    def _add_row(self, row: Row) -> None:
        super()._add_row(row)
        self.seen.append(rates(self.frame([TOKENS.metric])))


def test_whoever_reads_while_rows_come_sees_no_rate_over_a_restart(opened: Store) -> None:
    """It restarts at second 12, when 20 tokens were made anew."""
    tail = Watched(opened)
    write(opened, "e", list(range(12)))
    tail.follow()
    restart = Offset("e", TOKENS.metric, TOKENS.labels, T0 + 12_000, 220.0, Step.RESTART.value)
    opened.commit(Batch(offsets=[restart]), T0)
    write(opened, "e", list(range(12, 24)))
    tail.seen.clear()
    tail.follow()
    known = {10: 200.0, 11: 200.0}
    assert tail.seen[-12:] == [known] * 10 + [known | {22: 200.0}, known | {22: 200.0, 23: 200.0}]


YEAR_S = 365 * 86_400


def test_rows_of_a_clock_that_had_leapt_do_not_stop_the_tail(opened: Store) -> None:
    write(opened, "e", [*range(10)])
    tail = Tail(opened)
    tail.follow()
    write(opened, "e", [YEAR_S, YEAR_S + 1])
    assert tail.follow() == [T0 + 1000 * at for at in (YEAR_S, YEAR_S + 1)]
    write(opened, "e", [20])
    assert tail.follow() == [T0 + 1000 * at for at in (*range(10), 20)]
    write(opened, "e", [21])
    assert tail.follow() == [T0 + 21_000]
    opened.commit(Batch(), T0 + 21_500)
    assert tail.follow() == []
    write(opened, "e", [22])
    later = Tail(opened)
    later.follow()
    tail.follow()
    for one in (tail, later):
        assert (one.latest_tick, one.loaded) == (T0 + 22_000, True)
        assert one.frame([TOKENS.metric]).values.tolist() == [[20.0 * at for at in (*range(10), 20, 21, 22)]]


def test_a_clock_that_is_less_than_a_day_ahead_is_followed(opened: Store) -> None:
    write(opened, "e", [0, 86_400])
    tail = Tail(opened)
    tail.follow()
    write(opened, "e", [1])
    assert tail.follow() == [T0 + 1000]
    assert tail.latest_tick == T0 + 86_400_000
