"""What answers are read from."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

from telemetry.frame import Frame, Sheet
from telemetry.summary import Summaries


class Source(Protocol):
    """History: samples, and summaries of whole hours. Ranges are closed, instants epoch milliseconds."""

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        """Samples of these metrics with start ≤ tick ≤ end; targets None = all."""

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""

    def one_state(self) -> AbstractContextManager[None]:
        """Around a few short questions: none of them is told of what happens to the source meanwhile."""

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        """Hours of the range, rising, whose rows no summary tells yet, or not all of them."""

    def extent(self) -> tuple[int, int] | None:
        """(first, last) instant outside of which there is nothing, maybe a little wide; None: there is nothing."""

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether samples of the range were given up, so that only summaries tell of them."""

    def step_ms(self) -> int:
        """The shortest nominal interval of a target."""


@runtime_checkable
class Sheets(Protocol):
    """A source that hands over a long range in pieces, all of which it reads at once."""

    def sheets(
        self, metrics: Collection[str], ranges: Sequence[tuple[int, int]], targets: Collection[str] | None = None
    ) -> Iterator[tuple[int, int, Sheet]]:
        """(start, end, values of `Source.frame`) of each of the closed ranges, which follow each other; of gauges and
        states, for counters have zeros before their first use, which begin with the range. A range may come in several
        parts, cut at whole hours."""


class Through:
    """What a source in front of another says as that does. Who has more to say of something says it in its place."""

    source: Source

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        """Sealed hours that overlap the range."""
        return self.source.summaries(metrics, start_ms, end_ms, targets)

    def one_state(self) -> AbstractContextManager[None]:
        """Around a few short questions."""
        return self.source.one_state()

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        """Hours of the range, rising, whose rows no summary tells yet, or not all of them."""
        return self.source.unsealed(start_ms, end_ms)

    def extent(self) -> tuple[int, int] | None:
        """(first, last) instant outside of which nothing is stored; None where nothing is."""
        return self.source.extent()

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether samples of the range were given up."""
        return self.source.forgotten(start_ms, end_ms)

    def step_ms(self) -> int:
        """The shortest nominal interval of a target."""
        return self.source.step_ms()
