"""Tokens, requests and speculation of a stretch."""

from __future__ import annotations

import pytest

from telemetry.catalog import engine as catalog
from tests.runs.answers import entry, value
from tests.runs.worlds import World, engine, ramp

PROMPT, CACHED = engine(catalog.PROMPT_TOKENS), engine(catalog.PROMPT_TOKENS_CACHED)


def finished(outcome: str, count: float) -> dict[object, list[float]]:
    return {engine(catalog.REQUESTS_FINISHED, outcome=outcome): ramp((10, 0), (1, count))}


def test_counts() -> None:
    rows = {
        engine(catalog.GENERATION_TOKENS): ramp((10, 3)),
        PROMPT: ramp((10, 100)),
        engine(catalog.PROMPT_TOKENS_COMPUTED): ramp((10, 60)),
        CACHED: ramp((10, 40)),
        engine(catalog.PROMPT_TOKENS_TRANSFERRED): ramp((10, 5)),
        engine(catalog.PREEMPTIONS): ramp((2, 1)),
        engine(catalog.HTTP_REJECTIONS): ramp((4, 1)),
    }
    found = World(31, rows).summary()
    wanted = {"output": 30, "prompt": 1000, "computed": 600, "cached": 400, "transferred": 50}
    for key, tokens in (wanted | {"preemptions": 2, "rejected": 4}).items():
        assert (key, value(found, f"requests.{key}")) == (key, tokens)
    hits = entry(found, "requests.prefix_hits")
    assert (hits.value, hits.count, hits.note) == (0.4, 1000, "")


def test_what_is_not_offered_is_not_zero() -> None:
    found = World(31, {engine(catalog.GENERATION_TOKENS): ramp((10, 3))}).summary()
    for key in ("prompt", "computed", "cached", "transferred", "finished", "rejected", "preemptions"):
        told = entry(found, f"requests.{key}")
        assert (key, told.value, told.note) == (key, None, "not offered by this engine")
    hits = entry(found, "requests.prefix_hits")
    assert (hits.value, hits.note) == (None, "no prompt token was counted, or cached ones are not")


def test_computed_tokens_are_the_rest_where_they_are_not_counted() -> None:
    told = entry(World(31, {PROMPT: ramp((10, 100)), CACHED: ramp((10, 40))}).summary(), "requests.computed")
    assert (told.value, told.note) == (600, "prompt less cached tokens")


def test_computed_tokens_are_never_negative() -> None:
    """Cached tokens of a request may be counted a tick before its prompt."""
    assert value(World(31, {PROMPT: [0.0], CACHED: ramp((10, 40))}).summary(), "requests.computed") == 0


def test_outcomes_are_in_the_catalogues_order() -> None:
    rows = finished("error", 1) | finished("stop", 5) | finished("other", 2) | finished("length", 3)
    found = World(31, rows).summary()  # type: ignore[arg-type]
    assert value(found, "requests.finished") == 11
    section = next(one for one in found if one.key == "requests")
    outcomes = [(one.of, one.value) for one in section.entries if one.key == "finished_as"]
    assert outcomes == [("stop", 5), ("length", 3), ("error", 1), ("other", 2)]


def test_prefix_hits_of_an_engine_that_does_not_count_cached_tokens() -> None:
    rows = {
        PROMPT: ramp((10, 100)),
        engine(catalog.PREFIX_CACHE_QUERIES): ramp((10, 200)),
        engine(catalog.PREFIX_CACHE_HITS): ramp((10, 50)),
    }
    told = entry(World(31, rows).summary(), "requests.prefix_hits")
    assert (told.value, told.count, told.note) == (0.25, 2000, "hits ∕ queries of the prefix cache")


