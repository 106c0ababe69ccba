"""For want of room the oldest goes, loudly, and never the newest or what is pinned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from pipeline import keeper, retention
from pipeline.collector import longest_gap_ms, newest_tick
from pipeline.config import Keep
from pipeline.keeper import NOTE, Keeper, Ranges
from pipeline.retention import DAY_MS, HOUR_MS
from storage.records import Batch, Room, Row, TargetRow
from storage.store import Store, open_store
from telemetry.model import Series

START = 1_796_000_400_000
METRICS = tuple(f"m{index:02d}" for index in range(60))
HOURS = 40
NOW = START + HOURS * HOUR_MS
EARLY = "warning: samples of 2026-11-30 are given up before their time"


def filled(path: Path, hours: int = HOURS, per_hour: int = 300) -> Store:
    """Hours of one target, sealed, their rows gone but the newest; about 160 kB each."""
    store = open_store(str(path), writer=True, now_ms=START)
    layout = store.layout("a", tuple(Series("a", name) for name in METRICS))
    rng = np.random.default_rng(1)
    for hour in range(hours):
        ticks = [START + hour * HOUR_MS + at * HOUR_MS // per_hour for at in range(per_hour)]
        rows = [Row(tick, "a", tick, layout, rng.normal(size=len(METRICS))) for tick in ticks]
        store.commit(Batch(rows=rows), ticks[-1])
        store.seal("a", ticks[0], NOW + DAY_MS)
        store.prune(NOW)
    return store


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "store.db"
    filled(path).close()
    return path


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Store:
    (tmp_path / "store.db").write_bytes(original.read_bytes())
    return open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)


def pressed(store: Store, by: int, kept: Callable[[], Ranges] = keeper.nothing_pinned) -> tuple[Keeper, list[str]]:
    """A keeper whose size limit leaves so many bytes."""
    said: list[str] = []
    keep = Keep(size_limit=store.size_bytes() + by - store.room().free, disk_reserve=0)
    return Keeper(store, keep, lambda level, text: said.append(f"{level}: {text}"), kept), said


def hours_left(store: Store) -> list[int]:
    """Hours with samples, counted from START."""
    return [(one.hour - START) // HOUR_MS for one in store.sealed(0, 2 * NOW) if not one.forgotten]


def test_there_is_room(store: Store) -> None:
    kept, said = pressed(store, 100 << 20)
    assert kept.make_room(NOW) == 0
    assert said == []
    assert hours_left(store) == list(range(HOURS))
    store.close()


def test_no_bound_no_look(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "room", lambda: Room(1 << 50, 0, None, None))
    assert Keeper(store, Keep(), lambda _level, _text: None).make_room(NOW) == 0
    store.close()


def test_the_oldest_go_until_there_is_twice_what_is_needed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    need = store.room().free + 100_000
    monkeypatch.setattr(retention, "need", lambda _rows: need)
    kept, said = pressed(store, need)
    assert kept.make_room(NOW) == 0
    kept, said = pressed(store, need - 1)
    gone = kept.make_room(NOW)
    assert gone > 1
    assert hours_left(store) == list(range(gone, HOURS))
    room, _ = retention.left(kept.keep, store.room())
    assert 2 * need <= room < 2 * need + 250_000
    assert said == [
        "warning: samples of 2026-11-30 are given up before their time: the store has reached its size limit"
    ]
    assert len(store.summaries(["m00"], None, START, NOW).hours) == HOURS
    assert kept.make_room(NOW) == 0
    assert len(said) == 1
    kept.note(NOW)
    assert store.noted(NOTE)["early"] == {
        "what": "samples",
        "hour": START + (gone - 1) * HOUR_MS,
        "rule": "size limit",
        "at_ms": NOW,
    }
    store.close()


def test_given_up_room_is_used_again_and_the_file_does_not_grow(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "LEAST_NEED", 400_000)
    kept, _ = pressed(store, store.room().free)
    limit = kept.keep.size_limit
    assert limit is not None
    layout = store.layout("a", tuple(Series("a", name) for name in METRICS))
    rng = np.random.default_rng(2)
    for hour in range(HOURS, HOURS + 20):
        now = START + (hour + 1) * HOUR_MS
        ticks = [START + hour * HOUR_MS + at * 12_000 for at in range(300)]
        for low in range(0, 300, 50):
            rows = [Row(tick, "a", tick, layout, rng.normal(size=len(METRICS))) for tick in ticks[low : low + 50]]
            store.commit(Batch(rows=rows), ticks[low])
            kept.make_room(now)
        assert store.seal("a", ticks[0], now + HOUR_MS)
        store.prune(now)
        kept.make_room(now)
    with store._database.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    assert pages * 8192 <= limit
    assert hours_left(store)[-1] == HOURS + 19
    assert hours_left(store)[0] > 15
    store.close()


def test_the_last_day_stays_whatever_happens(store: Store) -> None:
    """Then summaries go, of hours whose samples are gone; then it is said that nothing more can."""
    kept, said = pressed(store, 0)
    assert kept.make_room(NOW) == 2 * (HOURS - 24)
    assert hours_left(store) == list(range(HOURS - 24, HOURS))
    assert store.summaries(["m00"], None, START, NOW).hours.tolist() == [
        START + hour * HOUR_MS for hour in range(HOURS - 24, HOURS)
    ]
    reason = "the store has reached its size limit"
    assert said == [
        f"warning: samples of 2026-11-30 are given up before their time: {reason}",
        f"warning: summaries of 2026-11-30 are given up before their time: {reason}",
    ]
    for _ in range(2):
        assert kept.make_room(NOW) == 0
    assert said[2:] == [f"critical: nothing more can be given up: {reason}; free some room or raise the limit"]
    store.close()


def test_each_day_is_told(store: Store) -> None:
    kept, said = pressed(store, 0)
    kept.make_room(NOW + 10 * DAY_MS)
    assert [text.split(" are")[0] for text in said] == [
        "warning: samples of 2026-11-30",
        "warning: samples of 2026-12-01",
        "warning: summaries of 2026-11-30",
        "warning: summaries of 2026-12-01",
    ]
    store.close()


def lived(store: Store, at_ms: int) -> None:
    """An hour of another target that was recorded then."""
    hour = at_ms - at_ms % HOUR_MS
    layout = store.layout("b", (Series("b", "m00"),))
    store.commit(Batch(rows=[Row(hour, "b", hour, layout, [1.0])]), hour)
    assert store.seal("b", hour, hour + HOUR_MS)


@pytest.mark.parametrize(("ago", "gone"), [(12, 0), (24, 0), (25, HOURS), (36, HOURS), (168, HOURS + 1), (169, 0)])
def test_a_clock_that_leaps_makes_nothing_old_at_once(store: Store, ago: int, gone: int) -> None:
    """By a clock of a hundred days later all is too old; it is believed once an hour was recorded a day before."""
    now = NOW + 100 * DAY_MS
    lived(store, now - ago * HOUR_MS)
    found = Keeper(store, Keep(raw_days=2, summary_months=1), lambda _level, _text: None)
    assert found.by_age(now) == gone
    assert len([hour for hour in hours_left(store) if hour < HOURS]) == (0 if gone else HOURS)


def test_the_tick_behind_which_a_collector_goes_on(store: Store) -> None:
    """An hour ahead of the machine's clock, or a year if all was recorded so; not what stands alone in another year."""
    newest = NOW - HOUR_MS // 300
    assert [newest_tick(store, newest - ahead) for ahead in (-DAY_MS, 0, DAY_MS)] == [newest] * 3
    assert newest_tick(store, newest - 365 * DAY_MS) == newest, "40 hours lead up to it"
    lived(store, NOW + 365 * DAY_MS)
    assert newest_tick(store, NOW) == 0
    assert newest_tick(store, NOW + 364.5 * DAY_MS) == NOW + 365 * DAY_MS


