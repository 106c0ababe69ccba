"""Results of benchmarks: which run each belongs to, and the order that lays it there. The page, the API and the command
line ask the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from dashboard.api.parameters import ParameterError
from dashboard.api.run_answers import known, order
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.benchmarks import beside, match
from exchange.benchmarks.record import PART, Benchmark, Overlay
from pipeline import orders
from runs.entries import Section
from runs.model import Run
from runs.rows import names
from storage.records import RunFilter
from telemetry.catalog import engine
from telemetry.counters import increase
from telemetry.frame import Frame

AROUND_MS = 15 * 3_600_000
"""How far a run may be from a time whose zone is not known."""
BY_HAND = "named by hand"
TIMELESS = "{}: it does not tell when it was measured; name its run, or keep it apart"
APART_ON_REQUEST = "kept apart, as was asked"
APART_WITHOUT = "kept apart: no run of its model has telemetry of its minutes"
HELD = "{0}: it is there already, with run {1} ({2}); to lay it over another, move it (runs move {1} ID)"
NOTHING: Mapping[str, Any] = {"command": None, "applied": None, "error": None, "run": None, "new": False, "how": ""}
"""Told of a result that nobody was asked to take."""
SEVERAL = "{}: it fits several runs, name one of them: {}"


@dataclass(frozen=True, slots=True)
class Wish:
    """What people say of a file: the number of its run; or apart from all runs."""

    run: int | None = None
    apart: bool = False


def zone_ms(benchmark: Benchmark) -> int:
    """How far this machine's clock was ahead of UTC at a result's end, in milliseconds."""
    if not benchmark.local_end:
        return 0
    offset = datetime.fromisoformat(benchmark.local_end).astimezone().utcoffset()
    return round(offset.total_seconds() * 1000) if offset is not None else 0


def of_run(sources: Sources, run: Run) -> list[Benchmark]:
    """Results that belong to a run."""
    return [Benchmark.from_json(one) for one in sources.store.run_parts_of(run.id, PART).values()]


def answers(sources: Sources, numbers: RunNumbers, run: Run) -> list[dict[str, Any]]:
    """The same with the engine's numbers beside, as JSON."""
    return [dict(beside.answer(one, *_engine(numbers, run, one))) for one in of_run(sources, run)]


def _engine(numbers: RunNumbers, run: Run, benchmark: Benchmark) -> tuple[list[Section], tuple[int, int] | None]:
    """The engine's numbers of a result that is all of its run, and of when they are: of all that the run was then, also
    where it was trimmed, merged or split since; of a split one as much of it as is left."""
    overlay = benchmark.overlay
    if overlay is None or overlay.server:
        return [], None
    low = max(overlay.start_ms, run.start_ms)
    high = overlay.end_ms if run.end_ms is None else min(overlay.end_ms, run.end_ms)
    if not run.own or (low, high) == run.stretch:
        told = numbers.at_once(run)
    elif low < high:
        told = numbers.of(run, low, high)
    else:
        return [], None
    return [Section.from_json(one) for one in told.sections], (told.start_ms, told.end_ms)


def bring(sources: Sources, numbers: RunNumbers, benchmark: Benchmark, wish: Wish) -> tuple[dict[str, Any], int]:
    """Lay a result over its run, or keep it apart: ({run, new, how, …}, status).

    ParameterError with a sentence, and the runs to choose from, where that is not clear.
    """
    owners = sources.store.runs_with(PART + benchmark.key)
    if owners and wish.run is None:
        return {"run": owners[0], "new": False, "how": "it is there already", "error": None, "applied": 0}, 200
    if owners and wish.run not in owners:
        raise ParameterError(_held(sources, benchmark, owners[0]), 409)
    found = None if wish.apart else _choose(sources, benchmark, wish.run)
    given: dict[str, Any] = {"kind": "benchmark", "record": benchmark.to_json()}
    if found is None:
        placed = match.placed(benchmark, zone_ms(benchmark), sources.now_ms()) or _now(sources)
        given |= {"start_ms": placed[0], "end_ms": placed[1]}
    else:
        given |= {"run": found.run.id, "record": _overlaid(numbers, benchmark, found).to_json()}
    told, status = order(sources, given)
    owners = sources.store.runs_with(PART + benchmark.key)
    how = (APART_ON_REQUEST if wish.apart else APART_WITHOUT) if found is None else found.how
    return {**told, "run": owners[-1] if owners else None, "new": found is None, "how": how}, status


def tried(sources: Sources, numbers: RunNumbers, benchmark: Benchmark, wish: Wish) -> tuple[dict[str, Any], int]:
    """The same of one of several: where it is not clear what is to become of it, the sentence is its `error`."""
    try:
        return bring(sources, numbers, benchmark, wish)
    except ParameterError as error:
        return {**NOTHING, "error": str(error)}, error.status


