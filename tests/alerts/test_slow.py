"""What is read over hours and days: by place, from two samples of each series or from hours, asked for at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from alerts import slow
from alerts.places import Key, Members
from alerts.rule import Rule, rule
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.summary import HOUR_MS, Summaries, hour_of, summarise
from tests.alerts.samples import NAN, START_MS, frame, of_node

END_MS = START_MS + 48 * HOUR_MS
SENT, FREE, ROOM = "rdma_transmit_bytes_total", "disk_available_bytes", "disk_size_bytes"


@dataclass
class Recorded:
    """Samples once an hour, and what was asked of them."""

    samples: Frame
    asked: list[tuple[tuple[str, ...], int, int]] = field(default_factory=list)
    looked: list[tuple[tuple[str, ...], int, int]] = field(default_factory=list)

    def ends(self, wanted: Sequence[str], targets: None, start_ms: int, end_ms: int) -> Frame:
        assert targets is None
        self.asked.append((tuple(wanted), start_ms, end_ms))
        return self.samples.select(lambda series: series.metric in wanted)

    def frame(self, wanted: Sequence[str], targets: None, start_ms: int, end_ms: int) -> Frame:
        assert targets is None
        self.looked.append((tuple(wanted), start_ms, end_ms))
        return self.samples.select(lambda series: series.metric in wanted).between(start_ms, end_ms)

    def summaries(self, wanted: Sequence[str], targets: None, start_ms: int, end_ms: int) -> Summaries:
        assert targets is None
        hours = list(range(hour_of(start_ms), hour_of(end_ms), HOUR_MS))
        return summarise(self.samples.select(lambda series: series.metric in wanted), hours)


def reading(place: str, *texts: str) -> list[Rule]:
    return [
        rule(f"{place}{number}", {"title": "x", "place": place, "when": f"{text} > 1", "severity": "info"})
        for number, text in enumerate(texts)
    ]


def told(rules: Sequence[Rule], history: Recorded, now_ms: int = END_MS) -> dict[tuple[str, float], dict[Key, float]]:
    found = slow.work_out(rules, history, Members(), now_ms)
    return {(one.how, one.window_s): values for (one, _), values in found.items()}


def hourly(rows: dict[Series, list[float]]) -> Recorded:
    return Recorded(frame(rows, step_s=3600.0))


def rising(step: float) -> list[float]:
    return [step * hour for hour in range(49)]


def test_increases_and_rates_by_place() -> None:
    history = hourly(
        {
            of_node("a", SENT, cage="p0"): rising(10.0),
            of_node("a", SENT, cage="p1"): rising(1.0),
            of_node("b", SENT, cage="p0"): [NAN] * 40 + rising(7.0)[:9],
        }
    )
    found = told(reading("cage", f"increase({SENT}[24h])", f"rate({SENT}[2h])"), history)
    assert found == {
        ("increase", 86_400.0): {("a", "p0"): 240.0, ("a", "p1"): 24.0, ("b", "p0"): 56.0},
        ("rate", 7200.0): {("a", "p0"): 20 / 7200, ("a", "p1"): 2 / 7200, ("b", "p0"): 14 / 7200},
    }


def test_groups_of_several_are_folded_and_labels_choose() -> None:
    history = hourly(
        {of_node("a", SENT, cage="p0"): rising(10.0), of_node("a", SENT, cage="p1"): rising(1.0)},
    )
    found = told(reading("node", f"increase({SENT}[24h])"), history)
    assert found == {("increase", 86_400.0): {("a",): 264.0}}
    found = told(reading("node", f'increase({SENT}{{cage="p1"}}[24h])'), history)
    assert found == {("increase", 86_400.0): {("a",): 24.0}}


def test_all_that_is_read_over_one_window_is_asked_for_at_once() -> None:
    rows = {of_node("a", one, cage="p0"): rising(2.0) for one in (SENT, "rdma_receive_bytes_total")}
    rows |= {of_node("a", FREE, mount="/"): rising(-3.0)}
    history = hourly(rows)
    rules = reading("cage", f"increase({SENT}[24h])", "rate(rdma_receive_bytes_total[24h])", f"rate({SENT}[12h])")
    found = told([*rules, *reading("mount", f"change({FREE}[24h])")], history)
    day, half = END_MS - 24 * HOUR_MS, END_MS - 12 * HOUR_MS
    assert history.asked == [
        ((FREE, "rdma_receive_bytes_total", SENT), day, END_MS),
        ((SENT,), half, END_MS),
    ]
    assert history.looked == [((FREE,), day - 150_000, day + 150_000)], "of gauges alone, where they began"
    assert found == {
        ("increase", 86_400.0): {("a", "p0"): 48.0},
        ("rate", 86_400.0): {("a", "p0"): 48 / 86_400},
        ("rate", 43_200.0): {("a", "p0"): 24 / 43_200},
        ("change", 86_400.0): {("a", "/"): -72.0},
    }


@pytest.mark.parametrize(
    ("late_s", "unread", "expected"),
    [
        (0, (), -36.0),
        (30, (), -34.5),  # half a minute into the window's first minute, of which half counts
        (30, (8,), -34.5),
        (45, (9,), -33.75),
        (0, (9, 10), -36.0),  # at a sample it is known, whatever comes after
        (30, (9, 10), None),  # between two it is not where they lie three minutes apart, which is a gap
        (0, (7, 8), None),
        (30, tuple(range(9)), None),  # not watched before
    ],
)
def test_a_gauge_is_interpolated_where_its_window_began(
    late_s: int, unread: tuple[int, ...], expected: float | None
) -> None:
    """A sample a minute, 20 of them, the last at the end: twelve minutes before is the eighth."""
    free = [NAN if minute in unread else -3.0 * minute for minute in range(21)]
    sent = [2.0 * minute for minute in range(21)]
    history = Recorded(frame({of_node("a", FREE, mount="/"): free, of_node("a", SENT, cage="p0"): sent}, step_s=60.0))
    rules = [*reading("mount", f"change({FREE}[12min])"), *reading("cage", f"increase({SENT}[12min])")]
    found = told(rules, history, START_MS + 20 * 60_000 + late_s * 1000)
    assert found["change", 720.0] == ({} if expected is None else {("a", "/"): pytest.approx(expected)})
    assert found["increase", 720.0] == {("a", "p0"): 24.0}, "a counter says the same the longer the better"


def test_of_hours_that_are_over() -> None:
    history = hourly({of_node("a", FREE, mount="/"): [*[100.0] * 30, *np.arange(19.0).tolist()]})
    texts = [f"{how}({FREE}[12h])" for how in ("mean", "min", "max")]
    found = told(reading("mount", *texts), history)
    assert {how: values[("a", "/")] for (how, _), values in found.items()} == {"mean": 11.5, "min": 6.0, "max": 17.0}
    assert history.asked == []
