"""A world in a real store, and its source of history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dashboard.sources import Sources
from pipeline.tail import Tail
from telemetry.catalog import gpu
from tests.web.world import HEAD, NAN, World

MakeSources = Callable[..., tuple[World, Sources]]


@pytest.fixture
def make_sources(tmp_path: Path) -> Iterator[MakeSources]:
    """Makes a world of so many seconds and a source without a tail, as a command has it."""
    made: list[World] = []

    def make(seconds: int, **shape: object) -> tuple[World, Sources]:
        world = World(tmp_path / f"store{len(made)}.db", **shape)  # type: ignore[arg-type]
        made.append(world)
        world.run(0, seconds)
        return world, Sources(world.writer, Tail(world.writer), lambda: world.now)

    yield make
    for world in made:
        world.close()


@pytest.fixture
def broken(make_sources: MakeSources) -> tuple[World, Sources]:
    """Five minutes with a silent node, an engine that pauses, and a node that comes late."""
    world, sources = make_sources(0)
    world.set("spark-02", gpu.GPU_POWER, lambda number: NAN if number % 5 == 2 else 40.0 + number / 8)
    world.away("spark-01", 70, 200)
    world.away("spark-03", 1, 130)
    world.away(HEAD, 100, 140)
    world.run(1, 300)
    return world, sources
