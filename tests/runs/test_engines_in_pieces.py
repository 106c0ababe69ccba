"""Engines of long stretches are read piece by piece, and their numbers come to the same as of all readings at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.compare.cells import Cells
from runs.compare.cutting import cut
from runs.entries import Section
from runs.reader import LEAD_MS
from runs.slices import pieces, slices
from runs.subject import Member
from runs.summary import summarise
from storage.records import Absence
from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu
from telemetry.model import Series, part
from telemetry.phases import Phase
from tests.runs.answers import entry, value
from tests.runs.memory import InMemory
from tests.runs.worlds import Line, World, at, engine, node, ramp

FEW = 1
"""So few readings that slices are of a minute, the shortest."""
BOTH = (Member("head", "0", "m"), Member("tail", "0", "m"))
SECONDS = 421


def counters(target: str, rate: float) -> dict[Series, Line]:
    """What an engine counts; two steps a second."""
    return {
        engine(part(catalog.ITL, "sum"), target): ramp((SECONDS, rate / 10)),
        engine(part(catalog.ITL, "count"), target): ramp((SECONDS, 2.0)),
        engine(catalog.REQUESTS_FINISHED, target, outcome="stop"): [float(second // 7) for second in range(SECONDS)],
    }


def lines(seed: int) -> dict[Series, Line]:
    """Two engines whose every number wanders, with pauses longer than 10 s."""
    dice = np.random.default_rng(seed)
    found: dict[Series, Line] = {}
    for target, rate in (("head", 20.0), ("tail", 35.0)):
        busy = np.repeat(dice.random(SECONDS // 6 + 1) < 0.6, 6)[:SECONDS]
        found[engine(catalog.GENERATION_TOKENS, target)] = np.cumsum(dice.poisson(rate, SECONDS) * busy).tolist()
        found[engine(catalog.REQUESTS_RUNNING, target)] = (dice.integers(0, 5, SECONDS) * busy).tolist()
        found[engine(catalog.REQUESTS_WAITING, target)] = dice.integers(0, 3, SECONDS).tolist()
        found[engine(catalog.KV_CACHE_USAGE, target)] = dice.random(SECONDS).round(3).tolist()
        found[engine(catalog.ENGINE_PHASE, target)] = dice.integers(1, 6, SECONDS).tolist()
        found[engine(catalog.REPORTED_ACCEPTANCE, target)] = dice.random(SECONDS).round(3).tolist()
        found |= counters(target, rate)
    return found


def reader(told: World, slower: Mapping[str, int]) -> InMemory:
    """Its history, in which some targets are read every so many seconds."""
    rarely = {target: [second for second in range(SECONDS) if second % every] for target, every in slower.items()}
    unread = {target: {*told.unread.get(target, ()), *rarely.get(target, ())} for target in {*told.unread, *rarely}}
    frame = replace(told, unread=unread).frame()
    gaps = [2500.0 * slower.get(series.target, 1) for series in frame.series]
    return InMemory(replace(frame, gap_ms=np.array(gaps)), gone=told.absences)


def both(told: World, start: float, end: float, slower: Mapping[str, int]) -> list[tuple[Section, ...]]:
    subject, source = told.subject(start, end), reader(told, slower)
    return [summarise(subject, source, readings) for readings in (130_000, FEW)]


def same(at_once: Sequence[Section], in_pieces: Sequence[Section]) -> None:
    for one, other in zip(at_once, in_pieces, strict=True):
        told = [[(e.key, e.of, e.note, e.count) for e in side.entries] for side in (one, other)]
        assert told[0] == told[1]
        for left, right in zip(one.entries, other.entries, strict=True):
            near = left.value if left.value is None else pytest.approx(left.value, rel=1e-9, abs=1e-9)
            assert right.value == near, (left.key, left.of)


def same_cells(one: Cells, other: Cells) -> None:
    assert (one.width_s, one.end_ms.tolist()) == (other.width_s, other.end_ms.tolist())
    assert one.first_ms == other.first_ms or (one.first_ms != one.first_ms and other.first_ms != other.first_ms)
    for name, line in one.to_json().items():
        if isinstance(line, list):
            assert getattr(other, name).tolist() == pytest.approx(getattr(one, name).tolist(), nan_ok=True), name


seconds = st.integers(0, SECONDS - 1)
holes = st.lists(st.tuples(seconds, st.integers(1, 90)), max_size=4)


def unread(spans: Sequence[tuple[int, int]]) -> set[int]:
    return {second for start, length in spans for second in range(start, min(start + length, SECONDS))}


STORIES = {
    "seed": st.integers(0, 50),
    "head": holes,
    "tail": holes,
    "restarts": st.lists(seconds, max_size=3),
    "span": st.tuples(st.integers(0, 200), st.integers(205, SECONDS - 1)),
    "slower": st.sampled_from([{}, {"tail": 3}, {"head": 2, "tail": 5}, {"tail": 30}, {"head": 25, "tail": 40}]),
    "offset": st.integers(0, 59),
}


def come_to_the_same(
    seed: int,
    head: list[tuple[int, int]],
    tail: list[tuple[int, int]],
    restarts: list[int],
    span: tuple[int, int],
    slower: dict[str, int],
    offset: int,
) -> None:
    gone = [Absence("tail", None, at(start), at(start + length), "stopped: by hand") for start, length in tail[:1]]
    missing = {"head": unread(head), "tail": unread(tail)}
    told = World(SECONDS, lines(seed), unread=missing, breaks={"tail": restarts}, absences=gone, engines=BOTH)
    start, end = span[0] + offset / 60, span[1]
    same(*both(told, start, end, slower))
    subject, source = told.subject(start, end), reader(told, slower)
    same_cells(cut(subject, source), cut(subject, source, FEW))


@given(**STORIES)
@settings(max_examples=6, deadline=None)
def test_pieces_come_to_the_same(**story: Any) -> None:
    come_to_the_same(**story)


@pytest.mark.live
@given(**STORIES)
@settings(max_examples=150, deadline=None)
def test_pieces_of_many_stories_come_to_the_same(**story: Any) -> None:
    come_to_the_same(**story)


def test_what_crosses_the_ends_of_pieces() -> None:
    """Four requests from 100 to 300, one else; 30 tokens a second meanwhile; a silence from 150 to 185."""
    rows = {
        engine(catalog.GENERATION_TOKENS): ramp((100, 0.0), (200, 30.0), (120, 0.0)),
        engine(catalog.REQUESTS_RUNNING): [1.0] * 100 + [4.0] * 200 + [1.0] * 121,
        engine(catalog.ENGINE_PHASE): [float(Phase.IDLE.value)] * 100
        + [float(Phase.DECODING.value)] * 200
        + [float(Phase.IDLE.value)] * 121,
    }
    told = World(SECONDS, rows, unread={"head": range(150, 186)})
    found = summarise(told.subject(), told.reader(), FEW)
    assert value(found, "speed.decode_mean") == pytest.approx(30.0)
    assert value(found, "speed.decode_median") == pytest.approx(30.0)
    assert value(found, "speed.decode_peak") == pytest.approx(30.0)
    assert value(found, "speed.decoding_seconds") == 163, "without the gap from 149 to 186"
    assert entry(found, "speed.decode_median").count == 201 - 36 - 10
    assert value(found, "speed.stream_mean") == pytest.approx(163 * 30 / (163 * 4 + 220))
    assert value(found, "phases.running_max") == 4
    assert {of: value(found, "phases.running_seconds", of) for of in ("1", "4", "unknown")} == {
        "1": 220,
        "4": 164,
        "unknown": 36,
    }
    assert value(found, "phases.phase_seconds", "decoding") == 164
    assert value(found, "quality.gap_seconds", "head") == 37


def test_a_piece_knows_what_stands_around_it() -> None:
    told = World(SECONDS, {engine(catalog.GENERATION_TOKENS): ramp((SECONDS, 1.0))}, unread={"head": range(50, 260)})
    subject = told.subject()
    parts = slices(subject.start_ms, subject.end_ms, 1, FEW)
    found = list(pieces(told.reader(), frozenset({catalog.GENERATION_TOKENS.name}), parts, ["head"], subject.owns))
    assert (found[0].first, found[-1].last, found[0].low_ms, found[-1].high_ms) == (True, True, at(0), at(420))
    assert [one.low_ms for one in found[1:]] == [one.high_ms + 1 for one in found[:-1]]
    assert sum(piece.own.stop - piece.own.start for piece in found) == len(told.frame().ticks) - 210
    late = next(piece for piece in found if piece.low_ms <= at(260) <= piece.high_ms)
    assert late.frame.ticks[0] == at(49), "the last one before the silence"
    assert all(piece.frame.ticks[-1] >= piece.high_ms + LEAD_MS - 1000 for piece in found[3:-1])


def test_tokens_every_eight_seconds_are_one_window_across_pieces() -> None:
    """From 7, the last reading before the first increase, to 416: each tick from 10 on has a mean of 10 s."""
    told = World(SECONDS, {engine(catalog.GENERATION_TOKENS): [8.0 * (second // 8) for second in range(SECONDS)]})
    for found in both(told, 0, SECONDS - 1, {}):
        assert entry(found, "speed.decode_median").count == 416 - 10 + 1
        assert entry(found, "speed.decoding_seconds").count == 1
        assert value(found, "speed.decoding_seconds") == 416 - 7


def test_a_window_may_begin_at_the_reading_before_the_start() -> None:
    told = World(61, {engine(catalog.GENERATION_TOKENS): ramp((60, 10.0))})
    assert entry(told.summary(0.5, 30), "speed.decode_median").count == 30 - 10 + 1
    assert entry(told.summary(0, 30), "speed.decode_median").count == 30 - 10 + 1


def test_what_was_told_once_was_told() -> None:
    """The second engine is silent all along; the first says how many wait in its first minute, and no more then."""
    rows = {engine(catalog.REQUESTS_WAITING, name): [1.0] * 60 + [None] for name in ("head", "tail")}
    told = World(SECONDS, rows, unread={"tail": range(3, SECONDS)}, engines=BOTH)
    found = [entry(one, "phases.waiting_mean") for one in both(told, 10, SECONDS - 1, {})]
    assert [(one.value, one.note) for one in found] == [(None, "1 gap of the engine, 410 s in all")] * 2


@pytest.mark.parametrize("slower", [{"head": 25, "tail": 40}, {"head": 70, "tail": 75}])
def test_engines_that_are_read_rarely_in_pieces(slower: dict[str, int]) -> None:
    """What is a gap is longer than a slice; at last even the time from reading to reading is."""
    told = World(SECONDS, lines(4), engines=BOTH)
    same(*both(told, 3, SECONDS - 1, slower))
    subject, source = told.subject(3), reader(told, slower)
    same_cells(cut(subject, source), cut(subject, source, FEW))


def test_cells_that_would_be_too_many_are_longer() -> None:
    """Four of 420 seconds: what each is made of reaches back further than a piece does."""
    told = World(SECONDS, lines(5), engines=BOTH)
    subject, source = told.subject(), told.reader()
    found = cut(subject, source, most=4)
    assert (found.width_s, found.end_ms.tolist()) == (105.0, [at(105), at(210), at(315), at(420)])
    same_cells(found, cut(subject, source, FEW, most=4))


def test_no_more_requests_ran_than_in_the_stretch() -> None:
    """What was read in the minute before its start, and did not last into it, is not of it."""
    rows = {engine(catalog.REQUESTS_RUNNING): [9.0] * 50 + [2.0] * 50 + [1.0] * 20 + [5.0]}
    told = World(121, rows)
    assert value(told.summary(60), "phases.running_max") == 5
    assert value(told.summary(60, 119), "phases.running_max") == 2
    assert value(told.summary(49.5, 60), "phases.running_max") == 9
    assert value(told.summary(50, 60), "phases.running_max") == 2


def test_tokens_of_a_node_that_was_watched_since_long_before() -> None:
    """It counts 20 W since second 20; so do the tokens beside it, however old that reading is."""
    rows = {
        engine(catalog.GENERATION_TOKENS): ramp((400, 10)),
        node("spark-01", gpu.GPU_ENERGY): ramp((400, 20)),
        node("spark-01", gpu.GPU_UTILIZATION): [0.9],
    }
    told = World(401, rows, nodes=["spark-01"], chosen=["spark-01"], unread={"spark-01": range(21, 330)})
    assert value(told.summary(300), "energy.energy_per_token") == pytest.approx(2.0)
