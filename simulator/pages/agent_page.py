"""`GET /metrics` of an imaginary agent: text format 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from simulator.cluster import Instant
from simulator.conditions import Floats
from simulator.pages.agent_names import FAMILIES, WHEN_CABLED, WHEN_UP, WHOLE, WORDS
from simulator.pages.clocks import Clocks
from simulator.world import World

WORD = 4


def extras(world: World, node: int, instant: Instant, clocks: Clocks) -> dict[str, float]:
    """Readings that only a page has: clocks, states, energy by rail."""
    values = instant.values
    booted_wall = clocks.wall_s(float(world.cluster.booted[node]))
    now = clocks.wall_s(instant.at)
    skew = float(world.conditions.nodes.skew_s[node])
    return {
        "agent_monotonic": round(now - booted_wall, 6),
        "agent_time": round(now + skew, 6),
        "agent_start": round(clocks.wall_s(float(world.cluster.agent_started[node])) + skew, 2),
        "uptime": round(now - booted_wall, 2),
        "links": float(values["link"][node]),
        "sequence": world.events.sequence(node),
        "energy_pkg": energy(values, "package_joules", node),
        "energy_cpu_p": energy(values, "cpu_joules", node, 0.7),
        "energy_cpu_e": energy(values, "cpu_joules", node, 0.3),
        "energy_gpu": energy(values, "gpu_joules", node),
    }


def energy(values: Mapping[str, Floats], meter: str, node: int, share: float = 1.0) -> float:
    """A rail's joules as its agent tells them: all since it began, over the firmware's wraps. share: of the meter that
    the rail has."""
    return share * float(values[meter][node] - values[f"{meter}_met"][node])


@dataclass(frozen=True)
class Slot:
    """Text up to a number of the page, and the reading that it is."""

    before: str
    source: str
    function: int | None


@lru_cache(maxsize=8)
def compiled(absent: tuple[str, ...]) -> tuple[tuple[Slot, ...], str]:
    """The page without the lines of some conditions: its slots, and the text after the last one."""
    slots, text = [], ""
    for family in FAMILIES:
        lines = [line for line in family.lines if line.when not in absent]
        text += f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n" if lines else ""
        for line in lines:
            text += f"{family.name}{line.labels} "
            if isinstance(line.source, str):
                slots.append(Slot(text, line.source, line.function))
                text = ""
            else:
                text += number(line.source)
            text += "\n"
    return tuple(slots), text


def render(world: World, node: int, clocks: Clocks, instant: Instant | None = None) -> str:
    """The page of one node at an instant of the present cell, by default at the world's."""
    instant = instant or world.look()
    own = extras(world, node, instant, clocks)
    slots, rest = compiled(_absent(world, node))
    parts: list[str] = []
    for slot in slots:
        parts += (slot.before, _value(slot, own, instant, node))
    return "".join((*parts, rest))


def _absent(world: World, node: int) -> tuple[str, ...]:
    """Which conditional lines a node does not have now."""
    state = world.conditions.nodes
    if state.uncabled[node]:
        return WHEN_CABLED, WHEN_UP
    return (WHEN_UP,) if state.link_down[node] else ()


def _value(slot: Slot, own: dict[str, float], instant: Instant, node: int) -> str:
    source = slot.source
    if source in own:
        return number(own[source])
    readings = instant.values[source]
    value = readings.item(node) if slot.function is None else readings.item(node, slot.function)
    if source in WORDS:
        return str(int(value) // WORD * WORD)
    return str(math.floor(value)) if source in WHOLE else number(value)


def number(value: float) -> str:
    """Shortest text that reads back as the value, to six decimals; whole numbers without a point."""
    rounded = round(value, 6)
    return str(int(rounded)) if rounded == int(rounded) else repr(rounded)
