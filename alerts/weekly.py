"""A window that comes back every week: days, from when to when, in the time of a place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
CLOCK = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
ONE_DAY = timedelta(days=1)
LONGEST_ZONE = 64


@dataclass(frozen=True, slots=True)
class Weekly:
    """On these days, from one time of the clock until before another, which is on the next day where it is not later.

    The clock on the wall of the zone decides. Where it is set back, a window begins when its begin is first shown and
    ends when its end is last shown; where it is set forward over a begin or an end, that is when it is set.
    """

    days: tuple[str, ...]
    begin: str
    end: str
    zone: str = "UTC"

    def holds(self, at_ms: int) -> bool:
        """Whether an instant lies in it; never where there is a `problem` with it."""
        zone = zone_of(self.zone)
        if zone is None or self.problem():
            return False
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        wall = at.astimezone(zone).replace(tzinfo=None, fold=0)
        return any(self._on(day, at, wall, zone) for day in (wall.date(), wall.date() - ONE_DAY))

    def _on(self, day: date, at: datetime, wall: datetime, zone: tzinfo) -> bool:
        """Whether the window of a day holds."""
        if DAYS[day.weekday()] not in self.days:
            return False
        begin = datetime.combine(day, _clock(self.begin))
        end = datetime.combine(day if self.end > self.begin else day + ONE_DAY, _clock(self.end))
        first, last = begin.replace(tzinfo=zone, fold=0), end.replace(tzinfo=zone, fold=1)
        return begin <= wall < end or first.astimezone(UTC) <= at < last.astimezone(UTC)

    def problem(self) -> str:
        """Why it never holds, "" of one that does: it was kept so, or this machine does not know its zone."""
        return _problem(self)

    def to_json(self) -> dict[str, Any]:
        """As it is kept, asked for and told."""
        return {"days": list(self.days), "from": self.begin, "to": self.end, "zone": self.zone}


@lru_cache(maxsize=1024)
def _problem(weekly: Weekly) -> str:
    try:
        weekly_of(weekly.to_json())
    except ValueError as error:
        return str(error)
    return ""


def _clock(text: str) -> time:
    return time.fromisoformat(text)


@lru_cache(maxsize=64)
def zone_of(name: str) -> tzinfo | None:
    """A zone by its name, such as Europe/Berlin; None where this machine does not know it."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def weekly_of(found: Any) -> Weekly:
    """What `Weekly.to_json` gave, or somebody asks for; ValueError with a sentence where it is none."""
    if not isinstance(found, Mapping) or not {"days", "from", "to"} <= set(found) <= {"days", "from", "to", "zone"}:
        raise ValueError("a weekly window has “days”, “from”, “to” and, if it is not UTC, a “zone”")
    days, zone = found["days"], found.get("zone", "UTC")
    if not isinstance(days, Sequence) or isinstance(days, str) or not days or not all(day in DAYS for day in days):
        raise ValueError(f"“days” is a list of some of {', '.join(DAYS)}, not {days!r:.80}")
    for name in ("from", "to"):
        if not isinstance(found[name], str) or not CLOCK.fullmatch(found[name]):
            raise ValueError(f"“{name}” is a time such as 22:00, not {found[name]!r:.80}")
    if not isinstance(zone, str) or len(zone) > LONGEST_ZONE or zone_of(zone) is None:
        raise ValueError(f"this machine knows no zone {zone!r:.80}: write it like Europe/Berlin")
    return Weekly(tuple(day for day in DAYS if day in days), found["from"], found["to"], zone)


def weekly_kept(found: Mapping[str, Any]) -> Weekly:
    """What was kept, whatever it is: one that is no window has a `problem`, and never holds."""
    days, begin, end, zone = (found.get(name, "") for name in ("days", "from", "to", "zone"))
    listed = tuple(map(str, days)) if isinstance(days, Sequence) and not isinstance(days, str) else ()
    return Weekly(listed, str(begin), str(end), str(zone))


def weekly_text(text: str) -> Weekly:
    """What people write on one line: "mon,tue 22:00-06:00 Europe/Berlin". ValueError with a sentence.

    >>> weekly_text("sat,sun 00:00-00:00")
    Weekly(days=('sat', 'sun'), begin='00:00', end='00:00', zone='UTC')
    """
    words = text.split()
    if len(words) not in (2, 3) or words[1].count("-") != 1:
        raise ValueError(f"{text!r:.80} is no weekly window: write it like “mon,tue 22:00-06:00 Europe/Berlin”")
    begin, end = words[1].split("-")
    days = [day for day in words[0].lower().split(",") if day]
    return weekly_of({"days": days, "from": begin, "to": end, "zone": words[2] if len(words) == 3 else "UTC"})
