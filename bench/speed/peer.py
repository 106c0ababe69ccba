"""What the two servers of others have in common: they speak PromQL over HTTP."""

from __future__ import annotations

import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.speed.asked import (
    BUCKETS,
    DAY_MS,
    DAY_POINTS,
    MONTH_POINTS,
    QUANTILES,
    RECENT_MS,
    RUN_MS,
    Questions,
    run_end_ms,
)
from bench.speed.server import Server
from bench.speed.texts import ROLLUPS
from bench.speed.workload import POWER, Size

FOLDS = {"min": "min_over_time", "max": "max_over_time", "avg": "avg_over_time"}
STORED = '{__name__!="",__name__!~".*10m"}'
"""Everything but what recording rules would have made."""
Ask = Callable[[], object]


class Peer(ABC):
    """A rival. folder: where its data lies, made by `load` and left there."""

    name = ""
    program = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"

    @classmethod
    def missing(cls) -> str:
        """Why it cannot be asked, or ""."""
        return "" if shutil.which(cls.program) else f"{cls.program} is not installed (apt-get install {cls.program})"

    @abstractmethod
    def load(self, size: Size, say: Callable[[str], None]) -> int:
        """Give it the same values; bytes of the history of everything on its disk."""

    @abstractmethod
    def serve(self) -> AbstractContextManager[Server]:
        """The server with what was loaded."""

    def questions(self, server: Server, size: Size) -> Questions:
        """The same questions in its language."""
        now, ended = size.now_ms, run_end_ms(size)
        return {
            "latest": instant(server, STORED, now),
            "recent": instant(server, f"{POWER}[{RECENT_MS // 1000}s]", now),
            "day": over(server, self.ranges(POWER, DAY_MS // DAY_POINTS), now, DAY_MS, DAY_POINTS),
            "month": over(server, self.ranges(POWER, 30 * DAY_MS // MONTH_POINTS), now, 30 * DAY_MS, MONTH_POINTS),
            "month_rules": over(server, rolled_up(30 * DAY_MS // MONTH_POINTS), now, 30 * DAY_MS, MONTH_POINTS),
            "summary": many([instant(server, one, ended) for one in self.summaries()]),
            "summary_now": many([instant(server, one, now) for one in self.summaries()]),
            "percentiles": many([instant(server, one, ended) for one in percentiles()]),
        }

    def ranges(self, metric: str, step_ms: int) -> Sequence[str]:
        """Least, largest and mean of each step."""
        return [f"{fold}({metric}[{step_ms}ms])" for fold in FOLDS.values()]

    @abstractmethod
    def summaries(self) -> Sequence[str]:
        """A run's summary."""


def rolled_up(step_ms: int) -> Sequence[str]:
    """The same from what recording rules made."""
    return [f"{FOLDS[name]}({POWER}:{name}10m[{step_ms}ms])" for name in ROLLUPS]


def percentiles() -> Sequence[str]:
    """Of all observations of a run."""
    return [
        f"histogram_quantile({quantile}, increase({bucket}[{RUN_MS // 1000}s]))"
        for bucket in BUCKETS
        for quantile in QUANTILES
    ]


def instant(server: Server, query: str, at_ms: int) -> Ask:
    """A question about an instant."""
    return lambda: server.get("/api/v1/query", {"query": query, "time": at_ms / 1000, "nocache": 1})


def over(server: Server, queries: Sequence[str], end_ms: int, span_ms: int, points: int) -> Ask:
    """Questions about a range; steps end at their points."""
    step_ms = span_ms // points
    asked = {"start": (end_ms - span_ms + step_ms) / 1000, "end": end_ms / 1000, "step": step_ms / 1000, "nocache": 1}
    return many([lambda query=query: server.get("/api/v1/query_range", {"query": query, **asked}) for query in queries])


def many(asks: Sequence[Ask]) -> Ask:
    """Several questions, one after the other."""
    return lambda: [ask() for ask in asks]


def vector(server: Server, query: str, at_ms: int) -> dict[str, float]:
    """Values of an instant by target."""
    found = json.loads(server.get("/api/v1/query", {"query": query, "time": at_ms / 1000, "nocache": 1}))
    return {one["metric"]["target"]: float(one["value"][1]) for one in found["data"]["result"]}
