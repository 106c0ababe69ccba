"""Values alone of a window's rows, where all targets were read at the same ticks: what a chart of gauges is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.block import Block
from telemetry.frame import Floats, Ints, Sheet
from telemetry.model import Series

Cut = Sequence[tuple[Block, int, int]]
"""Rows low ≤ row < high of blocks, oldest first."""
FEW = 4
"""So many series of a target are put together one by one; more are, block by block, all at once."""


def laid(cuts: Sequence[Cut], places: Callable[[tuple[Series, ...]], Sequence[int]]) -> Sheet | None:
    """A sheet of the wanted series of each target's rows, which are some; None where a target has several layouts, or
    those of the wanted series were not read at the same ticks.

    places: where a layout holds what is wanted.
    """
    if any(block.series is not cut[0][0].series for cut in cuts for block, _, _ in cut):
        return None
    mine = [(cut, own) for cut in cuts if (own := places(cut[0][0].series))]
    ticks = _ticks(mine[0][0]) if mine else np.zeros(0, np.int64)
    if (np.diff(ticks) <= 0).any() or not all(_alike(cut, mine[0][0], ticks) for cut, _ in mine[1:]):
        return None
    series = tuple(cut[0][0].series[place] for cut, own in mine for place in own)
    values = np.empty((len(series), len(ticks)))
    row = 0
    for cut, own in mine:
        _put(cut, own, values[row : row + len(own)])
        row += len(own)
    return Sheet(ticks, series, values)


def _ticks(cut: Cut) -> Ints:
    return np.concatenate([block.ticks[low:high] for block, low, high in cut])


def _alike(cut: Cut, first: Cut, ticks: Ints) -> bool:
    """Whether a target was read at these ticks, which are those of the first one."""
    if len(cut) == len(first) and all(
        mine[0].ticks is one[0].ticks for mine, one in zip(cut[:-1], first, strict=False)
    ):
        (block, low, high), (other, begin, end) = cut[-1], first[-1]
        return np.array_equal(block.ticks[low:high], other.ticks[begin:end])
    return np.array_equal(_ticks(cut), ticks)


def _put(cut: Cut, places: Sequence[int], values: Floats) -> None:
    if len(places) <= FEW:
        for place, line in zip(places, values, strict=True):
            np.concatenate([block.line(place, low, high) for block, low, high in cut], out=line)
        return
    done = 0
    for block, low, high in cut:
        block.put(places, low, high, values[:, done : done + high - low])
        done += high - low
