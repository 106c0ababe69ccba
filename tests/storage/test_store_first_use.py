"""A counter from first use that appears with the first sample of an hour: near and far, from rows and sealed hours."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager

import pytest

from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store
from telemetry import far, hours
from telemetry.catalog import engine
from telemetry.counters import Step
from telemetry.frame import Frame
from telemetry.model import Series, part
from telemetry.query import Line, Query
from telemetry.reader import read
from telemetry.summary import HOUR_MS, Summaries
from tests.storage.worlds import NOW, SECOND

OWN = (("engine", "0"), ("model", "m"))
TOKENS = Series("head", engine.GENERATION_TOKENS.name, OWN)
OTHER = Series("other", engine.GENERATION_TOKENS.name, OWN)
BUCKETS = [
    Series("head", part(engine.TTFT, "bucket").name, (*OWN[:1], ("le", edge), OWN[1])) for edge in ("1.0", "+Inf")
]
RUNNING = Series("head", engine.REQUESTS_RUNNING.name, OWN)
HOUR = NOW + HOUR_MS
STEP = 10 * SECOND
COUNTED = 512


class Standing:
    """A store as what answers are read from."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        return self.store.frame(metrics, None if targets is None else list(targets), start_ms, end_ms)

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        return self.store.summaries(metrics, None if targets is None else list(targets), start_ms, end_ms)

    def one_state(self) -> AbstractContextManager[None]:
        return self.store.one_state()

    def unsealed(self, start_ms: int, end_ms: int) -> list[int]:
        return sorted({hour for _, hour in self.store.unsealed(start_ms, end_ms)})

    def extent(self) -> tuple[int, int] | None:
        return self.store.extent()

    def forgotten(self, start_ms: int, end_ms: int) -> bool:
        return self.store.forgotten(start_ms, end_ms)

    def step_ms(self) -> int:
        return STEP


@pytest.fixture
def begun(store: Store) -> Store:
    """Two hours, read every ten seconds; with the first sample of the second one the counters of `head` appear."""
    store.commit(
        Batch(targets=[TargetRow(one, "engine", "", STEP, "ok", "", 0, 0, {}) for one in ("head", "other")]), NOW
    )
    before = store.layout("head", (RUNNING,))
    after = store.layout("head", (TOKENS, *BUCKETS, RUNNING))
    beside = store.layout("other", (OTHER,))
    rows, offsets = [], []
    for tick in range(NOW, NOW + 2 * HOUR_MS, STEP):
        gained = COUNTED + (tick - HOUR) // STEP
        own = [float(gained), float(gained - 100), float(gained), 1.0]
        rows.append(Row(tick, "head", tick, before, [1.0]) if tick < HOUR else Row(tick, "head", tick, after, own))
        rows.append(Row(tick, "other", tick, beside, [7.0]))
    for one in (TOKENS, *BUCKETS):
        offsets.append(Offset("head", one.metric, one.labels, HOUR, 0.0, Step.FIRST_USE.value))
    store.commit(Batch(rows=rows, offsets=offsets), NOW + 2 * HOUR_MS)
    return store


@pytest.fixture(params=[0, 1, 2])
def sealed(request: pytest.FixtureRequest, begun: Store) -> Store:
    """With so many of its hours sealed."""
    for hour in range(request.param):
        for target in ("head", "other"):
            assert begun.seal(target, NOW + hour * HOUR_MS, NOW + 10 * HOUR_MS)
    return begun


LAST = COUNTED + HOUR_MS // STEP - 1


def distant(store: Store, query: Query) -> list[Line]:
    """The answer from summaries of hours."""
    source = Standing(store)
    known = hours.complete(query, source, hours.sealed(query, source))
    return far.answer(query, known.summaries, known.until_ms)


def question(metric: object, start: int = HOUR, **more: object) -> Query:
    return Query(metric, start, HOUR + HOUR_MS - 1, slowest_ms=STEP, width_ms=HOUR_MS, **more)  # type: ignore[arg-type]


def test_percentiles_of_the_hour_have_what_was_counted_at_its_first_tick(sealed: Store) -> None:
    query = question(engine.TTFT, quantile=0.5, targets=("head",))
    (line,) = distant(sealed, query)
    assert line.count is not None
    assert line.count.tolist() == [LAST]
    assert (line.values is not None, line.relation) == (True, ("<",))
    assert line.values.tolist() == [1.0], "below the first edge, in which all but a hundred are"


def test_totals_and_lines_are_those_of_samples(sealed: Store) -> None:
    for total, expected in ((True, [[7.0, 519.0], [7.0, LAST + 7.0]]), (False, [[0.0, 512.0], [0.0, LAST]])):
        targets = None if total else ("head",)
        query = question(engine.GENERATION_TOKENS, NOW, total=total, targets=targets)
        (near,) = read(query, Standing(sealed)).lines
        (line,) = distant(sealed, query)
        for one in (near, line):
            assert [one.minimum.tolist(), one.last.tolist()] == expected


def test_a_range_that_begins_with_the_hour_begins_with_its_first_sample(sealed: Store) -> None:
    query = question(engine.GENERATION_TOKENS, total=True)
    (near,) = read(query, Standing(sealed)).lines
    (line,) = distant(sealed, query)
    assert [near.minimum.tolist(), near.last.tolist()] == [line.minimum.tolist(), line.last.tolist()]
    assert line.minimum.tolist() == [519.0]


def test_percentiles_are_those_of_samples(sealed: Store) -> None:
    query = question(engine.TTFT, NOW, quantile=0.5, targets=("head",))
    (line,) = distant(sealed, query)
    assert line.count is not None
    assert line.count.tolist() == [0, LAST]


def test_what_a_chunk_holds_is_its_first_sample(begun: Store) -> None:
    for hour in (NOW, HOUR):
        begun.seal("head", hour, NOW + 10 * HOUR_MS)
    with begun._database.reading() as connection:
        found = connection.exec_driver_sql("SELECT DISTINCT first FROM chunk").all()
    assert {1.0, float(COUNTED), float(COUNTED - 100)} == {first for (first,) in found}
    frame = begun.frame([engine.GENERATION_TOKENS.name], ["head"], HOUR, HOUR + STEP)
    assert frame.values.tolist() == [[COUNTED, COUNTED + 1]]


def test_an_hour_before_that_is_there_counts_instead_of_the_zero(begun: Store) -> None:
    """Such an hour was imported: the store is told of one by hand."""
    for hour in (NOW, HOUR):
        begun.seal("head", hour, NOW + 10 * HOUR_MS)
    columns = "n, first, last, min, max, sum, gain, seconds, codec, data"
    with begun._database.writing() as connection:
        connection.exec_driver_sql(
            f"INSERT INTO chunk (series, hour, {columns}) SELECT series, hour - {HOUR_MS}, 360, 400, 500, "
            f"min, max, sum, gain, seconds, codec, data FROM chunk WHERE hour = {HOUR} AND first = {COUNTED}"
        )
    found = begun.summaries([engine.GENERATION_TOKENS.name], ["head"], NOW, HOUR)
    assert (found.first.tolist(), found.last.tolist()) == ([[400.0, COUNTED]], [[500.0, LAST]])
