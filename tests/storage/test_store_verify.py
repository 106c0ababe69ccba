"""Verifying names what is broken, and only that."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from storage import chunks, clocks, schema
from storage.clocks import Reading
from storage.records import Batch, Offset, Row
from storage.store import Store, open_store
from storage.verify import Report
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
NAN = float("nan")
TOKENS = "generation_tokens_total"
WHEN = "in the hour of 2026-11-30T01:00Z"
Spoil = tuple[str, list[tuple[str, str]]]


def prepare(store: Store) -> None:
    """A gauge, a counter that began with its first use, a constant, one never known; two hours sealed, one not."""
    names = ["x", TOKENS, "still", "never"]
    first = {at: [at / 7, NAN if at < 5 else 3.0 * at, 2.0, NAN] for at in range(60)}
    later = {HOUR_S + at: [-at / 3, 500.0 + at, 2.0, NAN] for at in range(30)}
    write(store, "a", names, first | later | {3 * HOUR_S: [1, 2, 3, 4], 3 * HOUR_S + 1: [1, 2, 3, 4]})
    write(store, "b", ["x"], {5: [math.inf], 6: [-0.0], HOUR_S + 5: [1e300]})
    store.commit(Batch(offsets=[Offset("a", TOKENS, (), NOW + 5 * SECOND, 0.0, "first use")]), NOW)
    for target, hour in [("a", NOW), ("a", NOW + HOUR_MS), ("b", NOW)]:
        assert store.seal(target, hour, LATER)
    store.prune(NOW + 2 * HOUR_MS)


def spoil(store: Store, *statements: str) -> None:
    """Change the file behind the store's back."""
    with store._database.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def told(report: Report) -> list[tuple[str, str]]:
    """Kinds and texts."""
    return [(fault.kind, fault.text) for fault in report.faults]


def test_a_whole_store_has_no_faults(store: Store) -> None:
    assert store.verify() == Report()
    prepare(store)
    seen: list[tuple[int, int]] = []
    report = store.verify(lambda done, of: seen.append((done, of)))
    assert report == Report(hours=3, chunks=9, rows=3)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_what_was_given_up_is_no_fault(store: Store) -> None:
    prepare(store)
    store.forget(NOW + HOUR_MS)
    assert store.verify() == Report(hours=3, chunks=4, rows=3)
    spoil(store, f"UPDATE chunk SET data = NULL, codec = 'forgotten' WHERE hour = {NOW + HOUR_MS} AND series = 1")
    assert store.verify() == Report(hours=3, chunks=4, rows=3)


def chunk(series: int, change: str, text: str | None) -> Spoil:
    """A change of a row of a's chunks, and what is then said of it."""
    name = ("x", TOKENS, "still", "never")[series - 1]
    told = [] if text is None else [("chunk", f"the chunk of {name} of a {WHEN} {text}")]
    return f"{change} WHERE series = {series} AND hour = {NOW}", told


def summary(series: int, change: str, *wrong: str) -> Spoil:
    """A change of a chunk's summary, and what of it is then wrong."""
    text = f"does not agree with its summary: {', '.join(wrong)}" if wrong else None
    return chunk(series, f"UPDATE chunk SET {change}", text)


def clock(change: str, text: str) -> Spoil:
    """A change of b's clock, and what is then said of it."""
    return f"UPDATE clock SET {change} WHERE target = 'b' AND hour = {NOW}", [
        ("clock", f"the clock of b {WHEN} {text}")
    ]


def row(change: str, text: str) -> Spoil:
    """A change of b's row, and what is then said of it."""
    told = f"the row of tick {NOW + (HOUR_S + 5) * SECOND} of b {text}"
    return f"UPDATE hot SET {change} WHERE target = 'b'", [("row", told)]


SPOILT: dict[str, Spoil] = {
    "blob": chunk(1, "UPDATE chunk SET data = substr(data, 2)", "is damaged: its checksum is wrong"),
    "gone": chunk(3, "DELETE FROM chunk", "is missing"),
    "format": chunk(
        1, "UPDATE chunk SET codec = 'zstd.f64'", "is in a format that this version does not know: zstd.f64"
    ),
    "first": summary(1, "first = 0.5", "first"),
    "unknown first": summary(1, "first = NULL", "first"),
    "several": summary(1, "n = 59, last = 1, min = -1, max = 99, sum = sum + 0.001", "n", "last", "sum", "min", "max"),
    "sum within rounding": summary(1, "sum = sum + 1e-10"),
    "counter's last": summary(2, "last = 178", "last"),
    "counter's rates": summary(2, "min = 4, max = 3, seconds = -1", "min above max", "negative seconds"),
    "never": summary(4, "max = 1", "max"),
    "clock's data": clock("data = NULL", "is damaged: its data is missing"),
    "clock's count": clock("n = 3", "is damaged: it does not hold 3 numbers"),
    "clock's row": clock("last_tick = last_tick + 1", "begins or ends elsewhere than its row says"),
    "no clock": (
        f"DELETE FROM clock WHERE target = 'b' AND hour = {NOW}",
        [("chunk", "a chunk without a clock")],
    ),
    "offset": (
        "INSERT INTO \"offset\" VALUES (99, 1, 0, 'wrap')",
        [("offset", "an unknown series has offsets: 99")],
    ),
    "chunk of nothing": (
        f"UPDATE chunk SET series = 99 WHERE series = 4 AND hour = {NOW}",
        [
            ("chunk", "an unknown series has chunks: 99"),
            ("chunk", f"the chunk of never of a {WHEN} is missing"),
        ],
    ),
    "row's width": row("data = '[1, 2]'", "does not fit its layout"),
    "row's text": row("data = '[1'", "does not fit its layout"),
    "row's layout": row("layout = 1", "has no layout"),
}


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_broken_is_named_and_the_rest_is_read(store: Store, opened: Callable[..., Store], what: str) -> None:
    prepare(store)
    statement, faults = SPOILT[what]
    spoil(store, statement)
    report = opened().verify()
    assert told(report) == faults
    assert report.rows == 3
    assert report.hours == 3 - (what == "no clock")


