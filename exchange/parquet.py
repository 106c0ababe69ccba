"""Rows as Parquet, which pyarrow writes; it is large, so it is an extra that need not be there."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from exchange.blocks import Block
from exchange.extract import Extract
from exchange.table import TIME, Table

GROUP_CELLS = 2_000_000
"""Numbers of a row group, unknown ones too: what is held until it is written, 16 MB and once more while it is."""
MISSING = "Parquet needs pyarrow, which is not installed here: pip install -r requirements-parquet.txt"


class NoParquet(Exception):  # noqa: N818
    """pyarrow is not installed; the text says what to do."""


def check() -> None:
    """NoParquet where Parquet cannot be written."""
    if find_spec("pyarrow") is None:
        raise NoParquet(MISSING)


class _Sink(io.RawIOBase):
    """A file that only grows, and is taken away piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._size += len(piece)
        return len(piece)

    def taken(self) -> bytes:
        """What came since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


def parquet(found: Extract) -> Generator[bytes]:
    """An extract as Parquet: time in UTC milliseconds, texts, numbers; unknown is null."""
    from pyarrow import parquet as files

    sink, schema = _Sink(), _schema(found.table)
    with files.ParquetWriter(sink, schema, compression="zstd") as writer:
        held: list[Any] = []
        for block in found.blocks:
            for part in _parts(block, len(found.table.columns)):
                held.append(_batch(part, found.table, schema))
                if sum(one.num_rows for one in held) * len(found.table.columns) >= GROUP_CELLS:
                    _write(writer, schema, held)
                    held = []
                yield sink.taken()
        _write(writer, schema, held)
    yield sink.taken()


def _parts(block: Block, columns: int) -> Iterator[Block]:
    """A block in pieces of about GROUP_CELLS: of a wide table most columns are empty in each row, but here."""
    ticks = max(GROUP_CELLS // max(columns * len(block.scopes), 1), 1)
    for low in range(0, len(block.t_ms), ticks):
        some = slice(low, low + ticks)
        groups = tuple(replace(group, values=group.values[:, some]) for group in block.groups)
        yield Block(block.t_ms[some], block.scopes, groups, block.rows[some])


def _write(writer: Any, schema: Any, batches: list[Any]) -> None:
    import pyarrow

    table = pyarrow.Table.from_batches(batches, schema)
    writer.write_table(table, row_group_size=max(table.num_rows, 1))


def _schema(table: Table) -> Any:
    import pyarrow

    texts = [pyarrow.field(name, pyarrow.string()) for name in table.texts]
    numbers = [
        pyarrow.field(column.name, pyarrow.float64(), metadata={"unit": column.unit, "metric": column.metric})
        for column in table.columns
    ]
    return pyarrow.schema([pyarrow.field(TIME, pyarrow.timestamp("ms", tz="UTC"), nullable=False), *texts, *numbers])


def _batch(block: Block, table: Table, schema: Any) -> Any:
    import pyarrow

    t_ms, scope, values = block.flat(len(table.columns))
    index = pyarrow.array(scope.astype(np.int32))
    told = [pyarrow.array([one[place] for one in block.scopes], pyarrow.string()) for place in range(len(table.texts))]
    texts = [pyarrow.DictionaryArray.from_arrays(index, one) for one in told]
    columns = [
        pyarrow.array(t_ms, schema.field(0).type),
        *(text.cast(pyarrow.string()) for text in texts),
        *(pyarrow.array(column, mask=np.isnan(column)) for column in values),
    ]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
