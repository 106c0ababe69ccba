"""The list of runs as the page has it: a short row for each, so that ten thousand are one answer."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any

import orjson

from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.digest import HEADLINE, HEADLINES, SPARK, spark
from storage.records import RunFilter
from telemetry.catalog import cluster

COMPARED = "speed.decode_mean"
"""Number that a run and its deployment's baseline are compared by."""
FIELDS = ("id", "deployment", "name", "model", "start", "end", "baseline", "pinned", "tags", "labels", "trimmed")
COLUMNS = (*FIELDS, "spark", "against", "load", *HEADLINES)
"""What a row holds, in this order. against: by how much it differs from the baseline, as a share; null: not known.
load: requests running in the baseline, where that is another load, so that `against` says little; else null."""
LOAD, OTHER_LOAD = "phases.running_mean", 1.25
"""Number that tells the load, and how many times another's one must be at least to be another load."""
PLACE, LOAD_PLACE = HEADLINES.index(COMPARED), HEADLINES.index(LOAD)
IN_ORDER = itemgetter(*HEADLINES)
UNKNOWN: tuple[float | None, ...] = (None,) * len(HEADLINES)


def table(sources: Sources, numbers: RunNumbers, since_ms: int | None) -> dict[str, Any]:
    """{columns, runs: [[…]]} of the runs that go on or ended since; None: of all that ended, which hardly changes."""
    rows = sources.store.listed_runs((HEADLINE, SPARK), since_ms)
    live = [] if since_ms is None else sources.store.runs(RunFilter(live=True))
    going, usual = numbers.headlines(live), baselines(sources, numbers)
    found = []
    for number, deployment, name, model, start, end, baseline, pinned, tags, labels, trimmed, head, course in rows:
        own = _read(head) if number not in going else _in_order(going[number])
        line = _course(sources, deployment, start) if end is None else _kept(course)
        marks = (bool(baseline), bool(pinned), orjson.Fragment(tags), orjson.Fragment(labels), bool(trimmed))
        differs = against(number, own[PLACE], usual.get(deployment))
        load = None if differs is None else other_load(own[LOAD_PLACE], usual[deployment][2])
        found.append((number, deployment, name, model, start, end, *marks, line, differs, load, *own))
    return {"columns": COLUMNS, "runs": found}


def _read(text: str | None) -> tuple[float | None, ...]:
    if text is None:
        return UNKNOWN
    head = orjson.loads(text)
    try:
        return IN_ORDER(head)  # type: ignore[no-any-return]
    except KeyError:
        return _in_order(head)


def _in_order(head: Mapping[str, float | None]) -> tuple[float | None, ...]:
    return tuple(head.get(path) for path in HEADLINES)


def _course(sources: Sources, deployment: str, start_ms: int) -> list[float | None]:
    """That of a run that goes on, up to now."""
    target = f"{cluster.DEPLOYMENT_PREFIX}{deployment}"
    frame = sources.frame((cluster.RECORDED_DECODE.name,), start_ms, sources.now_ms(), (target,))
    line = frame.values[0].tolist() if len(frame.series) else []
    return spark([None if value != value else value for value in line])


def _kept(text: str | None) -> Any:
    return None if text is None else orjson.Fragment(text)


Usual = tuple[int, float, float | None]
"""A baseline: its number, its decode mean, and how many requests ran in it."""


def baselines(sources: Sources, numbers: RunNumbers) -> dict[str, Usual]:
    """Each deployment's baseline; of one whose decode mean is not known, nothing."""
    found = sources.store.runs(RunFilter(baseline=True))
    heads = numbers.headlines(found)
    known = {run.deployment: (run.id, heads.get(run.id, {})) for run in found}
    return {
        name: (number, value, head.get(LOAD)) for name, (number, head) in known.items() if (value := head.get(COMPARED))
    }


def other_load(running: float | None, usual: float | None) -> float | None:
    """How many requests ran in the baseline, where in another run so many more or fewer did that their speeds say
    little of each other; None where that is not so, or not known.

    >>> other_load(8.0, 1.4), other_load(1.0, 1.25), other_load(1.2, 1.0), other_load(None, 1.0), other_load(0.0, 2.0)
    (1.4, 1.25, None, None, 2.0)
    """
    if running is None or usual is None:
        return None
    low, high = sorted((running, usual))
    return usual if high > 0 and high >= OTHER_LOAD * low else None


def against(number: int, value: float | None, usual: Usual | None) -> float | None:
    """By which share a run's number is larger than the baseline's; None of the baseline itself, and where unknown.

    >>> usual = (1, 20.0, 1.4)
    >>> against(2, 25.0, usual), against(1, 20.0, usual), against(2, None, usual), against(2, 25.0, None)
    (0.25, None, None, None)
    """
    return None if usual is None or value is None or number == usual[0] else value / usual[1] - 1.0
