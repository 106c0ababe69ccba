"""Ladders: the buckets of each histogram of a page, which count up from edge to edge; else none of them counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from collectors.scrape.page import Layout
from telemetry import catalog
from telemetry.frame import Bools, Floats
from telemetry.model import Kind, Series

Places = npt.NDArray[np.intp]
EDGE = "le"


class Ladders:
    """Of one layout.

    A bucket holds all that is at or below its edge, so that it is never less than the one before: a page on which it is
    contradicts itself, and nothing says which of its numbers is the wrong one.
    """

    def __init__(self, layout: Layout) -> None:
        ladders = [places for places in _ladders(layout.series) if len(places) > 1]
        self._source = layout.source
        self._count = len(layout.series)
        self._lower: Places = _joined([places[:-1] for places in ladders])
        self._upper: Places = _joined([places[1:] for places in ladders])
        self._owner: Places = np.full(self._count, -1, dtype=np.intp)
        for number, places in enumerate(ladders):
            self._owner[places] = number

    def hold(self, raw: Floats) -> bool:
        """Whether none is broken."""
        return not len(self._lower) or not len(self._falls(raw))

    def broken(self, raw: Floats) -> Bools:
        """bool[n_raw]: lines of histograms whose buckets fall somewhere. raw: numbers of the page, NaN: unknown."""
        if self.hold(raw):
            return np.zeros(len(raw), dtype=bool)
        falls = self._falls(raw)
        return np.asarray(np.isin(self._owner[self._source], self._owner[self._lower[falls]]))

    def _falls(self, raw: Floats) -> Places:
        sums = np.bincount(self._source, raw, self._count)
        return np.flatnonzero(sums[self._lower] > sums[self._upper])


def _joined(places: list[list[int]]) -> Places:
    return np.array([place for some in places for place in some], dtype=np.intp)


def _ladders(series: tuple[Series, ...]) -> list[list[int]]:
    """Places of the buckets of each histogram, by their edges."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float, int]]] = {}
    for place, one in enumerate(series):
        edge = one.label(EDGE)
        if edge is not None and catalog.stored(one.metric).kind is Kind.COUNTER:
            rest = tuple(pair for pair in one.labels if pair[0] != EDGE)
            found.setdefault((one.metric, rest), []).append((float(edge), place))
    return [[place for _, place in sorted(edges)] for edges in found.values()]
