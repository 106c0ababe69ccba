"""Where one hour ends and the next begins, and where one side of a quotient is not known."""

from __future__ import annotations

import numpy as np
import pytest

from telemetry import reader
from telemetry.bins import Binned, joined
from telemetry.catalog import engine, gpu, ratios
from telemetry.counters import trailing_increase
from telemetry.model import part
from telemetry.near import counted
from telemetry.query import Line, Query
from telemetry.stats import stats
from telemetry.summary import HOUR_MS, summarise, zeros_before
from tests.telemetry.frames import Numbers, numbers, table
from tests.telemetry.hours import FIRST_MS, PER_HOUR, ask, frame, linear, question, told
from tests.telemetry.questions import one
from tests.telemetry.sources import Memory

ENERGY = one(gpu.GPU_ENERGY, gpu="0")
NAN = float("nan")


@pytest.fixture(autouse=True)
def _by_the_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """No answer is made of samples where hours serve."""
    monkeypatch.setattr(reader, "PATIENT_MS", -1.0)
    monkeypatch.setattr(reader, "SWIFT_MS", -1.0)


def test_a_mean_is_of_the_bins_of_which_both_sides_are_known() -> None:
    """2 of 8 and 1 of 2 tokens were accepted, and 3 of nobody knows how many, and some of 6."""
    sides = [np.array(side) for side in ([2.0, 1.0, 3.0, NAN], [8.0, 2.0, NAN, 6.0])]
    values = np.array([0.25, 0.5, NAN, NAN])
    line = Line({}, np.arange(4), None, values, values, values, values, above=sides[0], below=sides[1])
    found = stats(Query(ratios.ACCEPTANCE, 0, 9), line)
    assert (found.minimum, found.mean, found.maximum, found.last) == (0.25, 0.3, 0.5, 0.5)


def test_an_hour_without_the_lower_side_does_not_count() -> None:
    """120 J/s for 20 tokens/s, and in the hour before for nobody; both lie in one bin."""
    tokens: Numbers = [*linear(20, PER_HOUR), *[None] * PER_HOUR, *linear(20, PER_HOUR, 72_000)]
    rows = {ENERGY: linear(120, 3 * PER_HOUR), one(engine.GENERATION_TOKENS, "head"): tokens}
    (line,) = ask(ratios.ENERGY_PER_TOKEN, frame(rows), 1, 2, width=2)
    assert told(line, "mean") == [[6]]


def test_percentiles_of_an_hour_begin_with_the_last_sample_before_it() -> None:
    """One request a second."""
    edges = ("1", "4", "+Inf")
    rows = {one(part(engine.TTFT, "bucket"), "head", le=edge): linear(1, 4 * PER_HOUR) for edge in edges}
    found = reader.read(question(engine.TTFT, 1, 3, width_ms=None, points=3), Memory(frame(rows)))
    assert found.resolution == "hours"
    assert numbers(found.lines[0].count) == [3600] * 3


def test_an_open_hour_of_slow_readings_begins_with_the_step_into_it() -> None:
    """Read every five minutes; 7,200 J, the first ever, came between the last reading of one hour and the first of the
    next: what stood at 0 before was read, and did not begin with that."""
    step_s, count = 300, 4 * 12
    values: Numbers = [0.0 if place < 36 else 7200.0 for place in range(count)]
    samples = table({ENERGY: values}, at_s=[400 + place * step_s for place in range(count)], interval_s=step_s)
    for unsealed in ([], [FIRST_MS + 3 * HOUR_MS]):
        query = Query(
            gpu.GPU_ENERGY, FIRST_MS, FIRST_MS + 4 * HOUR_MS - 1, points=4, rate=True, slowest_ms=step_s * 1000
        )
        found = reader.read(query, Memory(samples, unsealed))
        assert found.resolution == "hours"
        assert numbers(found.lines[0].mean) == [0, 0, 0, 2]


