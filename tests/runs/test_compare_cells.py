"""A run cut into cells: what each holds, what is not known, and the first token."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from runs.compare.cells import Cells, checked
from runs.compare.cutting import cut, stirring
from runs.subject import Member
from telemetry.catalog import engine
from telemetry.model import part
from tests.runs import compare_worlds as made
from tests.runs.worlds import World, at, ramp
from tests.runs.worlds import engine as series


def world(**more: object) -> World:
    """Twenty seconds: nothing for six, then 10 tokens a second by two requests, one of which waited before."""
    rows = {
        series(engine.GENERATION_TOKENS): ramp((5, 0.0), (16, 10.0)),
        series(engine.REQUESTS_RUNNING): [0.0] * 5 + [2.0] * 17,
        series(engine.REQUESTS_WAITING): [0.0] * 8 + [1.0] * 3 + [0.0],
        series(part(engine.ITL, "sum")): ramp((5, 0.0), (16, 2.0)),
        series(part(engine.ITL, "count")): ramp((5, 0.0), (16, 4.0)),
        series(engine.REQUESTS_FINISHED, outcome="stop"): ramp((10, 0.0), (1, 1.0), (10, 0.0)),
        series(engine.REQUESTS_FINISHED, outcome="length"): ramp((15, 0.0), (1, 1.0), (5, 0.0)),
    }
    return World(22, rows, **more)  # type: ignore[arg-type]


def cells(told: World, start: float = 0) -> Cells:
    """Its cells."""
    return cut(told.subject(start), told.reader())


def test_each_cell_has_its_own_tokens_load_and_steps() -> None:
    found = cells(world())
    assert found.end_ms.tolist() == [at(5), at(10), at(15), at(20)]
    assert (found.width_s, len(found)) == (5.0, 4)
    assert found.tokens.tolist() == [0.0, 50.0, 50.0, 50.0]
    assert found.running.tolist() == pytest.approx([0.2, 2.0, 2.0, 2.0])
    assert found.step_s.tolist() == [0.0, 10.0, 10.0, 10.0]
    assert found.steps.tolist() == [0.0, 20.0, 20.0, 20.0]
    assert found.finished.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.isnan(found.tpot_s).all()
    assert found.first_ms == at(6)


def test_the_load_is_of_single_readings() -> None:
    found = cells(world())
    assert found.queue.tolist() == [0.0, 0.0, 0.0, 0.0]
    assert found.moved.tolist() == [2.0, 1.0, 1.0, 0.0]
    assert found.stirred.tolist() == pytest.approx([0.0, 0.0, np.sqrt(4 / np.pi), np.sqrt(4 / np.pi)])


def test_cells_begin_where_the_stretch_does() -> None:
    found = cells(world(), 7)
    assert found.end_ms.tolist() == [at(12), at(17)]
    assert found.first_ms == at(8)


def test_a_gap_and_a_restart_leave_their_cells_unknown() -> None:
    gap = cells(world(unread={"head": range(7, 10)}))
    assert np.isnan(gap.tokens).tolist() == [False, True, False, False]
    assert np.isnan(gap.running_s).tolist() == [False, True, False, False]
    restart = cells(world(breaks={"head": [13]}))
    assert np.isnan(restart.tokens).tolist() == [False, False, True, False]


def test_cells_in_which_an_engine_is_silent_are_unknown_to_its_return() -> None:
    """Two engines, 100 and 50 a second, four running each; the second answers until 19 and from 40 on."""
    lines = {"head": ramp((60, 100.0)), "tail": ramp((60, 50.0))}
    tokens = {series(engine.GENERATION_TOKENS, target=name): line for name, line in lines.items()}
    rows = tokens | {series(engine.REQUESTS_RUNNING, target=name): [4.0] for name in lines}
    both = (Member("head", "0", "m"), Member("tail", "0", "m"))
    found = cells(World(61, rows, unread={"tail": range(20, 40)}, engines=both))
    away = [False] * 4 + [True] * 4 + [False] * 4
    for line in (found.tokens, found.running_s):
        assert np.isnan(line).tolist() == away
    assert np.unique(found.tokens[~np.isnan(found.tokens)]).tolist() == pytest.approx([750.0])
    assert found.running[~np.isnan(found.running)].tolist() == pytest.approx([8.0] * 8)
    assert np.nansum(found.moved) == 0
    within = cells(World(201, rows, unread={"tail": range(20, 190)}, engines=both), 120)
    assert np.isnan(within.tokens).tolist() == [True] * 14 + [False] * 2


def test_an_engine_that_is_read_every_eight_seconds_has_cells_as_long() -> None:
    rows = {series(engine.GENERATION_TOKENS): ramp((40, 10.0)), series(engine.REQUESTS_RUNNING): [1.0]}
    found = cells(World(41, rows, interval_s=8))
    assert (found.width_s, found.tokens.tolist()) == (8.0, [80.0] * 5)


def test_several_engines_are_one_and_others_are_left_out() -> None:
    rows = {
        series(metric, number=number): line
        for number in ("0", "1", "2")
        for metric, line in ((engine.GENERATION_TOKENS, ramp((20, 3.0))), (engine.REQUESTS_RUNNING, [1.0]))
    }
    two = World(21, rows, engines=(Member("head", "0", "m"), Member("head", "1", "m")))
    found = cells(two)
    assert (found.tokens.tolist(), found.running.tolist()) == ([30.0] * 4, [2.0] * 4)


def test_nothing_is_nothing() -> None:
    found = cells(World(3, {series(engine.GENERATION_TOKENS): [0.0]}))
    assert (len(found), np.isnan(found.first_ms)) == (0, True)
    silent = cells(World(21, {series(engine.REQUESTS_RUNNING): [1.0]}))
    assert np.isnan(silent.tokens).all()


def test_plain_data_and_back() -> None:
    found = cells(world(unread={"head": range(7, 10)}))
    again = Cells.from_json(json.loads(json.dumps(found.to_json())))
    assert again.to_json() == found.to_json()
    assert np.array_equal(again.tokens, found.tokens, equal_nan=True)
    assert (again.first_ms, again.width_s) == (found.first_ms, 5.0)
    bare = cells(World(3, {series(engine.GENERATION_TOKENS): [0.0]}))
    assert np.isnan(Cells.from_json(bare.to_json()).first_ms)


def test_cells_that_somebody_else_has_written_are_looked_at() -> None:
    told = made.recorded().to_json()
    assert checked(told) == told
    assert checked({**told, "first_ms": None})["first_ms"] is None


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"more": []}, "“cells” is expected to be an object of a run's cells"),
        ({"tokens": [1.0]}, "equally long lists of at most 200,000"),
        ({"tokens": 1.0}, "equally long lists of at most 200,000"),
        ({"width_s": 0}, "“cells” is expected to hold numbers"),
        ({"width_s": "5"}, "“cells” is expected to hold numbers"),
        ({"first_ms": -1}, "“cells” is expected to hold numbers"),
        ({"tokens": [True] * 38}, "“cells” is expected to hold numbers"),
        ({"tokens": [float("inf")] * 38}, "“cells” is expected to hold numbers"),
        ({"end_ms": [None] * 38}, "“cells” is expected to hold numbers"),
        ({"end_ms": [5] * 38}, "the ends of “cells” are expected to rise"),
    ],
)
def test_what_is_no_cells(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        checked({**made.recorded().to_json(), **change})
    with pytest.raises(ValueError, match="an object of a run's cells"):
        checked([])


def test_how_long_a_request_is() -> None:
    """In the engine: three of four seconds, where a quarter of the load waits."""
    known = made.cells(4, request_s=30.0, requests=[1, 2, 0, 1], running_s=9.0, waiting_s=3.0)
    assert known.request_mean_s == 22.5
    assert made.cells(4, request_s=30.0, requests=1.0, running_s=9.0).request_mean_s == 30.0
    assert made.cells(4, running_s=10.0, waiting_s=2.0, finished=[0, 1, 0, 1]).request_mean_s == 20.0
    assert np.isnan(made.cells(4, running_s=10.0, waiting_s=2.0, finished=0.0).request_mean_s)
    assert np.isnan(made.cells(4, finished=1.0).request_mean_s)


def test_what_independent_arrivals_would_move() -> None:
    assert stirring(np.array([0.0, 0.25]), np.array([5.0, 5.0])).tolist() == [0.0, 0.5]
    assert stirring(np.array([100.0, 9.0]), np.array([9.0, 100.0])) == pytest.approx([np.sqrt(36 / np.pi)] * 2)


def test_the_recording() -> None:
    found = made.recorded()
    assert np.nansum(found.tokens) == pytest.approx(26_176, rel=0.005)
    assert found.request_mean_s == pytest.approx(1.173, rel=0.01)
