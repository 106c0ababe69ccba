"""The newest value is the one that the long way gives at the last tick, whatever the frame looks like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import latest, ratios
from telemetry.catalog.ratios import ACCEPTED_LENGTH, DECODE_TPS, INTERCONNECT_TRANSMIT
from telemetry.frame import Frame
from telemetry.model import Ratio, Series
from tests.telemetry.frames import series, table

NUMBERS = st.one_of(st.none(), st.integers(0, 50))


@st.composite
def frames(draw: st.DrawFn, ratio: Ratio) -> Frame:
    names = sorted(ratios.stored_names(ratio))
    ticks = draw(st.integers(1, 16))
    rows: dict[Series, list[float | None]] = {}
    for target in ("a", "b")[: draw(st.integers(1, 2))]:
        for name in names:
            steps = draw(st.lists(NUMBERS, min_size=ticks, max_size=ticks))
            total, values = 0.0, []
            for step in steps:
                total += step or 0
                values.append(None if step is None and draw(st.booleans()) else total)
            rows[series(name, target, cage=draw(st.sampled_from(("p0", "p1"))))] = values
    arrived = [second + draw(st.floats(-0.3, 0.3)) for second in range(ticks)]
    breaks = {draw(st.integers(0, len(rows) - 1)): [draw(st.integers(0, ticks - 1))]} if draw(st.booleans()) else {}
    return table(rows, arrived_s=arrived, breaks=breaks)


@pytest.mark.parametrize("ratio", [DECODE_TPS, ACCEPTED_LENGTH, INTERCONNECT_TRANSMIT], ids=lambda one: one.name)
@given(data=st.data())
def test_newest_equals_evaluated(ratio: Ratio, data: st.DataObject) -> None:
    frame = data.draw(frames(ratio))
    window_ms = data.draw(st.sampled_from((None, 1000.0, 3000.0, 5000.0)))
    for key in (lambda _: (), lambda one: (one.target, one.label("cage"))):
        long_way = {name: line[-1] for name, line in ratios.evaluate(ratio, frame, key, window_ms).items()}
        short_way = latest.ratio(ratio, frame, key, window_ms)
        assert short_way.keys() == long_way.keys()
        for group, value in long_way.items():
            np.testing.assert_allclose(short_way[group], value, rtol=1e-9, atol=1e-9)


def test_a_regular_counter_takes_the_short_way() -> None:
    frame = table({series(): [0, 10, 20, 30, 40, 50, 60]})
    assert latest.regular_increase(frame, 5000.0) == pytest.approx([50])
    assert latest.ratio(DECODE_TPS, frame, lambda _: (), 5000.0) == {(): 10.0}


@pytest.mark.parametrize(
    ("frame", "window_ms"),
    [
        (table({series(): [0, 10, None, 30]}), 2500.0),
        (table({series(): [0, 10, 20, 30]}, breaks={0: [2]}), 2500.0),
        (table({series(): [0, 10, 20, 30]}, at_s=[0, 1, 2, 9]), 2500.0),
        (table({series(): [0, 10, 20, 30]}), 500.0),
        (table({series(): [0, 10, 20, 30]}), 5000.0),
    ],
    ids=["hole", "restart", "gap", "shorter than the interval", "longer than the frame"],
)
def test_anything_odd_takes_the_long_way(frame: Frame, window_ms: float) -> None:
    assert latest.regular_increase(frame, window_ms) is None


@pytest.mark.parametrize("young", [False, True])
def test_a_young_history_shortens_the_window_only_where_asked(young: bool) -> None:
    """Eight seconds of samples at 10 tokens/s, and a window of ten."""
    frame = table({series(): [10 * second for second in range(9)]})
    found = latest.ratio(DECODE_TPS, frame, lambda _: (), young=young)
    np.testing.assert_equal(found, {(): 10.0 if young else np.nan})


def test_rates_of_many_groups_are_those_of_one_ratio() -> None:
    sent, landed = sorted(ratios.stored_names(INTERCONNECT_TRANSMIT))
    rows: dict[Series, list[float | None]] = {
        series(sent, "a", cage="p0"): [0.1 * second for second in range(12)],
        series("gpu_power_watts", "a"): [1.0] * 12,
        series(landed, "a", cage="p0"): [0.3 * second for second in range(12)],
        series(sent, "b", cage="p1"): [7.0 * second for second in range(12)],
        series(sent, "b", cage="p0"): [5.0 * second for second in range(12)],
        series(landed, "b", cage="p0"): [0.0] * 12,
    }
    frame = table(rows)
    for key in (lambda one: (one.target, one.label("cage")), lambda one: one.label("cage"), lambda _: ()):
        rates = latest.Rates(INTERCONNECT_TRANSMIT, frame.series, key)
        assert rates.rows.tolist() == [0, 2, 3, 4, 5]
        for window_ms in (10_000.0, 4500.0):
            gained = latest.regular_increase(frame.take(rates.rows.tolist()), window_ms)
            assert gained is not None
            expected = latest.ratio(INTERCONNECT_TRANSMIT, frame, key, window_ms)
            np.testing.assert_array_equal(rates.of(gained, window_ms), [*expected.values()])
    assert np.isnan(latest.ratio(INTERCONNECT_TRANSMIT, frame, lambda one: one.label("cage"))["p1"])


def test_rates_of_quotients_are_refused() -> None:
    with pytest.raises(AssertionError):
        latest.Rates(ACCEPTED_LENGTH, (), lambda _: ())


def disturbed(what: str) -> Frame:
    """Two targets of three series each over twelve seconds, to one of which something happened."""
    names = sorted(ratios.stored_names(INTERCONNECT_TRANSMIT))
    rows: dict[Series, list[float | None]] = {
        series(name, target, cage="p0"): [factor * second for second in range(12)]
        for factor, (target, name) in enumerate(
            [(one, two) for one in ("a", "b") for two in (*names, "gpu_power_watts")]
        )
    }
    frame = table(rows)
    frame.at_ms[3:] += 7.0
    match what:
        case "a value is missing":
            frame.values[4, 9] = np.nan
        case "one of a series that is not asked for is missing":
            frame.values[2, 9] = np.nan
        case "it began anew":
            frame.breaks[4, 9] = True
        case "it began anew before the window":
            frame.breaks[4, 1] = True
        case "another began anew":
            frame.breaks[2, 9] = True
        case "a gap":
            frame.at_ms[3:, 9:] += 5000.0
        case "the clock was set back":
            frame.at_ms[3:, 9:] -= 5000.0
        case "not read":
            frame.at_ms[3:, 9] = frame.values[3:, 9] = np.nan
        case "not read before the window":
            frame.at_ms[3:, 0] = frame.values[3:, 0] = np.nan
        case "not read at last":
            frame.at_ms[3:, -1] = frame.values[3:, -1] = np.nan
        case "read rarely":
            frame.gap_ms[3:] = 30_000.0
    return frame


WHOLE = {"nothing", "one of a series that is not asked for is missing", "it began anew before the window"}
WHOLE |= {"another began anew"}


@pytest.mark.parametrize(
    "what",
    [
        *sorted(WHOLE),
        "a value is missing",
        "it began anew",
        "a gap",
        "the clock was set back",
        "not read",
        "not read before the window",
        "not read at last",
        "read rarely",
    ],
)
def test_counters_of_targets_that_are_read_together_are_those_of_each_row(what: str) -> None:
    frame, names = disturbed(what), ratios.stored_names(INTERCONNECT_TRANSMIT)
    steady = latest.Steady(frame.series, lambda one: one.metric in names)
    assert steady.rows.tolist() == [0, 1, 3, 4]
    for window_ms in (10_000.0, 4300.0, 20_000.0):
        found = steady.increase(frame, window_ms)
        expected = latest.regular_increase(frame.take([0, 1, 3, 4]), window_ms)
        assert (found is None) == (expected is None)
        if found is not None and expected is not None:
            np.testing.assert_array_equal(found, expected)
    assert (steady.increase(frame, 9000.0) is not None) == (what in WHOLE)


def test_nothing_gains_nothing() -> None:
    frame = disturbed("nothing")
    steady = latest.Steady(frame.series, lambda _: True)
    assert latest.Steady(frame.series, lambda _: False).increase(frame, 1000.0) is None
    for columns in (0, 1):
        assert steady.increase(frame.between(0, frame.ticks[columns] - 1), 1000.0) is None
