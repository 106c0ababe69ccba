"""Every measurement, once. Names become text only at the edges (URL, file, database) and enter through `find`."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from telemetry.catalog import cluster, engine, gpu, host, memory, network, ratios
from telemetry.model import PARTS, Kind, Metric, Ratio, part

MODULES: tuple[ModuleType, ...] = (engine, gpu, memory, network, host, cluster, ratios)
WIRE_PREFIX = "tachograph_"
"""What stands before a catalogue name where others read it: the agent's page and the hub's own."""


def _walk() -> Iterator[Metric | Ratio]:
    for module in MODULES:
        for value in vars(module).values():
            if isinstance(value, (Metric, Ratio)):
                yield value


METRICS: tuple[Metric | Ratio, ...] = tuple({value.name: value for value in _walk()}.values())


def _index() -> dict[str, Metric | Ratio]:
    index: dict[str, Metric | Ratio] = {}
    for metric in METRICS:
        names = [metric, *([part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [])]  # type: ignore[arg-type]
        for entry in names:
            for name in (entry.name, *entry.formerly):
                if index.setdefault(name, entry) is not entry:
                    raise ValueError(f"two metrics are called {name}")
    return index


_BY_NAME = _index()


def find(name: str) -> Metric | Ratio | None:
    """The metric of this name (histogram parts and earlier names included), or None."""
    return _BY_NAME.get(name)


def stored(name: str) -> Metric:
    """The stored metric of this name; KeyError when there is none, or when it is a ratio."""
    found = _BY_NAME[name]
    if isinstance(found, Ratio):
        raise KeyError(f"{name} is a ratio and never stored")
    return found
