"""How well a run went: every number of it, or of any stretch of it, as sections of plain data."""

from __future__ import annotations

from collections.abc import Callable

from runs import energy, fabric, latency, nodes, phases, quality, requests, speculation, speed
from runs.entries import Section
from runs.machines import Memory
from runs.reader import Reader
from runs.slices import READINGS
from runs.stretch import Stretch, load
from runs.subject import Subject

PARTS: tuple[Callable[[Stretch], Section], ...] = (
    speed.section,
    requests.section,
    latency.section,
    speculation.section,
    phases.section,
    nodes.section,
    energy.section,
    fabric.section,
    quality.section,
)
"""One function per section, in the order in which they are shown."""


def summarise(
    subject: Subject, reader: Reader, readings: int = READINGS, *, memory: Memory | None = None
) -> tuple[Section, ...]:
    """The summary of a stretch. The same function serves a whole run and any part of it.

    readings: that are in memory at once; what is made of more is added up, and comes to the same.
    memory: of what was added up before, for a run that goes on; it comes to the same.
    A section that has nothing to say (no speculative decoding) has no entries.
    """
    stretch = load(subject, reader, readings, memory)
    return tuple(part(stretch) for part in PARTS)