@pytest.mark.parametrize(
    ("breaks", "note"),
    [
        ([], ""),
        ([15], "a restart: what was counted after the last reading before it is not in it"),
        ([15, 20], "2 restarts: what was counted after the last reading before it is not in it"),
    ],
)
def test_counts_that_a_restart_touches_say_so(breaks: list[int], note: str) -> None:
    rows = finished("stop", 5) | {PROMPT: ramp((10, 100))}
    found = World(31, rows, breaks={"head": breaks}).summary()  # type: ignore[arg-type]
    for key, of in (("prompt", ""), ("finished", ""), ("finished_as", "stop")):
        assert entry(found, f"requests.{key}", of).note == note


def test_over_a_restart_too_what_is_not_offered_is_said_to_be_that() -> None:
    found = World(31, {PROMPT: ramp((10, 100))}, breaks={"head": [15]}).summary()
    for key in ("output", "computed", "cached", "transferred", "finished", "rejected", "preemptions"):
        told = entry(found, f"requests.{key}")
        assert (key, told.value, told.note) == (key, None, "not offered by this engine")


def test_a_restart_before_the_stretch_touches_nothing() -> None:
    found = World(31, {PROMPT: ramp((10, 100))}, breaks={"head": [5]}).summary(5, 20)
    assert entry(found, "requests.prompt").note == ""
    assert value(found, "requests.prompt") == 500


DRAFTS = {
    engine(catalog.DRAFTS): ramp((10, 10)),
    engine(catalog.DRAFT_TOKENS): ramp((10, 40)),
    engine(catalog.ACCEPTED_TOKENS): ramp((10, 15)),
}
POSITIONS = {
    engine(catalog.ACCEPTED_BY_POSITION, position=str(place)): ramp((10, gained))
    for place, gained in ((10, 0), (2, 1), (0, 9), (1, 5))
}


def test_speculation() -> None:
    found = World(31, DRAFTS | POSITIONS).summary()
    acceptance = entry(found, "speculation.acceptance")
    assert (acceptance.value, acceptance.count) == (15 / 40, 400)
    length = entry(found, "speculation.accepted_length")
    assert (length.value, length.count) == (2.5, 100)
    assert value(found, "speculation.draft_length") == 4
    assert value(found, "speculation.drafts") == 100
    assert value(found, "speculation.draft_tokens") == 400
    assert value(found, "speculation.accepted_tokens") == 150
    section = next(one for one in found if one.key == "speculation")
    positions = [(one.of, one.value, one.count) for one in section.entries if one.key == "acceptance_at"]
    assert positions == [("0", 0.9, 90), ("1", 0.5, 50), ("2", 0.1, 10), ("10", 0.0, 0)]


def test_drafts_that_are_not_counted() -> None:
    rows = {series: line for series, line in DRAFTS.items() if series.metric != catalog.DRAFTS.name}
    found = World(31, rows | POSITIONS).summary()
    assert value(found, "speculation.acceptance") == 15 / 40
    for key in ("accepted_length", "draft_length", "drafts"):
        told = entry(found, f"speculation.{key}")
        assert (key, told.value, told.note) == (key, None, "drafts are not counted")
    assert not [one for part in found for one in part.entries if one.key == "acceptance_at"]


def test_proposals_without_a_draft() -> None:
    found = World(31, DRAFTS | {engine(catalog.DRAFTS): [7.0]}).summary()
    told = entry(found, "speculation.accepted_length")
    assert (told.value, told.count) == (None, 0)


def test_no_speculation_says_nothing() -> None:
    still = {series: [7.0] for series in DRAFTS}
    section = next(one for one in World(31, still).summary() if one.key == "speculation")
    assert section.entries == ()


def test_speculation_as_the_engine_reports_it() -> None:
    rows = {
        engine(catalog.REPORTED_ACCEPTANCE): [0.9, 0.9, 0.5, 0.7, None],
        engine(catalog.REPORTED_ACCEPTED_LENGTH): [9.0, 9.0, 2.0, 4.0],
    }
    found = World(4, rows).summary(2, 3)
    acceptance = entry(found, "speculation.acceptance")
    assert acceptance.value == pytest.approx(0.6)
    assert acceptance.count == 2
    assert acceptance.note == "as the engine reports it, mean of the readings; it has no counters"
    assert value(found, "speculation.accepted_length") == 3
