"""The time in which no collector ran is told by the one that goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.away import AWAY, while_away
from pipeline.config import TargetConfig, TargetKind
from pipeline.sampler import Sampler
from storage.records import Commit
from telemetry.catalog.cluster import CLUSTER_TARGET
from tests.pipeline.served import Bench, Clock

NOWHERE = TargetConfig("head", "http://127.0.0.1:9", TargetKind.ENGINE)


@pytest.mark.parametrize(
    ("now_ms", "expected"),
    [
        (103_500, None),
        (103_501, ("nothing was collected for 4 s: the collector was stopped, or died", {"since": "100000"})),
        (90_000, None),
        (7_300_000, ("nothing was collected for 2h 0m: the collector was stopped, or died", {"since": "100000"})),
    ],
)
def test_longer_than_a_gap(now_ms: int, expected: tuple[str, dict[str, str]] | None) -> None:
    assert while_away(Commit(7, 100_000, 1, 0), now_ms, 3_500.0) == expected


def test_the_first_collector_was_not_away() -> None:
    assert while_away(None, 10**12, 3_500.0) is None


async def _commits(sampler: Sampler, clock: Clock, seconds: Iterable[int]) -> None:
    for second in seconds:
        clock.now_s = second
        sampler.commit(second * 1000)
    await sampler.finish()


def test_a_collector_that_begins_again_says_for_how_long_nobody_looked(tmp_path: Path) -> None:
    """Commits count, not answers: while no target answered somebody looked all the same."""
    bench = Bench(tmp_path / "t.db", [NOWHERE])
    told = []
    for begins_s, ends_s in ((1000, 1005), (1007, 1010), (1057, 1058)):
        bench.clock.now_s = begins_s
        sampler, store = bench.open()
        asyncio.run(_commits(sampler, bench.clock, range(begins_s, ends_s)))
        told.append([(one.at_ms, one.target, one.text) for one in store.events(0, 10**9) if one.kind == AWAY])
        store.close()
    assert told[:2] == [[], []]
    sentence = "nothing was collected for 48 s: the collector was stopped, or died"
    assert told[2] == [(1_057_000, CLUSTER_TARGET, sentence)]