def test_two_pieces_that_share_a_bin() -> None:
    """Percentiles of windows of 9 and 5 observations, the second beyond the last edge, then one without any."""

    def piece(value: float, side: float, count: float) -> Binned:
        one, sides = np.array([[value]]), np.array([[side]])
        return Binned(((),), np.zeros(1, np.int64), one, one, one, one, one / one, sides, sides, np.array([[count]]))

    found = joined([piece(2.0, 0.0, 9.0), piece(4.0, 1.0, 5.0), piece(NAN, NAN, 0.0)], 0, (0, 60_000))
    told = [found.minimum, found.maximum, found.last, found.above, found.below]
    assert [one.tolist() for one in told] == [[[2.0]], [[4.0]], [[4.0]], [[6.0]], [[2.0]]]
    assert found.side is not None
    assert found.last_side is not None
    assert found.count is not None
    assert [one.tolist() for one in (found.side, found.last_side, found.count)] == [[[1.0]], [[1.0]], [[9.0]]]


def test_a_total_goes_on_from_slice_to_slice_with_the_newest_count_of_who_is_away() -> None:
    """The second of two counters is read for the first of three hours only: it stands where it stood last."""
    rows = {ENERGY: linear(1, 3 * PER_HOUR), one(gpu.GPU_ENERGY, "n2", gpu="0"): linear(2, PER_HOUR)}
    rows = {series: [*values, *[None] * (3 * PER_HOUR - len(values))] for series, values in rows.items()}
    bounds = [(FIRST_MS + hour * HOUR_MS, FIRST_MS + (hour + 1) * HOUR_MS - 1) for hour in range(3)]
    asked = question(gpu.GPU_ENERGY, 0, 2, width_ms=None, total=True)
    lines = [line for (line,) in reader.stream(asked, Memory(frame(rows)), bounds)]
    ends = [numbers(line.values)[-1] for line in lines if line.values is not None]
    assert ends == [3590 + 2 * 3590, 7190 + 2 * 3590, 10790 + 2 * 3590]


def test_a_counter_that_comes_is_no_increase_of_a_total() -> None:
    """It stands at its first count before, unless it is known where it stood; one that is gone adds what it had."""
    first, second, away = (one(gpu.GPU_ENERGY, target, gpu="0") for target in ("n1", "n2", "n3"))
    samples = table({first: [0, 1, 2, 3], second: [None, None, 100, 105]})
    assert numbers(counted(samples, {})) == [100, 101, 102, 108]
    assert numbers(counted(samples, {second: 90.0, away: 1000.0})) == [1090, 1091, 1102, 1108]


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([0, 0, 7, 9], [2]),
        ([None, 0, 7, None], [1]),
        ([0, 0, 0, 7], None),
        ([0, 1, 7, 9], None),
        ([None, None, 7, 9], None),
        ([0, 0, None, None], None),
    ],
)
def test_the_hour_before_a_first_use_that_came_with_the_first_reading(
    values: Numbers, counts: list[float] | None
) -> None:
    """Two readings of either hour; a zero stands where the page was read without the counter. Gauges have no such."""
    power = one(gpu.GPU_POWER, gpu="0")
    samples = frame({ENERGY: values, power: values}, at_s=[3580, 3590, 3600, 3610])
    hour = FIRST_MS + HOUR_MS
    found = zeros_before(summarise(samples, [hour]), samples)
    assert (None if found is None else found.count[0].tolist()) == counts
    if found is not None:
        assert (found.series, found.hours.tolist(), found.last.tolist()) == ((ENERGY,), [FIRST_MS], [[0.0]])


def test_a_window_as_long_as_the_steps_in_it_is_measurable_though_readings_are_rarer_now() -> None:
    """Read every ten seconds, then every fifteen, which is the target's interval."""
    samples = table([[0, 10, 20, 30, 45, 60]], at_s=[0, 10, 20, 30, 45, 60], interval_s=15)
    assert numbers(trailing_increase(samples, 10_000)[0]) == [None, 10, 10, 10, None, None]
