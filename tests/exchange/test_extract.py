"""Exports of whole stores: the same rows however the range is cut, sums that go on, hours where samples are gone."""

from __future__ import annotations

import csv
import io
import sqlite3
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import closing

import numpy as np
import pytest

from dashboard.api import export as asked
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from exchange import beside, formats
from exchange.beside import Ranges
from exchange.estimate import estimate
from exchange.extract import Export, extract
from exchange.names import file_name
from exchange.shared import Shared
from pipeline.tail import Tail
from storage.records import Offset
from storage.store import open_store
from telemetry import reader
from telemetry.catalog import engine, gpu, ratios
from telemetry.model import Series
from telemetry.query import Query
from telemetry.summary import HOUR_MS, hour_of
from tests.exchange.conftest import MakeSources
from tests.web.world import DEPLOYMENT, HEAD, T0, World, tick

MIXED = "gpu_power_watts,memory_used_bytes,generation_tokens_total,decode_tokens_per_second,gpu_energy_per_token_joules"


def read(sources: Sources, **given: str) -> Export:
    return asked.read(given, sources)


def text(sources: Sources, **given: str) -> str:
    return b"".join(formats.csv(extract(read(sources, **given), sources))).decode()


def table(sources: Sources, **given: str) -> list[Mapping[str, str]]:
    return list(csv.DictReader(io.StringIO(text(sources, **given), newline="")))


def numbers(rows: list[Mapping[str, str]], column: str) -> list[float]:
    return [float(row[column]) for row in rows if row[column]]


@pytest.mark.parametrize("resolution", [{"raw": "1"}, {"step": "20s"}, {"step": "7s", "layout": "long"}])
@pytest.mark.parametrize("total", ["0", "1"])
def test_rows_do_not_depend_on_slices(
    broken: tuple[World, Sources], resolution: dict[str, str], total: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sources = broken
    given = {"metric": MIXED, "start": str(tick(3)), "end": str(tick(287)), "total": total, **resolution}
    whole = table(sources, **given)
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))
    monkeypatch.setattr(beside, "CELLS_AHEAD", 1)
    cut = table(sources, **given)
    assert len(cut) == len(whole) >= 15
    assert [list(row)[:1] for row in cut] == [list(row)[:1] for row in whole]
    for one, other in zip(cut, whole, strict=True):
        for column, value in one.items():
            if "[" in column or column in ("value", "min", "mean", "max", "last"):
                assert (value == "") == (other[column] == ""), (column, one, other)
                assert not value or float(value) == pytest.approx(float(other[column]), rel=1e-9)
            else:
                assert value == other[column]


