"""A source for somebody who may go away: then nothing more is read for them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection
from dataclasses import dataclass

from telemetry.frame import Frame
from telemetry.source import Source, Through
from telemetry.summary import Summaries


@dataclass(frozen=True)
class Watched(Through):
    """The same answers; every reading of samples or hours first asks `wanted`: BrokenPipeError where it says no.

    So work ends soon even in long stretches without samples, of which nothing is written.
    """

    source: Source
    wanted: Callable[[], bool]

    def _ask(self) -> None:
        if not self.wanted():
            raise BrokenPipeError(errno.EPIPE, "nobody waits for this export any more")

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end."""
        self._ask()
        return self.source.frame(metrics, start_ms, end_ms, targets)

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""
        self._ask()
        return super().summaries(metrics, start_ms, end_ms, targets)
