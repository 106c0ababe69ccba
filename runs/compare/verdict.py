"""What can be said of two runs by one measure, and how surely. Same cells, same words: the seed is fixed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from runs.compare import strata
from runs.compare.arrivals import Limit, Load, load
from runs.compare.blocks import RESAMPLES, SEED, Interval, Spread, interval, spread
from runs.compare.cells import Cells
from runs.compare.measures import MEASURES, Measure
from telemetry.frame import Bools, Floats, Ints

Word = Literal["faster", "slower", "higher", "lower", "no difference", "too short", "not comparable"]
NEEDED = 20
"""Effective blocks that each run must have."""
FEW = 4
"""Of less blocks not even an interval is told."""
UNKNOWN_REQUEST_S = 60.0
"""Taken as a mean request where its length is not known."""
LITTLE = 0.5
"""Share of a run's time below which it is said that the rest ran at another concurrency."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """One stratum of a comparison: label, weight, and of both runs the value and the seconds."""

    label: str
    weight: float
    values: tuple[float, float]
    seconds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """word: see `Word`. measure: its key. values: of both runs, at the same concurrency; None not known.

    difference, low, high: second ∕ first − 1 and its interval; smallest: the smallest difference (a share) that would
    have been found four times in five. blocks: effective number of them in each run; block_s: their lengths.
    wait_s: how much longer the run that lacks most had to be, where one is too short. shares: of each run's time, that
    compared. why: why it cannot be said. notes: what else touches it.
    """

    measure: str
    word: Word
    values: tuple[float | None, float | None] = (None, None)
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    smallest: float | None = None
    blocks: tuple[float, float] | None = None
    block_s: tuple[float, float] | None = None
    wait_s: float | None = None
    shares: tuple[float, float] | None = None
    strata: Sequence[Stratum] = ()
    why: str = ""
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Side:
    """A run in a comparison: the value over the strata, and of each cell in them what it adds to the value's logarithm
    and its stratum's place."""

    value: float
    influence: Floats
    groups: Ints
    ratios: Floats
    seconds: Floats


def compare(a: Cells, b: Cells, resamples: int = RESAMPLES) -> list[Verdict]:
    """The verdicts on two runs, one per measure."""
    loads = load(a), load(b)
    return [judge(measure, a, b, loads, resamples) for measure in MEASURES]


def judge(
    measure: Measure, a: Cells, b: Cells, loads: tuple[Load, Load] | None = None, resamples: int = RESAMPLES
) -> Verdict:
    """The verdict on two runs by one measure."""
    if measure.load is None:
        return _throughput(measure, a, b, loads or (load(a), load(b)), resamples)
    usable = _known(measure, a), _known(measure, b)
    for cells, use, which in ((a, usable[0], "first"), (b, usable[1], "second")):
        if not use.any():
            return _not(measure, _missing(measure, cells, which))
    numbers = strata.number(measure.load(a)), strata.number(measure.load(b))
    shared = strata.common(numbers, usable, (a.width_s, b.width_s))
    if not len(shared.numbers):
        return _apart(measure, (a, b), numbers, usable)
    return _said(measure, a, b, shared, resamples)


def _apart(
    measure: Measure, both: tuple[Cells, Cells], numbers: tuple[Ints, Ints], usable: tuple[Bools, Bools]
) -> Verdict:
    """Where no stratum has enough cells in both runs: too short, or at loads that never met."""
    met = set.intersection(*({int(one) for one in side[use]} - {-1} for side, use in zip(numbers, usable, strict=True)))
    if not met:
        return _not(measure, f"they never ran equally many requests: {_ranges(numbers, usable)}")
    seconds = strata.FEWEST * max(one.width_s for one in both)
    return Verdict(measure.key, "too short", why=f"they ran equally many requests for less than {seconds:g} s")


def _throughput(measure: Measure, a: Cells, b: Cells, loads: tuple[Load, Load], resamples: int) -> Verdict:
    for one, which in zip(loads, ("first", "second"), strict=True):
        if one.limit is Limit.ARRIVALS:
            return _not(measure, f"the {which} run is limited by arrivals")
        if one.limit is Limit.UNKNOWN:
            return _not(measure, f"whether arrivals limited the {which} run is not known")
    first, second = (one.system for one in loads)
    both = all(one.limit is Limit.QUEUE for one in loads)
    if not both and abs(first - second) > max(0.5, 0.05 * max(first, second)):
        return _not(measure, f"the loads differ: about {first:.0f} and {second:.0f} requests in the system")
    cells = tuple(np.where(one.core, 0, -1) for one in loads)
    shared = strata.Common(np.zeros(1, dtype=np.int64), np.ones(1), (cells[0], cells[1]), (1.0, 1.0))
    return _said(measure, a, b, shared, resamples)


def _known(measure: Measure, cells: Cells) -> Bools:
    """Cells in which both sides of the measure are known while requests ran."""
    above, below = measure.above(cells), measure.below(cells)
    running = np.nan_to_num(cells.running_s) > 0
    return np.asarray(~np.isnan(above) & ~np.isnan(below) & running)


def _missing(measure: Measure, cells: Cells, which: str) -> str:
    if not len(cells):
        return f"the {which} run has no five seconds in a row that were watched"
    if np.isnan(cells.running_s).all():
        return f"of the {which} run it is not known how many requests ran"
    if np.isnan(measure.above(cells)).all():
        return f"the engine of the {which} run does not offer it"
    return f"in the {which} run no request was seen running"


