"""`verify`, `backup` and `restore` as a user meets them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.main import main
from cli.progress import Line
from storage import schema
from storage.store import open_store
from telemetry.summary import HOUR_MS
from tests.storage.first_version import unpacked
from tests.storage.worlds import NOW, write

LATER = NOW + 10 * HOUR_MS


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two series of one target, an hour sealed; its path."""
    monkeypatch.chdir(tmp_path)
    made = open_store(str(tmp_path / "store.db"), writer=True, now_ms=NOW)
    write(made, "spark-01", ["gpu_power_watts", "x"], {0: [1, 5], 1: [2.5, 5.5], 3600: [3, 6]})
    made.seal("spark-01", NOW, LATER)
    made.close()
    return tmp_path / "store.db"


def run(command: str, *arguments: str) -> int:
    return main([command, "--config", "", "--store", "store.db", *arguments])


def spoil(path: Path) -> None:
    made = open_store(str(path), writer=True, now_ms=NOW)
    with made._database.writing() as connection:
        connection.exec_driver_sql("UPDATE chunk SET data = substr(data, 2) WHERE series = 1")
    made.close()


BROKEN = "the chunk of gpu_power_watts of spark-01 in the hour of 2026-11-30T01:00Z is damaged: its checksum is wrong"


def test_a_sound_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("verify") == 0
    assert capsys.readouterr() == ("sound: 1 sealed hours, 2 chunks, 3 rows\n", "")
    assert run("verify", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"ok": True, "version": schema.VERSION, "hours": 1, "chunks": 2, "rows": 3, "faults": []}


def test_a_broken_chunk_is_named(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(store)
    assert run("verify") == 1
    assert capsys.readouterr().out.splitlines() == [
        f"chunk: {BROKEN}",
        "1 faults; all else is readable: 1 sealed hours, 1 chunks, 3 rows",
    ]
    assert run("verify", "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["faults"]) == (
        False,
        [
            {
                "kind": "chunk",
                "text": BROKEN,
                "target": "spark-01",
                "metric": "gpu_power_watts",
                "labels": {},
                "hour": "2026-11-30T01:00:00Z",
            }
        ],
    )


def test_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("verify") == 2
    assert run("backup", "copy.db") == 1
    assert run("restore", "copy.db") == 1
    lines = capsys.readouterr().err.splitlines()
    path = tmp_path / "store.db"
    assert lines == [f"there is no store at {path} yet: start the collector first"] * 2 + ["there is no file copy.db"]
    assert not path.exists()


def test_backup_and_restore(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("backup", "copy.db") == 0
    size = Path("copy.db").stat().st_size
    assert capsys.readouterr() == (
        f"copy.db: {size / 1e6:.1f} MB; sound: 1 sealed hours, 2 chunks, 3 rows\n"
        "It holds no token and no channel, but names and addresses of your machines.\n",
        "",
    )
    assert run("backup", "copy.db") == 1
    assert "is there already" in capsys.readouterr().err
    assert run("backup", "copy.db", "--force") == 0
    spoil(store)
    capsys.readouterr()
    assert run("restore", "copy.db") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "restored from copy.db; sound: 1 sealed hours, 2 chunks, 3 rows"
    assert second.startswith(f"What stood there is kept: {store}.replaced-")
    assert run("verify") == 0
    Path("store.db").unlink()
    capsys.readouterr()
    assert run("restore", "copy.db") == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


OLD = f"3,040 rows; of version 1 of the tables, which the collector brings to {schema.VERSION}"


@pytest.mark.live
def test_a_store_of_an_older_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    unpacked(tmp_path / "store.db")
    assert run("verify") == 0
    assert capsys.readouterr() == (f"sound: 0 sealed hours, 0 chunks, {OLD}\n", "")
    assert run("verify", "--json") == 0
    assert json.loads(capsys.readouterr().out)["version"] == 1
    with closing(sqlite3.connect("store.db")) as connection:
        connection.execute("UPDATE hot SET data = '[1]' WHERE rowid = 1")
        connection.commit()
    assert run("verify") == 1
    *faults, last = capsys.readouterr().out.splitlines()
    assert [fault.split(":")[0] for fault in faults] == ["row"]
    assert last == f"1 faults; all else is readable: 0 sealed hours, 0 chunks, {OLD}"
    unpacked(tmp_path / "store.db")
    assert run("backup", "copy.db") == 0
    assert OLD in capsys.readouterr().out
    assert run("restore", "copy.db") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "restored from copy.db; sound: 0 sealed hours, 0 chunks, 3,040 rows",
        f"The backup's tables were of version 1; the store's are of version {schema.VERSION}.",
    ]


def test_an_empty_or_a_newer_store_is_not_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("store.db").touch()
    assert run("verify") == 2
    assert capsys.readouterr().err == "the store is empty: start the collector, which prepares it\n"
    made = open_store("store.db", writer=True, now_ms=NOW)
    with made._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE meta SET value = '{schema.VERSION + 1}' WHERE key = 'schema'")
    made.close()
    assert run("verify") == 2
    assert "a newer version of this program wrote the store" in capsys.readouterr().err


def test_a_backup_says_that_it_holds_secrets(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = open_store(str(store), writer=True, now_ms=NOW)
    made.set_preference("channel/a", {"url": "secret"})
    made.close()
    assert run("backup", "copy.db") == 0
    told = capsys.readouterr().out
    assert told.endswith("It holds 1 channel, as the store does: whoever can read it can use them.\n")
    assert "secret" not in told


def test_a_collector_that_runs_keeps_its_store(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("backup", "copy.db") == 0
    made = open_store(str(store), writer=True, now_ms=NOW)
    made.claim()
    assert run("restore", "copy.db") == 2
    assert run("verify") == 0
    assert run("backup", "other.db") == 0
    assert "another collector writes to the store" in capsys.readouterr().err
    made.close()


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    line = Line(lambda: now[0])
    line.tell("copied", 1, 4)
    now[0] = 0.5
    line.tell("copied", 1, 4)
    line.end()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    line.tell("copied", 1, 4)
    now[0] = 0.9
    line.tell("copied", 2, 4)
    now[0] = 1.0
    line.tell("verified", 0, 0)
    line.end()
    line.end()
    assert capsys.readouterr().err == "\r 25% copied   \r  0% verified   \r" + " " * 20 + "\r"
