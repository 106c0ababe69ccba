"""A long range in pieces, cut where bins end and each small enough for the processor's cache, and joined again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from telemetry.frame import Floats, Ints
from telemetry.near import Block, reduced, whole
from telemetry.percentiles import Labels
from telemetry.query import Line, Query

Bins = tuple[int, int]
"""(origin, width)"""
BINNED = ("minimum", "maximum", "mean", "last", "count")
SAMPLED = ("values", "above", "below", "side", "count")


def cut(start_ms: int, end_ms: int, length_ms: int, origin_ms: int = 0) -> Iterator[tuple[int, int]]:
    """The closed ranges that make up start ≤ t ≤ end, each cut at multiples of the length from the origin on."""
    while start_ms <= end_ms:
        stop = (start_ms - origin_ms) // length_ms * length_ms + length_ms + origin_ms
        yield start_ms, min(stop - 1, end_ms)
        start_ms = stop


class Joiner:
    """Puts the blocks of one query together: every sample while there are no more than points, else bins."""

    def __init__(self, query: Query, bins: Bins | None) -> None:
        self._query = query
        self._bins = bins
        self._few = 0 if query.points is None or query.width_ms is not None else query.points
        self._blocks: list[tuple[int, Block]] = []
        self._ticks = 0
        self._pieces: list[list[Line]] = []

    def add(self, start_ms: int, block: Block) -> None:
        """The next block, oldest first: of a slice that begins here."""
        if not len(block.ticks):
            return
        self._blocks.append((start_ms, block))
        self._ticks += len(block.ticks)
        if self._bins is not None and self._ticks > self._few:
            self._pieces += [reduced(self._query, one, at, self._bins) for at, one in self._blocks]
            self._blocks = []

    def lines(self) -> list[Line]:
        """The lines of all blocks; a line that a block does not have is unknown there."""
        if self._bins is None or not self._pieces:
            return whole(_one([block for _, block in self._blocks]))
        return _side_by_side(self._pieces, self._query.start_ms, self._bins)


def _one(blocks: Sequence[Block]) -> Block:
    """Several blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    if not blocks:
        return Block((), np.zeros(0, np.int64), np.zeros((0, 0)))
    rows: dict[Labels, int] = {}
    for block in blocks:
        for labels in block.labels:
            rows.setdefault(labels, len(rows))
    ticks = np.concatenate([block.ticks for block in blocks])
    first = blocks[0]
    found: dict[str, Floats] = {
        name: np.full((len(rows), len(ticks)), np.nan) for name in SAMPLED if getattr(first, name) is not None
    }
    at = 0
    for block in blocks:
        place = [rows[labels] for labels in block.labels]
        for name, values in found.items():
            values[place, at : at + len(block.ticks)] = getattr(block, name)
        at += len(block.ticks)
    return replace(first, labels=tuple(rows), ticks=ticks, **found)


def _side_by_side(pieces: Sequence[Sequence[Line]], start_ms: int, bins: Bins) -> list[Line]:
    """Lines of bins, on all bins from that of the start to the last one."""
    origin, width = bins
    begin = (start_ms - origin) // width * width + origin
    filled = [piece for piece in pieces if piece]
    end = max((int(piece[0].t_ms[-1]) for piece in filled), default=begin - width)
    t_ms = np.arange(begin, end + width, width, dtype=np.int64)
    parts: dict[Labels, list[Line]] = {}
    for piece in filled:
        for line in piece:
            parts.setdefault(tuple(line.labels.items()), []).append(line)
    return [_placed(lines, t_ms, width) for lines in parts.values()]


def _placed(lines: Sequence[Line], t_ms: Ints, width: int) -> Line:
    first = lines[0]
    if len(first.t_ms) == len(t_ms):
        return first
    found = {name: np.full(len(t_ms), np.nan) for name in BINNED if getattr(first, name) is not None}
    relation: list[str | None] = [None] * len(t_ms)
    for line in lines:
        at = int(line.t_ms[0] - t_ms[0]) // width
        inside = slice(at, at + len(line.t_ms))
        for name, values in found.items():
            values[inside] = getattr(line, name)
        if line.relation is not None:
            relation[inside] = line.relation
    return Line(first.labels, t_ms, None, **found, relation=None if first.relation is None else tuple(relation))
