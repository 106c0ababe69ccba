"""A row whose numbers cannot be read any more costs itself: what stands around it is answered."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from storage.errors import StoreBroken
from storage.records import Row
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.storage.test_store_damage import LATER, spoil, told
from tests.storage.worlds import NOW, write

NAN = float("nan")
PLACE = "the row of b in the hour of 2026-11-30T01:00Z"
SPOILED = ["[2.5x7]", "[2.5]", "[2.5,7,1]", '{"a": 1}', "5", ""]
"""In the place of [2.5, 7]."""


def written(store: Store) -> None:
    """Two numbers of three targets at three ticks: a 10 and 15 at first, b 20 and 25 …, then one more each second."""
    for place, target in enumerate("abc", start=1):
        write(store, target, ["x", "y"], {at: [10 * place + at, 10 * place + 5 + at] for at in range(3)})


def spoil_row(store: Store, data: str, target: str = "b", at: int = 1) -> None:
    quoted = data.replace("'", "''")
    spoil(store, f"UPDATE hot SET data = '{quoted}' WHERE target = '{target}' AND tick = {NOW + 1000 * at}")


def identities(rows: list[Row]) -> list[tuple[int, str]]:
    return [((row.tick - NOW) // 1000, row.target) for row in rows]


@pytest.mark.parametrize("data", SPOILED)
def test_a_damaged_row_is_left_out(store: Store, data: str, caplog: pytest.LogCaptureFixture) -> None:
    written(store)
    spoil_row(store, data)
    for _ in range(2):
        frame = store.frame(["x"], None, NOW, LATER)
        np.testing.assert_equal(frame.values, [[10, 11, 12], [20, NAN, 22], [30, 31, 32]])
        (sheet,) = store.sheets(["y"], None, [(NOW, LATER)])
        np.testing.assert_equal(sheet.values, [[15, 16, 17], [25, NAN, 27], [35, 36, 37]])
        assert identities(store.rows()) == [(at, name) for at in range(3) for name in "abc" if (at, name) != (1, "b")]
    assert store.frame(["x"], ["b"], NOW + 1000, NOW + 1000).values.size == 0
    reasons = [one.reason for one in store.absences(0, LATER, "b")]
    assert len(reasons) == 1
    assert reasons[0].startswith(f"{PLACE} at {NOW + 1000} is damaged: ")
    assert all(line.startswith(f"{PLACE} at {NOW + 1000} is damaged: ") for line in told(caplog))
    assert store.absences(0, LATER, "a") == []


def test_the_newest_row_is_the_newest_that_can_be_read(store: Store) -> None:
    written(store)
    spoil_row(store, "[", at=2)
    assert identities(list(store.last_rows().values())) == [(2, "a"), (2, "c"), (1, "b")]
    for at in range(2):
        spoil_row(store, "[", at=at)
    assert store.last_rows().keys() == {"a", "c"}


def test_an_hour_with_a_damaged_row_is_not_sealed_and_the_next_one_is(store: Store) -> None:
    write(store, "b", ["x", "y"], {at: [float(at), 1.0] for at in (3598, 3599, 3600, 3601)})
    spoil_row(store, "[", at=3599)
    with pytest.raises(StoreBroken, match=f"{PLACE} at {NOW + 3_599_000} is damaged"):
        store.seal("b", NOW, LATER)
    assert store.seal("b", NOW + HOUR_MS, LATER)
    assert store.frame(["x"], None, NOW, LATER).values.tolist() == [[3598, 3600, 3601]]


def test_many_damaged_rows(store: Store, opened: Callable[..., Store]) -> None:
    targets, bad = [f"n{place:02}" for place in range(20)], {(3, 7), (3, 8), (9, 0), (9, 19), (12, 4), (24, 19)}
    for target in targets:
        write(store, target, ["x", "y"], {at: [float(at), 1.0] for at in range(25)})
    for at, place in bad:
        spoil_row(store, "[1", targets[place], at)
    found = opened().frame(["x"], None, NOW, LATER).values
    assert {(int(at), int(place)) for place, at in np.argwhere(np.isnan(found))} == bad


def test_signs_that_are_no_text(tmp_path: Path) -> None:
    """A flipped bit may leave letters that no text has, which SQLite's driver refuses to hand over."""
    path = tmp_path / "store.db"
    with closing(open_store(str(path), writer=True, now_ms=NOW)) as store:
        written(store)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("UPDATE hot SET data = CAST(x'5B32B52C375D' AS TEXT) WHERE target = 'b' AND tick = ?", (NOW,))
        assert len(store.rows()) == 8
        np.testing.assert_equal(store.frame(["x"], ["b"], NOW, LATER).values, [[21, 22]])
        faults = [one.text for one in store.verify().faults]
        assert faults == [f"the row of tick {NOW} of b does not fit its layout"]
