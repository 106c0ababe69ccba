"""`app.py export` as a user meets it."""

from __future__ import annotations

import gzip
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from cli import export
from cli.main import main
from cli.supervisor import ROOT
from exchange import parquet, sqlite
from exchange.blocks import Block
from exchange.estimate import Estimate
from exchange.extract import Export
from exchange.parquet import MISSING
from telemetry.catalog import gpu
from telemetry.query import Query
from telemetry.summary import HOUR_MS
from tests.web.world import World, tick

RANGE = ["--start", str(tick(0)), "--end", str(tick(59))]
POWER = ["--metric", "gpu_power_watts", *RANGE]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.chdir(tmp_path)
    made = World(tmp_path / "store.db")
    made.run(0, 59)
    yield made
    made.close()


def run(world: World, *arguments: str) -> int:
    return main(["export", "--config", "", "--store", world.url, *arguments])


def test_every_sample_into_a_file_with_a_name_of_its_own(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world, *POWER) == 0
    name = "gpu_power_watts_20261130T005320Z_20261130T005419Z_raw.csv"
    lines = Path(name).read_text("utf-8").splitlines()
    assert lines[0] == "time,target,gpu,gpu_power_watts [watts]"
    assert lines[1] == "2026-11-30T00:53:20.000Z,spark-01,0,50"
    assert len(lines) == 241
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("240 rows, 0.0 MB in ")
    assert err.endswith(f": {name}\n")


def test_parameters_of_the_api(world: World) -> None:
    wanted = ["--step", "30s", "--layout", "long", "--node", "spark-02", "--label", "gpu:0", "-o", "a.csv"]
    assert run(world, *POWER, "--metric", "gpu_temperature_celsius", *wanted) == 0
    assert Path("a.csv").read_text("utf-8").splitlines() == [
        "time,metric,unit,target,gpu,min,mean,max,last",
        "2026-11-30T00:53:00.000Z,gpu_power_watts,watts,spark-02,0,51,51,51,51",
        "2026-11-30T00:53:00.000Z,gpu_temperature_celsius,celsius,spark-02,0,61,61,61,61",
        "2026-11-30T00:53:30.000Z,gpu_power_watts,watts,spark-02,0,51,51,51,51",
        "2026-11-30T00:53:30.000Z,gpu_temperature_celsius,celsius,spark-02,0,61,61,61,61",
        "2026-11-30T00:54:00.000Z,gpu_power_watts,watts,spark-02,0,51,51,51,51",
        "2026-11-30T00:54:00.000Z,gpu_temperature_celsius,celsius,spark-02,0,61,61,61,61",
    ]


def test_switches_are_ones() -> None:
    assert export.parameters({"metric": ["a", "b"], "total": True, "output": "x"}) == {
        "metric": "a,b",
        "total": "1",
        "raw": "1",
    }
    assert export.parameters({"metric": ["a"], "points": "5"}) == {"metric": "a", "points": "5"}


