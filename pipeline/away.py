"""The time in which no collector ran, as an event of the one that goes on: a gap in everything wants a reason."""

from __future__ import annotations

from collections.abc import Mapping

from storage.records import Commit
from telemetry import formatting

AWAY = "collector away"
"""Kind of the event; its label SINCE is the last commit before, epoch milliseconds."""
SINCE = "since"


def while_away(latest: Commit | None, now_ms: int, gap_ms: float) -> tuple[str, Mapping[str, str]] | None:
    """Text and labels; None where there never was a collector, or no longer ago than a gap is (`longest_gap_ms`).

    It seems no longer, too, where the machine's clock was set back (`HubClock.after`): an event of its own tells that.
    """
    if latest is None or now_ms - latest.at_ms <= gap_ms:
        return None
    span = formatting.span((now_ms - latest.at_ms) / 1000)
    return f"nothing was collected for {span}: the collector was stopped, or died", {SINCE: str(latest.at_ms)}
