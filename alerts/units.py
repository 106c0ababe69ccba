"""Numbers as people write them in a rule: the units they may carry, and what each is in base units."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from telemetry.model import Unit

KI = 1024.0

SPELLED: Mapping[str, tuple[Unit, float]] = {
    "W": (Unit.WATTS, 1.0),
    "kW": (Unit.WATTS, 1e3),
    "J": (Unit.JOULES, 1.0),
    "°C": (Unit.CELSIUS, 1.0),
    "MHz": (Unit.HERTZ, 1e6),
    "GHz": (Unit.HERTZ, 1e9),
    "%": (Unit.RATIO, 0.01),
    "B": (Unit.BYTES, 1.0),
    "kB": (Unit.BYTES, 1e3),
    "MB": (Unit.BYTES, 1e6),
    "GB": (Unit.BYTES, 1e9),
    "KiB": (Unit.BYTES, KI),
    "MiB": (Unit.BYTES, KI**2),
    "GiB": (Unit.BYTES, KI**3),
    "TiB": (Unit.BYTES, KI**4),
    "kB/s": (Unit.BYTES_PER_SECOND, 1e3),
    "MB/s": (Unit.BYTES_PER_SECOND, 1e6),
    "GB/s": (Unit.BYTES_PER_SECOND, 1e9),
    "MiB/s": (Unit.BYTES_PER_SECOND, KI**2),
    "GiB/s": (Unit.BYTES_PER_SECOND, KI**3),
    "Mb/s": (Unit.BYTES_PER_SECOND, 1e6 / 8),
    "Gb/s": (Unit.BYTES_PER_SECOND, 1e9 / 8),
    "ms": (Unit.SECONDS, 1e-3),
    "s": (Unit.SECONDS, 1.0),
    "min": (Unit.SECONDS, 60.0),
    "h": (Unit.SECONDS, 3600.0),
    "d": (Unit.SECONDS, 86400.0),
    "/s": (Unit.PER_SECOND, 1.0),
    "/min": (Unit.PER_SECOND, 1 / 60),
    "tok/s": (Unit.TOKENS_PER_SECOND, 1.0),
    "tok": (Unit.TOKENS, 1.0),
    "tok/step": (Unit.TOKENS_PER_STEP, 1.0),
    "J/token": (Unit.JOULES_PER_TOKEN, 1.0),
}
"""Text of a unit → the base unit it belongs to, and its size in it."""

SAME: Mapping[Unit, Unit] = {
    Unit.NETWORK_BYTES_PER_SECOND: Unit.BYTES_PER_SECOND,
    Unit.PACKET_BYTES: Unit.BYTES,
    Unit.REQUESTS: Unit.COUNT,
}
"""Units that differ on the screen only."""

Dimension = Mapping[str, int]
"""Base quantity → its power, none of 0: {"J": 1, "s": -1} of watts, nothing of a ratio."""
BASES: Mapping[Unit, Dimension] = {
    Unit.BYTES: {"B": 1},
    Unit.BYTES_PER_SECOND: {"B": 1, "s": -1},
    Unit.NETWORK_BYTES_PER_SECOND: {"B": 1, "s": -1},
    Unit.PACKET_BYTES: {"B": 1},
    Unit.BYTES_PER_TOKEN: {"B": 1, "tok": -1},
    Unit.CELSIUS: {"°C": 1},
    Unit.COUNT: {"count": 1},
    Unit.HERTZ: {"Hz": 1},
    Unit.JOULES: {"J": 1},
    Unit.JOULES_PER_TOKEN: {"J": 1, "tok": -1},
    Unit.PER_SECOND: {"count": 1, "s": -1},
    Unit.RATIO: {},
    Unit.REQUESTS: {"count": 1},
    Unit.SECONDS: {"s": 1},
    Unit.STATE: {"state": 1},
    Unit.TOKENS: {"tok": 1},
    Unit.TOKENS_PER_SECOND: {"tok": 1, "s": -1},
    Unit.TOKENS_PER_STEP: {"tok": 1, "step": -1},
    Unit.WATTS: {"J": 1, "s": -1},
}
NAMES: Mapping[frozenset[tuple[str, int]], Unit] = {
    frozenset(dimension.items()): unit for unit, dimension in BASES.items() if unit not in SAME
}
"""Which unit has a dimension."""


def product(one: Dimension, other: Dimension, power: int = 1) -> Dimension:
    """Of one times the power of the other.

    >>> product({"J": 1, "s": -1}, {"s": -1}, -1)
    {'J': 1}
    """
    found = {base: one.get(base, 0) + power * other.get(base, 0) for base in {**one, **other}}
    return {base: much for base, much in found.items() if much}


def alike(one: Dimension, other: Dimension) -> bool:
    """Whether two may stand beside each other. What is counted says nothing beside something else: five nodes' watts
    are watts."""
    return one == other or (_without_count(one) == _without_count(other) != {})


def _without_count(of: Dimension) -> Dimension:
    return {base: much for base, much in of.items() if base != "count"}


def name_of(dimension: Dimension) -> str:
    """In words.

    >>> name_of({"J": 1, "s": -1}), name_of({"J": 2, "s": -2}), name_of({"J": -1})
    ('watts', 'J^2 s^-2', 'J^-1')
    """
    unit = NAMES.get(frozenset(dimension.items()))
    if unit is not None:
        return unit.value
    return " ".join(base if much == 1 else f"{base}^{much}" for base, much in dimension.items())


DURATION = re.compile(r" *([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?) *([a-z]+) *")


def seconds_of(text: str) -> float:
    """Seconds of a duration as rules write it: "90s", "2min", "24h", "500ms". ValueError for anything else."""
    found = DURATION.fullmatch(text)
    unit, size = SPELLED.get(found[2], (None, 0.0)) if found else (None, 0.0)
    seconds = float(found[1]) * size if found else math.inf
    if unit is not Unit.SECONDS or seconds == math.inf:
        raise ValueError(f"{text!r:.80} is no duration: write it like 90s, 2min or 24h")
    return seconds
