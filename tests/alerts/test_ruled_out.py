"""What bounds of what rules read rule out, and what they do not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from alerts import expression as ex
from alerts.book import Book
from alerts.evaluate import truth
from alerts.extents import surely_quiet
from alerts.grouping import Memory
from alerts.language import parse
from alerts.places import PLACES, Key, Place
from alerts.view import View
from telemetry.frame import Floats
from telemetry.model import Series
from tests.alerts.samples import NAN, frame, of_node
from tests.alerts.test_extents import MEMBERS, SLOW, made

CALM: Mapping[Series, list[float]] = {
    of_node("a", "memory_available_bytes"): [10.0, 12, 14, 12, 10, 12],
    of_node("b", "memory_available_bytes"): [10.0, 10, 10, 10, 10, 11],
    of_node("c", "memory_available_bytes"): [NAN] * 6,  # so that nothing follows from values that do not change
    of_node("a", "kernel_xid_total", xid="79"): [3.0, 3, 3, 3, 4, 4],
    of_node("a", "kernel_xid_total", xid="13"): [3.0, 3, 3, 3, 3, 5],
    of_node("b", "kernel_xid_total", xid="79"): [9.0] * 6,
    of_node("a", "swap_in_bytes_total"): [0.0, 10, 20, 30, 40, 50],
    of_node("a", "swap_out_bytes_total"): [0.0, 0, 0, 0, 0, 50],
    of_node("a", "gpu_clock_event_reasons", gpu="0"): [64.0, 0, 0, 0, 0, 4],
    of_node("a", "mtu_bytes", cage="p0", function="f0"): [9000.0] * 6,
    of_node("b", "mtu_bytes", cage="p0", function="f0"): [1500.0] * 5 + [9000.0],
    of_node("a", "disk_available_bytes", mount="/"): [50.0] * 5 + [25],
    of_node("a", "disk_size_bytes", mount="/"): [100.0] * 6,
    of_node("a", "disk_available_bytes", mount="/new"): [NAN] * 6,
}


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("memory_available_bytes > 12", False),  # by what it may differ from what it is compared with
        ("memory_available_bytes > 12.1", True),
        ("memory_available_bytes >= 12", False),
        ("memory_available_bytes < 10.9", True),
        ("memory_available_bytes < 11.1", False),
        ("memory_available_bytes <= 11", False),
        ("memory_available_bytes == 11.5", False),
        ("memory_available_bytes == 13", True),
        ("memory_available_bytes != 13", False),
        ("max(memory_available_bytes[5s]) > 14.1", True),
        ("max(memory_available_bytes[5s]) > 13.9", False),
        ("min(memory_available_bytes[5s]) < 9.9", True),
        ("mean(memory_available_bytes[5s]) < 10.1", False),
        ("change(memory_available_bytes[3s]) > 4.1", True),
        ("change(memory_available_bytes[3s]) > 3.9", False),
        ("change(memory_available_bytes[3s]) < 0 - 4.1", True),
        ("change(memory_available_bytes[3s]) < 0 - 3.9", False),
        ("increase(kernel_xid_total[3s]) > 2.9", False),  # of both
        ("increase(kernel_xid_total[3s]) > 3.1", True),
        ('increase(kernel_xid_total{xid="79"}[3s]) > 1.1', True),
        ('increase(kernel_xid_total{xid="99"}[3s]) > 0', True),
        ("increase(kernel_xid_total[3s]) >= 0", False),
        ("rate(kernel_xid_total[2s]) > 1.6", True),
        ("rate(kernel_xid_total[2s]) > 1.4", False),
        ("swap_bytes_per_second > 10.1", True),
        ("swap_bytes_per_second > 9.9", False),
        ("mean(swap_bytes_per_second[5s]) > 20.1", True),
        ("mean(swap_bytes_per_second[5s]) > 19.9", False),
        ("gpu_clock_event_reasons has 0x8", True),
        ("gpu_clock_event_reasons has 0x4", False),
        ("gpu_clock_event_reasons has 0x6", False),
        ("not gpu_clock_event_reasons has 0x8", False),
        ("differs(mtu_bytes)", True),
        ("differs(memory_available_bytes)", False),
        ("differs(min(mtu_bytes[3s]))", False),
        ('target_state in ("refused")', True),
        ('target_state in ("timed out", "refused")', True),
        ('target_state in ("ok")', False),
        ("engines_loading > 0", True),  # known of nobody
        ('engines_loading > 0 or target_state in ("ok")', False),
        ('memory_available_bytes > 12.1 and target_state in ("ok")', True),
        ('memory_available_bytes > 12.1 or target_state in ("ok")', False),
        ("memory_available_bytes > 10 and maybe(memory_available_bytes > 13)", False),
        ("memory_available_bytes > 13 or maybe(memory_available_bytes > 14)", True),
        ("memory_available_bytes > 13 or maybe(memory_available_bytes > 11)", False),
        ("memory_available_bytes + 3 > 15.1", True),
        ("memory_available_bytes + 3 > 14.9", False),
        ("20 - memory_available_bytes > 9.1", True),
        ("20 - memory_available_bytes > 8.9", False),
        ("memory_available_bytes * (0 - 2) > 0 - 21.9", True),
        ("memory_available_bytes * (0 - 2) > 0 - 22.1", False),
        ("memory_available_bytes / 2 > 100", False),  # a quotient may be anything
        ("memory_available_bytes > 1.2 * peers(memory_available_bytes)", True),
        ("memory_available_bytes > 1.05 * peers(memory_available_bytes)", False),
        ("count(memory_available_bytes > 13) > 0", True),
        ("count(memory_available_bytes > 11.5) > 5", False),
        ("absent(memory_available_bytes)", False),
        ('differs("kernel")', True),
        ('differs("driver_version")', False),
    ],
)
def test_what_is_ruled_out(text: str, quiet: bool) -> None:
    given_at = {
        "target_state": {"a": np.zeros(1), "b": np.array([NAN])},
        "engines_loading": {"a": np.array([NAN])},
    }
    facts = {"kernel": {"a": "1", "b": "1"}, "driver_version": {"a": "1", "b": "2"}}
    assert _quiet(text, "cluster" if text.startswith("differs") else "node", given=given_at, facts=facts) is quiet


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("disk_available_ratio <= 20 %", True),
        ("disk_available_ratio <= 26 %", False),
        ("change(disk_available_bytes[24h]) < 0 - 20", True),
        ("disk_available_bytes + change(disk_available_bytes[24h]) <= 14 B", True),
        ("disk_available_bytes + change(disk_available_bytes[24h]) <= 16 B", False),
    ],
)
def test_what_is_ruled_out_of_disks(text: str, quiet: bool) -> None:
    assert _quiet(text, "mount", slow={(SLOW, "mount"): {("a", "/"): -10.0, ("a", "/new"): NAN}}) is quiet


def _quiet(text: str, place: str, rows: Mapping[Series, list[float]] = CALM, **beside: Any) -> bool:
    """What is said at the second tick at which it is asked."""
    condition, memory = parse(text), Memory()
    found = [
        surely_quiet(condition, PLACES[place], View(frame(rows), 5, MEMBERS, memory=memory, **beside)) for _ in range(3)
    ]
    return found[-1]


def test_what_follows_from_values_now_is_worked_out_when_they_change() -> None:
    """Each node by itself has one of the two; none has both, until one has."""
    condition, memory = parse("memory_available_bytes > 5 and gpu_power_watts > 5"), Memory()
    rows = {
        of_node("a", "memory_available_bytes"): [9.0, 9, 9, 9, 9, 9],
        of_node("a", "gpu_power_watts", gpu="0"): [1.0, 1, 1, 1, 9, NAN],
        of_node("b", "memory_available_bytes"): [1.0, 1, 1, 1, 1, 1],
        of_node("b", "gpu_power_watts", gpu="0"): [9.0, 9, 9, 9, 9, 9],
    }
    found = []
    for tick in range(6):
        samples = frame({series: row[: tick + 1] for series, row in rows.items()}, gap_ms=500)
        found.append(surely_quiet(condition, PLACES["node"], View(samples, tick, MEMBERS, memory=memory)))
    assert found == [True, True, True, True, False, False]


def test_of_what_was_not_asked_before_nothing_is_ruled_out() -> None:
    condition, memory = parse("memory_available_bytes > 20"), Memory()
    views = [View(frame(CALM), 5, MEMBERS, memory=memory) for _ in range(2)]
    assert [surely_quiet(condition, PLACES["node"], view) for view in views] == [False, True]


def test_of_infinite_numbers_nothing_is_ruled_out() -> None:
    rows = {**CALM, of_node("b", "memory_available_bytes"): [10.0, 10, 10, 10, 10, float("inf")]}
    assert not _quiet("memory_available_bytes < 1", "node", rows)
    assert not _quiet('target_state in ("refused")', "node", given={"target_state": {"a": np.array([float("inf")])}})


def test_a_change_is_counted_by_ticks_though_the_last_answer_came_late() -> None:
    """The answer before the window is that of its tick; three seconds before the last answer there was another."""
    condition, memory = parse("change(memory_available_bytes[3s]) < 0 - 5"), Memory()
    samples = frame({of_node("a", "memory_available_bytes"): [20.0, 20, 20, 10, 10, 10]})
    samples.at_ms[:, -1] += 1200
    views = [View(samples, 5, MEMBERS, memory=memory) for _ in range(3)]
    assert not any(surely_quiet(condition, PLACES["node"], view) for view in views)
    held = truth(condition, PLACES["node"], views[-1], [("a",)])
    assert held.tolist() == [[1.0]]


def test_large_counters_are_not_told_apart_better_than_numbers_are() -> None:
    """An increase is a difference of large numbers: off by what they are rounded to."""
    rows = {of_node("a", "oom_kills_total"): [1e15, 1e15, 1e15, 1e15, 1e15, 1e15 + 1]}
    assert not _quiet("increase(oom_kills_total[3s]) > 1.5", "node", rows)
    assert _quiet("increase(oom_kills_total[3s]) > 6", "node", rows)


# Rules that cannot be worked out -------------------------------------------------------------------------------------


class BrokenError(Exception):
    """A defect."""


class Faulty(View):
    """One that cannot work a reading out once it is large, or whatever it is."""

    always = False

    def values(self, reading: ex.Reading, place: Place, keys: Any) -> Floats:
        found = super().values(reading, place, keys)
        if self.always or (found > 50).any():
            raise BrokenError
        return found


def test_a_fault_is_told_until_the_rule_is_worked_out_again() -> None:
    """What broke once is worked out at each tick until it can be, though its bounds rule it out by then."""
    memory, book, hot = Memory(), Book(), made("hot", parse("memory_available_bytes > 40"), "node")
    told = []
    for value, always in ((10.0, False), (10.0, False), (60.0, False), (10.0, True), (10.0, False), (10.0, True)):
        rows = {of_node("a", "memory_available_bytes"): [10.0, value]}
        try:
            view = Faulty(frame(rows), 1, MEMBERS, memory=memory)
            view.always = always
            book.read([hot], view)
            told.append("")
        except BrokenError:
            told.append("broken")
    assert told == ["", "", "broken", "broken", "", ""]


def test_what_is_under_way_is_worked_out() -> None:
    memory, book, hot = Memory(), Book(), made("hot", parse("memory_available_bytes > 40"), "node")
    turns: list[tuple[Key, str]] = []
    for end, value in enumerate([10.0, 10.0, 50.0, 50.0, 10.0, 10.0, 10.0], 2):
        rows = {of_node("a", "memory_available_bytes"): [10.0] * end + [value]}
        found = book.read([hot], View(frame(rows), end, MEMBERS, memory=memory))
        turns += [(turn.key, turn.change.phase.value) for turn in found]
    assert turns == [(("a",), "pending"), (("a",), "firing"), (("a",), "inactive")]
    assert not book.by_rule
