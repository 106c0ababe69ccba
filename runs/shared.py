"""Runs of other deployments at the same time: what nodes spent may have been for them, and is said to be so.

Nodes are found by what they did while tokens came, which does not say for whom.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from runs.entries import Entry, Section

TOUCHED = {"energy": ("energy", "power_mean", "energy_per_token"), "nodes": ("took_part",)}
"""Entries that say it, by section."""
LEAST_SHARE = 0.01
"""Of the stretch: what another did for less is not worth a word."""


@dataclass(frozen=True, slots=True)
class Other:
    """Another deployment's run. nodes: on which it was, as people named them; None: nobody did."""

    deployment: str
    start_ms: int
    end_ms: int
    nodes: Collection[str] | None = None


def told(sections: Sequence[Section], others: Sequence[Other], start_ms: int, end_ms: int,
         nodes: Collection[str]) -> tuple[Section, ...]:  # fmt: skip
    """The summary of a stretch, whose nodes these are, with a word on whoever may share them."""
    words = "; ".join(filter(None, (_words(name, others, start_ms, end_ms, nodes) for name in _names(others))))
    if not words:
        return tuple(sections)
    return tuple(
        replace(one, entries=tuple(_noted(entry, words) if entry.key in TOUCHED[one.key] else entry
                                   for entry in one.entries)) if one.key in TOUCHED else one
        for one in sections
    )  # fmt: skip


def _names(others: Sequence[Other]) -> list[str]:
    return sorted({one.deployment for one in others})


def _noted(entry: Entry, words: str) -> Entry:
    """Of what is not known nothing is shared."""
    return entry if entry.value is None else replace(entry, note="; ".join(filter(None, (entry.note, words))))


def _words(name: str, others: Sequence[Other], start_ms: int, end_ms: int, nodes: Collection[str]) -> str:
    mine = [one for one in others if one.deployment == name and (one.nodes is None or set(one.nodes) & set(nodes))]
    share = _length([(max(one.start_ms, start_ms), min(one.end_ms, end_ms)) for one in mine])
    if not nodes or not share > LEAST_SHARE * (end_ms - start_ms):
        return ""
    percent = f"{min(100 * share / (end_ms - start_ms), 100):.3g} % of the time"
    named = [set(one.nodes) & set(nodes) for one in mine if one.nodes is not None]
    if len(named) < len(mine):
        return f"may be shared with {name}, which worked for {percent}: on which nodes nobody said"
    return f"shared with {name}, which worked for {percent} on {', '.join(sorted(set[str]().union(*named)))}"


def _length(spans: Sequence[tuple[int, int]]) -> float:
    """Milliseconds that any of the spans covers."""
    covered, done = 0, None
    for start, end in sorted(spans):
        start = start if done is None else max(start, done)
        if end > start:
            covered, done = covered + end - start, end
    return float(covered)
