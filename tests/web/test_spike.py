"""A spike of one second in thirty days is in every zoom, as high as it was: from a chart of five minutes to a year's.

All hours are sealed. For the quick test most have few samples or none, but the spike is among samples of every second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from storage.imports import ImportedHour, Imports
from storage.records import Batch, Offset, TargetRow
from storage.store import open_store
from telemetry import reader
from telemetry.catalog import engine, gpu
from telemetry.frame import Floats, Ints
from telemetry.model import Series
from telemetry.query import Query
from telemetry.summary import HOUR_MS
from tests.web.conftest import Web

FIRST = 1_796_000_400_000
HOURS = 30 * 24
END = FIRST + HOURS * HOUR_MS
SPIKE_HOUR = 17 * 24 + 5
MINUTE_MS, DAY_MS = 60_000, 86_400_000
POWER = Series("spark-01", gpu.GPU_POWER.name, (("gpu", "0"),))
TOKENS = Series("spark-01", engine.GENERATION_TOKENS.name, (("engine", "0"), ("model", "m")))
WATTS, BURST = 987.654, 7777.0
ZOOMS = {
    "5 min": 5 * MINUTE_MS,
    "15 min": 15 * MINUTE_MS,
    "1 h": HOUR_MS,
    "6 h": 6 * HOUR_MS,
    "1 d": DAY_MS,
    "7 d": 7 * DAY_MS,
    "30 d": 30 * DAY_MS,
    "90 d": 90 * DAY_MS,
    "1 y": 365 * DAY_MS,
}


@dataclass
class Month:
    """What a web process needs to know, and the instant of the spike."""

    url: str
    spike: int
    now: int = END + 20 * MINUTE_MS


def written(path: Path, second: int, rare_s: int, every: int) -> Month:
    """Thirty days; the spike in this second of its hour. Elsewhere one hour of so many, and samples so far apart."""
    url = f"sqlite:///{path}/store.db"
    store = open_store(url, writer=True, now_ms=FIRST)
    imports, counted = Imports(store), 0.0
    for hour in range(HOURS):
        near = abs(hour - SPIKE_HOUR) <= 1
        if not near and hour % every:
            continue
        seconds = np.arange(0, 3600, 1 if near else rare_s, dtype=np.int64)
        watts = 50.0 + (seconds * 7 + hour) % 13 / 10
        tokens = counted + np.cumsum(np.full(len(seconds), 1.0))
        if hour == SPIKE_HOUR:
            watts[second], tokens[second:] = WATTS, tokens[second:] + BURST - 1
        counted = float(tokens[-1])
        assert imports.write(an_hour(FIRST + hour * HOUR_MS, seconds, watts, tokens))
    store.commit(Batch(targets=[TargetRow("spark-01", "node", "", 1000, "ok", "", FIRST, FIRST)]), END)
    store.close()
    return Month(url, FIRST + SPIKE_HOUR * HOUR_MS + second * 1000)


def an_hour(start: int, seconds: Ints, watts: Floats, tokens: Floats) -> ImportedHour:
    ticks, step = start + seconds * 1000, int(seconds[1] - seconds[0]) * 1000
    begins = [Offset(TOKENS.target, TOKENS.metric, TOKENS.labels, start, 0.0, "first sample")] if start == FIRST else []
    return ImportedHour("spark-01", start, ticks, (POWER, TOKENS), np.array([watts, tokens]), begins, step)


SHAPES = [
    pytest.param((0, 1200, 8), id="first second"),
    pytest.param((3599, 1200, 8), id="last second"),
    pytest.param((1800, 1, 1), id="every second", marks=pytest.mark.live),
]


@pytest.fixture(scope="module", params=SHAPES)
def month(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Month:
    """The spike in the first or last second of an hour; and a month of all its seconds."""
    return written(tmp_path_factory.mktemp("month"), *request.param)


@pytest.fixture(params=["as it comes", "far"])
def web(request: pytest.FixtureRequest, month: Month, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """As it comes; and from hours wherever those can serve."""
    if request.param == "far":
        monkeypatch.setattr(reader, "SWIFT_MS", 0.0)
        monkeypatch.setattr(reader, "PATIENT_MS", 0.0)
    made = Web(month)  # type: ignore[arg-type]
    yield made
    made.close()


def check(web: Web, month: Month) -> set[str]:
    """Look at every zoom, with the spike at the begin, within, and at the end of it; resolutions that were met."""
    met = set()
    for name, span in ZOOMS.items():
        for share in (0.31, 1.0, 0.0)[: 3 if span <= HOUR_MS else 1]:
            start = month.spike - int(span * share)
            met.add(shown(web, month, start, start + span, name))
    return met


def shown(web: Web, month: Month, start: int, end: int, name: str) -> str:
    asked = f"start={start}&end={end}&node=spark-01"
    answer = web.get(f"series?metric=gpu_power_watts&points=720&{asked}&stats=1")
    (line,) = answer["series"]
    values = line["v"] if "v" in line else line["max"]
    assert max(one for one in values if one is not None) == WATTS, name
    place = values.index(WATTS)
    assert line["t"][place] <= month.spike < line["t"][place] + answer["step_ms"], "where it was"
    assert line["stats"]["max"] == WATTS, "and in what is said of the whole stretch"
    assert len(values) <= 721
    found = reader.read(Query(gpu.GPU_POWER, start, end, points=100, total=True), web.process.sources)
    high = found.lines[0].maximum if found.lines[0].values is None else found.lines[0].values
    assert np.nanmax(high) == WATTS, "of a total that has one member"
    return str(answer["resolution"])


def test_in_every_zoom(web: Web, month: Month, request: pytest.FixtureRequest) -> None:
    met = check(web, month)
    dear = "far" in request.node.name or "every second" in request.node.name
    assert met == ({"samples", "hours"} if dear else {"samples"})


def test_a_burst_of_a_counter_is_in_every_zoom(web: Web, month: Month) -> None:
    """As the largest rate over ten seconds: the nine others count 1 each."""
    expected = (BURST + 9) / 10
    for name in ("1 h", "6 h", "1 d", "30 d", "1 y"):
        start = month.spike - ZOOMS[name] // 3
        asked = f"start={start}&end={start + ZOOMS[name]}&points=720"
        (line,) = web.get(f"series?metric=generation_tokens_total&rate=1&{asked}")["series"]
        values = line["v"] if "v" in line else line["max"]
        assert max(one for one in values if one is not None) == pytest.approx(expected, rel=1e-6), name
