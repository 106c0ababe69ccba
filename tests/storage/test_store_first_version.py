"""A file of the first version is brought forward, sealed hour by hour, and says ever after what it said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from storage import schema
from storage.migrations import version_of
from storage.records import Absence, Batch, Episode, Event, Fact, Row, TargetRow
from storage.store import Store, open_store
from telemetry.summary import HOUR_MS
from tests.storage.first_version import (
    AWAY,
    BACK,
    COUNT,
    ENGINE,
    RESTART,
    RUNNING,
    START,
    STEP,
    TOKENS,
    assert_history,
    tick,
    unpacked,
)

NOW = tick(COUNT) + HOUR_MS
HOURS = 26


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(unpacked(tmp_path / "store.db")), writer=True, now_ms=NOW)
    yield opened
    opened.close()


def seal_all(store: Store) -> int:
    """Seal what is due; target-hours."""
    return sum(store.seal(target, hour, NOW) for target, hour in store.due(NOW))


def test_it_is_of_the_newest_version_and_says_what_it_said(store: Store) -> None:
    with store._database.reading() as connection:
        assert version_of(connection) == schema.VERSION > 1
    assert_history(store)
    assert store.facts() == [
        Fact("head", "version", "0.32", START),
        Fact("spark-01", "kernel", "6.11", START, tick(RESTART)),
        Fact("spark-01", "kernel", "6.14", tick(RESTART)),
    ]
    assert store.absences(0, NOW) == [Absence("spark-01", None, tick(AWAY), tick(BACK), "unreachable: gone")]
    assert store.events(0, NOW) == [Event(1, tick(RESTART), "spark-01", "boot", "it booted", {"boot": "2"})]
    at = tick(RESTART)
    assert store.episodes("m", 0, NOW) == [Episode("m", "head", "0", at - 5000, at, 4096, 4.5)]
    assert store.targets() == [
        TargetRow("head", "engine", "http://10.0.0.1:8000", STEP, "ok", "", START, START, {"missed": 2}),
        TargetRow("spark-01", "node", "http://10.0.0.1:9810", STEP, "ok", "", START, START),
    ]
    assert store.last_offsets("head") == {TOKENS: 24975.0}
    assert [(one.kind, one.payload) for one in store.pending_commands()] == [("label", {"a": 1})]
    assert store.preference("views") == ["x"]
    latest = store.latest_commit()
    assert latest is not None
    assert (latest.sequence, latest.last_tick) == (COUNT, tick(COUNT - 1))


@pytest.mark.live
def test_sealed_it_says_the_same(store: Store) -> None:
    assert store.verify().faults == []
    # the node was away for the whole of its third hour
    assert seal_all(store) == 2 * HOURS - 1
    assert seal_all(store) == 0
    assert_history(store)
    assert store.verify().faults == []
    assert store.prune(NOW) == 2 * COUNT - (BACK - AWAY) - 2
    assert_history(store)
    summaries = store.summaries([TOKENS.metric, RUNNING.metric], None, START, NOW)
    row = summaries.series.index(TOKENS)
    assert summaries.first[row, 0] == 0
    assert summaries.last[row].tolist() == [25.0 * (60 * hour + 59) for hour in range(HOURS)]
    ends = store.ends([TOKENS.metric], None, START, tick(COUNT - 1))
    known = ends.values[0][~np.isnan(ends.values[0])]
    assert known[-1] - known[0] == 25.0 * (COUNT - 1)


def test_it_goes_on(store: Store) -> None:
    seal_all(store)
    layout = store.layout("head", (TOKENS, RUNNING))
    store.commit(Batch(rows=[Row(tick(COUNT), "head", tick(COUNT) + 40, layout, [25.0 * COUNT, 1])]), NOW)
    latest = store.latest_commit()
    assert latest is not None
    assert latest.sequence == COUNT + 1
    assert dict(ENGINE) == {"engine": "0", "model": "m"}
    assert store.frame([TOKENS.metric], None, tick(COUNT - 1), NOW).values.tolist() == [
        [25.0 * (COUNT - 1), 25.0 * COUNT]
    ]
