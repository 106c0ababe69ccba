"""Reads the answer of a query from a source: from samples, or from summaries of hours where those are too many."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from telemetry import far, hours
from telemetry.bins import Binned, Bins, empty, joined
from telemetry.frame import Bools, Floats, Frame, Sheet
from telemetry.kept import Keeper, keys
from telemetry.model import Kind, Series
from telemetry.near import Block, binned, evaluate, plain, reduced, whole
from telemetry.query import Line, Query
from telemetry.slices import Joiner, cut
from telemetry.source import Sheets, Source
from telemetry.stats import Stats, stats
from telemetry.stats import of_hours as stats_of_hours
from telemetry.summary import HOUR_MS, Summaries, hour_of

__all__ = ["Answer", "Source", "read", "slices", "stream"]

Resolution = Literal["samples", "hours"]
CELLS = 1_000_000
"""Samples (series × ticks) read at once."""
CACHED = 400_000
"""Samples that are worked on at once: they, and what comes in between, stay in the processor's cache."""
TOGETHER = 4
"""So many times CELLS are read at once where they are put together piece by piece: packed, they take an eighth."""
LOOKING_BACK = 2
"""So many times CELLS are read at once where each piece looks back: the hour before it is unpacked as a whole, and is a
third of all where pieces have two hours. More would take memory that the web process does not have."""
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
    `far.answer` does. stats: of each line, where asked for; in an answer of hours, of whole hours, too.
    """

    lines: list[Line]
    step_ms: int
    resolution: Resolution
    stats: Sequence[Stats] = ()


def read(query: Query, source: Source, *, told: bool = False, keeper: Keeper | None = None) -> Answer:
    """The answer: from samples where they can be afforded and are there, else from hours. Every sample if so asked, and
    bins of a stated width that hours do not fill. told: with the `stats` of each line.
    keeper: keeps what was worked out of sealed hours for the next question."""
    found = _read(query, source, keeper, told=told)
    if not told or found.stats:
        return found
    return replace(found, stats=[stats(query, line) for line in found.lines])


def _read(query: Query, source: Source, keeper: Keeper | None, *, told: bool) -> Answer:
    with source.one_state():
        chosen = _chosen(query, source)
    bins, found = chosen.bins, chosen.found
    if chosen.unsealed is not None and found is not None:
        known = hours.complete(query, source, found, chosen.unsealed)
        lines = far.answer(query, known.summaries, known.until_ms)
        return Answer(lines, far.bins(query)[1], "hours", _of_hours(query, known, lines) if told else ())
    if found is None:
        return _from_samples(query, source, bins, query.end_ms - query.start_ms)
    return _from_samples(query, source, bins, _length(query, found), keeper if _many(query, found) else None)


@dataclass(frozen=True)
class _Choice:
    """What an answer is made of. bins: those that are asked for. found: summaries of sealed hours, where they were
    looked at. unsealed: the other hours, of an answer of hours; None of one of samples."""

    bins: Bins | None
    found: Summaries | None = None
    unsealed: Sequence[int] | None = None


def _chosen(query: Query, source: Source) -> _Choice:
    bins = query.bins(source.step_ms())
    if bins is None:
        return _Choice(None)
    if query.width_ms is not None and bins[1] % HOUR_MS:
        return _Choice(bins, hours.sealed(query, source))
    found = hours.sealed(query, source) if query.end_ms - query.start_ms > SHORT_MS else None
    if (found is None or not _dear(query, found)) and not source.forgotten(query.start_ms, query.end_ms):
        return _Choice(bins, found)
    found = hours.sealed(query, source) if found is None else found
    return _Choice(bins, found, source.unsealed(far.start_ms(query), query.end_ms))


def _many(query: Query, found: Summaries) -> bool:
    """Whether there are certainly more samples than points, so that bins are asked for."""
    ticks = found.count[:, found.hours >= query.start_ms]
    return query.points is None or bool(ticks.size and ticks.max(axis=0).sum() > query.points)


def _of_hours(query: Query, known: hours.Hours, lines: Sequence[Line]) -> list[Stats]:
    """Of percentiles what the lines say; one bin of all hours would hold a percentile of its own."""
    if query.metric.kind is Kind.HISTOGRAM:
        return [stats(query, line) for line in lines]
    found = stats_of_hours(query, known.summaries, known.until_ms)
    return [found[frozenset(line.labels.items())] for line in lines]


def _dear(query: Query, found: Summaries) -> bool:
    """Whether samples would take longer than they may."""
    per_sample = HISTOGRAM_NS if query.metric.kind is Kind.HISTOGRAM else QUOTIENT_NS if query.lead_ms else STORED_NS
    bins = (query.end_ms - query.start_ms) // far.bins(query)[1]
    patient = bins < FEW_BINS or not far.tells_extremes(query, found.series)
    return float(hours.cells(found).sum()) * per_sample / 1e6 > (PATIENT_MS if patient else SWIFT_MS)


def _length(query: Query, found: Summaries) -> int:
    """Length of a slice; an hour where nothing is known of what there is."""
    busiest = max(hours.cells(found).tolist(), default=0.0)
    cells = CELLS * LOOKING_BACK if query.lead_ms else CELLS
    length = int(cells / busiest * HOUR_MS) if busiest > 0 else HOUR_MS
    return max(length, LEADS * query.lead_ms)


def _from_samples(
    query: Query, source: Source, bins: Bins | None, length_ms: int, keeper: Keeper | None = None
) -> Answer:
    joiner = Joiner(query, bins)
    query = query if length_ms >= query.end_ms - query.start_ms else _there(query, source)
    if keeper is None or bins is None or bins[0] != 0 or _is_counted(query) or not _has_hour(query):
        for start, block in _through(query, source, bins, length_ms):
            joiner.add(start, block)
    else:
        _by_hours(query, source, bins, length_ms, keeper, joiner)
    lines = joiner.lines()
    in_bins = bins is not None and any(line.values is None for line in lines)
    return Answer(lines, bins[1] if bins is not None and in_bins else source.step_ms(), "samples")


def _through(query: Query, source: Source, bins: Bins | None, length_ms: int) -> Iterator[tuple[int, Block]]:
    """(start, block) of pieces that the cache holds, oldest first."""
    sheets = hours.as_stored(query, source)
    if sheets is None or bins is None or length_ms < HOUR_MS:
        yield from _blocks(query, source, _ranges(query, bins, length_ms, shared=True), bins, CACHED)
        return
    for low, high in _ranges(query, bins, TOGETHER * length_ms, shared=True):
        for start, _, sheet in _sheets(replace(query, start_ms=low, end_ms=high), sheets, length_ms):
            yield start, plain(query, sheet)


def _sheets(query: Query, sheets: Sheets, length_ms: int) -> Iterator[tuple[int, int, Sheet]]:
    """The range in pieces of whole hours that the cache holds. length_ms: of CELLS."""
    hours_each = max(length_ms * CACHED // CELLS // HOUR_MS, 1)
    pieces = list(cut(query.start_ms, query.end_ms, hours_each * HOUR_MS))
    return sheets.sheets(query.stored(), pieces, query.sources())


def _there(query: Query, source: Source) -> Query:
    """The question about as much of the range as the source reaches over: empty hours around it are not asked for."""
    extent = source.extent()
    if extent is None or extent[1] < query.start_ms or extent[0] > query.end_ms:
        return replace(query, end_ms=query.start_ms)
    return replace(query, start_ms=max(query.start_ms, extent[0]), end_ms=min(query.end_ms, extent[1]))


def _has_hour(query: Query) -> bool:
    return hour_of(query.start_ms - 1) + 2 * HOUR_MS - 1 <= query.end_ms


def _by_hours(query: Query, source: Source, bins: Bins, length_ms: int, keeper: Keeper, joiner: Joiner) -> None:
    """Hour by hour, from the keeper what it has, and everything else from samples, read in as long pieces as can be."""
    states = keeper.states(query.start_ms - query.lead_ms, query.end_ms, query.sources())
    known = keys(query, bins, states)
    kept = {hour: piece for hour, key in known.items() if (piece := keeper.get(key)) is not None}
    for start, end in _missing(query, kept, max(length_ms, HOUR_MS)):
        if start in kept:
            joiner.put(kept[start])
            continue
        asked = replace(query, start_ms=start, end_ms=end)
        for low, high, piece in _hourly(asked, source, bins, length_ms):
            joiner.put(piece)
            if low in known and high == low + HOUR_MS - 1:
                keeper.put(known[low], piece)


def _hourly(query: Query, source: Source, bins: Bins, length_ms: int) -> Iterator[tuple[int, int, Binned]]:
    """(start, end, bins) of each hour of the range, read at once."""
    sheets = hours.as_stored(query, source)
    if sheets is not None:
        for start, end, sheet in _sheets(query, sheets, length_ms):
            for low, high in cut(start, end, HOUR_MS):
                block = plain(query, sheet.between(low, high))
                yield low, high, binned(block, low, bins) if len(block.ticks) else empty(np.zeros(0, np.int64))
        return
    frame = source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms, query.sources())
    for low, high in cut(query.start_ms, query.end_ms, HOUR_MS):
        asked = replace(query, start_ms=low, end_ms=high)
        yield low, high, _of_hour(asked, frame.between(low - query.lead_ms, high), bins)


def _of_hour(query: Query, frame: Frame, bins: Bins) -> Binned:
    """The bins of a range that lies in one hour."""
    pieces = []
    for one, own in _pieces(query, frame, bins, CACHED):
        block = evaluate(one, own)
        if len(block.ticks):
            pieces.append(binned(block, one.start_ms, bins))
    return joined(pieces, query.start_ms, bins) if pieces else empty(np.zeros(0, np.int64))


def _missing(query: Query, kept: Mapping[int, Binned], length_ms: int) -> Iterator[tuple[int, int]]:
    """The range as hours that are kept, and what lies between them in pieces of at most this length."""
    start = query.start_ms
    for hour in (*sorted(kept), query.end_ms + 1):
        yield from cut(start, hour - 1, length_ms // HOUR_MS * HOUR_MS)
        if hour in kept:
            yield hour, hour + HOUR_MS - 1
        start = hour + HOUR_MS


def _ranges(query: Query, bins: Bins | None, length_ms: int, *, shared: bool = False) -> list[tuple[int, int]]:
    """The range in pieces of about this length, each of whole bins; of hours, as they are sealed, where it can be.

    shared: a bin may lie in several pieces, which are joined: then of hours wherever they are long enough.
    """
    if length_ms >= query.end_ms - query.start_ms:
        return [(query.start_ms, query.end_ms)]
    origin, width = bins or (0, 1)
    if shared and (length_ms >= HOUR_MS or width > length_ms):
        origin, width = 0, 1
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
    counted = _is_counted(query)
    standing: dict[Series, float] = _begin(query, source) if counted and len(ranges) > 1 else {}
    for start, end in ranges:
        asked = replace(query, start_ms=start, end_ms=end)
        standing |= yield from _evaluated(asked, source, bins, None if counted else cells, standing)


def _evaluated(
    query: Query, source: Source, bins: Bins | None, cells: int | None, standing: Mapping[Series, float]
) -> Generator[tuple[int, Block], None, dict[Series, float]]:
    """(start, block) of each piece of a range, which is let go of before the next one is read; in the end where members
    of a total of counters stand behind it."""
    frame = source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms, query.sources())
    for piece, own in _pieces(query, frame, bins, cells):
        block = evaluate(piece, own, standing)
        if len(block.ticks):
            yield piece.start_ms, block
    return _newest(query, frame) if _is_counted(query) else {}


def _is_counted(query: Query) -> bool:
    """Whether what a line says at a tick depends on all that was before."""
    return query.total and query.metric.kind is Kind.COUNTER and not query.rate


def _pieces(query: Query, frame: Frame, bins: Bins | None, cells: int | None) -> Iterator[tuple[Query, Frame]]:
    """Parts of a query with their part of a frame, which is not copied."""
    size = frame.values.size
    if cells is None or size <= cells:
        yield query, frame
        return
    length = max((query.end_ms - query.start_ms) * cells // size, LEADS * query.lead_ms)
    for start, end in _ranges(query, bins, length, shared=True):
        yield replace(query, start_ms=start, end_ms=end), frame.between(start - query.lead_ms, end)


def _begin(query: Query, source: Source) -> dict[Series, float]:
    """Where each member of a total of counters begins: at its first value of the range, wherever that is.

    Of whole hours their summaries say it; one that begins after the range is none of its members.
    """
    whole, open_hour = hour_of(query.start_ms) + HOUR_MS, hour_of(query.end_ms + 1)
    found = _firsts(query, source, max(open_hour, whole), query.end_ms)
    if whole < open_hour:
        later = replace(query, start_ms=whole, end_ms=open_hour - 1)
        known = hours.complete(later, source, hours.sealed(later, source)).summaries
        found |= _at(query, known.series, known.first, known.count > 0)
    return found | _firsts(query, source, query.start_ms - query.lead_ms, min(whole - 1, query.end_ms))


def _firsts(query: Query, source: Source, start_ms: int, end_ms: int) -> dict[Series, float]:
    """The first value of each member whose samples lie in start ≤ t ≤ end."""
    if start_ms > end_ms:
        return {}
    frame = source.frame(query.stored(), start_ms, end_ms, query.sources())
    return _at(query, frame.series, frame.values, ~np.isnan(frame.values))


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
