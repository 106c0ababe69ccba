"""Long stretches are read slice by slice, and their numbers come to the same."""

from __future__ import annotations

import numpy as np
import pytest

from runs.entries import Section
from runs.rows import names
from runs.slices import HOUR_MS, slices, walk
from runs.stretch import load
from runs.subject import Subject
from runs.summary import summarise
from telemetry.catalog import engine as catalog
from telemetry.catalog import gpu, host, network
from telemetry.model import Series
from tests.runs.answers import entry
from tests.runs.worlds import Line, World, at, engine, node, ramp

NOON = 1_796_004_000_000 // HOUR_MS * HOUR_MS
A, B, C = "spark-01", "spark-02", "spark-03"
FEW = 1
"""So few readings that slices are of a minute, the shortest."""


@pytest.mark.parametrize(
    ("start", "end", "targets", "readings", "expected"),
    [
        (0, 7_000_000, 16, 130_000, [(0, 7_000_000)]),
        (0, 8_125_000, 16, 130_000, [(0, 8_125_000)]),
        (0, 8_126_000, 16, 130_000, [(0, 3_599_999), (3_600_000, 7_199_999), (7_200_000, 8_126_000)]),
        (600_000, 9_000_000, 16, 130_000, [(600_000, 3_599_999), (3_600_000, 7_199_999), (7_200_000, 9_000_000)]),
        (
            0,
            3_600_000,
            40,
            130_000,
            [(0, 1_199_999), (1_200_000, 2_399_999), (2_400_000, 3_599_999), (3_600_000, 3_600_000)],
        ),
        (30_000, 150_000, 1, 1, [(30_000, 59_999), (60_000, 119_999), (120_000, 150_000)]),
        (5, 5, 0, 130_000, [(5, 5)]),
    ],
)
def test_where_slices_begin(start: int, end: int, targets: int, readings: int, expected: list[tuple[int, int]]) -> None:
    found = slices(NOON + start, NOON + end, targets, readings)
    assert found == [(NOON + low, NOON + high) for low, high in expected]


def busy(name: str, watts: Line, clock: Line, rate: float, **more: Line) -> dict[Series, Line]:
    """A node with everything that is read of it."""
    cage = {"cage": "p0", "function": "f"}
    return {
        node(name, gpu.GPU_POWER): watts,
        node(name, gpu.GPU_UTILIZATION): [0.9, 0.8, 0.7 + rate / 1e8] * 200,
        node(name, gpu.GPU_TEMPERATURE): [60.0, 61.0, 59.0] * 150,
        node(name, gpu.GPU_SM_CLOCK): clock,
        node(name, network.RDMA_TRANSMIT, **cage): ramp((200, rate), (100, 3 * rate), (100, 0.0)),
        node(name, network.NETDEV_TRANSMIT, **cage): [0.0],
        node(name, network.RDMA_RECEIVE, **cage): ramp((400, rate)),
        node(name, network.NETDEV_RECEIVE, **cage): [0.0],
        **{node(name, getattr(gpu, key)): line for key, line in more.items()},
    }


def world(**fields: object) -> World:
    """400 seconds, in which slices end at 40, 100, 160 … seconds; one node slows down, another is away over an end."""
    rows = {
        engine(catalog.GENERATION_TOKENS): ramp((30, 0), (150, 20), (30, 0), (190, 25)),
        engine(catalog.REQUESTS_RUNNING): [0.0] * 30 + [3.0] * 150 + [0.0] * 30 + [2.0] * 190,
        **busy(A, [50.0, 60.0, 55.0] * 150, [2.4e9], 1e6),
        **busy(B, [45.0, 65.0] * 200, [2.4e9] * 230 + [2.0e9] * 171, 2e6),
        **busy(C, [70.0] * 401, [2.4e9], 5e5),
    }
    shape: dict[str, object] = {"unread": {A: range(95, 200), B: [60, 61, 62, 63], C: [39, 40, 41, 42]}}
    shape["breaks"] = {C: [160, 250]}
    return World(401, rows, nodes=[A, B, C], **(shape | fields))  # type: ignore[arg-type]


