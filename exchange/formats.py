"""The forms that an export may have, and the bytes of each, piece by piece."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterable, Mapping
from datetime import UTC, datetime

from exchange import parquet, sqlite
from exchange.csv import CsvWriter
from exchange.extract import Export, Extract
from exchange.names import resolution

CSV, PARQUET, SQLITE = FORMS = ("csv", "parquet", "sqlite")
GZIP_BITS = 31
"""zlib's number for a gzip header around the largest window."""
GZIP_LEVEL = 3

Pieces = Generator[bytes]


def check(form: str) -> None:
    """NoParquet where the form cannot be written here."""
    if form == PARQUET:
        parquet.check()


def is_writable(form: str) -> bool:
    """Whether the form can be written here."""
    try:
        check(form)
    except parquet.NoParquet:
        return False
    return True


def pieces(
    form: str,
    export: Export,
    found: Extract,
    *,
    gzip: bool = False,
    still_wanted: Callable[[], bool] = lambda: True,
) -> Pieces:
    """The bytes of a file. gzip: of CSV. still_wanted: asked while a form is made that gives nothing before its end."""
    if form == PARQUET:
        return _closing(found, parquet.parquet(found))
    if form == SQLITE:
        return _closing(found, sqlite.sqlite(found, metadata(export), still_wanted))
    return _closing(found, gzipped(csv(found)) if gzip else csv(found))


def _closing(found: Extract, made: Pieces) -> Pieces:
    """The same pieces; when they end, or nobody wants more, so does the reading."""
    try:
        yield from made
    finally:
        found.close()


def csv(found: Extract) -> Pieces:
    """An extract as CSV, its heading at once."""
    writer = CsvWriter(found.table)
    yield writer.head()
    for block in found.blocks:
        yield from (piece for piece in writer.rows(block) if piece)


def gzipped(plain: Iterable[bytes]) -> Pieces:
    """The same as a gzip file; its first piece can be read at once."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, GZIP_BITS)
    first = True
    for piece in plain:
        packed = packer.compress(piece) + (packer.flush(zlib.Z_SYNC_FLUSH) if first else b"")
        first = False
        if packed:
            yield packed
    yield packer.flush()


def metadata(export: Export) -> Mapping[str, str]:
    """What a file says of itself."""
    first, last = (_instant(at_ms) for at_ms in (export.start_ms, export.end_ms))
    return {
        "made_by": "Tachograph",
        "start": first,
        "end": last,
        "resolution": resolution(export),
        "layout": export.layout.value,
        "times": "t_ms is epoch milliseconds, UTC; of a bin, its start",
        "unknown": "NULL is not known; it is never 0",
    }


def _instant(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
