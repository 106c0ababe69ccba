"""A world for a test, and its pages read back as numbers by the Prometheus parser."""

from __future__ import annotations

from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from simulator.faults import Order
from simulator.pages import agent_page, engine_page
from simulator.pages.clocks import Clocks
from simulator.world import World

EPOCH_S = 1_796_000_000.0
CLOCKS = Clocks(EPOCH_S, 1.0)
SEED = 7


def world(*faults: str, nodes: int = 4, until: float = 0.0, seed: int = SEED) -> World:
    """A world with faults on its schedule, moved to an instant."""
    made = World(seed, nodes, [Order.parse(fault) for fault in faults])
    made.advance(until)
    return made


def numbers(text: str) -> dict[str, float]:
    """Text of a page → value by name and labels, as `name{a="b"}`."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


def node(of: World, number: int) -> dict[str, float]:
    """The page of a node (from 0), names without their prefix."""
    page = numbers(agent_page.render(of, number, CLOCKS))
    return {name.removeprefix("tachograph_"): value for name, value in page.items()}


def engine(of: World) -> dict[str, float]:
    """The page of the engine."""
    return numbers(engine_page.render(of, CLOCKS))


def record(of: World, until: float) -> list[dict[str, Any]]:
    """Move a world on and keep the truth of every second from 0 on."""
    lines: list[dict[str, Any]] = []
    of.on_second = lambda at, line: lines.append({"t": at, **line})
    of.advance(until)
    return [line for line in lines if line["t"] >= 0]
