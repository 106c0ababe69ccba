"""Energy of a stretch: of whole machines where they are measured, else of the GPUs, and said which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from runs import spans
from runs.coverage import touched
from runs.entries import Entry, Number, Section
from runs.spans import Span
from runs.stretch import Stretch
from telemetry.catalog import gpu, host
from telemetry.model import Metric, Series, Unit

NO_TOKEN = "no output token came"

ENERGY = Number(
    "energy",
    "Energy",
    Unit.JOULES,
    "Of the nodes that took part: whole machines where every one of them measures that, else GPUs only. From the "
    "counters; where there are none, power over time.",
)
POWER = Number("power_mean", "Power, mean", Unit.WATTS, "Energy of each node ∕ time in which it was watched.")
PER_TOKEN = Number(
    "energy_per_token",
    "Energy per output token",
    Unit.JOULES_PER_TOKEN,
    "Energy, pauses and prefills included ∕ output tokens: of each node, those of the time in which it was watched.",
)
GPU_ENERGY = Number("gpu_energy", "GPU energy", Unit.JOULES, "GPUs of the nodes that took part, not whole machines.")
ON_NODE = Number("energy_on", "Energy", Unit.JOULES, "Of the node: what the sum is made of.")


@dataclass(frozen=True, slots=True)
class Spent:
    """Joules by node. what: of what, in words. spans: of which time, by node."""

    what: str
    joules: dict[str, float]
    spans: Mapping[str, Span]

    @property
    def total(self) -> float:
        """All nodes."""
        return sum(self.joules.values())


def section(stretch: Stretch) -> Section:
    """Energy, power, energy per token, and the nodes' shares."""
    system, gpus = _system(stretch), _gpus(stretch)
    nodes = len(stretch.nodes)
    best = next((one for one in (system, gpus) if nodes and len(one.joules) == nodes), None)
    if best is None:
        why = _why(system, gpus, nodes)
        return Section("energy", "Energy", tuple(one.entry(None, why=why) for one in (ENERGY, POWER, PER_TOKEN)))
    entries = _sums(stretch, best, _note(stretch, best, len(system.joules)))
    if best is system and len(gpus.joules) == nodes:
        entries.append(GPU_ENERGY.entry(gpus.total, count=nodes, note=gpus.what))
    entries += [ON_NODE.entry(joules, of=node, note=best.what) for node, joules in sorted(best.joules.items())]
    return Section("energy", "Energy", tuple(entries))


def _sums(stretch: Stretch, best: Spent, note: str) -> list[Entry]:
    spent = best.joules.items()
    mean, per_token = spans.rate(spent, best.spans), spans.per_token(stretch, spent, best.spans)
    told = "; ".join(filter(None, (note, spans.said(stretch, best.spans))))
    why = (
        NO_TOKEN if not stretch.output_tokens > 0 else "no output token is known to have come while a node was watched"
    )
    return [
        ENERGY.entry(best.total, count=len(best.joules), note=note),
        POWER.entry(mean, note=told if mean == mean else "", why="the nodes were not watched long enough"),
        PER_TOKEN.entry(per_token, note=told if per_token == per_token else "", why=why),
    ]


def _note(stretch: Stretch, best: Spent, measured: int) -> str:
    """Of what the energy is, and what it lacks."""
    nodes = len(best.joules)
    partial = f"whole machines are measured on {measured} of {nodes} nodes only" if 0 < measured < nodes else ""
    return "; ".join(filter(None, (best.what, partial, touched(stretch.node_coverage, "the nodes"))))


def _why(system: Spent, gpus: Spent, nodes: int) -> str:
    if not nodes:
        return "no node is known to have taken part"
    known = max(len(system.joules), len(gpus.joules))
    return f"known of {known} of {nodes} nodes only" if known else "no node tells energy or power"


def _system(stretch: Stretch) -> Spent:
    return _better(stretch, "whole machines", host.SYSTEM_ENERGY, stretch.system_joules)


def _gpus(stretch: Stretch) -> Spent:
    return _better(stretch, "GPUs only", gpu.GPU_ENERGY, lambda: _of_gpus(stretch))


def _better(stretch: Stretch, what: str, counter: Metric, power: Callable[[], Mapping[str, float]]) -> Spent:
    """By counter where every node has one, or power over time is known of no more nodes."""
    counted = _by_node(stretch.spent(counter))
    by_counter = Spent(f"{what}, by counter", counted, spans.of_counters(stretch, counter))
    if len(by_counter.joules) == len(stretch.nodes):
        return by_counter
    over_time = dict(power())
    if len(by_counter.joules) >= len(over_time):
        return by_counter
    return Spent(f"{what}, power over time", over_time, spans.of_samples(stretch))


def _by_node(gained: Iterable[tuple[Series, float]]) -> dict[str, float]:
    joules: dict[str, float] = {}
    for series, value in gained:
        joules[series.target] = joules.get(series.target, 0.0) + value
    return joules


def _of_gpus(stretch: Stretch) -> dict[str, float]:
    return {node: joules for node, joules in stretch.machines.joules.items() if node in stretch.took_part}
