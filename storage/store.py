"""Store: the only door to the database. The collector opens it as writer; everybody else reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from storage.records import Absence, Batch, Command, Commit, Episode, Event, Fact, Offset, Row, TargetRow
from telemetry.frame import Frame
from telemetry.model import Series


def open_store(url: str, *, writer: bool, now_ms: int, busy_ms: int = 2000) -> Store:
    """Open (writer: create, migrate) the store at `sqlite:///path.db` or a bare path; StoreError with a sentence."""
    raise NotImplementedError


class Store:
    """One open store; every method may be called from any thread."""

    def layout(self, target: str, series: tuple[Series, ...]) -> int:
        """Number of this layout, registered on first use."""
        raise NotImplementedError

    def series_of(self, layout: int) -> tuple[Series, ...]:
        """The series of a layout, in stored order."""
        raise NotImplementedError

    def commit(self, batch: Batch, now_ms: int) -> Commit:
        """Write a batch, all or nothing; StoreBusy or StoreFull when it cannot be."""
        raise NotImplementedError

    def commits_after(self, sequence: int, limit: int = 1000) -> list[Commit]:
        """The commits that follow, oldest first."""
        raise NotImplementedError

    def latest_commit(self) -> Commit | None:
        """The newest commit."""
        raise NotImplementedError

    def rows(
        self,
        ticks: Sequence[int] | None = None,
        start: int | None = None,
        end: int | None = None,
        targets: Sequence[str] | None = None,
    ) -> list[Row]:
        """Rows of these ticks, or of start ≤ tick ≤ end, by tick and target."""
        raise NotImplementedError

    def last_rows(self) -> dict[str, Row]:
        """The newest row of each target."""
        raise NotImplementedError

    def offsets(self, start: int, end: int, targets: Sequence[str] | None = None) -> list[Offset]:
        """Offsets of start ≤ tick ≤ end."""
        raise NotImplementedError

    def last_offsets(self, target: str) -> dict[Series, float]:
        """The offset in force of every counter of a target."""
        raise NotImplementedError

    def frame(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        start_ms: int,
        end_ms: int,
    ) -> Frame:
        """History of start ≤ tick ≤ end; `wanted` is a test of a series, or names of metrics."""
        raise NotImplementedError

    def facts(self, target: str | None = None, at_ms: int | None = None, name: str | None = None) -> list[Fact]:
        """Facts, all or those true at an instant."""
        raise NotImplementedError

    def absences(self, start: int, end: int, target: str | None = None) -> list[Absence]:
        """Absences that overlap start … end."""
        raise NotImplementedError

    def events(self, start: int, end: int, target: str | None = None, limit: int = 1000) -> list[Event]:
        """The newest `limit` events of start ≤ at ≤ end, oldest first."""
        raise NotImplementedError

    def episodes(self, deployment: str, start: int, end: int) -> list[Episode]:
        """Prefill episodes that overlap start … end."""
        raise NotImplementedError

    def targets(self) -> list[TargetRow]:
        """Current state of every target, by name."""
        raise NotImplementedError

    def enqueue(self, kind: str, payload: Mapping[str, Any], now_ms: int) -> int:
        """Ask the collector for something; the command's number."""
        raise NotImplementedError

    def pending_commands(self) -> list[Command]:
        """Commands not yet applied, oldest first."""
        raise NotImplementedError

    def finish_command(self, number: int, now_ms: int, error: str | None = None) -> None:
        """Mark a command as applied, or as failed with a sentence."""
        raise NotImplementedError

    def preference(self, key: str) -> Any:
        """A preference, None when it was never set."""
        raise NotImplementedError

    def set_preference(self, key: str, value: Any) -> None:
        """Keep a preference (JSON)."""
        raise NotImplementedError

    def prune(self, before_ms: int) -> int:
        """Delete hot rows and commits older than this; number of rows."""
        raise NotImplementedError

    def size_bytes(self) -> int:
        """Size of the file and its write-ahead log."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every connection."""
        raise NotImplementedError
