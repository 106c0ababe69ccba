"""A block for Parquet in pieces, so that a wide table of everything is not held at once."""

from __future__ import annotations

import numpy as np
import pytest

from exchange import parquet
from exchange.blocks import Block, Group

TICKS, SCOPES, COLUMNS = 7, 3, 4


def block() -> Block:
    values = np.arange(2 * TICKS * 2, dtype=np.float64).reshape(2, TICKS, 2)
    rows = np.ones((TICKS, SCOPES), dtype=bool)
    rows[2, 1] = rows[5:, 0] = False
    groups = (Group(np.array([0, 2]), 0, values), Group(np.array([1]), 2, -values[:, :, :1]))
    return Block(np.arange(TICKS) * 1000, tuple((name,) for name in "abc"), groups, rows)


@pytest.mark.parametrize(("cells", "pieces"), [(1, 7), (2 * SCOPES * COLUMNS, 4), (10_000, 1)])
def test_pieces_are_the_whole(cells: int, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "GROUP_CELLS", cells)
    found = [part.flat(COLUMNS) for part in parquet._parts(block(), COLUMNS)]
    assert len(found) == pieces
    assert max(values.size for _, _, values in found) <= max(cells, SCOPES * COLUMNS)
    for mine, whole in zip(zip(*found, strict=True), block().flat(COLUMNS), strict=True):
        np.testing.assert_array_equal(np.concatenate(mine, axis=-1), whole)
