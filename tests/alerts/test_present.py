"""What is worked out for the last tick alone is what a whole history says there, on whatever samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.language import parse
from alerts.places import PLACES, Members
from alerts.view import View
from telemetry.catalog import engine, gpu, network
from telemetry.frame import Frame
from telemetry.model import Metric, Series
from tests.alerts.samples import START_MS, of_engine, of_node

MEMBERS = Members({("head", "0", "Kimi-K3"): "k3"}, {"a": "k3", "b": "k3"})
READINGS = [
    ("gpu", "gpu_power_watts", gpu.GPU_POWER),
    ("node", "gpu_power_watts", gpu.GPU_POWER),
    ("gpu", "mean(gpu_power_watts[5s])", gpu.GPU_POWER),
    ("gpu", "min(gpu_power_watts[4s])", gpu.GPU_POWER),
    ("gpu", "max(gpu_power_watts[4s])", gpu.GPU_POWER),
    ("gpu", "change(gpu_power_watts[5s])", gpu.GPU_POWER),
    ("function", "increase(rdma_transmit_bytes_total[6s])", network.RDMA_TRANSMIT),
    ("cage", "increase(rdma_transmit_bytes_total[6s])", network.RDMA_TRANSMIT),
    ("cage", "rate(rdma_transmit_bytes_total[6s])", network.RDMA_TRANSMIT),
    ("deployment", "rate(rdma_transmit_bytes_total[10s])", network.RDMA_TRANSMIT),
    ("cluster", "increase(rdma_transmit_bytes_total[1s])", network.RDMA_TRANSMIT),
    ("engine", "mean(accepted_length_tokens[8s])", engine.ACCEPTED_TOKENS),
    ("engine", "decode_tokens_per_second", engine.GENERATION_TOKENS),
]


def names(metric: Metric) -> list[Series]:
    """Series of the metric, and whatever else its quotients need."""
    if metric is gpu.GPU_POWER:
        return [of_node(node, metric.name, gpu=gpu_name) for node in "ab" for gpu_name in "01"]
    if metric is network.RDMA_TRANSMIT:
        functions = (("p0", "f0"), ("p0", "f1"), ("p1", "f2"))
        return [of_node(node, metric.name, cage=cage, function=name) for node in "ab" for cage, name in functions]
    return [of_engine(one.name) for one in (engine.ACCEPTED_TOKENS, engine.DRAFTS, engine.GENERATION_TOKENS)]


@st.composite
def frames(draw: Any, metric: Metric) -> Frame:
    """A sample a second, give or take; targets that are not read for a while, readings without a number, restarts."""
    series = names(metric)
    ticks = START_MS + np.cumsum([draw(st.sampled_from([1000, 1000, 1000, 2000, 4000])) for _ in range(24)])
    values = np.array([[draw(st.integers(0, 9)) for _ in ticks] for _ in series], dtype=np.float64)
    values = np.cumsum(values, axis=1) if metric is not gpu.GPU_POWER else values
    shape = values.shape
    unread = {
        target: np.array([draw(st.sampled_from([False] * 5 + [True])) for _ in ticks]) for target in "ab" for _ in "1"
    }
    unread["head"] = unread["a"]
    calm = draw(st.booleans())  # as it mostly is
    missing = np.array([[draw(st.sampled_from([False] * 9 + [True])) and not calm for _ in ticks] for _ in series])
    away = np.array([unread[one.target] & (not calm) for one in series])
    late = {target: draw(st.integers(0, 400)) for target in ("a", "b", "head")}
    at_ms = np.where(away, np.nan, ticks + np.array([[late[one.target]] for one in series]))
    values = np.where(away | missing, np.nan, values)
    breaks = np.array([[draw(st.sampled_from([False] * 15 + [True])) and not calm for _ in ticks] for _ in series])
    gap = np.array([{"a": 2500.0, "b": 5000.0, "head": 2500.0}[one.target] for one in series])
    return Frame(ticks.astype(np.int64), tuple(series), values, at_ms, breaks.reshape(shape), gap)


@pytest.mark.parametrize(("place", "text", "metric"), READINGS, ids=[f"{place}: {text}" for place, text, _ in READINGS])
def test_the_last_tick_is_that_of_the_history(place: str, text: str, metric: Metric) -> None:
    condition: Any = parse(f"{text} > 0")
    reading = condition.left

    @settings(max_examples=20, deadline=None)
    @given(frames(metric))
    def check(frame: Frame) -> None:
        last = len(frame.ticks) - 1
        now = View(frame, last, MEMBERS).table(reading, PLACES[place])
        whole = View(frame, 0, MEMBERS).table(reading, PLACES[place])
        assert now.keys == whole.keys
        np.testing.assert_allclose(now.values[:, -1], whole.values[:, -1], rtol=1e-12, atol=1e-9)

    check()
