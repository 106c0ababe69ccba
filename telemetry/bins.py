"""Bins of lines: what is kept of the samples of each, such that bins of parts add up to those of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from telemetry import ratios
from telemetry.frame import Floats, Ints
from telemetry.percentiles import Labels
from telemetry.quantiles import SIDES
from telemetry.query import Line, Query

Bins = tuple[int, int]
"""(origin, width)"""


@dataclass(frozen=True)
class Binned:
    """Bins of several lines. t_ms: int64[bin], their starts; the other arrays float64[line, bin], NaN where unknown.

    above, below: what the mean of a bin divides: of a quotient the sums of both sides, of all else Σ and number of
    values. side, last_side: of percentiles, on which side of the edges the largest and the last one lie, see
    `quantiles.SIDES`; count: the most observations of a window; None for all else.
    """

    labels: tuple[Labels, ...]
    t_ms: Ints
    minimum: Floats
    maximum: Floats
    last: Floats
    above: Floats
    below: Floats
    side: Floats | None = None
    last_side: Floats | None = None
    count: Floats | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(getattr(self, name).nbytes for name in ("t_ms", *_present(self)))


def _present(piece: Binned) -> list[str]:
    names = [one.name for one in fields(Binned) if one.name not in ("labels", "t_ms")]
    return [name for name in names if getattr(piece, name) is not None]


def mean(query: Query, above: Floats, below: Floats, *, quotient: bool) -> Floats:
    """Σ ∕ Σ: of a quotient by its own rules."""
    if quotient and query.ratio is not None:
        return ratios.quotient(query.ratio, above, below)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(above / below)


def divides(query: Query) -> bool:
    """Whether a mean divides sums of two sides, and not values by their number."""
    return query.ratio is not None and not ratios.is_per_second(query.ratio)


def lines(query: Query, binned: Binned) -> list[Line]:
    """Bins as lines of an answer."""
    means = mean(query, binned.above, binned.below, quotient=divides(query))
    sides = None if binned.side is None else [tuple(SIDES.get(one) for one in row) for row in binned.side.tolist()]
    return [
        Line(
            dict(labels),
            binned.t_ms,
            None,
            binned.minimum[row],
            binned.maximum[row],
            means[row],
            binned.last[row],
            None if sides is None else sides[row],
            None if binned.count is None else binned.count[row],
            above=binned.above[row],
            below=binned.below[row],
            last_side=None if binned.last_side is None else binned.last_side[row],
        )
        for row, labels in enumerate(binned.labels)
    ]


def joined(pieces: Sequence[Binned], start_ms: int, bins: Bins) -> Binned:
    """Pieces, oldest first, on all bins from that of the start to the last one. Two may share a bin where one ends and
    the next begins; a line that a piece does not have is unknown there."""
    origin, width = bins
    begin = (start_ms - origin) // width * width + origin
    filled = [piece for piece in pieces if len(piece.t_ms)]
    end = max((int(piece.t_ms[-1]) for piece in filled), default=begin - width)
    t_ms = np.arange(begin, end + width, width, dtype=np.int64)
    if len(filled) == 1 and len(filled[0].t_ms) == len(t_ms):
        return filled[0]
    rows: dict[Labels, int] = {}
    for piece in filled:
        for labels in piece.labels:
            rows.setdefault(labels, len(rows))
    names = _present(filled[0]) if filled else []
    sheets = {name: np.full((len(rows), len(t_ms)), np.nan) for name in names}
    done = 0
    for piece in filled:
        at = int(piece.t_ms[0] - begin) // width
        place = [rows[labels] for labels in piece.labels]
        whole = place == list(range(len(rows)))
        _put(sheets, slice(None) if whole else place, at, min(max(done - at, 0), len(piece.t_ms)), piece)
        done = max(done, at + len(piece.t_ms))
    if not filled:
        return empty(t_ms)
    return replace(filled[0], labels=tuple(rows), t_ms=t_ms, **sheets)


def empty(t_ms: Ints) -> Binned:
    """No lines."""
    none = np.zeros((0, len(t_ms)))
    return Binned((), t_ms, none, none, none, none, none)


def _put(sheets: dict[str, Floats], rows: slice | list[int], at: int, shared: int, piece: Binned) -> None:
    """Write a piece's bins from column `at` on; the first `shared` of them hold something already."""
    known = ~np.isnan(piece.last[:, :shared])
    for name, sheet in sheets.items():
        values = getattr(piece, name)
        if shared:
            inside = slice(at, at + shared)
            sheet[rows, inside] = _folded(name, sheet[rows, inside], values[:, :shared], known)
        sheet[rows, at + shared : at + values.shape[1]] = values[:, shared:]


def _folded(name: str, old: Floats, new: Floats, known: Floats) -> Floats:
    """Two parts of one bin as one. known: where the later part has a value."""
    if name == "minimum":
        return np.asarray(np.fmin(old, new))
    if name in ("maximum", "side", "count"):
        return np.asarray(np.fmax(old, new))
    if name in ("last", "last_side"):
        return np.asarray(np.where(known, new, old))
    return np.asarray(np.where(np.isnan(old), new, np.where(np.isnan(new), old, old + new)))
