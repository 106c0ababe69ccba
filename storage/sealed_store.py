"""What a store says of its sealed hours as such: which there are, which there are not, and when they change."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from contextlib import AbstractContextManager

from storage import edition, hours
from storage.database import Database
from storage.edition import Edition
from storage.records import Clock


class SealedStore:
    """Part of `storage.store.Store`."""

    _database: Database
    _unsealed: hours.Unsealed

    def sealed(self, start_ms: int, end_ms: int) -> list[Clock]:
        """Sealed hours that overlap start ≤ t ≤ end, by hour and target."""
        with self._database.reading() as connection:
            return hours.sealed(connection, start_ms, end_ms)

    def unsealed(self, start_ms: int, end_ms: int) -> list[tuple[str, int]]:
        """(target, hour) in the range whose rows no summary tells yet, or not all of them (late), oldest first."""
        with self._database.reading() as connection:
            return hours.unsealed(connection, start_ms, end_ms)

    def unsealed_hours(self, start_ms: int, end_ms: int, most: int | None = None) -> list[int]:
        """Hours of the range (starts, rising) that are in `unsealed` for any target; of more than `most` the oldest."""
        with self._database.reading() as connection:
            return self._unsealed.hours(connection, start_ms, end_ms, most)[:most]

    def states(
        self, start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> dict[int, tuple[Hashable, ...]]:
        """Of each sealed hour of the range what changes when samples of these targets come, or are given up, or when it
        is told at which interval they were read."""
        with self._database.reading() as connection:
            return hours.states(connection, start_ms, end_ms, targets)

    def extent(self) -> tuple[int, int] | None:
        """(first, last) instant outside of which there are neither rows nor summaries, of sealed hours to the hour;
        None of an empty store. Cheap."""
        with self._database.reading() as connection:
            return hours.extent(connection)

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        """Whether samples of start ≤ tick ≤ end were given up, so that only summaries tell of them."""
        with self._database.reading() as connection:
            return hours.forgotten(connection, start_ms, end_ms)

    def one_state(self) -> AbstractContextManager[None]:
        """What this thread asks inside is of one state of the store, in one read transaction: keep it short."""
        return self._database.one_state()

    def edition(self) -> Edition:
        """Numbers that rise when sealed hours change: summaries that were read stand for as long as those do."""
        with self._database.reading() as connection:
            return edition.read(connection)
