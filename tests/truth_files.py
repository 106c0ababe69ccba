"""The two things that `check_truth.py` compares, read into memory: the simulator's truth log and a store.

Imports neither the product nor the simulator.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

QUIET_S = 1
"""How long nothing may happen around an instant for it to be quiet."""


class Truth:
    """The log, and the functions of time in it; instants are seconds of the simulated clock."""

    def __init__(self, folder: Path) -> None:
        lines = [
            json.loads(line) for file in sorted(folder.glob("truth-*.jsonl")) for line in file.open(encoding="utf-8")
        ]
        self.about: dict[str, Any] = next((line for line in lines if line["kind"] == "about"), {})
        self.seconds = {line["t"]: line for line in lines if line["kind"] == "second"}
        self.first: int = min(self.seconds, default=0)
        self.last: int = max(self.seconds, default=-1)
        steps = [step for at, second in self.seconds.items() if at > self.first for step in second["steps"]]
        before = self.seconds[self.first]["generated"] if self.seconds else 0
        self._ends = [float("-inf"), *(end for end, _ in steps)]
        self._totals = [before, *(total for _, total in steps)]

    def instant(self, at_ms: float) -> float:
        """Epoch milliseconds → simulated seconds."""
        return float((at_ms / 1000 - self.about["epoch_s"]) * self.about["speed"])

    def instant_of(self, node: int, monotonic_s: float) -> float:
        """Monotonic clock of a node in its first boot → simulated seconds."""
        return float((self.about["booted"][node] + monotonic_s - self.about["epoch_s"]) * self.about["speed"])

    def generated(self, instant: float) -> int:
        """Tokens generated up to an instant: exact, step by step."""
        return int(self._totals[max(bisect_right(self._ends, instant) - 1, 0)])

    def value(self, second: int, name: str) -> float:
        """A cumulative value at the end of a second."""
        return float(self.seconds[second][name])

    def quiet(self, instant: float, name: str) -> bool:
        """Whether nothing of a kind was counted, and nothing restarted, from a second before to a second after."""
        around = self._around(instant)
        return bool(around) and all(around[0][key] == around[-1][key] for key in (name, "lives"))

    def unobserved(self, instant: float, name: str) -> bool:
        """The same for the observations of a histogram."""
        around = self._around(instant)
        seen = any(second["observed"].get(name) for second in around[1:])
        return bool(around) and not seen and around[0]["lives"] == around[-1]["lives"]

    def _around(self, instant: float) -> list[dict[str, Any]]:
        """The seconds around an instant, empty where the log does not cover them all."""
        wanted = range(int(instant) - QUIET_S, int(instant) + 2 + QUIET_S)
        return [self.seconds[at] for at in wanted] if all(at in self.seconds for at in wanted) else []

    def lives(self, instant: float) -> int:
        """Which process of the engine it is."""
        return int(self.seconds[min(max(int(instant), self.first), self.last)]["lives"])


@dataclass
class Column:
    """One series of the store: instants of its samples and their values."""

    target: str
    labels: dict[str, str]
    at_ms: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


class Recorded:
    """The store, read once into columns."""

    def __init__(self, path: Path, start_ms: float, end_ms: float) -> None:
        self.columns: dict[str, list[Column]] = {}
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            self._read(database, start_ms, end_ms)
        database.close()

    def _read(self, database: sqlite3.Connection, start_ms: float, end_ms: float) -> None:
        columns = {}
        for number, target, metric, labels in database.execute("SELECT id, target, metric, labels FROM series"):
            columns[number] = Column(target, json.loads(labels))
            self.columns.setdefault(metric, []).append(columns[number])
        layouts = {number: json.loads(ids) for number, ids in database.execute("SELECT id, series_ids FROM layout")}
        query = "SELECT at_ms, layout, data FROM hot WHERE tick >= ? AND tick <= ? ORDER BY target, tick"
        for at_ms, layout, data in database.execute(query, (start_ms, end_ms)):
            for number, value in zip(layouts[layout], json.loads(data), strict=True):
                if value is not None:
                    columns[number].at_ms.append(at_ms)
                    columns[number].values.append(value)
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = database.execute("SELECT end_ms, tokens FROM episode ORDER BY end_ms") if "episode" in names else ()
        self.episodes = [(end, tokens) for end, tokens in rows if start_ms <= end <= end_ms]

    def of(self, metric: str, **labels: str) -> list[Column]:
        """The series of a metric that have samples and these labels."""
        found = (column for column in self.columns.get(metric, []) if column.values)
        return [column for column in found if all(column.labels.get(name) == value for name, value in labels.items())]


def summed(columns: list[Column]) -> Column:
    """Several series of one target as one: their sum wherever all have a sample."""
    by_time: dict[int, list[float]] = {}
    for column in columns:
        for at_ms, value in zip(column.at_ms, column.values, strict=True):
            by_time.setdefault(at_ms, []).append(value)
    whole = sorted(at_ms for at_ms, values in by_time.items() if len(values) == len(columns))
    return Column(columns[0].target, {}, whole, [sum(by_time[at_ms]) for at_ms in whole])
