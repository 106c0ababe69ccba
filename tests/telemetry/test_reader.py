"""Answers read from a source: samples or hours, in slices, without a seam."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from telemetry import far, hours, near, reader
from telemetry.catalog import engine, gpu, ratios
from telemetry.frame import Floats, Frame
from telemetry.model import Metric, Ratio, Series, part
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS, Summaries
from tests.telemetry.frames import Numbers
from tests.telemetry.hours import FIRST_MS, PER_HOUR, STEP_S, frame, linear, question, told
from tests.telemetry.hours import hours as summaries
from tests.telemetry.questions import one
from tests.telemetry.sources import Memory

ALL = ("minimum", "maximum", "mean", "last")
POWER = one(gpu.GPU_POWER, gpu="0")
TOKENS = one(engine.GENERATION_TOKENS, "head")


def wave(count: int, seed: int = 0) -> list[float | None]:
    """Numbers in which some are missing."""
    return [None if place % 53 == 7 else float((place * (7 + seed)) % 101) for place in range(count)]


DAY: dict[Series, Numbers] = {
    POWER: wave(6 * PER_HOUR),
    one(gpu.GPU_POWER, "n2", gpu="0"): [*[None] * PER_HOUR, *wave(3 * PER_HOUR, 4), *[None] * (2 * PER_HOUR)],
    TOKENS: [float(value) for value in np.cumsum([(place * 7) % 11 for place in range(6 * PER_HOUR)]).tolist()],
    one(engine.GENERATION_TOKENS, "more"): [
        *[None] * (2 * PER_HOUR + 30),
        *linear(5, PER_HOUR),
        *[None] * 40,
        *linear(5, 3 * PER_HOUR - 70, 99_000),
    ],
}


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of some minutes."""
    monkeypatch.setattr(reader, "CELLS", 100)
    monkeypatch.setattr(reader, "SHORT_MS", 0)


def same(found: list[Line], expected: list[Line]) -> None:
    by_labels = {tuple(line.labels.items()): line for line in found}
    assert by_labels.keys() == {tuple(line.labels.items()) for line in expected}
    for line in expected:
        other = by_labels[tuple(line.labels.items())]
        assert other.t_ms.tolist() == line.t_ms.tolist()
        assert other.relation == line.relation
        for name in ("values", *ALL, "count"):
            one, two = getattr(other, name), getattr(line, name)
            assert (one is None) == (two is None), name
            if one is not None:
                assert np.allclose(one, two, rtol=1e-9, atol=1e-9, equal_nan=True), name


QUESTIONS: list[tuple[Metric | Ratio, dict[str, object]]] = [
    (gpu.GPU_POWER, {}),
    (gpu.GPU_POWER, {"total": True}),
    (engine.GENERATION_TOKENS, {}),
    (engine.GENERATION_TOKENS, {"total": True}),
    (engine.GENERATION_TOKENS, {"rate": True}),
    (engine.GENERATION_TOKENS, {"rate": True, "total": True}),
    (ratios.DECODE_TPS, {}),
]


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("resolution", [{}, {"points": 40}, {"points": 2000}, {"width_ms": 600_000}])
@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_slices_are_joined_to_what_one_reading_gives(
    metric: Metric | Ratio, more: dict[str, object], resolution: dict[str, object]
) -> None:
    source = Memory(frame(DAY))
    query = question(metric, 0.4, 4.4, **{"width_ms": None} | more | resolution)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    source.read.clear()
    found = reader.read(query, source)
    assert len(source.read) > 5 or not resolution, "it was cut"
    assert found.resolution == "samples"
    assert found.step_ms == (10_000 if expected[0].values is not None else np.diff(expected[0].t_ms)[0])
    same(found.lines, expected)


@pytest.mark.usefixtures("small_slices")
def test_percentiles_in_slices() -> None:
    edges = {"1": 3, "4": 7, "+Inf": 9}
    rows: dict[Series, Numbers] = {
        one(part(engine.TTFT, "bucket"), "head", le=edge): linear(rate / 10, 3 * PER_HOUR)
        for edge, rate in edges.items()
    }
    source = Memory(frame(rows))
    query = question(engine.TTFT, 0.4, 1.4, width_ms=None, points=30)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    same(reader.read(query, source).lines, expected)
    assert len(source.read) > 3


def test_short_ranges_are_read_at_once_and_whole() -> None:
    source = Memory(frame(DAY))
    query = question(gpu.GPU_POWER, 0, 1, width_ms=None, points=50)
    assert (reader.read(query, source).resolution, len(source.read)) == ("samples", 1)
    (line, _) = reader.read(question(gpu.GPU_POWER, 0, 0.1, width_ms=None, points=5000), source).lines
    assert line.values is not None
    assert reader.read(question(gpu.GPU_TEMPERATURE, 0, 1, width_ms=None, points=5), source).lines == []


