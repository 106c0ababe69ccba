"""Bearer tokens: read from files, and made for the web page at its first start."""

from __future__ import annotations

import ipaddress
import os
import secrets
import stat
from pathlib import Path

from cli.files import text_of
from settings import Settings, SettingsError

NAME = "web-token"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than localhost may mean anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read(path: str | None, setting: str) -> str | None:
    """The token in a file, None when no file is named. SettingsError when it cannot be read, is empty or has spaces."""
    if path is None:
        return None
    try:
        token = text_of(Path(path)).strip()
    except (OSError, ValueError) as error:
        raise SettingsError([f"{setting}: {path!r} is wrong, expected a readable file ({error})"]) from error
    if not token.isascii() or not token.isprintable() or not token or " " in token:
        raise SettingsError([f"{setting}: {path!r} is wrong, expected a file with one token of printable ASCII"])
    return token


def web_token_file(settings: Settings, state: Path) -> Path | None:
    """File of the token that visitors need, None when they need none: on loopback, unless a file is named.

    state: directory for the token when the store is no file.
    """
    if settings.token_file is not None:
        return Path(settings.token_file)
    if is_loopback(settings.host):
        return None
    scheme, _, path = settings.store.partition(":///")
    return (Path(path).parent if scheme == "sqlite" else state) / NAME


def web_token(path: Path | None) -> tuple[str | None, bool]:
    """The token that visitors need, and whether it was made just now (the moment to show it once).

    SettingsError when the file can be read by others: the token would be no secret.
    """
    if path is None:
        return None, False
    made = _make(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & 0o077:
        raise SettingsError(
            [f"token_file: {str(path)!r} has mode {mode:04o}, expected 0600: others can read the token"]
        )
    return read(str(path), "token_file"), made


def _make(path: Path) -> bool:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        if path.is_file():
            return False
        raise SettingsError(
            [f"token_file: {str(path)!r} is wrong, expected a file that can be made ({error})"]
        ) from error
    with os.fdopen(handle, "w") as file:
        file.write(secrets.token_urlsafe(32) + "\n")
    return True
