"""What a collector hands over, and the table of collectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.node.figures import believable
from collectors.node.machine import Machine
from telemetry.catalog.host import OUTCOMES
from telemetry.model import Kind, Metric

OK, NOTHING_HERE, FAILED = OUTCOMES

Sample = tuple[Metric, tuple[str, ...], float]
"""A metric, the values of its `by` labels in their order, and a number in the metric's unit."""


class Process(NamedTuple):
    """A process that holds a context on a GPU. None is "not known"."""

    pid: int
    gpu: str
    gpu_memory_bytes: int | None
    name: str | None = None
    resident_bytes: int | None = None
    container: str | None = None


@dataclass(slots=True)
class Reading:
    """One collector's result. A number that is not known has no sample; why is in `outcome` and `reason`.

    processes: as the driver names them; `described` once names and containers have been added.
    """

    outcome: str = OK
    reason: str = ""
    samples: list[Sample] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    processes: list[Process] = field(default_factory=list)
    described: bool = False
    seconds: float = 0.0

    def add(self, metric: Metric, value: float | None, *labels: str) -> None:
        """Keep a number, unless it is unknown or cannot be: not finite, beyond 64 bits, a counter below 0."""
        if value is not None and believable(value) and not (value < 0 and metric.kind is Kind.COUNTER):
            self.samples.append((metric, labels, value))

    def fact(self, name: str, value: str | None) -> None:
        """Keep a fact, unless it is unknown or empty."""
        if value:
            self.facts[name] = value

    def value(self, metric: Metric, *labels: str) -> float | None:
        """The number of one series of this reading, None when it has none."""
        return next((value for found, of, value in self.samples if found is metric and of == labels), None)


def known_of(reading: Reading, paths: str) -> Reading:
    """The reading, unless these files gave not one number: then a failed one that says so."""
    return reading if reading.samples else failed(f"{paths}: no number could be read there")


def unforeseen(error: BaseException) -> Reading:
    """The reading of a collector that met something nobody foresaw: a sentence with the place in the agent's code."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    place = (
        "an unknown place" if at is None else f"{os.path.basename(at.tb_frame.f_code.co_filename)} line {at.tb_lineno}"
    )
    return failed(f"the agent cannot make sense of what it read (at {place})")


def nothing_here(reason: str) -> Reading:
    """The reading of something that this machine rightly does not have."""
    return Reading(NOTHING_HERE, reason)


def failed(reason: str) -> Reading:
    """The reading of something that should be there and could not be read."""
    return Reading(FAILED, reason)


class Round(NamedTuple):
    """One pass over all collectors: when it began, and what was read before in it."""

    monotonic_s: float
    wall_s: float
    readings: Mapping[str, Reading]


Read = Callable[[Round], Reading]


class Collector(NamedTuple):
    """Name, how long a reading stays good (0: read in every round), and what makes the function that reads."""

    name: str
    every_s: float
    build: Callable[[Machine], Read]


COLLECTORS: dict[str, Collector] = {}
"""In the order in which a round reads them."""


def collector(name: str, every_s: float = 0.0) -> Callable[[Callable[[Machine], Read]], Callable[[Machine], Read]]:
    """Register a function that makes a collector's reading function for a machine."""

    def register(build: Callable[[Machine], Read]) -> Callable[[Machine], Read]:
        COLLECTORS[name] = Collector(name, every_s, build)
        return build

    return register
