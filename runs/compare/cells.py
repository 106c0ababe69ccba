"""What a comparison is made of: cells of a few seconds, each with its tokens, its load and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np

from telemetry.frame import Floats, Ints

DIGITS = 9


@dataclass(frozen=True)
class Cells:
    """Cells in order of time, each float64[cell]; NaN where it is not known: a gap, a restart, not offered.

    end_ms: instant at which a cell ends; width_s: its length. first_ms: instant of the reading that showed the first
    output token, NaN where there was none.
    tokens: output tokens. running_s, waiting_s: requests × seconds. step_s, steps: inter-token latencies and their
    number. tpot_s, tpots: time per output token of the requests that finished. request_s, requests: their length.
    finished: how many. queue: fewest requests waiting at a reading. moved: changes of the number of requests in the
    system from reading to reading; stirred: changes that independent arrivals would make, for as many that finished.
    """

    end_ms: Ints
    width_s: float
    first_ms: float
    tokens: Floats
    running_s: Floats
    waiting_s: Floats
    step_s: Floats
    steps: Floats
    tpot_s: Floats
    tpots: Floats
    request_s: Floats
    requests: Floats
    finished: Floats
    queue: Floats
    moved: Floats
    stirred: Floats

    def __len__(self) -> int:
        return len(self.end_ms)

    @property
    def running(self) -> Floats:
        """Mean number of requests running in each cell."""
        return np.asarray(self.running_s / self.width_s)

    @property
    def request_mean_s(self) -> float:
        """Mean time of a request in the engine, without its queue: as measured, else by Little's law; NaN where neither
        is known."""
        running, waiting = float(np.nansum(self.running_s)), float(np.nansum(self.waiting_s))
        inside = running / (running + waiting) if running > 0 else float("nan")
        count, finished = float(np.nansum(self.requests)), float(np.nansum(self.finished))
        if count > 0 and running > 0:
            return float(np.nansum(self.request_s)) / count * inside
        return running / finished if finished > 0 and running > 0 else float("nan")

    def take(self, chosen: Any) -> Cells:
        """Some of the cells: a mask, positions (one may be there twice) or a slice."""
        lines: dict[str, Any] = {name: getattr(self, name)[chosen] for name in ("end_ms", *LINES)}
        return Cells(width_s=self.width_s, first_ms=self.first_ms, **lines)

    def to_json(self) -> dict[str, Any]:
        """Plain data; null is unknown."""
        lines = {name: _plain(getattr(self, name)) for name in LINES}
        first = None if np.isnan(self.first_ms) else int(self.first_ms)
        return {"end_ms": self.end_ms.tolist(), "width_s": self.width_s, "first_ms": first, **lines}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Cells:
        """The reverse of `to_json`."""
        lines: dict[str, Any] = {name: np.array(data[name], dtype=np.float64) for name in LINES}
        first = np.nan if data["first_ms"] is None else float(data["first_ms"])
        return cls(np.array(data["end_ms"], dtype=np.int64), float(data["width_s"]), first, **lines)


LINES = tuple(one.name for one in fields(Cells) if one.name not in ("end_ms", "width_s", "first_ms"))


MOST = 200_000
"""Cells of a run: eleven days."""


def checked(data: Any) -> dict[str, Any]:
    """Cells as plain data that somebody else has written; ValueError with a sentence where they are none."""
    if not isinstance(data, dict) or set(data) != {"end_ms", "width_s", "first_ms", *LINES}:
        raise ValueError("“cells” is expected to be an object of a run's cells")
    lines = {name: data[name] for name in ("end_ms", *LINES)}
    ends, width, first = data["end_ms"], data["width_s"], data["first_ms"]
    if not all(isinstance(one, list) and len(one) <= MOST and len(one) == len(ends) for one in lines.values()):
        raise ValueError(f"the lines of “cells” are expected to be equally long lists of at most {MOST:,}")
    values = [value for one in lines.values() for value in one if value is not None]
    if not all(map(_number, [*values, width, 0 if first is None else first])) or None in ends or not width > 0:
        raise ValueError("“cells” is expected to hold numbers")
    if any(after <= before for before, after in pairwise(ends)):
        raise ValueError("the ends of “cells” are expected to rise")
    return Cells.from_json(data).to_json()


def _number(value: Any) -> bool:
    """Whether a value is a number that time and counts can be."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53


def _plain(values: Floats) -> list[float | None]:
    return [None if value != value else float(f"{value:.{DIGITS}g}") for value in values.tolist()]
