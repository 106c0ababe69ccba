"""Samples in chunks, in rows and in the tail: whatever is where, parts make the whole.

Arbitrary numbers with gaps and restarts over four hours, any hours of which are sealed, read as the web reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.sources import Sources
from pipeline.tail import Tail
from pipeline.upkeep import HOT_MS
from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry import reader
from telemetry.catalog import engine, gpu
from telemetry.counters import increase
from telemetry.frame import Floats
from telemetry.model import Series
from telemetry.query import Line, Query
from telemetry.summary import HOUR_MS

START, STEP_S, COUNT = 1_796_000_400_000, 240, 55
STEP_MS = STEP_S * 1000
POWER = Series("n1", gpu.GPU_POWER.name, (("gpu", "0"),))
ENGINE = Series("e", engine.REQUESTS_RUNNING.name, (("engine", "0"), ("model", "m")))
TOKENS = Series("n1", engine.GENERATION_TOKENS.name, (("engine", "0"), ("model", "m")))
END = START + (COUNT - 1) * STEP_MS


@dataclass(frozen=True)
class Case:
    """A history: watts and what a counter gained, None where it was not known; ticks that were not read at all."""

    watts: list[float | None]
    gained: list[int | None]
    away: set[int]
    restarts: set[int]
    sealed: set[int]
    cuts: list[int] = field(default_factory=list)

    def counted(self) -> Floats:
        total, line = 0, []
        for step in self.gained:
            total += step or 0
            line.append(np.nan if step is None else float(total))
        return np.array(line)

    def levels(self) -> Floats:
        return np.array([np.nan if one is None else one for one in self.watts])

    def there(self, values: Floats) -> Floats:
        """The values, unknown where the target was not read."""
        return np.where([number in self.away for number in range(COUNT)], np.nan, values)


def lists(of: st.SearchStrategy[object]) -> st.SearchStrategy[list[object]]:
    return st.lists(st.none() | of, min_size=COUNT, max_size=COUNT)


NUMBERS = st.sets(st.integers(0, COUNT - 1), max_size=12)
CASES = st.builds(
    Case,
    lists(st.floats(-1e6, 1e6)),
    lists(st.integers(0, 10**9)),
    NUMBERS,
    NUMBERS,
    st.sets(st.integers(0, 2)),
    st.lists(st.integers(0, COUNT), min_size=1, max_size=5),
)


def write(store: Store, case: Case) -> None:
    layout = store.layout("n1", (POWER, TOKENS))
    values = np.stack((case.levels(), case.counted()), axis=1)
    rows = [
        Row(START + n * STEP_MS, "n1", START + n * STEP_MS, layout, values[n])
        for n in range(COUNT)
        if n not in case.away
    ]
    steps = [Offset("n1", TOKENS.metric, TOKENS.labels, START + n * STEP_MS, 0.0, "restart") for n in case.restarts]
    target = TargetRow("n1", "node", "", STEP_MS, "ok", "", START, START)
    store.commit(Batch(rows=rows, offsets=steps, targets=[target]), START)
    for hour in case.sealed:
        store.seal("n1", START + hour * HOUR_MS, END)
    store.prune(END - HOT_MS)


def lines(case: Case, sources: Sources, metric: object, patience_ms: float, **more: object) -> list[Line]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "SWIFT_MS", patience_ms)
        patch.setattr(reader, "PATIENT_MS", patience_ms)
        query = Query(metric, START, START + 4 * HOUR_MS - 1, slowest_ms=STEP_MS, **more)  # type: ignore[arg-type]
        return reader.read(query, sources).lines


@settings(max_examples=5, deadline=None, derandomize=True)
@given(CASES)
def test_parts_make_the_whole(case: Case) -> None:
    play(case)


@pytest.mark.live
@settings(max_examples=150, deadline=None)
@given(CASES)
def test_parts_of_many_histories_make_the_whole(case: Case) -> None:
    play(case)


def play(case: Case) -> None:
    """Check one history."""
    with TemporaryDirectory() as folder:
        store = open_store(str(Path(folder) / "store.db"), writer=True, now_ms=START)
        try:
            write(store, case)
            sources = Sources(store, Tail(store), lambda: END)
            sources.tail.follow()
            check_increases(case, store, sources)
            check_bins(case, sources)
            check_hours(case, sources)
            check_tested(sources)
            assert store.verify().faults == []
        finally:
            store.close()


def check_increases(case: Case, store: Store, sources: Sources) -> None:
    """Over any split of a range they add up to the whole, which is what was counted."""
    known = case.there(case.counted())
    known = known[~np.isnan(known)]
    bounds = [START - 1, *sorted(START + cut * STEP_MS for cut in case.cuts), START + COUNT * STEP_MS]
    for frame in (sources.frame([TOKENS.metric], START, END), store.frame([TOKENS.metric], None, START, END)):
        parts = [np.nansum(increase(frame, *part)) for part in pairwise(bounds)]
        assert sum(parts) == (known[-1] - known[0] if len(known) else 0)
        ends = [np.nansum(increase(store.ends([TOKENS.metric], None, *part), *part)) for part in pairwise(bounds)]
        assert ends == parts


def check_tested(sources: Sources) -> None:
    """Series that pass a test, wherever they are kept, are those that are asked for by name."""
    for start in (START, END - HOUR_MS // 2):
        named = sources.frame([POWER.metric], start, END)
        tested = sources.frame(lambda series: series.metric == POWER.metric, start, END)
        assert (tested.series, tested.ticks.tolist()) == (named.series, named.ticks.tolist())
        assert np.array_equal(tested.values, named.values, equal_nan=True)
        assert np.array_equal(tested.at_ms, named.at_ms, equal_nan=True)
    none = sources.frame(lambda _: False, START, END)
    assert none.series == ()


def check_bins(case: Case, sources: Sources) -> None:
    """Least ≤ mean ≤ most, each that of the samples."""
    watts = case.there(case.levels())
    for width in (STEP_MS, 3 * STEP_MS, 2 * HOUR_MS):
        found = lines(case, sources, gpu.GPU_POWER, 1e9, width_ms=width)
        compare(found, watts, width)


def check_hours(case: Case, sources: Sources) -> None:
    """Bins of hours, and of two of them: from summaries what the samples say."""
    watts = case.there(case.levels())
    for width in (HOUR_MS, 2 * HOUR_MS):
        compare(lines(case, sources, gpu.GPU_POWER, 0.0, width_ms=width), watts, width)
    totals = [lines(case, sources, engine.GENERATION_TOKENS, patience, width_ms=HOUR_MS) for patience in (0.0, 1e9)]
    for one, two in zip(*totals, strict=True):
        assert np.array_equal(known_of(one.last), known_of(two.last))


def known_of(values: Floats | None) -> Floats:
    assert values is not None
    return values[~np.isnan(values)]


def compare(found: list[Line], watts: Floats, width: int) -> None:
    if np.isnan(watts).all():
        assert all(np.isnan(line.mean).all() for line in found)  # type: ignore[arg-type]
        return
    (line,) = found
    assert line.minimum is not None
    assert line.maximum is not None
    assert line.mean is not None
    at = START + np.arange(COUNT) * STEP_MS
    for place, start in enumerate(line.t_ms.tolist()):
        inside = watts[(at >= start) & (at < start + width)]
        inside = inside[~np.isnan(inside)]
        low, mean, high = line.minimum[place], line.mean[place], line.maximum[place]
        if not len(inside):
            assert np.isnan([low, mean, high]).all()
            continue
        assert (low, high) == (inside.min(), inside.max())
        assert mean == pytest.approx(inside.mean(), rel=1e-9, abs=1e-6)
        assert low - 1e-6 <= mean <= high + 1e-6


def test_ticks_of_others_are_none_of_a_question(tmp_path: Path) -> None:
    """A node that is read every five seconds, 100 W and from second 32 on 200 W, beside an engine that is read every
    second: where the numbers come from, there are as many, and the mean of a minute is of the node's own readings."""
    second = [START + at * 1000 for at in range(60)]
    with_store = open_store(str(tmp_path / "s.db"), writer=True, now_ms=START)
    layouts = {name: with_store.layout(name, (one,)) for name, one in (("n1", POWER), ("e", ENGINE))}
    rows = [Row(at, "e", at, layouts["e"], [1.0]) for at in second]
    rows += [Row(at, "n1", at, layouts["n1"], [100.0 if at < second[32] else 200.0]) for at in second[::5]]
    targets = [TargetRow(name, "node", "", 5000 if name == "n1" else 1000, "ok", "", 0, 0) for name in ("n1", "e")]
    with_store.commit(Batch(rows=rows, targets=targets), second[-1])
    tail = Tail(with_store)
    found: list[list[float]] = []
    for loaded in (False, True):
        if loaded:
            tail.follow()
        sources = Sources(with_store, tail, lambda: second[-1])
        assert (sources.seam() is not None) is loaded
        for total in (False, True):
            for metrics in ({POWER.metric}, lambda one: one == POWER):
                assert sources.frame(metrics, second[0], second[-1]).ticks.tolist() == second[::5]
            query = Query(gpu.GPU_POWER, second[0], second[-1], width_ms=60_000, total=total, slowest_ms=5000)
            (line,) = reader.read(query, sources).lines
            assert line.mean is not None
            found.append(line.mean.tolist())
        (sheet,) = (one for *_, one in sources.sheets([POWER.metric], [(second[0], second[-1])]))
        assert sheet.ticks.tolist() == second[::5]
    with_store.close()
    assert found == [[(7 * 100.0 + 5 * 200.0) / 12]] * 4
