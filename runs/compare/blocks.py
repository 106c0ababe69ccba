"""How far chance alone moves a mean of correlated cells: moving blocks, drawn anew with a fixed seed.

Neighbouring cells are alike (the same requests run in both), so cells count for less than they are. Blocks that are
longer than this memory keep it; drawing blocks with replacement shows how the mean would have come out on other days.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from telemetry.frame import Floats, Ints

RESAMPLES = 2_000
SEED = 20_260_811
LEVEL = 0.95
"""Of every interval."""
POWER = 0.8
"""A difference of the smallest detectable size is found so often."""
NORMAL = NormalDist()


def correlations(values: Floats, most: int) -> Floats:
    """Autocorrelation of a centred series at lags 1 … most: float64[lag]; zeros where it does not vary.

    >>> correlations(np.array([1.0, -1.0, 1.0, -1.0]), 2).tolist()
    [-0.75, 0.5]
    """
    power = float(values @ values)
    if power <= 0:
        return np.zeros(most)
    return np.array([float(values[lag:] @ values[:-lag]) / power for lag in range(1, most + 1)])


def memory(values: Floats) -> float:
    """Integrated autocorrelation: how many cells in a row tell as much as one independent one; at least 1.

    Lags are summed up to the first from which two in a row are no larger than noise.

    >>> memory(np.array([1.0, -1.0, 1.0, -1.0]))
    1.0
    """
    count = len(values)
    if count < 8:
        return 1.0
    found = correlations(values, min(count // 3, 400))
    noise = 2.0 * math.sqrt(math.log10(count) / count)
    quiet = (found[:-1] < noise) & (found[1:] < noise)
    end = int(np.argmax(quiet)) if quiet.any() else len(quiet)
    return max(1.0, 1.0 + 2.0 * float(found[:end].sum()))


def block_cells(values: Floats, least: int) -> int:
    """Length of a block, in cells: at least `least`, and long enough for the series' memory.

    That of a first-order autoregression with the same integrated autocorrelation τ, for which the error of the
    variance is least: (3∕2 · ((τ² − 1)∕(2 τ))² · n)^⅓.
    """
    tau = memory(values)
    best = math.pow(1.5 * ((tau * tau - 1.0) / (2.0 * tau)) ** 2 * len(values), 1.0 / 3.0)
    return max(1, least, math.ceil(best - 1e-9))


def block_variance(values: Floats, block: int) -> float:
    """Variance of the sum of a centred series, from its blocks on a circle."""
    count = len(values)
    block = min(block, count)
    sums = _sums(values, block)
    return float(sums @ sums) / count * (count / block)


def _sums(values: Floats, block: int) -> Floats:
    """Sum of the block that begins at each cell; past the end it goes on at the start."""
    run = np.concatenate((np.zeros(1), np.cumsum(np.concatenate((values, values[: block - 1])))))
    return np.asarray(run[block:] - run[:-block])


@dataclass(frozen=True)
class Spread:
    """How a sum of cells would have come out: draws float64[resample], centred; blocks: effective number of them."""

    draws: Floats
    blocks: float
    block: int

    @property
    def variance(self) -> float:
        """Of the draws."""
        return float(self.draws @ self.draws) / max(len(self.draws), 1)


def spread(
    values: Floats, groups: Ints, least: int, generator: np.random.Generator, resamples: int = RESAMPLES
) -> Spread:
    """Draw a series anew, block by block. groups: int64[cell], values are centred within each (strata).

    Blocks of finite length miss some of the correlation, and centring took some of the variance: both are made good
    for, the first by comparing with blocks half as long, the second by the share of its group that one block is.
    """
    count = len(values)
    block = min(block_cells(values, least), count)
    whole = values * _uncentred(groups, block)
    number, rest = divmod(count, block)
    starts = generator.integers(0, count, size=(resamples, number + 1))
    draws = _sums(whole, block)[starts[:, :number]].sum(axis=1)
    if rest:
        draws = draws + _sums(whole, rest)[starts[:, number]]
    return Spread(np.asarray((draws - draws.mean()) * _longer(values, block)), count / block, block)


def _uncentred(groups: Ints, block: int) -> Floats:
    """Factor of each cell by which centring its group made it smaller; groups of less than two blocks count as two."""
    sizes = np.bincount(groups).astype(np.float64)
    lost = np.minimum(block / np.maximum(sizes, 1.0), 0.5)
    return np.asarray((1.0 / np.sqrt(1.0 - lost))[groups])


def _longer(values: Floats, block: int) -> float:
    """Factor by which longer blocks would spread more."""
    full = block_variance(values, block)
    if full <= 0 or block == 1:
        return 1.0
    return math.sqrt(max(1.0, 2.0 - block_variance(values, max(block // 2, 1)) / full))


def student(probability: float, freedom: float) -> float:
    """Quantile of Student's t; by its expansion around the normal one, good to 0.1 % from 8 degrees of freedom.

    >>> round(student(0.975, 19), 3), round(student(0.975, 1e9), 3)
    (2.093, 1.96)
    """
    z = NORMAL.inv_cdf(probability)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / freedom + second / freedom**2 + third / freedom**3


@dataclass(frozen=True, slots=True)
class Interval:
    """Of a difference: float bounds at `LEVEL`, and the smallest size that would have been found with `POWER`."""

    low: float
    high: float
    smallest: float


def interval(estimate: float, a: Spread, b: Spread) -> Interval:
    """Of the difference of two independent sums, b − a, about its estimate."""
    draws = b.draws - a.draws
    variances = [one.variance for one in (a, b)]
    total = sum(variances)
    freedoms = [max(one.blocks - 1.0, 1.0) for one in (a, b)]
    parts = sum(variance**2 / freedom for variance, freedom in zip(variances, freedoms, strict=True))
    freedom = total * total / parts if parts > 0 else min(freedoms)
    upper = (1.0 + LEVEL) / 2.0
    wider = student(upper, freedom) / NORMAL.inv_cdf(upper)
    low, high = np.quantile(draws, (1.0 - upper, upper)) * wider
    smallest = (student(upper, freedom) + NORMAL.inv_cdf(POWER)) * math.sqrt(total)
    return Interval(estimate - float(high), estimate - float(low), smallest)
