"""Several runs side by side, as JSON: what the page, the API, CSV and the command line show."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dashboard import comparison_words as words
from dashboard.api import parameters
from dashboard.api.run_answers import known
from dashboard.live_reader import LiveReader
from dashboard.run_numbers import LIVE_MS, Numbers, RunNumbers
from dashboard.sources import Sources
from pipeline import digest
from runs.compare import arrivals, tables, verdict, work
from runs.compare.cells import Cells
from runs.compare.cutting import cut
from runs.compare.measures import AT_EQUAL_LOAD, MEASURES
from runs.compare.roof import roof
from runs.entries import Section
from runs.fingerprint import Fingerprint
from runs.model import Run
from runs.references import Reference
from storage.store import Store
from telemetry.catalog import cluster
from telemetry.model import Metric
from telemetry.roofline import Weights

FEWEST, MOST = 2, 8
KNOWN = ("runs", "align")
"""Parameters of a question for a comparison."""
ALIGNMENTS = ("start", "first_token")
CURVES: tuple[tuple[Metric, str | None], ...] = (
    (cluster.RECORDED_DECODE, "decode"),
    (cluster.DEPLOYMENT_RUNNING, None),
    (cluster.CLUSTER_POWER, None),
)
"""Lines that are laid over each other, one of them at a time, and the key of the published results beside them."""
MOST_KEPT = 8
NO_CELLS = "its samples were given up before it was cut into cells"


def chosen(store: Store, given: Mapping[str, str]) -> tuple[list[Run], str]:
    """(runs, alignment) that parameters ask for; ParameterError with a sentence."""
    text = given.get("runs", "")
    numbers = [one.strip() for one in text.split(",")]
    whole = all(one.isascii() and one.isdecimal() and len(one) < 10 for one in numbers)
    if not whole or not FEWEST <= len(numbers) <= MOST:
        raise parameters.bad("runs", text, f"the numbers of {FEWEST} to {MOST} runs, with commas between")
    if len(set(map(int, numbers))) < len(numbers):
        raise parameters.bad("runs", text, "each run once")
    align = parameters.one_of("align", given.get("align", ALIGNMENTS[0]), ALIGNMENTS)
    return [known(store, int(one)) for one in numbers], align


def distinct(runs: Sequence[Run]) -> list[Run]:
    """The same runs, of which those of one name are told apart by their numbers."""
    names = [run.name for run in runs]
    return [run if names.count(run.name) == 1 else replace(run, name=f"{run.name} (run {run.id})") for run in runs]


@dataclass(frozen=True)
class One:
    """A run of a comparison, with what it is compared by. cells: None where they cannot be had, and why."""

    run: Run
    numbers: Numbers
    cells: Cells | None
    why: str
    curves: Mapping[str, Any]

    @property
    def summary(self) -> list[Section]:
        """Its summary."""
        return [Section.from_json(one) for one in self.numbers.sections]

    @property
    def printed(self) -> Fingerprint:
        """Its fingerprint."""
        return Fingerprint.from_json(self.numbers.fingerprint)

    def aligned_ms(self, align: str) -> int | None:
        """The instant that is 0 on the common axis; None where it had no token."""
        if align == "start":
            return self.numbers.start_ms
        first = None if self.cells is None else self.cells.first_ms
        return None if first is None or first != first else int(first)


@dataclass
class Comparisons:
    """One store's. weights: what the model of each deployment weighs. Who asks for the same waits for one answer."""

    sources: Sources
    numbers: RunNumbers
    weights: Mapping[str, Weights] = field(default_factory=dict)
    references: Sequence[Reference] = ()
    _kept: dict[tuple[Any, ...], tuple[int, dict[str, Any]]] = field(default_factory=dict)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def of(self, runs: Sequence[Run], align: str = "start") -> dict[str, Any]:
        """The comparison of two to eight runs with the first of them."""
        key = (align, *((one.id, one.revision, one.end_ms, one.name, one.baseline, one.measured) for one in runs))
        now = self.sources.now_ms()
        settled = all(one.end_ms is not None and self._settled(one, digest.SUMMARY) is not None for one in runs)
        with self._turn:
            kept = self._kept.pop(key, None)
            if kept is None or not (settled or now - kept[0] < LIVE_MS):
                kept = (now, self._worked_out(runs, align))
            self._kept[key] = kept
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return kept[1]

    def _settled(self, run: Run, kind: str) -> Any:
        """A part that was kept of the run as it is now, None where there is none."""
        part = self.sources.store.run_part(run.id, kind)
        return None if part is None or part[0] != run.revision else part[1]

    def _worked_out(self, runs: Sequence[Run], align: str) -> dict[str, Any]:
        found = [self._one(run) for run in distinct(runs)]
        names = [one.run.name for one in found]
        summaries = [one.summary for one in found]
        prints = [one.printed for one in found]
        return {
            "align": align,
            "base": found[0].run.id,
            "runs": [_told(one, align) for one in found],
            "verdicts": [one for other in found[1:] for one in _verdicts(found[0], other)],
            "fingerprint": [one.to_json() for one in tables.differing(prints, [one.run.measured for one in found])],
            "table": [one.to_json() for one in tables.numbers(summaries)],
            "nodes": [one.to_json() for one in tables.nodes(summaries)],
            "curves": [line for one in found for line in _lines(one, align)],
            "roofline": [
                {"run": one.run.id, "name": name, **roof(self._weights(one.run), summary, printed).to_json()}
                for one, name, summary, printed in zip(found, names, summaries, prints, strict=True)
            ],
            "references": [one.to_json() for one in self.references],
        }

    def _weights(self, run: Run) -> Weights | None:
        return self.weights.get(run.deployment)

    def _one(self, run: Run) -> One:
        numbers = self.numbers.of(run)
        cells, why = self._cells(run, numbers)
        return One(run, numbers, cells, why, self._charts(run, numbers))

    def _cells(self, run: Run, numbers: Numbers) -> tuple[Cells | None, str]:
        kept = self._settled(run, digest.CELLS)
        if kept is not None:
            return Cells.from_json(kept), ""
        if not self._readable(run, numbers):
            return None, numbers.why or NO_CELLS
        subject = digest.subject_of(self.sources.store, run, numbers.start_ms, numbers.end_ms)
        return cut(subject, LiveReader(self.sources)), ""

    def _charts(self, run: Run, numbers: Numbers) -> Mapping[str, Any]:
        kept = self._settled(run, digest.CHARTS)
        if kept is not None:
            return dict(kept)
        if not self._readable(run, numbers):
            return {"start": numbers.start_ms, "step_ms": digest.CHART_MS, "series": []}
        ended = replace(run, end_ms=self.sources.now_ms() if run.end_ms is None else run.end_ms)
        return digest.charts(self.sources.store, ended, Fingerprint(()))

    def _readable(self, run: Run, numbers: Numbers) -> bool:
        """Whether the samples of a run are here."""
        return run.own and not self.sources.store.forgotten(numbers.start_ms, numbers.end_ms)


