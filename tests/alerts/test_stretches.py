"""Means, least and largest of long windows: from samples or from whole hours, and quotients as those of sums."""

from __future__ import annotations

import numpy as np
import pytest

from alerts import slow
from alerts.places import Members
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.alerts.samples import NAN, START_MS, frame, of_engine, of_node
from tests.alerts.test_slow import END_MS, FREE, Recorded, hourly, reading, told

MINUTE_MS = 60_000
DRAFTS, ACCEPTED, LENGTH = "speculative_drafts_total", "speculative_accepted_tokens_total", "accepted_length_tokens"


def minutely(rows: dict[Series, list[float]]) -> Recorded:
    return Recorded(frame(rows, step_s=60.0))


def summed(steps: list[float]) -> list[float]:
    return np.cumsum([0.0, *steps]).tolist()


@pytest.mark.parametrize(
    ("window", "late_ms", "expected"),
    [
        ("30min", 0, {"mean": 105.5, "min": 91.0, "max": 120.0}),
        ("90min", 0, {"mean": 75.5, "min": 31.0, "max": 120.0}),
        ("90min", -1, {"mean": 74.5, "min": 30.0, "max": 119.0}),
        ("119min", 0, {"mean": 61.0, "min": 2.0, "max": 120.0}),
    ],
)
def test_of_up_to_two_hours_every_sample_counts_once(window: str, late_ms: int, expected: dict[str, float]) -> None:
    """Minute by minute from 0 to 120: not one of before the window, and all up to now."""
    history = minutely({of_node("a", FREE, mount="/"): [float(minute) for minute in range(121)]})
    rules, now_ms = reading("mount", *(f"{how}({FREE}[{window}])" for how in expected)), START_MS + 120 * MINUTE_MS
    assert {how: values["a", "/"] for (how, _), values in told(rules, history, now_ms + late_ms).items()} == expected


def test_a_slice_without_samples_weighs_nothing() -> None:
    """Twenty minutes at 10 and ten at 100, with fifty unread between: 40, not the mean of two slices."""
    free = [10.0] * 21 + [NAN] * 50 + [100.0] * 10
    history = minutely({of_node("a", FREE, mount="/"): free, of_node("b", FREE, mount="/"): [NAN] * 81})
    found = told(reading("mount", f"mean({FREE}[80min])"), history, START_MS + 80 * MINUTE_MS)
    assert found == {("mean", 4800.0): {("a", "/"): 40.0}}


def test_from_two_hours_on_whole_hours_are_read() -> None:
    history = hourly({of_node("a", FREE, mount="/"): [float(hour) for hour in range(49)]})
    found = told(reading("mount", f"mean({FREE}[2h])"), history)
    assert (found, len(history.looked)) == ({("mean", 7200.0): {("a", "/"): 47.5}}, 4)
    found = told(reading("mount", f"mean({FREE}[121min])", f"usual({FREE}[2h])"), history)
    assert found == {("mean", 7260.0): {("a", "/"): 46.5}, ("usual", 7200.0): {("a", "/"): 46.5}}
    assert len(history.looked) == 4, "not sample by sample"


def test_a_quotient_of_a_day_is_that_of_its_sums() -> None:
    """Twelve quiet hours of 10 drafts that each got 3 accepted, and twelve of 1,000 that each got 1."""
    history = hourly(
        {
            of_engine(DRAFTS): summed([10.0] * 35 + [1000.0] * 13),
            of_engine(ACCEPTED): summed([30.0] * 35 + [1000.0] * 13),
        }
    )
    found = told(reading("engine", f"mean({LENGTH}[24h])", f"usual({LENGTH}[24h])"), history)
    own = ("head", "0", "Kimi-K3")
    assert found["mean", 86_400.0] == {own: pytest.approx(1 + 12_360 / 12_120)}
    assert found["usual", 86_400.0] == {own: 3.0}, "the median of hours: twelve at 4 and twelve at 2"


