"""One counter, one increase: rows, chunks, summaries, files and the API agree with what was really counted.

Two real pages are read at each tick: an engine's, which begins again five times (once in the dark, once with the hour)
and a node's, two 32-bit counters of which run over every few minutes. What happens is counted beside, as integers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from collectors.scrape.text import PageReader
from pipeline.ingest import Ingest
from pipeline.upkeep import HOT_MS
from runs.reader import StoreReader
from storage.records import Batch, Offset, Row, TargetRow
from storage.store import Store, open_store
from telemetry import reader
from telemetry.catalog import engine, network
from telemetry.counters import increase
from telemetry.model import Metric, Scope
from telemetry.query import Query
from telemetry.summary import HOUR_MS, hour_of
from tests.web.conftest import Web

STEP_MS = 30_000
START = 1_796_000_400_000
LAST = 400
"""3 h 20 min: three hours to seal, and a tail that begins in the middle of one."""
HOUR = HOUR_MS // STEP_MS
RESTARTS = frozenset({7, 119, 120, 200, 333})
"""Ticks before which the engine began again: twice running at the end of an hour, once while nobody looked."""
DARK = frozenset({*range(195, 206), *range(300, 303)})
"""Ticks at which no page was read."""
JOINS = 130
"""The tick at which the node's second function is first seen."""
WRAP = 2**32
TOKENS, LOSS = engine.GENERATION_TOKENS, network.FABRIC_LOSS
METRICS: Mapping[Metric, str] = {TOKENS: "head", LOSS: "n1"}
SEALED: Mapping[str, Sequence[int]] = {
    "rows": (),
    "some of each": (0, 2),
    "chunks": (0, 1, 2),
}
"""Forms of the same history: hours that are sealed. In the last, old rows are deleted as the collector deletes them."""
WINDOWS = [
    (0, LAST),
    (6, 7),
    (118, 120),
    (110, 131),
    (60, 250),
    (194, 206),
    (198, 204),
    (190, 310),
    (299, 303),
    (320, LAST),
]


def tick(number: int) -> int:
    return START + number * STEP_MS


def steps(number: int) -> dict[str, int]:
    """What each counter counts in the half minute before a tick."""
    idle = 195 <= number < 200  # what a life counts after its last reading is never known
    dark = 20 if number in DARK or number - 1 in DARK else 1  # nobody can know of more than one time around
    return {
        "head": 0 if idle else 100 + number * 37 % 501,
        "f0": number * 97_000_007 % 900_000_000 // dark,
        "f1": number * 7_000_003 % 800_000_000 // dark if number > JOINS else 0,
    }


@dataclass
class Machine:
    """What really happens, and what the pages say of it."""

    counted: dict[str, list[int]] = field(default_factory=lambda: {"head": [], "f0": [], "f1": []})
    raw: dict[str, int] = field(default_factory=lambda: {"head": 5000, "f0": WRAP - 900, "f1": 77})
    started_s: int = 1000

    def go(self, number: int) -> None:
        """Half a minute passes; at the first tick counters stand somewhere already."""
        if number in RESTARTS:
            self.raw["head"], self.started_s = 0, self.started_s + 100
        for name, step in steps(number).items():
            step = step if number else 0
            self.raw[name] += step
            self.counted[name].append(step + (self.counted[name][-1] if number else 0))

    def pages(self, number: int) -> dict[str, str]:
        tokens = f'vllm:generation_tokens_total{{engine="0",model_name="m"}} {self.raw["head"]}'
        loss = [
            f'tachograph_{LOSS.name}{{cage="p0",counter="out_of_sequence",function="{name}"}} {self.raw[name] % WRAP}'
            for name in (("f0", "f1") if number >= JOINS else ("f0",))
        ]
        return {"head": f"{tokens}\nprocess_start_time_seconds {self.started_s}\n", "n1": "\n".join(loss) + "\n"}

    def truth(self, metric: Metric, first: int, last: int) -> int:
        """What was counted from the last reading at or before one tick to the last at or before another."""
        names = ("head",) if metric is TOKENS else ("f0", "f1")
        begin, end = (max(number for number in range(at + 1) if number not in DARK) for at in (first, last))
        return sum(self.counted[name][end] - self.counted[name][begin] for name in names)


@dataclass
class Kept:
    """The history in one of its forms. `url` and `now` are what a web process over it needs to know."""

    url: str
    store: Store
    machine: Machine
    now: int = tick(LAST)


def read(store: Store, machine: Machine) -> None:
    """Read the machine at each tick, as the collector does."""
    scopes = {"head": Scope.ENGINE, "n1": Scope.NODE}
    readers = {name: (PageReader(name, scopes=(scope,)), Ingest(name)) for name, scope in scopes.items()}
    store.commit(
        Batch(targets=[TargetRow(name, "node", "", STEP_MS, "ok", "", START, START) for name in scopes]), START
    )
    rows, offsets = list[Row](), list[Offset]()
    for number in range(LAST + 1):
        machine.go(number)
        for name, body in machine.pages(number).items() if number not in DARK else ():
            page = readers[name][0].read(body.encode())
            found = readers[name][1].take(page, tick(number))
            layout = store.layout(name, page.layout.series)
            rows.append(Row(tick(number), name, tick(number), layout, found.values))
            offsets += found.offsets
        if number % 50 == 0 or number == LAST:
            store.commit(Batch(rows=rows, offsets=offsets), tick(number))
            rows, offsets = [], []


