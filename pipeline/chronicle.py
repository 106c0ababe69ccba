"""Chronicle: follows every deployment with a detector of runs; what that finds, and what people ask, becomes rows.

No I/O: it is fed by the hub once a tick, and what it gives is committed with the samples of that very tick, the state
of the detectors included. So a run begins and ends exactly once, whenever the collector is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exchange.benchmarks.record import PART
from pipeline.brought import BUNDLE, MOVE, RESULT, Brought, bundle_run, refusal, result_part, result_run
from pipeline.deployments import EngineId
from pipeline.edits import ANEW, EDITS
from pipeline.inbox import Asked
from pipeline.joins import in_order, merged, split
from pipeline.orders import fault
from pipeline.sighting import Seen, by_name, left, successor
from runs.detect import SILENCE_MS, Began, Change, Detector, Ended, Marked
from runs.model import Mark, Run
from runs.sights import Observation, Sight
from runs.subject import Member
from storage.records import MERGED, DetectorState, Done, MarksMoved, PartsMoved, RunFilter, RunMark, RunPart
from storage.store import Store

REMEMBERED = 256
"""Runs that were changed lately: what the store tells of them may be older."""
NOBODY = ""
"""In place of a deployment where there is none: a number that was given is remembered all the same."""
LOST = "the monitor was updated, and does not know how this run went on"

log = logging.getLogger(__name__)


@dataclass
class Told:
    """What a tick leads to."""

    runs: dict[int, Run] = field(default_factory=dict)
    marks: list[RunMark] = field(default_factory=list)
    moved: list[MarksMoved] = field(default_factory=list)
    parts_moved: list[PartsMoved] = field(default_factory=list)
    parts: list[RunPart] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    detectors: list[DetectorState] = field(default_factory=list)
    commands: list[Done] = field(default_factory=list)


@dataclass
class Watch:
    """One deployment. members: its engines as they were last seen. run: the one that goes on."""

    detector: Detector
    members: set[EngineId] = field(default_factory=set)
    run: Run | None = None


class Chronicle:
    """All deployments of a collector."""

    def __init__(self, silence_ms: int = SILENCE_MS, last_id: int = 0) -> None:
        self._silence_ms = silence_ms
        self._last_id = last_id
        self._watches: dict[str, Watch] = {}
        self._recent: dict[int, Run | None] = {}
        self._fed_ms = 0
        self._orphans: list[Run] = []

    def resume(self, states: Iterable[DetectorState], live: Iterable[Run]) -> None:
        """Go on where another collector stopped. A run whose detector is not known any more ends where it was left."""
        going = {run.deployment: run for run in live}
        active: dict[str, int] = {}
        for one in states:
            self._last_id = max(self._last_id, one.state["last_id"])
            if one.deployment == NOBODY:
                continue
            try:
                detector = Detector.from_json(one.state["detector"], self._silence_ms)
            except ValueError:
                active[one.deployment] = (one.state["detector"].get("run") or {}).get("active_ms", 0)
                continue
            members = {EngineId(*member) for member in one.state["members"]}
            run = going.get(one.deployment) if detector.running else None
            if detector.running and run is None:
                detector.stop(0)
            self._watches[one.deployment] = Watch(detector, members, run)
        known = {watch.run.id for watch in self._watches.values() if watch.run is not None}
        self._orphans = [
            replace(run, end_ms=max(run.start_ms, active.get(run.deployment, 0)), ended=LOST)
            for run in going.values()
            if run.id not in known
        ]

    def tick(
        self,
        tick: int,
        deployments: Mapping[str, Sequence[EngineId]],
        seen: Sequence[Seen],
        silent: Mapping[str, Sight],
        asked: Sequence[Asked] = (),
    ) -> Told:
        """What follows from a tick. seen: engines on the pages that came; silent: targets that do not answer."""
        told = Told()
        for run in self._orphans:
            self._keep(run, told)
        self._orphans = []
        for one in asked:
            error = self._obey(one, tick, told) or None
            told.commands.append(Done(one.number, tick, error, spent=one.kind == BUNDLE))
        owner = {one: name for name, engines in deployments.items() for one in engines}
        for at_ms, sights in self._observations(tick, owner, seen, silent):
            for name, engines in sights.items():
                watch = self._watch(name)
                self._follow(name, watch, watch.detector.see(Observation(at_ms, by_name(engines))), told)
            self._fed_ms = at_ms
        for name, watch in self._watches.items():
            self._note_engines(watch, told)
            members = [[one.target, one.engine, one.model] for one in sorted(watch.members)]
            state: dict[str, Any] = {"detector": watch.detector.to_json(), "members": members, "last_id": self._last_id}
            told.detectors.append(DetectorState(name, state))
        if self._last_id and not self._watches:
            told.detectors.append(DetectorState(NOBODY, {"last_id": self._last_id}))
        return told

    def going(self) -> dict[str, int]:
        """Number of the run that goes on, by deployment."""
        return {name: watch.run.id for name, watch in self._watches.items() if watch.run is not None}

    def _watch(self, name: str) -> Watch:
        return self._watches.setdefault(name, Watch(Detector(self._silence_ms)))

    def _observations(
        self,
        tick: int,
        owner: Mapping[EngineId, str],
        seen: Sequence[Seen],
        silent: Mapping[str, Sight],
    ) -> list[tuple[int, dict[str, list[tuple[EngineId, Sight]]]]]:
        """By instant, rising, and deployment. A page that came late counts at its own instant if time allows."""
        found: dict[int, dict[str, list[tuple[EngineId, Sight]]]] = {}
        known = {one: name for name, watch in self._watches.items() for one in watch.members}
        for at in sorted({one.tick for one in seen}):
            here = found.setdefault(max(at, self._fed_ms), {})
            page = [one for one in seen if one.tick == at]
            for one in page:
                name = owner.get(one.one) or known.get(one.one)
                if name is not None:
                    here.setdefault(name, []).append((one.one, one.sight))
                    self._join(one.one, name)
            for target in {one.one.target for one in page}:
                present = [one.one for one in page if one.one.target == target]
                self._missing(present, target, known, here)
        for member, name in known.items():
            if member.target in silent:
                here = found.setdefault(max(tick, self._fed_ms), {})
                here.setdefault(name, []).append((member, silent[member.target]))
        return sorted(found.items())

    def _join(self, one: EngineId, name: str) -> None:
        for other, watch in self._watches.items():
            if other != name:
                watch.members.discard(one)
        self._watch(name).members.add(one)

    def _missing(
        self,
        present: Sequence[EngineId],
        target: str,
        known: Mapping[EngineId, str],
        here: dict[str, list[tuple[EngineId, Sight]]],
    ) -> None:
        """Engines that a page does not have any more; one whose place another model took is no longer a member."""
        for gone in [one for one in known if one.target == target and one not in present]:
            name, after = known[gone], successor(gone, present, known)
            if after is not None:
                self._watches[name].members.discard(gone)
            if after is None or after not in self._watches[name].members:
                here.setdefault(name, []).append((gone, left(after)))

    def _follow(self, name: str, watch: Watch, changes: Iterable[Change], told: Told) -> None:
        for change in changes:
            if isinstance(change, Began):
                watch.run = self._begin(name, watch, change)
                self._keep(watch.run, told)
            elif watch.run is None:
                continue
            elif isinstance(change, Ended):
                end_ms = max(change.at_ms, watch.run.start_ms)
                self._keep(replace(watch.run, end_ms=end_ms, ended=change.reason), told)
                watch.run = None
            elif isinstance(change, Marked):
                told.marks.append(RunMark(watch.run.id, change.mark))

    def _begin(self, name: str, watch: Watch, change: Began) -> Run:
        self._last_id += 1
        models = sorted({one.model for one in watch.members if one.model})
        return Run(
            self._last_id,
            name,
            change.name or f"{name} #{self._last_id}",
            change.at_ms,
            began=change.reason,
            by=change.by,
            model=change.model or ", ".join(models),
            engines=_members(watch.members),
        )

    def _note_engines(self, watch: Watch, told: Told) -> None:
        """Engines that have joined the run since it began."""
        run = watch.run
        if run is not None and not set(_members(watch.members)) <= set(run.engines):
            self._keep(replace(run, engines=tuple(sorted({*run.engines, *_members(watch.members)}))), told)

    def _keep(self, run: Run, told: Told) -> None:
        told.runs[run.id] = run
        self._remember(run.id, run)
        watch = self._watches.get(run.deployment)
        if watch is not None and watch.run is not None and watch.run.id == run.id:
            watch.run = run

    def _remember(self, number: int, run: Run | None) -> None:
        self._recent.pop(number, None)
        self._recent[number] = run
        while len(self._recent) > REMEMBERED:
            del self._recent[next(iter(self._recent))]

    def _obey(self, asked: Asked, tick: int, told: Told) -> str:
        """Carry an order out; why it cannot be, "" where it was."""
        if asked.error:
            return asked.error
        try:
            if asked.kind == "start":
                self._start(asked.order, tick, told)
            elif asked.kind == BUNDLE:
                self._bring(bundle_run(self._last_id + 1, asked.order, tick), told)
            elif asked.kind == RESULT and asked.order["run"] is None:
                self._bring(result_run(self._last_id + 1, asked.order, tick), told)
            else:
                self._change(asked, self._newest(asked.order["run"], asked.run), tick, told)
        except ValueError as error:
            return str(error)
        except Exception as error:
            log.exception("the order %d (%s) cannot be carried out", asked.number, asked.kind)
            return fault(error)
        return ""

    def _bring(self, brought: Brought, told: Told) -> None:
        """Something from outside becomes a run."""
        self._last_id = brought.run.id
        self._keep(brought.run, told)
        told.parts += brought.parts
        told.marks += [RunMark(brought.run.id, mark) for mark in brought.marks]

    def _newest(self, number: int, stored: Run | None) -> Run:
        live = next((one.run for one in self._watches.values() if one.run is not None and one.run.id == number), None)
        run = live or self._recent.get(number, stored)
        if run is None:
            raise ValueError(f"there is no run {number}")
        return run

    def _start(self, order: Mapping[str, Any], tick: int, told: Told) -> None:
        name = order["deployment"]
        watch = self._watches.get(name)
        if watch is None:
            raise ValueError(f"there is no deployment “{name}”, known are: {_listed(self._watches)}")
        self._follow(name, watch, watch.detector.start(max(tick, self._fed_ms), order["name"] or ""), told)

    def _change(self, asked: Asked, run: Run, tick: int, told: Told) -> None:
        kind, order = asked.kind, asked.order
        if refused := refusal(run, kind):
            raise ValueError(refused)
        if kind == RESULT:
            told.parts.append(result_part(run.id, order["record"]))
        elif kind == MOVE:
            self._move(run, asked, tick, told)
        elif kind == "stop":
            watch = self._watches.get(run.deployment)
            if watch is None or watch.run is None or watch.run.id != run.id:
                raise ValueError(f"run {run.id} is over")
            self._follow(run.deployment, watch, watch.detector.stop(max(tick, self._fed_ms)), told)
        elif kind == "delete":
            if run.live:
                raise ValueError(f"run {run.id} goes on: stop it first")
            self._drop(run, told)
        elif kind == "annotate":
            if not run.start_ms <= order["at_ms"] <= (tick if run.end_ms is None else run.end_ms):
                raise ValueError("this moment is not in the run")
            told.marks.append(RunMark(run.id, Mark(order["at_ms"], "note", order["text"])))
        elif kind in ANEW and asked.forgotten:
            raise ValueError("the samples of this run were given up, so its numbers cannot be worked out anew")
        elif kind == "merge":
            self._merge(run, self._newest(order["other"], asked.other), asked.others, told)
        elif kind == "split":
            self._split(run, order["at_ms"], asked.marks, told)
        else:
            self._keep(EDITS[kind](run, order), told)
            if kind == "baseline" and order["on"]:
                self._only_baseline(run, asked.others, told)

    def _move(self, run: Run, asked: Asked, tick: int, told: Told) -> None:
        """A result goes from a run to another one, or becomes one; a run that was nothing but that result is gone."""
        order = asked.order
        if order["to"] is None:
            self._bring(result_run(self._last_id + 1, order, tick), told)
        else:
            told.parts.append(result_part(self._newest(order["to"], asked.other).id, order["record"]))
        if run.by == RESULT:
            self._drop(run, told)
        else:
            told.parts_moved.append(PartsMoved(run.id, None, PART + order["key"]))

    def _drop(self, run: Run, told: Told) -> None:
        told.deleted.append(run.id)
        told.runs.pop(run.id, None)
        self._remember(run.id, None)

    def _merge(self, one: Run, other: Run, between: Iterable[Run], told: Told) -> None:
        newer = {run.id: run for run in (*between, *(run for run in self._recent.values() if run is not None))}
        known = [self._recent.get(number, run) for number, run in newer.items()]
        first, second = in_order(one, other, [run for run in known if run is not None])
        whole, seam = merged(first, second)
        told.marks += [RunMark(whole.id, mark) for mark in seam]
        told.moved.append(MarksMoved(second.id, whole.id))
        told.parts_moved += [PartsMoved(second.id, whole.id, prefix) for prefix in (PART, MERGED)]
        remembered = {"deployment": second.deployment, "start": second.start_ms}
        told.parts.append(RunPart(whole.id, f"{MERGED}{second.id}", 0, remembered))
        self._drop(second, told)
        self._go_on_as(second, whole)
        self._keep(whole, told)

    def _split(self, run: Run, at_ms: int, marks: Sequence[Mark], told: Told) -> None:
        watch = self._watches.get(run.deployment)
        last_ms = run.end_ms if run.end_ms is not None else watch.detector.active_ms if watch is not None else None
        parts = split(run, at_ms, last_ms or run.start_ms, self._last_id + 1, marks)
        self._last_id += 1
        told.moved += parts.moved
        self._go_on_as(run, parts.second)
        self._keep(parts.first, told)
        self._keep(parts.second, told)

    def _go_on_as(self, before: Run, now: Run) -> None:
        """Where the run before goes on, it does so as the other one."""
        watch = self._watches.get(before.deployment)
        if watch is not None and watch.run is not None and watch.run.id == before.id:
            watch.run = now

    def _only_baseline(self, run: Run, others: Iterable[Run], told: Told) -> None:
        """A deployment has one baseline."""
        for other in {one.id: one for one in (*others, *(one for one in self._recent.values() if one))}.values():
            now = self._recent.get(other.id, other)
            if now is not None and now.id != run.id and now.deployment == run.deployment and now.baseline:
                self._keep(replace(now, baseline=False), told)


def chronicle_of(store: Store, silence_ms: int = SILENCE_MS) -> Chronicle:
    """One that goes on where the store ends."""
    found = Chronicle(silence_ms, store.last_run())
    found.resume(store.detectors(), store.runs(RunFilter(live=True)))
    return found


def _members(engines: Collection[EngineId]) -> tuple[Member, ...]:
    return tuple(Member(one.target, one.engine, one.model) for one in sorted(engines))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none yet"
