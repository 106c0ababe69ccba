"""How a stretch was spent."""

from __future__ import annotations

import pytest

from runs.subject import Member
from storage.records import Absence
from telemetry.catalog import engine as catalog
from telemetry.model import part
from telemetry.phases import Phase
from tests.runs.answers import entry, value
from tests.runs.worlds import World, at, engine, ramp

PHASE, RUNNING = engine(catalog.ENGINE_PHASE), engine(catalog.REQUESTS_RUNNING)
BOTH = (Member("head", "0", "m"), Member("head", "1", "m"))


def spent(world: World, key: str, start: float = 0, end: float | None = None) -> dict[str, float | None]:
    section = next(one for one in world.summary(start, end) if one.key == "phases")
    return {one.of: one.value for one in section.entries if one.key == key}


def phases(*steps: tuple[Phase, int]) -> list[float]:
    return [float(phase.value) for phase, seconds in steps for _ in range(seconds)]


STORY = phases((Phase.IDLE, 5), (Phase.PREFILLING, 8), (Phase.DECODING, 12), (Phase.IDLE, 6))


def test_time_in_phases() -> None:
    assert spent(World(31, {PHASE: STORY}), "phase_seconds") == {"decoding": 12, "prefilling": 8, "idle": 10}


def test_of_a_part() -> None:
    assert spent(World(31, {PHASE: STORY}), "phase_seconds", 10, 14.5) == {"decoding": 1.5, "prefilling": 3}


def test_a_part_that_begins_between_readings() -> None:
    assert spent(World(31, {PHASE: STORY}), "phase_seconds", 12.25, 14.5) == {"decoding": 1.5, "prefilling": 0.75}


def test_a_gap_is_unknown_but_for_one_interval() -> None:
    world = World(31, {PHASE: STORY}, unread={"head": range(15, 20)})
    assert spent(world, "phase_seconds") == {"decoding": 7, "prefilling": 8, "idle": 10, "unknown": 5}
    assert entry(world.summary(), "phases.phase_seconds", "idle").note == "1 gap of the engine, 6 s in all"


def test_a_short_silence_is_no_gap() -> None:
    world = World(31, {PHASE: STORY}, unread={"head": [15]})
    assert spent(world, "phase_seconds") == {"decoding": 12, "prefilling": 8, "idle": 10}


def test_the_busiest_engine_counts() -> None:
    second = engine(catalog.ENGINE_PHASE, number="1")
    other = phases((Phase.DECODING, 3), (Phase.STALLED, 4), (Phase.ASLEEP, 30))
    world = World(31, {PHASE: STORY, second: other}, engines=BOTH)
    assert spent(world, "phase_seconds") == {"decoding": 15, "prefilling": 8, "stalled": 2, "asleep": 5}


@pytest.mark.parametrize(
    ("busier", "other"),
    [
        (Phase.DECODING, Phase.PREFILLING),
        (Phase.PREFILLING, Phase.STALLED),
        (Phase.STALLED, Phase.LOADING),
        (Phase.LOADING, Phase.ASLEEP),
        (Phase.ASLEEP, Phase.IDLE),
        (Phase.IDLE, Phase.STOPPED),
        (Phase.STOPPED, Phase.UNKNOWN),
    ],
)
def test_order_of_phases(busier: Phase, other: Phase) -> None:
    rows = {PHASE: phases((other, 1)), engine(catalog.ENGINE_PHASE, number="1"): phases((busier, 1))}
    assert spent(World(11, rows, engines=BOTH), "phase_seconds") == {catalog.PHASES[busier.value]: 10}


def test_before_the_first_reading_and_after_the_last() -> None:
    world = World(31, {PHASE: STORY}, unread={"head": [*range(5), *range(20, 31)]})
    assert spent(world, "phase_seconds") == {"prefilling": 8, "decoding": 7, "unknown": 15}


