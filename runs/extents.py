"""Readings of nodes in a stretch: least, mean and largest of each, and means of short bins; added up slice by slice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from telemetry import catalog
from telemetry.fleet import fold
from telemetry.frame import Floats, Frame, Ints
from telemetry.grid import largest, least

BIN_MS, MOST_BINS = 10_000, 1_000
"""Nodes are compared with each other in bins of this width, or of more where those would be many."""
NAN = float("nan")


def width_of(length_ms: int) -> int:
    """Width of the bins of a stretch, whole seconds."""
    return max(BIN_MS, -(-length_ms // (MOST_BINS * 1000)) * 1000)


@dataclass(frozen=True)
class Extent:
    """Least, mean and largest of each node's readings, and their number: float64[node]; NaN where there is none."""

    nodes: Sequence[str]
    least: Floats
    mean: Floats
    largest: Floats
    count: Floats

    def part(self, name: str) -> Floats:
        """ "min", "mean" or "max"."""
        return {"min": self.least, "mean": self.mean, "max": self.largest}[name]


@dataclass
class _Own:
    """What is known of one node so far. bins: Σ and number of the readings of each bin."""

    bins: Floats
    count: float = 0.0
    total: float = 0.0
    least: float = NAN
    largest: float = NAN


@dataclass(frozen=True)
class Line:
    """Samples of one node in a slice, in as little room as gives every bit of them back: least + above."""

    node: str
    ticks: Ints
    above: npt.NDArray[np.floating]
    least: float

    @classmethod
    def of(cls, node: str, ticks: Ints, values: Floats) -> Line:
        """All of them known."""
        low = float(least(values))
        narrow = (values - low).astype(np.float32)
        exact = bool((narrow + np.float64(low) == values).all())
        return cls(node, ticks, narrow, low) if exact else cls(node, ticks, values, 0.0)

    @property
    def values(self) -> Floats:
        """float64[tick]"""
        return self.above + np.float64(self.least)


@dataclass
class Readings:
    """One metric of the nodes in a stretch. Slices may come in any order. compared: whether bins are kept.

    lines: of what bins are made of, kept where more of the stretch will be asked for: then those are wider.
    """

    start_ms: int
    end_ms: int
    compared: bool = False
    lines: list[Line] | None = None
    _nodes: dict[str, _Own] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """Bytes of the lines; ticks that they share count once."""
        lines = self.lines or ()
        return sum(line.above.nbytes for line in lines) + sum(
            {id(line.ticks): line.ticks.nbytes for line in lines}.values()
        )

    def copied(self, end_ms: int) -> Readings:
        """The same of a stretch with another end, to be added to."""
        found = Readings(self.start_ms, end_ms, self.compared, None if self.lines is None else [*self.lines])
        bins = found._bins if self.lines is not None else None
        for name, own in self._nodes.items():
            found._nodes[name] = replace(own, bins=own.bins.copy() if bins is None else np.zeros((2, bins)))
        for line in found.lines or ():
            found._nodes[line.node].bins += found._binned(line.ticks, line.values)
        return found

    @property
    def width_ms(self) -> int:
        """Width of the bins."""
        return width_of(max(self.end_ms - self.start_ms, 1))

    def add(self, frame: Frame, rows: Sequence[int], start_ms: int, end_ms: int) -> None:
        """Samples of start ≤ tick ≤ end of the rows of a frame that are of this metric.

        Several GPUs of a node are folded as the catalogue says.
        """
        low, high = np.searchsorted(frame.ticks, (start_ms, end_ms + 1))
        ticks = frame.ticks[low:high]
        nodes, lines = by_node(frame, rows, slice(int(low), int(high)))
        if not lines.size:
            return
        known = ~np.isnan(lines)
        lows, highs = least(lines, 1).tolist(), largest(lines, 1).tolist()
        for row, node in enumerate(nodes):
            own = self._nodes.setdefault(node, _Own(np.zeros((2, self._bins))))
            own.count += float(known[row].sum())
            own.total += float(lines[row][known[row]].sum())
            own.least = float(np.fmin(own.least, lows[row]))
            own.largest = float(np.fmax(own.largest, highs[row]))
            if self.compared and known[row].any():
                all_of = known[row].all()
                here, values = ticks if all_of else ticks[known[row]], lines[row][known[row]]
                own.bins += self._binned(here, values)
                if self.lines is not None:
                    self.lines.append(Line.of(node, here, values))

    @property
    def _bins(self) -> int:
        return max(self.end_ms - self.start_ms, 1) // self.width_ms + 1 if self.compared else 0

    def _binned(self, ticks: Ints, values: Floats) -> Floats:
        place = (ticks - self.start_ms) // self.width_ms
        sums = np.bincount(place, weights=values, minlength=self._bins)
        return np.stack([sums, np.bincount(place, minlength=self._bins)])

    def extent(self, nodes: Collection[str]) -> Extent:
        """Of these nodes, as far as they have the metric."""
        names = sorted(name for name in self._nodes if name in nodes)
        own = [self._nodes[name] for name in names]
        count, total = (np.array([getattr(one, name) for one in own]) for name in ("count", "total"))
        return Extent(
            names,
            np.array([one.least for one in own]),
            np.where(count > 0, total / np.maximum(count, 1.0), np.nan),
            np.array([one.largest for one in own]),
            count,
        )

    def binned(self, nodes: Collection[str]) -> tuple[list[str], Floats]:
        """(nodes, float64[node, bin]): means of each node's readings in bins from the start on, NaN of none."""
        names = sorted(name for name in self._nodes if name in nodes)
        sums, counts = (np.array([self._nodes[one].bins[row] for one in names]) for row in (0, 1))
        return names, np.where(counts > 0, sums / np.maximum(counts, 1.0), np.nan) if names else np.zeros((0, 0))


def by_node(frame: Frame, rows: Sequence[int], part: slice) -> tuple[list[str], Floats]:
    """(nodes, float64[node, tick]) of the samples of rows of one metric in a part of the ticks."""
    own: dict[str, list[int]] = {}
    for row in rows:
        own.setdefault(frame.series[row].target, []).append(row)
    nodes = sorted(own)
    values = frame.values[:, part]
    across = [catalog.stored(frame.series[row].metric).across for row in rows[:1]]
    lines = [values[own[one][0]] if len(own[one]) == 1 else fold(values[own[one]], across[0]) for one in nodes]
    return nodes, np.array(lines).reshape(len(nodes), values.shape[1])
