"""The store and a frame in memory are read alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from runs.activity import Window, merged, windows, within
from runs.reader import StoreReader
from runs.summary import summarise
from storage.records import Absence, Batch, Episode, Event, Row, TargetRow
from storage.store import Store, open_store
from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu, host, network
from telemetry.counters import increase
from telemetry.frame import empty
from telemetry.model import Series, part
from telemetry.summary import HOUR_MS, hour_of
from tests.runs.memory import InMemory, two_points
from tests.runs.worlds import START, World, at, engine, histogram, node, ramp

NODES = ("spark-01", "spark-02")
TOKENS = engine(catalog.GENERATION_TOKENS)
MINUTES = 75


def big() -> World:
    """75 minutes, so that an hour of them is sealed."""
    seconds = MINUTES * 60
    random = np.random.default_rng(7)

    def counter(most: int) -> list[float]:
        return np.cumsum(random.integers(0, most, seconds)).astype(float).tolist()

    buckets = {edge: counter(most) for edge, most in (("0.1", 2), ("1.0", 3), ("+Inf", 4))}
    rows = {
        TOKENS: ramp((600, 0), (seconds - 1200, 20), (599, 0)),
        engine(catalog.REQUESTS_RUNNING): random.integers(0, 5, seconds).tolist(),
        engine(catalog.ENGINE_PHASE): random.integers(1, 4, seconds).tolist(),
        engine(catalog.PROMPT_TOKENS): counter(900),
        engine(catalog.REQUESTS_FINISHED, outcome="stop"): counter(2),
        **histogram(catalog.TTFT, buckets, counter(3), buckets["+Inf"]),
    }
    for name in NODES:
        place = {"cage": "p0", "function": "f0"}
        rows |= {
            node(name, gpu.GPU_POWER): (40 + random.random(seconds) * 40).tolist(),
            node(name, gpu.GPU_ENERGY): counter(90),
            node(name, host.SYSTEM_POWER, rail="sys_total"): (60 + random.random(seconds) * 40).tolist(),
            node(name, gpu.GPU_THROTTLE, reason="power_cap"): counter(2),
            node(name, gpu.GPU_THROTTLE, reason="sync_boost"): [3.0],
            node(name, network.RDMA_TRANSMIT, **place): counter(10**7),
            node(name, network.FABRIC_LOSS, counter="packet_seq_err", **place): [8.0],
            node(name, network.FABRIC_LOSS, counter="out_of_sequence", **place): [0.0] * 2000 + [4.0],
        }
    gaps = {"head": range(1000, 1030), "spark-02": range(4000, 4020)}
    episodes = [Episode("model", "head", "0", at(700 * n), at(700 * n + 40), 6000 * n, 40.0) for n in range(1, 6)]
    gone = [Absence("head", None, at(1000), at(1030), "unreachable: no route")]
    events = [Event(1, at(1500), "spark-01", "xid", "Xid 79 on 000f:01:00")]
    return World(seconds, rows, gaps, episodes=episodes, absences=gone, events=events, nodes=NODES)


@pytest.fixture(scope="module")
def world() -> World:
    return big()


@pytest.fixture(scope="module")
def memory(world: World) -> InMemory:
    return world.reader()


@pytest.fixture(scope="module")
def store(world: World, memory: InMemory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The world in a store. Its first hour, and that of the start, are sealed."""
    frame = memory.samples
    path: Path = tmp_path_factory.mktemp("runs") / "store.db"
    with_layouts = open_store(str(path), writer=True, now_ms=START)
    places = {
        target: [row for row, one in enumerate(frame.series) if one.target == target] for target in ("head", *NODES)
    }
    layouts = {
        name: with_layouts.layout(name, tuple(frame.series[row] for row in rows)) for name, rows in places.items()
    }
    state = [TargetRow(name, "node", "", 1000, "ok", "", START, START) for name in places]
    with_layouts.commit(Batch(targets=state, absences_opened=world.absences, absences_closed=world.absences), START)
    with_layouts.commit(Batch(events=world.events, episodes=world.episodes), START)
    for low in range(0, len(frame.ticks), 60):
        rows = [
            Row(int(frame.ticks[column]), name, int(frame.ticks[column]), layouts[name], frame.values[mine, column])
            for column in range(low, min(low + 60, len(frame.ticks)))
            for name, mine in places.items()
            if not np.isnan(frame.at_ms[mine[0], column])
        ]
        with_layouts.commit(Batch(rows=rows), START)
    hours = range(hour_of(START), int(frame.ticks[-1]), HOUR_MS)
    for hour in list(hours)[:-1]:
        for name in places:
            assert with_layouts.seal(name, hour, int(frame.ticks[-1]))
    yield with_layouts
    with_layouts.close()


