"""Between which instants a run can lie: what says otherwise is a lie, or a clock that was never set."""

from __future__ import annotations

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
EARLIEST_MS = 1_420_070_400_000
"""2015-01-01 UTC: no run is older than what it runs on."""
LATEST_MS = 4_102_444_800_000
"""2100-01-01 UTC: calendars and charts end there, whatever a store says."""
LONGEST_MS = 400 * DAY_MS
"""A year and a month."""
AHEAD_MS = DAY_MS
"""How far another installation's clock may be ahead."""
BESIDE_MS = HOUR_MS
"""How far what belongs to a run may lie outside of it."""


def clipped(instant_ms: int | None) -> int | None:
    """An instant that a calendar can show.

    >>> clipped(2**53 - 1) == LATEST_MS, clipped(7), clipped(None)
    (True, 7, None)
    """
    return None if instant_ms is None else min(instant_ms, LATEST_MS)
