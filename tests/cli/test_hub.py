"""What `run` and `demo` make sure of before they start anything."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from cli import hub, web
from cli.supervisor import Child
from settings import Settings, SettingsError


def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new/t.db"


def test_on_loopback_there_is_no_token(tmp_path: Path) -> None:
    ready = hub.prepare(Settings(store=store(tmp_path), port=0))
    assert ready.settings.port > 0
    assert ready.link == f"http://127.0.0.1:{ready.settings.port}/"
    assert ready.token_file is None
    assert ready.settings.token_file is None
    assert [path.name for path in tmp_path.rglob("*")] == ["new"]


def test_anywhere_else_the_link_with_the_token_is_shown_once(tmp_path: Path) -> None:
    settings = Settings(store=store(tmp_path), port=0, host="0.0.0.0")
    path = tmp_path / "new" / "web-token"
    first = hub.prepare(settings)
    token = path.read_text().strip()
    address = f"http://{socket.gethostname().lower()}:{first.settings.port}/"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first.link == f"{address}?token={token}"
    assert first.token_file == str(path)
    assert first.settings.token_file == str(path), "the web process reads the same file"
    again = hub.prepare(first.settings)
    assert again.link == address
    assert path.read_text().strip() == token


def test_a_port_that_is_taken_is_said_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"port: 127\.0\.0\.1:{port} is wrong, expected an address nobody"):
            hub.prepare(Settings(store=store(tmp_path), port=port))
    assert hub.free_port("127.0.0.1", port) == port


def test_the_web_page_alone_says_it_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert web.main(Settings(store=store(tmp_path), port=port)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"port: 127.0.0.1:{port} is wrong, expected an address nobody listens on")


def test_an_address_of_nobody_here() -> None:
    with pytest.raises(SettingsError, match=r"port: 203\.0\.113\.1:0 is wrong"):
        hub.free_port("203.0.113.1", 0)


def test_a_token_file_that_cannot_be_read_is_said_before_anything_starts(tmp_path: Path) -> None:
    settings = Settings(
        store=store(tmp_path), port=0, nodes={"a": "http://a"}, node_token_file=str(tmp_path / "absent")
    )
    with pytest.raises(SettingsError, match=r"node_token_file: .*absent"):
        hub.prepare(settings)


class Kept:
    """Names of children that would be started."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def keep(self, child: Child) -> None:
        self.names.append(child.name)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, ["collector", "web"]),
        ({"channels": {"ops": {"url": "json://h/x"}}}, ["collector", "web", "notify"]),
        ({"heartbeat": {"url": "https://h/x"}}, ["collector", "web", "notify"]),
    ],
)
def test_who_delivers_is_started_where_there_is_somebody_to_tell(
    tmp_path: Path, more: dict[str, dict[str, str]], names: list[str]
) -> None:
    kept = Kept()
    ready = hub.prepare(Settings(store=store(tmp_path), port=0, **more))  # type: ignore[arg-type]
    hub.start(kept, ready)  # type: ignore[arg-type]
    assert kept.names == names


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"channels": {"ops": {"url": "xml://hunter22"}}}, r"channels\.ops: 'xml://…' is wrong"),
        ({"heartbeat": {"url": "ftp://hunter22"}}, r"heartbeat: 'ftp://…' is wrong"),
    ],
)
def test_channels_that_cannot_be_are_said_before_anything_starts(
    tmp_path: Path, more: dict[str, dict[str, str]], problem: str
) -> None:
    with pytest.raises(SettingsError, match=problem) as caught:
        hub.prepare(Settings(store=store(tmp_path), port=0, **more))  # type: ignore[arg-type]
    assert "hunter22" not in str(caught.value)