@pytest.mark.parametrize(("start", "end"), [(0, MINUTES * 60 - 1), (900, 2400), (1010, 1020), (3000, 4300)])
def test_a_summary_is_the_same_from_both(world: World, memory: InMemory, store: Store, start: int, end: int) -> None:
    subject = world.subject(start, end)
    one, other = summarise(subject, memory), summarise(subject, StoreReader(store))
    for mine, theirs in zip(one, other, strict=True):
        assert [(entry.key, entry.of, entry.note) for entry in mine.entries] == [
            (entry.key, entry.of, entry.note) for entry in theirs.entries
        ]
        for here, there in zip(mine.entries, theirs.entries, strict=True):
            for told, as_told in ((here.value, there.value), (here.count, there.count)):
                close = told is not None and as_told is not None and told == pytest.approx(as_told, rel=1e-9)
                assert close or told is as_told is None, (here.key, here.of, told, as_told)


def test_still_counters_of_the_store(store: Store) -> None:
    """Only of hours that are sealed can it be told at little cost."""
    reader, wanted = StoreReader(store), {gpu.GPU_THROTTLE.name, network.FABRIC_LOSS.name}
    end_of_hour = hour_of(START) + HOUR_MS - 1
    still = reader.still(wanted, START, end_of_hour, ["spark-01"])
    assert {(one.target, one.label("reason"), one.label("counter")) for one in still} == {
        ("spark-01", "sync_boost", None),
        ("spark-01", None, "packet_seq_err"),
        *([("spark-01", None, "out_of_sequence")] if at(2000) > end_of_hour else []),
    }
    assert set(reader.still(wanted, START, at(MINUTES * 60 - 1), ["spark-01"])) == set()
    assert set(reader.still({"nothing_of_this_name"}, START, end_of_hour, None)) == set()


def test_still_counters_in_memory(memory: InMemory) -> None:
    still = memory.still({gpu.GPU_THROTTLE.name}, at(0), at(100), ["spark-02"])
    assert still == {node("spark-02", gpu.GPU_THROTTLE, reason="sync_boost")}


def test_records_of_a_range(memory: InMemory, store: Store) -> None:
    for reader in (memory, StoreReader(store)):
        assert len(reader.episodes("model", at(710), at(1400))) == 2
        assert len(reader.episodes("other", at(0), at(4000))) == 0
        assert [len(reader.absences(at(low), at(low + 10))) for low in (985, 990, 1015, 1031)] == [0, 1, 1, 0]
        assert [len(reader.events(at(low), at(1500))) for low in (1490, 1500)] == [1, 1]
        assert len(reader.events(at(1501), at(1600))) == 0


def test_an_absence_that_goes_on_overlaps_what_follows() -> None:
    reader = InMemory(empty(), gone=[Absence("head", None, 100, None, "stopped: gone")])
    assert [len(reader.absences(low, low + 10)) for low in (80, 90, 500)] == [0, 1, 1]


def test_two_points_make_the_same_increase(memory: InMemory) -> None:
    start, end = at(1010), at(4010)
    points = two_points(memory.samples, start, end)
    np.testing.assert_array_equal(increase(points, start, end), increase(memory.samples, start, end))
    assert (~np.isnan(points.values)).sum(axis=1).tolist() == [2] * len(points.series)


def test_ends_in_memory_reach_back_as_far_as_there_is_something() -> None:
    """The last sample before the range is older than any lead."""
    reader = World(301, {TOKENS: ramp((300, 1))}, unread={"head": range(100, 280)}).reader()
    found = reader.ends({TOKENS.metric}, at(250), at(290))
    assert increase(found, at(250), at(290)).tolist() == [290 - 99]
    assert found.ticks.tolist() == [at(99), at(290)]


def test_windows_of_several_engines() -> None:
    parts = [(0.0, 5000.0, 10.0), (14_000.0, 20_000.0, 3.0), (30_001.0, 31_000.0, 1.0), (15_000.0, 16_000.0, 4.0)]
    assert merged(parts) == [Window(0, 20_000, 17), Window(30_001, 31_000, 1)]
    assert merged([]) == []


def test_windows_begin_with_the_last_sample_before_the_start() -> None:
    frame = World(61, {TOKENS: ramp((60, 2))}, interval_s=5).frame()
    tokens = frame.select(lambda series: series.metric == TOKENS.metric)
    assert windows(tokens, at(12), at(22)) == [Window(at(10), at(20), 20)]
    assert windows(tokens, at(-30), at(10)) == [Window(at(0), at(10), 20)]
    assert windows(tokens, at(70), at(80)) == []


def test_within_windows() -> None:
    instants = np.array([np.nan, -1.0, 0.0, 5.0, 10.0, 11.0, 20.0, 30.0, 31.0])
    inside = within(instants, [Window(0, 10, 1), Window(20, 30, 1)])
    assert inside.tolist() == [False, False, True, True, True, False, True, True, False]
    assert within(instants, []).tolist() == [False] * len(instants)


def test_a_histograms_parts_are_read_by_their_names(memory: InMemory) -> None:
    found = memory.frame({part(catalog.TTFT, "count").name}, at(0), at(10), ["head"])
    assert found.series == (engine(part(catalog.TTFT, "count")),)
    nothing: list[Series] = []
    assert list(memory.frame(lambda series: series in nothing, at(0), at(10)).series) == []
