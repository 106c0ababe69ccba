"""Which run a result belongs to: by model and output tokens first, then by minutes. Pure.

A client that writes its time without a zone may live in any: whole quarters of an hour are tried. What fits several
runs is never decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from exchange.benchmarks.record import Benchmark
from runs.model import Run

QUARTER_MS, HOUR_MS = 900_000, 3_600_000
ZONES_MS = range(-12 * 3_600_000, 14 * 3_600_000 + 1, QUARTER_MS)
"""Offsets of zones that there are."""
LATE_MS = 180_000
"""How long after a run's last activity its client may write its file, and how far its clock may be ahead of ours."""
EDGE_MS = 5_000
FEWER, MORE, MORE_IN_PART = 0.995, 1.05, 1.02
"""Shares of a result's output tokens that the server may have counted: warm-up requests are in its counters, too."""
NEARLY = 1.25
"""The same of a run that is as long and has the same minutes: the rest are other clients' requests."""
MOST_OF_IT = 0.8
Tokens = Callable[[Run, int, int], float | None]
"""Output tokens that a run's engines counted between two instants; None where that is not known."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A run that a result may belong to, and the stretch of it. whole: all of the run is the result's."""

    run: Run
    start_ms: int
    end_ms: int
    how: str
    whole: bool = False


def local_end_ms(benchmark: Benchmark, offset_ms: int) -> int | None:
    """The end of a result whose clock is this far ahead of UTC; None where it tells no end."""
    if benchmark.end_ms is not None:
        return benchmark.end_ms
    if not benchmark.local_end:
        return None
    naive = datetime.fromisoformat(benchmark.local_end).replace(tzinfo=UTC)
    return round(naive.timestamp() * 1000) - offset_ms


def fits(
    benchmark: Benchmark, runs: Sequence[Run], tokens: Tokens, now_ms: int, offset_ms: int, *, any_model: bool = False
) -> list[Fit]:
    """Runs that a result may belong to: none, one, or several that people must choose from.

    runs: with telemetry. offset_ms: zone of this machine, preferred where several fit one run.
    any_model: people have named the run, so what it is called does not matter.
    """
    mine = [run for run in runs if any_model or same_model(benchmark.model, run)]
    if benchmark.start_ms is not None:
        return [found for run in mine if (found := _by_time(benchmark, run, now_ms)) is not None]
    if not benchmark.local_end:
        return []
    near = [run for run in mine if _any_zone(benchmark, run, now_ms)]
    exact = [fit for run in near if (fit := _exact(benchmark, run, tokens, now_ms)) is not None]
    if len(exact) > 1:
        exact = [fit for fit in exact if _shares(benchmark, fit.run, now_ms)] or exact
    if exact:
        return exact
    parts = [found for run in near if (found := _part(benchmark, run, tokens, now_ms, offset_ms)) is not None]
    return parts or [fit for run in near if (fit := _nearly(benchmark, run, tokens, now_ms, offset_ms)) is not None]


def _exact(benchmark: Benchmark, run: Run, tokens: Tokens, now_ms: int) -> Fit | None:
    """All of a run, or what is left of a trimmed one, in which as many tokens came."""
    how = "the same model and output tokens"
    for start, end in dict.fromkeys(((run.start_ms, run.end_ms or now_ms), run.window(now_ms))):
        if _counts(benchmark, tokens(run, start, end), MORE):
            return Fit(run, start, end, how, whole=True)
    return None


def _nearly(benchmark: Benchmark, run: Run, tokens: Tokens, now_ms: int, offset_ms: int) -> Fit | None:
    """A run that is about as long, has the same minutes in a zone, and few tokens more."""
    length, last = round((benchmark.seconds or 0.0) * 1000), run.end_ms or now_ms
    most = MOST_OF_IT * max(length, last - run.start_ms)
    ends = {
        offset: end
        for offset, end in _ends(benchmark, now_ms)
        if length and min(end, last) - max(end - length, run.start_ms) >= most
    }
    if not ends or not _counts(benchmark, tokens(run, run.start_ms, last), NEARLY):
        return None
    how = "the same model and minutes, and most of the output tokens"
    end = ends.get(offset_ms, next(iter(ends.values())) if len(ends) == 1 else None)
    if end is None:
        return Fit(run, run.start_ms, last, how, whole=True)
    return Fit(run, max(end - length - EDGE_MS, run.start_ms), min(end + EDGE_MS, last), how)


