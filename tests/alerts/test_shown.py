"""Values of a condition as text: by the formatter, but an MTU as the number that it is named by."""

from __future__ import annotations

import pytest

from alerts.expression import How, Reading
from alerts.operands import shown
from telemetry.catalog import engine, gpu, network
from telemetry.model import Metric


@pytest.mark.parametrize(
    ("metric", "how", "value", "text"),
    [
        (network.MTU, "now", 1500.0, "1500 B"),
        (network.MTU, "now", 9000.0, "9000 B"),
        (network.MTU, "now", None, "–"),
        (engine.ENGINE_PHASE, "now", 6.0, "stalled"),
        (gpu.GPU_POWER, "now", 78.4, "78 W"),
        (network.RDMA_TRANSMIT, "rate", 1e9, "8.0 Gb/s"),
    ],
)
def test_values_as_text(metric: Metric, how: How, value: float | None, text: str) -> None:
    assert shown(Reading(metric, how, 10.0), value) == text
