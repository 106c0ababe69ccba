"""Nodes compared with each other: folds over devices, the median of peers, and who holds the rest back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from telemetry.frame import Floats
from telemetry.model import Fold

PEERS_NEEDED = 3
"""With fewer known values there is no median worth deviating from."""

_FUNCTIONS: dict[Fold, Callable[[Floats], Floats]] = {
    Fold.SUM: lambda seen: np.nansum(seen, axis=0),
    Fold.MEAN: lambda seen: np.nanmean(seen, axis=0),
    Fold.MIN: lambda seen: np.nanmin(seen, axis=0),
    Fold.MAX: lambda seen: np.nanmax(seen, axis=0),
}


def fold(values: Floats, how: Fold) -> Floats:
    """Fold over rows at each tick, of what is known: float64[tick], NaN where nothing is.

    LAST takes the last row that is known. A sum over what is known says nothing of what is not: use `ratios.total`
    where a missing row must make the sum unknown.
    """
    known = ~np.isnan(values)
    some = known.any(axis=0) if values.shape[0] else np.zeros(values.shape[1], bool)
    result = np.full(values.shape[1], np.nan)
    if not some.any():
        return result
    seen = values[:, some]
    if how is Fold.LAST:
        rows = values.shape[0] - 1 - np.argmax(known[::-1, some], axis=0)
        result[some] = seen[rows, np.arange(seen.shape[1])]
    else:
        result[some] = _FUNCTIONS[how](seen)
    return result


def deviation(values: Floats) -> Floats:
    """How far each known value lies from the median of all, as a share of it: −0.18 is 18 % below. NaN where unknown,
    with fewer than PEERS_NEEDED known values, or when the median is 0.

    >>> deviation(np.array([100.0, 100.0, 82.0, 101.0])).round(2).tolist()
    [0.0, 0.0, -0.18, 0.01]
    """
    known = values[~np.isnan(values)]
    if len(known) < PEERS_NEEDED or np.median(known) == 0:
        return np.full(values.shape, np.nan)
    return np.asarray(values / np.median(known) - 1.0)


def straggler(values: Floats, threshold: float = 0.15) -> tuple[int, float] | None:
    """Position and deviation of the value furthest below the median of its peers, None when none is by `threshold`."""
    apart = deviation(values)
    if np.isnan(apart).all():
        return None
    worst = int(np.nanargmin(apart))
    return (worst, float(apart[worst])) if apart[worst] <= -threshold else None
