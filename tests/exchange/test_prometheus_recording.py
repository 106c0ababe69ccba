"""The recorded benchmark: what a Prometheus that had scraped the same pages gives is what we would have stored live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from collectors.scrape.lines import is_known
from exchange.prometheus import work
from exchange.prometheus.client import Source
from exchange.prometheus.scrapes import name_of
from exchange.prometheus.work import IMPORTED, Range
from pipeline.ingest import Ingest
from storage.imports import Imports
from storage.store import open_store
from tests.exchange.servers import Known, serving
from tests.pipeline.replay import TARGET, recording, replayed

HOUR = 3_600_000
START = int(recording()[0].sent_ms) // HOUR * HOUR


def known() -> list[Known]:
    """Each line of the pages as a series."""
    found: dict[tuple[tuple[str, str], ...], list[tuple[int, float]]] = {}
    for scrape in recording():
        for family in text_string_to_metric_families(scrape.body.decode()):
            for sample in family.samples:
                if is_known(sample.name):
                    labels = {"__name__": sample.name, "job": "vllm", "instance": f"{TARGET}:8000", **sample.labels}
                    found.setdefault(tuple(labels.items()), []).append((int(scrape.sent_ms), float(sample.value)))
    return [Known(dict(labels), samples) for labels, samples in found.items()]


@pytest.fixture(scope="module", params=["prometheus", "victoria-metrics"])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Source]:
    with serving(request.param, tmp_path_factory.mktemp("source"), known()) as url:
        found = Source(url)
        yield found
        found.close()


def test_imported_is_as_if_recorded(source: Source, tmp_path: Path) -> None:
    wanted = Range(START, START + HOUR)
    found = work.discover(source, wanted, lambda instance, kind: name_of(instance, kind, {f"{TARGET}:8000": TARGET}))
    store = open_store(f"sqlite:///{tmp_path}/store.db", writer=True, now_ms=START)
    (outcome,) = work.run(source, Imports(store), found.scrapes, wanted, Ingest)
    frame = store.frame(lambda _: True, None, START, START + HOUR)
    kept = replayed(arrival=False).frame({series.metric for series in frame.series})
    assert set(frame.series) == set(kept.series)
    assert len(frame.series) > 60
    assert (outcome.what, outcome.samples) == (IMPORTED, int((~np.isnan(frame.values)).sum()))
    assert frame.ticks.tolist() == kept.ticks.tolist()
    for series, values, breaks in zip(kept.series, kept.values, kept.breaks, strict=True):
        row = frame.row(series)
        assert row is not None
        assert np.allclose(frame.values[row], values, rtol=1e-12, atol=1e-9, equal_nan=True), series
        assert frame.breaks[row].tolist() == breaks.tolist()
    assert np.nanmax(frame.values[[one.metric for one in frame.series].index("generation_tokens_total")]) > 1000
    store.close()
