"""Tokens: who needs one, where it is kept, and that others cannot read it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from cli import configs, tokens
from settings import Settings, SettingsError


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert tokens.is_loopback(host) is loopback


def test_loopback_needs_no_token(tmp_path: Path) -> None:
    assert tokens.web_token_file(Settings(store="sqlite:////srv/t/a.db"), tmp_path) is None
    assert tokens.web_token(None) == (None, False)


def test_anywhere_else_needs_one(tmp_path: Path) -> None:
    sqlite = Settings(store="sqlite:////srv/t/a.db", host="0.0.0.0")
    assert tokens.web_token_file(sqlite, tmp_path) == Path("/srv/t/web-token")
    postgres = Settings(store="postgresql+psycopg:///x", host="10.0.0.1")
    assert tokens.web_token_file(postgres, tmp_path) == tmp_path / "web-token"


def test_a_named_file_holds_everywhere(tmp_path: Path) -> None:
    settings = Settings(store="sqlite:////srv/t/a.db", token_file="/etc/token")
    assert tokens.web_token_file(settings, tmp_path) == Path("/etc/token")


def test_the_token_is_made_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "web-token"
    before = os.umask(0)
    try:
        first, made = tokens.web_token(path)
    finally:
        os.umask(before)
    assert made
    assert first is not None
    assert len(first) == 43
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert tokens.web_token(path) == (first, False)
    other, _ = tokens.web_token(tmp_path / "other")
    assert other != first


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "web-token"
    path.write_text("secret\n")
    path.chmod(mode)
    with pytest.raises(SettingsError, match=f"has mode {mode:04o}, expected 0600"):
        tokens.web_token(path)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"token_file: .* is wrong, expected a file that can be made"):
        tokens.web_token(tmp_path / "file" / "web-token")


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"\xff", "ü".encode(), b"a\nb"])
def test_files_without_a_token(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"node_token_file: .* is wrong, expected a"):
        tokens.read(str(path), "node_token_file")


def test_reading(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret-_\n")
    assert tokens.read(str(tmp_path / "token"), "x") == "s3cret-_"
    assert tokens.read(None, "x") is None
    with pytest.raises(SettingsError, match=r"x: .*absent.* is wrong, expected a readable file"):
        tokens.read(str(tmp_path / "absent"), "x")


def test_a_config_shows_no_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret")
    settings = Settings(
        store="sqlite:////x.db",
        nodes={"a": "http://a:1"},
        engines={"b": "http://b:1"},
        node_token_file=str(tmp_path / "token"),
    )
    config = configs.collector(settings)
    assert (config.nodes[0].token, config.engines[0].token) == ("s3cret", None)
    assert "s3cret" not in repr(config)
    web = configs.web(settings, "s3cret")
    assert web.token == "s3cret"
    assert "s3cret" not in repr(web)
