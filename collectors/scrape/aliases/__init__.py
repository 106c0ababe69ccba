"""One table for all engines and versions: sample name on a page → what it means in the catalogue."""

from __future__ import annotations

from collectors.scrape.aliases.agent import AGENT
from collectors.scrape.aliases.llamacpp import LLAMACPP
from collectors.scrape.aliases.row import Dialect, Info, Row
from collectors.scrape.aliases.sglang import SGLANG
from collectors.scrape.aliases.trtllm import TRTLLM
from collectors.scrape.aliases.vllm import RAY, VLLM
from telemetry.model import PARTS, Kind

DIALECTS: tuple[Dialect, ...] = (VLLM, RAY, SGLANG, LLAMACPP, TRTLLM, AGENT)

Entry = tuple[Dialect, Row, str | None]
"""One meaning of a sample name; the last field is the part of a histogram ("bucket", "sum", "count")."""


def _samples(row: Row) -> tuple[tuple[str, str | None], ...]:
    if row.metric.kind is Kind.HISTOGRAM:
        return tuple((f"{row.wire}_{name}", name) for name in PARTS)
    return ((row.wire, None),)


def _entries() -> dict[str, tuple[Entry, ...]]:
    index: dict[str, list[Entry]] = {}
    for dialect in DIALECTS:
        for prefix in dialect.prefixes:
            for row in dialect.rows:
                for sample, histogram_part in _samples(row):
                    index.setdefault(prefix + sample, []).append((dialect, row, histogram_part))
    return {name: tuple(entries) for name, entries in index.items()}


ENTRIES: dict[str, tuple[Entry, ...]] = _entries()
"""Full sample name → its meanings."""

INFOS: dict[str, Info] = {
    prefix + info.wire: info for dialect in DIALECTS for prefix in dialect.prefixes for info in dialect.infos
}
"""Full sample name of an info line → which of its labels are facts."""


def dialect_of(name: str) -> Dialect | None:
    """The dialect whose prefix a sample name carries, known name or not."""
    return next((dialect for dialect in DIALECTS if name.startswith(dialect.prefixes)), None)