@pytest.mark.parametrize(
    ("reason", "known"),
    [
        ("stopped: nothing listens there", {"stopped": 10, "unknown": 3}),
        ("loading: it is not ready yet", {"loading": 10, "unknown": 3}),
        ("restarting: nothing listens there", {"loading": 10, "unknown": 3}),
        ("unreachable: no route", {"unknown": 13}),
    ],
)
def test_why_nothing_was_read(reason: str, known: dict[str, float]) -> None:
    gone = [
        Absence("head", None, at(12), at(22), reason),
        Absence("head", "kv_cache_usage_ratio", at(12), at(22), reason),
        Absence("elsewhere", None, at(0), at(31), reason),
    ]
    world = World(31, {PHASE: STORY}, unread={"head": range(9, 22)}, absences=gone)
    assert spent(world, "phase_seconds") == {"prefilling": 4, "decoding": 3, "idle": 10, **known}


def test_an_absence_that_goes_on() -> None:
    gone = [Absence("head", None, at(20), None, "stopped: nothing listens there")]
    world = World(31, {PHASE: STORY}, unread={"head": range(20, 31)}, absences=gone)
    assert spent(world, "phase_seconds") == {"prefilling": 8, "decoding": 7, "idle": 5, "stopped": 10}


def test_no_more_is_explained_than_is_unknown() -> None:
    gone = [Absence("head", None, at(0), at(31), "stopped: nothing listens there")]
    world = World(31, {PHASE: STORY}, unread={"head": range(15, 20)}, absences=gone)
    assert spent(world, "phase_seconds") == {"decoding": 7, "prefilling": 8, "idle": 10, "stopped": 5}


def test_of_several_targets_nothing_is_explained() -> None:
    engines = (Member("head", "0", "m"), Member("tail", "0", "m"))
    gone = [Absence("head", None, at(0), at(31), "stopped: nothing listens there")]
    world = World(31, {PHASE: STORY}, unread={"head": range(15, 20)}, absences=gone, engines=engines)
    assert spent(world, "phase_seconds")["unknown"] == 3, "the other target's readings go on, and a gap begins later"


def test_without_phases_all_is_unknown() -> None:
    assert spent(World(31, {RUNNING: [1.0]}), "phase_seconds") == {"unknown": 30}


LOAD = [0] * 5 + [1] * 10 + [4] * 5 + [1] * 5 + [0] * 6


def test_concurrency_profile() -> None:
    world = World(31, {RUNNING: LOAD})
    assert spent(world, "running_seconds") == {"0": 10, "1": 15, "4": 5}
    assert value(world.summary(), "phases.running_mean") == pytest.approx((15 + 20) / 30)
    assert value(world.summary(), "phases.running_max") == 4


def test_numbers_of_several_engines_are_added() -> None:
    second = engine(catalog.REQUESTS_RUNNING, number="1")
    world = World(31, {RUNNING: LOAD, second: [2.0]}, engines=BOTH)
    assert spent(world, "running_seconds") == {"2": 10, "3": 15, "6": 5}


def test_a_gap_has_no_number() -> None:
    world = World(31, {RUNNING: LOAD}, unread={"head": range(10, 20)})
    assert spent(world, "running_seconds") == {"0": 10, "1": 10, "unknown": 10}
    assert value(world.summary(), "phases.running_mean") == 0.5
    assert value(world.summary(), "phases.running_max") == 1


def test_the_end_counts_for_no_time() -> None:
    assert spent(World(31, {RUNNING: [1.0] * 30 + [7.0]}), "running_seconds") == {"1": 30}