def test_every_sample_if_so_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "SWIFT_MS", 0.0)
    source = Memory(frame(DAY), forgotten=[FIRST_MS])
    found = reader.read(question(gpu.GPU_POWER, 0, 5, width_ms=None), source)
    assert (found.resolution, found.step_ms) == ("samples", 10_000)
    assert len(found.lines[0].t_ms) == 5 * PER_HOUR


@pytest.fixture
def dear(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which samples cannot be afforded."""
    monkeypatch.setattr(reader, "SWIFT_MS", 0.0)
    monkeypatch.setattr(reader, "PATIENT_MS", 0.0)


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("open_hours", [[], [5], [4, 5], [1], [1, 4, 5], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_hours_that_are_not_sealed_leave_no_seam(
    metric: Metric | Ratio, more: dict[str, object], open_hours: list[int]
) -> None:
    samples = frame(DAY)
    query = question(metric, 0, 5, **more)
    expected = far.answer(query, summaries(samples))
    source = Memory(samples, unsealed=[FIRST_MS + hour * HOUR_MS for hour in open_hours])
    found = reader.read(query, source)
    if len(open_hours) < 6:
        assert (found.resolution, found.step_ms) == ("hours", HOUR_MS)
        same(found.lines, expected)
    else:
        assert found.resolution == "samples", "all of it has to be read in any case"


class Sealing(Memory):
    """A source whose open hours are sealed after the first question for summaries, or the state that it was one of."""

    held = False

    @contextmanager
    def one_state(self) -> Iterator[None]:
        self.held = True
        yield
        self.held = False
        self.open = []

    def summaries(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Summaries:
        found = super().summaries(metrics, start_ms, end_ms, targets)
        if not self.held:
            self.open = []
        return found


@pytest.mark.usefixtures("dear")
def test_a_stated_width_is_kept() -> None:
    source = Memory(frame(DAY), forgotten=[FIRST_MS])
    for width, resolution in ((HOUR_MS, "hours"), (2 * HOUR_MS, "hours"), (HOUR_MS - 10_000, "samples")):
        found = reader.read(question(gpu.GPU_POWER, 0, 5, width_ms=width), source)
        assert (found.resolution, found.step_ms) == (resolution, width)
        assert np.diff(found.lines[0].t_ms).tolist() == [width] * (len(found.lines[0].t_ms) - 1)


@pytest.mark.usefixtures("dear")
def test_an_hour_that_is_sealed_meanwhile_is_not_lost() -> None:
    samples = frame(DAY)
    query = question(gpu.GPU_POWER, 0, 5)
    source = Sealing(samples, unsealed=[FIRST_MS + 5 * HOUR_MS])
    found = reader.read(query, source)
    assert source.open == []
    assert found.resolution == "hours"
    same(found.lines, far.answer(query, summaries(samples)))


@pytest.mark.usefixtures("dear")
def test_the_open_hour_is_known_up_to_its_newest_sample() -> None:
    """20 minutes into the hour both nodes were read all along."""
    rows: dict[Series, Numbers] = {
        POWER: [30.0] * (4 * PER_HOUR + 120),
        one(gpu.GPU_POWER, "n2", gpu="0"): [50.0 if place % 2 else None for place in range(4 * PER_HOUR + 120)],
    }
    samples = frame(rows)
    query = question(gpu.GPU_POWER, 0, 4, total=True, labels={"gpu": "0"})
    (line,) = reader.read(query, Memory(samples, unsealed=[FIRST_MS + 4 * HOUR_MS])).lines
    assert line.mean[-1] == pytest.approx(80, rel=0.01)  # type: ignore[index]
    late = Memory(samples, unsealed=[FIRST_MS + HOUR_MS])
    assert hours.complete(query, late, hours.sealed(query, late)).until_ms is None


def test_what_was_forgotten_is_told_by_hours() -> None:
    source = Memory(frame(DAY), forgotten=[FIRST_MS])
    found = reader.read(question(gpu.GPU_POWER, 0, 5, width_ms=None, points=100), source)
    assert found.resolution == "hours"
    assert len(found.lines[0].t_ms) == 6
    assert reader.read(question(gpu.GPU_POWER, 1, 5, width_ms=None, points=100), source).resolution == "samples"
    short = reader.read(question(gpu.GPU_POWER, 0, 0.2, width_ms=None, points=100), source)
    assert (short.resolution, len(short.lines[0].t_ms)) == ("hours", 2)


@pytest.mark.parametrize(
    ("metric", "more", "hour_bins", "resolution"),
    [
        (gpu.GPU_POWER, {}, 6, "samples"),
        (gpu.GPU_POWER, {}, 60, "hours"),
        (gpu.GPU_POWER, {"total": True, "labels": {"gpu": "0"}}, 60, "samples"),
        (gpu.GPU_POWER, {"total": True}, 60, "hours"),
        (ratios.DECODE_TPS, {}, 60, "hours"),
        (ratios.DECODE_TPS, {"total": True}, 60, "samples"),
        (ratios.STREAM_TPS, {}, 60, "samples"),
        (engine.GENERATION_TOKENS, {"total": True}, 60, "hours"),
    ],
)
def test_hours_serve_where_they_tell_enough(
    monkeypatch: pytest.MonkeyPatch, metric: Metric | Ratio, more: dict[str, object], hour_bins: int, resolution: str
) -> None:
    """Samples may take longer where hours make few points, or leave extremes open."""
    names = {gpu.GPU_POWER: ("n1", "n2"), engine.GENERATION_TOKENS: ("a", "b"), engine.REQUESTS_RUNNING: ("a", "b")}
    rows: dict[Series, Numbers] = {
        one(stored, target, **dict.fromkeys(stored.by, "0")): [1.0] * (hour_bins * 12)
        for stored, targets in names.items()
        for target in targets
    }
    source = Memory(frame(rows, at_s=[300.0 * place for place in range(hour_bins * 12)]))
    cells = 2 * 12 * hour_bins * (2 if metric is ratios.STREAM_TPS else 1)
    cost = cells * (reader.QUOTIENT_NS if question(metric, 0, 1, **more).lead_ms else reader.STORED_NS) / 1e6
    monkeypatch.setattr(reader, "SWIFT_MS", cost * 0.99)
    monkeypatch.setattr(reader, "PATIENT_MS", cost * 1.01)
    query = question(metric, 0, hour_bins - 1, **{"width_ms": None, "points": 500} | more)
    assert reader.read(query, source).resolution == resolution
    monkeypatch.setattr(reader, "PATIENT_MS", cost * 0.99)
    assert reader.read(query, source).resolution == "hours"


@pytest.mark.parametrize("points", [None, 20])
@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_streams_hold_what_one_reading_gives(
    metric: Metric | Ratio, more: dict[str, object], points: int | None
) -> None:
    source = Memory(frame(DAY))
    width = None if points is None else 1_200_000
    query = question(metric, 1 / 3, 4 + 1 / 3, **{"width_ms": width} | more)
    expected = reader.read(query, source).lines
    bounds = [(start, start + 1_199_999) for start in range(query.start_ms, query.end_ms, 1_200_000)]
    pieces = list(reader.stream(query, source, bounds))
    assert len(pieces) == 15
    for line in expected:
        ticks, values = [], []
        for piece in pieces:
            assert all(other.t_ms is piece[0].t_ms for other in piece)
            for other in piece:
                if other.labels == line.labels:
                    ticks += other.t_ms.tolist()
                    values += (other.values if points is None else other.maximum).tolist()  # type: ignore[union-attr]
        whole = line.values if points is None else line.maximum
        known = ~np.isnan(whole)  # type: ignore[arg-type]
        assert np.array(ticks)[~np.isnan(values)].tolist() == line.t_ms[known].tolist()
        assert np.array(values)[~np.isnan(values)] == pytest.approx(whole[known])  # type: ignore[index]


def test_a_stream_reads_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CELLS", 2 * PER_HOUR)
    source = Memory(frame(DAY))
    query = question(gpu.GPU_POWER, 0, 5, width_ms=None)
    assert [(start - FIRST_MS, end - FIRST_MS) for start, end in reader.slices(query, source)] == [
        (hour * HOUR_MS, hour * HOUR_MS + HOUR_MS - 1) for hour in range(6)
    ]
    stream = reader.stream(query, source)
    assert source.read == []
    assert len(next(stream)[0].t_ms) == PER_HOUR
    assert len(source.read) == 1
    assert len(list(stream)) == 5


def test_slices_hold_whole_bins_and_more_than_what_leads_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CELLS", 1)
    source = Memory(frame(DAY))
    query = question(ratios.DECODE_TPS, 0.3, 5, width_ms=700_000)
    found = reader.slices(query, source)
    assert all(start % 700_000 == 0 for start, _ in found[1:])
    assert (found[0][0], found[-1][1]) == (query.start_ms, query.end_ms)
    assert all(before[1] + 1 == after[0] for before, after in pairwise(found))
    narrow = reader.slices(replace(query, width_ms=None), source)
    assert narrow[1][0] - narrow[0][1] == 1
    assert narrow[1][1] - narrow[1][0] + 1 == reader.LEADS * query.lead_ms
    assert reader.slices(query, Memory(frame({POWER: [1.0]})))[1][0] % 700_000 == 0


def test_a_spike_of_one_second_is_in_every_zoom() -> None:
    """30 days of four samples an hour, one of them a spike: equal to the raw value from a minute to the whole month."""
    count, at = 30 * 24 * 4, 1777
    values: list[float | None] = [50.0 + place % 3 for place in range(count)]
    values[at] = 123.456
    samples = frame({POWER: values}, at_s=[900.0 * place for place in range(count)])
    source = Memory(samples, unsealed=[FIRST_MS + 719 * HOUR_MS])
    instant = int(samples.ticks[at])
    span, seen = 60_000, set()
    while span < 31 * 86_400_000:
        for share in (0.0, 0.37, 1.0):
            start = instant - round(span * share)
            found = reader.read(Query(gpu.GPU_POWER, start, start + span, points=720), source)
            (line,) = found.lines
            shown = line.values if line.values is not None else line.maximum
            assert np.nanmax(shown) == 123.456  # type: ignore[arg-type]
            place = int(np.nanargmax(shown))  # type: ignore[arg-type]
            assert line.t_ms[place] <= instant < line.t_ms[place] + max(found.step_ms, 900_000)
            seen.add((found.resolution, line.values is None))
        span = span * 3 // 2
    assert len(seen) >= 2


def test_lines_of_any_kind_are_told_by_name() -> None:
    assert told(Line({}, np.array([1]), np.array([2.0])), "values") == [[2.0]]
    assert STEP_S * PER_HOUR == 3600


@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_pieces_of_a_reading_are_its_whole(
    metric: Metric | Ratio, more: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is read at once may be worked on in parts, with what leads to them; a total of counters is not."""
    source = Memory(frame(DAY))
    query = question(metric, 0.4, 4.4, **{"width_ms": None, "points": 40} | more)
    expected = near.answer(query, source.frame(query.stored(), query.start_ms - query.lead_ms, query.end_ms), 10_000)
    pieces: list[Query] = []

    def counting(query: Query, *given: object) -> near.Block:
        pieces.append(query)
        return near.evaluate(query, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "CACHED", 200)
    monkeypatch.setattr(reader, "evaluate", counting)
    monkeypatch.setattr(reader, "SHORT_MS", 6 * HOUR_MS)
    source.read.clear()
    same(reader.read(query, source).lines, expected)
    assert len(source.read) == 1
    assert (len(pieces) == 1) == (query.total and query.metric is engine.GENERATION_TOKENS and not query.rate)
    assert (pieces[0].start_ms, pieces[-1].end_ms) == (query.start_ms, query.end_ms)
    assert all(before.end_ms + 1 == after.start_ms for before, after in pairwise(pieces))


@pytest.mark.parametrize(("metric", "more"), QUESTIONS)
def test_slices_without_samples_are_left_out(metric: Metric | Ratio, more: dict[str, object]) -> None:
    rows: dict[Series, Numbers] = {
        one(stored, "head"): [1.0, 2.0, 3.0] for stored in (gpu.GPU_POWER, engine.GENERATION_TOKENS)
    }
    source = Memory(frame(rows, at_s=[0, 10, 7300]))
    query = question(metric, 0, 3, **{"width_ms": None} | more)
    bounds = [(FIRST_MS + hour * HOUR_MS, FIRST_MS + hour * HOUR_MS + HOUR_MS - 1) for hour in range(4)]
    pieces = list(reader.stream(query, source, bounds))
    assert [(piece[0].t_ms - FIRST_MS).tolist() for piece in pieces] == [[0, 10_000], [7_300_000]]


class LetGo(Memory):
    """Sees that of what it hands over nothing is left when it is asked for more."""

    def __init__(self, *args: object, **more: object) -> None:
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.given: list[weakref.ref[Floats]] = []

    def frame(
        self, metrics: Collection[str], start_ms: int, end_ms: int, targets: Collection[str] | None = None
    ) -> Frame:
        assert [one() for one in self.given if one() is not None] == []
        found = super().frame(metrics, start_ms, end_ms, targets)
        self.given += [weakref.ref(found.values), weakref.ref(found.at_ms)]
        return found


def test_a_piece_that_looks_back_is_twice_as_long_and_let_go_of_before_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "CELLS", 2 * PER_HOUR + 9)
    samples = frame({TOKENS: linear(5.0, 12 * PER_HOUR)})
    source = LetGo(samples)
    query = question(engine.GENERATION_TOKENS, 0, 11, width_ms=None, points=60, rate=True)
    found = reader.read(query, source)
    starts = [start + query.lead_ms for start, _ in source.read]
    assert starts == [FIRST_MS + hour * HOUR_MS for hour in (0, 3, 7, 11)], "cut at multiples of four hours"
    same(found.lines, near.answer(query, samples, 10_000))
    assert [start for start, _ in reader.slices(query, source)] == starts
