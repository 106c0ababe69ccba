"""How counters of older hours are fitted to what stands, by hand."""

from __future__ import annotations

import numpy as np

from exchange.prometheus.fit import Ends, Fit, fitted
from exchange.prometheus.hours import Merged, Part, merged
from storage.records import Offset
from telemetry.model import Series

ENERGY = Series("t", "gpu_energy_joules_total", (("gpu", "0"),))
LOSS = Series("t", "fabric_loss_total", (("cage", "p0"), ("counter", "out_of_buffer"), ("function", "f")))
POWER = Series("t", "gpu_power_watts", (("gpu", "0"),))


def hour(*rows: list[float], offsets: tuple[Offset, ...] = ()) -> Merged:
    return Merged(np.arange(len(rows[0])), (ENERGY, POWER)[: len(rows)], np.array(rows), offsets)


def step(series: Series, tick: int, offset: float, reason: str) -> Offset:
    return Offset(series.target, series.metric, series.labels, tick, offset, reason)


def seen(*hours: Merged) -> Ends:
    ends = Ends()
    for one in hours:
        ends.see(one)
    return ends


def test_the_last_number_and_the_offset_in_force_are_remembered() -> None:
    first = hour([0.0, 5.0], [1.0, 2.0], offsets=(step(ENERGY, 0, -100.0, "first sample"),))
    second = hour([7.0, 9.0, np.nan], [1.0, 2.0, 3.0], offsets=(step(ENERGY, 1, 4.0, "restart"),))
    ends = seen(first, second)
    assert ends.values == {ENERGY: 9.0}
    assert ends.offsets == {ENERGY: 4.0}


def test_a_counter_that_goes_on_ends_where_the_next_begins() -> None:
    # Raw 109 here (9 − −100), raw 112 there, which stands at 0: the last of ours is 3 below it.
    ends = seen(hour([0.0, 9.0], offsets=(step(ENERGY, 0, -100.0, "first sample"),)))
    fit = fitted(ends, {}, {ENERGY: (0.0, -112.0)})
    assert fit.shift == {ENERGY: -12.0}
    found = fit.of(hour([0.0, 9.0], [5.0, 6.0], offsets=(step(ENERGY, 0, -100.0, "first sample"),)))
    assert found.values.tolist() == [[-12.0, -3.0], [5.0, 6.0]]
    assert found.offsets == (step(ENERGY, 0, -112.0, "first sample"),)


def test_after_a_restart_it_counts_what_came_since() -> None:
    ends = seen(hour([0.0, 9.0], offsets=(step(ENERGY, 0, -100.0, "first sample"),)))
    assert fitted(ends, {}, {ENERGY: (0.0, -2.0)}).shift == {ENERGY: -11.0}


def test_a_wrap_in_between_is_one() -> None:
    ends = Ends({LOSS: 5.0}, {LOSS: 5.0 - (2.0**32 - 1)})
    assert fitted(ends, {}, {LOSS: (0.0, -3.0)}).shift == {LOSS: -9.0}


def test_first_uses_are_no_zeros_there() -> None:
    fit = Fit({ENERGY: -12.0}, {ENERGY: 0.0})
    offsets = (step(ENERGY, 0, 0.0, "first use"), step(ENERGY, 1, 9.0, "first use after a restart"))
    found = fit.of(hour([1.0, 2.0], offsets=(*offsets, step(ENERGY, 1, 9.0, "restart"), step(POWER, 0, 1.0, "x"))))
    assert [(one.offset, one.reason) for one in found.offsets] == [
        (-12.0, "first sample"),
        (-3.0, "first sample"),
        (-3.0, "restart"),
        (1.0, "x"),
    ]


def test_between_two_stretches_nothing_rises_above_what_follows() -> None:
    ends = seen(hour([50.0, 90.0]))
    fit = fitted(ends, {ENERGY: (40.0, 0.0)}, {ENERGY: (70.0, 0.0)})
    assert fit.shift == {}
    assert fit.of(hour([50.0, np.nan, 90.0], [1.0, 100.0, 3.0])).values.tolist()[0][::2] == [50.0, 70.0]
    assert fit.of(hour([50.0, 60.0, 90.0], [1.0, 100.0, 3.0])).values.tolist()[1] == [1.0, 100.0, 3.0]


def test_what_ends_before_is_left_as_it_is() -> None:
    ends = seen(hour([0.0, 9.0]))
    assert fitted(ends, {}, {LOSS: (0.0, 0.0)}).shift == {}
    untouched = hour([0.0, 9.0])
    assert Fit().of(untouched) is untouched


def test_pages_of_one_target_on_one_axis() -> None:
    first, second = Part(), Part()
    first.add(10, (ENERGY,), np.array([1.0]), ())
    first.add(30, (ENERGY, LOSS), np.array([2.0, np.nan]), (step(ENERGY, 30, 1.0, "restart"),))
    first.add(40, (), np.zeros(0), ())
    second.add(10, (POWER,), np.array([7.0]), ())
    second.add(20, (POWER,), np.array([8.0]), ())
    found = merged([first, second])
    assert found.ticks.tolist() == [10, 20, 30, 40]
    assert found.series == (ENERGY, POWER)
    assert np.array_equal(found.values, [[1, np.nan, 2, np.nan], [7, 8, np.nan, np.nan]], equal_nan=True)
    assert found.offsets == (step(ENERGY, 30, 1.0, "restart"),)


def test_nothing_is_nothing() -> None:
    found = merged([Part(), Part()])
    assert (len(found.ticks), found.series, found.values.shape) == (0, (), (0, 0))
