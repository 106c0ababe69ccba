"""Bins of sealed hours that were worked out before: the same numbers, and less reading."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from telemetry import near, reader
from telemetry.bins import Binned, empty, joined, lines
from telemetry.catalog import engine, gpu, ratios
from telemetry.kept import PER_LINE, Kept, keys
from telemetry.model import Metric, Ratio, part
from telemetry.query import Query
from telemetry.summary import HOUR_MS
from tests.telemetry.hours import FIRST_MS, PER_HOUR, frame, linear, question
from tests.telemetry.questions import one
from tests.telemetry.sources import InSheets, Memory
from tests.telemetry.test_reader import DAY, QUESTIONS, same

NAN = float("nan")


class Keeping(Kept):
    """open: hours that are not sealed; version: of what the others hold."""

    def __init__(self, most_bytes: int = 10**9) -> None:
        super().__init__(most_bytes)
        self.open: set[int] = set()
        self.version: dict[int, int] = {}

    def states(self, start_ms: int, end_ms: int, targets: Collection[str] | None) -> Mapping[int, Hashable]:
        del targets  # all of them change alike
        first = start_ms // HOUR_MS * HOUR_MS
        return {hour: self.version.get(hour, 0) for hour in range(first, end_ms + 1, HOUR_MS) if hour not in self.open}


@pytest.fixture(autouse=True)
def no_short_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SHORT_MS", 0)


@pytest.mark.parametrize("kind", [Memory, InSheets])
@pytest.mark.parametrize("cells", [100, 10**9])
@pytest.mark.parametrize("resolution", [{"points": 40}, {"points": 3}, {"points": 1}, {"width_ms": 420_000}])
@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_what_is_kept_is_what_samples_say(
    metric: Metric | Ratio,
    more: dict[str, object],
    resolution: dict[str, object],
    cells: int,
    kind: type[Memory],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "CACHED", cells)
    source, keeper = kind(frame(DAY)), Keeping()
    query = question(metric, 0.4, 4.4, **{"width_ms": None} | more | resolution)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    for _ in ("first", "again"):
        source.read.clear()
        found = reader.read(query, source, keeper=keeper)
        assert found.resolution == "samples"
        same(found.lines, expected)
    if keeper.nbytes:
        assert all(end - start < 2 * HOUR_MS for start, end in source.read), "but the edges, all was kept"
    stands = metric is gpu.GPU_POWER or more != {"total": True}
    assert (keeper.nbytes > 0) == (stands and resolution != {"points": 1})


def test_percentiles_are_kept() -> None:
    rows = {
        one(part(engine.TTFT, "bucket"), "head", le=edge): linear(rate / 10, 4 * PER_HOUR)
        for edge, rate in {"1": 3, "4": 7, "+Inf": 9}.items()
    }
    source, keeper = Memory(frame(rows)), Keeping()
    query = question(engine.TTFT, 0.4, 3.4, width_ms=None, points=30)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    for _ in ("first", "again"):
        same(reader.read(query, source, keeper=keeper).lines, expected)
    assert keeper.nbytes


def test_only_whole_hours_that_stand_are_kept_and_asked_for() -> None:
    source, keeper = Memory(frame(DAY)), Keeping()
    query = question(gpu.GPU_POWER, 0.5, 4.5, width_ms=None, points=40)
    hour = [FIRST_MS + place * HOUR_MS for place in range(6)]
    keeper.open = {hour[3]}
    reader.read(query, source, keeper=keeper)
    source.read.clear()
    reader.read(query, source, keeper=keeper)
    assert source.read == [(query.start_ms, hour[1] - 1), (hour[3], hour[4] - 1), (hour[5], query.end_ms)]
    keeper.version[hour[1]] = 1
    source.read.clear()
    reader.read(query, source, keeper=keeper)
    assert source.read[0] == (query.start_ms, hour[2] - 1), "it was sealed anew"


def test_what_looks_back_follows_from_the_hour_before_too() -> None:
    start, end = FIRST_MS, FIRST_MS + 3 * HOUR_MS - 1
    states = {FIRST_MS + place * HOUR_MS: f"{place}" for place in range(3)}
    power, rate = Query(gpu.GPU_POWER, start, end, points=9), Query(ratios.DECODE_TPS, start, end, points=9)
    assert list(keys(power, (0, 9), states)) == list(states)
    assert list(keys(rate, (0, 9), states)) == list(states)[1:]
    told = keys(rate, (0, 9), states)[FIRST_MS + HOUR_MS]
    assert told[1:] == (FIRST_MS + HOUR_MS, ("1", "0"))  # type: ignore[index]
    assert list(keys(replace(power, end_ms=end - 1), (0, 9), states)) == list(states)[:2]
    assert list(keys(replace(power, start_ms=start + 1), (0, 9), states)) == list(states)[1:]


def test_another_question_has_another_key() -> None:
    states = {FIRST_MS: 0}
    base = Query(gpu.GPU_POWER, FIRST_MS, FIRST_MS + HOUR_MS - 1, points=9)
    tokens = replace(base, metric=engine.GENERATION_TOKENS)
    others = [
        base,
        tokens,
        replace(base, targets=frozenset({"a"})),
        replace(base, labels={"gpu": "0"}),
        replace(base, slowest_ms=5000),
        replace(base, quantile=0.9),
    ]
    found = {keys(query, (0, 9), states)[FIRST_MS] for query in others} | {keys(base, (0, 8), states)[FIRST_MS]}
    assert len(found) == len(others) + 1
    many = {FIRST_MS: 0, FIRST_MS - HOUR_MS: 0}
    totals = {
        keys(one, (0, 9), many)[FIRST_MS] for one in (replace(base, total=True), tokens, replace(tokens, rate=True))
    }
    assert len(totals) == 3
    assert keys(base, (0, 9), states) == keys(replace(base, end_ms=base.end_ms + 9), (0, 9), states)


def test_few_samples_come_one_by_one() -> None:
    """As many as points, or fewer: they are no bins, kept or not."""
    source, keeper = Memory(frame(DAY)), Keeping()
    query = question(gpu.GPU_POWER, 0, 1, width_ms=None, points=2 * PER_HOUR)
    (line, *_) = reader.read(query, source, keeper=keeper).lines
    assert (line.values is not None, keeper.nbytes) == (True, 0)
    assert reader.read(replace(query, points=2 * PER_HOUR - 1), source, keeper=keeper).lines[0].values is None
    assert keeper.nbytes == 0, "some are missing: it was not certain that there are more than points"
    assert reader.read(replace(query, points=PER_HOUR), source, keeper=keeper).lines[0].values is None
    assert keeper.nbytes > 0


def piece(start: int, count: int, value: float, *labels: str) -> Binned:
    told = np.full((len(labels), count), value)
    return Binned(
        tuple((("target", name),) for name in labels), start + np.arange(count) * 10, *[told] * 4, np.ones_like(told)
    )


def test_the_longest_unasked_leaves_first() -> None:
    size = piece(0, 4, 1.0, "a").nbytes + 2 * PER_LINE
    assert piece(0, 4, 1.0, "a").nbytes == 8 * 4 * 6
    kept = Kept(3 * size)
    for name in "abc":
        kept.put(name, piece(0, 4, 1.0, "a"))
    assert kept.nbytes == 3 * size
    assert kept.get("a") is not None
    kept.put("b", piece(0, 4, 2.0, "a"))
    assert kept.nbytes == 3 * size
    kept.put("d", piece(0, 4, 1.0, "a"))
    assert [name for name in "abcd" if kept.get(name)] == ["a", "b", "d"]
    kept.put("large", piece(0, 400, 1.0, "a"))
    assert (kept.nbytes, kept.get("large")) == (0, None), "what has no room at all"


def test_parts_of_one_bin_are_folded() -> None:
    query = Query(gpu.GPU_POWER, 0, 39, points=4)
    first = replace(piece(0, 2, 4.0, "a"), below=np.array([[1.0, 2.0]]), above=np.array([[4.0, 8.0]]))
    second = replace(
        piece(10, 2, 1.0, "a"),
        maximum=np.array([[9.0, 9.0]]),
        below=np.array([[3.0, 3.0]]),
        last=np.array([[NAN, 5.0]]),
    )
    third = piece(10, 1, 2.0, "b")
    found = joined([first, second, third], 0, (0, 10))
    assert found.t_ms.tolist() == [0, 10, 20]
    a, b = lines(query, found)
    assert (a.minimum is not None and a.minimum.tolist()) == [4.0, 1.0, 1.0]
    assert (a.maximum is not None and a.maximum.tolist()) == [4.0, 9.0, 9.0]
    assert (a.last is not None and a.last.tolist()) == [4.0, 4.0, 5.0]
    assert (a.mean is not None and a.mean.tolist()) == [4.0, 9 / 5, 1 / 3]
    assert (b.labels, b.mean is not None and np.isnan(b.mean).tolist()) == ({"target": "b"}, [True, False, True])


def test_of_nothing_there_are_no_lines() -> None:
    assert lines(Query(gpu.GPU_POWER, 0, 39, points=4), joined([empty(np.zeros(0, np.int64))], 0, (0, 10))) == []


@pytest.mark.parametrize(
    ("start", "end", "kept"), [(0, 0, True), (1, 0, False), (0, -1, False), (-1, 0, True), (-9, 9, True)]
)
def test_a_range_without_a_whole_hour_asks_for_no_states(start: int, end: int, kept: bool) -> None:
    hour = FIRST_MS + 2 * HOUR_MS
    query = Query(gpu.GPU_POWER, hour + start, hour + HOUR_MS - 1 + end, width_ms=600_000)
    source, keeper = Memory(frame(DAY)), Keeping()
    reader.read(query, source, keeper=keeper)
    assert (keeper.nbytes > 0) == kept