def moved(sources: Sources, numbers: RunNumbers, given: Mapping[str, Any]) -> dict[str, Any]:
    """The order that moves a result: {run, to, key} with the result as it lies over the other run.

    key may be left out where the run has one result; to is None where it is to be kept apart.
    """
    try:
        number, to = orders.number("run", given.get("run")), orders.maybe(orders.number)("to", given.get("to"))
    except ValueError as error:
        raise ParameterError(f"{error}.") from error
    run = known(sources.store, number)
    benchmark = _one_of(sources, run, given.get("key"))
    if to == run.id or (to is None and run.by == "benchmark"):
        raise ParameterError(f"Run {run.id} has this result already{'' if to else ', and nothing else'}.", 409)
    placed: tuple[int | None, int | None] = (None, None)
    if to is None:
        benchmark = replace(benchmark, overlay=None)
        placed = match.placed(benchmark, zone_ms(benchmark), sources.now_ms()) or _now(sources)
    else:
        benchmark = _overlaid(numbers, benchmark, _named(sources, benchmark, to, sources.now_ms()))
    told = {"key": benchmark.key, "record": benchmark.to_json(), "start_ms": placed[0], "end_ms": placed[1]}
    return {**given, "to": to, **told}


def _one_of(sources: Sources, run: Run, key: object) -> Benchmark:
    """A run's result of this key, or its only one."""
    found = {one.key: one for one in of_run(sources, run)}
    if not found:
        raise ParameterError(f"Run {run.id} has no result of a benchmark.", 409)
    if key is None and len(found) == 1:
        return next(iter(found.values()))
    if key not in found:
        listed = ", ".join(f"{key} ({one.file or one.tool})" for key, one in found.items())
        raise ParameterError(f"Run {run.id} has several results, or not this one: name one of {listed}.", 409)
    return found[str(key)]


def _held(sources: Sources, benchmark: Benchmark, number: int) -> str:
    """Why a result cannot come to another run: it is kept once."""
    run = sources.store.run(number)
    return HELD.format(benchmark.file or benchmark.tool, number, "" if run is None else run.name)


def _now(sources: Sources) -> tuple[int, int]:
    return sources.now_ms(), sources.now_ms()


def _choose(sources: Sources, benchmark: Benchmark, number: int | None) -> match.Fit | None:
    """The one run that it belongs to; None where there is none."""
    now = sources.now_ms()
    if number is not None:
        return _named(sources, benchmark, number, now)
    placed = match.placed(benchmark, zone_ms(benchmark), sources.now_ms())
    name = benchmark.file or benchmark.tool
    if placed is None:
        raise ParameterError(TIMELESS.format(name), 409)
    around = RunFilter(start_ms=placed[0] - AROUND_MS, end_ms=placed[1] + AROUND_MS)
    runs = [run for run in sources.store.runs(around) if run.own]
    found = match.fits(benchmark, runs, Counted(sources), now, zone_ms(benchmark))
    if len(found) > 1:
        listed = ", ".join(f"{one.run.id} ({one.run.name})" for one in found)
        raise ParameterError(SEVERAL.format(name, listed), 409)
    return found[0] if found else None


def _named(sources: Sources, benchmark: Benchmark, number: int, now: int) -> match.Fit:
    """A run that people name: the stretch is found as ever, else it is all that the run's numbers are of."""
    run = known(sources.store, number)
    if not run.own:
        raise ParameterError(f"Run {number} has no telemetry here.", 409)
    found = match.fits(benchmark, [run], Counted(sources), now, zone_ms(benchmark), any_model=True)
    whole = match.Fit(run, *run.window(now), BY_HAND, whole=True)
    return replace(found[0], how=BY_HAND) if found else whole


def _overlaid(numbers: RunNumbers, benchmark: Benchmark, found: match.Fit) -> Benchmark:
    """With the engine's numbers of its stretch, where that is a part of the run."""
    server: Sequence[Any] = ()
    if not found.whole:
        told = numbers.of(found.run, found.start_ms, found.end_ms)
        server = beside.server_entries([Section.from_json(one) for one in told.sections])
    return replace(benchmark, overlay=Overlay(found.start_ms, found.end_ms, found.how, tuple(server)))


@dataclass(frozen=True, slots=True)
class Counted:
    """Output tokens of a run's engines between two instants, from two points of their counters."""

    sources: Sources

    def __call__(self, run: Run, start_ms: int, end_ms: int) -> float | None:
        """The tokens; None where they are not known, or their samples were given up."""
        store = self.sources.store
        if store.forgotten(start_ms, end_ms):
            return self._kept(run, start_ms, end_ms)
        targets = sorted({one.target for one in run.engines})
        ends = store.ends(names((engine.GENERATION_TOKENS,)), targets, start_ms, end_ms)
        mine = [row for row, series in enumerate(ends.series) if any(one.owns(series) for one in run.engines)]
        gained = [value for value in increase(_only(ends, mine), start_ms, end_ms).tolist() if value == value]
        return sum(gained) if gained else None

    def _kept(self, run: Run, start_ms: int, end_ms: int) -> float | None:
        """Of all that a run's numbers are of, what is kept of it."""
        if (start_ms, end_ms) != run.stretch:
            return None
        head = self.sources.store.run_parts("headline", [run.id]).get(run.id, {})
        value = head.get("requests.output")
        return None if value is None else float(value)


def _only(frame: Frame, rows: Sequence[int]) -> Frame:
    return frame.take(list(rows))
