"""Bounds of what rules read: what they rule out is nowhere so, on whatever samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts import expression as ex
from alerts.book import Book, Turn
from alerts.evaluate import instances, truth
from alerts.extents import surely_quiet
from alerts.grouping import Memory
from alerts.language import parse
from alerts.places import PLACES, Members
from alerts.rule import Rule, rule
from alerts.view import View
from telemetry.frame import Bools, Frame
from telemetry.model import Scope
from tests.alerts.samples import NAN, START_MS, of_engine, of_node

MEMBERS = Members(
    {("head", "0", "Kimi-K3"): "k3"},
    dict.fromkeys("abc", "k3"),
    dict.fromkeys("abc", Scope.NODE) | {"head": Scope.ENGINE},
    {"head": "k3"},
)
FUNCTIONS = (("p0", "f0"), ("p0", "f1"))
SERIES = (
    *(
        of_node(node, "rdma_transmit_bytes_total", cage=cage, function=name)
        for node in "abc"
        for cage, name in FUNCTIONS
    ),
    *(of_node(node, "pcie_width_lanes", cage=cage, function=name) for node in "abc" for cage, name in FUNCTIONS),
    *(of_node(node, "link_up", cage=cage, function=name) for node in "abc" for cage, name in FUNCTIONS),
    *(of_node(node, "kernel_xid_total", xid=xid) for node in "abc" for xid in ("79", "13")),
    *(of_node(node, name) for node in "abc" for name in ("swap_in_bytes_total", "swap_out_bytes_total")),
    *(of_node(node, "memory_available_bytes") for node in "abc"),
    *(of_node(node, "gpu_power_watts", gpu=number) for node in "abc" for number in "01"),
    *(of_node(node, "gpu_reading_state", gpu="0") for node in "abc"),
    *(of_node(node, name, mount="/") for node in "abc" for name in ("disk_available_bytes", "disk_size_bytes")),
    of_engine("speculative_accepted_tokens_total"),
    of_engine("speculative_drafts_total"),
)
COUNTERS = ("rdma", "kernel", "swap", "speculative")
SLOW = parse("change(disk_available_bytes[24h]) > 0").left  # type: ignore[union-attr]
VALUES = {
    "function": (
        "pcie_width_lanes",
        "min(pcie_width_lanes[4s])",
        "change(pcie_width_lanes[4s])",
        "rate(rdma_transmit_bytes_total[6s])",
        "increase(rdma_transmit_bytes_total[6s])",
        "across(cage, rate(rdma_transmit_bytes_total[6s]))",
        "across(cage, increase(rdma_transmit_bytes_total[3s]))",
        "across(node, memory_available_bytes)",
        "across(cage, link_up)",
        "peers(pcie_width_lanes)",
        "peers(across(node, gpu_power_watts) where pcie_width_lanes > 4)",
        "count(pcie_width_lanes > 6)",
    ),
    "node": (
        "memory_available_bytes",
        "mean(memory_available_bytes[5s])",
        "max(memory_available_bytes[5s])",
        "change(memory_available_bytes[5s])",
        "gpu_power_watts",
        "min(gpu_power_watts[4s])",
        "change(gpu_power_watts[4s])",
        "increase(kernel_xid_total[20s])",
        'increase(kernel_xid_total{xid="79"}[20s])',
        "rate(kernel_xid_total[5s])",
        "swap_bytes_per_second",
        "mean(swap_bytes_per_second[5s])",
        "target_state",
        "engines_loading",
        "peers(memory_available_bytes where memory_available_bytes > 3)",
        "count(change(memory_available_bytes[5s]) > 2)",
        "increase(rdma_transmit_bytes_total[6s])",
    ),
    "mount": ("disk_available_ratio", "disk_available_bytes", "change(disk_available_bytes[24h])"),
    "deployment": ("mean(accepted_length_tokens[5s])", "gpu_power_watts", "rate(rdma_transmit_bytes_total[6s])"),
}
OTHERS = {
    "function": ("absent(pcie_width_lanes)", "pcie_width_lanes has 0x6"),
    "node": (
        'gpu_reading_state in ("stalled", "lost")',
        'target_state in ("refused", "timed out")',
        "memory_available_bytes has 0x8",
        "differs(pcie_width_lanes)",
        "differs(gpu_power_watts where gpu_power_watts > 3)",
        "differs(mean(pcie_width_lanes[3s]))",
    ),
    "mount": ("absent(change(disk_available_bytes[24h]))",),
    "deployment": ("differs(pcie_width_lanes where pcie_width_lanes > 3)", 'differs("kernel")'),
}


def quantity(text: str) -> Any:
    """The value that is written so."""
    condition: Any = parse(f"{text} > 0")
    return condition.left


@st.composite
def conditions(draw: Any, place: str, depth: int = 2) -> ex.Condition:
    """Any condition of a place, as far as numbers without units tell."""
    kind = draw(st.sampled_from(["compare"] * 4 + ["other"] + (["all", "some", "not", "all"] if depth else [])))
    if kind in ("all", "some"):
        terms = [draw(conditions(place, depth - 1)) for _ in range(draw(st.integers(2, 3)))]
        terms = [ex.Maybe(term) if draw(st.sampled_from([False, False, True])) else term for term in terms]
        return ex.All(tuple(terms)) if kind == "all" else ex.Some(tuple(terms))
    if kind == "not":
        return ex.Not(draw(conditions(place, depth - 1)))
    if kind == "other":
        return parse(draw(st.sampled_from(OTHERS[place])))
    left, right = (
        draw(quantities(place)),
        ex.Number(draw(st.sampled_from([-4.0, -0.5, 0.0, 0.5, 1.0, 3.0, 7.0, 9.0, 20.0]))),
    )
    sides = (left, draw(quantities(place))) if draw(st.sampled_from([False] * 4 + [True])) else (left, right)
    return ex.Compare(
        draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="])), *sides[:: draw(st.sampled_from([1, -1]))]
    )


@st.composite
def quantities(draw: Any, place: str) -> ex.Value:
    """A reading, or one with a number."""
    found = quantity(draw(st.sampled_from(VALUES[place])))
    sign = draw(st.sampled_from(["", "", "", "+", "-", "*", "/"]))
    sides = (found, ex.Number(draw(st.sampled_from([-2.0, 0.0, 0.9, 3.0]))))
    return ex.Arithmetic(sign, *sides[:: draw(st.sampled_from([1, -1]))]) if sign else found


@st.composite
def frames(draw: Any) -> Frame:
    """Half a minute; calm, as it mostly is, or with gaps, readings without a number, restarts and who is gone."""
    count, noise = 30, np.random.default_rng(draw(st.integers(0, 2**32)))
    rough, still = draw(st.sampled_from([0.0, 1.0])), draw(st.booleans())

    def seldom(share: float, *shape: int) -> Bools:
        return noise.random(shape) < share * rough

    ticks = START_MS + 1000 * np.cumsum(np.where(seldom(0.2, count), 3, 1))
    values = noise.integers(0, 10, (len(SERIES), count)).astype(np.float64)
    counters = np.array([one.metric.startswith(COUNTERS) for one in SERIES])
    values[counters] = np.cumsum(np.where(still, 0.0, values[counters]), axis=1)
    values[~counters & (noise.random(len(SERIES)) < 0.5)] = draw(st.sampled_from([0.0, 4.0, 8.0]))
    if draw(st.booleans()):  # from the tick on at which nothing is bounded yet nothing changes
        values[:, 26:] = values[:, 25:26]
    away = {node: seldom(0.2, count) for node in ("a", "b", "c", "head")}
    away["c"] |= draw(st.sampled_from([False, False, True]))
    at_ms = np.array([np.where(away[one.target], np.nan, ticks + 100.0 * len(one.target)) for one in SERIES])
    values = np.where(np.isnan(at_ms) | seldom(0.1, *values.shape), np.nan, values)
    breaks = seldom(0.05, *values.shape)
    gap = np.array([{"a": 2500.0, "b": 5000.0}.get(one.target, 2500.0) for one in SERIES])
    return Frame(ticks.astype(np.int64), SERIES, values, at_ms, breaks, gap)


def told(samples: Frame) -> dict[str, Any]:
    """What views of these samples know beside them."""
    codes = np.nan_to_num(samples.values[0, -3:], nan=2.0).astype(int) % 4
    return {
        "members": MEMBERS,
        "given": {
            "target_state": {name: np.array([float(codes[0])]) for name in ("a", "b", "head")},
            "engines_loading": {"a": np.array([np.nan]), "b": np.array([float(codes[1])])},
        },
        "slow": {(SLOW, "mount"): {("a", "/"): float(codes[2]), ("b", "/"): -3.0, ("c", "/"): NAN}},
        "facts": {"kernel": {"a": "1", "b": "1" if codes[0] else "2"}},
    }


def at(samples: Frame, column: int, memory: Memory, **beside: Any) -> View:
    """What could be read at one tick: of two frames, the shorter with the end alone."""
    upto = samples.between(0, float(samples.ticks[column]))
    near = upto.between(float(upto.ticks[-1]) - 15_000, float(upto.ticks[-1]))
    return View(near, len(near.ticks) - 1, reach_ms=6_000, further=[(600_000, upto)], memory=memory, **beside)


@pytest.mark.parametrize("place", list(VALUES))
def test_what_is_surely_quiet_holds_nowhere(place: str) -> None:
    @settings(max_examples=150, deadline=None)
    @given(frames(), conditions(place))
    def check(samples: Frame, condition: ex.Condition) -> None:
        memory, beside = Memory(), told(samples)
        for column in (27, 28, 29):  # what is asked for first is bounded from the next tick on
            quiet = surely_quiet(condition, PLACES[place], at(samples, column, memory, **beside))
        now = at(samples, 29, Memory(), **beside)
        held = truth(condition, PLACES[place], now, instances(condition, PLACES[place], now))
        assert not quiet or not (held == 1.0).any()

    check()


def made(name: str, condition: ex.Condition, place: str) -> Rule:
    """A rule of this condition, which ends when it does not hold for two seconds."""
    table = {"title": "T", "place": "node", "when": "memory_available_bytes > 0", "severity": "info", "for": "1s"}
    return replace(rule(name, {**table, "clear_for": "2s"}), condition=condition, place=PLACES[place])


@pytest.mark.parametrize("place", list(VALUES))
def test_a_book_tells_the_same_whether_or_not_it_knows_bounds(place: str) -> None:
    @settings(max_examples=40, deadline=None)
    @given(frames(), st.lists(conditions(place), min_size=3, max_size=3))
    def check(samples: Frame, of: list[ex.Condition]) -> None:
        rules = [made(f"rule_{number}", condition, place) for number, condition in enumerate(of)]
        memory, beside = Memory(), told(samples)
        knows, fresh = Book(), Book()
        for column in range(22, 30):
            turns: tuple[list[Turn], ...] = (
                knows.read(rules, at(samples, column, memory, **beside)),
                fresh.read(rules, at(samples, column, Memory(), **beside)),
            )
            assert turns[0] == turns[1]
            assert knows.by_rule == fresh.by_rule

    check()
