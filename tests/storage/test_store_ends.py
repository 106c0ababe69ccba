"""Two samples per series say as much of a window's increase as all of them do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.records import Batch, Offset, Row
from storage.store import Store, open_store
from telemetry.counters import Step, increase, window_ends
from telemetry.frame import Frame
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, write

LATER = NOW + 10 * HOUR_MS
HOUR_S = 3600
NAN = math.nan


def told(frame: Frame, start: float, end: float) -> dict[Series, tuple[float, list[tuple[int, float, float]]]]:
    """By series: the increase, and the two samples as tick, instant, value."""
    gained, found = increase(frame, start, end), {}
    for row, ends in enumerate(window_ends(frame, start, end)):
        if ends is not None:
            samples = [(int(frame.ticks[at]), float(frame.at_ms[row, at]), float(frame.values[row, at])) for at in ends]
            found[frame.series[row]] = (float(gained[row]), samples)
    return found


def seconds(frame: Frame) -> dict[str, list[tuple[float, float]]]:
    """By metric: (seconds after NOW, value) of every sample in it."""
    return {
        one.metric: [
            ((tick - NOW) / SECOND, value)
            for tick, value in zip(frame.ticks.tolist(), frame.values[row].tolist(), strict=True)
            if not math.isnan(value)
        ]
        for row, one in enumerate(frame.series)
    }


@pytest.mark.parametrize("sealed", [[], [0], [0, 1], [0, 1, 2], [1], [2], [0, 2]])
@pytest.mark.parametrize("dropped", [True, False])
def test_wherever_they_are(store: Store, sealed: list[int], dropped: bool) -> None:
    write(store, "a", ["x", "y"], {1: [1, 10], 5: [2, NAN], 2 * HOUR_S + 7: [9, 30]})
    write(store, "a", ["x", "z"], {HOUR_S + 3: [4, 100], 2 * HOUR_S + 9: [11, NAN]})
    for hour in sealed:
        assert store.seal("a", NOW + hour * HOUR_MS, LATER)
        if dropped:
            with store._database.writing() as connection:
                first = NOW + hour * HOUR_MS
                connection.exec_driver_sql(f"DELETE FROM hot WHERE tick BETWEEN {first} AND {first + HOUR_MS - 1}")

    def asked(low: int, high: int) -> dict[str, list[tuple[float, float]]]:
        return seconds(store.ends(["x", "y", "z"], None, NOW + low * SECOND, NOW + high * SECOND))

    last = 2 * HOUR_S + 9
    assert asked(5, last) == {"x": [(5, 2), (last, 11)], "y": [(1, 10), (last - 2, 30)], "z": [(HOUR_S + 3, 100)]}
    assert asked(4, last - 1) == {
        "x": [(1, 1), (last - 2, 9)],
        "y": [(1, 10), (last - 2, 30)],
        "z": [(HOUR_S + 3, 100)],
    }
    assert asked(0, 10 * HOUR_S) == {
        "x": [(1, 1), (last, 11)],
        "y": [(1, 10), (last - 2, 30)],
        "z": [(HOUR_S + 3, 100)],
    }
    assert asked(HOUR_S + 2, HOUR_S + 2) == {"x": [(5, 2)], "y": [(1, 10)]}
    assert asked(3 * HOUR_S, 4 * HOUR_S) == {"x": [(last, 11)], "y": [(last - 2, 30)], "z": [(HOUR_S + 3, 100)]}
    assert asked(-5, 0) == {}
    assert asked(-5, 1) == {"x": [(1, 1)], "y": [(1, 10)]}


def test_nothing_wanted(store: Store) -> None:
    write(store, "a", ["x"], {0: [1]})
    assert store.ends([], None, NOW, LATER).series == ()
    assert store.ends(["x"], ["b"], NOW, LATER).series == ()
    assert store.ends(["x"], None, NOW - 9, NOW - 1).series == ()


def test_only_the_edges_are_read(store: Store) -> None:
    write(store, "a", ["x", "y"], {hour * HOUR_S: [hour, hour / 7] for hour in range(9)})
    for hour in range(9):
        assert store.seal("a", NOW + hour * HOUR_MS, LATER)
    inner = f"{NOW + 2 * HOUR_MS} AND {NOW + 6 * HOUR_MS}"
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM hot")
        for table in ("clock", "chunk"):
            connection.exec_driver_sql(f"UPDATE {table} SET data = NULL WHERE hour BETWEEN {inner}")
    frame = store.ends(["x", "y"], None, NOW + HOUR_MS + 5, NOW + 7 * HOUR_MS + 5)
    assert increase(frame, NOW + HOUR_MS + 5, NOW + 7 * HOUR_MS + 5).tolist() == [6, 7 / 7 - 1 / 7]


def test_a_counter_from_first_use_counts_from_zero(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 100: [1]})
    write(store, "a", ["x", "y"], {HOUR_S + 1: [2, 40], HOUR_S + 2: [3, 45]})
    step = Offset("a", "y", (), NOW + (HOUR_S + 1) * SECOND, 0.0, Step.FIRST_USE.value)
    store.commit(Batch(offsets=[step]), NOW)
    low, high = NOW + 50 * SECOND, NOW + (HOUR_S + 2) * SECOND
    for _ in range(2):
        found = store.ends(["y"], None, low, high)
        assert seconds(found) == {"y": [(0, 0), (HOUR_S + 2, 45)]}
        assert found.at_ms[0, 0] == NOW + 40
        assert seconds(store.ends(["y"], None, NOW - 1, high)) == {"y": [(0, 0), (HOUR_S + 2, 45)]}
        assert seconds(store.ends(["y"], None, high - SECOND, high)) == {"y": [(HOUR_S + 1, 40), (HOUR_S + 2, 45)]}
        for hour in (0, 1):
            store.seal("a", NOW + hour * HOUR_MS, LATER)
        with store._database.writing() as connection:
            connection.exec_driver_sql("DELETE FROM hot")


def test_a_first_use_with_the_first_reading_stood_nowhere(store: Store) -> None:
    write(store, "a", ["y"], {1: [40], 2: [45]})
    store.commit(Batch(offsets=[Offset("a", "y", (), NOW + SECOND, 0.0, Step.FIRST_USE.value)]), NOW)
    assert seconds(store.ends(["y"], None, NOW, NOW + 2 * SECOND)) == {"y": [(1, 40), (2, 45)]}


def test_of_given_up_hours_the_ends_are_left(store: Store) -> None:
    samples = {at + hour * HOUR_S: [100 * hour + at] for hour in range(4) for at in (3, 9)}
    write(store, "a", ["x"], samples)
    for hour in range(3):
        store.seal("a", NOW + hour * HOUR_MS, LATER)
    with store._database.writing() as connection:
        connection.exec_driver_sql(f"DELETE FROM hot WHERE tick < {NOW + 3 * HOUR_MS}")
        for table in ("clock", "chunk"):
            connection.exec_driver_sql(
                f"UPDATE {table} SET data = NULL, codec = 'forgotten' WHERE hour < {NOW + 2 * HOUR_MS}"
            )

    def asked(low: int, high: int) -> list[tuple[float, float]]:
        return seconds(store.ends(["x"], None, NOW + low * SECOND, NOW + high * SECOND)).get("x", [])

    end = 3 * HOUR_S + 9
    assert asked(HOUR_S + 9, end) == [(HOUR_S + 9, 109), (end, 309)]
    assert asked(HOUR_S + 5, end) == [(9, 9), (end, 309)]
    assert asked(5, end) == [(HOUR_S + 3, 103), (end, 309)]
    assert asked(0, end) == [(3, 3), (end, 309)]
    assert asked(5, 2 * HOUR_S + 4) == [(HOUR_S + 3, 103), (2 * HOUR_S + 3, 203)]
    assert asked(0, HOUR_S + 5) == [(3, 3), (9, 9)]


NAMES = ("generation_tokens_total", "time_to_first_token_seconds_bucket")
EVERY = tuple(
    Series(target, name, labels)
    for target in "ab"
    for name, labels in ((NAMES[0], ()), (NAMES[1], (("le", "+Inf"),)), (NAMES[1], (("le", "0.5"),)))
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 5 * HOUR_MS - 1) | st.sampled_from([0, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS, 3 * HOUR_MS + 59_999]),
        st.lists(st.integers(0, 2), unique=True),
        st.lists(st.integers(0, 9).map(float) | st.just(NAN), min_size=3, max_size=3),
    ),
    max_size=12,
    unique_by=lambda one: one[:2],
)


def fill(store: Store, rows: Sequence[tuple[str, int, list[int], list[float]]]) -> None:
    """Commit rows: target, milliseconds after NOW, places in EVERY, values."""
    for target, after, places, values in rows:
        layout = store.layout(target, tuple(EVERY["ab".index(target) * 3 + place] for place in places))
        store.commit(Batch(rows=[Row(NOW + after, target, NOW + after + 5, layout, values[: len(places)])]), LATER)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), rows=ROWS)
def test_ends_are_those_of_the_whole_history(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    rows: list[tuple[str, int, list[int], list[float]]],
) -> None:
    """Any rows and first uses, any hours sealed, any window: increases and their ends are as from all samples."""
    store = open_store(str(tmp_path_factory.mktemp("store") / "store.db"), writer=True, now_ms=NOW)
    try:
        fill(store, rows)
        whole = store.frame(NAMES, None, 0, LATER)
        uses = [
            Offset(one.target, one.metric, one.labels, int(whole.ticks[np.flatnonzero(known)[0]]), 0.0, "first use")
            for one, known in zip(whole.series, ~np.isnan(whole.values), strict=True)
            if known.any() and data.draw(st.booleans())
        ]
        store.commit(Batch(offsets=uses), NOW)
        for target, hour in data.draw(st.permutations(store.due(LATER)))[: data.draw(st.integers(0, 9))]:
            store.seal(target, hour, LATER)
            if data.draw(st.booleans()):
                with store._database.writing() as connection:
                    own = f"target = '{target}' AND tick BETWEEN {hour} AND {hour + HOUR_MS - 1}"
                    connection.exec_driver_sql(f"DELETE FROM hot WHERE {own}")
        ticks = [after for _, after, *_ in rows] or [0]
        edge = st.integers(-1, 6 * HOUR_MS) | st.sampled_from(ticks) | st.sampled_from(ticks).map(lambda at: at - 1)
        for _ in range(4):
            start, end = sorted((NOW + data.draw(edge), NOW + data.draw(edge)))
            whole = store.frame(NAMES, None, 0, end)
            assert told(store.ends(NAMES, None, start, end), start, end) == told(whole, start, end)
    finally:
        store.close()
