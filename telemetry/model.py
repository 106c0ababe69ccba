"""What a measurement is: the types that the catalogue is written in.

Standard library only, because the node agent carries this file. Nothing here reads a clock, a file or a socket.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    """How a value behaves in time."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"
    STATE = "state"
    RATIO = "ratio"


class Fold(Enum):
    """How several values become one; NaN (unknown) never takes part."""

    SUM = "sum"
    MEAN = "mean"
    MIN = "min"
    MAX = "max"
    LAST = "last"


class Unit(Enum):
    """Base unit of a stored value. Screen units (Gb/s, MHz, GiB) exist only in the formatter."""

    BYTES = "bytes"
    BYTES_PER_SECOND = "bytes_per_second"
    NETWORK_BYTES_PER_SECOND = "network_bytes_per_second"
    PACKET_BYTES = "packet_bytes"
    BYTES_PER_TOKEN = "bytes_per_token"
    CELSIUS = "celsius"
    COUNT = "count"
    HERTZ = "hertz"
    JOULES = "joules"
    JOULES_PER_TOKEN = "joules_per_token"
    PER_SECOND = "per_second"
    RATIO = "ratio"
    REQUESTS = "requests"
    SECONDS = "seconds"
    STATE = "state"
    TOKENS = "tokens"
    TOKENS_PER_SECOND = "tokens_per_second"
    TOKENS_PER_STEP = "tokens_per_step"
    WATTS = "watts"


class Scope(Enum):
    """The kind of thing a series belongs to; decides which labels a query may filter by."""

    NODE = "node"
    ENGINE = "engine"
    DEPLOYMENT = "deployment"
    CLUSTER = "cluster"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Limits:
    """From where on a value deserves attention, in the metric's own unit; `low` reverses the comparison."""

    warning: float
    critical: float | None = None
    low: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One stored measurement, described once.

    name: catalogue name, base unit at its end, `_total` on counters and only there.
    by: labels that identify a series inside its target; every other label is folded away at ingest with `across`.
    over_time: fold of a gauge or state inside one bin of a reduced history: which of its values stands for it.
    across: fold over devices, engines and nodes.
    bits: width at which a counter wraps; 64 means that it never does, so a smaller value is a restart.
    states: names of a STATE metric's codes, in order from 0.
    at_first_use: the series appears on its page only after its first use, so an absent one stood at 0.
    formerly: earlier catalogue names, which `catalog.find` still understands.
    """

    name: str
    label: str
    help: str
    unit: Unit
    kind: Kind
    scope: Scope
    group: str
    by: tuple[str, ...] = ()
    over_time: Fold = Fold.MEAN
    across: Fold = Fold.SUM
    bits: int = 64
    limits: Limits | None = None
    states: tuple[str, ...] = ()
    at_first_use: bool = False
    formerly: tuple[str, ...] = ()


PARTS = ("bucket", "sum", "count")
"""What a histogram is stored as: a counter per bucket (label `le`), one for the sum and one for the count."""


def part(histogram: Metric, name: str) -> Metric:
    """The counter that one part ("bucket", "sum" or "count") of a histogram is stored as."""
    by = (*histogram.by, "le") if name == "bucket" else histogram.by
    unit = histogram.unit if name == "sum" else Unit.COUNT
    return replace(histogram, name=f"{histogram.name}_{name}", kind=Kind.COUNTER, by=tuple(sorted(by)), unit=unit)


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quotient that is never stored: (Σ numerator ∕ Σ denominator) × scale + offset over a trailing window.

    A term that is a counter contributes its increase over the window, a gauge its integral (value × seconds).
    `denominator=()` means the window's own seconds, which add up over time but not over series; in the unit RATIO it
    is a share of time, and the seconds are those of each series: the share of several is their mean, never over 1.
    The result is unknown when the denominator is 0 or either side is unknown.
    """

    name: str
    label: str
    help: str
    unit: Unit
    scope: Scope
    group: str
    numerator: tuple[Metric, ...]
    denominator: tuple[Metric, ...] = ()
    scale: float = 1.0
    offset: float = 0.0
    window_s: float = 10.0
    by: tuple[str, ...] = ()
    limits: Limits | None = None
    formerly: tuple[str, ...] = ()
    kind: Kind = Kind.RATIO


@dataclass(frozen=True, slots=True)
class Series:
    """Identity of one stored series: `labels` hold the metric's `by` labels as sorted pairs."""

    target: str
    metric: str
    labels: tuple[tuple[str, str], ...] = ()

    def label(self, name: str) -> str | None:
        """Value of one label, None when the series does not carry it."""
        return next((value for key, value in self.labels if key == name), None)


UNKNOWN = float("nan")
"""The one spelling of "not known" in arrays; JSON carries it as null, CSV as an empty field."""