def same_model(name: str, run: Run) -> bool:
    """Whether a client's name of a model is one of the run's; a path before it does not count."""
    known = [run.model, *run.model.split(", "), *(one.model for one in run.engines)]
    return bool(name) and _bare(name) in {_bare(one) for one in known if one}


def _bare(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].casefold()


def _counts(benchmark: Benchmark, counted: float | None, more: float) -> bool:
    own = benchmark.value("output")
    return own is not None and own > 0 and counted is not None and FEWER * own <= counted <= more * own


def _ends(benchmark: Benchmark, now_ms: int) -> Iterator[tuple[int, int]]:
    """(offset, end) in every zone in which it is over."""
    for offset in ZONES_MS:
        end = local_end_ms(benchmark, offset)
        if end is not None and end <= now_ms + LATE_MS:
            yield offset, end


def _any_zone(benchmark: Benchmark, run: Run, now_ms: int) -> bool:
    """Whether its end may lie in the run at all."""
    ends = [end for _, end in _ends(benchmark, now_ms)]
    return bool(ends) and min(ends) <= (run.end_ms or now_ms) + LATE_MS and max(ends) >= run.start_ms


def _shares(benchmark: Benchmark, run: Run, now_ms: int) -> bool:
    """Whether it shares the run's minutes, whatever the zone's quarters of an hour."""
    length, last = round((benchmark.seconds or 0.0) * 1000), run.end_ms or now_ms
    shared = (min(end, last) - max(end - length, run.start_ms) for _, end in _ends(benchmark, now_ms))
    return max(shared, default=0) >= MOST_OF_IT * length


def _part(benchmark: Benchmark, run: Run, tokens: Tokens, now_ms: int, offset_ms: int) -> Fit | None:
    """A stretch of a longer run in which as many tokens came: in this machine's zone, else in the only one."""
    length = round((benchmark.seconds or 0.0) * 1000)
    last = run.end_ms or now_ms
    found: dict[int, Fit] = {}
    for offset, end in _ends(benchmark, now_ms):
        start = end - length
        if start < run.start_ms - LATE_MS or end > last + LATE_MS:
            continue
        low, high = max(start - EDGE_MS, run.start_ms), min(end + EDGE_MS, last)
        if low < high and _counts(benchmark, tokens(run, low, high), MORE_IN_PART):
            found[offset] = Fit(run, low, high, "the same model, minutes and output tokens")
    if offset_ms in found:
        return found[offset_ms]
    return next(iter(found.values())) if len(found) == 1 else None


def _by_time(benchmark: Benchmark, run: Run, now_ms: int) -> Fit | None:
    """By instants that are known. Where only the start is, the run must have begun about then, or go on then."""
    last, start = run.end_ms or now_ms, benchmark.start_ms
    assert start is not None, "of a result that tells its start"
    how = "the same model and minutes" if benchmark.model else "the same minutes"
    if benchmark.end_ms is None:
        begun = run.start_ms - LATE_MS <= start <= last
        return Fit(run, max(start, run.start_ms), last, how, whole=start <= run.start_ms) if begun else None
    shared = min(last, benchmark.end_ms) - max(run.start_ms, start)
    if shared < MOST_OF_IT * (benchmark.end_ms - start) or shared <= 0:
        return None
    low, high = max(start - EDGE_MS, run.start_ms), min(benchmark.end_ms + EDGE_MS, last)
    return Fit(run, low, high, how, whole=(low, high) == (run.start_ms, last))


def placed(benchmark: Benchmark, offset_ms: int, now_ms: int) -> tuple[int, int] | None:
    """(start, end) of a result that belongs to no run; None where it tells no time.

    Where its file names no zone, in this machine's; where it would not be over there, in the next one, by whole hours,
    in which it is.
    """
    length = round((benchmark.seconds or 0.0) * 1000)
    end = local_end_ms(benchmark, offset_ms)
    if end is not None and benchmark.end_ms is None and end > now_ms:
        ahead = end - now_ms
        end = now_ms if ahead <= LATE_MS else end - -(-ahead // HOUR_MS) * HOUR_MS
    if benchmark.start_ms is not None:
        return benchmark.start_ms, end if end is not None else benchmark.start_ms + length
    return None if end is None else (end - length, end)


def described(found: Fit) -> Mapping[str, object]:
    """A run to choose, as plain data."""
    run = found.run
    return {"id": run.id, "name": run.name, "start": run.start_ms, "end": run.end_ms, "how": found.how}
