"""Inbox: what people ask of runs and alerts, fetched in the thread that owns the store and taken by the tick."""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from pipeline import alert_orders
from pipeline.edits import ANEW
from pipeline.orders import PREFIX, check, fault
from runs.model import Mark, Run
from storage.errors import StoreError
from storage.records import Command, RunFilter
from storage.store import Store

UNREAD = "the order %d (%s) cannot be read"
"""Said in the log of an order in which the program fails. It is answered, or it would come back at every start."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """One order, with what the tick needs to know to carry it out.

    error: why it cannot be, "" where it may. run: the one that it names, as the store has it; other: the second, where
    it names two. others: baselines of the same deployment, or runs between the two. marks: of a run that is to be
    split. forgotten: samples of the run were given up.
    """

    number: int
    kind: str
    order: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    run: Run | None = None
    other: Run | None = None
    others: tuple[Run, ...] = ()
    marks: tuple[Mark, ...] = ()
    forgotten: bool = False


@dataclass
class Inbox:
    """`fetch` belongs to the store's thread, `take` to the loop's."""

    store: Store
    _seen: set[int] = field(default_factory=set)
    _gone: frozenset[int] = frozenset()
    """Those that are settled, as far as was seen: done, or taken back by whoever asked before they were begun."""
    _ready: deque[Asked] = field(default_factory=deque)
    _of_alerts: deque[Asked] = field(default_factory=deque)

    def fetch(self) -> None:
        """Look for new orders. What cannot be read now is read after the next tick."""
        try:
            pending = self.store.pending_commands()
            waiting = {one.id for one in pending}
            self._gone = frozenset(self._seen - waiting)
            self._seen &= waiting  # what is done is never seen again
            for command in pending:
                if command.id in self._seen:
                    continue
                if command.kind.startswith(PREFIX):
                    self._ready.append(self._read(command))
                    self._seen.add(command.id)
                elif command.kind.startswith(alert_orders.PREFIX):
                    self._of_alerts.append(_about_alerts(command))
                    self._seen.add(command.id)
        except StoreError as error:
            log.warning("cannot look for commands: %s", error)

    def take(self) -> list[Asked]:
        """What was asked of runs and fetched since the last time, oldest first."""
        return self._taken(self._ready)

    def take_alerts(self) -> list[Asked]:
        """The same of alerts, silences and rules."""
        return self._taken(self._of_alerts)

    def _taken(self, ready: deque[Asked]) -> list[Asked]:
        found = [ready.popleft() for _ in range(len(ready))]
        return [one for one in found if one.number not in self._gone]

    def _read(self, command: Command) -> Asked:
        kind = command.kind.removeprefix(PREFIX)
        try:
            order = check(kind, command.payload)
        except ValueError as error:
            return Asked(command.id, kind, error=str(error))
        except Exception as error:
            log.exception(UNREAD, command.id, kind)
            return Asked(command.id, kind, error=fault(error))
        if order.get("run") is None:
            return Asked(command.id, kind, order)
        run = self.store.run(order["run"])
        if run is None:
            return Asked(command.id, kind, order, self._none(order["run"]))
        if kind == "merge":
            return self._read_two(command.id, order, run)
        if kind == "move" and order["to"] is not None:
            return self._read_move(command.id, order, run)
        others = self.store.runs(RunFilter(run.deployment, baseline=True)) if kind == "baseline" else ()
        marks = self.store.marks(run.id) if kind == "split" else ()
        return Asked(command.id, kind, order, "", run, None, tuple(others), tuple(marks), self._forgotten(kind, run))

    def _read_two(self, number: int, order: dict[str, Any], run: Run) -> Asked:
        other = self.store.run(order["other"])
        if other is None:
            return Asked(number, "merge", order, self._none(order["other"]))
        first, second = sorted((run, other), key=lambda one: one.start_ms)
        between = self.store.runs(RunFilter(run.deployment, start_ms=first.start_ms, end_ms=second.start_ms))
        forgotten = self.store.forgotten(first.start_ms, second.end_ms or second.start_ms)
        return Asked(number, "merge", order, "", run, other, tuple(between), (), forgotten)

    def _read_move(self, number: int, order: dict[str, Any], run: Run) -> Asked:
        other = self.store.run(order["to"])
        return Asked(number, "move", order, "" if other else self._none(order["to"]), run, other)

    def _none(self, number: int) -> str:
        """That there is no such run, and of which it is a part."""
        whole = self.store.merged_into(number)
        return f"there is no run {number}" + ("" if whole is None else f": it is part of run {whole.id} now")

    def _forgotten(self, kind: str, run: Run) -> bool:
        """Whether an order cannot be carried out, since numbers of the run cannot be worked out anew."""
        return kind in ANEW and run.end_ms is not None and self.store.forgotten(run.start_ms, run.end_ms)


def _about_alerts(command: Command) -> Asked:
    kind = command.kind.removeprefix(alert_orders.PREFIX)
    try:
        return Asked(command.id, kind, alert_orders.check(kind, command.payload))
    except ValueError as error:
        return Asked(command.id, kind, error=str(error))
    except Exception as error:
        log.exception(UNREAD, command.id, kind)
        return Asked(command.id, kind, error=fault(error))