def both(told: World, start: float = 0, end: float | None = None) -> tuple[tuple[Section, ...], tuple[Section, ...]]:
    subject, reader = told.subject(start, end), told.reader()
    return summarise(subject, reader), summarise(subject, reader, FEW)


@pytest.mark.parametrize(("start", "end"), [(0, None), (20, 390), (50, 300), (100, 160), (99, 101)])
def test_the_summary_is_the_same(start: float, end: float | None) -> None:
    at_once, in_slices = both(world(), start, end)
    for one, other in zip(at_once, in_slices, strict=True):
        assert [(e.key, e.of, e.note, e.count, e.since, e.until) for e in other.entries] == [
            (e.key, e.of, e.note, e.count, e.since, e.until) for e in one.entries
        ]
        for left, right in zip(one.entries, other.entries, strict=True):
            same = left.value if left.value is None else pytest.approx(left.value, rel=1e-12)
            assert right.value == same, (left.key, left.of)


def test_numbers_that_cross_the_ends_of_slices() -> None:
    _, told = both(world())
    sent = entry(told, "fabric.sent")
    assert sent.value == pytest.approx(1e6 * 500 + 2e6 * 500 + 5e5 * 500)
    # 3 MB/s begin within 200 … 300 s; a window of 10 s lies in that, also of the node that came back at 200 s.
    assert entry(told, "fabric.cage_sent_peak", f"{B} p0").value == pytest.approx(6e6)
    assert entry(told, "fabric.cage_sent_peak", f"{A} p0").value == pytest.approx(3e6)
    assert entry(told, "nodes.clock_mean_on", B).value == pytest.approx((2.4e9 * 226 + 2.0e9 * 171) / 397)
    assert entry(told, "nodes.power_max", "").value == 70.0
    assert entry(told, "quality.gaps", A).value == 1
    assert entry(told, "quality.gap_seconds", A).value == 106
    assert entry(told, "quality.ticks_present", A).value == 401 - 105
    assert entry(told, "quality.restarts", C).value == 2
    assert entry(told, "energy.energy_on", C).value == pytest.approx(70.0 * 400)  # gaps included
    slowest = entry(told, "nodes.slowest", B)
    assert (slowest.of, slowest.since, slowest.until) == (B, at(230), None)
    assert slowest.value == pytest.approx(-1 / 6)


def test_who_took_part_is_the_same() -> None:
    idle = {series: [4.0] for series in [node("spark-04", gpu.GPU_POWER)]}
    told = world()
    more = World(401, {**told.rows, **idle}, unread=told.unread, nodes=[A, B, C, "spark-04"])
    subject, reader = more.subject(), more.reader()
    one, many = load(subject, reader), load(subject, reader, FEW)
    assert one.nodes == many.nodes == [A, B, C]
    assert many.took_part[C] == "power 70 W, utilisation 80%, RDMA 1.15 MB/s"


def test_power_of_whole_machines_over_time_in_slices() -> None:
    system = {
        Series(name, host.SYSTEM_POWER.name, (("rail", "sys_total"),)): [watts]
        for name, watts in ((A, 100.0), (B, 120.0), (C, 140.0))
    }
    told = world()
    _, found = both(World(401, {**told.rows, **system}, unread=told.unread, nodes=[A, B, C]))
    energy = entry(found, "energy.energy")
    assert (energy.value, energy.note.split(";")[0]) == (
        pytest.approx((100 + 120 + 140) * 400.0),
        "whole machines, power over time",
    )


def test_a_slice_knows_the_minute_before_it_and_older_last_samples() -> None:
    told = world()
    subject = Subject("model", at(0), at(400), told.engines, [A])
    parts = slices(subject.start_ms, subject.end_ms, 1, FEW)
    frames = list(walk(told.reader(), names([gpu.GPU_POWER]), parts, [A]))
    assert [(low, high) for _, low, high in frames] == parts
    after_gap = next(frame for frame, low, high in frames if low <= at(200) <= high)
    known = after_gap.ticks[~np.isnan(after_gap.values[0])]
    assert known[0] == at(94)  # the last sample before it was away
    later, low, _ = frames[-1]
    assert later.ticks[0] == low - 61_000  # the newest before that minute
