"""What a target's page says: a layout is the meaning of its lines, a page is one reading of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from telemetry.frame import Bools, Floats
from telemetry.model import UNKNOWN, Fold, Series

ENGINES = ("vllm", "sglang", "llama.cpp", "trtllm", "agent", "unknown")


@dataclass(frozen=True, eq=False)
class Layout:
    """Meaning of a page's lines; the same object for as long as the page keeps its set of lines.

    series: stored series, in stored order.
    source: int32[n_raw]; raw line → position in `series`.
    lines: n_raw identities of raw lines, equal across layouts; counters are unwrapped by them.
    folds: how the raw lines of each stored series become one value (SUM for every counter).
    facts: what labels of info lines say, flat text (model, kv capacity …); `statistics` says why there are none.
    engine: one of ENGINES, recognised from the page itself.
    dropped_families: families on the page that the catalogue does not know.
    refused_series: stored series beyond the cap; their lines are not read.
    copies: which of several lines that say the same makes each stored series, as text: the name's rank and the copy's
        ranks. Empty where no series has a choice.
    """

    series: tuple[Series, ...]
    source: npt.NDArray[np.int32]
    lines: tuple[str, ...]
    folds: tuple[Fold, ...]
    facts: Mapping[str, str]
    engine: str
    dropped_families: int
    refused_series: int
    copies: tuple[str, ...] = ()

    def fold(self, raw: Floats) -> Floats:
        """One value per stored series from one per raw line (float64[n_raw] → float64[len(series)]).

        NaN is unknown: a sum with an unknown part is unknown, a maximum or minimum passes over it.
        """
        if self._straight:
            return raw.copy()
        values = np.empty(len(self.series))
        values[self.source] = raw
        for position, lines, fold in self._repeated:
            values[position] = fold(raw[lines])
        return values

    @cached_property
    def _straight(self) -> bool:
        """Whether each raw line is the stored series of the same place."""
        return np.array_equal(self.source, np.arange(len(self.series)))

    @cached_property
    def _repeated(self) -> list[tuple[int, npt.NDArray[np.intp], Callable[[Floats], float]]]:
        """Series that more than one raw line makes up: position, lines and how they fold."""
        several = np.flatnonzero(np.bincount(self.source, minlength=len(self.series)) > 1)
        return [
            (position, np.flatnonzero(self.source == position), _FOLDS[self.folds[position]])
            for position in several.tolist()
        ]


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _max(values: Floats) -> float:
    return float(np.max(_known(values), initial=-np.inf)) if len(_known(values)) else UNKNOWN


def _min(values: Floats) -> float:
    return float(np.min(_known(values), initial=np.inf)) if len(_known(values)) else UNKNOWN


def _sum(values: Floats) -> float:
    return float(np.sum(values))


def _mean(values: Floats) -> float:
    return float(np.mean(_known(values))) if len(_known(values)) else UNKNOWN


def _last(values: Floats) -> float:
    return float(values[-1])


_FOLDS = {Fold.SUM: _sum, Fold.MAX: _max, Fold.MIN: _min, Fold.MEAN: _mean, Fold.LAST: _last}


@dataclass(frozen=True, eq=False)
class Page:
    """One reading of a page.

    raw: float64[n_raw], NaN where the line had no number (NaN, infinite).
    started_s: start of the engine's process by its own clock, where the page says so. Never for an agent: its
        counters belong to the machine and live through a restart of the agent.
    bad_lines: lines of known families that could not be read.
    started_by: what told `started_s`: "process" (its own line), or "created" (the earliest creation of a metric, which
        may be a minute later: the two are never compared).
    created_s: that earliest creation, whatever tells `started_s`: metrics may be made anew in the same process.
    contradicted: raw lines that the page gives more than once, with different numbers; they have none.
    """

    layout: Layout
    raw: Floats
    started_s: float | None
    bad_lines: int = 0
    started_by: str = "process"
    created_s: float | None = None
    contradicted: tuple[int, ...] = ()

    @property
    def twice(self) -> Bools:
        """bool[n_raw]: the contradicted lines."""
        found = np.zeros(len(self.raw), dtype=bool)
        found[list(self.contradicted)] = True
        return found

    def values(self) -> Floats:
        """float64[len(layout.series)]: what the page says of each stored series. Counters are not unwrapped."""
        return self.layout.fold(self.raw)
