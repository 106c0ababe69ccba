"""The process that delivers, as `run` starts it: real settings, a real store, and a log without secrets."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from alerts.notices import Channel
from alerts.outbox import State
from pipeline.notify.destination import Destination
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.process import Heart, Jobs, _tried
from storage.errors import StoreBusy, StoreGone
from storage.records import Batch
from storage.store import Store, open_store
from tests.notify.receivers import Hook, hook
from tests.notify.stage import START_MS, Watch

ROOT = Path(__file__).parent.parent.parent
SECRET = "hunter22-s3cr3t"
PATIENCE_S = 60.0
"""A busy machine takes long to start a process."""


def command(where: Path, *arguments: str) -> subprocess.Popen[str]:
    line = [sys.executable, str(ROOT / "app.py"), *arguments, "--config", str(where / "tachograph.toml")]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TACHOGRAPH_")}
    return subprocess.Popen(line, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)


@contextmanager
def notifier(where: Path) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The process, and what it wrote once it has ended."""
    process, wrote = command(where, "notify", "--log-level", "debug"), list[str]()
    try:
        yield process, wrote
    finally:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE_S)
        wrote += [out, err]


def wait(store: Store, identity: str) -> tuple[State, str]:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = store.notice(identity)
        if found is not None and found.state is not State.WAITING:
            return found.state, found.error
        time.sleep(0.05)
    raise AssertionError("nobody delivered it")


def configure(where: Path, receiver: Hook, more: str = "") -> Path:
    path = where / "store.db"
    (where / "address").write_text(receiver.url(path=f"/in/{SECRET}", user=f"ann:{SECRET}@") + "\n")
    (where / "tachograph.toml").write_text(
        f'store = "{path}"\nweb_url = "http://hub:8050"\n[channels.ops]\nurl_file = "{where / "address"}"\n{more}'
    )
    return path


def test_what_was_decided_is_delivered_and_no_secret_is_written(tmp_path: Path) -> None:
    with hook() as receiver:
        path = configure(tmp_path, receiver)
        start_ms = time.time_ns() // 1_000_000
        watch = Watch(path, [Destination(Channel("ops", gather_ms=0), "json://never.example/")], start_ms)
        watch.decide(watch.fire(1, "spark-01"))
        receiver.answer = f"welcome {SECRET}".encode()
        with notifier(tmp_path) as (process, wrote):
            assert receiver.heard.wait(PATIENCE_S)
            first = watch.store.outgoing()[0].id
            assert wait(watch.store, first) == (State.SENT, "")
            receiver.status = 500
            failed = watch.store.ask_test("ops", start_ms + 10_000)
            assert wait(watch.store, failed) == (State.FAILED, "HTTP 500 Internal Server Error")
        watch.close()
    assert process.returncode == 0
    assert receiver.bodies()[0]["alerts"][0]["link"] == "http://hub:8050/alerts/1"
    assert SECRET not in "".join(wrote)
    for file in tmp_path.glob("store.db*"):
        assert SECRET.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ('url = "xml://hunter22"', "channels.ops: 'xml://…' is wrong, expected an address that begins with ntfy://"),
        ('url = "slack://hunter22"', "channels.ops: 'slack://…' is wrong, expected an address of Slack as Apprise"),
        ('url_env = "NOT_SET_ANYWHERE"', "channels.ops.url_env: 'NOT_SET_ANYWHERE' is wrong, expected a variable"),
        ('url_file = "/nowhere/at/all"', "channels.ops.url_file: '/nowhere/at/all' is wrong, expected a readable file"),
        ('url = "json://h/hunter22"\n[heartbeat]\nurl = "ftp://hunter22"', "heartbeat: 'ftp://…' is wrong, expected"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, table: str, sentence: str) -> None:
    (tmp_path / "tachograph.toml").write_text(f'store = "{tmp_path / "s.db"}"\n[channels.ops]\n{table}\n')
    process = command(tmp_path, "notify")
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert sentence in err
    assert "hunter22" not in err


