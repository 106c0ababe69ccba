"""Answers about runs: the list, one with its numbers, what became of an order. docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.api import known as names
from dashboard.api import parameters
from dashboard.api.awaited import UNHEARD, WAIT_S, awaited
from dashboard.api.parameters import ParameterError
from dashboard.run_alerts import alerts_of
from dashboard.run_moment import moment
from dashboard.run_numbers import RunNumbers, within
from dashboard.run_timeline import READINGS, Notes, happened, node_lines, timeline
from dashboard.run_view import View
from dashboard.sources import Sources
from pipeline import orders
from runs.model import Run
from storage.records import RunFilter
from storage.store import Store

KNOWN = ("deployment", "state", "baseline", "pinned", "tag", "label", "text", "start", "end", "limit", "offset")
DEFAULT_LIMIT, MOST = 1_000, 10_000
DEFAULT_POINTS, MOST_POINTS = 600, 2_000
MOST_AT_ONCE = 1_000
"""Runs that one request may be about."""


def known(store: Store, number: int) -> Run:
    """A run; ParameterError where there is none of this number."""
    run = store.run(number)
    if run is None:
        whole = store.merged_into(number)
        part = "" if whole is None else f" It is part of run {whole.id} now, “{whole.name}”."
        raise ParameterError(f"There is no run {number}.{part}", 404)
    return run


def run_json(run: Run) -> dict[str, Any]:
    """A run without its numbers."""
    return {
        "id": run.id,
        "deployment": run.deployment,
        "name": run.name,
        "model": run.model,
        "start": run.start_ms,
        "end": run.end_ms,
        "stretch": list(run.stretch),
        "live": run.live,
        "began": run.began,
        "ended": run.ended,
        "by": run.by,
        "engines": [one.name for one in run.engines],
        "labels": dict(run.labels),
        "tags": list(run.tags),
        "note": run.note,
        "trim_start": run.trim_start_ms,
        "trim_end": run.trim_end_ms,
        "baseline": run.baseline,
        "pinned": run.pinned,
        "nodes": None if run.nodes is None else list(run.nodes),
        "measured": run.measured.to_json(),
    }


def wanted(given: Mapping[str, str], now_ms: int) -> RunFilter:
    """The filter that parameters ask for."""
    state = parameters.one_of("state", given["state"], ("live", "ended")) if "state" in given else None
    instants = {
        name: parameters.instant_ms(name, given[name], now_ms) if name in given else None for name in ("start", "end")
    }
    flags = {name: parameters.flag(name, given[name]) if name in given else None for name in ("baseline", "pinned")}
    return RunFilter(
        deployment=given.get("deployment"),
        live=None if state is None else state == "live",
        tag=given.get("tag"),
        labels=_labels(given.get("label")),
        text=given.get("text"),
        start_ms=instants["start"],
        end_ms=instants["end"],
        **flags,
    )


def _labels(given: str | None) -> dict[str, str]:
    if given is None:
        return {}
    pairs = [one.partition(":") for one in given.split(",")]
    if not all(key and colon for key, colon, _ in pairs):
        raise parameters.bad("label", given, "KEY:VALUE, or several with commas between")
    return {key: value for key, _, value in pairs}


def listed(sources: Sources, numbers: RunNumbers, given: Mapping[str, str]) -> dict[str, Any]:
    """{runs, total}: those that go on first, then the newest; each with its key numbers, null while it has none."""
    limit = parameters.integer("limit", given.get("limit", str(DEFAULT_LIMIT)), 1, MOST)
    offset = parameters.integer("offset", given.get("offset", "0"))
    found = sorted(sources.store.runs(wanted(given, sources.now_ms())), key=lambda run: not run.live)
    shown = found[offset : offset + limit]
    heads = numbers.headlines(shown)
    return {"runs": [{**run_json(run), "numbers": heads.get(run.id)} for run in shown], "total": len(found)}


def one(sources: Sources, numbers: RunNumbers, run: Run, given: Mapping[str, str]) -> dict[str, Any]:
    """{run, stretch, why, fingerprint, summary, marks, events, alerts} of a run, or of a stretch of it."""
    found = numbers.of(run, *stretch(sources, run, given))
    return {
        "run": {**run_json(run), **_beside(sources, run)},
        "stretch": [found.start_ms, found.end_ms],
        "why": found.why,
        "fingerprint": list(found.fingerprint),
        "summary": list(found.sections),
        "marks": [{"t": mark.at_ms, "kind": mark.kind, "text": mark.text} for mark in sources.store.marks(run.id)],
        "events": numbers.events(run),
        "alerts": alerts_of(sources.store, run, found.start_ms, found.end_ms),
    }


def stretch(sources: Sources, run: Run, given: Mapping[str, str]) -> tuple[int | None, int | None]:
    """The instants that parameters name, None where they name none; ParameterError where nothing lies between."""
    now = sources.now_ms()
    start, end = (parameters.instant_ms(name, given[name], now) if name in given else None for name in ("start", "end"))
    try:
        within(run, start, end, now)
    except ValueError as error:
        raise ParameterError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    return start, end


def _view(sources: Sources, run: Run, given: Mapping[str, str]) -> View:
    points = parameters.integer("points", given.get("points", str(DEFAULT_POINTS)), 2, MOST_POINTS)
    start, end = within(run, *stretch(sources, run, given), sources.now_ms())
    return View(sources, run, start, end, points)


def timeline_of(
    sources: Sources, numbers: RunNumbers, notes: Notes, run: Run, given: Mapping[str, str]
) -> dict[str, Any]:
    """What the page of a run draws on its one time axis."""
    reading = parameters.one_of("map", given.get("map", next(iter(READINGS))), list(READINGS))
    return timeline(_view(sources, run, given), numbers, notes, READINGS[reading])


def happened_in(
    sources: Sources, numbers: RunNumbers, notes: Notes, run: Run, given: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Marks, events and annotations of a run or a stretch of it, by time."""
    return happened(_view(sources, run, given), numbers, notes)


