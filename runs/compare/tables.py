"""Numbers of several runs side by side, with their differences from the first: of the whole, and node by node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs.entries import Entry, Section, find
from runs.fingerprint import ROWS as FIELDS
from runs.fingerprint import Fingerprint, diff, words
from runs.model import Measured
from telemetry.model import Unit

ROWS = (
    "speed.decode_mean",
    "speed.decode_median",
    "speed.decode_peak",
    "speed.stream_mean",
    "speed.prefill_throughput",
    "speed.prefill_speed",
    "speed.seconds",
    "speed.decoding_seconds",
    "phases.running_mean",
    "phases.running_max",
    "phases.waiting_mean",
    "phases.kv_max",
    "requests.output",
    "requests.prompt",
    "requests.finished",
    "requests.prefix_hits",
    "requests.preemptions",
    "latency.ttft_mean",
    "latency.ttft_p95",
    "latency.itl_mean",
    "latency.tpot_mean",
    "latency.tpot_p95",
    "latency.e2e_mean",
    "speculation.acceptance",
    "speculation.accepted_length",
    "nodes.took_part",
    "nodes.utilization_mean",
    "nodes.power_mean",
    "nodes.clock_mean",
    "nodes.temperature_max",
    "nodes.throttled",
    "energy.energy_per_token",
    "fabric.per_token",
)
"""Entries of the summary that are laid side by side, by "section.key"."""
ON_NODES = (
    "nodes.clock_mean_on",
    "nodes.power_mean_on",
    "nodes.utilization_mean_on",
    "nodes.temperature_max_on",
    "nodes.throttled_on",
)
"""Of each node."""
TOLD = {
    "concurrency": "Concurrency, as told",
    "corpus": "Corpus, as told",
    "prompt_length": "Prompt length, as told",
    "answer_length": "Answer length, as told",
    "tool": "Tool, as told",
}
"""What people say of how a run was measured."""


@dataclass(frozen=True, slots=True)
class Line:
    """One number of several runs, None where it is not known; notes: of each, "" none. of: a node, "" the whole."""

    key: str
    label: str
    unit: Unit
    definition: str
    values: tuple[float | None, ...]
    notes: tuple[str, ...]
    of: str = ""

    @property
    def differences(self) -> list[float | None]:
        """Each run's value ∕ the first's − 1; None for the first itself, and where either is not known or the
        first's is 0. Of temperatures, whose 0 is no nothing, kelvins between them."""
        first = self.values[0]
        if self.unit is Unit.CELSIUS:
            return [None, *(None if first is None or value is None else value - first for value in self.values[1:])]
        rest = (
            None if first is None or value is None or first == 0 else value / first - 1.0 for value in self.values[1:]
        )
        return [None, *rest]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "key": self.key,
            "label": self.label,
            "unit": self.unit.value,
            "definition": self.definition,
            "of": self.of,
            "values": list(self.values),
            "differences": self.differences,
            "notes": list(self.notes),
        }


def numbers(summaries: Sequence[Sequence[Section]]) -> list[Line]:
    """The rows that at least one run knows."""
    lines = (_line(path, "", summaries) for path in ROWS)
    return [line for line in lines if line is not None]


def nodes(summaries: Sequence[Sequence[Section]]) -> list[Line]:
    """The rows of each node that took part in any of the runs, node by node."""
    names = sorted({entry.of for one in summaries for section in one for entry in _on_nodes(section)})
    lines = (_line(path, name, summaries) for name in names for path in ON_NODES)
    return [line for line in lines if line is not None]


def _on_nodes(section: Section) -> list[Entry]:
    return [entry for entry in section.entries if f"{section.key}.{entry.key}" in ON_NODES]


def _line(path: str, of: str, summaries: Sequence[Sequence[Section]]) -> Line | None:
    entries = [find(one, path, of) for one in summaries]
    known = next((one for one in entries if one is not None and one.value is not None), None)
    if known is None:
        return None
    values = tuple(None if one is None else one.value for one in entries)
    notes = tuple("" if one is None else one.note for one in entries)
    return Line(path, known.label, known.unit, known.definition, values, notes, of)


@dataclass(frozen=True, slots=True)
class Differing:
    """A field of the fingerprints in which runs differ, in words; "" where it is not known."""

    key: str
    label: str
    values: tuple[str, ...]
    unit: Unit | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        unit = None if self.unit is None else self.unit.value
        return {"key": self.key, "label": self.label, "unit": unit, "values": list(self.values)}


def differing(prints: Sequence[Fingerprint], measured: Sequence[Measured]) -> list[Differing]:
    """Fields in which any run differs from the first, and what people tell of how they were measured, where that does.

    What a run does not tell is not the same as what another one does.
    """
    keys = {one.key for other in prints[1:] for one in diff(prints[0], other)}
    found = [
        Differing(row.key, row.label, tuple(words(one.find(row.key)) for one in prints), row.unit)
        for row in FIELDS
        if row.key in keys
    ]
    for name, label in TOLD.items():
        values = tuple(str(getattr(one, name)) for one in measured)
        if len(set(values)) > 1:
            found.append(Differing(f"measured.{name}", label, values))
    return found
