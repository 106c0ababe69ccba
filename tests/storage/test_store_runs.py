"""Runs in a store of every engine: neighbours, short rows of a list, and marks and parts that change their run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from alerts.record import Alert
from runs.model import Mark, Run
from storage.alerts import AlertFilter
from storage.records import Batch, MarksMoved, PartsMoved, RunFilter, RunMark, RunPart
from storage.store import Store

RUNS = [
    Run(1, "m", "one", 100, 150, model="org/m", tags=("a", "b"), labels={"k": "v"}, baseline=True),
    Run(2, "n", "two", 120, 130),
    Run(3, "m", "three", 200, 300, pinned=True),
    Run(4, "m", "four", 200, 201),
    Run(5, "m", "five", 400),
]


@pytest.fixture
def kept(store: Store) -> Store:
    """A store with five runs."""
    store.commit(Batch(runs=RUNS), 1000)
    return store


def test_neighbours_are_of_the_same_deployment_and_in_order(kept: Store) -> None:
    found = {run.id: [other and other.id for other in kept.beside(run)] for run in RUNS}
    assert found == {1: [None, 3], 2: [None, None], 3: [1, 4], 4: [3, 5], 5: [4, None]}
    assert kept.beside(RUNS[2])[0] == RUNS[0]


def test_rows_of_what_ended(kept: Store) -> None:
    assert kept.settle_run(RUNS[0], {"headline": {"x": 1.5}, "spark": [1, None]})
    rows = kept.listed_runs(("headline", "spark"))
    assert [row[0] for row in rows] == [4, 3, 2, 1]
    *row, tags, labels, trimmed, head, spark = rows[-1]
    assert trimmed == 0
    assert row == [1, "m", "one", "org/m", 100, 150, 1, 0]
    assert list(map(json.loads, (tags, labels, head, spark))) == [["a", "b"], {"k": "v"}, {"x": 1.5}, [1, None]]
    assert tuple(rows[1][6:8]) + tuple(rows[1][-2:]) == (0, 1, None, None)


@pytest.mark.parametrize(("since", "expected"), [(0, [5, 4, 3, 2, 1]), (201, [5, 4, 3]), (202, [5, 3]), (301, [5])])
def test_rows_of_lately(kept: Store, since: int, expected: list[int]) -> None:
    assert [row[0] for row in kept.listed_runs((), since)] == expected


def test_parts_of_another_revision_are_not_told(kept: Store) -> None:
    assert kept.settle_run(RUNS[0], {"headline": {"x": 1.5}})
    assert kept.run_parts("headline", [1, 3]) == {1: {"x": 1.5}}
    kept.commit(Batch(runs=[replace(RUNS[0], revision=1)]), 1001)
    assert kept.run_parts("headline", [1, 3]) == {}
    assert kept.listed_runs(("headline",))[-1][-1] is None


MARKS = [Mark(at, kind, f"at {at}") for at, kind in ((100, "note"), (120, "end"), (120, "note"), (150, "restart"))]


@pytest.mark.parametrize(
    ("moved", "left", "arrived"),
    [
        ([MarksMoved(1, 3)], [], [0, 1, 2, 3]),
        ([MarksMoved(1, 3, 120)], [0], [1, 2, 3]),
        ([MarksMoved(1, 3, 121)], [0, 1, 2], [3]),
        ([MarksMoved(1, 3, 0, 120)], [3], [0, 1, 2]),
        ([MarksMoved(1, None, 120, 120, "end")], [0, 2, 3], []),
        ([MarksMoved(1, None, 120, 120, "end"), MarksMoved(1, 3, 120)], [0], [2, 3]),
        ([MarksMoved(1, 3, 120), MarksMoved(3, 1, 150)], [0, 3], [1, 2]),
        ([MarksMoved(2, 3)], [0, 1, 2, 3], []),
    ],
)
def test_marks_change_their_run(kept: Store, moved: list[MarksMoved], left: list[int], arrived: list[int]) -> None:
    kept.commit(Batch(marks=[RunMark(1, mark) for mark in MARKS], marks_moved=moved), 1001)
    assert kept.marks(1) == [MARKS[place] for place in left]
    assert kept.marks(3) == [MARKS[place] for place in arrived]


def test_a_mark_that_is_there_already_is_one(kept: Store) -> None:
    same = Mark(150, "note", "x")
    kept.commit(Batch(marks=[RunMark(1, same), RunMark(3, same)], marks_moved=[MarksMoved(1, 3)]), 1001)
    assert (kept.marks(1), kept.marks(3)) == ([], [same])


def test_alerts_go_with_the_minutes_in_which_they_fired(kept: Store) -> None:
    """Of two runs that are merged, and of one that is split."""
    at = {1: 100, 2: 120, 3: 150}
    alerts = [Alert(n, "hot", "Hot", "node", ("n1",), "warning", "M", ms, ms, "text", run=1) for n, ms in at.items()]
    kept.commit(Batch(alerts=[*alerts, replace(alerts[0], id=4, run=2)]), 1001)

    def owners() -> dict[int, int | None]:
        return {one.id: one.run for one in kept.alerts(AlertFilter())}

    kept.commit(Batch(marks_moved=[MarksMoved(1, None, 120, 120, "end"), MarksMoved(1, 3, 0, 200, "note")]), 1002)
    assert owners() == {1: 1, 2: 1, 3: 1, 4: 2}
    kept.commit(Batch(marks_moved=[MarksMoved(1, 3, 120)]), 1003)
    assert owners() == {1: 1, 2: 3, 3: 3, 4: 2}
    kept.commit(Batch(marks_moved=[MarksMoved(1, 5)], runs_deleted=[1]), 1004)
    assert owners() == {1: 5, 2: 3, 3: 3, 4: 2}


def test_what_belongs_to_a_run_moves_before_the_run_is_deleted(kept: Store) -> None:
    """Of two runs that are merged: results of benchmarks go with the marks, what was worked out goes with the run."""
    parts = [RunPart(3, "benchmark:a", 0, {"n": 1}), RunPart(3, "headline", 0, {}), RunPart(1, "benchmark:b", 0, {})]
    kept.commit(Batch(parts=parts, marks=[RunMark(3, MARKS[0])]), 1001)
    moved, parts_moved = [MarksMoved(3, 1)], [PartsMoved(3, 1, "benchmark:")]
    kept.commit(Batch(marks_moved=moved, parts_moved=parts_moved, runs_deleted=[3]), 1002)
    assert kept.run_parts_of(1, "") == {"benchmark:a": {"n": 1}, "benchmark:b": {}}
    assert (kept.run(3), kept.marks(3), kept.run_parts_of(3, "")) == (None, [], {})
    assert kept.marks(1) == [MARKS[0]]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (RunFilter(baseline=True), [1]),
        (RunFilter(live=True), [5]),
        (RunFilter("m", tag="a"), [1]),
        (RunFilter(text="TWO"), [2]),
        (RunFilter(start_ms=201, end_ms=399), [4, 3]),
    ],
)
def test_filters(kept: Store, opened: Callable[..., Store], wanted: RunFilter, expected: list[int]) -> None:
    assert [run.id for run in opened(writer=False).runs(wanted)] == expected
