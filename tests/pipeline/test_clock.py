"""The hub's clock moves no sample when the wall clock steps; a node's clock moves none when the network is slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.clock import LATE_READINGS, HubClock, NodeClock


def test_the_hub_reads_anchor_plus_monotonic() -> None:
    clock = HubClock(wall_ms=1_000_000.0, monotonic_ms=400.0)
    assert clock.at(400.0) == 1_000_000.0
    assert clock.at(1400.5) == 1_001_000.5


@pytest.mark.parametrize(("off", "told"), [(0.0, None), (500.0, None), (-500.0, None), (500.1, "forward by 0.5 s")])
def test_the_hub_is_set_forward_beyond_half_a_second(off: float, told: str | None) -> None:
    clock = HubClock(1_000_000.0, 0.0)
    said = clock.check(1_010_000.0 + off, 10_000.0)
    assert (said is None) if told is None else told in str(said)
    assert clock.at(11_000.0) == pytest.approx(1_011_000.0 + (off if told else 0.0))
    assert clock.check(1_020_000.0 + off, 20_000.0) is None, "said once"


def test_the_hub_never_goes_back() -> None:
    """Set back by 30 s, then right again: no instant comes twice, and both are said once."""
    clock = HubClock(1_000_000.0, 0.0)
    assert "set back: times stay 30.0 s ahead" in str(clock.check(980_000.0, 10_000.0))
    assert clock.at(10_000.0) == 1_010_000.0
    assert clock.check(985_000.0, 15_000.0) is None
    assert "set back: times stay 20.0 s ahead" in str(clock.check(1_000_000.0, 20_000.0))
    assert "agrees" in str(clock.check(1_030_000.0, 30_000.0))
    assert clock.check(1_040_000.0, 40_000.0) is None
    assert clock.at(40_000.0) == 1_040_000.0


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (0.0, 1_000_000.0),
        (999_900.0, 1_000_000.0),
        (1_000_500.0, 1_000_500.0),  # as much as the clocks may differ by anyhow
        (1_000_501.0, 1_004_001.0),  # set back: how long nobody collected is not known, and a gap says so
        (1_003.6e6, 1_003_603_500.0),
    ],
)
def test_a_collector_goes_on_behind_what_is_there(newest: float, expected: float) -> None:
    assert HubClock.after(newest, 3_500.0, 1_000_000.0, 50.0).at(50.0) == expected


@pytest.mark.parametrize("off", [-500.0, -200.0, 200.0, 500.0])
def test_a_clock_that_is_nearly_right_again_agrees(off: float) -> None:
    clock = HubClock(1_000_000.0, 0.0)
    clock.check(980_000.0, 10_000.0)
    assert "agrees" in str(clock.check(1_020_000.0 + off, 20_000.0))
    assert clock.check(1_030_000.0 + off, 30_000.0) is None


def test_a_node_is_timed_by_its_own_monotonic_reading() -> None:
    clock = NodeClock()
    assert clock.at(50.0, arrival_ms=1_000_010.0) == 1_000_010.0
    assert clock.at(51.0, arrival_ms=1_001_200.0) == 1_001_010.0
    assert clock.at(52.0, arrival_ms=1_001_999.0) == 1_002_010.0


@given(st.lists(st.floats(0, 500), min_size=1, max_size=30))
def test_the_networks_delays_do_not_reach_the_differences(delays: list[float]) -> None:
    clock = NodeClock()
    found = [clock.at(1.5 * n, arrival_ms=1_000_000 + 1500.0 * n + delay) for n, delay in enumerate([0.0, *delays])]
    assert found == [pytest.approx(1_000_000 + 1500.0 * n) for n in range(len(found))]


def test_slow_answers_move_nothing() -> None:
    clock = NodeClock()
    clock.at(0.0, arrival_ms=1_000_000.0)
    for second in range(1, LATE_READINGS):
        assert clock.at(float(second), arrival_ms=1_003_000.0 + second * 1000) == 1_000_000.0 + second * 1000
    assert clock.at(LATE_READINGS + 0.0, arrival_ms=1_000_100.0 + LATE_READINGS * 1000) == 1_010_000.0
    for second in range(LATE_READINGS + 1, 2 * LATE_READINGS):
        assert clock.at(float(second), arrival_ms=1_003_000.0 + second * 1000) == 1_000_000.0 + second * 1000, "anew"
    assert clock.at(2.0 * LATE_READINGS, arrival_ms=1_023_000.0) == 1_023_000.0


def test_late_for_good_is_a_drift() -> None:
    clock = NodeClock()
    clock.at(0.0, arrival_ms=1_000_000.0)
    found = [clock.at(float(second), arrival_ms=1_000_501.0 + second * 1000) for second in range(1, 12)]
    steady = [1_000_000.0 + second * 1000 for second in range(1, 10)]
    assert LATE_READINGS == 10
    assert found == [*steady, 1_010_501.0, 1_011_501.0]


def test_exactly_half_a_second_is_no_drift() -> None:
    clock = NodeClock()
    clock.at(0.0, arrival_ms=1_000_000.0)
    found = [clock.at(float(n), arrival_ms=1_000_500.0 + n * 1000) for n in range(1, 15)]
    assert found[-1] == 1_014_000.0
    assert clock.at(15.0, arrival_ms=1_014_500.0) == 1_015_000.0


def test_a_reading_that_came_before_it_can_have_been_made_anchors_at_once() -> None:
    clock = NodeClock()
    clock.at(0.0, arrival_ms=1_000_000.0)
    assert clock.at(10.0, arrival_ms=1_009_499.0) == 1_009_499.0
    assert clock.at(11.0, arrival_ms=1_010_499.0) == 1_010_499.0


def test_a_boot_anchors_at_once() -> None:
    clock = NodeClock()
    clock.at(5000.0, arrival_ms=1_000_000.0)
    assert clock.at(12.0, arrival_ms=1_060_000.0) == 1_060_000.0
    assert clock.at(13.0, arrival_ms=1_061_300.0) == 1_061_000.0
