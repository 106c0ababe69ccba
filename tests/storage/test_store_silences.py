"""Silences that the store has and nobody understands: each disables itself alone, and can be ended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import insert

from alerts.record import Silence
from alerts.weekly import Weekly, weekly_kept
from runs.bounds import LATEST_MS
from storage import schema
from storage.codec import text_of
from storage.store import Store
from tests.storage.test_store_alerts import MINUTE, put
from tests.storage.worlds import NOW

WINDOW = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "from": "00:00", "to": "00:00", "zone": "UTC"}


def kept(store: Store, matcher: Any, end_ms: int = NOW + MINUTE) -> Silence:
    """A row as another version, or a hand, may have written it."""
    row = {"id": 1, "start_ms": NOW, "end_ms": end_ms, "matcher": text_of(matcher), "comment": "", "by": ""}
    with store._database.writing() as connection:
        connection.execute(insert(schema.tables.tables["silence"]), [{**row, "made_ms": NOW}])
    (found,) = store.silences()
    return found


@pytest.mark.parametrize(
    ("matcher", "problem"),
    [
        ({"weekly": {**WINDOW, "from": "0\u0663:00"}}, "“from” is a time such as 22:00, not '0\u0663:00'"),
        ({"weekly": {**WINDOW, "to": 5}}, "“to” is a time such as 22:00, not '5'"),
        ({"weekly": {**WINDOW, "zone": "Mars/Base"}}, "this machine knows no zone 'Mars/Base': write it like Europe/B"),
        ({"weekly": {"days": "mon"}}, "“days” is a list of some of mon"),
        ({"weekly": 5}, "“days” is a list of some of mon"),
        ({"rule": 5}, "it says rule, which is not understood"),
        ({"rule": "a", "rack": "7"}, "it says rack, which is not understood"),
        ([7], "it says nothing, which is not understood"),
    ],
)
def test_a_silence_that_nobody_understands_hides_nothing(store: Store, matcher: Any, problem: str) -> None:
    found = kept(store, matcher)
    assert found.problem.startswith(problem)
    assert not found.active(NOW)
    whole = Silence(2, NOW, NOW + MINUTE, weekly=weekly_kept(WINDOW))
    put(store, silences=[whole])
    assert store.silences() == [found, whole], "beside one that holds"
    assert (whole.problem, whole.active(NOW)) == ("", True)
    put(store, silences=[replace(found, end_ms=NOW + 1)])
    assert store.silences(NOW + 1) == [whole], "it can be ended"


def test_a_silence_of_no_calendar_ends_where_calendars_do(store: Store) -> None:
    found = kept(store, {}, 2**53 - 1)
    assert (found.end_ms, found.problem) == (LATEST_MS, "")


def test_what_was_kept_is_what_was_asked_for() -> None:
    assert weekly_kept(WINDOW) == Weekly(tuple(WINDOW["days"]), "00:00", "00:00", "UTC")
