"""Known samples in real servers, imported, and every value compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exchange.prometheus import work
from exchange.prometheus.client import SLICE_MS, Samples, Source, selector
from exchange.prometheus.scrapes import name_of
from exchange.prometheus.work import AHEAD, EMPTY, HELD, IMPORTED, OLDER, Outcome, Range
from pipeline.ingest import Ingest
from storage.imports import Imports
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry.counters import increase
from telemetry.model import Series
from tests.exchange.servers import Known, serving

HOUR = 3_600_000
T0 = 1_767_225_600_000
STEP = 15_000
HOURS = 3
RANGE = Range(T0, T0 + HOURS * HOUR)
LATE = 123
"""Scrapes are never at whole seconds."""
DCGM_LATE = 7_400
NODE_LATE = 0
"""Just at the edges of hours, which belong to the later one."""
PER_HOUR = HOUR // STEP
COUNT = HOURS * PER_HOUR
RESTART = PER_HOUR
"""First scrape of the second hour: the engine has started anew, and counted more than before."""
REBOOT = 310
"""Scrape at which the machine has."""
GAP = range(440, 520)
"""Scrapes that did not happen, at the end of the second hour and the beginning of the third."""
IN_HOURS = [PER_HOUR, PER_HOUR - 40, PER_HOUR - 40]
"""Scrapes that did."""
ENGINE = {"job": "vllm", "instance": "head:8000", "model_name": "m", "engine": "0"}
NODE = {"job": "node", "instance": "spark-01:9100"}
DCGM = {"job": "dcgm", "instance": "spark-01:9400", "gpu": "0", "UUID": "GPU-1"}
OURS = (("engine", "0"), ("model", "m"))


def scraped(late: int = LATE) -> list[tuple[int, int]]:
    """(number, time) of each scrape."""
    return [(k, T0 + k * STEP + late) for k in range(COUNT) if k not in GAP]


def tokens(k: int) -> float:
    return 1000.0 + 7 * k if k < RESTART else 5000.0 + 3.0 * (k - RESTART)


def tokens_unwrapped(k: int) -> float:
    """From 0 at the first sample; the restart goes on from where it stood, and counts what came since."""
    return 7.0 * k if k < RESTART else 7.0 * (RESTART - 1) + 5000.0 + 3.0 * (k - RESTART)


def energy(k: int) -> float:
    """Millijoules."""
    return 5_000_000.0 + 1500 * k if k < REBOOT else 900.0 + 1500 * (k - REBOOT)


def energy_unwrapped(k: int) -> float:
    """Joules."""
    return 1.5 * k if k < REBOOT else 1.5 * (REBOOT - 1) + 0.9 + 1.5 * (k - REBOOT)


def buckets(k: int, edge: float) -> float:
    return float({0.1: k, 1.0: 2 * k, float("inf"): 3 * k}[edge])


def known() -> list[Known]:
    def one(name: str, labels: dict[str, str], value: object, late: int = LATE) -> Known:
        assert callable(value)
        return Known({"__name__": name, **labels}, [(at, float(value(k))) for k, at in scraped(late)])

    return [
        one("vllm:generation_tokens_total", ENGINE, tokens),
        one("vllm:num_requests_running", ENGINE, lambda k: k % 5),
        one("vllm:gpu_cache_usage_perc", ENGINE, lambda k: (k % 100) / 100),
        *(
            one(
                "vllm:time_to_first_token_seconds_bucket",
                {**ENGINE, "le": edge},
                lambda k, e=edge: buckets(k, float(e)),
            )
            for edge in ("0.1", "1.0", "+Inf")
        ),
        one("vllm:time_to_first_token_seconds_count", ENGINE, lambda k: 3 * k),
        one("vllm:time_to_first_token_seconds_sum", ENGINE, lambda k: 0.25 * k),
        one(
            "process_start_time_seconds", {"job": "vllm", "instance": "head:8000"}, lambda k: 1e9 + 500 * (k >= RESTART)
        ),
        one("vllm:nobody_knows_this", ENGINE, lambda _: 1),
        one("DCGM_FI_DEV_GPU_UTIL", DCGM, lambda k: k % 101, DCGM_LATE),
        one("DCGM_FI_DEV_SM_CLOCK", DCGM, lambda _: 2411, DCGM_LATE),
        one("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", DCGM, energy, DCGM_LATE),
        one("node_memory_MemTotal_bytes", NODE, lambda _: 128e9, NODE_LATE),
        one("node_memory_MemAvailable_bytes", NODE, lambda k: 100e9 - 1e6 * k, NODE_LATE),
        *(
            one("node_cpu_seconds_total", {**NODE, "cpu": cpu, "mode": mode}, lambda k, r=rate: 100 + r * k, NODE_LATE)
            for cpu, mode, rate in (("0", "user", 4.0), ("1", "user", 2.0), ("0", "system", 1.0), ("0", "idle", 9.0))
        ),
        one(
            "node_infiniband_port_data_transmitted_bytes_total",
            {**NODE, "device": "rocep1s0f1", "port": "1"},
            lambda k: 4e9 * k,
            NODE_LATE,
        ),
    ]


EXPECTED = {
    Series("head:8000", "generation_tokens_total", OURS): tokens_unwrapped,
    Series("head:8000", "requests_running", OURS): lambda k: k % 5,
    Series("head:8000", "kv_cache_usage_ratio", OURS): lambda k: (k % 100) / 100,
    **{
        Series("head:8000", "time_to_first_token_seconds_bucket", (("engine", "0"), ("le", edge), ("model", "m"))): (
            lambda k, e=edge: buckets(k, float(e)) + (buckets(RESTART - 1, float(e)) if k >= RESTART else 0)
        )
        for edge in ("0.1", "1.0", "+Inf")
    },
    Series("spark-01", "gpu_utilization_ratio", (("gpu", "0"),)): lambda k: (k % 101) * 0.01,
    Series("spark-01", "gpu_sm_clock_hertz", (("gpu", "0"),)): lambda _: 2_411e6,
    Series("spark-01", "gpu_energy_joules_total", (("gpu", "0"),)): energy_unwrapped,
    Series("spark-01", "memory_total_bytes"): lambda _: 128e9,
    Series("spark-01", "memory_available_bytes"): lambda k: 100e9 - 1e6 * k,
    Series("spark-01", "memory_used_bytes"): lambda k: 28e9 + 1e6 * k,
    Series("spark-01", "cpu_busy_seconds_total"): lambda k: 7.0 * k,
    Series("spark-01", "rdma_transmit_bytes_total", (("cage", "p1"), ("function", "rocep1s0f1"))): lambda k: 4e9 * k,
}
DERIVED = {
    Series("head:8000", "time_to_first_token_seconds_count", OURS): 3.0,
    Series("head:8000", "time_to_first_token_seconds_sum", OURS): 0.25,
}


@pytest.fixture(scope="module", params=["prometheus", "victoria-metrics"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(request.param, tmp_path_factory.mktemp("source"), known()) as found:
        yield found


@pytest.fixture
def source(url: str) -> Iterator[Source]:
    found = Source(url)
    yield found
    found.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    found = open_store(f"sqlite:///{tmp_path}/store.db", writer=True, now_ms=T0 + 100 * HOUR)
    yield found
    found.close()


def imported(source: Source, store: Store, wanted: Range = RANGE) -> list[Outcome]:
    found = work.discover(source, wanted, lambda instance, kind: name_of(instance, kind, {}))
    assert found.problems == ()
    return list(work.run(source, Imports(store), found.scrapes, wanted, Ingest))


def test_every_value(source: Source, store: Store) -> None:
    outcomes = imported(source, store)
    assert [(one.target, one.hour, one.what) for one in outcomes] == [
        (target, hour, IMPORTED) for target in ("head:8000", "spark-01") for hour in RANGE.hours()
    ]
    frame = store.frame(lambda _: True, None, T0, T0 + HOURS * HOUR)
    assert set(frame.series) == {*EXPECTED, *DERIVED}
    for series, value in EXPECTED.items():
        check(frame, series, value)
    for series, rate in DERIVED.items():
        check(frame, series, lambda k, r=rate: r * k + (r * (RESTART - 1) if k >= RESTART else 0))


def check(frame: object, series: Series, value: object) -> None:
    row = frame.row(series)
    numbers = frame.values[row]
    late = LATE if series.target == "head:8000" else DCGM_LATE if series.metric.startswith("gpu_") else NODE_LATE
    wanted = {at: value(k) for k, at in scraped(late)}
    got = dict(zip(frame.ticks[~np.isnan(numbers)].tolist(), numbers[~np.isnan(numbers)].tolist(), strict=True))
    assert got.keys() == wanted.keys(), series
    assert list(got.values()) == pytest.approx(list(wanted.values()), rel=1e-12), series
    assert frame.at_ms[row][~np.isnan(numbers)].tolist() == list(wanted)


def everything(store: Store) -> tuple[object, ...]:
    frame = store.frame(lambda _: True, None, T0, T0 + HOURS * HOUR)
    hours = store.summaries(lambda _: True, None, T0, T0 + HOURS * HOUR - 1)
    columns = (
        hours.count,
        hours.first,
        hours.last,
        hours.minimum,
        hours.maximum,
        hours.total,
        hours.gain,
        hours.seconds,
    )
    told = [(fact.target, fact.name, fact.value, fact.start_ms, fact.end_ms) for fact in store.facts()]
    steps = {(one.series, one.tick, one.reason) for one in store.offsets(T0, T0 + HOURS * HOUR)}
    parts = (frame.values, frame.at_ms, frame.breaks, frame.ticks, frame.gap_ms, *columns)
    # A counter's offset is added up anew after a stop, so that the last bit of a joule may be another one.
    return frame.series, hours.series, told, steps, *(_rounded(part).tobytes() for part in parts)


def _rounded(part: np.typing.NDArray[Any]) -> np.typing.NDArray[Any]:
    return np.round(part, 6) if part.dtype.kind == "f" else part


@pytest.mark.parametrize("stop", [1, *(pytest.param(stop, marks=pytest.mark.live) for stop in (2, 3, 4, 5))])
def test_goes_on_where_it_was_stopped(source: Source, store: Store, tmp_path: Path, stop: int) -> None:
    imported(source, store)
    other = open_store(f"sqlite:///{tmp_path}/other.db", writer=True, now_ms=T0)
    found = work.discover(source, RANGE, lambda instance, kind: name_of(instance, kind, {}))
    begun = work.run(source, Imports(other), found.scrapes, RANGE, Ingest)
    assert [next(begun).what for _ in range(stop)] == [IMPORTED] * stop
    begun.close()
    again = imported(source, other)
    assert [one.what for one in again] == [HELD] * stop + [IMPORTED] * (2 * HOURS - stop)
    assert everything(other) == everything(store)
    assert {one.what for one in imported(source, other)} == {HELD}
    assert everything(other) == everything(store)
    other.close()


def test_steps_gaps_and_intervals(source: Source, store: Store) -> None:
    imported(source, store)
    series = Series("head:8000", "generation_tokens_total", OURS)
    energy_series = Series("spark-01", "gpu_energy_joules_total", (("gpu", "0"),))
    steps = {(one.series, one.reason): (one.tick, one.offset) for one in store.offsets(T0, T0 + HOURS * HOUR)}
    assert steps[series, "first sample"] == (T0 + LATE, -1000.0)
    assert steps[series, "restart"] == (T0 + RESTART * STEP + LATE, 7.0 * (RESTART - 1))
    tick, offset = steps[energy_series, "restart"]
    assert (tick, offset) == (T0 + REBOOT * STEP + DCGM_LATE, pytest.approx(1.5 * (REBOOT - 1)))
    frame = store.frame(["generation_tokens_total"], None, T0, T0 + HOURS * HOUR)
    assert frame.gap_ms.tolist() == [2.5 * STEP]
    assert frame.breaks.sum() == 1
    assert frame.breaks[0, RESTART]
    assert increase(frame, T0, T0 + HOURS * HOUR).tolist() == [tokens_unwrapped(COUNT - 1)]
    hours = store.summaries(["generation_tokens_total"], None, T0, T0 + HOURS * HOUR - 1)
    # No step crosses the restart into the second hour, nor the gap into the third.
    assert hours.gain[0].tolist() == [7.0 * (PER_HOUR - 1), 3.0 * 199, 3.0 * 199]
    assert hours.seconds[0].tolist() == [15.0 * (PER_HOUR - 1), 15.0 * 199, 15.0 * 199]
    assert hours.count[0].tolist() == IN_HOURS
    assert {(one.name, one.value) for one in store.facts("head:8000", T0 + HOUR)} == {
        ("model", "m"),
        ("imported_interval_ms", "15000"),
        ("imported_from", source.name),
    }


def test_counts_before_it_imports(source: Source) -> None:
    found = work.discover(source, RANGE, lambda instance, kind: name_of(instance, kind, {}))
    (engine,) = (scrape for scrape in found.scrapes if scrape.kind == "engine")
    lines = 9
    assert work.counted(source, engine, RANGE) == {
        hour: lines * count for hour, count in zip(RANGE.hours(), IN_HOURS, strict=True)
    }


def test_a_sample_at_the_very_edge_of_two_hours_is_counted_once(source: Source) -> None:
    """node_exporter is scraped at whole hours, too."""
    found = work.discover(source, RANGE, lambda instance, kind: name_of(instance, kind, {}))
    node = next(scrape for scrape in found.scrapes if scrape.kind == "node_exporter")
    asked = selector(node.names, **node.place.labels())
    there = {
        hour: sum(len(one.t_ms) for start in range(hour, hour + HOUR, SLICE_MS) for one in part(source, asked, start))
        for hour in RANGE.hours()
    }
    assert work.counted(source, node, RANGE) == {hour: count for hour, count in there.items() if count}
    assert any(one.t_ms[0] == RANGE.start for one in part(source, asked, RANGE.start))


def part(source: Source, asked: str, start: int) -> list[Samples]:
    return source.raw(asked, start, start + SLICE_MS)


def test_hours_without_samples_are_empty(source: Source, store: Store) -> None:
    wanted = Range(T0 - HOUR, T0 + HOUR)
    outcomes = imported(source, store, wanted)
    assert [one.what for one in outcomes] == [EMPTY, IMPORTED] * 2
    assert outcomes[1].samples == 8 * PER_HOUR


def values_of(store: Store) -> tuple[tuple[Series, ...], np.ndarray]:
    frame = store.frame(lambda _: True, None, T0, T0 + HOURS * HOUR)
    return frame.series, frame.values


def seal_all(store: Store) -> list[tuple[str, int]]:
    due = store.due(T0 + 100 * HOUR)
    for target, hour in due:
        assert store.seal(target, hour, T0 + 100 * HOUR)
    return due


def test_what_is_older_than_what_is_there(source: Source, store: Store, tmp_path: Path) -> None:
    """The last hour first, then the two before it: every increase is what it is when all come in order."""
    imported(source, store)
    other = open_store(f"sqlite:///{tmp_path}/other.db", writer=True, now_ms=T0)
    last, older = Range(T0 + 2 * HOUR, T0 + 3 * HOUR), Range(T0, T0 + 2 * HOUR)
    assert {one.what for one in imported(source, other, last)} == {IMPORTED}
    assert [one.what for one in imported(source, other, older)] == [AHEAD, AHEAD, IMPORTED, IMPORTED] * 2
    assert seal_all(other) == [("head:8000", last.start), ("spark-01", last.start)]
    series, wanted = values_of(store)
    same, got = values_of(other)
    assert same == series
    for one, ours, theirs in zip(series, got, wanted, strict=True):
        apart = (ours - theirs)[~np.isnan(theirs)]
        if one.metric.endswith(("_total", "_bucket", "_sum", "_count")):
            begins = np.flatnonzero(~np.isnan(theirs) & (ticks_of(store) >= last.start))[0]
            assert ours[begins] == 0.0
            assert apart == pytest.approx(np.full(len(apart), -theirs[begins]), abs=1e-3, rel=1e-9), one
        else:
            assert (apart == 0.0).all(), one
    hours = [one.summaries(lambda _: True, None, T0, T0 + HOURS * HOUR - 1) for one in (store, other)]
    assert hours[1].gain == pytest.approx(hours[0].gain, rel=1e-9, abs=1e-3)
    assert hours[1].seconds.tolist() == hours[0].seconds.tolist()
    assert {(one.series, one.tick, one.reason) for one in other.offsets(T0, last.start - 1)} == {
        (one.series, one.tick, one.reason) for one in store.offsets(T0, last.start - 1)
    }
    other.close()


def ticks_of(store: Store) -> np.ndarray:
    return store.frame(lambda _: True, None, T0, T0 + HOURS * HOUR).ticks


def test_what_is_older_goes_on_where_it_was_stopped(source: Source, store: Store, tmp_path: Path) -> None:
    other = open_store(f"sqlite:///{tmp_path}/other.db", writer=True, now_ms=T0)
    last, older = Range(T0 + 2 * HOUR, T0 + 3 * HOUR), Range(T0, T0 + 2 * HOUR)
    for one in (store, other):
        imported(source, one, last)
    imported(source, store, older)
    found = work.discover(source, older, lambda instance, kind: name_of(instance, kind, {}))
    begun = work.run(source, Imports(other), found.scrapes, older, Ingest)
    assert [next(begun).what for _ in range(3)] == [AHEAD, AHEAD, IMPORTED]
    begun.close()
    assert [one.what for one in imported(source, other, older)][:3] == [HELD, AHEAD, IMPORTED]
    assert everything(other) == everything(store)
    other.close()


def test_a_target_that_begins_to_be_recorded_meanwhile(source: Source, store: Store) -> None:
    """Its counters count from 0 now, so nothing more can be put before them in this run."""
    found = work.discover(source, RANGE, lambda instance, kind: name_of(instance, kind, {}))
    begun = work.run(source, Imports(store), found.scrapes, RANGE, Ingest)
    assert next(begun).what == IMPORTED
    series = Series("head:8000", "requests_running", OURS)
    tick = T0 + 50 * HOUR
    row = Row(tick, "head:8000", tick, store.layout("head:8000", (series,)), [1.0])
    store.commit(Batch(rows=[row]), tick)
    assert [next(begun).what for _ in range(3)] == [OLDER, OLDER, IMPORTED]
    begun.close()


@pytest.mark.parametrize(
    ("start", "end", "now", "hours"),
    [
        (T0, T0 + 2 * HOUR, T0 + 9 * HOUR, [0, 1]),
        (T0 + 1, T0 + 2 * HOUR, T0 + 9 * HOUR, [1]),
        (T0 - 1, T0 + 2 * HOUR - 1, T0 + 9 * HOUR, [0]),
        (T0, T0 + 9 * HOUR, T0 + 2 * HOUR + 300_000, [0, 1]),
        (T0, T0 + 9 * HOUR, T0 + 2 * HOUR + 299_999, [0]),
        (T0 + 1, T0 + HOUR, T0 + 9 * HOUR, []),
        (T0 + 5 * HOUR, T0, T0 + 9 * HOUR, []),
    ],
)
def test_only_whole_hours_that_are_over(start: int, end: int, now: int, hours: list[int]) -> None:
    assert [(hour - T0) // HOUR for hour in work.whole_hours(start, end, now).hours()] == hours
