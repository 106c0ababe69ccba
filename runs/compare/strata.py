"""Strata of concurrency: cells with about as many requests running, which two runs are compared within."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runs.compare.cells import Cells
from telemetry.frame import Bools, Floats, Ints

EXACT = 16
"""Up to so many requests each number is a stratum of its own."""
STEP = 1.1
"""Beyond, strata grow by this factor, so that numbers in one differ by a tenth at most."""
FEWEST = 5
"""Cells that a stratum must have in both runs."""


def _edges() -> Floats:
    exact = np.arange(EXACT + 1) + 0.5
    wide = [EXACT + 0.5]
    while wide[-1] < 1e5:
        wide.append(float(np.floor((wide[-1] + 0.5) * STEP)) + 0.5)
    return np.concatenate((exact, wide[1:]))


EDGES = _edges()
"""Upper edges; the first stratum is below half a request on average."""


def number(running: Floats) -> Ints:
    """Stratum of each cell by its mean number running: int64[cell]; −1 where none runs or that is not known.

    >>> number(np.array([np.nan, 0.0, 0.4, 1.0, 1.6, 16.0, 18.2])).tolist()
    [-1, -1, 0, 1, 2, 16, 17]
    """
    found = np.searchsorted(EDGES, running, side="left")
    return np.asarray(np.where(running > 0, found, -1), dtype=np.int64)


def label(stratum: int) -> str:
    """What a stratum is called.

    >>> [label(one) for one in (0, 3, 17)]
    ['below 0.5', '3', '17–18']
    """
    if stratum == 0:
        return "below 0.5"
    low, high = int(EDGES[stratum - 1] + 0.5), int(EDGES[stratum] - 0.5)
    return f"{low}" if low == high else f"{low}–{high}"


@dataclass(frozen=True)
class Common:
    """Strata that two runs share. numbers: int64[stratum]; weights: float64[stratum], the same for both, sum 1.

    cells: of each run which stratum (its place in `numbers`) a cell is in, −1 none. shares: of each run, the part of
    its time with requests running that lies in them.
    """

    numbers: Ints
    weights: Floats
    cells: tuple[Ints, Ints]
    shares: tuple[float, float]


def common(strata: tuple[Ints, Ints], usable: tuple[Bools, Bools], widths: tuple[float, float]) -> Common:
    """Strata with enough usable cells in both runs.

    A stratum's weight is what its difference is known by: n₁ n₂ ∕ (n₁ + n₂) of the seconds of both.
    """
    counts = [
        np.bincount(numbers[use & (numbers >= 0)], minlength=len(EDGES) + 1)
        for numbers, use in zip(strata, usable, strict=True)
    ]
    shared = np.flatnonzero((counts[0] >= FEWEST) & (counts[1] >= FEWEST))
    place = np.full(len(EDGES) + 2, -1, dtype=np.int64)
    place[shared] = np.arange(len(shared))
    seconds = [count[shared] * width for count, width in zip(counts, widths, strict=True)]
    known = seconds[0] * seconds[1] / np.maximum(seconds[0] + seconds[1], 1e-12)
    cells = tuple(np.where(use, place[one], -1) for one, use in zip(strata, usable, strict=True))
    shares = tuple(float(count[shared].sum()) / max(int(count.sum()), 1) for count in counts)
    return Common(shared, known / max(float(known.sum()), 1e-12), (cells[0], cells[1]), (shares[0], shares[1]))


def lagged(cells: Cells) -> Floats:
    """Mean number running over the last mean request, at each cell: what a request that finishes then has lived in."""
    length = cells.request_mean_s
    reach = int(np.clip(np.ceil(length / cells.width_s), 1, max(len(cells), 1))) if length > 0 else 1
    running = cells.running
    known = ~np.isnan(running)
    total, count = (_trailing(line, reach) for line in (np.where(known, running, 0.0), known.astype(np.float64)))
    return np.asarray(np.where(known & (count > 0), total / np.maximum(count, 1.0), np.nan))


def _trailing(values: Floats, reach: int) -> Floats:
    """Sum over each value and those before it, `reach` in all."""
    run = np.concatenate((np.zeros(1), np.cumsum(values)))
    places = np.arange(1, len(run))
    return np.asarray(run[places] - run[np.maximum(places - reach, 0)])
