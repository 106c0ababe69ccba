"""A server whose answers are in the form of Prometheus's, and hold what Prometheus would not say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from exchange.prometheus import work
from exchange.prometheus.client import Source
from exchange.prometheus.names import AGENT
from exchange.prometheus.scrapes import Place, Scrape
from exchange.prometheus.work import EMPTY, Outcome, Range
from pipeline.ingest import Ingest
from storage.imports import Imports
from storage.store import open_store
from telemetry.catalog import gpu
from tests.exchange.answers import Server, result

HOUR = 3_600_000
T0 = 1_767_225_600_000
WIRE = f"tachograph_{gpu.GPU_POWER.name}"
PAGE = Scrape(Place("j", "n:9810"), AGENT, "n", frozenset({WIRE}), frozenset({gpu.GPU_POWER.name}), {})


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def test_samples_of_no_name_are_nobodys(server: Server, tmp_path: Path) -> None:
    server.answer = result({"metric": {"job": "j", "gpu": "0"}, "values": [[T0 / 1000 + 1, "50"]]})
    with (
        closing(Source(server.url)) as source,
        closing(open_store(str(tmp_path / "store.db"), writer=True, now_ms=T0)) as store,
    ):
        found = list(work.run(source, Imports(store), [PAGE], Range(T0, T0 + HOUR), Ingest))
    assert found == [Outcome("n", T0, EMPTY)]


def test_a_count_that_is_none_counts_nothing(server: Server) -> None:
    counts = [[(T0 + k * HOUR) / 1000, count] for k, count in enumerate(["NaN", "7", "+Inf", "5"], start=1)]
    server.answer = result({"metric": {}, "values": counts})
    with closing(Source(server.url)) as source:
        assert work.counted(source, PAGE, Range(T0, T0 + 4 * HOUR)) == {T0 + HOUR: 7, T0 + 3 * HOUR: 5}
