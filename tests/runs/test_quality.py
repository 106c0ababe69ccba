"""How well a stretch was watched, and the reading of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from runs.coverage import Coverage, touched
from runs.entries import Entry, Number, Section, find, known
from runs.model import Run
from runs.subject import Member, Subject
from runs.watch import Watch
from storage.records import Event
from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu
from telemetry.frame import Frame, empty
from telemetry.model import Series, Unit
from tests.runs.answers import entry, value
from tests.runs.worlds import World, at, engine, node, ramp

TOKENS = engine(catalog.GENERATION_TOKENS)
ROWS = {TOKENS: ramp((60, 5)), **{node(name, gpu.GPU_POWER): [70.0] for name in ("spark-01", "spark-02")}}


def world(**more: object) -> World:
    return World(61, ROWS, nodes=("spark-01", "spark-02"), **more)  # type: ignore[arg-type]


def test_all_there() -> None:
    found = world().summary()
    for of, readings in (("head", 61), ("nodes", 122)):
        assert (of, value(found, "quality.ticks_present", of)) == (of, readings)
        assert (of, value(found, "quality.ticks_expected", of)) == (of, readings)
        assert value(found, "quality.ticks_share", of) == 1
        assert value(found, "quality.gaps", of) == value(found, "quality.restarts", of) == 0
    assert find(found, "quality.gaps", "spark-01") is None, "only nodes with a lack are named"


def test_lacks() -> None:
    found = world(unread={"head": range(10, 20), "spark-01": [5, 30, 31, 32]}, breaks={"spark-02": [40]}).summary()
    assert value(found, "quality.ticks_present", "head") == 51
    assert value(found, "quality.ticks_share", "head") == pytest.approx(51 / 61)
    assert (value(found, "quality.gaps", "head"), value(found, "quality.gap_seconds", "head")) == (1, 11)
    assert value(found, "quality.ticks_present", "nodes") == 118
    assert (value(found, "quality.gaps", "nodes"), value(found, "quality.gap_seconds", "nodes")) == (1, 4)
    assert value(found, "quality.restarts", "nodes") == 1
    assert value(found, "quality.gaps", "spark-01") == 1
    assert value(found, "quality.restarts", "spark-02") == 1


def read_at(*seconds: float) -> Frame:
    """The head, whose frame knows an interval of 2 s, read at these seconds."""
    ticks = np.array([at(second) for second in seconds], dtype=np.int64)
    line = ticks[np.newaxis].astype(float)
    return Frame(ticks, (TOKENS,), line * 0, line, np.zeros(line.shape, dtype=bool), np.array([5000.0]))


SLOWER = [*range(0, 60, 2), *range(60, 121)]


@pytest.mark.parametrize(
    ("seconds", "end", "expected"),
    [
        (range(121), 120, 121),
        (range(0, 121, 2), 120, 61),
        (SLOWER, 120, len(SLOWER)),
        ([one for one in range(121) if one not in (50, 51, 52)], 120, 121),
        ([one for one in SLOWER if one not in (30, 32)], 120, len(SLOWER)),
        ([*range(60), *range(60, 121, 2)], 120, 60 + 31 + 2),
        (range(101), 120, 121),
        (range(20, 121), 120, 10 + 101),
        ([7], 7, 4),
    ],
    ids=["every 1 s", "every 2 s", "faster", "a gap", "in the slow part", "slower", "end", "start", "one"],
)
def test_readings_are_expected_by_the_interval_at_the_time(seconds: Sequence[int], end: int, expected: int) -> None:
    """Faster than the nominal interval is no surplus. Where it gets slower, two readings are doubted that tell so."""
    found = coverage(read_at(*seconds), at(0), at(end))
    assert (found.present, found.expected) == (len(seconds), expected)
    parts = Watch(at(0), at(end))
    for low, high in ((0, 40), (41, 59), (60, 61), (62, end)):
        parts.add(read_at(*seconds), at(low), min(at(high), at(end)))
    assert parts.coverage("head").expected == expected


def test_an_engine_that_was_never_read() -> None:
    subject_engines = (Member("head", "0", "m"), Member("ghost", "0", "m"))
    found = World(61, ROWS, engines=subject_engines, unread={"ghost": range(61)}).summary()
    assert value(found, "quality.ticks_present", "ghost") == 0
    assert value(found, "quality.gap_seconds", "ghost") == 60


def test_events() -> None:
    events = [Event(0, at(second), "spark-01", "xid", "Xid 79") for second in (5, 20, 45)]
    assert value(world(events=events).summary(10, 45), "quality.events") == 2


def coverage(frame: Frame, start_ms: int, end_ms: int) -> Coverage:
    """Of the head."""
    watch = Watch(start_ms, end_ms)
    watch.add(frame, start_ms, end_ms)
    return watch.coverage("head")


@pytest.mark.parametrize(
    ("start", "end", "gaps"),
    [
        (0, 60, [(9, 20)]),
        (12, 15, [(12, 15)]),
        (12, 40, [(12, 20)]),
        (0, 15, [(9, 15)]),
        (0, 11, []),
        (0, 11.6, [(9, 11.6)]),
        (18, 40, []),
        (30, 30, []),
        (15, 15, []),
    ],
)
def test_gaps_are_cut_to_the_stretch(start: float, end: float, gaps: list[tuple[float, float]]) -> None:
    found = coverage(world(unread={"head": range(10, 20)}).frame(), at(start), at(end))
    assert [((low - at(0)) / 1000, (high - at(0)) / 1000) for low, high in found.gaps] == gaps


def test_a_target_of_which_there_is_nothing() -> None:
    assert coverage(empty(), at(0), at(10)) == Coverage("head", 0, 0, ((at(0), at(10)),), ())
    assert coverage(empty(), at(10), at(10)) == Coverage("head", 0, 0, (), ())


def test_restarts_of_the_stretch_only() -> None:
    found = coverage(world(breaks={"head": [10, 20, 30]}).frame(), at(10), at(30))
    assert found.restarts == (at(20), at(30))


def test_expected_readings_follow_the_interval() -> None:
    found = coverage(World(61, ROWS, interval_s=5).frame(), at(0), at(60))
    assert (found.present, found.expected) == (13, 13)


def test_what_gaps_are_called() -> None:
    one = Coverage("a", 1, 9, ((0.0, 6000.0),), ())
    assert touched([one], "the engine") == "1 gap of the engine, 6 s in all"
    assert touched([one, one], "the nodes") == "2 gaps of the nodes, 12 s in all"
    assert touched([Coverage("a", 9, 9, (), ())], "the nodes") == ""


NUMBER = Number("speed", "Speed", Unit.TOKENS_PER_SECOND, "How fast.")


def test_entries_as_plain_data() -> None:
    whole = NUMBER.entry(3.5, count=12, note="a note", of="spark-01", relation="<")
    bare = NUMBER.entry(None, why="nothing came")
    assert (bare.value, bare.note) == (None, "nothing came")
    assert whole.to_json() == {
        "key": "speed",
        "label": "Speed",
        "value": 3.5,
        "unit": "tokens_per_second",
        "count": 12,
        "note": "a note",
        "definition": "How fast.",
        "of": "spark-01",
        "relation": "<",
    }
    assert bare.to_json() == {
        "key": "speed",
        "label": "Speed",
        "value": None,
        "unit": "tokens_per_second",
        "note": "nothing came",
        "definition": "How fast.",
    }
    section = Section("all", "All", (whole, bare))
    assert Section.from_json(section.to_json()) == section
    assert [Entry.from_json(one.to_json()) for one in section.entries] == [whole, bare]


def test_a_zero_count_is_said() -> None:
    assert NUMBER.entry(None, count=0.0).to_json()["count"] == 0.0


def test_a_note_of_an_unknown_number_explains_it() -> None:
    assert NUMBER.entry(None, note="because").note == "because"
    assert NUMBER.entry(1.0, why="never said").note == ""


@pytest.mark.parametrize(("number", "told"), [(float("nan"), None), (float("inf"), None), (None, None), (2, 2.0)])
def test_numbers_that_are_none(number: float | None, told: float | None) -> None:
    assert known(number) == told


def test_finding() -> None:
    section = Section("all", "All", (NUMBER.entry(1.0, of="a"), NUMBER.entry(2.0)))
    assert entry([section], "all.speed").value == 2
    assert entry([section], "all.speed", "a").value == 1
    assert find([section], "all.nothing") is None
    assert find([section], "none.speed") is None


def test_a_whole_summary_survives_being_stored() -> None:
    found = world().summary()
    assert tuple(Section.from_json(one.to_json()) for one in found) == found
    assert Run(1, "model", "one", at(0), at(60), summary=found).summary == found


def test_every_number_has_a_definition_and_every_gap_in_numbers_a_reason() -> None:
    entries = [one for section in world().summary() for one in section.entries]
    assert [one.key for one in entries if not one.definition] == []
    assert [one.key for one in entries if one.value is None and not one.note] == []


def test_keys_are_unique_in_a_section() -> None:
    for section in world().summary():
        keys = [(one.key, one.of) for one in section.entries]
        assert len(keys) == len(set(keys)), section.key


def test_members() -> None:
    any_model, one_model = Member("head", "0"), Member("head", "0", "m")
    assert [one.owns(TOKENS) for one in (any_model, one_model, Member("head", "1", "m"))] == [True, True, False]
    assert not Member("head", "0", "other").owns(TOKENS)
    assert not Member("tail", "0", "m").owns(TOKENS)
    assert Member("llama").owns(Series("llama", TOKENS.metric))
    assert (one_model.name, Member("llama").name) == ("head/0", "llama")
    subject = Subject("model", 0, 2500, [Member("b"), Member("a"), Member("a", "1")])
    assert (subject.targets, subject.seconds) == (["a", "b"], 2.5)
    assert subject.owns(Series("b", "x"))
    assert not subject.owns(TOKENS)
