"""Sealing changes where samples stand and nothing that anybody reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry.counters import FROM_ZERO, Step
from telemetry.frame import Frame, Sheet
from telemetry.model import Series
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, SECOND, series, write

Open = Callable[..., Store]
NAN = math.nan
LATER = NOW + 10 * HOUR_MS
END = NOW + 100 * HOUR_MS
HOUR_S = 3600


def assert_same(one: Frame, other: Frame) -> None:
    """Whether two frames are equal in everything, bit by bit where it is numbers."""
    assert one.series == other.series
    np.testing.assert_array_equal(one.ticks, other.ticks)
    assert one.ticks.dtype == other.ticks.dtype
    for name in ("values", "at_ms", "gap_ms"):
        mine, theirs = getattr(one, name), getattr(other, name)
        np.testing.assert_array_equal(mine, theirs, err_msg=name)
        known = ~np.isnan(mine)
        assert (np.signbit(mine[known]) == np.signbit(theirs[known])).all()
    np.testing.assert_array_equal(one.breaks, other.breaks)


def drop_rows(store: Store) -> None:
    """Delete every packed row, so that what is read comes from sealed hours."""
    with store._database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM hot")


def test_an_hour_starts_at_now() -> None:
    assert NOW % HOUR_MS == 0


def test_a_sealed_hour_reads_as_before(store: Store) -> None:
    write(store, "a", ["x", "y", "z"], {at: [at, NAN if at % 7 == 0 else at / 3, 5] for at in range(100)})
    write(store, "b", ["x"], {at: [-at] for at in range(50, 150, 2)})
    before = store.frame(lambda _: True, None, NOW, END)
    assert store.seal("a", NOW, LATER)
    assert_same(store.frame(lambda _: True, None, NOW, END), before)
    assert store.seal("b", NOW, LATER)
    assert_same(store.frame(lambda _: True, None, NOW, END), before)
    drop_rows(store)
    assert_same(store.frame(lambda _: True, None, NOW, END), before)
    assert not store.seal("a", NOW, LATER)


def test_rows_of_a_sealed_hour_are_not_read(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], HOUR_S: [2]})
    assert store.seal("a", NOW, LATER)
    with store._database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE hot SET data = '[77]' WHERE tick = {NOW}")
    assert store.frame(["x"], None, NOW, END).values.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("hour", "now_ms"),
    [
        (NOW, NOW + HOUR_MS - 1),
        (NOW + 1, LATER),
        (NOW - HOUR_MS, LATER),
        (NOW + HOUR_MS, LATER),
    ],
)
def test_nothing_to_seal(store: Store, hour: int, now_ms: int) -> None:
    write(store, "a", ["x"], {0: [1]})
    assert not store.seal("a", hour, now_ms)
    assert not store.seal("nobody", NOW, LATER)
    assert store.seal("a", NOW, NOW + HOUR_MS)


def test_what_the_tables_say(store: Store) -> None:
    write(store, "a", ["x", "gpu_power_watts", "generation_tokens_total", "never"], {})
    names = ["x", "gpu_power_watts", "generation_tokens_total", "never"]
    write(store, "a", names, {-1: [0, 30, 5, NAN], 0: [0, 40, 7, NAN], 1: [0, NAN, 8, NAN], 2: [0, 60, 10, NAN]})
    assert store.seal("a", NOW, LATER)
    with store._database.reading() as connection:
        clock = connection.exec_driver_sql(
            "SELECT target, hour, n, first_tick, last_tick, late, codec FROM clock"
        ).all()
        chunk = connection.exec_driver_sql(
            'SELECT metric, hour, n, "first", "last", "min", "max", "sum", gain, seconds, codec, data IS NULL'
            " FROM chunk JOIN series ON series.id = chunk.series ORDER BY series.id"
        ).all()
    assert clock == [("a", NOW, 3, NOW, NOW + 2 * SECOND, 0, "pco")]
    assert chunk == [
        ("x", NOW, 3, 0, 0, 0, 0, 0, 0, 3, "constant", 1),
        ("gpu_power_watts", NOW, 2, 40, 60, 40, 60, 100, 35 + 100, 3, "pco.f64", 0),
        ("generation_tokens_total", NOW, 3, 7, 10, None, None, None, 5, 3, "pco.d0", 0),
        ("never", NOW, 0, *[None] * 7, "unknown", 1),
    ]


def test_a_layout_without_series_is_sealed_too(store: Store) -> None:
    write(store, "a", [], {0: [], 1: []})
    write(store, "a", ["x"], {HOUR_S: [1], HOUR_S + 1: [2]})
    write(store, "b", [], {0: []})
    assert store.seal("a", NOW, LATER)
    assert store.seal("b", NOW, LATER)
    before = store.frame(["x"], None, NOW, END)
    drop_rows(store)
    assert store.frame(["x"], None, NOW, END).series == ()
    assert before.ticks.tolist()[0] == NOW


def test_a_series_is_there_only_where_its_layout_was(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 1: [2]})
    write(store, "a", ["x", "y"], {2: [3, 30]})
    write(store, "a", ["y"], {3: [40]})
    question = [
        (("x", "y"), 0, 1),
        (("x", "y"), 2, 2),
        (("x", "y"), 3, 3),
        (("y",), 0, 1),
        (("y",), 1, 2),
        (("x",), 0, 3),
        (("x",), 3, 9),
        (("x", "y"), 4, 9),
    ]

    def answers() -> list[Frame]:
        return [store.frame(names, None, NOW + low * SECOND, NOW + high * SECOND) for names, low, high in question]

    before = answers()
    assert store.seal("a", NOW, LATER)
    drop_rows(store)
    for one, other in zip(answers(), before, strict=True):
        assert_same(one, other)


def test_late_rows_join_the_sealed_hour(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 2: [3], 4: [5]})
    assert store.seal("a", NOW, LATER)
    drop_rows(store)
    layout = store.layout("a", series("a", "x"))
    again = Row(NOW + 2 * SECOND, "a", NOW, layout, [99])
    store.commit(Batch(rows=[again, Row(NOW + SECOND, "a", NOW + SECOND + 7, layout, [2])]), LATER)
    for _ in range(2):
        frame = store.frame(["x"], None, NOW, END)
        assert frame.values.tolist() == [[1, 2, 3, 5]]
        assert (frame.at_ms[0] - NOW).tolist() == [40, 1007, 2040, 4040]
        assert store.frame(["x"], None, NOW + SECOND, NOW + 2 * SECOND).values.tolist() == [[2, 3]]
        store.seal("a", NOW, LATER)
        drop_rows(store)
    assert not store.seal("a", NOW, LATER)


def test_a_late_row_of_an_older_hour_renews_the_first_rate_of_the_next(store: Store) -> None:
    name = "generation_tokens_total"
    write(store, "a", [name], {HOUR_S - 2: [0], HOUR_S: [10]})
    write(store, "a", [name], {HOUR_S - 10: [0]})
    for hour in (0, 1):
        assert store.seal("a", NOW + hour * HOUR_MS, LATER)

    def steps() -> list[float]:
        with store._database.reading() as connection:
            return list(connection.exec_driver_sql("SELECT seconds FROM chunk ORDER BY hour").scalars())

    assert steps() == [0, 2]
    layout = store.layout("a", series("a", name))
    store.commit(Batch(rows=[Row(NOW + HOUR_MS - SECOND, "a", NOW + HOUR_MS - SECOND + 40, layout, [5])]), LATER)
    assert [store.seal("a", NOW + hour * HOUR_MS, LATER) for hour in (0, 1, 2)] == [True, True, False]
    assert steps() == [1, 1]


def test_punctual_rows_mark_nothing_and_a_clock_set_back_hides_nothing(store: Store, opened: Open) -> None:
    write(store, "a", ["x"], {0: [1]})
    assert store.seal("a", NOW, LATER)
    layout = store.layout("a", series("a", "x"))
    store.commit(Batch(rows=[Row(NOW + HOUR_MS, "a", NOW, layout, [3])]), NOW + HOUR_MS)
    assert not store.seal("a", NOW, LATER)
    for at, one in ((1, store), (2, opened())):
        one.commit(Batch(rows=[Row(NOW + at, "a", NOW, layout, [2])]), NOW + at)
        assert store.seal("a", NOW, LATER)
    assert store.frame(["x"], None, NOW, END).values.tolist() == [[1, 2, 2, 3]]


def test_a_target_that_is_not_sealed_yet_is_read_beside_one_that_is(store: Store) -> None:
    write(store, "a", ["x"], {0: [1], 10: [2], HOUR_S + 5: [3]})
    write(store, "b", ["x"], {5: [4], 10: [5]})
    write(store, "c", ["x"], {HOUR_S + 5: [6], HOUR_S + 7: [7]})
    before = store.frame(["x"], None, NOW, END)
    for target, hour in (("a", 0), ("c", 1), ("b", 0), ("a", 1)):
        assert store.seal(target, NOW + hour * HOUR_MS, LATER)
        assert_same(store.frame(["x"], None, NOW, END), before)
        assert_same(store.frame(["x"], ["c"], NOW, END), _of(before, "c"))


def _of(frame: Frame, target: str) -> Frame:
    """What the frame of one target alone holds."""
    own = frame.select(lambda one: one.target == target)
    read = ~np.isnan(own.at_ms).all(axis=0)
    return Frame(own.ticks[read], own.series, own.values[:, read], own.at_ms[:, read], own.breaks[:, read], own.gap_ms)


def test_another_format_of_chunks(tmp_path: Path) -> None:
    path = str(tmp_path / "store.db")
    frames = []
    for codec in ("zlib", "pco"):
        store = open_store(path, writer=True, now_ms=NOW, codec=codec)
        start = 0 if codec == "zlib" else HOUR_S
        write(store, "a", ["x", "y"], {start + at: [at, at / 7] for at in range(60)})
        frames.append(store.frame(["x", "y"], None, NOW, END))
        assert store.seal("a", NOW + start * SECOND, LATER)
        drop_rows(store)
        assert_same(store.frame(["x", "y"], None, NOW, END), frames[-1])
        store.close()


def test_two_sealers_at_once(store: Store, opened: Open) -> None:
    """The second finds that the hour was sealed since it looked, and does not write what it has."""
    write(store, "a", ["x"], {0: [1], 1: [2]})
    sealer = store._sealer
    before = sealer._look("a", NOW)
    assert opened().seal("a", NOW, LATER)
    drop_rows(store)
    rows = sealer._rows(before, "a", NOW)
    assert len(rows.ticks) == 0
    assert not sealer._write(before, {"target": "a", "hour": NOW}, [])
    assert store.frame(["x"], None, NOW, END).values.tolist() == [[1, 2]]


LEAD_MS = 72_500
"""A rate's window, a gap, and how far instants may lie off their ticks: with these rows the first rate is made."""


