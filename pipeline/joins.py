"""Joins: two neighbouring runs made into one, and one into two; each undoes the other. Pure; refusals are sentences.

A merged run remembers where the first ended and the second began as marks, and a split within that pause gives both
back as they were. What people said of a run is said of both its parts; of two runs, all of it is said of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from pipeline.edits import few
from pipeline.orders import TEXT
from runs.model import Mark, Measured, Run
from storage.records import MarksMoved

BY_HAND = "split by hand"
END, BEGIN = "end", "begin"
"""Kinds of marks: where the first of two merged runs ended, and where the second began."""


@dataclass(frozen=True)
class Parts:
    """A run that was split. moved: what becomes of its marks."""

    first: Run
    second: Run
    moved: tuple[MarksMoved, ...]


def in_order(one: Run, other: Run, between: Iterable[Run]) -> tuple[Run, Run]:
    """The earlier and the later of two runs that can be merged; ValueError where they cannot.

    between: other runs of about that time.
    """
    if one.id == other.id:
        raise ValueError("a run cannot be merged with itself")
    if one.deployment != other.deployment:
        raise ValueError(f"run {one.id} is of {one.deployment}, run {other.id} of {other.deployment}")
    first, second = sorted((one, other), key=lambda run: (run.start_ms, run.id))
    if first.end_ms is None:
        raise ValueError(f"run {first.id} goes on: stop it first")
    others = (run for run in between if run.id not in (first.id, second.id) and run.deployment == first.deployment)
    for third in others:
        if first.start_ms <= third.start_ms <= second.start_ms:
            raise ValueError(f"run {third.id} lies between run {first.id} and run {second.id}")
    return first, second


def merged(first: Run, second: Run) -> tuple[Run, tuple[Mark, ...]]:
    """Both as one, which keeps the number and the name of the first, and the marks that tell where they met."""
    assert first.end_ms is not None, "the later of two runs ends later"
    whole = replace(
        first,
        end_ms=second.end_ms,
        ended=second.ended,
        model=", ".join(dict.fromkeys(one for run in (first, second) for one in run.model.split(", ") if one)),
        engines=tuple(sorted({*first.engines, *second.engines})),
        labels=few({**second.labels, **first.labels}, "labels"),
        tags=few(tuple(dict.fromkeys((*first.tags, *second.tags))), "tags"),
        note=_note(first.note, second.note),
        trim_end_ms=second.trim_end_ms,
        baseline=first.baseline or second.baseline,
        pinned=first.pinned or second.pinned,
        nodes=None if first.nodes is None or second.nodes is None else tuple(sorted({*first.nodes, *second.nodes})),
        measured=_measured(first.measured, second.measured),
        revision=max(first.revision, second.revision) + 1,
    )
    if first.end_ms == second.start_ms and first.ended == second.began == BY_HAND:
        return whole, ()
    return whole, (Mark(first.end_ms, END, first.ended), Mark(second.start_ms, BEGIN, second.began))


def _note(first: str, second: str) -> str:
    """Both, once where they are the same; ValueError where nobody could write so much."""
    found = "\n\n".join(dict.fromkeys(one for one in (first, second) if one))
    if len(found) > TEXT:
        raise ValueError(f"the notes of both are {len(found)} signs together, expected at most {TEXT}: shorten one")
    return found


def _measured(first: Measured, second: Measured) -> Measured:
    """What the first tells, else what the second does."""
    return Measured(**{one.name: getattr(first, one.name) or getattr(second, one.name) for one in fields(Measured)})


def split(run: Run, at_ms: int, last_ms: int, number: int, marks: Sequence[Mark]) -> Parts:
    """A run as two, of which the first keeps the number. last_ms: its end, or its last activity while it goes on.

    number: of the second. marks: of the run.
    """
    seam = _seam(at_ms, marks)
    if seam is None and not run.start_ms < at_ms < last_ms:
        raise ValueError("this moment is not within the run")
    end, begin = seam or (Mark(at_ms, END, BY_HAND), Mark(at_ms, BEGIN, BY_HAND))
    trimmed = replace(run, revision=run.revision + 1)
    first = replace(
        trimmed,
        end_ms=end.at_ms,
        ended=end.text,
        trim_start_ms=_inside(run.start_ms, run.trim_start_ms, end.at_ms),
        trim_end_ms=_inside(run.start_ms, run.trim_end_ms, end.at_ms),
    )
    second = replace(
        trimmed,
        id=number,
        name=f"{run.deployment} #{number}",
        start_ms=begin.at_ms,
        began=begin.text,
        trim_start_ms=_inside(begin.at_ms, run.trim_start_ms, run.end_ms),
        trim_end_ms=_inside(begin.at_ms, run.trim_end_ms, run.end_ms),
        baseline=False,
    )
    gone = () if seam is None else tuple(MarksMoved(run.id, None, one.at_ms, one.at_ms, one.kind) for one in seam)
    since = at_ms if seam is None else min(begin.at_ms, max(at_ms, end.at_ms + 1))
    return Parts(first, second, (*gone, MarksMoved(run.id, number, since)))


def _seam(at_ms: int, marks: Sequence[Mark]) -> tuple[Mark, Mark] | None:
    """Where two runs met that were merged, if the moment lies in the pause between them."""
    ends = [one for one in marks if one.kind == END and one.at_ms <= at_ms]
    end = max(ends, key=lambda one: one.at_ms, default=None)
    if end is None:
        return None
    begins = [one for one in marks if one.kind == BEGIN and one.at_ms >= end.at_ms]
    begin = min(begins, key=lambda one: one.at_ms, default=None)
    return None if begin is None or at_ms > begin.at_ms else (end, begin)


def _inside(start_ms: int, at_ms: int | None, end_ms: int | None) -> int | None:
    """Where a part is trimmed; None where that is not within it."""
    return at_ms if at_ms is not None and start_ms < at_ms and (end_ms is None or at_ms < end_ms) else None
