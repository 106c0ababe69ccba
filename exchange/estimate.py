"""How large an export will be, from a few looks into its range."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from exchange.extract import Export, Extract, clipped, extract, rows_of
from exchange.formats import CSV, GZIP_LEVEL, PARQUET, SQLITE, csv
from telemetry.source import Source

LOOKS = 4
LOOK_MS = 15_000
LOOK_BINS = 3
ROW_BYTES = {PARQUET: 2.0, SQLITE: 30.0}
NUMBER_BYTES = {PARQUET: 3.0, SQLITE: 8.0}
"""What a row and each number in it take in the files that cannot be measured in pieces, about."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """exact: counted, not extrapolated."""

    rows: int
    size_bytes: int
    exact: bool


def estimate(export: Export, source: Source, form: str = CSV, *, gzip: bool = False) -> Estimate:
    """About how many rows and bytes; looks far enough apart that a gap in the range counts in proportion."""
    if export.points is None:
        export = clipped(export, source)
    pieces = [export] if export.points is not None else list(_looks(export))
    seen = sum(one.end_ms - one.start_ms + 1 for one in pieces)
    scale = (export.end_ms - export.start_ms + 1) / seen
    measured = [_measure(extract(one, source), form, gzip) for one in pieces]
    rows, size = (sum(one[place] for one in measured) for place in (0, 1))
    return Estimate(round(rows * scale), round(size * scale), scale == 1 and form == CSV)


def _looks(export: Export) -> Iterator[Export]:
    """Parts of the range, evenly spread; the whole where it is as short as they are."""
    width = export.width_ms or 1
    length = max(LOOK_MS, LOOK_BINS * width) // width * width
    span = export.end_ms - export.start_ms + 1
    if span <= LOOKS * length:
        yield export
        return
    for look in range(LOOKS):
        start = (export.start_ms + (span - length) * look // (LOOKS - 1)) // width * width
        first, last = max(start, export.start_ms), min(start + length - 1, export.end_ms)
        yield Export(tuple(replace(one, start_ms=first, end_ms=last) for one in export.queries), export.layout)


def _measure(found: Extract, form: str, gzip: bool) -> tuple[int, int]:
    """Rows and bytes, less the heading."""
    blocks = list(found.blocks)
    rows = rows_of(blocks)
    if form == CSV:
        text = b"".join(list(csv(Extract(found.table, blocks)))[1:])
        return rows, len(zlib.compress(text, GZIP_LEVEL)) if gzip else len(text)
    numbers = sum(int((~np.isnan(group.values)).sum()) for block in blocks for group in block.groups)
    return rows, round(rows * ROW_BYTES[form] + numbers * NUMBER_BYTES[form])