@pytest.mark.parametrize(
    ("tick", "taken"),
    [(NOW - LEAD_MS - 1, True), (NOW - LEAD_MS, False), (NOW - 1, False), (NOW, False), (NOW + HOUR_MS - 1, False)],
)
def test_a_row_that_comes_while_sealing(store: Store, tick: int, taken: bool) -> None:
    layout = write(store, "a", ["x"], {0: [1], 1: [2]})
    sealer = store._sealer
    before = sealer._look("a", NOW)
    store.commit(Batch(rows=[Row(tick + 500 * (tick == NOW), "a", NOW, layout, [7])]), LATER)
    assert sealer._write(before, {"target": "a", "hour": NOW, **_empty_clock()}, []) is taken
    if not taken:
        assert store.seal("a", NOW, LATER)
        drop_rows(store)
        own = [1, 2, 7] if tick >= NOW else [1, 2]
        assert sorted(store.frame(["x"], None, NOW, END).values[0].tolist()) == own


def _empty_clock() -> dict[str, object]:
    return {"n": 1, "first_tick": NOW, "last_tick": NOW, "late": 0, "codec": "pco", "data": b""}


def test_a_sealed_hour_survives_opening(store: Store, opened: Open) -> None:
    write(store, "a", ["x"], {0: [1.5], 1: [2]})
    store.seal("a", NOW, LATER)
    drop_rows(store)
    reader = opened(writer=False)
    assert reader.frame(["x"], None, NOW, END).values.tolist() == [[1.5, 2]]


