"""Compare a store with the truth log of the simulator: `python tests/check_truth.py STORE.db TRUTH_DIR`.

Imports neither the product nor the simulator. The store is read as plain SQLite (tables series, layout, hot, episode),
the truth as lines of JSON. Counters are compared by their increase since an anchor, because a store begins at its first
sample. What must hold:

* tokens, requests, drafts: exact between instants at which nothing was counted for a second before and after, and at
  every other sample, against one of them, within what was counted during the delay of a scrape;
* histograms: the count in every bucket exact between two such instants, so percentiles lie in the same bucket;
* bytes and joules of a node: at every sample between the truth at the second before and the second after;
* the peak of the 10 s means: within what the delays of the scrapes can do to it.

Windows do not cross a restart of the engine or of a node: what was counted between the last scrape and the end is lost
to everybody but the truth. Exit status: 0 all right, 1 something differs, 2 nothing to compare, 3 nothing differs but
something could not be judged, because there was no quiet instant or nothing happened.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from truth_files import Column, Recorded, Truth, summed

LATE_S, EARLY_S = 1.0, 0.1
"""How much older or newer than its time stamp a sample may be, real seconds."""
WINDOW_S = 10.0
PEAK_SHARE = 0.06
"""How far a peak of samples may lie from the peak of all instants."""
COUNTERS = {
    "generation_tokens_total": "generated",
    "prompt_tokens_total": "prompt",
    "prompt_tokens_computed_total": "computed",
    "prompt_tokens_cached_total": "cached",
    "speculative_drafts_total": "drafts",
    "speculative_accepted_tokens_total": "accepted",
    "requests_finished_total": "finished",
}
OUTCOMES = ("stop", "length")
HISTOGRAMS = {
    "time_to_first_token_seconds": "time_to_first_token_seconds",
    "inter_token_latency_seconds": "inter_token_latency_seconds",
    "e2e_latency_seconds": "e2e_request_latency_seconds",
    "time_per_output_token_seconds": "request_time_per_output_token_seconds",
}
FABRIC = {
    "rdma_transmit_bytes_total": "rdma_sent",
    "rdma_receive_bytes_total": "rdma_received",
    "netdev_transmit_bytes_total": "tcp_sent",
    "netdev_receive_bytes_total": "tcp_received",
}
FUNCTIONS = ("rocep1s0f1", "roceP2p1s0f1")
WORD, MILLIJOULE = 8.0, 0.01
"""What rounding may do to an increase."""


@dataclass(frozen=True)
class Verdict:
    """One line of the report; `good` is None where it could not be judged."""

    what: str
    store: str
    truth: str
    allowed: str
    good: bool | None


def lives(truth: Truth, column: Column) -> Iterator[Column]:
    """A series cut where the engine's process changed."""
    parts: dict[int, Column] = {}
    for at_ms, value in zip(column.at_ms, column.values, strict=True):
        instant = truth.instant(at_ms)
        if truth.first <= instant <= truth.last:
            part = parts.setdefault(truth.lives(instant), Column(column.target, {}))
            part.at_ms.append(at_ms)
            part.values.append(value)
    yield from parts.values()