def test_a_gap_for_every_target(tmp_path: Path) -> None:
    """3.5 intervals of the slowest: more than the 2.5 that make a gap."""
    with closing(open_store(str(tmp_path / "gap.db"), writer=True, now_ms=NOW)) as store:
        assert longest_gap_ms(store) == 0
        rows = [TargetRow(f"t{ms}", "node", "", ms, "ok", "", 0, 0) for ms in (1_000, 10_000, 2_000)]
        store.commit(Batch(targets=rows), NOW)
        assert longest_gap_ms(store) == 35_000


def test_what_is_pinned_stays(store: Store) -> None:
    pinned = [(START + 3 * HOUR_MS + 5, START + 4 * HOUR_MS), (START + 7 * HOUR_MS, START + 7 * HOUR_MS)]
    kept, _ = pressed(store, 0, lambda: pinned)
    kept.make_room(NOW)
    assert hours_left(store) == [3, 4, 7, *range(HOURS - 24, HOURS)]
    later = Keeper(store, Keep(raw_days=1, summary_months=1), lambda _level, _text: None, lambda: pinned)
    lived(store, NOW + 98 * DAY_MS)
    assert later.by_age(NOW + 100 * DAY_MS) == 25
    assert hours_left(store) == [3, 4, 7]
    assert [(one.hour - START) // HOUR_MS for one in store.sealed(0, NOW)] == [3, 4, 7, HOURS - 1]
    store.close()


def test_a_nearly_full_disk_gives_up_only_what_the_file_needs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Giving up more would not bring back room on the disk."""
    need = store.room().free + 100_000
    monkeypatch.setattr(retention, "need", lambda _rows: need)
    said: list[str] = []
    kept = Keeper(store, Keep(disk_reserve=1 << 60), lambda level, text: said.append(f"{level}: {text}"))
    gone = kept.make_room(NOW)
    assert 0 < gone < 10
    assert hours_left(store)[0] == gone
    assert said == [
        "warning: samples of 2026-11-30 are given up before their time: the disk of the store is nearly full"
    ]
    store.close()


def test_a_day_is_told_again_after_there_was_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    need = [store.room().free + 1]
    monkeypatch.setattr(retention, "need", lambda _rows: need[0])
    kept, said = pressed(store, 0)
    assert kept.make_room(NOW) > 0
    assert said == [f"{EARLY}: the store has reached its size limit"]
    need[0] = 1
    assert kept.make_room(NOW) == 0
    need[0] = store.room().free + 1
    assert kept.make_room(NOW) > 0
    assert len(said) == 2
    store.close()


def test_growth_is_measured_from_the_last_day(store: Store) -> None:
    kept = Keeper(store, Keep(), lambda _level, _text: None)
    kept.note(NOW)
    told = store.noted(NOTE)
    weights = [store.weigh(START + hour * HOUR_MS) for hour in range(HOURS - 23, HOURS)]
    samples = sum(one.samples for one in weights if one is not None)
    span = 23 * HOUR_MS - 12_000 + 1000
    assert told["growth"]["over_ms"] == span
    assert told["growth"]["samples"] == pytest.approx(samples * 1.12 * DAY_MS / span)
    assert told["growth"]["summaries"] == pytest.approx(23 * 60 * 240 * DAY_MS / span)
    assert told["at_ms"] == NOW
    store.close()


def test_hours_are_weighed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Keeper(store, Keep(), lambda _level, _text: None)
    weighed: list[int] = []
    real = store.weigh
    monkeypatch.setattr(store, "weigh", lambda hour: weighed.append(hour) or real(hour))
    kept.note(NOW)
    assert len(weighed) == 23
    first = store.noted(NOTE)
    kept.note(NOW)
    assert weighed[23:] == [START + (HOURS - 1) * HOUR_MS], "the newest hour may still get targets"
    assert store.noted(NOTE) == first
    kept.note(NOW + 2 * HOUR_MS)
    assert store.noted(NOTE)["growth"]["over_ms"] == first["growth"]["over_ms"] - 2 * HOUR_MS
    store.close()


def test_what_the_file_holds_is_what_is_measured(store: Store) -> None:
    """Bytes of samples and rows, with what pages and indexes cost, are what the file grew by."""
    weights = [store.weigh(START + hour * HOUR_MS) for hour in range(HOURS)]
    samples = sum(one.samples for one in weights if one is not None)
    rows = sum(one.rows for one in weights if one is not None)
    room = store.room()
    held = (store._database.dialect.path.stat().st_size - room.free) - 400_000  # rows of an hour, and empty tables
    assert held == pytest.approx(samples * retention.FILL + rows * retention.ROW_BYTES, rel=0.1)
    store.close()
