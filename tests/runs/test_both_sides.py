"""Quotients of engines of which one offers one side only: it is in neither."""

from __future__ import annotations

import numpy as np
import pytest

from runs.compare.cutting import cut
from runs.subject import Member
from telemetry.catalog import engine as catalog
from telemetry.model import Metric, Series, part
from tests.runs.answers import entry, value
from tests.runs.worlds import HEAD, Line, World, engine, ramp

BOTH = (HEAD, Member("tail", "0", "m"))


def world(both: dict[Metric, float], tail: dict[Metric, float]) -> World:
    """Counters of the head by what they gain in each of ten seconds, and of the tail."""
    sides = (("head", both), ("tail", tail))
    rows: dict[Series, Line] = {
        engine(metric, target=name): ramp((10, gained)) for name, side in sides for metric, gained in side.items()
    }
    return World(31, rows, engines=BOTH)


DRAFTING = {catalog.DRAFTS: 10.0, catalog.DRAFT_TOKENS: 40.0, catalog.ACCEPTED_TOKENS: 15.0}


def test_speculation() -> None:
    found = world(DRAFTING, {catalog.DRAFTS: 90.0}).summary()
    length = entry(found, "speculation.accepted_length")
    assert (length.value, length.count) == (2.5, 100)
    assert value(found, "speculation.draft_length") == 4
    assert value(found, "speculation.drafts") == 1000
    found = world(DRAFTING, {catalog.DRAFT_TOKENS: 60.0}).summary()
    rate = entry(found, "speculation.acceptance")
    assert (rate.value, rate.count) == (15 / 40, 400)


def test_acceptance_by_position() -> None:
    told = world(DRAFTING, {catalog.DRAFTS: 90.0})
    rows = {**told.rows, engine(catalog.ACCEPTED_BY_POSITION, position="0"): ramp((10, 8))}
    assert value(World(31, rows, engines=BOTH).summary(), "speculation.acceptance_at", "0") == 0.8


def test_prefix_hits() -> None:
    found = world({catalog.PROMPT_TOKENS: 100.0, catalog.PROMPT_TOKENS_CACHED: 40.0}, {catalog.PROMPT_TOKENS: 300.0})
    hits = entry(found.summary(), "requests.prefix_hits")
    assert (hits.value, hits.count) == (0.4, 1000)


def test_prefix_hits_where_each_offers_one_side() -> None:
    found = world({catalog.PROMPT_TOKENS_CACHED: 40.0}, {catalog.PROMPT_TOKENS: 300.0})
    assert entry(found.summary(), "requests.prefix_hits").value is None


def test_prefill_speed() -> None:
    waited, answered = part(catalog.TTFT, "sum"), part(catalog.TTFT, "count")
    head = {catalog.PROMPT_TOKENS_COMPUTED: 750.0, waited: 1.0, answered: 2.0}
    found = entry(world(head, {waited: 9.0, answered: 8.0}).summary(), "speed.prefill_speed")
    assert (found.value, found.count) == (750, 20)


def test_decode_per_request_is_of_all_or_none() -> None:
    """The tail's tokens have no requests beside them, in the summary and in the cells of a comparison."""
    told = world({catalog.GENERATION_TOKENS: 8.0}, {catalog.GENERATION_TOKENS: 8.0})
    head, tail = ({engine(catalog.REQUESTS_RUNNING, target=one.target): [2.0]} for one in BOTH)
    for rows, mean, load in ((head, None, []), (head | tail, 160 / 40, [4.0] * 6)):
        one = World(31, {**told.rows, **rows}, engines=BOTH)
        found = entry(one.summary(0, 10), "speed.stream_mean")
        assert (found.value, found.note) == (mean, "" if mean else "an engine does not tell how many requests run")
        cells = cut(one.subject(), one.reader())
        assert cells.running[~np.isnan(cells.running)].tolist() == load


@pytest.mark.parametrize(("tail", "mean"), [({}, None), ({part(catalog.ITL, "sum"): 3.0}, 7)])
def test_requests_in_decode_are_of_all_or_none(tail: dict[Metric, float], mean: float | None) -> None:
    head = {catalog.GENERATION_TOKENS: 8.0, part(catalog.ITL, "sum"): 4.0}
    found = entry(world(head, {catalog.GENERATION_TOKENS: 8.0, **tail}).summary(), "phases.decoding_mean")
    assert (found.value, found.note) == (mean, "not offered" if mean is None else "")