def node_of(sources: Sources, run: Run, given: Mapping[str, str]) -> dict[str, Any]:
    """Lines of one node of a run."""
    view = _view(sources, run, given)
    if "name" not in given:
        raise ParameterError("Parameter “name” is missing, expected a node's name.")
    return node_lines(view, parameters.one_of("name", given["name"], view.nodes))


def moment_of(sources: Sources, run: Run, given: Mapping[str, str]) -> dict[str, Any]:
    """All nodes of a run at one instant."""
    if "at" not in given:
        raise ParameterError("Parameter “at” is missing, expected an instant of the run.")
    now = sources.now_ms()
    at = parameters.instant_ms("at", given["at"], now)
    if not run.start_ms <= at <= (now if run.end_ms is None else run.end_ms):
        raise ParameterError("Parameter “at” does not lie in the run.")
    return moment(View(sources, run, *run.window(now), MOST_POINTS), at)


def _beside(sources: Sources, run: Run) -> dict[str, Any]:
    """{before, after}: {id, name} of the deployment's runs before and after it, null where there is none."""
    pair = zip(("before", "after"), sources.store.beside(run), strict=True)
    return {where: None if other is None else {"id": other.id, "name": other.name} for where, other in pair}


def order(sources: Sources, given: Any) -> tuple[dict[str, Any], int]:
    """Queue what a request's body asks for and wait a moment for it: (answer, status).

    With “runs”, several numbers in place of “run”, it is asked of each of them: {commands: [{run, …}]}.
    """
    if not isinstance(given, dict) or not isinstance(given.get("kind"), str):
        raise ParameterError("Send an object: {“kind”: “rename”, “run”: 1, “name”: …}.")
    kind, fields = given["kind"], {name: value for name, value in given.items() if name != "kind"}
    several = fields.pop("runs") if "runs" in fields and "run" not in fields else None
    if several is not None and not (isinstance(several, list) and 1 <= len(several) <= MOST_AT_ONCE):
        raise ParameterError(f"“runs” is expected to be a list of 1 to {MOST_AT_ONCE} numbers.")
    try:
        payloads = [orders.check(kind, fields if one is None else {**fields, "run": one}) for one in several or [None]]
    except ValueError as error:
        raise ParameterError(f"{str(error)[0].upper()}{str(error)[1:]}.") from error
    for node in sorted({node for one in payloads if kind == "nodes" for node in one["nodes"] or ()}):
        names.target("node", node, sources)
    numbers = [sources.store.enqueue(orders.PREFIX + kind, payload, sources.now_ms()) for payload in payloads]
    found = awaited(sources, numbers, lambda number: outcome(sources, number), WAIT_S)
    if several is None:
        return found[0], _status(found)
    return {"commands": [{"run": run, **one} for run, one in zip(several, found, strict=True)]}, _status(found)


def _status(found: Sequence[Mapping[str, Any]]) -> int:
    if any(one["error"] is not None for one in found):
        return 409
    return 200 if all(one["applied"] is not None for one in found) else UNHEARD


def outcome(sources: Sources, number: int) -> dict[str, Any]:
    """{command, applied, error} of a command; ParameterError where there is none about runs."""
    found = sources.store.command(number)
    if found is None or not found.kind.startswith(orders.PREFIX):
        raise ParameterError(f"There is no command {number}.", 404)
    return {"command": number, "applied": found.applied_ms, "error": found.error}
