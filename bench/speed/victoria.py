"""VictoriaMetrics with the same values: imported and asked over its API."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.speed import texts
from bench.speed.asked import COUNTERS, CSV_MS, GAUGES, QUANTILES, RUN_MS, Questions
from bench.speed.cost import folder_bytes
from bench.speed.peer import FOLDS, STORED, Peer
from bench.speed.server import Server, running
from bench.speed.workload import Size
from telemetry.summary import HOUR_MS

BODY_BYTES = 16 << 20
"""Of one import."""
FORMAT = "__timestamp__:rfc3339,target,__name__,gpu,cage,function,engine,model,le,outcome,__value__"


class VictoriaMetrics(Peer):
    """Debian's victoria-metrics."""

    name = "VictoriaMetrics"
    program = "victoria-metrics"

    def load(self, size: Size, say: Callable[[str], None]) -> int:
        """Import everything, let it put its parts together, look at its size; then the days of one metric."""
        self.data.mkdir(parents=True, exist_ok=True)
        with self.serve() as server:
            for start, parts in texts.everything(size, 2 * HOUR_MS):
                _import(server, parts)
                say(f"VictoriaMetrics: {(start - size.first_ms) // HOUR_MS + 2} of {size.hours} hours")
            self._tidied(server)
        found = folder_bytes(self.data)
        with self.serve() as server:
            for start, parts in texts.days(size, 48 * HOUR_MS):
                _import(server, parts)
                say(f"VictoriaMetrics: from day {(start - size.before_ms) // (24 * HOUR_MS)} of {size.days}")
            self._tidied(server)
        return found

    def _tidied(self, server: Server) -> None:
        for path in ("/internal/force_flush", "/internal/force_merge"):
            server.get(path)
        server.settle()

    def serve(self) -> AbstractContextManager[Server]:
        """The server, without a target to scrape."""
        return running(lambda port: command(port, self.data), "/health", self.folder / "server.log")

    def questions(self, server: Server, size: Size) -> Questions:
        """Of every sample the CSV."""
        start, end = (size.now_ms - CSV_MS) / 1000, size.now_ms / 1000
        asked = [("match[]", STORED), ("start", start), ("end", end), ("format", FORMAT)]
        return {**super().questions(server, size), "csv": lambda: server.drain("/api/v1/export/csv", asked)}

    def ranges(self, metric: str, step_ms: int) -> Sequence[str]:
        """All folds in one question, which its language knows."""
        folds = ",".join(f'"{fold}"' for fold in FOLDS.values())
        return [f"aggr_over_time(({folds}), {metric}[{step_ms}ms])"]

    def summaries(self) -> Sequence[str]:
        """A question per metric, all its folds in one."""
        folds = ",".join(f'"{fold}"' for fold in FOLDS.values())
        phis = ", ".join(map(str, QUANTILES))
        window = f"[{RUN_MS // 1000}s]"
        gauges = [
            f'union(aggr_over_time(({folds}), {name}{window}), quantiles_over_time("phi", {phis}, {name}{window}))'
            for name in GAUGES
        ]
        return gauges + [f"increase({name}{window})" for name in COUNTERS]


def command(port: int, data: Path, *more: str) -> Sequence[str]:
    """Command line of a server."""
    return (
        "victoria-metrics",
        f"-storageDataPath={data}",
        "-retentionPeriod=50y",
        "-memory.allowedBytes=2GiB",
        "-search.maxUniqueTimeseries=1000000",
        "-search.maxPointsPerTimeseries=100000",
        f"-httpListenAddr=127.0.0.1:{port}",
        *more,
    )


def _import(server: Server, parts: Iterable[texts.Part]) -> None:
    body, size = [], 0
    for part in parts:
        body.append(texts.jsonline(part))
        size += len(body[-1])
        if size > BODY_BYTES:
            server.send("POST", "/api/v1/import", b"".join(body))
            body, size = [], 0
    server.send("POST", "/api/v1/import", b"".join(body))
