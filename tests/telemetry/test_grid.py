"""Folds along an axis, however short that is, and of a single line."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry.grid import FEW, largest, least, summed


@pytest.mark.parametrize("count", [2, FEW - 1, FEW, 3 * FEW])
def test_folds_of_one_line_and_of_several(count: int) -> None:
    line = np.append(np.arange(1.0, count), np.nan)
    lines = np.stack([line, line * 2])
    assert (float(least(line)), float(largest(line)), float(summed(line))) == (1, count - 1, count * (count - 1) / 2)
    assert (least(lines).tolist(), largest(lines).tolist()) == ([1, 2], [count - 1, 2 * count - 2])
    assert summed(lines).tolist() == [count * (count - 1) / 2, count * (count - 1)]
    assert largest(lines, 0)[: count - 1].tolist() == [2.0 * one for one in range(1, count)]
