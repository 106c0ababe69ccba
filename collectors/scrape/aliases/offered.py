"""Which engine offers which metric, as a table: `python -m collectors.scrape.aliases.offered` prints it."""

from __future__ import annotations

import sys

from collectors.scrape.aliases import DIALECTS
from collectors.scrape.aliases.row import Dialect, Row
from telemetry.catalog import engine
from telemetry.model import Metric

COLUMNS = {"vllm": "vLLM", "sglang": "SGLang", "llama.cpp": "llama.cpp", "trtllm": "TensorRT-LLM"}


def table() -> str:
    """Markdown: a line per metric of an engine, the names it is read from, newest first."""
    dialects = {name: next(dialect for dialect in DIALECTS if dialect.engine == name) for name in COLUMNS}
    lines = [("metric", *COLUMNS.values()), ("---",) * (len(COLUMNS) + 1)]
    for metric in vars(engine).values():
        if isinstance(metric, Metric):
            cells = [_cell(dialect, metric) for dialect in dialects.values()]
            if any(cells):
                lines.append((f"`{metric.name}`", *cells))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(dialect: Dialect, metric: Metric) -> str:
    ranks: dict[int, dict[str, None]] = {}
    for row in sorted((row for row in dialect.rows if row.metric is metric), key=lambda row: row.rank):
        ranks.setdefault(row.rank, {})[_name(row)] = None
    return ", else ".join(" + ".join(names) for names in ranks.values())


def _name(row: Row) -> str:
    if row.number:
        return f"`{row.wire}` ({row.number})"
    where = "" if row.code is not None else ",".join(row.where.values())
    return f"`{row.wire}`" + (f" ({where})" if where else "")


if __name__ == "__main__":
    sys.stdout.write(table())
