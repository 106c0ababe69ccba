"""The part of the store that knows runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runs.model import Mark, Run
from storage import asks, runs
from storage.database import Database
from storage.records import MERGED, Command, DetectorState, RunFilter


class RunStore:
    """Runs of a store. What changes one goes through `commit`; only what was worked out of it comes by `settle_run`."""

    _database: Database

    def runs(self, wanted: RunFilter | None = None) -> list[Run]:
        """Runs without their parts, the newest first."""
        with self._database.reading() as connection:
            return runs.find(connection, wanted or RunFilter())

    def run(self, number: int) -> Run | None:
        """A run by its number, without its parts."""
        with self._database.reading() as connection:
            return runs.one(connection, number)

    def beside(self, run: Run) -> tuple[Run | None, Run | None]:
        """The runs of the same deployment before and after a run, as far as there are any."""
        with self._database.reading() as connection:
            return runs.beside(connection, run)

    def marks(self, number: int) -> list[Mark]:
        """Marks of a run, oldest first."""
        with self._database.reading() as connection:
            return runs.marks(connection, number)

    def run_part(self, number: int, kind: str) -> tuple[int, Any] | None:
        """(revision, value) of what was worked out of a run at its end; None while that was not done."""
        with self._database.reading() as connection:
            return runs.part(connection, number, kind)

    def run_parts(self, kind: str, numbers: Sequence[int]) -> dict[int, Any]:
        """A part of several runs, by number; those without are left out."""
        with self._database.reading() as connection:
            return runs.parts(connection, kind, numbers)

    def run_parts_of(self, number: int, prefix: str) -> dict[str, Any]:
        """Parts of a run whose kind begins so, by kind."""
        with self._database.reading() as connection:
            return runs.parts_of(connection, number, prefix)

    def runs_with(self, kind: str) -> list[int]:
        """Numbers of the runs that have a part of this kind, rising."""
        with self._database.reading() as connection:
            return runs.owners(connection, kind)

    def listed_runs(self, kinds: Sequence[str], since_ms: int | None = None) -> Sequence[Sequence[Any]]:
        """(id, deployment, name, model, start_ms, end_ms, baseline, pinned, tags, labels, trimmed, a part of each kind)
        of runs, the newest first; no object is made of any, since they may be ten thousand. start_ms, end_ms: of the
        stretch that numbers are of; trimmed: 1 where that is a part. What is JSON stays text; None: not there.
        since_ms: those that go on or ended since; None: all that ended.
        """
        with self._database.reading() as connection:
            return runs.listed(connection, kinds, since_ms)

    def merged_into(self, number: int) -> Run | None:
        """The run of which one that is not there any more is a part now, since both were merged; None where it is not
        known, or that is gone, too."""
        kind = f"{MERGED}{number}"
        for owner in self.runs_with(kind):
            part = self.run_part(owner, kind)
            if part is not None:
                start = part[1]["start"]
                found = self.runs(RunFilter(part[1]["deployment"], start_ms=start, end_ms=start))
                return next((run for run in reversed(found) if run.start_ms <= start), None)
        return None

    def unsettled_runs(self, kind: str) -> list[Run]:
        """Runs that ended and of which this part was not worked out as they are now, oldest first."""
        with self._database.reading() as connection:
            return runs.unsettled(connection, kind)

    def settle_run(self, run: Run, parts: Mapping[str, Any]) -> bool:
        """Keep what was worked out of a run (JSON by kind); False where it was changed or deleted meanwhile."""
        return runs.settle(self._database, run, parts)

    def last_run(self) -> int:
        """The largest number of a run, 0 where there is none."""
        with self._database.reading() as connection:
            return runs.last_number(connection)

    def pinned(self) -> list[tuple[int, int]]:
        """(start, end) of the runs whose samples are kept whatever their age."""
        with self._database.reading() as connection:
            return runs.pinned(connection)

    def detectors(self) -> list[DetectorState]:
        """States of the detectors of runs, as they were last committed."""
        with self._database.reading() as connection:
            return runs.detectors(connection)

    def command(self, number: int) -> Command | None:
        """What became of a command; None where there is none of this number."""
        return asks.command(self._database, number)
