"""A long range in pieces, each small enough for the processor's cache, and joined again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from telemetry.bins import Binned, Bins, joined, lines
from telemetry.frame import Floats
from telemetry.near import Block, binned, whole
from telemetry.percentiles import Labels
from telemetry.query import Line, Query

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
        self._pieces: list[Binned] = []

    def add(self, start_ms: int, block: Block) -> None:
        """The next block, oldest first: of a slice that begins here."""
        if not len(block.ticks):
            return
        self._blocks.append((start_ms, block))
        self._ticks += len(block.ticks)
        if self._bins is not None and self._ticks > self._few:
            self._pieces += [binned(one, at, self._bins) for at, one in self._blocks]
            self._blocks = []

    def put(self, piece: Binned) -> None:
        """The next bins, of a question of which it is certain that there are more samples than points."""
        self._pieces.append(piece)

    def lines(self) -> list[Line]:
        """The lines of all blocks; a line that a block does not have is unknown there."""
        if self._bins is None or not self._pieces:
            return whole(_one([block for _, block in self._blocks]))
        return lines(self._query, joined(self._pieces, self._query.start_ms, self._bins))


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
