"""Sums over the series of a frame as they are at a tick."""

from __future__ import annotations

import numpy as np

from pipeline.sums import Part
from telemetry.catalog import gpu
from telemetry.frame import Frame
from telemetry.model import Series


def test_where_nobody_answers_the_shortest_gap_of_all_decides_how_long_a_sum_holds() -> None:
    series = (Series("often", gpu.GPU_POWER.name), Series("rarely", gpu.GPU_POWER.name))
    read = np.array([[1000.0], [1000.0]])
    values, breaks = np.array([[30.0], [12.0]]), np.zeros((2, 1), dtype=bool)
    frame = Frame(np.array([1000]), series, values, read, breaks, np.array([2500.0, 12_500.0]))
    part = Part(series, lambda _: True)
    assert [part.total(frame, tick) for tick in (1000, 3500)] == [42.0, 42.0]
    assert np.isnan(part.total(frame, 3501))
    assert np.isnan(part.mean(frame, 3501))
    assert Part(series, lambda one: one.target == "rarely").total(frame, 3501) == 12.0
