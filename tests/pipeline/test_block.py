"""Full blocks are kept packed and give back every bit; what stands still or is whole takes less room."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.block import BLOCK_ROWS, Block, Packed
from telemetry.frame import Floats
from telemetry.model import Series

ROWS = np.arange(BLOCK_ROWS, dtype=float)
BIG = 2.0**53
FORMS: dict[str, tuple[Floats, int]] = {
    "one value": (np.full(BLOCK_ROWS, 0.1), 8),
    "never read": (np.full(BLOCK_ROWS, np.nan), 8),
    "one zero with a sign": (np.full(BLOCK_ROWS, -0.0), 8),
    "few digits": (ROWS * 0.5, 4 * BLOCK_ROWS),
    "zeros of both signs": (np.where(ROWS < 9, -0.0, 0.0), 4 * BLOCK_ROWS),
    "few digits and gaps": (np.where(ROWS == 7, np.nan, ROWS), 4 * BLOCK_ROWS),
    "a large counter": (1e12 + 1 + 3 * ROWS, 8 + 4 * BLOCK_ROWS),
    "a large one below zero": (-1e12 - 1 - 3 * ROWS, 8 + 4 * BLOCK_ROWS),
    "as far apart as fits": (np.where(ROWS == 3, 1e12 + 1 + 2.0**32 - 1, 1e12 + 1), 8 + 4 * BLOCK_ROWS),
    "too far apart": (np.where(ROWS == 3, 1e12 + 1 + 2.0**32, 1e12 + 1), 8 * BLOCK_ROWS),
    "large, with a gap": (np.where(ROWS == 3, np.nan, 1e12 + 1 + ROWS), 8 * BLOCK_ROWS),
    "large, with a zero with a sign": (np.where(ROWS == 3, -0.0, 2.0**25 + 1 + ROWS), 8 * BLOCK_ROWS),
    "the last exact one": (np.where(ROWS == 3, BIG - 1, BIG - 2), 8 + 4 * BLOCK_ROWS),
    "beyond what is exact": (np.where(ROWS == 3, BIG + 2, BIG + 3e6), 8 * BLOCK_ROWS),
    "broken": (0.1 * ROWS, 8 * BLOCK_ROWS),
    "too large for a float32": (np.where(ROWS == 3, 1e300, np.inf), 8 * BLOCK_ROWS),
    "without end": (np.where(ROWS == 3, -np.inf, np.inf), 4 * BLOCK_ROWS),
}  # fmt: skip
LAYOUT = tuple(Series("n", name) for name in FORMS)
ALL = np.array([values for values, _ in FORMS.values()])


def bits(values: Floats) -> list[list[int]]:
    return np.ascontiguousarray(values).view(np.int64).tolist()  # type: ignore[no-any-return]


def filled(rows: int) -> Block:
    block = Block(LAYOUT)
    for row in range(rows):
        block.append(1000 * row, 1000.0 * row + 5, ALL[:, row])
    return block


@pytest.mark.parametrize("rows", [BLOCK_ROWS - 1, BLOCK_ROWS])
def test_every_bit_comes_back(rows: int) -> None:
    block = filled(rows)
    assert bits(block.read(range(len(LAYOUT)), 0, rows)) == bits(ALL[:, :rows])
    assert bits(block.read([14, 0, 6, 3], 2, 9)) == bits(ALL[[14, 0, 6, 3], 2:9])
    for place in range(len(LAYOUT)):
        assert bits(block.read([place], 3, 200)) == bits(ALL[[place], 3:200])
        line = block.line(place, 3, 200)
        assert bits(line.astype(np.float64)[np.newaxis]) == bits(ALL[[place], 3:200])


@pytest.mark.parametrize("name", list(FORMS))
def test_each_series_takes_no_more_than_it_must(name: str) -> None:
    values, expected = FORMS[name]
    form_and_place = 3
    assert Packed(values[:, np.newaxis]).nbytes == expected + form_and_place


def test_a_block_is_packed_when_it_is_full_and_takes_no_more() -> None:
    before, after = filled(BLOCK_ROWS - 1), filled(BLOCK_ROWS)
    assert before.nbytes == 8 * ALL.size
    assert after.nbytes == sum(size for _, size in FORMS.values()) + 3 * len(FORMS)
    assert before.takes(LAYOUT, 10**9)
    assert not after.takes(LAYOUT, 10**9)
    assert (after.first_tick, after.last_tick) == (0, 1000 * (BLOCK_ROWS - 1))
