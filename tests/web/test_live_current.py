"""The short way to the newest ratio says what `ratios.evaluate` says of the last tick, however it was sampled."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.live import current
from telemetry import catalog, latest, ratios
from telemetry.catalog import engine, gpu, network
from telemetry.catalog import ratios as quotients
from telemetry.frame import Frame, empty
from telemetry.model import Ratio, Series

T0 = 1_796_000_000_000
RATIOS = [metric for metric in catalog.METRICS if isinstance(metric, Ratio)]


def frame_of(rows: dict[Series, list[float]], *, late: bool = False, breaks: set[int] = frozenset()) -> Frame:  # type: ignore[assignment]
    """One sample a second; NaN is a sample that said nothing, `late` moves arrivals by up to 0.3 s."""
    values = np.array(list(rows.values()), dtype=float)
    ticks = T0 + 1000 * np.arange(values.shape[1], dtype=np.int64)
    shift = np.where(np.arange(values.shape[1]) % 3 == 0, 300.0, 0.0) if late else 0.0
    at_ms = np.tile(ticks + shift, (len(values), 1)).astype(float)
    broken = np.zeros(values.shape, dtype=bool)
    broken[:, list(breaks)] = True
    return Frame(ticks, tuple(rows), values, at_ms, broken, np.full(len(values), 2500.0))


def by_target(series: Series) -> str:
    return series.target


@settings(max_examples=60, deadline=None)
@given(
    ratio=st.sampled_from(RATIOS),
    steps=st.lists(st.floats(0, 100), min_size=40, max_size=40),
    holes=st.sets(st.integers(0, 39), max_size=4),
    breaks=st.sets(st.integers(1, 39), max_size=1),
    late=st.booleans(),
    missing=st.booleans(),
)
def test_short_way_and_long_way_agree(
    ratio: Ratio, steps: list[float], holes: set[int], breaks: set[int], late: bool, missing: bool
) -> None:
    line = np.cumsum(steps)
    line[list(holes)] = np.nan
    rows: dict[Series, list[float]] = {}
    for number, target in enumerate(("a", "b", "c")):
        terms = (*ratio.numerator, *ratio.denominator)
        for place, metric in enumerate(dict.fromkeys(terms)):
            if not (missing and target == "c" and place == len(terms) - 1):
                rows[Series(target, metric.name)] = list((number + 1) * line + place)
    frame = frame_of(rows, late=late, breaks=breaks)
    tick = int(frame.ticks[-1])
    window = min(ratio.window_s, 15.0) * 1000
    for key in (by_target, current.together):
        short = current.ratio(ratio, frame, tick, key, window)
        known = frame.between(tick - window - ratios.SILENT_MS - current.MARGIN_MS, tick)
        seen = window if ratios.same_page(ratio) else latest.young_window(known, window)
        long = ratios.evaluate(ratio, known, key, seen)
        assert set(short) == set(long)
        for group, value in short.items():
            assert value == pytest.approx(float(long[group][-1]), nan_ok=True)


def test_newest_is_not_older_than_the_gap() -> None:
    nan = math.nan
    one = Series("a", "x")
    rows = {
        one: [1, 2, 3, 4.0],
        Series("b", "x"): [5, 6, nan, nan],
    }
    frame = frame_of(rows)
    unread = frame.at_ms.copy()
    unread[1, 2:] = nan
    frame = Frame(frame.ticks, frame.series, frame.values, unread, frame.breaks, frame.gap_ms)
    assert current.newest(frame, T0 + 3000).tolist() == [4.0, 6.0]
    assert current.newest(frame, T0 + 3500).tolist() == [4.0, 6.0]
    np.testing.assert_array_equal(current.newest(frame, T0 + 3501), [4.0, nan])


def test_newest_is_what_the_last_reading_said() -> None:
    frame = frame_of({Series("a", "x"): [1.0, 2.0, math.nan]})
    assert math.isnan(current.newest(frame, T0 + 2000)[0])


def test_nothing_of_nothing() -> None:
    assert len(current.newest(empty(), T0)) == 0
    assert math.isnan(current.total(empty(), "x", T0))
    assert current.ratio(quotients.DECODE_TPS, empty(), T0) == {}
    assert math.isnan(current.whole(quotients.DECODE_TPS, empty(), T0))


@pytest.mark.parametrize(("seconds", "window_s"), [(5, 5.0), (6, 5.0), (30, 29.0), (61, 60.0), (100, 60.0)])
def test_window_grows_with_what_there_is(seconds: int, window_s: float) -> None:
    frame = frame_of({Series("a", engine.DRAFTS.name): [float(n) for n in range(seconds)]})
    assert latest.young_window(frame, 60_000.0) == window_s * 1000


def test_a_series_that_began_later_does_not_shorten_the_window() -> None:
    nan = math.nan
    frame = frame_of({Series("a", "x"): [float(n) for n in range(40)], Series("b", "x"): [nan] * 30 + [1.0] * 10})
    assert latest.young_window(frame, 60_000.0) == 39_000


def test_both_sides_are_needed_of_each_target() -> None:
    """Of two engines only one has drafts: the other's nothing is no denominator."""
    frame = frame_of(
        {
            Series("a", engine.ACCEPTED_TOKENS.name): [3.0 * n for n in range(30)],
            Series("a", engine.DRAFT_TOKENS.name): [4.0 * n for n in range(30)],
            Series("b", engine.DRAFT_TOKENS.name): [100.0 * n for n in range(30)],
        }
    )
    assert current.whole(quotients.ACCEPTANCE, frame, T0 + 29_000, 10_000) == pytest.approx(0.75)


def test_a_ratio_over_nodes_and_engines_needs_the_engines() -> None:
    frame = frame_of({Series("n", gpu.GPU_ENERGY.name): [50.0 * n for n in range(30)]})
    assert math.isnan(current.whole(quotients.ENERGY_PER_TOKEN, frame, T0 + 29_000))


def test_no_tokens_no_quotient() -> None:
    frame = frame_of(
        {
            Series("n", gpu.GPU_ENERGY.name): [50.0 * n for n in range(30)],
            Series("e", engine.GENERATION_TOKENS.name): [7.0] * 30,
        }
    )
    assert math.isnan(current.whole(quotients.ENERGY_PER_TOKEN, frame, T0 + 29_000, 10_000))


def test_a_side_that_is_not_there_is_unknown_and_not_zero() -> None:
    frame = frame_of(
        {
            Series("n", network.NETDEV_TRANSMIT.name, (("cage", "p0"),)): [0.0] * 30,
            Series("e", engine.GENERATION_TOKENS.name): [float(n) for n in range(30)],
        }
    )
    assert math.isnan(current.whole(quotients.INTERCONNECT_PER_TOKEN, frame, T0 + 29_000, 10_000))
