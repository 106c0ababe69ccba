"""How ours alone grows: 4, 16 and 64 nodes of a day, one and seven days of 16 nodes.

The newest hours go through commit and seal; older ones are copies of one of them, with their own times: what a question
costs does not depend on what the numbers are. The one who fills a store is killed in the middle of it.
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.speed import ours, report
from bench.speed.asked import DAY_MS, DAY_POINTS
from bench.speed.cost import Cost, best
from bench.speed.fill import BATCH_TICKS, commit_hour, seal_hour
from bench.speed.workload import OPEN_HOUR_MS, PHASE_MS, STEP_MS, Size, Target, end_ms, targets
from pipeline.resume import left_of
from pipeline.tail import Tail
from storage import clocks
from storage.clocks import Place, Reading
from storage.records import Batch, Offset, TargetRow
from storage.store import Store, open_store
from telemetry import catalog
from telemetry.counters import Step
from telemetry.model import Kind
from telemetry.summary import HOUR_MS

NODES, DAYS = (4, 16, 64), (1, 7)
COMMON = (16, 1)
TEMPLATE_MS = OPEN_HOUR_MS - 2 * HOUR_MS
"""The hour that older ones are copies of."""
MOVED_CHUNK = "series, hour - ?, n, first, last, min, max, sum, gain, seconds, codec, data"
CLOCK_COLUMNS = "target, hour, n, first_tick, last_tick, late, codec, data"
KILLED = -signal.SIGKILL
REPEATS = 8
FOREVER_MS = 2**62
Measured = Mapping[str, tuple[float, float]]
"""Milliseconds on the clock, and of the processor."""
T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """A row of the table."""

    name: str
    text: str


ROWS = (
    Measure("latest", "latest of everything"),
    Measure("day", "24 h of every node at 960 points, ending now"),
    Measure("seal_one", "seal: an hour of one node"),
    Measure("seal_all", "seal: an hour of all"),
    Measure("open", "start after a kill: open the store"),
    Measure("resume", "start after a kill: go on where the counters stood"),
    Measure("tail", "start after a kill: the web's tail"),
)


def measured(folder: Path, say: Callable[[str], None]) -> str:
    """Build every size, measure it, and say how it grows."""
    cases = sorted({*((nodes, COMMON[1]) for nodes in NODES), *((COMMON[0], days) for days in DAYS)})
    found = {}
    for nodes, days in cases:
        say(f"growth: {nodes} nodes, {days} days")
        found[nodes, days] = _case(folder / f"{nodes}x{days}d", nodes, days)
    return _text(found)


def _case(folder: Path, nodes: int, days: int) -> Measured:
    """Each size is built by one process, which is killed, and measured by another."""
    folder.mkdir(parents=True, exist_ok=True)
    path, answer = folder / "grown.db", folder / "measured.json"
    for old in folder.glob("grown.db*"):
        old.unlink()
    size = Size(24 * days, 0, nodes)
    spawn = multiprocessing.get_context("spawn")
    builder = spawn.Process(target=build, args=(path, size))
    builder.start()
    builder.join()
    if builder.exitcode != KILLED:
        raise RuntimeError(f"building {path} ended with {builder.exitcode}")
    reader = spawn.Process(target=measure, args=(path, size, answer))
    reader.start()
    reader.join()
    if reader.exitcode:
        raise RuntimeError(f"measuring {path} ended with {reader.exitcode}")
    return dict(json.loads(answer.read_text()))


def build(path: Path, size: Size) -> None:
    """A store whose last whole hour is not sealed yet; then die without a word."""
    store = open_store(str(path), writer=True, now_ms=TEMPLATE_MS)
    cluster = targets(size)
    _begin(store, cluster)
    for hours in zip(*(one.hours(TEMPLATE_MS, end_ms()) for one in cluster), strict=True):
        commit_hour(store, cluster, hours, BATCH_TICKS, Cost())
        if hours[0].start == TEMPLATE_MS:
            seal_hour(store, cluster, TEMPLATE_MS, Cost())
            store.prune(TEMPLATE_MS + HOUR_MS)
            _copy(path, size)
    os.kill(os.getpid(), signal.SIGKILL)


def _begin(store: Store, cluster: Sequence[Target]) -> None:
    """Targets, and where each counter began."""
    known = [TargetRow(one.name, one.kind, "", STEP_MS, "up", "", TEMPLATE_MS, None) for one in cluster]
    begun = [
        Offset(series.target, series.metric, series.labels, TEMPLATE_MS + PHASE_MS, 0.0, Step.FIRST_SAMPLE.value)
        for one in cluster
        for series in one.series
        if catalog.stored(series.metric).kind is Kind.COUNTER
    ]
    store.commit(Batch(targets=known, offsets=begun), TEMPLATE_MS)


def _copy(path: Path, size: Size) -> None:
    """The template again and again, back to the first hour."""
    decoder = clocks.Decoder()
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT target, n, first_tick, last_tick, codec, data FROM clock WHERE hour = ?", (TEMPLATE_MS,)
        ).fetchall()
        read = [
            (target, n, first, last, codec, decoder.decode(codec, data, n, Place("clock", target, TEMPLATE_MS)))
            for target, n, first, last, codec, data in found
        ]
        for hour in range(size.first_ms, TEMPLATE_MS, HOUR_MS):
            back = TEMPLATE_MS - hour
            connection.execute(f"INSERT INTO chunk SELECT {MOVED_CHUNK} FROM chunk WHERE hour = ?", (back, TEMPLATE_MS))
            connection.executemany(
                f"INSERT INTO clock ({CLOCK_COLUMNS}) VALUES (?, ?, ?, ?, ?, 0, ?, ?)",
                [
                    (target, hour, n, first - back, last - back, codec, clocks.encode(_moved(one, back), codec))
                    for target, n, first, last, codec, one in read
                ],
            )
            connection.commit()


def _moved(one: Reading, back_ms: int) -> Reading:
    return Reading(one.ticks - back_ms, one.lags, one.layout)


def measure(path: Path, size: Size, answer: Path) -> None:
    """Start as after a kill, seal the hour that is due, and ask."""
    found: dict[str, tuple[float, float]] = {}
    cluster = targets(size)
    store = _timed(found, "open", lambda: open_store(str(path), writer=True, now_ms=size.now_ms))
    _timed(found, "resume", lambda: _resume(store, cluster))
    _timed(found, "tail", lambda: Tail(store).follow())
    first, rest = Cost(), Cost()
    seal_hour(store, cluster[:1], OPEN_HOUR_MS - HOUR_MS, first)
    seal_hour(store, cluster[1:], OPEN_HOUR_MS - HOUR_MS, rest)
    found["seal_one"] = first.clock_s * 1e3, first.cpu_s * 1e3
    found["seal_all"] = (first.clock_s + rest.clock_s) * 1e3, (first.cpu_s + rest.cpu_s) * 1e3
    store.prune(OPEN_HOUR_MS - HOUR_MS)
    store.close()
    with ours.web(path, size) as web:
        _best(found, "latest", web.store.last_rows)
        _best(found, "day", lambda: ours.history(web, DAY_MS, DAY_POINTS))
    answer.write_text(json.dumps(found))


def _best(found: dict[str, tuple[float, float]], name: str, question: Callable[[], object]) -> None:
    took = best(question, REPEATS, time.process_time)
    found[name] = took.clock_ms, took.cpu_ms


def _resume(store: Store, cluster: Sequence[Target]) -> None:
    """What a collector that starts asks the store."""
    last = store.last_rows()
    for one in cluster:
        left = left_of(store, one.name, last.get(one.name))
        assert left.counters, f"nothing was left of {one.name}"
    store.absences(0, FOREVER_MS)
    store.facts()


def _timed(found: dict[str, tuple[float, float]], name: str, work: Callable[[], T]) -> T:
    began, used = time.perf_counter(), time.process_time()
    done = work()
    found[name] = (time.perf_counter() - began) * 1e3, (time.process_time() - used) * 1e3
    return done


def _text(found: Mapping[tuple[int, int], Measured]) -> str:
    by_nodes = [(nodes, COMMON[1]) for nodes in NODES]
    by_days = [(COMMON[0], days) for days in DAYS]
    of_nodes, of_days = [f"{nodes} nodes" for nodes in NODES], [f"{days} d" for days in DAYS]
    heads = ["ms (of the processor)", *of_nodes, "grows with nodes", *of_days, "grows with days"]
    body = [
        [
            row.text,
            *(_cell(found[case][row.name]) for case in by_nodes),
            _slope([found[case][row.name] for case in by_nodes], NODES),
            *(_cell(found[case][row.name]) for case in by_days),
            _slope([found[case][row.name] for case in by_days], DAYS),
        ]
        for row in ROWS
    ]
    told = f"60 series a node and 2 engines of 216; the days are of {COMMON[0]} nodes"
    return f"{report.machine()}. {told}.\n\n{report.table(heads, body)}"


def _cell(took: tuple[float, float]) -> str:
    return f"{report.digits(took[0])} ({report.digits(took[1])})"


def _slope(values: Sequence[tuple[float, float]], sizes: Sequence[int]) -> str:
    """The power of the size that the processor's time grows with: 1 is in proportion, 0 not at all."""
    return f"^ {math.log(values[-1][1] / values[0][1]) / math.log(sizes[-1] / sizes[0]):.2f}"