def test_standard_output(world: World, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(world, *POWER, "-o", "-") == 0
    out, err = capfdbinary.readouterr()
    assert out.count(b"\r\n") == 241
    assert b"standard output" in err


def test_the_ending_says_the_form(world: World) -> None:
    assert run(world, *POWER, "-o", "a.csv") == 0
    assert run(world, *POWER, "-o", "b.csv.gz") == 0
    assert gzip.decompress(Path("b.csv.gz").read_bytes()) == Path("a.csv").read_bytes()
    assert run(world, *POWER, "-o", "c.sqlite") == 0
    assert run(world, *POWER, "-o", "d", "--format", "sqlite") == 0
    for name in ("c.sqlite", "d"):
        with closing(sqlite3.connect(name)) as connection:
            assert connection.execute("SELECT count(*), max(gpu_power_watts) FROM sample").fetchone() == (240, 53.0)
    assert sorted(path.name for path in Path().iterdir() if path.name.endswith(".part")) == []


def test_what_is_there_is_not_written_over(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("mine")
    assert run(world, *POWER, "-o", "a.csv") == 2
    assert Path("a.csv").read_text() == "mine"
    assert "a.csv is there already" in capsys.readouterr().err
    assert run(world, *POWER, "-o", "a.csv", "--force") == 0
    assert Path("a.csv").read_text().startswith("time,")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--metric", "gpu_power_wats"], "Did you mean gpu_power_watts"),
        (["--metric", "gpu_power_watts", "--node", "spark-99"], "“node” is “spark-99”"),
        ([*POWER, "--step", "10s", "--points", "5"], "exclude each other"),
        ([*POWER, "--format", "xls"], "expected one of csv, parquet, sqlite"),
        ([*POWER, "-o", "a.sqlite.gz"], "only CSV is packed"),
        (
            [*POWER, "-o", "a.xlsx"],
            "no form has the ending .xlsx; expected one of .csv, .parquet, .sqlite, .db, .csv.gz",
        ),
        ([*POWER, "-o", "a.xlsx.gz"], "no form has the ending .xlsx"),
    ],
)
def test_what_cannot_be_asked(
    world: World, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(world, *arguments) == 2
    assert says in capsys.readouterr().err


def test_no_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--config", "", "--store", str(tmp_path / "none.db"), *POWER]) == 1
    assert "there is no store" in capsys.readouterr().err


def test_a_metric_is_needed(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(world) == 2
    assert "“metric” is missing" in capsys.readouterr().err


def test_parquet_without_its_library(
    world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "find_spec", lambda _name: None)
    assert run(world, *POWER, "-o", "a.parquet") == 1
    assert capsys.readouterr().err == f"{MISSING}\n"
    assert not Path("a.parquet").exists()


def test_nothing_half_stays(world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LEFT_BYTES", 1 << 62)
    assert run(world, *POWER, "-o", "a.sqlite") == 1
    assert "of a disk free" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir() if path.name.startswith("a.")] == []
    assert run(world, *POWER, "-o", "no/such/folder/a.csv") == 2
    assert "there is no folder no/such/folder: make it" in capsys.readouterr().err
    Path("b.csv.part").mkdir()
    assert run(world, *POWER, "-o", "b.csv") == 2
    assert capsys.readouterr().err.splitlines() == ["b.csv cannot be written: Is a directory"]


def test_what_is_damaged_is_named_and_the_file_is_kept(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    later = tick(0) + 10 * HOUR_MS
    for target, hour in world.writer.due(later):
        assert world.writer.seal(target, hour, later)
    world.writer.prune(later)
    assert run(world, *POWER, "-o", "whole.csv") == 0
    whole = Path("whole.csv").read_text("utf-8")
    mine = "SELECT id FROM series WHERE target = 'spark-01' AND metric = 'gpu_power_watts'"
    with closing(sqlite3.connect(world.url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute(
            f"UPDATE chunk SET codec = (SELECT max(codec) FROM clock), data = x'00' WHERE series IN ({mine})"
        )
    capsys.readouterr()
    assert run(world, *POWER, "-o", "a.csv") == 3
    err = capsys.readouterr().err
    assert "the chunk of gpu_power_watts gpu=0 of spark-01 in the hour of 2026-11-30T00:00Z" in err
    assert "the export has a gap there" in err
    kept = [line for line in whole.splitlines() if "spark-01" not in line]
    assert Path("a.csv").read_text("utf-8").splitlines() == kept


def test_whoever_reads_may_stop(world: World) -> None:
    command = [sys.executable, str(ROOT / "app.py"), "export", "--config", "", "--store", world.url, "--metric", "all"]
    with subprocess.Popen(
        [*command, *RANGE, "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(4) == b"time"
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
    assert process.returncode in (0, 1)


def test_progress_is_told_once_a_second_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    now = iter([0.0, 0.4, 1.5, 2.0, 2.6, 3.0])
    wanted = Export((Query(gpu.GPU_POWER, 0, 100_000),))
    progress = export.Progress(wanted, Estimate(400, 8000, False), "a.csv", lambda: next(now))
    blocks = [Block(np.array([end]), (("a",),), (), np.ones((1, 1), bool)) for end in (10_000, 25_000, 50_000, 75_000)]
    progress.size = 2_500_000
    assert list(progress.watch(blocks)) == blocks
    progress.done()
    assert capsys.readouterr().err.split("\r") == [
        "",
        " 25%  2 of about 400 rows, 2.5 MB",
        " 75%  4 of about 400 rows, 2.5 MB",
        "4 rows, 2.5 MB in 3.0 s: a.csv\n",
    ]
