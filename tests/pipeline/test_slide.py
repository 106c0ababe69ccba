"""Frames that slide on over a window are those that are put together anew, and slide where nothing hinders them."""

from __future__ import annotations

import numpy as np

from pipeline.block import BLOCK_ROWS
from pipeline.recorded import LEAD_MS
from pipeline.slide import Slide
from pipeline.strip import SPARE
from pipeline.window import Window
from telemetry.catalog import gpu, network
from telemetry.frame import Frame
from telemetry.model import Series
from tests.pipeline.happenings import SPAN_MS, assert_same, of_node


class Small:
    """A window of two targets, and a slide over it."""

    def __init__(self, targets: frozenset[str] | None = None) -> None:
        self.window = Window(SPAN_MS)
        self.slide = Slide(frozenset((gpu.GPU_POWER.name,)), LEAD_MS, targets)
        self.layouts = {name: of_node(name) for name in ("a", "b")}
        self.frame = self.window.frame(())
        self.slid = False

    def add(self, name: str, tick: int) -> None:
        values = np.arange(len(self.layouts[name])) + tick / 1000.0
        self.window.add(name, tick, tick + 3.0, self.layouts[name], values)

    def look(self, tick: int) -> Frame:
        """Held to a frame that is put together anew."""
        found = self.window.slide(self.slide, tick)
        held_to = self.window.frame(
            self.slide.metrics, start_ms=tick - LEAD_MS, end_ms=tick, targets=self.slide.targets
        )
        assert_same(found, held_to)
        self.slid, self.frame = np.shares_memory(found.values, self.frame.values), found
        self.window.trim()
        return found


def test_full_blocks_and_columns_that_are_used_up() -> None:
    small, stood = Small(), []
    for tick in range(1000, 1000 * (BLOCK_ROWS + 2 * SPARE), 1000):
        for name in small.layouts:
            small.add(name, tick)
        small.look(tick)
        stood += [] if small.slid else [tick // 1000]
    moved = list(range(2, BLOCK_ROWS + 2 * SPARE, SPARE))
    assert stood == [1, *moved], "a frame that is moved into arrays of its own shares none with the one before"


def test_several_rows_at_once_of_which_the_first_fills_a_block() -> None:
    small = Small()
    for tick in range(1000, 1000 * BLOCK_ROWS, 1000):
        small.add("a", tick)
        small.look(tick)
    small.add("a", 1000 * BLOCK_ROWS)
    small.add("a", 1000 * (BLOCK_ROWS + 1))
    small.look(1000 * (BLOCK_ROWS + 1))
    assert small.slid


def test_of_other_targets_neither_rows_nor_stretches_count() -> None:
    small = Small(frozenset("a"))
    for tick in range(1000, 9000, 1000):
        small.add("a", tick)
        small.add("b", tick + 500)
        small.look(tick + 500)
    assert small.look(9500).ticks.tolist() == [*range(1000, 9000, 1000)]
    small.window.set_stretches({"b": [(0, 8000, 5000.0, True)]})
    small.look(10_500)
    assert small.slid
    small.window.set_stretches({"a": [(0, 8000, 5000.0, True)]})
    small.look(11_500)
    assert not small.slid
    small.look(12_500)
    assert not small.slid


def test_a_target_without_what_is_wanted_has_ticks_all_the_same() -> None:
    small = Small()
    small.layouts["b"] = (Series("b", network.RDMA_TRANSMIT.name, (("cage", "p0"),)),)
    for tick in range(1000, 9000, 1000):
        small.add("a", tick)
        small.add("b", tick - 500)
        small.look(tick)
    assert small.look(8000).ticks.tolist()[-3:] == [7000, 7500, 8000]
    small.add("b", 8500)
    assert small.look(9000).ticks.tolist()[-2:] == [8000, 8500]
    assert small.slid


def test_a_window_shorter_than_a_frame_never_slides() -> None:
    small = Small()
    small.window = Window(LEAD_MS - 1)
    for tick in range(1000, 40_000, 1000):
        small.add("a", tick)
        small.look(tick)
        assert not small.slid


def test_back_again_in_time_where_nobody_has_answered_meanwhile() -> None:
    small = Small()
    for tick in range(1000, 31_000, 1000):
        small.add("a", tick)
        small.look(tick)
    small.look(50_000)
    assert len(small.look(31_000).ticks) == 26


def test_one_that_was_silent_for_long_comes_back() -> None:
    small = Small()
    for tick in range(1000, 60_000, 1000):
        small.add("a", tick)
        if not 10_000 <= tick < 50_000:
            small.add("b", tick)
        small.look(tick)
        assert small.slid == (tick > 2000 and tick not in (36_000, 37_000, 50_000, 51_000)), tick


def test_layouts_of_other_lengths_one_of_which_changes() -> None:
    """What stands first in one layout stands second in the next, and the rows of a tick come one by one."""
    small = Small()
    whole = small.layouts["b"]
    small.layouts["b"] = whole[:3]
    stood = []
    for tick in range(1000, 16_000, 1000):
        small.layouts["b"] = (whole[1], whole[0]) if tick == 8000 else small.layouts["b"]
        for name in ("a", "b"):
            small.add(name, tick)
            small.look(tick)
            stood += [] if small.slid else [(name, tick)]
    assert stood == [("a", 1000), ("b", 1000), ("a", 2000), ("b", 8000), ("a", 9000)]
    for tick in range(16_000, 20_000, 1000):
        small.add("a", tick)
        small.add("b", tick)
        small.look(tick)
        assert small.slid


def test_one_that_tells_no_more_of_what_is_wanted() -> None:
    small = Small()
    for tick in range(1000, 12_000, 1000):
        small.layouts["b"] = small.layouts["b"][1:2] if tick == 8000 else small.layouts["b"]
        small.add("a", tick)
        small.add("b", tick)
        assert small.look(tick).series == (small.layouts["a"][0], of_node("b")[0])
