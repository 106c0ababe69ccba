"""Places: where hours of summaries stand on bins of whole hours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from telemetry.frame import Floats, Ints, together


@dataclass(frozen=True)
class Places:
    """Where hours of summaries go: those `told` of the rows `mine` to the columns `where` of one hour before the first
    bin and `count` bins of `per_bin` hours, of which the first `skipped` are left out."""

    mine: Ints
    told: Ints | slice
    where: Ints | slice
    count: int
    per_bin: int
    skipped: int

    def laid(self, values: Floats, blank: float) -> Floats:
        """float64[series, bin, hour of the bin]"""
        flat = self._flat(values, blank)
        flat[:, 1 : self.skipped + 1] = blank
        return flat[:, 1:].reshape(len(flat), self.count, self.per_bin)

    def before(self, values: Floats, blank: float) -> Floats:
        """float64[series, bin], of the hour before the first one of each bin."""
        first = np.maximum(np.arange(self.count) * self.per_bin, self.skipped)
        return np.asarray(self._flat(values, blank)[:, first])

    def _flat(self, values: Floats, blank: float) -> Floats:
        chosen, width = values[together(self.mine)][:, self.told], self.count * self.per_bin + 1
        if not isinstance(self.where, slice):
            flat = np.full((len(chosen), width), blank)
        else:
            flat = np.empty((len(chosen), width))
            flat[:, : self.where.start], flat[:, self.where.stop :] = blank, blank
        flat[:, self.where] = chosen
        return flat