def test_stored_samples_are_the_same_bytes_however_they_are_cut(
    broken: tuple[World, Sources], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sources = broken
    given = {"metric": "all", "start": str(tick(3)), "end": str(tick(287)), "raw": "1"}
    whole = text(sources, **given)
    for length, ahead in ((20_000, 1), (20_000, 10**9), (7_000, 50_000)):
        monkeypatch.setattr(beside, "SLICES_MS", (length,))
        monkeypatch.setattr(beside, "CELLS_AHEAD", ahead)
        assert text(sources, **given) == whole


def test_samples_beside_the_reader_are_those_of_the_reader(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    query = Query(gpu.GPU_POWER, tick(3), tick(287), labels={"gpu": "0"}, targets=frozenset({"spark-01", "spark-02"}))
    (direct,) = reader.stream(query, sources, [(tick(3), tick(287))])
    shared = Shared(sources, [query, Query(engine.GENERATION_TOKENS, tick(3), tick(287))]).samples(
        query, tick(3), tick(287)
    )
    assert [line.labels for line in shared] == [line.labels for line in direct]
    for one, other in zip(shared, direct, strict=True):
        assert one.values is not None
        assert other.values is not None
        known = ~np.isnan(one.values)
        there = ~np.isnan(other.values)
        assert dict(zip(one.t_ms[known].tolist(), one.values[known].tolist(), strict=True)) == dict(
            zip(other.t_ms[there].tolist(), other.values[there].tolist(), strict=True)
        )


def test_a_chart_and_its_export_are_one_answer(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    for metric, more in (("gpu_power_watts", {}), ("decode_tokens_per_second", {"total": "1"})):
        rows = table(sources, metric=metric, start=str(tick(0)), end=str(tick(299)), points="30", **more)
        (query,) = read(sources, metric=metric, start=str(tick(0)), end=str(tick(299)), points="30", **more).queries
        for line in reader.read(query, sources).lines:
            mine = [row for row in rows if row.get("target", "") == line.labels.get("target", "")]
            for part, values in (("min", line.minimum), ("mean", line.mean), ("max", line.maximum)):
                (column,) = (name for name in rows[0] if name.startswith(f"{metric}_{part} "))
                assert values is not None
                assert numbers(mine, column) == values[~np.isnan(values)].tolist()


def test_a_total_of_counters_is_the_increase_of_its_members(
    broken: tuple[World, Sources], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over silence and late arrival, from slice to slice: the last less the first is what all members gained."""
    _, sources = broken
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))
    given = {"metric": "gpu_energy_joules_total", "start": str(tick(0)), "end": str(tick(300))}
    total = numbers(table(sources, total="1", raw="1", **given), "gpu_energy_joules_total [joules]")
    assert total == sorted(total)
    assert (total[0], total[-1]) == (0.0, (50 + 51 + 52 + 53) * 300)
    lasts = numbers(table(sources, total="1", step="20s", **given), "gpu_energy_joules_total_last [joules]")
    assert (lasts[0], lasts[-1]) == ((50 + 51 + 53) * 19.0, total[-1])


def test_a_counter_that_is_first_used_right_after_a_slice_stood_at_zero(
    make_sources: MakeSources, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, sources = make_sources(59)
    labels = (("engine", "0"), ("model", "moonshotai/Kimi-K3"))
    new = Series(HEAD, engine.PREEMPTIONS.name, labels)
    world.series[HEAD][new] = lambda number: float(number - 55)
    world.run(60, 90)
    world.commit(offsets=[Offset(HEAD, new.metric, labels, tick(60), 0.0, "first use")])
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))  # T0 is 20 s after the full minute: 60 begins a slice
    monkeypatch.setattr(beside, "CELLS_AHEAD", 1)
    rows = table(sources, metric=new.metric, start=str(tick(0)), end=str(tick(90)), raw="1")
    values = numbers(rows, "preemptions_total [count]")
    assert values[-31:] == [float(number - 55) for number in range(60, 91)]
    assert values[-32] == 0.0
    assert values[-1] - values[0] == 35.0


def test_rates_over_slices_are_those_of_the_whole(make_sources: MakeSources, monkeypatch: pytest.MonkeyPatch) -> None:
    _, sources = make_sources(120)
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))
    rows = table(sources, metric="generation_tokens_total", rate="1", raw="1", start=str(tick(0)), end=str(tick(120)))
    assert numbers(rows, "generation_tokens_total_rate [tokens_per_second]") == pytest.approx([20.0] * 111)


FIRST = hour_of(T0) + HOUR_MS
"""The first whole hour of a world."""


@pytest.fixture(scope="module")
def hours(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Three sealed hours of two nodes; the samples of the first are given up."""
    world = World(tmp_path_factory.mktemp("hours") / "store.db", nodes=2, engines=False)
    world.set("spark-01", gpu.GPU_POWER, lambda number: 50.0 + number % 10)
    for low in range(0, 11_400, 600):
        world.run(low, low + 599)
    world.now = tick(5 * 3600)
    for target, hour in world.writer.due(world.now):
        world.writer.seal(target, hour, world.now)
    assert world.writer.forget(FIRST + HOUR_MS) > 0
    world.writer.close()
    return world


@pytest.fixture
def aged(hours: World) -> Iterator[Sources]:
    store = open_store(hours.url, writer=False, now_ms=hours.now)
    yield Sources(store, Tail(store), lambda: hours.now)
    store.close()


def test_samples_that_were_given_up_are_refused_with_what_is_left(aged: Sources) -> None:
    for more in ({"raw": "1"}, {"step": "10m"}):
        with pytest.raises(ParameterError, match=r"Samples before 2026-11-30T02:00Z are given up.*step=1h"):
            read(aged, metric="gpu_power_watts", start=str(tick(0)), end=str(FIRST + 3 * HOUR_MS), **more)
    kept = table(aged, metric="gpu_power_watts", start=str(FIRST + HOUR_MS), end=str(FIRST + HOUR_MS + 9_000), raw="1")
    assert len(kept) == 20


def test_bins_of_hours_reach_back_beyond_the_samples(aged: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"metric": "gpu_power_watts,gpu_energy_joules_total", "start": str(FIRST), "step": "1h"}
    end = str(FIRST + 3 * HOUR_MS - 1)
    rows = table(aged, end=end, **given)
    one = [row for row in rows if row["target"] == "spark-01"]
    assert [row["time"] for row in one] == [f"2026-11-30T0{hour}:00:00.000Z" for hour in (1, 2, 3)]
    assert numbers(one, "gpu_power_watts_min [watts]") == [50.0] * 3
    assert numbers(one, "gpu_power_watts_max [watts]") == [59.0] * 3
    assert numbers(one, "gpu_power_watts_mean [watts]") == pytest.approx([54.5] * 3)
    lasts = numbers(one, "gpu_energy_joules_total_last [joules]")
    assert lasts == [50.0 * (400 + 3600 * hour - 1) for hour in (1, 2, 3)]
    monkeypatch.setattr("exchange.extract.HOURS_AT_ONCE", 1)
    single = [row for row in table(aged, end=end, **given) if row["target"] == "spark-01"]
    told = [name for name in single[0] if "gpu_power" in name or name.endswith("_last [joules]")]
    assert [[row[name] for name in told] for row in single] == [[row[name] for name in told] for row in one]
    total = table(aged, end=end, total="1", **{**given, "metric": "gpu_energy_joules_total"})
    summed = numbers(total, "gpu_energy_joules_total_last [joules]")
    assert np.diff(summed).tolist() == [(50 + 51) * 3600.0] * 2


def test_a_range_of_hours_that_begins_inside_one(aged: Sources) -> None:
    rows = table(
        aged,
        metric="gpu_power_watts",
        node="spark-02",
        start=str(FIRST + 1_800_000),
        end=str(FIRST + HOUR_MS),
        step="1h",
    )
    assert [row["time"][11:16] for row in rows] == ["01:00", "02:00"]


def test_sealed_samples_come_back_whatever_is_fetched_at_once(aged: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"metric": "all", "start": str(FIRST + 2 * HOUR_MS - 30_000), "end": str(FIRST + 2 * HOUR_MS + 45_000)}
    whole = text(aged, raw="1", **given)
    assert whole.count("\r\n") > 400
    monkeypatch.setattr(beside, "CELLS_AHEAD", 1)
    monkeypatch.setattr(beside, "SLICES_MS", (10_000,))
    assert text(aged, raw="1", **given) == whole


def test_no_transaction_is_open_between_pieces(make_sources: MakeSources, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a client is slow to take the next piece, the write-ahead log can be taken over whole and begun anew."""
    world, sources = make_sources(200)
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))
    monkeypatch.setattr(beside, "CELLS_AHEAD", 1)
    breaths: list[int] = []
    found = extract(read(sources, metric="all", raw="1", start=str(tick(0))), sources, lambda: breaths.append(1))
    pieces = formats.csv(found)
    with closing(sqlite3.connect(world.url.removeprefix("sqlite:///"))) as other:
        for number, _ in enumerate(pieces):
            world.run(201 + number, 201 + number)
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() == (0, 0, 0)
    assert len(breaths) == 11
    assert number == 11


def test_what_is_closed_reads_no_more(broken: tuple[World, Sources], monkeypatch: pytest.MonkeyPatch) -> None:
    _, sources = broken
    monkeypatch.setattr(beside, "SLICES_MS", (20_000,))
    breaths: list[int] = []
    wanted = read(sources, metric="all", raw="1", start=str(tick(0)))
    pieces = formats.pieces("csv", wanted, extract(wanted, sources, lambda: breaths.append(1)))
    assert next(pieces).startswith(b"time,")
    assert next(pieces).startswith(b"2026")
    pieces.close()
    assert breaths == []


def test_memory_does_not_grow_with_the_range(aged: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "CELLS", 10_000)
    monkeypatch.setattr(beside, "CELLS_AHEAD", 20_000)

    def peak(minutes: int) -> int:
        start = FIRST + HOUR_MS
        given = {"start": str(start), "end": str(start + minutes * 60_000 - 1), "metric": "all", "raw": "1"}
        size = 0
        tracemalloc.start()
        try:
            for piece in formats.csv(extract(read(aged, **given), aged)):
                size += len(piece)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            assert size > minutes * 60 * 10 * 40

    peak(5)
    assert peak(40) < 1.3 * peak(5)


def test_an_estimate_of_a_long_range_is_near(aged: Sources) -> None:
    given = {"metric": "gpu_power_watts", "start": str(FIRST + HOUR_MS), "end": str(FIRST + 3 * HOUR_MS - 1)}
    for more in ({"raw": "1"}, {"step": "10s"}, {"raw": "1", "layout": "long"}):
        wanted = read(aged, **given, **more)
        found = estimate(wanted, aged)
        written = b"".join(formats.csv(extract(wanted, aged)))
        assert not found.exact
        assert found.rows == pytest.approx(written.count(b"\r\n") - 1, rel=0.02)
        assert found.size_bytes == pytest.approx(len(written), rel=0.03)
    packed = estimate(read(aged, **given, raw="1"), aged, gzip=True)
    assert 0 < packed.size_bytes < estimate(read(aged, **given, raw="1"), aged).size_bytes / 3
    rough = estimate(read(aged, **given, raw="1"), aged, formats.SQLITE)
    assert (rough.rows, rough.size_bytes) == (14_400, 14_400 * 38)


def test_an_estimate_of_little_is_counted(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    for more in ({"raw": "1"}, {"points": "5"}):
        wanted = read(sources, metric="gpu_power_watts", start=str(tick(60)), end=str(tick(110)), **more)
        found, written = estimate(wanted, sources), b"".join(list(formats.csv(extract(wanted, sources)))[1:])
        assert (found.rows, found.size_bytes, found.exact) == (written.count(b"\r\n"), len(written), True)
        assert not estimate(wanted, sources, formats.PARQUET).exact


def test_bins_are_whole_steps_of_the_clock(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    given = {"metric": "gpu_power_watts", "start": str(tick(0)), "end": str(tick(59))}
    assert read(sources, step="1500ms", **given).width_ms == 2000
    assert read(sources, step="100ms", **given).width_ms == 1000


def test_everything_leaves_out_what_the_filters_do_not_fit(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    every = {query.metric.name for query in read(sources, metric="all").queries}
    assert {"gpu_power_watts", "time_to_first_token_seconds_bucket", "cluster_gpu_power_watts"} <= every
    assert not every & {"decode_tokens_per_second", "time_to_first_token_seconds"}
    some = read(sources, metric="all", deployment="Kimi-K3", rate="1").queries
    assert {query.metric.scope.value for query in some} == {"engine", "deployment"}
    by_name = {query.metric.name: query for query in some}
    assert by_name["generation_tokens_total"].rate
    assert not by_name["requests_running"].rate
    assert by_name["generation_tokens_total"].targets == {HEAD}
    assert by_name["recorded_decode_tokens_per_second"].targets == {DEPLOYMENT}


@pytest.mark.parametrize(
    ("start", "end", "length", "found"),
    [
        (0, 9, 10, [(0, 9)]),
        (0, 10, 10, [(0, 9), (10, 10)]),
        (7, 25, 10, [(7, 9), (10, 19), (20, 25)]),
        (12, 14, 10, [(12, 14)]),
        (5, 4, 10, [(5, 4)]),
    ],
)
def test_ranges(start: int, end: int, length: int, found: list[tuple[int, int]]) -> None:
    ranges = Ranges(start, end, length)
    assert list(ranges) == found
    assert len(ranges) == len(found)
    assert (ranges[-1], list(ranges[:1])) == (found[-1], found[:1])
    with pytest.raises(IndexError):
        ranges[len(found)]


def test_names_of_files() -> None:
    def name(*metrics: object, **more: object) -> str:
        queries = tuple(Query(one, T0, T0 + HOUR_MS, **more) for one in metrics)  # type: ignore[arg-type]
        return file_name(Export(queries), "csv")

    range_of = "20261130T005320Z_20261130T015320Z"
    assert name(gpu.GPU_POWER) == f"gpu_power_watts_{range_of}_raw.csv"
    assert name(gpu.GPU_POWER, width_ms=90_000) == f"gpu_power_watts_{range_of}_90s.csv"
    assert name(gpu.GPU_POWER, width_ms=86_400_000) == f"gpu_power_watts_{range_of}_1d.csv"
    assert name(gpu.GPU_POWER, width_ms=2_500) == f"gpu_power_watts_{range_of}_2500ms.csv"
    assert name(gpu.GPU_POWER, width_ms=300_000) == f"gpu_power_watts_{range_of}_5min.csv"
    assert name(gpu.GPU_POWER, ratios.DECODE_TPS, points=600) == f"gpu_power_watts_and_1_more_{range_of}_600points.csv"
    assert name(engine.TTFT, quantile=0.999) == f"time_to_first_token_seconds_p99.9_{range_of}_raw.csv"
