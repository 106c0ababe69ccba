"""Reads the answer of a query from a source: from samples, or from summaries of hours where those are too many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from telemetry import far, hours
from telemetry.frame import Bools, Floats, Frame
from telemetry.model import Kind, Series
from telemetry.near import Block, evaluate, reduced, whole
from telemetry.query import Line, Query
from telemetry.slices import Bins, Joiner, cut
from telemetry.source import Source
from telemetry.summary import HOUR_MS, Summaries, hour_of

__all__ = ["Answer", "Source", "read", "slices", "stream"]

Resolution = Literal["samples", "hours"]
CELLS = 2_000_000
"""Samples (series × ticks) read at once."""
CACHED = 400_000
"""Samples that are worked on at once: they, and what comes in between, stay in the processor's cache."""
LEADS = 4
"""A slice is so many times as long as what is read before it."""
SHORT_MS = 2 * HOUR_MS
"""Ranges that are always read from samples: hours would make a point or two of them."""
FEW_BINS = 36
"""With fewer bins of hours a chart says little: samples may take longer then, as they may for extremes."""
SWIFT_MS, PATIENT_MS = 60.0, 600.0
"""How long an answer from samples may take where hours serve as well, and where they do not."""
STORED_NS, QUOTIENT_NS, HISTOGRAM_NS = 25.0, 50.0, 50.0
"""What a sample takes, with reading it: as it was stored, as part of a window, as part of a percentile."""


@dataclass(frozen=True)
class Answer:
    """lines: of the query. step_ms: width of the bins, or the nominal interval of samples.

    resolution: "samples" when every sample was looked at; "hours" when bins are of whole hours, and know no more than
    `far.answer` does.
    """

    lines: list[Line]
    step_ms: int
    resolution: Resolution


def read(query: Query, source: Source) -> Answer:
    """The answer: from samples where they can be afforded and are there, else from hours. Every sample if so asked, and
    bins of a stated width that hours do not fill."""
    bins = query.bins(source.step_ms())
    span = query.end_ms - query.start_ms
    if bins is None:
        return _from_samples(query, source, None, span)
    if query.width_ms is not None and bins[1] % HOUR_MS:
        return _from_samples(query, source, bins, _length(query, hours.sealed(query, source)))
    found = hours.sealed(query, source) if span > SHORT_MS else None
    dear = found is not None and _dear(query, found)
    if dear or source.forgotten(query.start_ms, query.end_ms):
        known = hours.complete(query, source, found or hours.sealed(query, source))
        return Answer(far.answer(query, known.summaries, known.until_ms), far.bins(query)[1], "hours")
    return _from_samples(query, source, bins, span if found is None else _length(query, found))


def _dear(query: Query, found: Summaries) -> bool:
    """Whether samples would take longer than they may."""
    per_sample = HISTOGRAM_NS if query.metric.kind is Kind.HISTOGRAM else QUOTIENT_NS if query.lead_ms else STORED_NS
    bins = (query.end_ms - query.start_ms) // far.bins(query)[1]
    patient = bins < FEW_BINS or not far.tells_extremes(query, found.series)
    return float(hours.cells(found).sum()) * per_sample / 1e6 > (PATIENT_MS if patient else SWIFT_MS)


def _length(query: Query, found: Summaries) -> int:
    """Length of a slice; an hour where nothing is known of what there is."""
    busiest = max(hours.cells(found).tolist(), default=0.0)
    length = int(CELLS / busiest * HOUR_MS) if busiest > 0 else HOUR_MS
    return max(length, LEADS * query.lead_ms)


def _from_samples(query: Query, source: Source, bins: Bins | None, length_ms: int) -> Answer:
    joiner = Joiner(query, bins)
    for start, block in _blocks(query, source, _ranges(query, bins, length_ms), bins, CACHED):
        joiner.add(start, block)
    lines = joiner.lines()
    binned = bins is not None and any(line.values is None for line in lines)
    return Answer(lines, bins[1] if bins is not None and binned else source.step_ms(), "samples")


