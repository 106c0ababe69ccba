"""Exports of ranges of which most holds nothing: it costs nothing, and nobody is waited for in it."""

from __future__ import annotations

import pytest

from dashboard.sources import Sources
from exchange import formats
from exchange.estimate import estimate
from exchange.extract import clipped, extract
from exchange.watched import Watched
from telemetry.summary import HOUR_MS, hour_of
from tests.exchange.conftest import MakeSources
from tests.exchange.test_extract import MIXED, read, text
from tests.web.world import World, tick


@pytest.mark.parametrize("resolution", [{"raw": "1"}, {"step": "1s"}, {"step": "7s", "total": "1"}])
def test_time_before_the_first_sample_costs_nothing(
    broken: tuple[World, Sources], resolution: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, sources = broken
    breaths: list[int] = []
    given = {"metric": MIXED, "end": str(tick(287)), **resolution}
    early = read(sources, start=str(tick(0) - 1000 * 86_400_000), **given)
    found = formats.csv(extract(early, sources, lambda: breaths.append(1)))
    assert b"".join(found).decode() == text(sources, start=str(tick(-10)), **given)
    assert len(breaths) < 12
    begun = estimate(read(sources, start=str(tick(0)), **given), sources)
    assert estimate(early, sources).rows == pytest.approx(begun.rows, rel=0.1)
    assert begun.rows > 30


def test_time_after_the_last_sample_costs_nothing(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    breaths: list[int] = []
    given = {"metric": "gpu_power_watts", "start": str(tick(3)), "raw": "1"}
    late = read(sources, end=str(tick(300) + 300 * 86_400_000), **given)
    found = formats.csv(extract(late, sources, lambda: breaths.append(1)))
    assert b"".join(found).decode() == text(sources, end=str(tick(300)), **given)
    assert len(breaths) < 12
    counted = estimate(late, sources)
    assert counted == estimate(read(sources, end=str(tick(300)), **given), sources)


def test_what_exists_of_a_range(broken: tuple[World, Sources]) -> None:
    _, sources = broken
    assert sources.extent() == (tick(0), tick(300))

    def span(start: int, end: int, **more: str) -> tuple[int, int]:
        found = clipped(read(sources, metric="gpu_power_watts", start=str(start), end=str(end), **more), sources)
        return found.start_ms, found.end_ms

    day = 86_400_000
    assert span(tick(0) - day, tick(300) + day, raw="1") == (tick(0), tick(300))
    assert span(tick(0) - day, tick(300) + day, step="10s") == (tick(0), tick(300) + day)
    assert span(tick(7), tick(9), raw="1") == (tick(7), tick(9))
    assert span(tick(0) - day, tick(0) - 5_000, raw="1") == (tick(0) - 5_000,) * 2
    assert span(tick(300) + 1, tick(300) + day, raw="1") == (tick(300) + 1,) * 2


def test_an_empty_store_has_no_extent(make_sources: MakeSources) -> None:
    _, sources = make_sources(-1)
    assert sources.extent() is None
    assert text(sources, metric="gpu_power_watts", start="-1000d", end="now", step="1s").count("\r\n") == 1


def test_sealed_hours_are_part_of_the_extent(broken: tuple[World, Sources]) -> None:
    world, sources = broken
    for target, hour in world.writer.due(tick(0) + 10 * HOUR_MS):
        assert world.writer.seal(target, hour, tick(0) + 10 * HOUR_MS)
    world.writer.prune(tick(0) + 10 * HOUR_MS)
    assert sources.extent() == (hour_of(tick(0)), hour_of(tick(0)) + HOUR_MS - 1)


def test_nothing_is_read_for_those_who_have_gone(broken: tuple[World, Sources]) -> None:
    """Also in a long hole, of which nothing is written: here before a sample of a year later."""
    world, sources = broken
    world.run(31_000_000, 31_000_001)
    for total in ("0", "1"):
        left = iter([True] * 40)
        watched = Watched(sources, lambda left=left: next(left, False))  # type: ignore[misc]
        given = {"metric": "gpu_energy_joules_total", "start": str(tick(0)), "end": str(tick(31_000_002)), "step": "1s"}
        wanted = read(sources, total=total, **given)
        with pytest.raises(BrokenPipeError, match="nobody waits"):
            list(extract(wanted, watched).blocks)
        assert next(left, None) is None
