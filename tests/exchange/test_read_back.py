"""docs/export.md tells how to read a file back; what comes back is what was recorded, value by value."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from dashboard.api import export as asked
from dashboard.sources import Sources
from exchange import formats
from exchange.extract import extract
from telemetry.catalog import engine, gpu, memory, network
from tests.exchange.conftest import MakeSources
from tests.web.world import tick

PAGE = (Path(__file__).parents[2] / "docs" / "export.md").read_text("utf-8")
LINES = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1].splitlines()  # type: ignore[index]
METRICS = (gpu.GPU_POWER, gpu.GPU_ENERGY, memory.MEMORY_HEADROOM, network.RDMA_TRANSMIT, engine.GENERATION_TOKENS)
NAMES = ",".join(metric.name for metric in METRICS)
TEXTS = ("target", "gpu", "cage", "function", "engine", "model")
Found = dict[tuple[str, tuple[str, ...], int], float]
"""(metric, texts of TEXTS, tick) → value."""


def one_liner(file: str) -> str:
    """The line of the page that reads a file of this name."""
    return next(line for line in LINES if f'"{file}"' in line)


def make(sources: Sources, file: str, **asked_for: str) -> None:
    """Write an export into the working directory."""
    given: Mapping[str, str] = {
        "metric": NAMES,
        "raw": str(int("step" not in asked_for)),
        "start": str(tick(0)),
        **asked_for,
    }
    form = file.removesuffix(".gz").rpartition(".")[2]
    wanted = asked.read(given, sources)
    pieces = formats.pieces(form, wanted, extract(wanted, sources), gzip=file.endswith(".gz"))
    Path(file).write_bytes(b"".join(pieces))


def read(file: str) -> Any:
    """What the one-liner gives, with its database closed afterwards."""
    opened: list[sqlite3.Connection] = []

    class Driver:
        def connect(self, name: str) -> sqlite3.Connection:
            opened.append(sqlite3.connect(name))
            return opened[-1]

    try:
        return eval(one_liner(file), {"pandas": pandas, "sqlite3": Driver()})
    finally:
        for connection in opened:
            connection.close()


def recorded(sources: Sources) -> Found:
    """Every known sample, straight from the store."""
    frame = sources.frame([metric.name for metric in METRICS], tick(0), sources.now_ms())
    found: Found = {}
    for row, series in enumerate(frame.series):
        labels = {"target": series.target, **dict(series.labels)}
        texts = tuple(labels.get(name, "") for name in TEXTS)
        for at, value in zip(frame.ticks.tolist(), frame.values[row].tolist(), strict=True):
            if value == value:
                found[series.metric, texts, at] = value
    return found


def told(table: Any, wide: bool) -> Found:
    """The same, from what pandas read."""
    times = table["t_ms"] if "t_ms" in table else (table["time"].astype("int64") // _unit(table["time"]))
    texts = [tuple(map(_text, row)) for row in zip(*(table[name] for name in TEXTS), strict=True)]
    found: Found = {}
    for metric in METRICS:
        name = metric.name if metric.name in table else f"{metric.name} [{metric.unit.value}]"
        mine = table["metric"] == metric.name if not wide else np.ones(len(table), bool)
        values = table[name if wide else "value"].astype(float)
        for at, text, value, here in zip(times.tolist(), texts, values.tolist(), mine, strict=True):
            if here and value == value:
                found[metric.name, text, at] = value
    return found


def _unit(times: Any) -> int:
    """How many of pandas' units are a millisecond."""
    return {"ms": 1, "us": 1000, "ns": 1_000_000}[times.dt.unit]


