"""The roofline of decoding, against answers worked out by hand."""

from __future__ import annotations

import math

import pytest

from telemetry.roofline import MEMORY_BANDWIDTH, Weights, ceiling, floor_s, share, step_bytes, step_tokens, touched

K3 = Weights(132e9, 1.445e12, 896, 16)
CLUSTER = 16 * 273e9


def test_memory_of_a_gb10() -> None:
    assert MEMORY_BANDWIDTH["NVIDIA GB10"] == 273e9


@pytest.mark.parametrize(
    ("tokens", "used", "experts", "expected"),
    [
        (1, 16, 896, 16 / 896),
        (2, 1, 4, 1 - 0.75**2),  # 7 ∕ 16: the second token meets the first one's expert every fourth time
        (3, 2, 4, 1 - 0.5**3),
        (5, 8, 8, 1.0),  # every token reads every expert
        (0, 1, 4, 0.0),
    ],
)
def test_experts_that_are_touched(tokens: float, used: int, experts: int, expected: float) -> None:
    assert touched(tokens, used, experts) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("weights", "tokens", "expected"),
    [
        (K3, 1, 132e9),
        (K3, 0.3, 132e9),  # a step has at least one token
        (K3, 9, 322.5e9),  # 132 − 25.8 of always read weights, and 14.97 % of 1,445
        (K3, 27, 662.8e9),  # 106.2 + 38.52 % of 1,445
        (Weights(132e9), 27, 132e9),  # of how many experts nothing is known: one token's bytes
        (Weights(132e9, 1.445e12), 27, 132e9),
        (Weights(132e9, 1.445e12, 896), 27, 132e9),
        (Weights(70e9), 100, 70e9),  # a dense model reads the same for any number of tokens
        (Weights(10.0, 80.0, 8, 1), 2, 10.0 + 80.0 * (1 - (7 / 8) ** 2 - 1 / 8)),
    ],
)
def test_bytes_of_a_step(weights: Weights, tokens: float, expected: float) -> None:
    assert step_bytes(weights, tokens) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("requests", "draft_tokens", "expected"), [(3, 8, 27), (1, 0, 1), (0.2, 8, 9), (0, 0, 1), (2.5, 7, 20)]
)
def test_tokens_of_a_step(requests: float, draft_tokens: float, expected: float) -> None:
    assert step_tokens(requests, draft_tokens) == expected


def test_one_token_of_kimi_k3_on_sixteen_nodes() -> None:
    """132 GB ∕ 4,368 GB/s: 30 ms, 33 steps a second."""
    assert floor_s(132e9, CLUSTER) == pytest.approx(0.03022, rel=1e-3)
    assert ceiling(132e9, CLUSTER) == pytest.approx(33.09, rel=1e-3)
    assert floor_s(132e9, CLUSTER) * ceiling(132e9, CLUSTER) == pytest.approx(1.0)


def test_share_that_is_reached() -> None:
    assert share(floor_s(132e9, CLUSTER), 0.143) == pytest.approx(0.2113, rel=1e-3)
    assert share(0.05, 0.05) == 1.0


def test_what_cannot_be_told() -> None:
    assert math.isnan(floor_s(132e9, 0.0))
    assert math.isnan(floor_s(132e9, math.nan))
    assert math.isnan(ceiling(0.0, CLUSTER))
    assert math.isnan(share(0.03, math.nan))
    assert math.isnan(share(0.03, 0.0))
    assert math.isnan(share(math.nan, 0.1))
