"""The store in `/api/v1/status` and on the Status page: what it takes, how it grows, and what goes next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dashboard.api.store import FULL_BYTES, level, standing
from dashboard.components import store as shown
from pipeline import retention
from pipeline.config import Keep
from pipeline.keeper import NOTE, Keeper
from pipeline.retention import DAY_MS, Growth
from storage.records import Room
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.dashboard.parts import attribute, text, walk
from tests.storage.worlds import NOW, write

MIB, GIB = 1 << 20, 1 << 30
HOUR_S = 3600


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


def sealed(path: Path, hours: int = 4) -> Store:
    """Hours of two readings each, sealed."""
    store = open_store(str(path), writer=True, now_ms=NOW)
    write(store, "a", ["x"], {hour * HOUR_S + at: [at] for hour in range(hours) for at in (0, 3599)})
    for target, hour in store.due(NOW + 99 * HOUR_MS):
        store.seal(target, hour, NOW + 99 * HOUR_MS)
    return store


def test_before_the_collector_has_told(path: Path) -> None:
    store = sealed(path, hours=1)
    found = standing(store, NOW)
    disk = os.statvfs(path.parent)
    assert found["size_bytes"] == store.size_bytes()
    assert found["free_bytes"] == 0
    assert found["disk_bytes"] == disk.f_blocks * disk.f_frsize
    assert (found["oldest_sample"], found["oldest_summary"]) == (NOW, NOW)
    assert (found["level"], found["growth"], found["next"], found["raw_days"]) == ("ok", None, None, None)
    told = text(shown.store(found))
    assert "Grows by not known: the collector has not told yet" in told
    assert "Room for not known: the collector has not told yet Oldest sample Oldest summary Goes next nothing" in told
    assert "Kept not known" in told
    store.close()


def test_a_store_of_four_hours(path: Path) -> None:
    store = sealed(path)
    now = NOW + 4 * HOUR_MS
    Keeper(store, Keep(raw_days=2, summary_months=1, disk_reserve=0), lambda _level, _text: None).note(now)
    found = standing(store, now)
    weight = store.weigh(NOW)
    assert weight is not None
    assert found["growth"]["measured_s"] == 4 * HOUR_S
    assert found["growth"]["samples_bytes_per_day"] == pytest.approx(24 * weight.samples * retention.FILL)
    assert found["growth"]["summaries_bytes_per_day"] == 24 * retention.ROW_BYTES
    assert found["next"] == {"what": "samples", "hour": NOW, "at_ms": NOW + HOUR_MS + 2 * DAY_MS, "rule": "age"}
    assert (found["lasts_s"], found["early"], found["disk_reserve_bytes"]) == (None, None, 0)
    store.close()


def test_a_young_store_says_so(path: Path) -> None:
    store = sealed(path, hours=2)
    Keeper(store, Keep(), lambda _level, _text: None).note(NOW + 2 * HOUR_MS)
    found = standing(store, NOW + 2 * HOUR_MS)
    assert found["growth"] is None
    assert "Grows by too young to say: it takes three sealed hours" in text(shown.store(found))
    store.close()


def test_a_store_without_a_sealed_hour_has_samples_since_its_first_tick(path: Path) -> None:
    store = open_store(str(path), writer=True, now_ms=NOW)
    assert standing(store, NOW)["oldest_sample"] is None
    write(store, "b", ["x"], {7: [1.0], 9: [2.0]})
    write(store, "a", ["x"], {5: [1.0], 8: [2.0]})
    assert standing(store, NOW)["oldest_sample"] == NOW + 5_000
    store.close()


def test_oldest_summary_without_samples(path: Path) -> None:
    store = sealed(path)
    store.forget(NOW + HOUR_MS)
    found = standing(store, NOW)
    assert (found["oldest_sample"], found["oldest_summary"]) == (NOW + HOUR_MS, NOW)
    store.close()


@pytest.mark.parametrize(
    ("free", "age_ms", "told"),
    [
        (FULL_BYTES, None, "ok"),
        (FULL_BYTES - 1, None, "critical"),
        (None, None, "ok"),
        (FULL_BYTES, DAY_MS - 1, "warning"),
        (FULL_BYTES, DAY_MS, "ok"),
    ],
)
def test_levels(free: int | None, age_ms: int | None, told: str) -> None:
    early = None if age_ms is None else {"at_ms": NOW - age_ms}
    assert level(Room(1, 0, None, free), early, NOW) == told


FOUND = {
    "size_bytes": 3 * GIB,
    "free_bytes": 10 * MIB,
    "disk_bytes": 100 * GIB,
    "disk_free_bytes": 50 * GIB,
    "oldest_sample": 5000,
    "oldest_summary": 1000,
    "raw_days": 30.0,
    "summary_months": 24.0,
    "size_limit_bytes": None,
    "disk_reserve_bytes": GIB,
    "growth": {"samples_bytes_per_day": 100.0 * MIB, "summaries_bytes_per_day": 20.0 * MIB, "measured_s": 86400.0},
    "lasts_s": None,
    "levels_off_bytes": 9.0 * GIB,
    "next": {"what": "samples", "hour": 7000, "at_ms": 9000, "rule": "age"},
    "early": None,
    "level": "ok",
}


def test_the_panel_of_a_store_that_levels_off() -> None:
    part = shown.store(FOUND)
    assert text(part) == (
        "Size 3.0 GiB, 10.0 MiB of it free again Disk 50.0 GiB of 100 GiB free "
        "Grows by 120 MiB a day, 20.0 MiB of it summaries (measured over 1d 0h) "
        "Room for for good: it levels off at about 9.0 GiB Oldest sample Oldest summary "
        "Goes next samples of at (age) "
        "Kept samples 30 days, summaries 24 months, no size limit, 1.0 GiB of the disk stay free"
    )
    instants = [attribute(one, "data-instant") for one in walk(part) if attribute(one, "data-instant")]
    assert instants == ["5000", "1000", "7000", "9000"]


def test_what_a_young_store_cannot_say_yet_has_its_reason() -> None:
    told = text(shown.store({**FOUND, "growth": None, "oldest_summary": None}))
    assert "Room for too young to say: it takes three sealed hours" in told
    assert "Oldest summary none yet: an hour is summed up when it is over" in told


def test_the_panel_of_a_store_with_a_limit() -> None:
    early = {"what": "samples", "hour": 1, "rule": "size limit", "at_ms": 5}
    changed = {"size_limit_bytes": 20 * GIB, "lasts_s": 86400.0 * 3, "level": "warning", "early": early}
    told = text(shown.store({**FOUND, **changed}))
    assert told.startswith("The oldest samples go before their time: size limit. Size")
    assert "Room for 3d 0h, then the oldest samples go before their time" in told
    assert "at most 20.0 GiB" in told


def test_the_panel_of_a_full_disk() -> None:
    part = shown.store({**FOUND, "level": "critical"})
    assert text(part).startswith("The disk is full: new samples wait in the collector's memory for ten minutes")
    assert [attribute(one, "data-level") for one in walk(part) if attribute(one, "data-level")] == ["critical"]


def test_a_database_elsewhere_has_no_disk() -> None:
    unknown = {"disk_bytes": None, "disk_free_bytes": None, "disk_reserve_bytes": None, "next": None}
    told = text(shown.store({**FOUND, **unknown, "oldest_sample": None}))
    assert "Disk not known: the database server does not tell Grows by" in told
    assert "Oldest sample nothing was read yet Oldest summary" in told
    assert "Goes next nothing Kept samples 30 days, summaries 24 months, no size limit" in told
    assert "stay free" not in told


def test_what_is_noted_comes_back() -> None:
    keep, rate = Keep(1.0, 2.0, 3, 4), Growth(5.0, 6.0, 7)
    assert retention.of_json(retention.as_json(keep, rate, None, NOW)) == (keep, rate)
    assert retention.of_json(retention.as_json(keep, None, None, NOW)) == (keep, None)
    assert NOTE == "upkeep"
