"""The recorded benchmark and its client's own report: the file finds the run by itself, and both sides agree."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.api.benchmark_answers import Wish, answers, bring
from dashboard.report import content, markdown, page
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.benchmarks import reading
from pipeline import digest
from pipeline.chronicle import chronicle_of
from pipeline.inbox import Inbox
from pipeline.tail import Tail
from storage.records import Batch
from storage.store import Store, open_store
from tests.exchange import results
from tests.pipeline.test_chronicle_benchmark import EXTRA_S
from tests.runs import recorded

"""One setting up for all of them, in one process."""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the collector found the run."""
    scrapes = recorded.benchmark()
    tick, arrived, last = scrapes[-1]
    scrapes += [(tick + number, arrived + number, last) for number in range(1, EXTRA_S)]
    found = tmp_path_factory.mktemp("attach") / "store.db"
    with recorded.collected(found, scrapes):
        pass
    return found


@pytest.fixture(scope="module")
def sources(path: Path) -> Iterator[Sources]:
    """A reader of it, while a collector carries out what is asked; the run is settled."""
    writer = open_store(str(path), writer=True, now_ms=0)
    (run,) = writer.runs()
    assert digest.settle(writer, run)
    stop = threading.Event()
    thread = threading.Thread(target=_collect, args=(writer, stop))
    thread.start()
    reader = open_store(str(path), writer=False, now_ms=0)
    assert run.end_ms is not None
    late = run.end_ms + 3_600_000
    yield Sources(reader, Tail(reader), lambda: late)
    stop.set()
    thread.join()
    reader.close()
    writer.close()


def _collect(store: Store, stop: threading.Event) -> None:
    chronicle, inbox = chronicle_of(store), Inbox(store)
    while not stop.wait(0.02):
        inbox.fetch()
        told = chronicle.tick(1, {}, [], {}, inbox.take())
        store.commit(Batch(runs=list(told.runs.values()), parts=told.parts, commands=told.commands), 1)


@pytest.fixture(scope="module")
def attached(sources: Sources) -> Any:
    """The file, imported by nothing but what is in it."""
    numbers = RunNumbers(sources)
    (result,) = reading.read(results.recorded("vllm-bench-serve.json"), "bench.json")
    told, status = bring(sources, numbers, result, Wish())
    assert status == 200
    return told


@pytest.mark.live
def test_it_finds_the_run_by_itself(sources: Sources, attached: Any) -> None:
    assert (attached["run"], attached["new"], attached["how"]) == (1, False, "the same model and output tokens")
    assert [run.id for run in sources.store.runs()] == [1]


@pytest.mark.live
def test_both_sides_agree(sources: Sources, attached: Any) -> None:
    run = sources.store.run(1)
    assert run is not None
    (found,) = answers(sources, RunNumbers(sources), run)
    pairs = {one["client"]["key"]: (one["client"]["value"], one["server"]["value"]) for one in found["beside"]}
    assert pairs["output"] == (26_176, 26_176)
    assert pairs["completed"] == (260, 260)
    assert pairs["prompt"] == (33_702, 33_702)
    client, server = pairs["output_throughput"]
    assert server == pytest.approx(client, rel=0.005)
    client, server = pairs["tpot_mean"]
    assert server == pytest.approx(client, rel=0.03)
    differences = {one["client"]["key"]: one["difference"] for one in found["beside"]}
    assert (differences["peak"], differences["ttft_mean"], differences["itl_mean"]) == (None, None, None)
    assert differences["e2el_mean"] == pytest.approx(0.037, abs=0.003)


@pytest.mark.live
def test_its_report(sources: Sources, attached: Any) -> None:
    run = sources.store.run(1)
    assert run is not None
    found = content.gather(sources, RunNumbers(sources), run, "1.0")
    text = markdown.markdown(found)
    assert "| Output throughput | 198 tok/s | 198 tok/s |" in text
    assert "| TPOT, mean | 11.1 ms | 11.0 ms |" in text
    html = page.page(found).decode()
    assert 'data-key="requests.output" data-value="26176.0"' in html
    assert "Benchmark and engine" in html
    assert json.loads(html.partition('id="data">')[2].partition("</script>")[0])["span_ms"] == 140_000
