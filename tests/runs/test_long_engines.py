"""A run of eight days whose numbers are known: each hour half at one load, a quarter at twice that, and a pause."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from runs.compare.cutting import cut
from runs.entries import Section
from runs.reader import Absence, Episode, Event, Wanted
from runs.subject import Member, Subject
from runs.summary import summarise
from telemetry.catalog import cluster
from telemetry.catalog import engine as catalog
from telemetry.frame import Floats, Frame
from telemetry.model import Series
from telemetry.phases import Phase
from tests.runs.answers import entry, value
from tests.runs.memory import two_points

HOURS = 8 * 24
BEGIN = 1_796_000_000_000 // 3_600_000 * 3_600_000
TOKENS_PER_HOUR = 1800 * 40 + 900 * 60
LOST = {hour * 3600 + second for hour in range(5, HOURS, 24) for second in range(3000, 3300)}
"""Seconds at which nothing was read: five minutes of a pause, once a day."""


def tokens(second: Floats) -> Floats:
    """40 a second for half an hour, 60 for a quarter."""
    hour, rest = np.divmod(second, 3600)
    return np.asarray(hour * TOKENS_PER_HOUR + np.minimum(rest, 1800) * 40 + np.clip(rest - 1800, 0, 900) * 60)


def running(second: Floats) -> Floats:
    """4, 8, and none."""
    rest = second % 3600
    return np.select([rest < 1800, rest < 2700], [4.0, 8.0], 0.0)


def phase(second: Floats) -> Floats:
    """Idle in the pause."""
    return np.where(second % 3600 < 2700, float(Phase.DECODING.value), float(Phase.IDLE.value))


LINES = {
    catalog.GENERATION_TOKENS: tokens,
    catalog.REQUESTS_RUNNING: running,
    catalog.ENGINE_PHASE: phase,
    cluster.SCRAPE_SECONDS: lambda second: np.full(len(second), 0.01),
}


@dataclass
class Made:
    """A reader that makes samples when they are asked for. asked: how many at once."""

    asked: list[int] = field(default_factory=list)

    def frame(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Samples of start ≤ tick ≤ end."""
        test = wanted if callable(wanted) else lambda series: series.metric in wanted
        low, high = max(-(-(start_ms - BEGIN) // 1000), 0), min((end_ms - BEGIN) // 1000, HOURS * 3600)
        seconds = np.array([one for one in range(low, high + 1) if one not in LOST], dtype=np.float64)
        self.asked.append(len(seconds))
        labels = (("engine", "0"), ("model", "m"))
        made = {
            Series("head", metric.name, () if metric is cluster.SCRAPE_SECONDS else labels): line
            for metric, line in LINES.items()
        }
        series = tuple(one for one in made if test(one) and (targets is None or "head" in targets))
        values = np.array([made[one](seconds) for one in series]).reshape(len(series), len(seconds))
        ticks = (BEGIN + seconds * 1000).astype(np.int64)
        at_ms = np.broadcast_to(ticks.astype(np.float64), values.shape).copy()
        return Frame(ticks, series, values, at_ms, np.zeros(values.shape, dtype=bool), np.full(len(series), 2500.0))

    def ends(self, wanted: Wanted, start_ms: int, end_ms: int, targets: Collection[str] | None = None) -> Frame:
        """Two samples of each series: those of the first and the last second."""
        both = [self.frame(wanted, at_ms, at_ms + 500, targets) for at_ms in (start_ms, end_ms)]
        ticks, series = np.concatenate([one.ticks for one in both]), both[0].series
        values, at_ms = (np.concatenate([getattr(one, name) for one in both], axis=1) for name in ("values", "at_ms"))
        breaks, gaps = np.zeros(values.shape, dtype=bool), both[0].gap_ms
        return two_points(Frame(ticks, series, values, at_ms, breaks, gaps), start_ms, end_ms)

    def still(self, *_: object) -> Collection[Series]:
        """There are no nodes."""
        return ()

    def episodes(self, *_: object) -> Sequence[Episode]:
        """None."""
        return ()

    def absences(self, *_: object) -> Sequence[Absence]:
        """None."""
        return ()

    def events(self, *_: object) -> Sequence[Event]:
        """None."""
        return ()


SUBJECT = Subject("m", BEGIN, BEGIN + HOURS * 3_600_000, (Member("head", "0", "m"),))


@pytest.fixture(scope="module")
def reader() -> Made:
    """The eight days."""
    return Made()


@pytest.fixture(scope="module")
def summary(reader: Made) -> tuple[Section, ...]:
    """Their numbers."""
    return summarise(SUBJECT, reader)


def test_speed_of_all_of_it(summary: tuple[Section, ...]) -> None:
    assert value(summary, "requests.output") == HOURS * TOKENS_PER_HOUR
    assert value(summary, "speed.decode_mean") == pytest.approx(TOKENS_PER_HOUR / 2700)
    assert value(summary, "speed.decode_wall") == pytest.approx(TOKENS_PER_HOUR / 3600)
    assert value(summary, "speed.decode_median") == pytest.approx(40.0)
    assert entry(summary, "speed.decode_median").count == HOURS * 2701 - 10
    assert value(summary, "speed.decode_peak") == pytest.approx(60.0)
    assert value(summary, "speed.decode_peak_1s") == pytest.approx(60.0)
    assert value(summary, "speed.stream_mean") == pytest.approx(TOKENS_PER_HOUR / (4 * 1800 + 8 * 900))
    assert value(summary, "speed.decoding_seconds") == HOURS * 2700
    assert entry(summary, "speed.decoding_seconds").count == HOURS
    assert value(summary, "speed.seconds") == HOURS * 3600


def test_load_of_all_of_it(summary: tuple[Section, ...]) -> None:
    days, known = HOURS // 24, HOURS * 3600 - HOURS // 24 * 300
    found = {of: value(summary, "phases.running_seconds", of) for of in ("0", "4", "8", "unknown")}
    assert found == {"0": HOURS * 900 - days * 300, "4": HOURS * 1800, "8": HOURS * 900, "unknown": days * 300}
    assert value(summary, "phases.running_mean") == pytest.approx(HOURS * (4 * 1800 + 8 * 900) / known)
    assert value(summary, "phases.running_max") == 8
    assert value(summary, "phases.phase_seconds", "decoding") == HOURS * 2700
    assert value(summary, "phases.phase_seconds", "idle") == HOURS * 900 - days * 300
    assert value(summary, "phases.phase_seconds", "unknown") == days * 300


def test_quality_of_all_of_it(summary: tuple[Section, ...], reader: Made) -> None:
    days = HOURS // 24
    assert value(summary, "quality.ticks_present", "head") == HOURS * 3600 + 1 - len(LOST)
    assert value(summary, "quality.ticks_expected", "head") == HOURS * 3600 + 1
    assert (value(summary, "quality.gaps", "head"), value(summary, "quality.gap_seconds", "head")) == (days, days * 301)
    assert max(reader.asked) <= 65_000, "readings at once: eighteen hours and a minute"


def test_cells_of_all_of_it_are_longer(reader: Made) -> None:
    """More than 80,000 of five seconds: nine seconds each."""
    found = cut(SUBJECT, reader)
    assert (found.width_s, len(found)) == (9.0, pytest.approx(HOURS * 400, abs=40 * HOURS // 24))
    assert np.nansum(found.tokens) == pytest.approx(HOURS * TOKENS_PER_HOUR)
    whole = found.running[~np.isnan(found.running)]
    assert sorted(set(whole.round(3).tolist()))[-1] == 8.0
    assert np.nansum(found.running_s) == pytest.approx(HOURS * (4 * 1800 + 8 * 900), rel=1e-6)
    assert found.first_ms == BEGIN + 1000
