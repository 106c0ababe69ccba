"""The store in `/api/v1/status`: what it takes, how it grows, how long the room lasts, and what goes next."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pipeline import retention
from pipeline.keeper import NOTE
from pipeline.retention import DAY_MS, Growth, Outlook
from storage.records import Room
from storage.store import Store

FULL_BYTES = 1 << 20
"""With less room than this a disk is full."""


def standing(store: Store, now_ms: int) -> dict[str, Any]:
    """The `store` of docs/api.md; what only the collector can tell is None until it has."""
    room = store.room()
    oldest = store.oldest_samples(), store.oldest_summaries()
    note = store.noted(NOTE)
    found = {
        "size_bytes": room.size,
        "free_bytes": room.free,
        "disk_bytes": room.disk,
        "disk_free_bytes": room.disk_free,
        "oldest_sample": store.oldest_row() if oldest[0] is None else oldest[0],
        "oldest_summary": oldest[1] if oldest[1] is not None else oldest[0],
    }
    if note is None:
        return found | dict.fromkeys(TOLD) | {"level": level(room, None, now_ms)}
    keep, rate = retention.of_json(note)
    outlook = retention.outlook(keep, room, rate, oldest, now_ms)
    return found | {
        "raw_days": keep.raw_days,
        "summary_months": keep.summary_months,
        "size_limit_bytes": keep.size_limit,
        "disk_reserve_bytes": None if room.disk is None else retention.reserve(keep, room),
        "growth": _growth(rate),
        **_ahead(outlook),
        "early": note["early"],
        "level": level(room, note["early"], now_ms),
    }


TOLD = (
    "raw_days",
    "summary_months",
    "size_limit_bytes",
    "disk_reserve_bytes",
    "growth",
    "lasts_s",
    "levels_off_bytes",
    "next",
    "early",
)


def _growth(rate: Growth | None) -> dict[str, float] | None:
    if rate is None:
        return None
    return {
        "samples_bytes_per_day": rate.samples,
        "summaries_bytes_per_day": rate.summaries,
        "measured_s": rate.over_ms / 1000,
    }


def _ahead(outlook: Outlook) -> dict[str, Any]:
    coming = outlook.next
    return {
        "lasts_s": None if outlook.lasts_ms is None else outlook.lasts_ms / 1000,
        "levels_off_bytes": outlook.levels_off,
        "next": None if coming is None else {**asdict(coming), "rule": coming.rule.value},
    }


def level(room: Room, early: dict[str, Any] | None, now_ms: int) -> str:
    """critical: the disk is full; warning: samples went before their time within the last day."""
    if room.disk_free is not None and room.disk_free < FULL_BYTES:
        return "critical"
    return "warning" if early is not None and now_ms - early["at_ms"] < DAY_MS else "ok"
