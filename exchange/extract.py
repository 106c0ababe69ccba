"""An export: some queries of one range, and their answers block by block, in memory that its length does not move."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from exchange.beside import Ranges, beside, bounds, by_hours
from exchange.blocks import Block, Blocks
from exchange.shared import Shared
from exchange.table import Layout, Table, table
from telemetry import reader
from telemetry.frame import Ints
from telemetry.query import Line, Query
from telemetry.source import Source
from telemetry.summary import HOUR_MS

HOURS_AT_ONCE = 168
"""Bins of whole hours that are read at once."""


@dataclass(frozen=True)
class Export:
    """queries: of one range and one resolution. A query's `points` mean what a chart of as many shows, its `width_ms`
    bins of that width over any range, and neither every sample."""

    queries: tuple[Query, ...]
    layout: Layout = Layout.WIDE

    @property
    def start_ms(self) -> int:
        """First instant."""
        return self.queries[0].start_ms

    @property
    def end_ms(self) -> int:
        """Last instant."""
        return self.queries[0].end_ms

    @property
    def points(self) -> int | None:
        """At most so many points, as a chart has them."""
        return self.queries[0].points

    @property
    def width_ms(self) -> int | None:
        """Width of the bins, None where it is not given."""
        return self.queries[0].width_ms


@dataclass(frozen=True)
class Extract:
    """A table and its rows, oldest first. `blocks` are made while they are taken; closing them ends the work."""

    table: Table
    blocks: Iterable[Block]

    def close(self) -> None:
        """End the work, where it has not come to its end."""
        if isinstance(self.blocks, Generator):
            self.blocks.close()


def clipped(export: Export, source: Source) -> Export:
    """The same without the time before the first sample, to the bin; of samples also without that after the last. A
    range in which there can be nothing becomes its last bin or instant. None of its rows is lost."""
    extent, width = source.extent(), export.width_ms or 1
    first, last = extent if extent is not None else (export.end_ms, export.end_ms)
    start = min(max(export.start_ms, first // width * width), max(export.end_ms // width * width, export.start_ms))
    end = export.end_ms if export.width_ms is not None else max(min(export.end_ms, last), start)
    return replace(export, queries=tuple(replace(one, start_ms=start, end_ms=end) for one in export.queries))


def extract(export: Export, source: Source, breathe: Callable[[], None] = lambda: None) -> Extract:
    """What an export gives. breathe: called between slices of samples, when no transaction is open."""
    if export.points is not None:
        return _chart(export, source)
    made = table(export.queries, export.layout, reduced=export.width_ms is not None)
    bins = export.queries[0].bins(source.step_ms())
    width = None if bins is None else bins[1]
    if width is not None and width % HOUR_MS == 0:
        weeks = Ranges(export.start_ms, export.end_ms, HOURS_AT_ONCE * width)
        return Extract(made, _stream(made, weeks, by_hours(export.queries, source, weeks, width), width, breathe))
    export = clipped(export, source)
    shared = Shared(source, export.queries)
    ranges = bounds(export.queries, shared, width)
    return Extract(made, _stream(made, ranges, beside(export.queries, source, shared, ranges), width, breathe))


def _chart(export: Export, source: Source) -> Extract:
    """What a chart shows: the same answers, so it is as small as one."""
    answers = [reader.read(query, source).lines for query in export.queries]
    reduced = any(line.values is None for lines in answers for line in lines)
    made = table(export.queries, export.layout, reduced=reduced)
    if reduced:
        answers = [[_as_bin(line) for line in lines] for lines in answers]
    return Extract(made, [Blocks(made, gaps=True).block(answers)])


def _stream(
    made: Table, ranges: Ranges, answers: Iterable[list[list[Line]]], width: int | None, breathe: Callable[[], None]
) -> Generator[Block]:
    blocks = Blocks(made, gaps=width is not None)
    for (start, end), lines in zip(ranges, answers, strict=True):
        if width is None:
            yield blocks.block(lines)
        else:
            yield blocks.block([[_as_bin(line) for line in mine] for mine in lines], _bins(start, end, width))
        breathe()


def _as_bin(line: Line) -> Line:
    """One number of a bin, be it a sample or a percentile of an hour, is its least, mean, greatest and last."""
    one = line.values
    if one is None:
        return line
    return Line(line.labels, line.t_ms, None, one, one, one, one, line.relation, line.count)


def _bins(start: int, end: int, width: int) -> Ints:
    """Starts of the bins that hold the closed range."""
    return np.arange(start // width * width, end + 1, width, dtype=np.int64)


def rows_of(blocks: Sequence[Block]) -> int:
    """How many rows these are."""
    return sum(int(block.rows.sum()) for block in blocks)
