"""The recorded benchmark, replayed through the collector over HTTP: one run in the store, with its numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pipeline import digest
from runs.entries import Section, find
from runs.fingerprint import Fingerprint
from storage.records import RunFilter
from storage.store import Store, open_store
from telemetry.catalog import cluster
from tests.runs import recorded

"""One setting up for all of them, in one process."""

EXTRA_S = 65
"""Longer than the silence that ends a run."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    scrapes = recorded.benchmark()
    tick, arrived, last = scrapes[-1]
    scrapes += [(tick + number, arrived + number, last) for number in range(1, EXTRA_S)]
    path = tmp_path_factory.mktemp("chronicle") / "store.db"
    with recorded.collected(path, scrapes):
        pass
    opened = open_store(str(path), writer=True, now_ms=0)
    yield opened
    opened.close()


def test_one_run_with_exact_tokens(store: Store) -> None:
    runs = store.runs()
    assert [(run.id, run.deployment, run.name, run.began, run.ended, run.by, run.model) for run in runs] == [
        (1, "tiny-llama", "tiny-llama #1", "tokens flowed", "nothing happened for 60 s", "found", "tiny-llama")
    ]
    (run,) = runs
    assert run.end_ms is not None
    assert run.end_ms - run.start_ms == pytest.approx(132_000, abs=1500)
    assert [(one.target, one.engine, one.model) for one in run.engines] == [("head", "0", "tiny-llama")]
    assert store.marks(1) == []
    assert store.runs(RunFilter(live=True)) == []
    assert [one.id for one in store.unsettled_runs(digest.SUMMARY)] == [1]
    assert digest.settle(store, run)
    assert store.unsettled_runs(digest.SUMMARY) == []


def test_what_is_kept_of_it(store: Store) -> None:
    (run,) = store.runs()
    digest.settle(store, run)
    part = store.run_part(1, digest.SUMMARY)
    assert part is not None
    revision, told = part
    sections = [Section.from_json(one) for one in told["sections"]]
    assert (revision, told["start"], told["end"], told["cut"]) == (0, run.start_ms, run.end_ms, "")
    values = {path: find(sections, path) for path in ("requests.output", "requests.finished", "speed.decode_mean")}
    assert {path: one and one.value for path, one in values.items()} == {
        "requests.output": 26_176,
        "requests.finished": 260,
        "speed.decode_mean": pytest.approx(198.3, rel=0.005),
    }
    head = store.run_parts(digest.HEADLINE, [1])[1]
    assert head["requests.output"] == 26_176
    assert head["speed.decode_peak"] == pytest.approx(262, rel=0.02)
    assert head["nodes.took_part"] == 0
    printed = store.run_part(1, digest.FINGERPRINT)
    assert printed is not None
    model = Fingerprint.from_json(printed[1]).find("model")
    assert model is not None
    assert model.value == "tiny-llama"
    events = store.run_part(1, digest.EVENTS)
    assert events == (0, [])


def test_charts_of_ten_seconds(store: Store) -> None:
    (run,) = store.runs()
    digest.settle(store, run)
    part = store.run_part(1, digest.CHARTS)
    assert part is not None
    told = part[1]
    assert (told["start"], told["step_ms"]) == (run.start_ms, 10_000)
    lines = {(one["target"], one["metric"]): one["v"] for one in told["series"]}
    decode = lines["deployment/tiny-llama", cluster.RECORDED_DECODE.name]
    assert len(decode) == 14
    known = [value for value in decode if value is not None]
    assert max(known) == pytest.approx(262, rel=0.1)
