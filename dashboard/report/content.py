"""Content of a report: everything that is known of a run, as plain data, and nothing worked out anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashboard.api.benchmark_answers import answers, of_run
from dashboard.api.run_answers import run_json
from dashboard.run_alerts import alerts_of
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.benchmarks.record import PART
from exchange.bundle import ALERT_FIELDS, ALERTS, ORIGIN, Bundle
from pipeline.digest import CELLS, CHARTS, charts, headline
from runs.entries import Section
from runs.fingerprint import Fingerprint
from runs.model import Run

Content = Mapping[str, Any]
MOST_CHARTED_MS = 3 * 86_400_000
"""Charts of a longer run are the collector's work at its end: nobody waits for so many samples."""


def gather(sources: Sources, numbers: RunNumbers, run: Run, version: str) -> dict[str, Any]:
    """{run, stretch, why, summary, fingerprint, marks, events, alerts, charts, benchmarks, origin, version} and
    when it was `written`."""
    found = numbers.at_once(run)
    origin = sources.store.run_parts_of(run.id, ORIGIN)
    return {
        "run": run_json(run),
        "stretch": [found.start_ms, found.end_ms],
        "why": found.why,
        "summary": list(found.sections),
        "fingerprint": list(found.fingerprint),
        "marks": [{"t": mark.at_ms, "kind": mark.kind, "text": mark.text} for mark in sources.store.marks(run.id)],
        "events": numbers.events(run),
        "alerts": alerts_of(sources.store, run, run.start_ms, max(found.end_ms, run.end_ms or 0)),
        "charts": _charts(sources, run, found.fingerprint),
        "benchmarks": answers(sources, numbers, run),
        "origin": next(iter(origin.values()), None),
        "version": version,
        "written": sources.now_ms(),
    }


def _charts(sources: Sources, run: Run, printed: Any) -> Mapping[str, Any] | None:
    """Those that were kept; of a run that goes on, or has just ended, those of now, unless that is days."""
    kept = sources.store.run_part(run.id, CHARTS)
    if kept is not None:
        found: Mapping[str, Any] = kept[1]
        return found
    if not run.own:
        return None
    end = sources.now_ms() if run.end_ms is None else run.end_ms
    if sources.store.forgotten(run.start_ms, end) or end - run.start_ms > MOST_CHARTED_MS:
        return None
    return charts(sources.store, replace(run, end_ms=end), Fingerprint.from_json(printed))


def bundle(content: Content, sources: Sources, run: Run) -> Bundle:
    """The same as something that another installation imports; ValueError where the run is not over, or has no numbers.

    content: of this run, its names replaced or not.
    """
    told = content["run"]
    if told["end"] is None:
        raise ValueError(f"run {run.id} goes on: stop it first")
    if not content["summary"]:
        raise ValueError(f"run {run.id} has no numbers yet: {content['why']}")
    start, end = content["stretch"]
    parts: dict[str, Any] = {
        "summary": {
            "start": start,
            "end": end,
            "cut": content["why"],
            "why": "",
            "sections": content["summary"],
        },
        "headline": headline([Section.from_json(one) for one in content["summary"]]),
        "fingerprint": content["fingerprint"],
        "events": content["events"],
        ALERTS: [{name: one[name] for name in ALERT_FIELDS} for one in content["alerts"]],
    }
    if content["charts"] is not None:
        parts["charts"] = content["charts"]
    cells = sources.store.run_part(run.id, CELLS)
    if cells is not None:
        parts["cells"] = cells[1]
    parts |= {PART + one.key: one.to_json() for one in of_run(sources, run)}
    about = {
        name: told[name]
        for name in ("deployment", "name", "model", "began", "ended", "start", "end", "trim_start", "trim_end")
    }
    about |= {name: told[name] for name in ("labels", "tags", "note", "measured")}
    data = {
        "about": about,
        "parts": parts,
        "marks": [[one["t"], one["kind"], one["text"]] for one in content["marks"]],
        "origin": {"id": run.id, "version": content["version"], "exported": content["written"]},
    }
    return Bundle.from_json(data)