@pytest.mark.parametrize("window_h", [1, 24])
def test_a_quotient_of_a_deployment_is_that_of_its_engines_sums(window_h: int) -> None:
    """One engine with 10 drafts a step of which 30 are accepted, one with 90 of which 90 are; a third is of no one."""
    steps = 48
    rows = {}
    for target, drafts, accepted in (("head", 10.0, 30.0), ("tail", 90.0, 90.0), ("other", 1.0, 9.0)):
        rows[of_engine(DRAFTS, target)] = summed([drafts] * steps)
        rows[of_engine(ACCEPTED, target)] = summed([accepted] * steps)
    history = Recorded(frame(rows, step_s=3600.0 * window_h / 24))
    members = Members(engines={(one, "0", "Kimi-K3"): "k3" for one in ("head", "tail")})
    now_ms = START_MS + steps * window_h * HOUR_MS // 24
    found = slow.work_out(reading("deployment", f"mean({LENGTH}[{window_h}h])"), history, members, now_ms)
    assert list(found.values()) == [{("k3",): pytest.approx(1 + 120 / 100)}]


def test_a_quotient_of_half_an_hour_is_of_that_half_hour() -> None:
    """Of 30 minutes the first half got 3 accepted per draft, the second 1; the hour before it does not count."""
    rows = {
        of_engine(DRAFTS): summed([10.0] * 120),
        of_engine(ACCEPTED): summed([70.0] * 90 + [30.0] * 15 + [10.0] * 15),
    }
    rules = reading("engine", f"mean({LENGTH}[30min])")
    own = ("head", "0", "Kimi-K3")
    for late_s, expected in ((0, {own: 3.0}), (150, {own: 3.0}), (151, {})):
        found = told(rules, minutely(rows), START_MS + 120 * MINUTE_MS + late_s * 1000)
        assert found == {("mean", 1800.0): expected}, "of a group that tells no more nothing is known"


def test_what_is_short_or_has_no_sample_is_not_worked_out() -> None:
    sent = "rdma_transmit_bytes_total"
    history = hourly({of_node("a", sent, cage="p0"): [NAN] * 49, of_node("b", sent, cage="p0"): [0.0] * 48 + [5.0]})
    assert told(reading("cage", f"increase({sent}[10min])"), history) == {}
    assert history.asked == []
    assert told(reading("cage", f"increase({sent}[24h])"), history) == {("increase", 86_400.0): {("b", "p0"): 5.0}}
    assert history.asked == [((sent,), END_MS - 24 * HOUR_MS, END_MS)]


@pytest.mark.parametrize("window", ["1h", "24h"])
def test_of_nothing_nothing_is_worked_out(window: str) -> None:
    """A quotient by 0, a disk that told nothing, an engine that is in no deployment, and what nobody ever told."""
    rows = {
        of_engine(DRAFTS): [5.0] * 49,
        of_engine(ACCEPTED): [9.0] * 49,
        of_engine("requests_running"): [1.0] * 49,
        of_node("a", FREE, mount="/"): [NAN] * 49,
    }
    now_ms = START_MS + (48 * MINUTE_MS if window == "1h" else 48 * HOUR_MS)
    history = Recorded(frame(rows, step_s=60.0 if window == "1h" else 3600.0))
    texts = {"engine": LENGTH, "mount": FREE, "deployment": "requests_running", "gpu": "gpu_power_watts"}
    for place, metric in texts.items():
        (found,) = told(reading(place, f"mean({metric}[{window}])"), history, now_ms).values()
        assert found == {}, place
    (found,) = told(reading("engine", f"mean(prefix_cache_hit_ratio[{window}])"), history, now_ms).values()
    assert found == {}
    assert list(told(reading("engine", f"mean(requests_running[{window}])"), history, now_ms).values()) == [
        {("head", "0", "Kimi-K3"): 1.0}
    ]
