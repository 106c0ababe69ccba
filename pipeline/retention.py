"""Retention: what goes next, when, and how long the room lasts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from pipeline.config import Keep
from storage.records import Room, Weight

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
MONTH_MS = 732 * HOUR_MS
"""30.5 days, so that twelve of them are no less than a year."""
NEWEST_MS = DAY_MS
"""Samples as young as this are never given up for want of room."""
RESERVE = 1 << 30
RESERVE_SHARE = 20
"""One part in so many of a small disk is reserve enough."""
FILL = 1.12
"""Bytes of the file per byte of samples: pages are not full."""
ROW_BYTES = 240
"""What one hour of one series takes beside its samples: its summary, and its places in two indexes."""
YOUNG_MS = 3 * HOUR_MS
"""From less than this no growth per day is told."""
LEAST_NEED = 4 << 20


class Rule(Enum):
    """Why something goes: its value is what people read."""

    AGE = "age"
    SIZE = "size limit"
    DISK = "room on the disk"


@dataclass(frozen=True)
class Growth:
    """Bytes that a day adds, of samples and of summaries, as measured over so many milliseconds."""

    samples: float
    summaries: float
    over_ms: int


@dataclass(frozen=True)
class Next:
    """What goes next: samples or summaries, of the day that begins with this hour, at this instant, by this rule."""

    what: str
    hour: int
    at_ms: int
    rule: Rule


@dataclass(frozen=True)
class Outlook:
    """lasts_ms: until the room is used up; None while that is not known, or where it never is (then `levels_off`, the
    size at which as much goes as comes)."""

    lasts_ms: float | None
    levels_off: float | None
    next: Next | None


def samples_ms(keep: Keep) -> int:
    """Age at which samples go."""
    return round(keep.raw_days * DAY_MS)


def summaries_ms(keep: Keep) -> int:
    """Age at which summaries go: never before their samples."""
    return max(round(keep.summary_months * MONTH_MS), samples_ms(keep))


def reserve(keep: Keep, room: Room) -> int:
    """Bytes of the disk that stay free."""
    if keep.disk_reserve is not None:
        return keep.disk_reserve
    return RESERVE if room.disk is None else min(RESERVE, room.disk // RESERVE_SHARE)


def left(keep: Keep, room: Room) -> tuple[float, Rule | None]:
    """Bytes that can still be written, and what bounds them; infinite and None where nothing does.

    What is free inside the file counts as room, since it never shrinks. Where that cannot be seen, no limit of the size
    can be kept: giving up the oldest would never be seen to help.
    """
    bounds: list[tuple[float, Rule]] = []
    if keep.size_limit is not None and room.free is not None:
        bounds.append((keep.size_limit - room.size, Rule.SIZE))
    if room.disk_free is not None:
        bounds.append((room.disk_free - reserve(keep, room), Rule.DISK))
    if not bounds:
        return float("inf"), None
    head, rule = min(bounds, key=lambda bound: bound[0])
    return (room.free or 0) + max(head, 0.0), rule


def need(rows_per_hour: int) -> int:
    """Bytes that must be free: what an hour of rows takes."""
    return max(round(rows_per_hour * FILL), LEAST_NEED)


def growth(weights: Sequence[Weight], step_ms: int) -> Growth | None:
    """From what the hours of about a day weigh; None while they are too few to say. step_ms: a target's interval."""
    if not weights:
        return None
    over_ms = max(one.last_tick for one in weights) - min(one.first_tick for one in weights) + step_ms
    if over_ms < YOUNG_MS:
        return None
    per_day = DAY_MS / over_ms
    samples, rows = sum(one.samples for one in weights), sum(one.rows for one in weights)
    return Growth(samples * FILL * per_day, rows * ROW_BYTES * per_day, over_ms)


def outlook(keep: Keep, room: Room, rate: Growth | None, oldest: tuple[int | None, int | None], now_ms: int) -> Outlook:
    """oldest: hours of the oldest samples, and of the oldest summary without samples; None where there is none."""
    free, rule = left(keep, room)
    samples, summaries = oldest
    lasts, levels_off = (None, None) if rate is None else _lasts(keep, room, rate, free, oldest, now_ms)
    found = []
    if samples is not None:
        found.append(Next("samples", samples, samples + HOUR_MS + samples_ms(keep), Rule.AGE))
    if summaries is not None:
        found.append(Next("summaries", summaries, summaries + HOUR_MS + summaries_ms(keep), Rule.AGE))
    if samples is not None and lasts is not None and rule is not None:
        found.append(Next("samples", samples, round(now_ms + lasts), rule))
    return Outlook(lasts, levels_off, min(found, key=lambda one: one.at_ms, default=None))


def _lasts(
    keep: Keep, room: Room, rate: Growth, free: float, oldest: tuple[int | None, int | None], now_ms: int
) -> tuple[float | None, float | None]:
    """(until the room is used up, None) or (None, the size at which it levels off).

    Everything is added until samples go at their age, then only summaries, then as much goes as comes.
    """
    samples, _ = oldest
    first = min((hour for hour in oldest if hour is not None), default=now_ms)
    until = (
        (rate.samples + rate.summaries, max((samples or now_ms) + samples_ms(keep) - now_ms, 0)),
        (rate.summaries, max(first + summaries_ms(keep) - now_ms, 0)),
    )
    at, used = 0.0, 0.0
    for per_day, end in until:
        length = max(end - at, 0.0)
        adds = per_day * length / DAY_MS
        if used + adds > free:
            return at + (free - used) / per_day * DAY_MS, None
        at, used = at + length, used + adds
    return None, room.size - (room.free or 0) + used


def as_json(keep: Keep, rate: Growth | None, early: Mapping[str, Any] | None, now_ms: int) -> dict[str, Any]:
    """What the collector notes for those who show it."""
    return {
        "at_ms": now_ms,
        "keep": asdict(keep),
        "growth": None if rate is None else asdict(rate),
        "early": early,
    }


def of_json(note: Mapping[str, Any]) -> tuple[Keep, Growth | None]:
    """Back from `as_json`."""
    rate = note["growth"]
    return Keep(**note["keep"]), None if rate is None else Growth(**rate)
