"""The recorded benchmark: found in the store and summarised; 260 requests, 26,176 tokens in 132.0 s."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runs import history
from runs.entries import Section
from runs.reader import StoreReader
from runs.subject import Member, Subject
from runs.summary import summarise
from storage.store import Store
from telemetry.model import Unit
from tests.runs import recorded
from tests.runs.answers import entry, found, value

"""One setting up for all of them, in one process."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with recorded.collected(tmp_path_factory.mktemp("bench") / "store.db", recorded.benchmark()) as store:
        yield store


@pytest.fixture(scope="module")
def run(store: Store) -> history.Found:
    """The recording ends 15 s after the last token: a shorter silence shows the end."""
    runs = found(store, silence_ms=10_000)
    assert len(runs) == len(found(store)) == 1
    return runs[0]


@pytest.fixture(scope="module")
def summary(store: Store, run: history.Found) -> tuple[Section, ...]:
    assert run.end_ms is not None
    subject = Subject("tiny-llama", run.start_ms, run.end_ms, [Member(recorded.TARGET, "0")])
    return summarise(subject, StoreReader(store))


def test_the_run(run: history.Found) -> None:
    assert run.end_ms is not None
    assert run.end_ms - run.start_ms == pytest.approx(132_000, abs=1500)
    assert (run.began, run.ended, run.model) == ("tokens flowed", "nothing happened for 10 s", "tiny-llama")
    assert run.marks == ()


def test_counts_are_exact(summary: tuple[Section, ...]) -> None:
    assert value(summary, "requests.output") == 26_176
    assert value(summary, "requests.finished") == 260
    assert value(summary, "requests.finished_as", "length") + value(summary, "requests.finished_as", "stop") == 260


@pytest.mark.parametrize(
    ("path", "truth", "within"),
    [
        ("speed.decode_mean", 198.3, 0.005),
        ("speed.decode_peak", 262, 0.02),
        ("speed.decode_peak_1s", 535, 0.02),
        ("speed.decoding_seconds", 132.0, 0.005),
        ("latency.tpot_mean", 0.01108, 0.03),
        ("latency.e2e_mean", 1.173, 0.005),
        ("latency.ttft_mean", 0.071, 0.01),
        ("latency.itl_mean", 0.01108, 0.005),
    ],
)
def test_numbers(summary: tuple[Section, ...], path: str, truth: float, within: float) -> None:
    assert value(summary, path) == pytest.approx(truth, rel=within)


@pytest.mark.parametrize(
    ("path", "low", "high", "relation"),
    [
        ("latency.ttft_p50", 0.04, 0.06, "="),
        ("latency.ttft_p95", 0.1, 0.25, "="),
        ("latency.itl_p50", 0.0, 0.01, "<"),
        ("latency.itl_p95", 0.025, 0.05, "="),
        ("latency.e2e_p50", 0.8, 1.0, "="),
        ("latency.e2e_p95", 2.5, 5.0, "="),
        ("latency.tpot_p50", 0.0, 0.01, "<"),
        ("latency.tpot_p95", 0.01, 0.025, "="),
    ],
)
def test_percentiles(summary: tuple[Section, ...], path: str, low: float, high: float, relation: str) -> None:
    told = entry(summary, path)
    assert told.value is not None
    assert low < told.value <= high
    assert told.relation == relation
    assert told.count == (25_916 if path.startswith("latency.itl") else 260)


def test_too_few_for_the_last_percentile(summary: tuple[Section, ...]) -> None:
    told = entry(summary, "latency.e2e_p99")
    assert (told.value, told.count, told.note) == (None, 260, "p99 needs 300 observations, there are 260")


def test_the_whole_length_is_told_by_phases_and_by_requests(summary: tuple[Section, ...]) -> None:
    length = value(summary, "speed.seconds")
    for key in ("phase_seconds", "running_seconds"):
        entries = [one for section in summary for one in section.entries if one.key == key]
        assert sum(one.value or 0 for one in entries) == pytest.approx(length, abs=1e-6)
        assert {one.unit for one in entries} == {Unit.SECONDS}


def test_every_reading_was_there(summary: tuple[Section, ...]) -> None:
    assert value(summary, "quality.ticks_share", recorded.TARGET) == 1
    assert value(summary, "quality.gaps", recorded.TARGET) == 0
    assert value(summary, "quality.restarts", recorded.TARGET) == 0


def test_no_number_is_touched_by_a_gap(summary: tuple[Section, ...]) -> None:
    assert [one.key for section in summary for one in section.entries if "gap" in one.note] == []


def test_half_of_it_and_the_other_half(store: Store, run: history.Found) -> None:
    """A brushed stretch counts like the whole: two halves are the whole."""
    assert run.end_ms is not None
    middle = (run.start_ms + run.end_ms) // 2
    halves = [
        summarise(Subject("tiny-llama", low, high, [Member(recorded.TARGET, "0")]), StoreReader(store))
        for low, high in ((run.start_ms, middle), (middle, run.end_ms))
    ]
    for path, whole in (("requests.output", 26_176), ("requests.finished", 260)):
        assert sum(value(half, path) for half in halves) == whole
    prefills = [value(half, "speed.prefill_tokens") for half in halves]
    assert all(one > 0 for one in prefills)
    assert max(value(half, "speed.decode_peak") for half in halves) <= 262 * 1.02
