"""kill -9 in the middle of a tick: the store opens, and nothing before the last second is lost."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from storage.store import open_store
from telemetry.catalog import memory
from tests.pipeline.killed import INTERVAL_S, Asked, collector, lives
from tests.pipeline.served import serving

PAGE = f"tachograph_{memory.SWAP_IN.name} {{}}\n"


class Counted(Asked):
    """A node that has swapped in one more byte at every scrape."""

    def page(self) -> str:
        return PAGE.format(self.asked)


def kill_and_look(path: Path, times: int, seed: int) -> None:
    chance, counted = random.Random(seed), Counted()
    with serving(counted.answer) as url:
        for _ in range(times):
            lives(partial(collector, path, url), counted, 5, chance.uniform(0, 2 * INTERVAL_S))
            store = open_store(str(path), writer=False, now_ms=0)
            frame = store.frame([memory.SWAP_IN.name], ["head"], 0, 2**60)
            assert store.verify().faults == []
            store.close()
            # One byte per scrape: the stored total says how many scrapes the store knows of.
            lost = counted.asked - (int(frame.values[0, -1]) + 1)
            assert lost * INTERVAL_S < 1.0, "more than the last second is lost"
            assert (np.diff(frame.values[0]) > 0).all(), "each scrape once, in its order"


def test_five_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path / "store.db", 5, seed=1)


@pytest.mark.live
def test_fifty_kills(tmp_path: Path) -> None:
    kill_and_look(tmp_path / "store.db", 50, seed=2)
