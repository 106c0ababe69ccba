"""A PostgreSQL server for tests, as a user without rights, in a directory of its own; reached by a socket in it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

ROOT, PASSWORD = "owner", "pass:w%rd/@?"
QUOTED = "pass%3Aw%25rd%2F%40%3F"
SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "log_min_messages": "fatal",
}


def programs() -> Path | None:
    """Where the server's programs are; Debian keeps them out of the path."""
    found = shutil.which("initdb")
    if found is not None and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return versions[-1].parent if versions else None


def _mortal() -> list[str]:
    """What lets a program die with the test that began it, where that is killed."""
    found = shutil.which("setpriv")
    return [] if found is None else [found, "--pdeathsig", "QUIT"]


class Server:
    """One server; `stop` and `start` again keep what it holds."""

    def __init__(self, bin_: Path) -> None:
        self._bin = bin_
        self.directory = Path(tempfile.mkdtemp(prefix="tachograph-postgresql-"))
        self._as: Mapping[str, Any] = {}
        if os.geteuid() == 0:
            self._as = {"user": 65534, "group": 65534, "extra_groups": []}
            os.chown(self.directory, 65534, 65534)
        self._process: subprocess.Popen[bytes] | None = None
        self._made = 0
        self._initialise()

    def _initialise(self) -> None:
        secret = self.directory / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        options = ["--auth=scram-sha-256", f"--pwfile={secret}", f"--username={ROOT}", "--no-sync", "--encoding=UTF8"]
        locale = ["--locale-provider=icu", "--icu-locale=en-US", "--locale=C"]  # sorts "a" before "B"
        command = [self._bin / "initdb", *options, *locale, self.directory / "data"]
        subprocess.run(command, check=True, capture_output=True, cwd=self.directory, **self._as)

    def start(self) -> None:
        """Begin, and wait until it answers."""
        settings = {**SETTINGS, "unix_socket_directories": str(self.directory)}
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_mortal(), self._bin / "postgres", "-D", self.directory / "data", *flags],
                stdout=log,
                stderr=log,
                cwd=self.directory,
                **self._as,
            )
        command = [self._bin / "pg_isready", "--quiet", "-h", self.directory, "-t", "1"]
        while subprocess.run(command, check=False).returncode:
            assert self._process.poll() is None, (self.directory / "log").read_text()

    def stop(self, how: int = signal.SIGINT) -> None:
        """End: SIGINT drops all connections, SIGQUIT is a crash."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End, and leave nothing behind."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.directory)

    def url(self, database: str = "postgres", user: str = ROOT, password: str = QUOTED, schema: str = "") -> str:
        """Address of a database, as people write it; with a schema, of that alone."""
        options = f"&options=-csearch_path%3D{schema}" if schema else ""
        return f"postgresql+psycopg://{user}:{password}@/{database}?host={self.directory}{options}"

    def run(self, statement: str, database: str = "postgres", *values: Any) -> list[Any]:
        """A statement as the owner; its rows."""
        with psycopg.connect(
            host=str(self.directory), dbname=database, user=ROOT, password=PASSWORD, autocommit=True
        ) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def new(self, kind: str = "DATABASE", options: str = "") -> str:
        """Name of a new, empty database, or of a schema, which takes a tenth of the time."""
        self._made += 1
        name = f"store{self._made}"
        self.run(f"CREATE {kind} {name} {options}")
        return name
