"""The recorded benchmark (tests/data/bench): one vLLM server scraped once a second around `vllm bench serve`.

Pages are cut down to the families that the truth speaks of; `index.csv` says when each request was sent and how long
its answer took.
"""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collectors.scrape.text import PageReader
from pipeline.ingest import Ingest
from pipeline.window import Window
from storage.records import Offset
from telemetry.frame import Floats
from telemetry.model import Series

ARCHIVE = Path(__file__).parents[1] / "data" / "bench" / "pages.tar.xz"
TARGET = "head"


@dataclass(frozen=True)
class Recorded:
    """One scrape: when it was sent, when its last byte came, and what it said."""

    sent_ms: float
    arrived_ms: float
    body: bytes


@cache
def recording() -> tuple[Recorded, ...]:
    """All 191 scrapes in order."""
    with tarfile.open(ARCHIVE) as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive.getmembers()}  # type: ignore[union-attr]
    index = list(csv.DictReader(io.StringIO(files.pop("index.csv").decode())))
    scrapes = []
    for (name, body), row in zip(sorted(files.items()), index, strict=True):
        sent_ms = float(name.removesuffix(".prom"))
        assert abs(sent_ms - float(row["t_start"]) * 1000) <= 2, "page and row of the index are the same scrape"
        scrapes.append(Recorded(sent_ms, (float(row["t_start"]) + float(row["latency_s"])) * 1000, body))
    return tuple(scrapes)


@dataclass(frozen=True)
class Read:
    """What ingest made of one scrape: float64[series], counters unwrapped, and the steps it found."""

    scrape: Recorded
    tick: int
    series: tuple[Series, ...]
    values: Floats
    offsets: tuple[Offset, ...]


def readings() -> Iterator[Read]:
    """Every scrape, read as the collector reads it."""
    reader, ingest = PageReader(TARGET), Ingest(TARGET)
    for scrape in recording():
        page, tick = reader.read(scrape.body), int(scrape.sent_ms)
        reading = ingest.take(page, tick)
        yield Read(scrape, tick, page.layout.series, reading.values, tuple(reading.offsets))


def replayed(arrival: bool) -> Window:
    """The window that holds the whole recording, timed by arrival or by sending."""
    window = Window(3_600_000)
    for one in readings():
        at_ms = one.scrape.arrived_ms if arrival else one.scrape.sent_ms
        window.add(TARGET, one.tick, at_ms, one.series, one.values)
        window.add_steps((step.series, step.tick, step.reason) for step in one.offsets)
    return window
