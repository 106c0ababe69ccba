"""Rows as a plain SQLite file, made beside and handed over when it is whole."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import numpy as np

from exchange.blocks import Block, Group
from exchange.extract import Extract
from exchange.table import Layout, Scope, Table
from storage.plain import PlainFile

LEFT_BYTES = 512 << 20
"""Room that an export leaves on the disk: the collector may write to the same one."""
PIECE_BYTES = 256 << 10


class NoRoom(Exception):  # noqa: N818
    """The disk has no room for the file; the text says so."""


def write(found: Extract, path: Path, metadata: Mapping[str, str], still_wanted: Callable[[], bool]) -> bool:
    """Make the file; whether it is whole, which it is not where `still_wanted` says no. NoRoom when the disk gets too
    full."""
    table = found.table
    wide = table.layout is Layout.WIDE
    with PlainFile(path, table.texts, [column.name for column in table.columns], wide=wide) as file:
        numbers = _Numbers(file)
        for block in found.blocks:
            if shutil.disk_usage(path.parent).free < LEFT_BYTES:
                raise NoRoom(f"An export leaves {LEFT_BYTES >> 20} MiB of a disk free; {path.parent} has less.")
            if not still_wanted():
                return False
            for group in block.groups:
                _add(file, table, block, group, numbers)
        file.finish(_told(table), metadata)
    return True


class _Numbers:
    """Numbers of the series of a long file, given in the order in which they come."""

    def __init__(self, file: PlainFile) -> None:
        self._file = file
        self._known: dict[Scope, int] = {}

    def of(self, scope: Scope) -> int:
        if scope not in self._known:
            self._known[scope] = self._file.add_series(scope)
        return self._known[scope]


def _add(file: PlainFile, table: Table, block: Block, group: Group, numbers: _Numbers) -> None:
    """Rows of a group, with the columns that it has: most of a wide table are empty in each."""
    wide = table.layout is Layout.WIDE
    there = block.rows[:, group.scopes]
    scope, tick = np.nonzero(there)[::-1] if wide else np.nonzero(there.T)  # in the order of the table's key
    if not len(tick):
        return
    texts = [block.scopes[one] for one in group.scopes.tolist()]
    heads: list[tuple[object, ...]]
    if wide:
        filled = [place for place, name in enumerate(table.texts) if any(one[place] for one in texts)]
        names = [table.texts[place] for place in filled]
        heads = [tuple(one[place] for place in filled) for one in texts]
    else:
        some = set(scope.tolist())
        names, heads = [], [(numbers.of(one) if place in some else None,) for place, one in enumerate(texts)]
    columns = table.columns[group.first : group.first + len(group.values)]
    cells = group.values[:, tick, scope].tolist()  # SQLite keeps NaN as NULL
    times = block.t_ms[tick].tolist()
    rows = (
        (time, *head, *row)
        for time, head, *row in zip(times, map(heads.__getitem__, scope.tolist()), *cells, strict=True)
    )
    file.add([*names, *(column.name for column in columns)], rows)


def _told(table: Table) -> Iterator[tuple[str, str, str, str]]:
    for column in table.columns:
        yield column.name, column.metric, column.unit, column.meaning


def sqlite(found: Extract, metadata: Mapping[str, str], still_wanted: Callable[[], bool]) -> Generator[bytes]:
    """The file, once it is whole; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix="tachograph-export-") as folder:
        path = Path(folder) / "export.sqlite"
        if not write(found, path, metadata, still_wanted):
            return
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                yield piece
