"""What goes next, when, and how long the room lasts: worked out by hand."""

from __future__ import annotations

import pytest

from pipeline import retention
from pipeline.config import Keep
from pipeline.retention import DAY_MS, HOUR_MS, MONTH_MS, Growth, Next, Rule
from storage.records import Room, Weight

GIB = 1 << 30
NOW = 1_796_000_400_000
ROOM = Room(size=10 * GIB, free=GIB, disk=1000 * GIB, disk_free=50 * GIB)


def weight(hour: int, samples: int, rows: int, first: int = 0, last: int = 3599) -> Weight:
    return Weight(hour * HOUR_MS, samples, rows, hour * HOUR_MS + first * 1000, hour * HOUR_MS + last * 1000)


@pytest.mark.parametrize(
    ("keep", "samples", "summaries"),
    [
        (Keep(), 30 * DAY_MS, 24 * MONTH_MS),
        (Keep(raw_days=0.5), DAY_MS // 2, 24 * MONTH_MS),
        (Keep(raw_days=100, summary_months=1), 100 * DAY_MS, 100 * DAY_MS),
    ],
)
def test_ages(keep: Keep, samples: int, summaries: int) -> None:
    assert (retention.samples_ms(keep), retention.summaries_ms(keep)) == (samples, summaries)
    assert MONTH_MS * 24 == 732 * DAY_MS


@pytest.mark.parametrize(
    ("disk", "setting", "told"),
    [
        (1000 * GIB, None, GIB),
        (20 * GIB, None, GIB),
        (10 * GIB, None, GIB // 2),
        (None, None, GIB),
        (10 * GIB, 7, 7),
        (10 * GIB, 0, 0),
    ],
)
def test_reserve(disk: int | None, setting: int | None, told: int) -> None:
    assert retention.reserve(Keep(disk_reserve=setting), Room(1, 1, disk, 1)) == told


@pytest.mark.parametrize(
    ("keep", "room", "told"),
    [
        (Keep(), ROOM, (50 * GIB, Rule.DISK)),
        (Keep(size_limit=12 * GIB), ROOM, (3 * GIB, Rule.SIZE)),
        (Keep(size_limit=5 * GIB), ROOM, (GIB, Rule.SIZE)),
        (Keep(size_limit=99 * GIB), ROOM, (50 * GIB, Rule.DISK)),
        (Keep(disk_reserve=60 * GIB), ROOM, (GIB, Rule.DISK)),
        (Keep(), Room(1, 2, None, None), (float("inf"), None)),
        (Keep(size_limit=10), Room(1, 2, None, None), (11, Rule.SIZE)),
        (Keep(size_limit=10), Room(1, None, None, None), (float("inf"), None)),
        (Keep(size_limit=10, disk_reserve=0), Room(1, None, 9, 7), (7, Rule.DISK)),
    ],
)
def test_what_is_left(keep: Keep, room: Room, told: tuple[float, Rule | None]) -> None:
    assert retention.left(keep, room) == told


def test_need() -> None:
    assert retention.need(0) == retention.LEAST_NEED == 4 << 20
    assert retention.need(100_000_000) == 112_000_000


def test_growth_of_a_day() -> None:
    found = retention.growth([weight(0, 1000, 10), weight(1, 500, 10), weight(3, 1500, 20)], 1000)
    assert found == Growth(
        samples=pytest.approx(3000 * 1.12 * 6), summaries=pytest.approx(40 * 240 * 6), over_ms=4 * HOUR_MS
    )


@pytest.mark.parametrize(("last", "known"), [(3599, True), (3598, False)])
def test_growth_of_less_than_three_hours_is_not_told(last: int, known: bool) -> None:
    found = retention.growth([weight(0, 1, 1), weight(2, 1, 1, last=last)], 1000)
    assert (found is not None) is known
    assert retention.growth([], 1000) is None


RATE = Growth(samples=2.0 * GIB, summaries=0.5 * GIB, over_ms=DAY_MS)


def days(value: float | None) -> float | None:
    return None if value is None else value / DAY_MS


@pytest.mark.parametrize(
    ("free", "lasts", "levels"),
    [
        # samples go on being added for 10 days (25 GiB), then summaries for 702 more (351 GiB), then nothing
        (10, 4.0, None),
        (25, 10.0, None),
        (30, 20.0, None),
        (375.5, 711.0, None),
        (377, None, 10 + 376),
    ],
)
def test_how_long_room_lasts(free: float, lasts: float | None, levels: float | None) -> None:
    oldest = NOW - 20 * DAY_MS
    keep = Keep(raw_days=30, summary_months=24, disk_reserve=0)
    room = Room(10 * GIB, 0, 1000 * GIB, round(free * GIB))
    found = retention.outlook(keep, room, RATE, (oldest, None), NOW)
    assert days(found.lasts_ms) == (None if lasts is None else pytest.approx(lasts))
    assert found.levels_off == (None if levels is None else pytest.approx(levels * GIB))


def test_what_is_free_inside_is_used_first() -> None:
    keep, room = Keep(disk_reserve=0, raw_days=1, summary_months=1), Room(10 * GIB, 4 * GIB, 1000 * GIB, 500 * GIB)
    found = retention.outlook(keep, room, RATE, (NOW - DAY_MS, NOW - MONTH_MS), NOW)
    assert (found.lasts_ms, found.levels_off) == (None, 6 * GIB)


def test_what_goes_next_by_age() -> None:
    keep = Keep(raw_days=30, summary_months=24)
    oldest = NOW - 29 * DAY_MS
    at = oldest + HOUR_MS + 30 * DAY_MS
    found = retention.outlook(keep, ROOM, None, (oldest, None), NOW)
    assert found == retention.Outlook(None, None, Next("samples", oldest, at, Rule.AGE))
    old = NOW - 24 * MONTH_MS
    found = retention.outlook(keep, ROOM, None, (oldest, old), NOW)
    assert found.next == Next("summaries", old, NOW + HOUR_MS, Rule.AGE)
    assert retention.outlook(keep, ROOM, None, (None, None), NOW).next is None


@pytest.mark.parametrize(("limit", "rule"), [(12 * GIB, Rule.SIZE), (None, Rule.DISK)])
def test_what_goes_next_for_want_of_room(limit: int | None, rule: Rule) -> None:
    keep = Keep(raw_days=30, summary_months=24, size_limit=limit, disk_reserve=48 * GIB)
    found = retention.outlook(keep, ROOM, RATE, (NOW, None), NOW)
    assert found.next == Next("samples", NOW, round(NOW + 3 / 2.5 * DAY_MS), rule)


def test_a_store_without_bounds_levels_off() -> None:
    found = retention.outlook(Keep(raw_days=1, summary_months=1), Room(GIB, 0, None, None), RATE, (NOW, None), NOW)
    assert found.lasts_ms is None
    assert found.levels_off == pytest.approx((1 + 2.5 + 0.5 * (MONTH_MS / DAY_MS - 1)) * GIB)
    assert found.next is not None
    assert found.next.rule is Rule.AGE
