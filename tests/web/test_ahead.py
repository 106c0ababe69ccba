"""Long runs that go on are worked out before anybody opens them."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dashboard.ahead import DEAR_MS, LONG_MS, Ahead
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.model import Run
from storage.records import Batch
from storage.store import Store, open_store
from tests.storage.worlds import NOW
from tests.web.summary_worlds import LENGTH_S, MEMBER, fill

END = NOW + LENGTH_S * 1000


@pytest.fixture
def store(tmp_path: object) -> Iterator[Store]:
    store = open_store(f"{tmp_path}/store.db", writer=True, now_ms=NOW)
    fill(store, 4)
    starts = {"ended": (NOW + 500_000, END - 9000), "long": (NOW + 700_000, None), "short": (END - LONG_MS, None)}
    runs = [Run(n, name, name, *starts[name], engines=(MEMBER,)) for n, name in enumerate(starts, 1)]
    store.commit(Batch(runs=runs), END)
    yield store
    store.close()


class Noting(RunNumbers):
    """Notes what it works out, and says that it took as long as it is told."""

    worked_out: list[str]
    took_ms = 1.0

    def ahead(self, run: Run) -> float:
        """As it is."""
        self.worked_out.append(run.deployment)
        super().ahead(run)
        return self.took_ms


def test_a_long_run_that_goes_on_is_known_before_anybody_asks(store: Store) -> None:
    tail = Tail(store)
    sources = Sources(store, tail, lambda: END)
    numbers = Noting(sources)
    numbers.worked_out = []
    ahead = Ahead(sources, numbers)
    assert not ahead.step(), "the tail is not loaded"
    assert numbers.worked_out == []
    tail.follow()
    assert ahead.step()
    assert numbers.worked_out == ["long"]
    (kept,) = numbers._kept.values()
    (run,) = (one for one in store.runs() if one.deployment == "long")
    assert kept.numbers.sections == RunNumbers(sources).of(run).sections
    assert numbers.of(run) is kept.numbers
    numbers.took_ms = DEAR_MS + 1
    assert ahead.step()
    assert ahead.step()
    assert numbers.worked_out == ["long"] * 2, "it is longer than what is kept of it"


def test_it_goes_on_beside_the_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.ahead.FIRST_S", 0.01)
    tail = Tail(store)
    tail.follow()
    numbers = RunNumbers(Sources(store, tail, lambda: END))
    ahead = Ahead(numbers.sources, numbers)
    ahead.start()
    while not numbers._kept:
        ahead._thread.join(0.01)
        assert ahead._thread.is_alive()
    ahead.close()
    assert not ahead._thread.is_alive()


def test_what_is_amiss_with_a_run_does_not_end_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("dashboard.ahead.FIRST_S", 0.01)
    monkeypatch.setattr("dashboard.ahead.EVERY_S", 0.01)
    tail = Tail(store)
    tail.follow()
    tried = threading.Semaphore(0)

    class Amiss(RunNumbers):
        def ahead(self, run: Run) -> float:
            tried.release()
            raise KeyError(run.id)

    numbers = Amiss(Sources(store, tail, lambda: END))
    ahead = Ahead(numbers.sources, numbers)
    ahead.start()
    assert all(tried.acquire(timeout=10) for _ in range(3))
    ahead.close()
    assert "numbers of runs cannot be worked out ahead" in caplog.text


def test_only_what_is_added_up_of_the_newest_runs_is_kept(store: Store) -> None:
    numbers = RunNumbers(Sources(store, Tail(store), lambda: END))
    runs = [Run(n, "d", f"run {n}", NOW, None, engines=(MEMBER,)) for n in range(1, 5)]
    kept = [numbers._memory(run) for run in runs]
    assert list(numbers._remembered) == [3, 4]
    assert numbers._memory(runs[2]) is kept[2]
    assert list(numbers._remembered) == [4, 3]