def _ranges(numbers: tuple[Ints, Ints], usable: tuple[Bools, Bools]) -> str:
    """How many ran in each, in words."""
    told = []
    for one, use in zip(numbers, usable, strict=True):
        known = one[use & (one >= 0)]
        low, high = (strata.label(int(value)) for value in (np.min(known), np.max(known))) if len(known) else ("0", "0")
        told.append(low if low == high else f"{low} to {high}")
    return f"{told[0]} in the first, {told[1]} in the second"


def _not(measure: Measure, why: str) -> Verdict:
    return Verdict(measure.key, "not comparable", why=why)


def _said(measure: Measure, a: Cells, b: Cells, shared: strata.Common, resamples: int) -> Verdict:
    shared = _measured(measure, (a, b), shared)
    if not len(shared.numbers):
        return _not(measure, "nothing of it was counted at a concurrency that both ran at")
    sides = [side(measure, cells, place, shared.weights) for cells, place in zip((a, b), shared.cells, strict=True)]
    values = (sides[0].value, sides[1].value)
    if not all(value > 0 for value in values):
        return _not(measure, f"in the {'first' if not values[0] > 0 else 'second'} run it is 0")
    generator = np.random.default_rng(SEED)
    spreads = [
        spread(one.influence, one.groups, _least(cells), generator, resamples)
        for one, cells in zip(sides, (a, b), strict=True)
    ]
    estimate = math.log(values[1] / values[0])
    return _worded(measure, (a, b), shared, sides, spreads, estimate)


def _measured(measure: Measure, both: tuple[Cells, Cells], shared: strata.Common) -> strata.Common:
    """Without the strata in which nothing of the measure was counted, in either run."""
    seen = np.ones(len(shared.numbers), dtype=bool)
    for cells, place in zip(both, shared.cells, strict=True):
        inside = place >= 0
        counted = np.bincount(place[inside], measure.below(cells)[inside], len(seen))
        seen &= counted > 0
    renamed = np.append(np.where(seen, np.cumsum(seen) - 1, -1), -1)
    weights = shared.weights[seen]
    places = tuple(renamed[place] for place in shared.cells)
    total = max(float(weights.sum()), 1e-300)
    return strata.Common(shared.numbers[seen], weights / total, (places[0], places[1]), shared.shares)


def side(measure: Measure, cells: Cells, place: Ints, weights: Floats) -> Side:
    """Value of one run: Σ weight × (Σ above ∕ Σ below) over the strata, and each cell's influence on its logarithm.

    place: int64[cell], the stratum of each cell, −1 none.
    """
    inside = place >= 0
    where, count = place[inside], len(weights)
    above, below = measure.above(cells)[inside], measure.below(cells)[inside]
    sums = np.bincount(where, below, count)
    ratios = np.bincount(where, above, count) / sums
    value = float(weights @ ratios)
    influence = weights[where] * (above - ratios[where] * below) / sums[where]
    seconds = np.bincount(where, minlength=count).astype(np.float64) * cells.width_s
    return Side(value, influence / value if value > 0 else influence, where, ratios, seconds)


def _least(cells: Cells) -> int:
    """Cells of a mean request, below which no block may be."""
    length = cells.request_mean_s
    return math.ceil((length if length > 0 else UNKNOWN_REQUEST_S) / cells.width_s - 1e-9)


def _worded(
    measure: Measure,
    both: tuple[Cells, Cells],
    shared: strata.Common,
    sides: Sequence[Side],
    spreads: Sequence[Spread],
    estimate: float,
) -> Verdict:
    found = interval(estimate, spreads[0], spreads[1])
    blocks = (spreads[0].blocks, spreads[1].blocks)
    block_s = (spreads[0].block * both[0].width_s, spreads[1].block * both[1].width_s)
    short, bare = min(blocks) < NEEDED, min(blocks) < FEW
    waits = [(NEEDED - one) * seconds for one, seconds in zip(blocks, block_s, strict=True)]
    strange = strata.label if measure.load is not None else lambda _: "all"
    return Verdict(
        measure.key,
        _word(measure, found, short),
        (sides[0].value, sides[1].value),
        math.expm1(estimate),
        None if bare else math.expm1(found.low),
        None if bare else math.expm1(found.high),
        None if bare else math.expm1(found.smallest),
        blocks,
        block_s,
        max(waits) if short else None,
        shared.shares,
        tuple(
            Stratum(
                strange(int(number)),
                float(shared.weights[place]),
                (float(sides[0].ratios[place]), float(sides[1].ratios[place])),
                (float(sides[0].seconds[place]), float(sides[1].seconds[place])),
            )
            for place, number in enumerate(shared.numbers.tolist())
        ),
        notes=_notes(both, shared),
    )


def _word(measure: Measure, found: Interval, short: bool) -> Word:
    if short:
        return "too short"
    if found.low <= 0 <= found.high:
        return "no difference"
    return measure.better if (found.low > 0) == measure.more else measure.worse  # type: ignore[return-value]


def _notes(both: tuple[Cells, Cells], shared: strata.Common) -> list[str]:
    notes = [
        f"only {100 * share:.0f} % of the {which} run's time is compared: the rest ran at another concurrency"
        for share, which in zip(shared.shares, ("first", "second"), strict=True)
        if share < LITTLE
    ]
    unknown = [which for cells, which in zip(both, ("first", "second"), strict=True) if not cells.request_mean_s > 0]
    if unknown:
        length = f"{UNKNOWN_REQUEST_S:.0f} s are taken"
        notes.append(f"how long a request lasts is not known of the {' and the '.join(unknown)} run: {length}")
    return notes