def _told(one: One, align: str) -> dict[str, Any]:
    run, cells = one.run, one.cells
    limited = None if cells is None else arrivals.load(cells)
    return {
        "id": run.id,
        "name": run.name,
        "deployment": run.deployment,
        "model": run.model,
        "start": one.numbers.start_ms,
        "end": one.numbers.end_ms,
        "live": run.live,
        "baseline": run.baseline,
        "aligned": one.aligned_ms(align),
        "why": one.numbers.why,
        "limit": None if limited is None else limited.limit.value,
        "limit_text": one.why if limited is None else limited.words,
        "request_s": None if cells is None or cells.request_mean_s != cells.request_mean_s else cells.request_mean_s,
    }


def _verdicts(first: One, second: One) -> list[dict[str, Any]]:
    """Verdicts on two runs, the main one marked."""
    if first.cells is None or second.cells is None:
        which, why = ("first", first.why) if first.cells is None else ("second", second.why)
        text = f"of the {which} run there is nothing to compare: {why}"
        found = [verdict.Verdict(one.key, "not comparable", why=text) for one in MEASURES]
    else:
        found = verdict.compare(first.cells, second.cells)
    equal = [one.key for one in AT_EQUAL_LOAD]
    main = next((one.measure for one in found if one.measure in equal and one.word != "not comparable"), equal[0])
    pair = (first.run.name, second.run.name)
    other = work.notes([first.summary, second.summary], [first.printed, second.printed])
    return [
        {
            "run": second.run.id,
            "base": first.run.id,
            "main": one.measure == main,
            **words.described(replace(one, notes=[*one.notes, *other]), pair),
        }
        for one in found
    ]


def _lines(one: One, align: str) -> list[dict[str, Any]]:
    """Curves of a run on the common axis; none where there is no first token to align by."""
    zero = one.aligned_ms(align)
    if zero is None:
        return []
    targets = (f"{cluster.DEPLOYMENT_PREFIX}{one.run.deployment}", cluster.CLUSTER_TARGET)
    return [
        {
            "run": one.run.id,
            "metric": metric.name,
            "label": metric.label.removesuffix(", recorded"),
            "unit": metric.unit.value,
            "published": published,
            "from_ms": one.curves["start"] - zero,
            "step_ms": one.curves["step_ms"],
            "v": line["v"],
        }
        for metric, published in CURVES
        for line in one.curves["series"]
        if line["metric"] == metric.name and line["target"] in targets
    ]