def test_a_test_from_the_command_line(tmp_path: Path) -> None:
    with hook() as receiver:
        receiver.answer = f"thanks {SECRET}".encode()
        configure(tmp_path, receiver)
        done = command(tmp_path, "alerts", "test-channel", "ops")
        out, err = done.communicate(timeout=PATIENCE_S)
        assert (done.returncode, out, err) == (0, "ops (json://…) took it: HTTP 200 OK\n", "")
        assert receiver.bodies()[0]["test"] is True
        receiver.status = 403
        done = command(tmp_path, "alerts", "test-channel", "ops")
        out, err = done.communicate(timeout=PATIENCE_S)
        assert (done.returncode, out, err) == (1, "", "ops (json://…) did not take it: HTTP 403 Forbidden\n")
        done = command(tmp_path, "alerts", "test-channel", "nobody")
        _, err = done.communicate(timeout=PATIENCE_S)
        assert (done.returncode, err) == (2, "there is no channel nobody: ops\n")
        done = command(tmp_path, "alerts", "channels")
        out, _ = done.communicate(timeout=PATIENCE_S)
        assert (done.returncode, out) == (0, "ops: json://…, from warning, on\n")


class Beats:
    """Counts, or refuses."""

    def __init__(self) -> None:
        self.count, self.refuses = 0, ""

    def __call__(self) -> str:
        self.count += 1
        if self.refuses:
            raise UndeliveredError(self.refuses)
        return "HTTP 200"


def test_the_heart_beats_while_something_is_committed(tmp_path: Path) -> None:
    store, beats = open_store(str(tmp_path / "store.db"), writer=True, now_ms=START_MS), Beats()
    store.commit(Batch(), START_MS)
    heart = Heart(60.0, store, beats)
    assert [heart.step(second) for second in (0.0, 1.0)] == [False, False]
    store.commit(Batch(), START_MS)
    assert [heart.step(second) for second in (2.0, 3.0)] == [True, False]
    store.commit(Batch(), START_MS)
    assert [heart.step(second) for second in (61.9, 62.0, 63.0)] == [False, True, False]
    assert [heart.step(second) for second in (122.0, 500.0)] == [False, False]
    beats.refuses = "HTTP 500"
    store.commit(Batch(), START_MS)
    assert heart.step(501.0) is False
    assert beats.count == 3
    store.close()


def test_a_heartbeat_over_http_stops_with_the_collector(tmp_path: Path) -> None:
    with hook() as receiver:
        url = receiver.url("http", "/ping/uuid-1")
        (tmp_path / "tachograph.toml").write_text(
            f'store = "{tmp_path / "store.db"}"\n[heartbeat]\nurl = "{url}"\nevery = 10\n'
        )
        with notifier(tmp_path) as (_, wrote):
            store = open_store(str(tmp_path / "store.db"), writer=True, now_ms=START_MS)
            deadline = time.monotonic() + PATIENCE_S
            while not receiver.heard.is_set() and time.monotonic() < deadline:
                store.commit(Batch(), START_MS)
                receiver.heard.wait(0.2)
        store.close()
    assert [path for path, _, _ in receiver.got] == ["/ping/uuid-1"]
    assert "uuid-1" not in "".join(wrote)


def test_what_is_wrong_with_the_store_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def busy() -> None:
        raise StoreBusy("the store is busy")

    def gone() -> None:
        raise StoreGone("the file is gone")

    problem = _tried(busy, "")
    assert problem == "the store is busy"
    assert _tried(busy, problem) == problem
    assert caplog.messages == ["messages wait: the store is busy"]
    assert _tried(lambda: None, problem) == ""
    with pytest.raises(StoreGone):
        _tried(gone, "")


def test_a_job_that_goes_well_does_not_make_the_trouble_of_another_new(caplog: pytest.LogCaptureFixture) -> None:
    def busy() -> None:
        raise StoreBusy("the store is busy")

    now, done = [0.0], list[float]()
    jobs = Jobs([(1.0, busy), (1.0, lambda: None), (10.0, lambda: done.append(now[0]))], lambda: now[0])
    for second in range(21):
        now[0] = float(second)
        jobs.step()
    assert caplog.messages == ["messages wait: the store is busy"]
    assert done == [0.0, 10.0, 20.0]


def test_a_heart_that_is_not_heard_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store, beats = open_store(str(tmp_path / "store.db"), writer=True, now_ms=START_MS), Beats()
    heart = Heart(10.0, store, beats)
    heart.step(0.0)
    for second, refuses in ((10.0, "HTTP 500"), (20.0, "HTTP 500"), (30.0, ""), (40.0, "HTTP 500")):
        beats.refuses = refuses
        store.commit(Batch(), START_MS)
        assert heart.step(second) is not bool(refuses)
    assert caplog.messages == ["the heartbeat channel does not take our word: HTTP 500"] * 2
    store.close()
