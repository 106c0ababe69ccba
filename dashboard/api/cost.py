"""What an answer would be made of, judged before anything of it is read: refused when it is too much."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources

MOST_CELLS = 4_000_000
"""Samples (series × ticks) that one answer may be made of: 16 nodes over 3 days, or everything over an hour."""
PROBE_MS = 60_000


def samples(
    sources: Sources, metrics: Collection[str], start_ms: int, end_ms: int, targets: Sequence[str] | None
) -> int:
    """About how many samples of these metrics the range holds: series and pace of the last minute, as far as the store
    reaches. Times without a collector are counted as if there had been one."""
    recent = sources.recent
    first = next(iter(sources.store.commits_after(-1, 1)), None)
    newest = recent.latest_tick
    if first is None or newest is None:
        return 0
    probe = recent.frame(metrics, start_ms=newest - PROBE_MS, end_ms=newest, targets=targets)
    ticks = len(probe.ticks)
    pace_ms = (int(probe.ticks[-1]) - int(probe.ticks[0])) / (ticks - 1) if ticks > 1 else sources.step_ms()
    span_ms = min(end_ms, newest) - max(start_ms, first.first_tick)
    return len(probe.series) * int(max(span_ms, 0) / pace_ms + 1)


def afford(count: int) -> None:
    """Refuse an answer of so many samples if it is too much; ParameterError with a sentence."""
    if count > MOST_CELLS:
        raise ParameterError(
            f"This would be made of {count:,} samples, expected at most {MOST_CELLS:,}; "
            "ask for a shorter range, or name a node, an engine or a deployment."
        )
