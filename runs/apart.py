"""Nodes that stand apart from the others: at a moment, and over a stretch by how much and since when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from telemetry.fleet import PEERS_NEEDED
from telemetry.frame import Bools, Floats

MADS = 4.0
"""A value stands apart where it is further from the median than so many median deviations, and than `Least` says."""
BRIDGE_MS, BRIDGE_SHARE = 120_000, 0.2
"""Interruptions shorter than both, the second a share of the stretch, do not end standing apart."""
LASTING_MS = 60_000
"""What lasted less long is not worth a word, unless it lasted half of the stretch."""


@dataclass(frozen=True, slots=True)
class Least:
    """How far apart counts: in the unit of the values, and as a share of the median."""

    absolute: float = 0.0
    share: float = 0.0

    def of(self, middle: Floats) -> Floats:
        """The distance that counts around these medians."""
        return np.maximum(self.absolute, self.share * np.abs(middle))


@dataclass(frozen=True, slots=True)
class Apart:
    """A node that stood apart from start to end. by: its mean less that of the median of all, over that time; share:
    the same as a share of the median's mean. from_start, to_end: whether it did so in the first and in the last bin of
    the stretch in which nodes can be compared.
    """

    node: str
    start_ms: int
    end_ms: int
    by: float
    share: float
    from_start: bool
    to_end: bool


def outliers(values: Sequence[float | None], least: Least) -> list[int]:
    """−1, 0 or 1 for each value: whether it lies far below or above the others.

    0 for unknown ones, and where fewer than three are known.

    >>> outliers([51.0, 50.0, 49.0, 30.0, None], Least(share=0.1))
    [0, 0, 0, -1, 0]
    """
    line = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    known = line[~np.isnan(line)]
    if len(known) < PEERS_NEEDED:
        return [0] * len(line)
    middle = float(np.median(known))
    far = max(float(least.of(np.asarray(middle))), MADS * float(np.median(np.abs(known - middle))))
    apart = np.where(np.isnan(line), 0.0, line - middle)
    return [int(one) for one in np.where(np.abs(apart) > far, np.sign(apart), 0.0)]


def furthest(
    nodes: Sequence[str], values: Floats, begin_ms: int, width_ms: int, least: Least, *, below: bool
) -> Apart | None:
    """The node that stood apart most, on one side: by distance times how long it lasted; None where none did.

    values: float64[node, bin], means of bins of `width_ms` from `begin_ms` on, NaN where unknown.
    """
    if len(nodes) < PEERS_NEEDED or not values.size:
        return None
    middle = _median(values)
    away = (middle - values) if below else (values - middle)
    bridge = _bridge(values.shape[1], width_ms)
    compared = np.flatnonzero(~np.isnan(middle))
    found: list[tuple[float, Apart]] = []
    for node, line, own in zip(nodes, away, values, strict=True):
        known = ~np.isnan(line)  # where the median is not, this is not
        far = known & (np.where(known, line, 0.0) >= least.of(np.where(known, middle, 0.0)))
        for low, high in _spans(far, bridge):
            length = (high - low) * width_ms
            if length >= min(LASTING_MS, width_ms * values.shape[1] // 2):
                both = known[low:high]
                since, until = begin_ms + low * width_ms, begin_ms + high * width_ms
                one = Apart(node, since, until, 0.0, 0.0, bool(low <= compared[0]), bool(high > compared[-1]))
                found.append(_weighed(one, own[low:high][both], middle[low:high][both]))
    return max(found, key=lambda one: one[0])[1] if found else None


def _weighed(one: Apart, own: Floats, middle: Floats) -> tuple[float, Apart]:
    """How much it weighs, and it with its distance. own, middle: of its bins in which both are known."""
    usual = float(middle.sum()) / len(middle)
    by = float(own.sum()) / len(own) - usual
    apart = replace(one, by=by, share=by / usual if usual else 0.0)
    return abs(by) * (one.end_ms - one.start_ms), apart


def _bridge(bins: int, width_ms: int) -> int:
    """How many bins are short."""
    return max(int(min(BRIDGE_MS, BRIDGE_SHARE * bins * width_ms)) // width_ms, 1)


def _median(values: Floats) -> Floats:
    """Median over nodes of each bin, NaN where fewer than three are known."""
    enough = (~np.isnan(values)).sum(axis=0) >= PEERS_NEEDED
    found = np.full(values.shape[1], np.nan)
    found[enough] = np.nanmedian(values[:, enough], axis=0)
    return found


def _spans(far: Bools, bridge: int) -> list[tuple[int, int]]:
    """[low, high) of what is true, interruptions of up to `bridge` included."""
    places = np.flatnonzero(far)
    if not len(places):
        return []
    breaks = np.flatnonzero(np.diff(places) > bridge + 1)
    lows = [int(places[0]), *places[breaks + 1].tolist()]
    highs = [*places[breaks].tolist(), int(places[-1])]
    return [(low, high + 1) for low, high in zip(lows, highs, strict=True)]
