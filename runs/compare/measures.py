"""Measures of speed that runs are compared by: each a quotient of sums over cells, within strata of concurrency."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runs.compare import strata
from runs.compare.cells import Cells
from telemetry.frame import Floats
from telemetry.model import Unit


@dataclass(frozen=True, slots=True)
class Measure:
    """above ∕ below: of each cell what is summed. more: whether a larger value is faster.

    load: of each cell the number of requests that its stratum follows; None: of the whole run, without strata.
    better, worse: words for a difference.
    """

    key: str
    label: str
    unit: Unit
    definition: str
    above: Callable[[Cells], Floats]
    below: Callable[[Cells], Floats]
    load: Callable[[Cells], Floats] | None
    more: bool
    better: str = "faster"
    worse: str = "slower"


PER_REQUEST = Measure(
    "per_request",
    "Decode per request",
    Unit.TOKENS_PER_SECOND,
    "Output tokens ∕ requests running over time, in cells with equally many running, those in prefill included.",
    lambda cells: cells.tokens,
    lambda cells: cells.running_s,
    lambda cells: cells.running,
    more=True,
)
STEP_TIME = Measure(
    "step_time",
    "Step time",
    Unit.SECONDS,
    "Mean inter-token latency, one per request and step, in cells with equally many running.",
    lambda cells: cells.step_s,
    lambda cells: cells.steps,
    lambda cells: cells.running,
    more=False,
)
TPOT = Measure(
    "tpot",
    "Time per output token",
    Unit.SECONDS,
    "Mean TPOT of the requests that finished, by how many ran on average in the time of a mean request before.",
    lambda cells: cells.tpot_s,
    lambda cells: cells.tpots,
    strata.lagged,
    more=False,
)
THROUGHPUT = Measure(
    "throughput",
    "Decode throughput",
    Unit.TOKENS_PER_SECOND,
    "Output tokens per second, without the time in which the load builds up or runs out. Only where the queue was "
    "never empty or the loop was closed: else it says how much was asked for, not how fast the engine is.",
    lambda cells: cells.tokens,
    lambda cells: np.full(len(cells), cells.width_s),
    None,
    more=True,
    better="higher",
    worse="lower",
)
AT_EQUAL_LOAD = (PER_REQUEST, STEP_TIME, TPOT)
"""Of these the first that both runs offer is the verdict on two runs."""
MEASURES = (*AT_EQUAL_LOAD, THROUGHPUT)
