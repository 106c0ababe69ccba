"""How well a target was watched: samples there and expected, gaps, restarts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Gap = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Coverage:
    """One target over a stretch. expected: readings, by the interval at each. gaps: (from, to) in milliseconds.

    restarts: instants at which a counter began anew.
    """

    target: str
    present: int
    expected: int
    gaps: Sequence[Gap]
    restarts: Sequence[int]

    @property
    def gap_s(self) -> float:
        """Seconds of gaps."""
        return sum(end - start for start, end in self.gaps) / 1000.0


def no_window(window_s: float, seconds: float) -> str:
    """Why a stretch of this length has no value over windows of this length, where gaps or its length are why."""
    return f"shorter than {window_s:g} s" if seconds < window_s else f"no window of {window_s:g} s without a gap"


def touched(several: Sequence[Coverage], what: str) -> str:
    """What to say of a number that gaps touch: "2 gaps of the engine, 14 s"; "" where there are none."""
    gaps = [gap for one in several for gap in one.gaps]
    if not gaps:
        return ""
    seconds = sum(end - start for start, end in gaps) / 1000.0
    count = "1 gap" if len(gaps) == 1 else f"{len(gaps)} gaps"
    return f"{count} of {what}, {seconds:.3g} s in all"