def test_queue_and_cache() -> None:
    rows = {
        engine(catalog.REQUESTS_WAITING): [3.0] * 10 + [0.0],
        engine(catalog.KV_CACHE_USAGE): [0.2] * 15 + [0.8] * 15 + [0.0],
        engine(catalog.KV_CACHE_USAGE, number="1"): [0.5] * 30 + [0.0],
    }
    found = World(31, rows, engines=BOTH).summary()
    assert value(found, "phases.waiting_mean") == 1
    assert value(found, "phases.waiting_max") == 3
    assert value(found, "phases.kv_mean") == pytest.approx(0.65)
    assert value(found, "phases.kv_max") == 0.8


def test_what_is_not_told() -> None:
    found = World(31, {PHASE: STORY}).summary()
    for key in ("running_mean", "running_max", "waiting_mean", "waiting_max", "kv_mean", "kv_max"):
        told = entry(found, f"phases.{key}")
        assert (key, told.value, told.note) == (key, None, "the engine does not tell it")


def test_requests_in_decode() -> None:
    """Inter-token latencies of 40 s in 10 s of decoding: four requests at a time."""
    rows = {
        engine(catalog.GENERATION_TOKENS): ramp((5, 0), (10, 8)),
        engine(part(catalog.ITL, "sum")): ramp((5, 0), (10, 4)),
    }
    assert value(World(31, rows).summary(), "phases.decoding_mean") == 4
    told = entry(World(31, {RUNNING: LOAD}).summary(), "phases.decoding_mean")
    assert (told.value, told.note) == (None, "not offered")


TWO = (Member("head", "0", "m"), Member("tail", "0", "m"))
EIGHT = {RUNNING: [4.0], engine(catalog.REQUESTS_RUNNING, target="tail"): [4.0]}


def test_an_engine_that_is_silent_runs_not_nothing() -> None:
    """Read until 19, which counts until 21, and again from 40 on: eight ran whenever both are known."""
    world = World(61, EIGHT, unread={"tail": range(20, 40)}, engines=TWO)
    assert spent(world, "running_seconds") == {"8": 42, "unknown": 18}
    found = world.summary()
    assert (value(found, "phases.running_mean"), value(found, "phases.running_max")) == (8, 8)
    assert entry(found, "phases.running_seconds", "unknown").note == "1 gap of the engine, 21 s in all"


def test_an_engine_that_is_known_to_be_stopped_runs_nothing() -> None:
    """After the 15 s in which a sum waits for a reading."""
    gone = [Absence("tail", None, at(20), at(40), "stopped: nothing listens there")]
    world = World(61, EIGHT, unread={"tail": range(20, 40)}, absences=gone, engines=TWO)
    assert spent(world, "running_seconds") == {"4": 5, "8": 42, "unknown": 13}


def test_a_stretch_that_begins_in_a_silence() -> None:
    """The reading before is older than what is read before a stretch, but it is known that there was one."""
    rows = EIGHT | {engine(catalog.GENERATION_TOKENS, target=one.target): ramp((200, 1)) for one in TWO}
    world = World(201, rows, unread={"tail": range(20, 190)}, engines=TWO)
    assert spent(world, "running_seconds", 120) == {"8": 10, "unknown": 70}
    told = entry(world.summary(120, 180), "phases.running_mean")
    assert (told.value, told.note) == (None, "1 gap of the engine, 60 s in all")


def test_an_engine_that_joins_was_not_silent_before() -> None:
    world = World(61, EIGHT, unread={"tail": range(20)}, engines=TWO)
    assert spent(world, "running_seconds") == {"4": 20, "8": 40}


def test_the_fullest_cache_is_known_at_a_reading_only() -> None:
    """Which of two is the fullest nobody knows while one is silent; what the other one said is true."""
    cache, other = (engine(catalog.KV_CACHE_USAGE, target=name) for name in ("head", "tail"))
    rows = {cache: [0.2] * 30 + [0.9] + [0.2], other: [0.5]}
    found = World(61, rows, unread={"tail": range(20, 40)}, engines=TWO).summary()
    assert (value(found, "phases.kv_mean"), value(found, "phases.kv_max")) == (pytest.approx(0.5), 0.9)
