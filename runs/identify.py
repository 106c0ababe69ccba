"""The fingerprint of a run: what targets tell of themselves, and what follows from the run's own samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from runs.facts import Fact
from runs.fingerprint import Fingerprint, fingerprint
from runs.reader import LEAD_MS, Reader
from runs.rows import names
from runs.slices import slices
from runs.subject import Subject
from telemetry.catalog import engine, gpu, network
from telemetry.frame import Frame
from telemetry.model import Metric, Series

GAUGES: Mapping[str, tuple[str, Metric]] = {
    "cage": ("cage.{}.capacity", network.CAGE_CAPACITY),
    "function": ("function.{}.mtu", network.MTU),
    "gpu": ("gpu.{}.clock_max", gpu.GPU_SM_CLOCK_MAX),
}
"""Gauges that hardly ever change, by the label that names the device: told as facts of this name."""
METHOD_UNKNOWN = "in use, method not told"


@dataclass(frozen=True, slots=True)
class Told:
    """A fact that follows from samples."""

    target: str
    name: str
    value: str
    start_ms: int
    end_ms: int | None = None


def identify(
    subject: Subject,
    reader: Reader,
    facts: Sequence[Fact],
    took_part: Sequence[str],
    kinds: Mapping[str, str] | None = None,
) -> Fingerprint:
    """The fingerprint of a run.

    facts: of all targets, as stored. took_part: names of the nodes that took part (`Stretch.nodes`). kinds: engine
    target → what it is ("vllm"), where that is known.
    """
    start, end = subject.start_ms, subject.end_ms
    told: list[Fact] = [
        *facts,
        *_gauges(reader, start - LEAD_MS, end, took_part),
        *_speculation(subject, reader, facts),
        *_deployment(subject, took_part),
    ]
    told += [Told(target, "engine", kind, start) for target, kind in (kinds or {}).items()]
    return fingerprint(told, subject.targets, took_part, start, end)


def _deployment(subject: Subject, took_part: Sequence[str]) -> Iterable[Told]:
    """What is of all engines is told of each of their targets, so that it differs between none."""
    common = {"engines": ", ".join(one.name for one in sorted(subject.engines)), "nodes": ", ".join(took_part)}
    for target in subject.targets:
        models = sorted({one.model for one in subject.engines if one.target == target and one.model})
        own = {**common, "model": ", ".join(models)}
        yield from (Told(target, name, value, subject.start_ms) for name, value in own.items() if value)


def _gauges(reader: Reader, start_ms: int, end_ms: int, nodes: Sequence[str]) -> Iterable[Told]:
    """Values of the gauges with when they held, read slice by slice."""
    found: dict[Series, list[tuple[int, float]]] = {}
    wanted = names([metric for _, metric in GAUGES.values()])
    for low, high in slices(start_ms, end_ms, len(nodes)):
        for series, ticks, values in _changes(reader.frame(wanted, low, high, nodes)):
            own = found.setdefault(series, [])
            new = list(zip(ticks, values, strict=True))
            own += new[1:] if own and own[-1][1] == new[0][1] else new
    facts = {metric.name: (label, name) for label, (name, metric) in GAUGES.items()}
    for series, own in found.items():
        label, name = facts[series.metric]
        fact = name.format(series.label(label) or "")
        for (since, value), (until, _) in pairwise([*own, (None, 0.0)]):
            yield Told(series.target, fact, f"{value:.15g}", since or 0, until)


def _changes(frame: Frame) -> Iterable[tuple[Series, list[int], list[float]]]:
    """Of each series the ticks at which its value became another one, and the values."""
    for series, line in zip(frame.series, frame.values, strict=True):
        known = np.flatnonzero(~np.isnan(line))
        values = line[known]
        new = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
        if len(new):
            yield series, frame.ticks[known[new]].tolist(), values[new].tolist()


def _speculation(subject: Subject, reader: Reader, facts: Sequence[Fact]) -> Iterable[Told]:
    """Where an engine does not tell its settings: whether it drafts, and how many positions its drafts have."""
    counters = (engine.DRAFT_TOKENS, engine.ACCEPTED_BY_POSITION)
    ends = reader.ends(names(counters), subject.start_ms, subject.end_ms, subject.targets)
    told = {(fact.target, fact.name) for fact in facts}
    for target in subject.targets:
        mine = [row for row, one in enumerate(ends.series) if one.target == target and subject.owns(one)]
        drafted = [row for row in mine if ends.series[row].metric == engine.DRAFT_TOKENS.name]
        if not any(np.nanmax(ends.values[row]) > np.nanmin(ends.values[row]) for row in drafted):
            continue
        positions = [ends.series[row].label("position") or "" for row in mine]
        count = max((int(one) + 1 for one in positions if one.isascii() and one.isdigit()), default=0)
        own = {"speculative_method": METHOD_UNKNOWN, "speculative_tokens": str(count) if count else ""}
        for name, value in own.items():
            if value and (target, name) not in told:
                yield Told(target, name, value, subject.start_ms)