def test_a_fault_says_of_what_and_when(store: Store) -> None:
    prepare(store)
    spoil(store, SPOILT["blob"][0], SPOILT["clock's data"][0], SPOILT["row's text"][0])
    found = {fault.kind: (fault.target, fault.series, fault.hour) for fault in store.verify().faults}
    assert found == {
        "chunk": ("a", Series("a", "x"), NOW),
        "clock": ("b", None, NOW),
        "row": ("b", None, None),
    }


def test_a_layout_of_series_that_are_not_there(store: Store, opened: Callable[..., Store]) -> None:
    prepare(store)
    spoil(store, "INSERT INTO layout (target, digest, series_ids) VALUES ('a', 'd', '[1, 77]')")
    assert told(opened().verify()) == [("layout", "layout 3 of a holds an unknown series: 77")]


@pytest.mark.parametrize(
    ("ticks", "layout", "text"),
    [
        ([0, 2, 1], 2, "does not rise"),
        ([0, 1, 3600], 2, "holds ticks of another hour"),
        ([-1, 1, 2], 2, "holds ticks of another hour"),
        ([0, 1, 2], 1, "refers to a layout that the target does not have: 1"),
    ],
)
def test_clocks_that_can_be_read_and_are_wrong(store: Store, ticks: list[int], layout: int, text: str) -> None:
    write(store, "other", ["y"], {0: [1]})
    write(store, "b", ["x"], {0: [1], 1: [1], 2: [1]})
    assert store.seal("b", NOW, LATER)
    assert store.verify().faults == []
    at = np.array([NOW + tick * SECOND for tick in ticks])
    blob = clocks.encode(Reading(at, np.zeros(3, dtype=np.int64), np.full(3, layout)), chunks.PCO)
    with store._database.writing() as connection:
        told_of = {"data": blob, "first_tick": int(at[0]), "last_tick": int(at[-1])}
        connection.execute(update(schema.clock).values(**told_of))
    assert told(store.verify()) == [("clock", f"the clock of b {WHEN} {text}")]


def test_late_rows_are_no_fault(store: Store) -> None:
    layout = write(store, "a", ["x"], {0: [1], 1: [2], HOUR_S: [3]})
    store.seal("a", NOW, LATER)
    store.commit(Batch(rows=[Row(NOW + 500, "a", NOW, layout, [9])]), LATER)
    assert store.verify() == Report(hours=1, chunks=1, rows=4)


def test_a_damaged_file_is_told_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = open_store(str(path), writer=True, now_ms=NOW)
    rng = np.random.default_rng(3)
    write(store, "a", ["x"], {at: rng.normal(size=1).tolist() for at in range(3000)})
    write(
        store,
        "a",
        [f"m{index}" for index in range(40)],
        {HOUR_S + at: rng.normal(size=40).tolist() for at in range(300)},
    )
    for target, hour in store.due(LATER):
        store.seal(target, hour, LATER)
    store.prune(LATER)
    with store._database.reading() as connection:
        root = connection.exec_driver_sql("SELECT rootpage FROM sqlite_schema WHERE name = 'chunk'").scalar_one()
    store.close()
    content = bytearray(path.read_bytes())
    start = (root - 1) * 8192
    cell = int.from_bytes(content[start + 12 : start + 14], "big")
    leaf = int.from_bytes(content[start + cell : start + cell + 4], "big")
    content[(leaf - 1) * 8192 : (leaf - 1) * 8192 + 64] = b"\xff" * 64
    path.write_bytes(content)
    store = open_store(str(path), writer=False, now_ms=NOW)
    report = store.verify()
    kinds = [fault.kind for fault in report.faults]
    assert kinds[0] == "file"
    assert "chunk" in kinds
    assert (report.hours, report.rows) == (2, 1)
    assert report.chunks + kinds.count("chunk") == 41
    store.close()
