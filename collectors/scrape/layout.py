"""From the lines of a page to its layout: which names win, which series they make, what is refused."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from collectors.scrape.engines import recognise
from collectors.scrape.lines import PROCESS_START, Line, Meaning
from collectors.scrape.page import Layout, Page
from telemetry.frame import Floats
from telemetry.model import Fold, Series

DEFAULT_ENGINE = "0"
FORGET_AFTER_READS = 3600
"""A series gone for this many readings of the page no longer counts against the cap."""


@dataclass(frozen=True, eq=False)
class Plan:
    """A layout and where its raw lines stand in the reader's table of values.

    gather: intp[n_raw], raw line → slot. flags, numbers: raw lines whose value 1 stands for a number.
    process, created: slots that say when the process started.
    """

    layout: Layout
    gather: npt.NDArray[np.intp]
    flags: npt.NDArray[np.intp]
    numbers: npt.NDArray[np.float64]
    process: int | None
    created: npt.NDArray[np.intp]


class Admission:
    """Keeps a target's stored series under the cap: new ones are refused, old ones go on."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._last_seen: dict[Series, int] = {}

    def admit(self, wanted: Iterable[Series], read: int) -> set[Series]:
        """Those of the wanted series that may be stored, at the given reading of the page."""
        known = {series: at for series, at in self._last_seen.items() if read - at <= FORGET_AFTER_READS}
        admitted = set()
        unique = tuple(dict.fromkeys(wanted))
        for series in (*(s for s in unique if s in known), *(s for s in unique if s not in known)):
            if series in known or len(known) < self._cap:
                known[series] = read
                admitted.add(series)
        self._last_seen = known
        return admitted

    def touch(self, series: Iterable[Series], read: int) -> None:
        """These series were on the page up to now."""
        self._last_seen.update(dict.fromkeys(series, read))


Placed = tuple[int, Meaning, Series]


def build(
    target: str,
    slots: Sequence[int],
    lines: Sequence[Line],
    body: bytes,
    admission: Admission,
    read: int,
    refused: int,
) -> Plan:
    """Plan of a page whose lines are these, in page order. `lines[slot]` is what a slot means.

    refused: lines that the reader had no room for; each would have been a series.
    """
    present = [(slot, lines[slot]) for slot in slots]
    placed = _lowest_replicas(_placed(target, _winners(present)))
    admitted = admission.admit((series for _, _, series in placed), read)
    kept = [item for item in placed if item[2] in admitted]
    refused += len({series for _, _, series in placed} - admitted)
    layout = _layout(kept, present, body, refused, lines)
    flags = [(raw, meaning.number) for raw, (_, meaning, _) in enumerate(kept) if meaning.number is not None]
    engine_own = layout.engine != "agent"  # a machine's counters live through a restart of its agent
    process = next((slot for slot, line in present if line.identity.startswith(PROCESS_START)), None)
    return Plan(
        layout,
        np.array([slot for slot, _, _ in kept], dtype=np.intp),
        np.array([raw for raw, _ in flags], dtype=np.intp),
        np.array([number for _, number in flags], dtype=np.float64),
        process if engine_own else None,
        np.array([slot for slot, line in present if line.created and engine_own], dtype=np.intp),
    )


def page_of(plan: Plan, table: Floats, bad_lines: int, contradicted: Collection[int] = ()) -> Page:
    """The page that a plan makes of float64[slot], NaN where a line is not there or has no number.

    contradicted: slots of lines that the page gives with different numbers.
    """
    raw = table.take(plan.gather)
    if len(plan.flags):
        raw[plan.flags] = np.where(raw[plan.flags] == 1.0, plan.numbers, np.nan)
    finite = np.isfinite(raw)
    if not finite.all():
        raw[~finite] = np.nan
    created = _earliest(table[plan.created]) if len(plan.created) else None
    lines = tuple(np.flatnonzero(np.isin(plan.gather, list(contradicted))).tolist()) if contradicted else ()
    if plan.process is None:
        return Page(plan.layout, raw, created, bad_lines, "created", created, lines)
    return Page(plan.layout, raw, _earliest(table[[plan.process]]), bad_lines, "process", created, lines)


def _earliest(stamps: Floats) -> float | None:
    """The earliest of these times, None where none is known."""
    known = stamps[np.isfinite(stamps)]
    return float(np.min(known)) if len(known) else None


def _winners(present: Sequence[tuple[int, Line]]) -> list[tuple[int, Meaning]]:
    """Meanings of the newest name of each metric; an older name beside it says the same thing again."""
    meanings = [(slot, meaning) for slot, line in present for meaning in line.meanings]
    best: dict[str, int] = {}
    for _, meaning in meanings:
        best[meaning.family] = min(meaning.rank, best.get(meaning.family, meaning.rank))
    return [(slot, meaning) for slot, meaning in meanings if meaning.rank == best[meaning.family]]


def _placed(target: str, meanings: Sequence[tuple[int, Meaning]]) -> list[Placed]:
    engine = _only(meaning.engine for _, meaning in meanings) or DEFAULT_ENGINE
    model = _only(meaning.model for _, meaning in meanings) or ""
    return [(slot, meaning, _series(target, meaning, engine, model)) for slot, meaning in meanings]


def _only(values: Iterable[str | None]) -> str | None:
    """The one value that all lines which name it agree on: lines that do not name it belong there too."""
    named = {value for value in values if value is not None}
    return named.pop() if len(named) == 1 else None


def _series(target: str, meaning: Meaning, engine: str, model: str) -> Series:
    labels = dict(meaning.labels)
    stated = {"engine": meaning.engine or engine, "model": meaning.model or model}
    labels.update({name: value for name, value in stated.items() if name in meaning.metric.by})
    return Series(target, meaning.metric.name, tuple(sorted(labels.items())))


def _lowest_replicas(placed: Sequence[Placed]) -> list[Placed]:
    lowest: dict[Series, tuple[tuple[int, str], ...]] = {}
    for _, meaning, series in placed:
        lowest[series] = min(meaning.replica, lowest.get(series, meaning.replica))
    return [item for item in placed if item[1].replica == lowest[item[2]]]


def _layout(
    kept: Sequence[Placed], present: Sequence[tuple[int, Line]], body: bytes, refused: int, lines: Sequence[Line]
) -> Layout:
    order: dict[Series, int] = {}
    folds: list[Fold] = []
    copies: list[str] = []
    for _, meaning, series in kept:
        if series not in order:
            order[series] = len(order)
            folds.append(meaning.fold)
            copies.append(f"{meaning.rank} {meaning.replica}")
    engine, facts = recognise((line.engine for _, line in present if line.engine and line.meanings), body)
    return Layout(
        series=tuple(order),
        source=np.array([order[series] for _, _, series in kept], dtype=np.int32),
        lines=tuple(f"{series.metric} {lines[slot].identity}" for slot, _, series in kept),
        folds=tuple(folds),
        facts={**_facts(present, kept), **facts},
        engine=engine,
        dropped_families=len({line.dropped for _, line in present if line.dropped is not None}),
        refused_series=refused,
        copies=tuple(copies),
    )


def _facts(present: Sequence[tuple[int, Line]], kept: Sequence[Placed]) -> dict[str, str]:
    """Facts of all info lines; where engines differ, their values in page order."""
    stated: dict[str, dict[str, None]] = {}
    for _, line in present:
        for fact, value in line.facts:
            stated.setdefault(fact, {})[value] = None
    for _, meaning, _ in kept:
        if meaning.model is not None:
            stated.setdefault("model", {})[meaning.model] = None
    return {fact: ", ".join(values) for fact, values in stated.items()}
