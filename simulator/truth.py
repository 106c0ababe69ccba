"""The truth log: one line of JSON per simulated second, in files of an hour of which the last ones are kept.

The first line of each file says how simulated seconds map to the wall clock, and what stands behind the fault numbers
so far; a line with a fault that is not in it follows when the fault is asked for.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any, TextIO

from simulator.faults import Incident

LINES_PER_FILE = 3600
FILES_KEPT = 48
SECONDS_REMEMBERED = 900


class TruthLog:
    """Writes `truth-00000000.jsonl` and so on, named after their first second; without a folder it only remembers."""

    def __init__(self, folder: Path | None, about: dict[str, Any]) -> None:
        self._folder = folder
        self._about = {"kind": "about", **about}
        self._faults: list[dict[str, Any]] = []
        self._file: TextIO | None = None
        self._written = 0
        self._kept: deque[dict[str, Any]] = deque(maxlen=SECONDS_REMEMBERED)
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def fault(self, incident: Incident) -> None:
        """Somebody asked for a fault, or took one back."""
        record = {"kind": "fault", **incident.public()}
        self._faults = [*(one for one in self._faults if one["id"] != record["id"]), record]
        if self._file is not None:
            self._write(record)

    def second(self, at: int, record: dict[str, Any]) -> None:
        """One second is over; seconds before 0 are the past that nobody saw."""
        if at < 0:
            return
        line = {"kind": "second", "t": at, **record}
        self._kept.append(line)
        if self._folder is None:
            return
        if self._file is None or self._written >= LINES_PER_FILE:
            self._open(self._folder, at)
        self._write(line)
        self._written += 1

    def after(self, at: float) -> list[dict[str, Any]]:
        """The remembered seconds after an instant."""
        return [line for line in self._kept if line["t"] > at]

    def about(self) -> dict[str, Any]:
        """What the first line of a file says."""
        return self._about

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self, folder: Path, at: int) -> None:
        self.close()
        for old in sorted(folder.glob("truth-*.jsonl"))[: -FILES_KEPT + 1 or None]:
            old.unlink()
        self._file = (folder / f"truth-{at:08d}.jsonl").open("w", encoding="utf-8")
        self._written = 0
        for record in (self._about, *self._faults):
            self._write(record)

    def _write(self, record: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(record, separators=(",", ":")) + "\n")
        self._file.flush()
