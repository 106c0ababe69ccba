"""A file that the first version wrote: 26 hours of a reading a minute, and what it must say ever after.

Written once, by the code of schema 1. The node was away for 80 minutes; the engine's counter came with its first use.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np

from storage.store import Store
from telemetry.frame import Floats
from telemetry.model import Series

FILE = Path(__file__).parent.parent / "data" / "storage" / "first.db.xz"
START = 1_796_000_400_000
STEP = 60_000
COUNT = 1560
ENGINE = (("engine", "0"), ("model", "m"))
POWER = Series("spark-01", "gpu_power_watts", (("gpu", "0"),))
HEADROOM = Series("spark-01", "memory_headroom_bytes")
TOKENS = Series("head", "generation_tokens_total", ENGINE)
RUNNING = Series("head", "requests_running", ENGINE)
NAMES = tuple(one.metric for one in (POWER, HEADROOM, TOKENS, RUNNING))
FIRST_USE, AWAY, BACK, RESTART = 30, 120, 200, 1000


def unpacked(path: Path) -> Path:
    """The file, at this path."""
    path.write_bytes(lzma.decompress(FILE.read_bytes()))
    return path


def tick(number: int) -> int:
    """Instant of a reading."""
    return START + number * STEP


def expected() -> dict[Series, Floats]:
    """Every number, by the rule that it was written with: float64[COUNT], NaN where there is none."""
    n = np.arange(COUNT)
    away = (n >= AWAY) & (n < BACK)
    tokens = np.where(n < FIRST_USE, 0.0, 25.0 * n)  # what counts from its first use stood at 0 before
    return {
        POWER: np.where(away, np.nan, 40 + n % 17 / 10),
        HEADROOM: np.where(away, np.nan, 2.0**33 - 4096 * (n % 5)),
        TOKENS: tokens,
        RUNNING: np.where(n % 7 == 3, np.nan, n % 4),
    }


def assert_history(store: Store) -> None:
    """All samples are what was written, at their instants, with the restart marked."""
    frame = store.frame(NAMES, None, START, tick(COUNT - 1))
    assert frame.ticks.tolist() == [tick(number) for number in range(COUNT)]
    for series, values in expected().items():
        row = frame.row(series)
        assert row is not None
        np.testing.assert_array_equal(frame.values[row], values)
        known = ~np.isnan(frame.at_ms[row])
        assert (frame.at_ms[row, known] == frame.ticks[known] + 40).all()
        assert np.flatnonzero(frame.breaks[row]).tolist() == ([RESTART] if series == TOKENS else [])
