"""Rows as CSV (RFC 4180): what a spreadsheet cannot mistake for a formula, and pandas reads back to the bit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from exchange import digits
from exchange.blocks import Block, Group
from exchange.digits import Words
from exchange.table import Scope, Table
from telemetry.frame import Bools, Ints

Texts = npt.NDArray[np.bytes_]
END = b"\r\n"
NO_LETTERS = re.compile("\x00")
FORMULA = re.compile(r"[=+\-@\t\r\n]")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
QUOTED = re.compile(r'[",\r\n]')
INFINITE = {"+Inf": "Inf"}
"""The last edge of a histogram, as every reader of numbers understands it, and no spreadsheet computes it."""
PIECE_WORDS = 500_000
"""Two megabytes of letters at once, which stay in the processor's cache."""


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
        """The rows of a block, by time, then scope, in pieces of about PIECE_WORDS."""
        times = _words(iso(block.t_ms))
        parts = [part for group in block.groups for part in self._parts(block, group, times.shape[1])]
        parts.sort(key=lambda part: part.scopes.start)
        width = sum(part.width for part in parts)
        ticks = max(PIECE_WORDS // max(width, 1), 1)
        for low in range(0, len(block.t_ms) if width else 0, ticks):
            some = slice(low, low + ticks)
            words = np.empty((len(times[some]), width), dtype=np.uint32)
            place = 0
            for part in parts:
                part.write(words[:, place : place + part.width], times[some], block.rows[some], some)
                place += part.width
            yield words.tobytes().translate(None, b"\0")

    def _parts(self, block: Block, group: Group, time_words: int) -> Iterator[_Part]:
        """Pieces of a group whose scopes stand side by side in the block."""
        columns, ticks, scopes = group.values.shape
        planes = [plane.reshape(ticks, scopes) for plane in digits.cells(group.values.reshape(columns, ticks * scopes))]
        heads = _words(self._before(block, group))
        tail = digits.words(b"," * (len(self._table.columns) - group.first - columns) + END)
        cuts = [0, *(np.flatnonzero(np.diff(group.scopes) > 1) + 1).tolist(), scopes]
        for begin, end in pairwise(cuts):
            first = int(group.scopes[begin])
            mine = [plane[:, begin:end] for plane in planes]
            yield _Part(slice(first, first + end - begin), time_words, heads[begin:end], mine, tail)

    def _before(self, block: Block, group: Group) -> Texts:
        """What stands between time and numbers: texts, and the commas of columns that the group does not have."""
        texts = []
        for position in group.scopes.tolist():
            key = (block.scopes[position], group.first)
            if key not in self._heads:
                self._heads[key] = "".join(f",{cell(text)}" for text in key[0]).encode() + b"," * group.first
            texts.append(self._heads[key])
        return np.array(texts, dtype=np.bytes_)


class _Part:
    """Rows of some scopes that stand side by side and have the same columns."""

    def __init__(self, scopes: slice, time_words: int, heads: Words, planes: list[Words], tail: Words) -> None:
        """heads: uint32[scope, word], texts. planes: uint32[tick, scope] each, numbers. tail: what ends a row."""
        self.scopes = scopes
        self._heads, self._planes, self._tail = heads, planes, tail
        self._texts = time_words
        self._numbers = time_words + heads.shape[1]
        self._end = self._numbers + len(planes)
        self.width = len(heads) * (self._end + len(tail))
        """Words of all scopes at one tick."""

    def write(self, words: Words, times: Words, rows: Bools, ticks: slice) -> None:
        """Fill uint32[tick, word]; rows that there are not get no letters."""
        view = words.reshape(len(words), len(self._heads), -1)
        view[:, :, : self._texts] = times[:, np.newaxis, :]
        view[:, :, self._texts : self._numbers] = self._heads
        view[:, :, self._end :] = self._tail
        for place, plane in enumerate(self._planes, self._numbers):
            view[:, :, place] = plane[ticks]
        there = rows[:, self.scopes]
        if not there.all():
            view[~there] = 0


def _words(texts: Texts) -> Words:
    """S[n] as uint32[n, words], each text filled up with no letters."""
    width = max(-(-texts.dtype.itemsize // digits.WORD), 1) * digits.WORD
    return np.ascontiguousarray(texts.astype(f"S{width}")).view(np.uint32).reshape(len(texts), width // digits.WORD)
