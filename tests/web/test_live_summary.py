"""A page says of any stretch of a run what the store says, to the last digit: its tail is in front of the same rows."""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass

import pytest

from dashboard.live_reader import LiveReader
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.machines import Kept
from runs.reader import StoreReader, Wanted
from runs.settled import States
from runs.subject import Subject
from runs.summary import summarise
from storage.records import Batch, Row, TargetRow
from storage.store import open_store
from telemetry.catalog import gpu
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW
from tests.web.summary_worlds import LENGTH_S, MEMBER, NODES, STEP_S, fill

SILENT = (Series("spark-2", gpu.GPU_TEMPERATURE.name, (("gpu", "0"),)),)


def stretches(seed: int, seam_s: int) -> list[tuple[int, int]]:
    """Seconds: whatever they are, and those at the hour, at the seam and at its neighbours."""
    any_of = random.Random(seed)
    found = [tuple(sorted(any_of.sample(range(LENGTH_S), 2))) for _ in range(12)]
    edges = [0, 3600, 7200, seam_s - 1, seam_s, seam_s + 1, LENGTH_S - 5, LENGTH_S]
    return [(low, high) for low, high in [*found, *(sorted(any_of.sample(edges, 2)) for _ in range(8))] if low < high]


@pytest.mark.parametrize(
    ("seed", "most"), [(1, 5), *(pytest.param(seed, 20, marks=pytest.mark.live) for seed in range(2, 6))]
)
def test_a_page_says_of_any_stretch_what_the_store_says(tmp_path: object, seed: int, most: int) -> None:
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    fill(store, seed)
    tail = Tail(store)
    tail.follow()
    sources = Sources(store, tail, lambda: NOW + LENGTH_S * 1000)
    seam = sources.seam()
    assert seam is not None
    assert seam[1] == NOW + 2 * HOUR_MS
    for low, high in stretches(seed, (seam[0] - NOW) // 1000)[-most:]:
        subject = Subject("d", NOW + low * 1000, NOW + high * 1000, [MEMBER], NODES)
        page, alone = summarise(subject, LiveReader(sources)), summarise(subject, StoreReader(store))
        assert page == alone, (low, high)
    store.close()


@dataclass
class Remembered:
    """As the web has it."""

    states: States
    kept: Kept | None = None


class Counting(LiveReader):
    """Adds up of how long it is asked for samples of nodes."""

    asked_ms = 0

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """As it is."""
        self.asked_ms += end_ms - start_ms + 1 if NODES[0] in (targets or ()) and len(wanted) > 1 else 0  # type: ignore[arg-type]
        return super().frame(wanted, start_ms, end_ms, targets)


READINGS = 6000
"""Slices of a quarter of an hour for three nodes."""


def grown(sources: Sources, memory: Remembered, low_s: int, high_s: int) -> int:
    """How many seconds of nodes were read for a stretch; it says what it says without memory."""
    subject = Subject("d", NOW + low_s * 1000, NOW + high_s * 1000, [MEMBER], NODES)
    reader = Counting(sources)
    assert summarise(subject, reader, READINGS, memory=memory) == summarise(subject, LiveReader(sources), READINGS)
    return reader.asked_ms // 1000


def test_a_run_that_goes_on_is_added_up_from_where_it_is_settled(tmp_path: object) -> None:
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    fill(store, 3)
    tail = Tail(store)
    tail.follow()
    sources = Sources(store, tail, lambda: NOW + LENGTH_S * 1000)
    memory = Remembered(sources.kept.states)
    assert grown(sources, memory, 700, 8000) == 7360
    assert memory.kept is None, "the first hour has a late row, so nothing is settled"
    for target in (*NODES, MEMBER.target):
        for hour in (0, 1):
            store.seal(target, NOW + hour * HOUR_MS, NOW + 3 * HOUR_MS)
    assert grown(sources, memory, 700, 8000) == 7360
    assert memory.kept is not None
    assert memory.kept.rests_on.slices[-1] == (NOW + 6_300_000, NOW + 7_199_999)
    assert grown(sources, memory, 700, 8000) == 800
    assert grown(sources, memory, 700, 8995) == 1795
    assert grown(sources, memory, 705, 8995) == 8350, "of another stretch"
    assert grown(sources, memory, 700, 8995) == 8355
    assert grown(sources, memory, 700, 8995) == 1795
    late = Row(NOW + 4_002_000, NODES[1], NOW + 4_002_000, store.layout(NODES[1], SILENT), [99.0])
    store.commit(Batch(rows=[late]), NOW + LENGTH_S * 1000)
    assert grown(sources, memory, 700, 8995) == 8355, "a row came late"
    store.seal(NODES[1], NOW + HOUR_MS, NOW + 3 * HOUR_MS)
    assert grown(sources, memory, 700, 8995) == 5395, "it is sealed, and the hour before it stands"
    assert grown(sources, memory, 700, 8995) == 1795
    state = [TargetRow(name, "node", "", 2 * STEP_S * 1000, "ok", "", NOW, NOW) for name in NODES]
    store.commit(Batch(targets=state), NOW + LENGTH_S * 1000)
    assert grown(sources, memory, 700, 8995) == 8355, "nodes are read at another interval"
    store.close()