def _ranges(query: Query, bins: Bins | None, length_ms: int) -> list[tuple[int, int]]:
    """The range in pieces of about this length, each of whole bins; of hours, as they are sealed, where it can be."""
    if length_ms >= query.end_ms - query.start_ms:
        return [(query.start_ms, query.end_ms)]
    origin, width = bins or (0, 1)
    unit = HOUR_MS if length_ms >= HOUR_MS and origin == 0 and HOUR_MS % width == 0 else width
    return list(cut(query.start_ms, query.end_ms, max(length_ms // unit, 1) * unit, origin))


def slices(query: Query, source: Source) -> list[tuple[int, int]]:
    """The closed ranges that `stream` goes through."""
    return _ranges(query, query.bins(source.step_ms()), _length(query, hours.sealed(query, source)))


def stream(query: Query, source: Source, bounds: Sequence[tuple[int, int]] | None = None) -> Iterator[list[Line]]:
    """Lines of one slice of the range after the other, from samples, in memory that the range does not move.

    A slice has the lines of the series in it, on one and the same `t_ms`; one without samples is left out.
    bounds: the slices, instead of `slices`; where bins are asked for, each must begin and end with one.
    """
    bins = query.bins(source.step_ms())
    for start, block in _blocks(query, source, slices(query, source) if bounds is None else bounds):
        yield whole(block) if bins is None else reduced(query, block, start, bins)


def _blocks(
    query: Query, source: Source, ranges: Sequence[tuple[int, int]], bins: Bins | None = None, cells: int | None = None
) -> Iterator[tuple[int, Block]]:
    """(start, block) of each range that has samples; with `cells`, of pieces of so many."""
    counted = query.total and query.metric.kind is Kind.COUNTER and not query.rate
    standing: dict[Series, float] = _begin(query, source) if counted and len(ranges) > 1 else {}
    for start, end in ranges:
        asked = replace(query, start_ms=start, end_ms=end)
        frame = source.frame(query.stored(), start - query.lead_ms, end, query.sources())
        for piece, own in _pieces(asked, frame, bins, None if counted else cells):
            block = evaluate(piece, own, standing)
            if len(block.ticks):
                yield piece.start_ms, block
        if counted and len(ranges) > 1:
            standing = standing | _newest(query, frame)


def _pieces(query: Query, frame: Frame, bins: Bins | None, cells: int | None) -> Iterator[tuple[Query, Frame]]:
    """Parts of a query with their part of a frame, which is not copied."""
    size = frame.values.size
    if cells is None or size <= cells:
        yield query, frame
        return
    length = max((query.end_ms - query.start_ms) * cells // size, LEADS * query.lead_ms)
    for start, end in _ranges(query, bins, length):
        yield replace(query, start_ms=start, end_ms=end), frame.between(start - query.lead_ms, end)


def _begin(query: Query, source: Source) -> dict[Series, float]:
    """Where each member of a total of counters begins: at its first value, of the first hour or after it."""
    next_hour = hour_of(query.start_ms) + HOUR_MS
    first = source.frame(query.stored(), query.start_ms - query.lead_ms, next_hour - 1, query.sources())
    later = replace(query, start_ms=next_hour, end_ms=max(next_hour, query.end_ms))
    known = hours.complete(later, source, hours.sealed(later, source)).summaries
    found = _at(query, known.series, known.first, known.count > 0)
    return found | _at(query, first.series, first.values, ~np.isnan(first.values))


def _newest(query: Query, frame: Frame) -> dict[Series, float]:
    """The newest value of each member in a frame."""
    return _at(query, frame.series, frame.values[:, ::-1], ~np.isnan(frame.values[:, ::-1]))


def _at(query: Query, series: Sequence[Series], values: Floats, known: Bools) -> dict[Series, float]:
    """The first known value of each wanted series."""
    return {
        one: float(values[row, np.argmax(known[row])])
        for row, one in enumerate(series)
        if known[row].any() and query.wants(one)
    }