@pytest.fixture(scope="module", params=list(SEALED))
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    url = f"sqlite:///{tmp_path_factory.mktemp('one')}/store.db"
    store = open_store(url, writer=True, now_ms=START)
    found = Kept(url, store, Machine())
    read(store, found.machine)
    for name in METRICS.values():
        for hour in SEALED[request.param]:
            assert store.seal(name, hour_of(START) + hour * HOUR_MS, tick(LAST))
    if request.param == "chunks":
        assert store.prune(tick(LAST) - HOT_MS) == 2 * (LAST - 2 * HOUR)
    yield found
    store.close()


@pytest.fixture(scope="module")
def web(kept: Kept) -> Iterator[Web]:
    made = Web(kept)  # type: ignore[arg-type]
    made.process.sources.tail.follow()
    yield made
    made.close()


def test_the_story_has_restarts_and_wraps_everywhere(kept: Kept) -> None:
    reasons = [(one.target, one.reason, (one.tick - START) // STEP_MS) for one in kept.store.offsets(0, tick(LAST))]
    assert {at for target, reason, at in reasons if (target, reason) == ("head", "restart")} == {7, 119, 120, 206, 333}
    wraps = {at for target, reason, at in reasons if (target, reason) == ("n1", "wrap")}
    assert len(wraps) > 50
    assert hour_of(START) == START


@pytest.mark.parametrize("metric", METRICS)
def test_samples(kept: Kept, web: Web, metric: Metric) -> None:
    """From the store, from store and tail, and from the two ends of the window alone."""
    names = [metric.name]
    for first, last in WINDOWS:
        start, end = tick(first), tick(last)
        frames = [
            kept.store.frame(names, None, START, end),
            web.process.sources.frame(names, START, end),
            kept.store.ends(names, None, start, end),
            StoreReader(kept.store).ends(names, start, end),
        ]
        truth = kept.machine.truth(metric, first, last)
        assert [increase(frame, start, end).sum() for frame in frames] == [truth] * 4, (first, last)


def gained(told: Sequence[tuple[int, float | None]], first: int, last: int) -> float:
    """From the last value at or before one instant to the last at or before another."""
    known = [(at, value) for at, value in told if value is not None]
    begin, end = (max((one for one in known if one[0] <= tick(at)), default=known[0]) for at in (first, last))
    return float(end[1] - begin[1])


@pytest.mark.parametrize("metric", METRICS)
def test_what_a_page_and_a_file_show(web: Web, kept: Kept, metric: Metric) -> None:
    """The total, every sample of it."""
    asked = f"metric={metric.name}&total=1&start={START}&end={tick(LAST)}"
    (line,) = web.get(f"series?{asked}&points=5000")["series"]
    told = list(zip(line["t"], line["v"], strict=True))
    _, *rows = csv.reader(io.StringIO(web.client.get(f"/api/v1/export.csv?{asked}&raw=1").text))
    filed = [(row[0], float(row[-1])) for row in rows if row[-1]]
    assert filed == [(stamp(at), value) for at, value in told if value is not None]
    for first, last in WINDOWS:
        truth = kept.machine.truth(metric, first, last)
        assert gained(told, first, last) == truth, (first, last)
        if not DARK & {first, last}:
            window = f"metric={metric.name}&total=1&start={tick(first)}&end={tick(last)}&points=5000"
            (alone,) = web.get(f"series?{window}")["series"]
            assert alone["v"][-1] - alone["v"][0] == truth, "a page that shows this window only"


def stamp(at_ms: int) -> str:
    return f"{np.datetime64(at_ms, 'ms')}Z"


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dear", [False, True])
def test_bins_of_hours(web: Web, kept: Kept, metric: Metric, dear: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From samples and from summaries, on the screen and in a file."""
    if dear:
        monkeypatch.setattr(reader, "SWIFT_MS", 0.0)
        monkeypatch.setattr(reader, "PATIENT_MS", 0.0)
    asked = f"metric={metric.name}&total=1&start={START}&end={tick(LAST)}&step=1h"
    answer = web.get(f"series?{asked}")
    is_there_any = any(hour for hour in kept.store.sealed(0, tick(LAST)))
    assert answer["resolution"] == ("hours" if dear and is_there_any else "samples")
    (line,) = answer["series"]
    ends = [HOUR - 1, 2 * HOUR - 1, 3 * HOUR - 1, LAST]
    truth = [kept.machine.truth(metric, first, last) for first, last in zip([0, *ends], ends, strict=False)]
    assert np.diff([line["min"][0], *line["last"]]).tolist() == truth
    assert sum(truth) == kept.machine.truth(metric, 0, LAST)
    _, *rows = csv.reader(io.StringIO(web.client.get(f"/api/v1/export.csv?{asked}").text))
    assert [float(row[-1]) for row in rows] == line["last"]
    assert float(rows[0][-4]) == line["min"][0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("points", [3, 17, 100])
def test_bins_of_any_width(web: Web, kept: Kept, metric: Metric, points: int) -> None:
    """The last of each bin, less that of the bin before."""
    query = Query(metric, START, tick(LAST), points=points, total=True, slowest_ms=STEP_MS)
    (line,) = reader.read(query, web.process.sources).lines
    known = np.flatnonzero(~np.isnan(line.last))  # type: ignore[arg-type]
    width = int(line.t_ms[1] - line.t_ms[0])
    numbers = [min(int(line.t_ms[place] + width - 1 - START) // STEP_MS, LAST) for place in known]
    truth = [kept.machine.truth(metric, first, last) for first, last in zip([0, *numbers], numbers, strict=False)]
    found = np.diff([line.minimum[0], *line.last[known]])  # type: ignore[index]
    assert found.tolist() == truth
    assert found.sum() == kept.machine.truth(metric, 0, LAST)
