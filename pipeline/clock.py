"""The hub's clock: an anchor on the wall clock plus a monotonic reading; a stepping wall clock moves no sample."""

from __future__ import annotations

TOLERANCE_MS = 500.0
LATE_READINGS = 10
"""So many readings in a row that come later than the anchor says mean a drift; fewer mean slow answers."""


class HubClock:
    """Epoch milliseconds = anchor + monotonic; set forward when the wall clock is more than 500 ms ahead.

    It never goes back: ticks that come twice, or counters whose instants fall, would be wrong for as long as the step.
    When the wall clock was set back, the hub's stays ahead of it, also of a collector that starts anew (`after`), until
    none has run for as long.
    """

    def __init__(self, wall_ms: float, monotonic_ms: float) -> None:
        self._anchor_ms = wall_ms - monotonic_ms
        self._told_ms = 0.0

    @classmethod
    def after(cls, newest_ms: float, gap_ms: float, wall_ms: float, monotonic_ms: float) -> HubClock:
        """The clock of a collector that goes on behind this tick, which may lie ahead of the wall clock: that was set
        back meanwhile, or is not set yet. Rows among those of another time would make counters fall and leap.

        gap_ms: so much behind it where the wall clock says nothing of how long nobody collected, that no rate reaches
        over a time whose length nobody knows.
        """
        unknown = newest_ms > wall_ms + TOLERANCE_MS
        return cls(newest_ms + gap_ms if unknown else max(wall_ms, newest_ms), monotonic_ms)

    def at(self, monotonic_ms: float) -> float:
        """The instant of a monotonic reading, epoch milliseconds."""
        return self._anchor_ms + monotonic_ms

    def check(self, wall_ms: float, monotonic_ms: float) -> str | None:
        """Compare with the wall clock; a sentence when that moved since the last look, else None."""
        off = wall_ms - self.at(monotonic_ms)
        if off > TOLERANCE_MS:
            self._anchor_ms += off
            self._told_ms = 0.0
            return f"the hub's clock was set forward by {off / 1000:.1f} s"
        if abs(off - self._told_ms) <= TOLERANCE_MS:
            return None
        self._told_ms = off if off < -TOLERANCE_MS else 0.0
        if not self._told_ms:
            return "the machine's clock agrees with the hub's again"
        return (
            f"the machine's clock was set back: times stay {-off / 1000:.1f} s ahead until the collector has been "
            "stopped for as long"
        )


class NodeClock:
    """A node's monotonic readings on the hub's clock: the time base of its rates.

    Differences between two samples are the node's own, free of the network's delays. The anchor is taken at the first
    reading, and again when the node booted (its reading fell) or the two clocks drifted apart by more than 500 ms: at
    once where a reading came before it can have been made, but only after LATE_READINGS where all come late.
    """

    def __init__(self) -> None:
        self._anchor_ms: float | None = None
        self._last_ms = float("-inf")
        self._late = 0

    def at(self, monotonic_s: float, arrival_ms: float) -> float:
        """The instant of a reading that arrived at `arrival_ms` of the hub's clock."""
        reading = monotonic_s * 1000.0
        booted, self._last_ms = reading < self._last_ms, reading
        late_ms = 0.0 if self._anchor_ms is None else arrival_ms - (self._anchor_ms + reading)
        self._late = self._late + 1 if late_ms > TOLERANCE_MS else 0
        if self._anchor_ms is None or booted or late_ms < -TOLERANCE_MS or self._late >= LATE_READINGS:
            self._anchor_ms, self._late = arrival_ms - reading, 0
        return self._anchor_ms + reading
