"""Rows as CSV (RFC 4180): what a spreadsheet cannot mistake for a formula, and pandas reads back to the bit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from exchange import digits
from exchange.blocks import Block, Group
from exchange.digits import Words
from exchange.table import Scope, Table
from telemetry.frame import Ints

Texts = npt.NDArray[np.bytes_]
END = b"\r\n"
ROW = b"\x1e"
"""End of a row while rows are put in order; no text holds it."""
NO_LETTERS = re.compile("[\x00\x1e]")
FORMULA = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
QUOTED = re.compile(r'[",\r\n]')
INFINITE = {"+Inf": "Inf"}
"""The last edge of a histogram, as every reader of numbers understands it, and no spreadsheet computes it."""
PIECE_ROWS = 6000
"""Rows formatted at once: few enough that their letters stay in the processor's cache."""


def cell(text: str) -> str:
    """A text as one field. What a spreadsheet would compute gets an apostrophe in front; a number stays one.

    >>> cell("=1+1"), cell("-0.5"), cell('a "b", c')
    ("'=1+1", '-0.5', '"a ""b"", c"')
    """
    text = NO_LETTERS.sub("\ufffd", INFINITE.get(text, text))
    if FORMULA.match(text) and not NUMBER.fullmatch(text):
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if QUOTED.search(text) else text


def line(cells: Iterable[str]) -> bytes:
    """A row of texts."""
    return ",".join(map(cell, cells)).encode() + END


def iso(t_ms: Ints) -> Texts:
    """Times as ISO 8601 in UTC with milliseconds: S24[n]."""
    found: Texts = np.char.add(np.datetime_as_string(t_ms.astype("datetime64[ms]"), unit="ms").astype("S23"), b"Z")
    return found


class CsvWriter:
    """Blocks of one table as CSV, piece by piece."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._heads: dict[tuple[Scope, int], bytes] = {}

    def head(self) -> bytes:
        """The first line: headings with units."""
        return line(self._table.headings)

    def rows(self, block: Block) -> Iterator[bytes]:
        """The rows of a block, by time, then scope."""
        if len(block.groups) == 1:
            yield from self._texts(block, block.groups[0], END)
            return
        texts: list[bytes] = []
        keys: list[Ints] = []
        for group in block.groups:
            for text in self._texts(block, group, ROW):
                texts += text.split(ROW)
                texts.pop()  # what stands behind the last end is no row
            tick, scope = np.nonzero(block.rows[:, group.scopes])
            keys.append(tick * len(block.scopes) + group.scopes[scope])
        if texts:
            order = np.argsort(np.concatenate(keys)).tolist()
            yield END.join([*map(texts.__getitem__, order), b""])

    def _texts(self, block: Block, group: Group, end: bytes) -> Iterator[bytes]:
        """Rows of one group in pieces of about PIECE_ROWS, by time, then scope."""
        ticks = max(PIECE_ROWS // max(len(group.scopes), 1), 1)
        for low in range(0, len(block.t_ms), ticks):
            yield self._text(block, group, slice(low, low + ticks), end)

    def _text(self, block: Block, group: Group, ticks: slice, end: bytes) -> bytes:
        """Rows of one group, by time, then scope: planes of words side by side, less what is no letter."""
        rows, values = block.rows[ticks][:, group.scopes], group.values[:, ticks]
        times, heads = _words(iso(block.t_ms[ticks])), _words(self._before(block, group))
        planes = digits.cells(values.reshape(len(values), rows.size))
        tail = digits.words(b"," * (len(self._table.columns) - group.first - len(values)) + end)
        starts = np.cumsum([0, times.shape[1], heads.shape[1], len(planes), len(tail)])
        words = np.empty((*rows.shape, starts[-1]), dtype=np.uint32)
        words[:, :, : starts[1]] = times[:, np.newaxis, :]
        words[:, :, starts[1] : starts[2]] = heads
        for place, plane in enumerate(planes, int(starts[2])):
            words[:, :, place] = plane.reshape(rows.shape)
        words[:, :, starts[3] :] = tail
        kept = words if rows.all() else words[rows]
        return kept.tobytes().translate(None, b"\0")

    def _before(self, block: Block, group: Group) -> Texts:
        """What stands between time and numbers: texts, and the commas of columns that the group does not have."""
        texts = []
        for position in group.scopes.tolist():
            key = (block.scopes[position], group.first)
            if key not in self._heads:
                self._heads[key] = "".join(f",{cell(text)}" for text in key[0]).encode() + b"," * group.first
            texts.append(self._heads[key])
        return np.array(texts, dtype=np.bytes_)


def _words(texts: Texts) -> Words:
    """S[n] as uint32[n, words], each text filled up with no letters."""
    width = max(-(-texts.dtype.itemsize // digits.WORD), 1) * digits.WORD
    return np.ascontiguousarray(texts.astype(f"S{width}")).view(np.uint32).reshape(len(texts), -1)
