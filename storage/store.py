"""Store: the only door to the database. The collector opens it as writer; everybody else reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from storage import asks, chunks, ends, fold, history, hours, notes, read, room, summaries, tidy, upkeep
from storage import verify as verifying
from storage.alert_store import AlertStore
from storage.damage import Damage
from storage.database import Database
from storage.dialect import dialect_of
from storage.errors import StoreNotReady
from storage.intervals import Stretch, stretches
from storage.late import Late
from storage.layouts import Layouts
from storage.migrations import bring_up_to_date, version_of
from storage.notice_store import NoticeStore
from storage.records import (
    Absence,
    Batch,
    Command,
    Commit,
    Episode,
    Event,
    Fact,
    Offset,
    Room,
    Row,
    TargetRow,
    Weight,
)
from storage.run_store import RunStore
from storage.seal import Sealer
from storage.sealed_store import SealedStore
from storage.write import Writer
from telemetry.frame import Frame, Sheet
from telemetry.model import Series
from telemetry.summary import Summaries


def open_store(url: str, *, writer: bool, now_ms: int, busy_ms: int = 2000, codec: str = chunks.PCO) -> Store:
    """Open the store at `sqlite:///path.db` or a bare path; the writer creates and migrates it.

    busy_ms: how long a write waits for the lock before it raises StoreBusy. codec: what sealed hours are written in,
    one of `storage.chunks.FAMILIES`; all are read.
    StoreError, with a sentence, when it cannot be: see `storage.errors` for the kinds.
    """
    database = Database(url, writer=writer, busy_ms=busy_ms)
    try:
        bring_up_to_date(database, writer=writer, now_ms=now_ms)
    except BaseException:
        database.close()
        raise
    return Store(database, codec)


def refuse_claimed(url: str) -> None:
    """StoreTaken while a collector writes to the store at this URL; nothing is opened or made."""
    dialect_of(url, 0).refuse_claimed()


def is_made(url: str) -> bool:
    """Whether there is a store at this URL, of whatever version; nothing is made. StoreError for another's."""
    try:
        database = Database(url, writer=False, busy_ms=2000)
    except StoreNotReady:
        return False
    try:
        with database.reading() as connection:
            return version_of(connection) is not None
    finally:
        database.close()


