"""Baseline: how fast the run that goes on is against its deployment's baseline, at equal concurrency, for the rule."""

from __future__ import annotations

from pipeline.digest import CELLS, subject_of
from runs.compare.cells import Cells
from runs.compare.cutting import cut
from runs.compare.measures import AT_EQUAL_LOAD
from runs.compare.verdict import Verdict, judge
from runs.model import Run
from runs.reader import StoreReader
from storage.records import RunFilter
from storage.store import Store

LATELY_MS = 1_800_000
"""Of the run that goes on, so much counts: long enough for twenty requests one after the other, and not what was."""
TOLD = ("faster", "slower", "no difference")
"""Verdicts that rest on enough of both runs."""


def speed(store: Store, number: int, now_ms: int) -> float | None:
    """Upper end of the interval of a live run's speed of lately, as a share of its deployment's baseline's: below 1 it
    is slower, by more than the noise of both. None where that cannot be told: there is no baseline, they never ran
    equally many requests, or not for long enough.
    """
    run = store.run(number)
    base = None if run is None else _baseline(store, run)
    if run is None or base is None:
        return None
    start, end = run.window(now_ms)
    lately = max(start, end - LATELY_MS)
    mine = cut(subject_of(store, run, lately, end), StoreReader(store))
    return upper(base, mine)


def _baseline(store: Store, run: Run) -> Cells | None:
    """Cells of the baseline; None where there is none, it is this very run, or it was not worked out as it is now."""
    found = store.runs(RunFilter(run.deployment, baseline=True))
    if not found or found[0].id == run.id:
        return None
    part = store.run_part(found[0].id, CELLS)
    return None if part is None or part[0] != found[0].revision else Cells.from_json(part[1])


def upper(base: Cells, mine: Cells) -> float | None:
    """The same of two runs' cells, by the first measure that both offer."""
    verdicts = ((measure, judge(measure, base, mine)) for measure in AT_EQUAL_LOAD)
    offered = ((measure, one) for measure, one in verdicts if one.word != "not comparable")
    measure, verdict = next(offered, (AT_EQUAL_LOAD[0], Verdict("", "not comparable")))
    if verdict.word not in TOLD or verdict.low is None or verdict.high is None:
        return None
    return 1.0 + verdict.high if measure.more else 1.0 / (1.0 + verdict.low)
