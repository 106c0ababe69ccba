"""One server at eight moments, 25 s and more apart, with a prefill of 60 k tokens at 1,500 tokens/s and a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from runs import history
from runs.entries import Section
from runs.reader import StoreReader
from runs.subject import Member, Subject
from runs.summary import summarise
from storage.store import Store
from tests.runs import recorded
from tests.runs.answers import entry, found, value
from tests.scrape.recordings import pages


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with recorded.collected(tmp_path_factory.mktemp("history") / "store.db", recorded.history()) as store:
        yield store


@pytest.fixture(scope="module")
def runs(store: Store) -> list[history.Found]:
    return found(store)


@pytest.fixture(scope="module")
def summary(store: Store, runs: list[history.Found]) -> tuple[Section, ...]:
    end = runs[0].end_ms
    assert end is not None
    return summarise(Subject("Kimi-K3", runs[0].start_ms, end, [Member(recorded.TARGET, "0")]), StoreReader(store))


@pytest.fixture(scope="module")
def truth() -> dict[str, float]:
    told = json.loads(pages()[f"{recorded.PREFIX.removesuffix('t')}truth.json"])
    return told["t145_after_prefill"]["engines"][0]  # type: ignore[no-any-return]


def test_one_run_until_its_restart(runs: list[history.Found]) -> None:
    first, *later = runs
    begin = recorded.EPOCH * 1000
    assert (first.start_ms - begin, first.end_ms) == (0, begin + 145_000)
    assert first.ended == "head/0 restarted"
    assert [one.start_ms - begin for one in later] == [145_000]


def test_the_long_prefill(summary: tuple[Section, ...]) -> None:
    assert value(summary, "speed.largest_prefill_tokens") == 60_000
    assert value(summary, "speed.largest_prefill_speed") == pytest.approx(1500, rel=0.02)


def test_speculation(summary: tuple[Section, ...], truth: dict[str, float]) -> None:
    drafts, proposed, accepted = (truth[name] for name in ("drafts", "draft_tokens", "accepted"))
    assert value(summary, "speculation.drafts") == drafts
    assert value(summary, "speculation.draft_tokens") == proposed
    assert value(summary, "speculation.accepted_tokens") == accepted
    assert value(summary, "speculation.acceptance") == pytest.approx(accepted / proposed)
    assert value(summary, "speculation.accepted_length") == pytest.approx(1 + accepted / drafts)
    assert value(summary, "speculation.draft_length") == pytest.approx(proposed / drafts)
    positions = [one.value for part in summary for one in part.entries if one.key == "acceptance_at"]
    assert len(positions) == 8
    assert sum(one or 0 for one in positions) == pytest.approx(accepted / drafts)


def test_counts(summary: tuple[Section, ...], truth: dict[str, float]) -> None:
    for path, name in (("output", "gen"), ("prompt", "prompt"), ("computed", "computed"), ("cached", "cached")):
        assert value(summary, f"requests.{path}") == truth[name]
    assert value(summary, "requests.finished") == truth["fin"]


def test_numbers_touched_by_gaps_say_so(summary: tuple[Section, ...]) -> None:
    for path in ("speed.decode_mean", "speed.decode_wall", "phases.running_mean"):
        told = entry(summary, path)
        assert "6 gaps of the engine, 145 s in all" in told.note
    assert value(summary, "quality.gaps", recorded.TARGET) == 6
    peak = entry(summary, "speed.decode_peak")
    assert (peak.value, peak.note) == (None, "no window of 10 s without a gap")