def exact(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """Engine counters between quiet instants, life by life."""
    for metric, name in COUNTERS.items():
        columns = store.of(metric)
        if name == "finished":
            columns = [column for column in columns if column.labels.get("outcome") in OUTCOMES]
        if not columns:
            yield Verdict(metric, "missing", "", "", False)
            continue
        pairs = wrong = 0
        counted = expected = 0.0
        for part in lives(truth, summed(columns)):
            samples = list(zip(part.at_ms, part.values, strict=True))
            quiet = [(truth.instant(at), value) for at, value in samples if truth.quiet(truth.instant(at), name)]
            for (start, low), (end, high) in itertools.pairwise(quiet):
                increase = truth.value(int(end), name) - truth.value(int(start), name)
                pairs, wrong = pairs + 1, wrong + (high - low != increase)
                counted, expected = counted + high - low, expected + increase
        said = f"{expected:.0f} over {pairs} quiet pairs"
        yield Verdict(metric, f"{counted:.0f}, {wrong} wrong", said, "exact", not wrong if pairs else None)


def every_sample(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """Generated tokens at each sample, within what is generated during the delay of a scrape."""
    late, early = LATE_S * truth.about["speed"], EARLY_S * truth.about["speed"]
    samples = wrong = 0
    for column in store.of("generation_tokens_total"):
        for part in lives(truth, column):
            rows = [(truth.instant(at_ms), value) for at_ms, value in zip(part.at_ms, part.values, strict=True)]
            before = [truth.generated(instant) - value for instant, value in rows if truth.quiet(instant, "generated")]
            for instant, value in rows if before else ():
                grown = value + before[0]
                fits = truth.generated(instant - late) <= grown <= truth.generated(instant + early)
                samples, wrong = samples + 1, wrong + (not fits)
    good = not wrong if samples else None
    yield Verdict("tokens at every sample", f"{wrong} wrong", f"{samples} samples", f"{LATE_S} s old", good)


def peak(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """The largest 10 s mean of decode: by the samples, and by the truth at all instants between them."""
    speed = truth.about["speed"]
    late, early = LATE_S * speed, EARLY_S * speed
    best = low = high = real = 0.0
    for column in store.of("generation_tokens_total"):
        for part in lives(truth, column):
            instants = [truth.instant(at_ms) for at_ms in part.at_ms]
            for at, instant in enumerate(instants):
                start = instant - WINDOW_S * speed
                if start < instants[0] or _gap(instants, start, instant, 2.5 * speed):
                    continue
                mean = (part.values[at] - _between(instants, part.values, start)) / WINDOW_S
                best = max(best, mean)
                inner = truth.generated(instant - late) - truth.generated(start + early + speed)
                outer = truth.generated(instant + early) - truth.generated(start - late - speed)
                low, high = max(low, inner / WINDOW_S), max(high, outer / WINDOW_S)
                real = max(real, (truth.generated(instant) - truth.generated(start)) / WINDOW_S)
    good = low <= best <= high and abs(best - real) <= PEAK_SHARE * real if best or real else None
    yield Verdict("peak of 10 s means, tokens/s", f"{best:.2f}", f"{real:.2f}", f"{low:.1f} to {high:.1f}, 6 %", good)


def _gap(instants: list[float], start: float, end: float, longest: float) -> bool:
    """Whether two samples inside a window are further apart than a gap allows."""
    inside = instants[max(bisect_right(instants, start) - 1, 0) : bisect_right(instants, end)]
    return any(later - earlier > longest for earlier, later in itertools.pairwise(inside))


def _between(instants: list[float], values: list[float], at: float) -> float:
    """Linear interpolation inside the samples."""
    right = bisect_left(instants, at)
    if instants[right] == at:
        return values[right]
    share = (at - instants[right - 1]) / (instants[right] - instants[right - 1])
    return values[right - 1] + (values[right] - values[right - 1]) * share


def histograms(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """Counts per bucket between the outermost instants around which nothing was observed."""
    for metric, name in HISTOGRAMS.items():
        columns = store.of(f"{metric}_bucket")
        if not columns:
            yield Verdict(metric, "missing", "", "", False)
            continue
        yield _histogram(truth, metric, name, columns)


def _histogram(truth: Truth, metric: str, name: str, columns: list[Column]) -> Verdict:
    edges = sorted({float(column.labels["le"].replace("+Inf", "inf")) for column in columns})
    by_edge = {float(column.labels["le"].replace("+Inf", "inf")): column for column in columns}
    counted, expected = [0.0] * len(edges), [0.0] * len(edges)
    for whole in lives(truth, by_edge[edges[-1]]):
        quiet = [at for at in whole.at_ms if truth.unobserved(truth.instant(at), name)]
        if len(quiet) < 2:
            continue
        start, end = quiet[0], quiet[-1]
        cumulative = [_at(by_edge[edge], end) - _at(by_edge[edge], start) for edge in edges]
        seconds = range(int(truth.instant(start)) + 1, int(truth.instant(end)) + 1)
        observed = [value for second in seconds for value in truth.seconds[second]["observed"].get(name, ())]
        for at in range(len(edges)):
            counted[at] += cumulative[at] - (cumulative[at - 1] if at else 0.0)
        for value in observed:
            expected[bisect_left(edges, value)] += 1
    same = counted == expected if sum(counted) + sum(expected) else None
    middle = f"p50 ≤ {_percentile(edges, counted, 0.5)}, p95 ≤ {_percentile(edges, counted, 0.95)}"
    real = f"p50 ≤ {_percentile(edges, expected, 0.5)}, p95 ≤ {_percentile(edges, expected, 0.95)}"
    return Verdict(metric, f"{sum(counted):.0f}: {middle}", f"{sum(expected):.0f}: {real}", "every bucket exact", same)


def _at(column: Column, at_ms: int) -> float:
    return column.values[column.at_ms.index(at_ms)]


def _percentile(edges: list[float], counts: list[float], share: float) -> float:
    """Upper edge of the bucket in which a percentile lies."""
    wanted, total = share * sum(counts), 0.0
    for edge, count in zip(edges, counts, strict=True):
        total += count
        if total >= wanted and total:
            return edge
    return float("nan")


def nodes(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """Bytes by function and joules of each node, at every sample of its first boot."""
    names = truth.about["names"]
    clocks = {column.target: column for column in store.of("agent_monotonic_seconds")}
    for metric, name in FABRIC.items():
        columns = [
            (column, names.index(column.target), FUNCTIONS.index(column.labels["function"]), WORD)
            for column in store.of(metric)
            if column.target in names and column.labels["function"] in FUNCTIONS
        ]
        yield _bounded(truth, metric, name, columns, clocks)
    joules = [(column, names.index(column.target), None, MILLIJOULE) for column in store.of("gpu_energy_joules_total")]
    yield _bounded(truth, "gpu_energy_joules_total", "joules", joules, clocks)


def _bounded(
    truth: Truth,
    metric: str,
    name: str,
    columns: Sequence[tuple[Column, int, int | None, float]],
    clocks: dict[str, Column],
) -> Verdict:
    samples = wrong = 0
    counted = expected = 0.0
    for column, node, function, rounding in columns:
        points = list(_points(truth, column, clocks.get(column.target), node))
        for instant, value in points:
            least = _node(truth, name, node, function, int(instant)) - _node(
                truth, name, node, function, int(points[0][0]) + 1
            )
            most = _node(truth, name, node, function, int(instant) + 1) - _node(
                truth, name, node, function, int(points[0][0])
            )
            fits = least - rounding <= value - points[0][1] <= most + rounding
            samples, wrong = samples + 1, wrong + (not fits)
        if points:
            counted += points[-1][1] - points[0][1]
            ends = (_smooth(truth, name, node, function, instant) for instant, _ in (points[0], points[-1]))
            expected += -next(ends) + next(ends)
    said = f"{expected:.6g} over {samples} samples of {len(columns)} series"
    return Verdict(metric, f"{counted:.6g}, {wrong} wrong", said, "between the seconds", samples > 0 and not wrong)


def _points(truth: Truth, column: Column, clock: Column | None, node: int) -> Iterator[tuple[float, float]]:
    """(instant by the node's own clock, value) while the node had not been rebooted."""
    if clock is None:
        return
    monotonic = dict(zip(clock.at_ms, clock.values, strict=True))
    for at_ms, value in zip(column.at_ms, column.values, strict=True):
        if at_ms in monotonic:
            instant = truth.instant_of(node, monotonic[at_ms])
            if truth.first <= instant < truth.last and truth.seconds[int(instant) + 1]["boots"][node] == 0:
                yield instant, value


def _node(truth: Truth, name: str, node: int, function: int | None, second: int) -> float:
    value = truth.seconds[second][name][node]
    return float(value if function is None else value[function])


def _smooth(truth: Truth, name: str, node: int, function: int | None, instant: float) -> float:
    low, high = (_node(truth, name, node, function, int(instant) + step) for step in (0, 1))
    return low + (high - low) * (instant - int(instant))


def episodes(truth: Truth, store: Recorded) -> Iterator[Verdict]:
    """Computed tokens of finished prefills between the first and the last of the store; several may end in one tick."""
    if not store.episodes:
        return
    delay = 2 * LATE_S * truth.about["speed"]
    start, end = truth.instant(store.episodes[0][0]) - delay, truth.instant(store.episodes[-1][0])
    real = [
        one for second in truth.seconds.values() for one in second["episodes"] if start <= one["first_token"] <= end
    ]
    counted, expected = sum(tokens or 0 for _, tokens in store.episodes), sum(one["computed"] for one in real)
    said = f"{expected} tokens in {len(real)}"
    yield Verdict(
        "prefill episodes", f"{counted} tokens in {len(store.episodes)}", said, "exact tokens", counted == expected
    )


MARKS = {True: "ok", False: "BAD", None: "?"}
CHECKS = (exact, every_sample, histograms, peak, nodes, episodes)


def check(store: Recorded, truth: Truth) -> list[Verdict]:
    """All verdicts."""
    return [verdict for judge in CHECKS for verdict in judge(truth, store)]


def table(verdicts: list[Verdict]) -> str:
    """The report for people."""
    rows = [("", "what", "store", "truth", "allowed")]
    rows += [(MARKS[one.good], one.what, one.store, one.truth, one.allowed) for one in verdicts]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main(arguments: list[str]) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser("check_truth", description="Compare a store with the simulator's truth log.")
    parser.add_argument("store", type=Path)
    parser.add_argument("truth", type=Path)
    parser.add_argument("--from", dest="start_ms", type=float, default=float("-inf"), help="first tick, epoch ms")
    parser.add_argument("--to", dest="end_ms", type=float, default=float("inf"), help="last tick, epoch ms")
    given = parser.parse_args(arguments)
    truth = Truth(given.truth)
    if not given.store.is_file() or not truth.seconds or not truth.about:
        print("nothing to compare: no store, or no truth log", file=sys.stderr)
        return 2
    verdicts = check(Recorded(given.store, given.start_ms, given.end_ms), truth)
    print(table(verdicts))
    if any(one.good is False for one in verdicts):
        return 1
    return 0 if all(one.good for one in verdicts) else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
