"""A page says of any stretch of a run what the store says, to the last digit: its tail is in front of the same rows."""

from __future__ import annotations

import random

import pytest

from dashboard.live_reader import LiveReader
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.reader import StoreReader
from runs.subject import Subject
from runs.summary import summarise
from storage.store import open_store
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW
from tests.web.summary_worlds import LENGTH_S, MEMBER, NODES, fill


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
