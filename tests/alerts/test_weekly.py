"""Windows that come back every week, also in the nights in which the clock is set."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from alerts.record import Silence
from alerts.weekly import Weekly, weekly_of, weekly_text, zone_of

BERLIN = "Europe/Berlin"
pytestmark = pytest.mark.skipif(zone_of(BERLIN) is None, reason="this machine has no zones")


def at(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


WORK = Weekly(("mon", "tue"), "09:00", "17:30", BERLIN)
NIGHT = Weekly(("fri",), "22:00", "06:00", BERLIN)


@pytest.mark.parametrize(
    ("weekly", "instant", "holds"),
    [
        (WORK, "2026-11-30T09:00", True),  # a Monday
        (WORK, "2026-11-30T08:59:59.999", False),
        (WORK, "2026-11-30T17:29:59.999", True),
        (WORK, "2026-11-30T17:30", False),
        (WORK, "2026-12-01T12:00", True),
        (WORK, "2026-12-02T12:00", False),
        (NIGHT, "2026-12-04T21:59", False),
        (NIGHT, "2026-12-04T22:00", True),
        (NIGHT, "2026-12-05T05:59", True),
        (NIGHT, "2026-12-05T06:00", False),
        (NIGHT, "2026-12-04T05:00", False),
        (NIGHT, "2026-12-05T22:30", False),
        (Weekly(("sun",), "00:00", "00:00", BERLIN), "2026-12-06T23:59", True),
        (Weekly(("sun",), "00:00", "00:00", BERLIN), "2026-12-07T00:00", False),
        (Weekly(("sun",), "00:00", "00:00", BERLIN), "2026-12-05T23:59", False),
    ],
)
def test_a_window_of_the_week(weekly: Weekly, instant: str, holds: bool) -> None:
    assert weekly.holds(at(instant, BERLIN)) is holds


BACK = Weekly(("sun",), "02:30", "03:30", BERLIN)
FORTH = BACK
"""At 03:00 on 25 October 2026 it is 02:00 again; at 02:00 on 29 March 2026 it is 03:00."""


@pytest.mark.parametrize(
    ("weekly", "instant", "holds"),
    [
        (BACK, "2026-10-25T00:29:59", False),  # 02:29:59 for the first time
        (BACK, "2026-10-25T00:30", True),
        (BACK, "2026-10-25T01:10", True),  # 02:10 for the second time: it has begun
        (BACK, "2026-10-25T02:29:59", True),
        (BACK, "2026-10-25T02:30", False),
        (
            Weekly(("sun",), "01:00", "02:30", BERLIN),
            "2026-10-25T00:45",
            True,
        ),  # 02:45 for the first time: not yet over
        (Weekly(("sun",), "01:00", "02:30", BERLIN), "2026-10-25T01:29:59", True),
        (Weekly(("sun",), "01:00", "02:30", BERLIN), "2026-10-25T01:30", False),
        (FORTH, "2026-03-29T00:59:59", False),  # 01:59:59
        (FORTH, "2026-03-29T01:00", True),  # 03:00: 02:30 was passed
        (FORTH, "2026-03-29T01:29:59", True),
        (FORTH, "2026-03-29T01:30", False),
        (Weekly(("sun",), "01:00", "02:30", BERLIN), "2026-03-29T00:59:59", True),
        (Weekly(("sun",), "01:00", "02:30", BERLIN), "2026-03-29T01:00", False),
        (Weekly(("sat",), "22:00", "06:00", BERLIN), "2026-03-29T03:59:59", True),  # an hour shorter
        (Weekly(("sat",), "22:00", "06:00", BERLIN), "2026-03-29T04:00", False),
        (Weekly(("sat",), "22:00", "06:00", BERLIN), "2026-10-25T04:59:59", True),  # an hour longer
        (Weekly(("sat",), "22:00", "06:00", BERLIN), "2026-10-25T05:00", False),
    ],
)
def test_a_night_in_which_the_clock_is_set(weekly: Weekly, instant: str, holds: bool) -> None:
    assert weekly.holds(at(instant)) is holds


def test_a_silence_holds_in_its_windows_between_its_ends() -> None:
    one = Silence(1, at("2026-11-30T00:00"), at("2026-12-31T00:00"), weekly=Weekly(("mon",), "10:00", "11:00"))
    assert [one.active(at(f"2026-{day}T10:30")) for day in ("11-23", "11-30", "12-01", "12-07")] == [
        False,
        True,
        False,
        True,
    ]
    assert not one.active(at("2026-11-30T11:00"))


def test_what_people_write() -> None:
    assert weekly_text("Tue,mon 22:00-06:00 Europe/Berlin") == Weekly(("mon", "tue"), "22:00", "06:00", BERLIN)
    assert weekly_of(WORK.to_json()) == WORK
    assert weekly_text("sat 00:00-24:00".replace("24", "00")).zone == "UTC"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mon", "is no weekly window"),
        ("mon 22:00", "is no weekly window"),
        ("mo 22:00-23:00", "“days” is a list of some of mon, tue"),
        (", 22:00-23:00", "“days” is a list"),
        ("mon 9:00-23:00", "“from” is a time such as 22:00, not '9:00'"),
        ("mon 09:00-24:00", "“to” is a time such as 22:00, not '24:00'"),
        ("mon 09:00-10:00 Mars/Base", "this machine knows no zone 'Mars/Base'"),
        ("mon 09:00-10:00 ../../etc/passwd", "this machine knows no zone"),
    ],
)
def test_what_is_no_window_is_refused(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says.replace(".", r"\.").replace("(", r"\(")):
        weekly_text(text)


@pytest.mark.parametrize(
    "found", [None, [], {"days": ["mon"]}, {"days": "mon", "from": "1", "to": "2"}, {**WORK.to_json(), "x": 1}]
)
def test_what_is_no_table_of_one_is_refused(found: object) -> None:
    with pytest.raises(ValueError, match="“"):
        weekly_of(found)


def test_in_a_zone_that_is_not_known_any_more_nothing_is_silent() -> None:
    assert not Weekly(("mon", "tue", "wed", "thu", "fri", "sat", "sun"), "00:00", "00:00", "Mars/Base").holds(0)
    assert not Weekly(("thu",), "09:61", "10:00").holds(0), "nor is one that was kept and is no time"