NAMES = ("gpu_power_watts", "generation_tokens_total", "time_to_first_token_seconds_bucket")
EVERY = tuple(
    Series(target, name, labels)
    for target in "ab"
    for name, labels in (
        (NAMES[0], ()),
        (NAMES[1], ()),
        (NAMES[2], (("le", "+Inf"),)),
        (NAMES[2], (("le", "0.5"),)),
        (NAMES[2], (("le", "1"),)),
    )
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.one_of(
            st.integers(0, 3 * HOUR_MS - 1),
            st.sampled_from([0, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS, HOUR_MS - 1000, HOUR_MS + 1000]),
            st.integers(HOUR_MS - 20, HOUR_MS + 20).map(lambda second: second * 1000 // 1000),
        ),
        st.integers(-5000, 5000),
        st.lists(st.integers(0, 4), min_size=0, unique=True),
        st.lists(st.floats() | st.integers(0, 3).map(float) | st.just(math.nan) | st.just(7.0), min_size=5, max_size=5),
    ),
    max_size=14,
    unique_by=lambda one: one[:2],
)
STEPS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 13), st.sampled_from(list(Step))), max_size=5)


def fill(store: Store, rows: Sequence[tuple[str, int, int, list[int], list[float]]]) -> None:
    """Commit rows: target, milliseconds after NOW, lag of the instant, places in EVERY, values."""
    for target, after, lag, places, values in rows:
        own = tuple(EVERY["ab".index(target) * 5 + place] for place in places)
        layout = store.layout(target, own)
        store.commit(Batch(rows=[Row(NOW + after, target, NOW + after + lag, layout, values[: len(places)])]), LATER)


