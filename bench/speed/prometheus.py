"""Prometheus with the same values: blocks made by promtool, questions over its API."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from bench.speed import texts
from bench.speed.asked import COUNTERS, CSV_MS, GAUGES, QUANTILES, RUN_MS, Questions
from bench.speed.cost import folder_bytes
from bench.speed.peer import FOLDS, STORED, Peer
from bench.speed.server import Server, running
from bench.speed.workload import Size
from telemetry.summary import HOUR_MS

BLOCK_MS = 2 * HOUR_MS
LONG_BLOCK_MS = 54 * HOUR_MS
"""Blocks of the days of one metric: as long as Prometheus itself would have made them by then."""


class Prometheus(Peer):
    """Debian's prometheus, fed by promtool."""

    name = "Prometheus"
    program = "prometheus"

    def load(self, size: Size, say: Callable[[str], None]) -> int:
        """Make its blocks, then let it put them together as it likes."""
        for start, parts in texts.everything(size, BLOCK_MS):
            self._block(parts, BLOCK_MS)
            say(f"Prometheus: block {(start - size.first_ms) // BLOCK_MS + 1} of {size.hours // 2 + 1}")
        found = folder_bytes(self.data)
        for start, parts in texts.days(size, LONG_BLOCK_MS):
            self._block(parts, LONG_BLOCK_MS)
            say(f"Prometheus: from day {(start - size.before_ms) // (24 * HOUR_MS)} of {size.days}")
        return found

    def _block(self, parts: Sequence[texts.Part], length_ms: int) -> None:
        """One block, out of a file that is gone afterwards."""
        self.data.mkdir(parents=True, exist_ok=True)
        file = self.folder / "block.txt"
        with file.open("wb") as out:
            out.writelines(_lines(parts))
            out.write(b"# EOF\n")
        limit = f"--max-block-duration={length_ms // HOUR_MS}h"
        command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", limit, "--quiet", str(file), str(self.data)]
        subprocess.run(command, check=True, capture_output=True)
        file.unlink()

    def serve(self) -> AbstractContextManager[Server]:
        """The server, with all that was loaded and without a target to scrape."""
        config = self.folder / "prometheus.yml"
        config.write_text("global: {}\n")
        return running(lambda port: command(port, self.data, config), "/-/ready", self.folder / "server.log")

    def questions(self, server: Server, size: Size) -> Questions:
        """Of every sample it has no CSV: what it would be made of, as JSON."""
        asked = [("query", f"{STORED}[{CSV_MS // 1000}s]"), ("time", size.now_ms / 1000)]
        return {**super().questions(server, size), "csv": lambda: server.drain("/api/v1/query", asked)}

    def summaries(self) -> Sequence[str]:
        """A question per metric, all its folds in one."""
        window = f"[{RUN_MS // 1000}s]"
        return [_folds(name, window) for name in GAUGES] + [f"increase({name}{window})" for name in COUNTERS]


def _folds(name: str, window: str) -> str:
    folds = {fold: f"{fold}({name}{window})" for fold in FOLDS.values()}
    folds |= {f"p{one}": f"quantile_over_time({one}, {name}{window})" for one in QUANTILES}
    return " or ".join(f'label_replace({query}, "fold", "{label}", "", "")' for label, query in folds.items())


def command(port: int, data: Path, config: Path) -> Sequence[str]:
    """Command line of a server."""
    return (
        "prometheus",
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.retention.time=50y",
        "--query.max-samples=200000000",
        f"--web.listen-address=127.0.0.1:{port}",
    )


def _lines(parts: Sequence[texts.Part]) -> Iterator[bytes]:
    """Series by series; the instants of a target as text only once."""
    known: dict[int, list[bytes]] = {}
    for part in sorted(parts, key=lambda one: (one.metric, tuple(one.labels.items()), int(one.at_ms[0]))):
        stamps = known.get(id(part.at_ms))
        if stamps is None:
            stamps = known[id(part.at_ms)] = texts.stamps(part.at_ms)
        yield texts.openmetrics(part, stamps)