def _text(value: object) -> str:
    if value is None or value != value:
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.fixture
def sources(make_sources: MakeSources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    """Two minutes with numbers of every kind, a gap, and a node that comes late."""
    monkeypatch.chdir(tmp_path)
    world, found = make_sources(0)
    noise = np.random.default_rng(7).random(200)
    world.set("spark-01", gpu.GPU_POWER, lambda number: float(np.round(40 + noise[number] * 60, 1)))
    world.set("spark-02", gpu.GPU_POWER, lambda number: float("nan") if number % 7 == 3 else 10 / (number + 3))
    world.set("spark-03", gpu.GPU_ENERGY, lambda number: 1e15 + number * 3)
    world.set("spark-04", memory.MEMORY_HEADROOM, lambda number: -0.125 * number)
    world.away("spark-01", 40, 55)
    world.away("spark-04", 1, 90)
    world.run(1, 130)
    return found


@pytest.mark.parametrize(
    ("file", "layout"),
    [("wide.csv", "wide"), ("long.csv.gz", "long"), ("wide.sqlite", "wide"), ("long.sqlite", "long")],
)
def test_every_value_comes_back(sources: Sources, file: str, layout: str) -> None:
    make(sources, file, layout=layout)
    assert told(read(file), layout == "wide") == recorded(sources)


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="pyarrow is not installed")
@pytest.mark.parametrize("layout", ["wide", "long"])
def test_every_value_comes_back_from_parquet(sources: Sources, layout: str) -> None:
    make(sources, "export.parquet", layout=layout)
    assert told(read("export.parquet"), layout == "wide") == recorded(sources)


def test_a_wide_file_packed_is_the_same(sources: Sources) -> None:
    make(sources, "long.csv.gz", layout="wide")
    make(sources, "wide.csv", layout="wide")
    assert read("long.csv.gz").equals(read("wide.csv"))


def test_a_sqlite_file_tells_what_it_is(sources: Sources) -> None:
    make(sources, "wide.sqlite")
    with closing(sqlite3.connect("wide.sqlite")) as connection:
        columns = dict(connection.execute('SELECT name, unit FROM "column"'))
        metadata = dict(connection.execute("SELECT key, value FROM metadata"))
        power = connection.execute(
            "SELECT gpu_power_watts FROM sample WHERE target = 'spark-03' AND gpu = '0' AND t_ms = ?", (tick(2),)
        ).fetchone()
    assert columns == {metric.name: metric.unit.value for metric in METRICS}
    assert metadata["start"] == "2026-11-30T00:53:20.000Z"
    assert metadata["end"] == "2026-11-30T00:55:30.000Z"
    assert (metadata["resolution"], metadata["layout"]) == ("raw", "wide")
    assert power == (52.0,)


@pytest.mark.parametrize(
    ("form", "metric", "layout"),
    [("sqlite", "all", "long"), ("csv", "all", "wide"), ("sqlite", gpu.GPU_POWER.name, "wide")],
)
def test_everything_in_sqlite_is_long_where_no_layout_is_asked_for(
    sources: Sources, form: str, metric: str, layout: str
) -> None:
    """A wide table of everything has a byte for each of its hundreds of empty columns in every row."""
    given = {"metric": metric, "raw": "1", "start": str(tick(0))}
    assert asked.read(given, sources, form).layout.value == layout
    assert asked.read({**given, "layout": "wide"}, sources, form).layout.value == "wide"


def test_a_long_sqlite_file_has_a_view_for_people(sources: Sources) -> None:
    make(sources, "long.sqlite", layout="long")
    with closing(sqlite3.connect("long.sqlite")) as connection:
        wanted = "SELECT metric, unit, value FROM reading WHERE target = 'spark-03' AND gpu = '0' AND t_ms = ?"
        found = connection.execute(f"{wanted} AND metric = 'gpu_power_watts'", (tick(2),)).fetchall()
    assert found == [("gpu_power_watts", "watts", 52.0)]


def test_bins_come_back_with_their_gap(sources: Sources) -> None:
    make(sources, "wide.csv", step="10s", metric=gpu.GPU_POWER.name, node="spark-01")
    table = read("wide.csv")
    low = table["gpu_power_watts_min [watts]"].tolist()
    (line,) = [one.values for one in [sources.frame([gpu.GPU_POWER.name], tick(0), tick(130), ["spark-01"])]]
    assert len(table) == 14
    assert [row != row for row in low] == [False] * 4 + [True] + [False] * 9
    assert low[0] == np.nanmin(line[0, :10])


def test_a_world_without_an_answer(make_sources: MakeSources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _, found = make_sources(1)
    make(found, "wide.csv", metric=engine.PREEMPTIONS.name)
    assert Path("wide.csv").read_text() == "time,target,engine,model,preemptions_total [count]\n"