class Store(SealedStore, RunStore, AlertStore, NoticeStore):
    """One open store; every method may be called from any thread, none from a forked child."""

    def __init__(self, database: Database, codec: str = chunks.PCO) -> None:
        self._database = database
        self._layouts = Layouts(database)
        late = Late()
        self._writer = Writer(database, self._layouts, late)
        self._damage = Damage()
        self._reader = read.Reader(self._layouts.width, self._damage.note)
        self._unsealed = hours.Unsealed()
        self._sealer = Sealer(database, self._layouts, late, codec, self._damage)

    def claim(self) -> None:
        """Be this store's one collector until `close`, or until the process ends; StoreTaken when another is."""
        self._database.dialect.claim()

    def confirm(self) -> None:
        """StoreGone once the file was deleted or replaced; every other method says so, too, in place of an answer."""
        self._database.confirm()

    def layout(self, target: str, series: tuple[Series, ...]) -> int:
        """Number of this layout, registered on first use; cheap when the tuple is the same object as last time."""
        return self._layouts.number(target, series)

    def series_of(self, layout: int) -> tuple[Series, ...]:
        """The series of a layout, in stored order; StoreError when there is none."""
        return self._layouts.series_of(layout)

    def commit(self, batch: Batch, now_ms: int) -> Commit:
        """Write a batch, all or nothing; StoreBusy or StoreFull when it cannot be.

        A row whose tick and target are stored already is left as it was: a batch may be committed again.
        ValueError for a row that does not fit its layout. Thirty ticks at once are well below 50 ms.
        """
        return self._writer.commit(batch, now_ms)

    def commits_after(self, sequence: int, limit: int = 1000) -> list[Commit]:
        """The commits that follow, oldest first."""
        with self._database.reading() as connection:
            return read.commits_after(connection, sequence, limit)

    def latest_commit(self) -> Commit | None:
        """The newest commit."""
        with self._database.reading() as connection:
            return read.latest_commit(connection)

    def rows(
        self,
        ticks: Sequence[int] | None = None,
        start: int | None = None,
        end: int | None = None,
        targets: Sequence[str] | None = None,
    ) -> list[Row]:
        """Rows of these ticks, inside start ≤ tick ≤ end, by tick and target."""
        with self._database.reading() as connection:
            return read.rows(connection, self._reader, ticks, start, end, targets)

    def last_rows(self, until: int | None = None) -> dict[str, Row]:
        """The newest row of each target, of those up to an instant, to go on from after a restart."""
        with self._database.reading() as connection:
            return read.last_rows(connection, self._reader, until)

    def offsets(self, start: int, end: int, targets: Sequence[str] | None = None) -> list[Offset]:
        """Offsets of start ≤ tick ≤ end, oldest first."""
        with self._database.reading() as connection:
            return read.offsets(connection, start, end, targets)

    def last_offsets(self, target: str, until: int | None = None) -> dict[Series, float]:
        """The offset in force of every counter of a target, of those up to an instant."""
        with self._database.reading() as connection:
            return read.last_offsets(connection, target, until)

    def frame(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        start_ms: int,
        end_ms: int,
        room: int = 0,
    ) -> Frame:
        """History of start ≤ tick ≤ end; `wanted` is a test of a series, or names of metrics; targets None = all.

        Series that had no row in the range are not in it; `gap_ms` is 2.5 of the target's present interval.
        What is damaged is unknown, told once to the log, and is among the `absences` from then on.
        room: ticks for which there is room behind it, see `telemetry.seam.behind`.
        """
        with self._database.reading() as connection:
            dialect, broken = self._database.dialect, self._damage.note
            return history.frame(connection, dialect, self._layouts, wanted, targets, start_ms, end_ms, broken, room)

    def sheets(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        ranges: Sequence[tuple[int, int]],
    ) -> Iterator[Sheet]:
        """Values of `frame` of each of the closed ranges, which follow each other; with as many questions as of one.

        For gauges and states: the zeros before the first use of a counter are not in them.
        """
        with self._database.reading() as connection:
            dialect, broken = self._database.dialect, self._damage.note
            return history.sheets(connection, dialect, self._layouts, wanted, targets, ranges, broken)

    def seal(self, target: str, hour: int, now_ms: int) -> bool:
        """Seal an hour (its start) of a target, what came late for it included; False when there is nothing to seal.

        May be repeated, and stopped anywhere: every sample can be read exactly once all the time. StoreBusy, StoreFull.
        """
        return self._sealer.seal(target, hour, now_ms)

    def ends(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        start_ms: int,
        end_ms: int,
        told: ends.Told = ends.NOTHING,
    ) -> Frame:
        """For each series the two samples between which `counters.increase` counts from start to end, and no others.

        The last one up to the end, and the last one up to the start, however old; of a series that begins inside, its
        first, or the 0 that it stood at where it counts from there. A series without a sample up to the end is not in
        it. Costs a few hours' reading, not the window's. told: of those that are known, which are not looked for.
        """
        with self._database.reading() as connection:
            dialect, broken = self._database.dialect, self._damage.note
            return ends.ends(connection, dialect, self._layouts, wanted, targets, start_ms, end_ms, told, broken)

    def due(self, now_ms: int) -> list[tuple[str, int]]:
        """Target-hours to seal, oldest first: over for five minutes, with rows that no sealed hour holds yet."""
        with self._database.reading() as connection:
            return hours.due(connection, now_ms)

    def summaries(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        start_ms: int,
        end_ms: int,
    ) -> Summaries:
        """Summaries of the sealed hours that overlap start ≤ t ≤ end, of series that are in any of them.

        Rows that came late for a sealed hour are in its summary only once it is sealed anew: see `unsealed`.
        """
        with self._database.reading() as connection:
            return summaries.summaries(connection, self._layouts, wanted, targets, start_ms, end_ms)

    def firsts(
        self,
        wanted: Callable[[Series], bool] | Collection[str],
        targets: Sequence[str] | None,
        at_ms: int,
    ) -> dict[Series, float]:
        """What series were at the first reading of an instant's hour: see `storage.summaries.firsts`."""
        with self._database.reading() as connection:
            return summaries.firsts(connection, self._layouts, wanted, targets, at_ms)

    def facts(self, target: str | None = None, at_ms: int | None = None, name: str | None = None) -> list[Fact]:
        """Facts, all or those true at an instant, by target, name and time."""
        with self._database.reading() as connection:
            return read.facts(connection, target, at_ms, name)

    def intervals(self, start: int, end: int, targets: Sequence[str]) -> dict[str, list[Stretch]]:
        """Of each of these targets the stretches of start ≤ t ≤ end in which it was read otherwise than now."""
        with self._database.reading() as connection:
            return stretches(connection, targets, start, end)

    def absences(self, start: int, end: int, target: str | None = None) -> list[Absence]:
        """Absences that overlap start ≤ t ≤ end, by their start; of what is damaged, as far as it was met."""
        with self._database.reading() as connection:
            found = read.absences(connection, start, end, target)
        damaged = self._damage.absences(start, end, target)
        return sorted([*found, *damaged], key=lambda one: one.start_ms) if damaged else found

    def damaged(self, start: int, end: int) -> list[Absence]:
        """What of start ≤ t ≤ end this process has met that cannot be read any more."""
        return self._damage.absences(start, end)

    def events(self, start: int, end: int, target: str | None = None, limit: int = 1000) -> list[Event]:
        """The newest `limit` events of start ≤ at ≤ end, oldest first."""
        with self._database.reading() as connection:
            return read.events(connection, start, end, target, limit)

    def episodes(self, deployment: str, start: int, end: int) -> list[Episode]:
        """Prefill episodes that overlap start ≤ t ≤ end, by their end."""
        with self._database.reading() as connection:
            return read.episodes(connection, deployment, start, end)

    def targets(self) -> list[TargetRow]:
        """Current state of every target, by name."""
        with self._database.reading() as connection:
            return read.targets(connection)

    def recorded(self, metrics: Collection[str]) -> set[str]:
        """Names of all targets that series of these metrics are stored of, also of what nobody reads now: what was
        imported, or is configured no more."""
        with self._database.reading() as connection:
            self._layouts.refresh(connection)
        return {one.target for one in self._layouts.series().values() if one.metric in metrics}

    def steps_ms(self) -> list[int]:
        """The nominal intervals that targets are read with, in milliseconds, each once, rising."""
        with self._database.reading() as connection:
            return read.steps_ms(connection)

    def enqueue(self, kind: str, payload: Mapping[str, Any], now_ms: int) -> int:
        """Ask the collector for something; the command's number."""
        return asks.enqueue(self._database, kind, payload, now_ms)

    def take_back(self, commands: Collection[int], why: str, now_ms: int) -> set[int]:
        """Settle commands that were not carried out, as refused; those that it was in time for."""
        return asks.take_back(self._database, commands, why, now_ms)

    def pending_commands(self) -> list[Command]:
        """Commands not yet applied, oldest first."""
        with self._database.reading() as connection:
            return read.pending_commands(connection)

    def preference(self, key: str) -> Any:
        """A preference, None when it was never set."""
        with self._database.reading() as connection:
            return read.preference(connection, key)

    def set_preference(self, key: str, value: Any) -> None:
        """Keep a preference (JSON)."""
        asks.prefer(self._database, key, value)

    def prune(self, before_ms: int) -> int:
        """Delete rows older than this that a sealed hour holds, in slices of a few milliseconds; number of rows.

        Rows of hours that are not sealed, or got late rows, stay, and so does the newest row of each target.
        """
        return upkeep.prune(self._database, before_ms)

    def forget(self, before_ms: int, kept: upkeep.Ranges = ()) -> int:
        """Give up the samples of sealed hours that ended at or before this; their summaries stay. Target-hours.

        kept: (start, end) of what stays whatever its age: hours that overlap one are left alone.
        """
        return upkeep.forget(self._database, before_ms, kept=kept)

    def drop_summaries(self, before_ms: int, kept: upkeep.Ranges = ()) -> int:
        """Delete sealed hours that ended at or before this, with all that is left of them. Target-hours."""
        return upkeep.drop_summaries(self._database, before_ms, kept=kept)

    def tidy(self, before_ms: int, kept: upkeep.Ranges = ()) -> int:
        """Delete facts, absences, episodes and offsets that were over, and events, before this; number of rows.

        What still holds stays, and the newest offset of every series.
        """
        return tidy.tidy(self._database, before_ms, kept=kept)

    def days_due(self, now_ms: int, most: int) -> list[tuple[str, int]]:
        """(target, start of the day) whose hours are to be folded into a day, newest first; of days that have begun."""
        with self._database.reading() as connection:
            return fold.due(connection, now_ms, most)

    def fold(self, target: str, day: int) -> int:
        """Put the summaries of a target's day together, for whoever reads months; number of series. It changes no
        answer, may be repeated and stopped anywhere."""
        return fold.fold(self._database, target, day)

    def room(self) -> Room:
        """What the store takes, and where there is room for more."""
        return room.room(self._database)

    def rows_per_hour(self) -> int:
        """Bytes of an hour's packed rows, by the newest minute; 0 without rows."""
        with self._database.reading() as connection:
            return room.rows_per_hour(connection)

    def weigh(self, hour: int) -> Weight | None:
        """What a sealed hour of all targets takes; None where none has samples."""
        with self._database.reading() as connection:
            return room.weigh(connection, hour)

    def newest_hours(self, most: int) -> list[int]:
        """The newest sealed hours that have samples, newest first."""
        with self._database.reading() as connection:
            return room.newest_hours(connection, most)

    def oldest_samples(self, kept: upkeep.Ranges = ()) -> int | None:
        """The oldest sealed hour with samples that is in no kept range."""
        with self._database.reading() as connection:
            return room.oldest_samples(connection, kept)

    def oldest_row(self) -> int | None:
        """The first tick of the rows, which are of the last hours; None without rows."""
        with self._database.reading() as connection:
            return room.oldest_row(connection)

    def oldest_summaries(self, kept: upkeep.Ranges = ()) -> int | None:
        """The oldest hour of which only summaries are left, and that is in no kept range."""
        with self._database.reading() as connection:
            return room.oldest_summaries(connection, kept)

    def note(self, name: str, value: Any) -> None:
        """Keep what the collector tells of the store as a whole (JSON)."""
        notes.note(self._database, name, value)

    def noted(self, name: str) -> Any:
        """A note, None when there is none."""
        return notes.noted(self._database, name)

    def size_bytes(self) -> int:
        """Size of the file with its write-ahead log."""
        return self._database.dialect.size_bytes()

    def verify(self, progress: verifying.Progress = verifying.nobody) -> verifying.Report:
        """Look at every number there is, and name what is wrong; changes nothing, and holds up nobody.

        progress: told (target-hours done, of so many).
        """
        return verifying.verify(self._database, progress)

    def close(self) -> None:
        """Close every connection, and give up a claim."""
        self._database.close()