def assert_sheet(sheet: Sheet, frame: Frame) -> None:
    """The values of a frame, bit by bit."""
    assert (sheet.ticks.tolist(), sheet.series) == (frame.ticks.tolist(), frame.series)
    assert sheet.values.shape == frame.values.shape
    np.testing.assert_array_equal(sheet.values, frame.values)
    assert (np.signbit(sheet.values) == np.signbit(frame.values))[~np.isnan(frame.values)].all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), rows=ROWS, late=ROWS, steps=STEPS, codec=st.sampled_from(["pco", "zlib"]))
def test_append_seal_read_is_append_read(
    tmp_path_factory: pytest.TempPathFactory,
    data: st.DataObject,
    rows: list[tuple[str, int, int, list[int], list[float]]],
    late: list[tuple[str, int, int, list[int], list[float]]],
    steps: list[tuple[int, int, Step]],
    codec: str,
) -> None:
    """Any times, instants, values, layouts, restarts and late rows: sealing, and deleting what is sealed, is unseen."""
    folder = tmp_path_factory.mktemp("stores")
    plain = open_store(str(folder / "plain.db"), writer=True, now_ms=NOW)
    store = open_store(str(folder / "sealed.db"), writer=True, now_ms=NOW, codec=codec)
    ticks = [after for _, after, *_ in rows] or [0]
    offsets = [
        Offset(
            EVERY[place].target, EVERY[place].metric, EVERY[place].labels, NOW + ticks[at % len(ticks)], 1.0, why.value
        )
        for place, at, why in steps
    ]
    seen = {one[:2] for one in rows}
    late = [one for one in late if one[:2] not in seen]
    for one in (plain, store):
        fill(one, rows)
        one.commit(Batch(offsets=offsets, targets=[TargetRow("b", "engine", "", 3000, "up", "", NOW, NOW)]), NOW)
    sealed = data.draw(st.permutations([(target, hour) for target in "ab" for hour in range(3)]))
    for target, hour in sealed[:4]:
        store.seal(target, NOW + hour * HOUR_MS, LATER)
        if data.draw(st.booleans()):
            with store._database.writing() as connection:
                connection.exec_driver_sql(
                    "DELETE FROM hot WHERE (target, tick / 3600000 * 3600000)"
                    " IN (SELECT target, hour FROM clock WHERE late = 0)"
                )
    before = list(store.sheets(NAMES, None, [(NOW, NOW + HOUR_MS), (NOW + HOUR_MS + 1, END)]))
    assert len(before) == 2, "from now on clocks are remembered"
    for one in (plain, store):
        fill(one, late)
    for target, hour in sealed[2:]:
        store.seal(target, NOW + hour * HOUR_MS, LATER)
    questions = [(NOW, END)]
    edge = st.integers(-1, 3 * HOUR_MS) | st.sampled_from(ticks)
    questions += [(NOW + data.draw(edge), NOW + data.draw(edge)) for _ in range(2)]
    wanted = data.draw(st.sets(st.sampled_from(NAMES), min_size=1))
    try:
        for start, end in questions:
            assert_same(store.frame(wanted, None, start, end), plain.frame(wanted, None, start, end))
            assert_same(store.frame(wanted, ["a"], start, end), plain.frame(wanted, ["a"], start, end))
        if not any(why.value in FROM_ZERO for *_, why in steps):
            cuts = sorted({NOW, END, *(one for question in questions for one in question)})
            ranges = [(low, high - 1) for low, high in pairwise(cuts)]
            for _ in ("first", "again"):
                for (start, end), sheet in zip(ranges, store.sheets(wanted, None, ranges), strict=True):
                    assert_sheet(sheet, plain.frame(wanted, None, start, end))
    finally:
        plain.close()
        store.close()
