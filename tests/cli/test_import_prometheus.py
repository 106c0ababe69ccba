"""`app.py import-prometheus` as a user meets it, against a real Prometheus."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from cli.main import main
from storage.records import Batch, Row
from storage.store import Store, open_store
from telemetry.model import Series
from tests.exchange.answers import Server, result, said
from tests.exchange.servers import Known, serving

HOUR = 3_600_000
T0 = 1_767_225_600_000
RANGE = ["--start", str(T0), "--end", str(T0 + 3 * HOUR)]
SERIES = Series("spark-01", "load_average")


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    samples = [(T0 + k * 60_000, k / 4) for k in range(120)]
    labels = {"__name__": "node_load1", "job": "node", "instance": "spark-01:9100"}
    with serving("prometheus", tmp_path_factory.mktemp("source"), [Known(labels, samples)]) as found:
        yield found


def run(store: Path, *arguments: str) -> int:
    return main(["import-prometheus", "--config", "", "--store", str(store), *arguments])


def loads(store: Store, target: str = "spark-01") -> list[float]:
    frame = store.frame([SERIES.metric], [target], T0, T0 + 3 * HOUR)
    return [float(value) for row in frame.values for value in row if not np.isnan(value)]


def test_dry_run_then_import_then_again(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.db"
    assert run(path, url, *RANGE, "--dry-run") == 0
    assert capsys.readouterr().out.splitlines() == [
        "3 whole hours, from 2026-01-01 00:00Z to 2026-01-01 03:00Z",
        "  spark-01: node_exporter, 1 metrics, from node of spark-01:9100",
        "  spark-01: 2 of 3 hours, 120 samples",
        "nothing was written (--dry-run)",
    ]
    assert not path.exists()
    assert run(path, url, *RANGE) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  spark-01: 2 hours imported",
        "  spark-01: 1 hours empty at the source",
        "2 hours imported, 120 samples",
    ]
    assert run(path, url, *RANGE) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  spark-01: 2 hours refused: the store has something in these hours already",
        "  spark-01: 1 hours empty at the source",
        "0 hours imported, 0 samples",
    ]
    store = open_store(str(path), writer=False, now_ms=T0)
    assert loads(store) == [k / 4 for k in range(120)]
    store.close()


def test_names(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tachograph.toml").write_text('[nodes]\nalpha = "http://spark-01:9810"\n')
    assert main(["import-prometheus", "--store", "a.db", url, *RANGE]) == 0
    assert main(["import-prometheus", "--store", "a.db", url, *RANGE, "--map", "spark-01:9100=beta"]) == 0
    assert main(["import-prometheus", "--store", "a.db", url, *RANGE, "--map", "spark-01=gamma"]) == 0
    store = open_store("a.db", writer=False, now_ms=T0)
    assert {one.target for one in store.sealed(T0, T0 + HOUR)} == {"alpha", "beta", "gamma"}
    store.close()


def test_beside_a_collector(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it has recorded stays, and the hours around it are told apart."""
    path = tmp_path / "store.db"
    collector = open_store(str(path), writer=True, now_ms=T0)
    collector.claim()
    layout = collector.layout("spark-01", (SERIES,))
    collector.commit(Batch(rows=[Row(T0 + 1000, "spark-01", T0 + 1000, layout, [77.0])]), T0 + 1000)
    assert run(path, url, *RANGE) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "  spark-01: 1 hours imported",
        "  spark-01: 1 hours refused: the store has something in these hours already",
        "  spark-01: 1 hours empty at the source",
        "1 hours imported, 60 samples",
    ]
    collector.commit(Batch(rows=[Row(T0 + 2000, "spark-01", T0 + 2000, layout, [78.0])]), T0 + 4 * HOUR)
    assert collector.due(T0 + 4 * HOUR) == [("spark-01", T0), ("spark-01", T0 + HOUR)]
    assert collector.seal("spark-01", T0, T0 + 4 * HOUR)
    assert loads(collector) == [77.0, 78.0, *(k / 4 for k in range(60, 120))]
    collector.close()


def test_what_is_wrong_is_said(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "store.db"
    assert run(path, "nonsense", *RANGE) == 2
    assert run(path, url, "--start", "tomorrow") == 2
    assert run(path, url, "--start", str(T0), "--end", str(T0 + HOUR - 1)) == 2
    assert run(path, url, *RANGE, "--map", "x") == 2
    assert run(path, url, *RANGE, "--map", "x=cluster") == 2
    assert run(path, url, *RANGE, "--token-file", str(tmp_path / "none")) == 2
    assert run(path, url + "/nothing", *RANGE) == 1
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "the address must be like http://prometheus.example:9090"
    assert said[2] == "there is no whole hour in this range that has been over for five minutes"
    assert said[3] == "--map: 'x' is wrong, expected INSTANCE=NAME"
    assert said[4].startswith("--map: 'cluster' is wrong, expected a name")
    assert said[6].endswith("status 404: there is no Prometheus at this address; the path may be missing")
    assert not path.exists()


def test_a_source_that_fails_in_the_middle(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = {"__name__": "node_load1", "job": "node", "instance": "spark-01:9100"}
    broken = True

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked = parse_qs(urlsplit(handler.path).query)
        if "match[]" in asked:
            said(200, {"status": "success", "data": [labels]})(handler)
        elif broken and float(asked["time"][0]) * 1000 > T0 + HOUR:
            said(503, b"")(handler)
        else:
            at = float(asked["time"][0]) - 450
            result({"metric": labels, "values": [[at, str(at % 1000)]]})(handler)

    server.answer = answer
    path = tmp_path / "store.db"
    assert run(path, server.url, *RANGE) == 1
    told = capsys.readouterr()
    assert told.out.splitlines()[-2:] == ["  spark-01: 1 hours imported", "1 hours imported, 4 samples"]
    assert told.err.splitlines() == [
        f"{server.url}: status 503",
        "What is imported stays; the same command goes on there.",
    ]
    broken = False
    assert run(path, server.url, *RANGE) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 hours imported, 8 samples"
    store = open_store(str(path), writer=False, now_ms=T0)
    assert loads(store) == [(T0 / 1000 + 450 + 900 * k) % 1000 for k in range(12)]
    store.close()
