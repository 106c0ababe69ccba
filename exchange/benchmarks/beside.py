"""A client's numbers beside the engine's of the same stretch, with what explains the difference. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exchange.benchmarks.record import Benchmark
from runs.entries import Entry, Section, find

CLOCKS = (
    "The client's includes its own queue, the connection and the network; the engine's begins when it has the request."
)
WHOLE_TIME = (
    "The client divides by its whole time, from the first request sent to the last answer; the engine's is over the "
    "time in which tokens came."
)
WARM_UP = "The engine counts warm-up requests and those of other clients, too."
CHUNKS = "The client times stream chunks, the engine tokens: with speculative decoding a chunk holds several tokens."
BINS = (
    "Not comparable: the client counts stream chunks in fixed bins of a second, the engine's is the largest mean over "
    "1 s of tokens; with speculative decoding a chunk holds several."
)
BUCKETS = "The engine's percentile lies somewhere in a bucket of its histogram."


@dataclass(frozen=True, slots=True)
class Pair:
    """client: key of a result's number. server: entry of the summary, "section.key". note: why they differ.

    compared: whether a difference of the two says anything. label: what the two are called where they are not the same
    thing, "" where the client's name is that of both.
    """

    client: str
    server: str
    note: str
    compared: bool = True
    label: str = ""


def _latency(client: str, server: str, note: str, compared: bool) -> Iterable[Pair]:
    yield Pair(f"{client}_mean", f"latency.{server}_mean", note, compared)
    for level in ("p50", "p95", "p99"):
        yield Pair(f"{client}_{level}", f"latency.{server}_{level}", f"{BUCKETS} {note}", False)


PAIRS: tuple[Pair, ...] = (
    Pair("output", "requests.output", WARM_UP),
    Pair("prompt", "requests.prompt", WARM_UP),
    Pair("completed", "requests.finished", WARM_UP),
    Pair("seconds", "speed.decoding_seconds", WHOLE_TIME, False, "Length (engine: time decoding)"),
    Pair("output_throughput", "speed.decode_mean", WHOLE_TIME),
    Pair("peak", "speed.decode_peak_1s", BINS, False),
    *_latency("ttft", "ttft", CLOCKS, False),
    *_latency("tpot", "tpot", "Both leave the first token out.", True),
    *_latency("itl", "itl", CHUNKS, False),
    *_latency("e2el", "e2e", CLOCKS, True),
    Pair("acceptance", "speculation.acceptance", "The tool reads the engine's counters before and after."),
    Pair("accepted_length", "speculation.accepted_length", "The tool reads the engine's counters before and after."),
)
SERVER = tuple(pair.server for pair in PAIRS)


@dataclass(frozen=True, slots=True)
class Compared:
    """A number of both. difference: (client − engine) ∕ engine, None where that says nothing or one is not known."""

    label: str
    client: Entry
    server: Entry | None
    difference: float | None
    note: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "label": self.label,
            "client": self.client.to_json(),
            "server": None if self.server is None else self.server.to_json(),
            "difference": self.difference,
            "note": self.note,
        }


def server_entries(summary: Sequence[Section]) -> tuple[Entry, ...]:
    """The engine's numbers that stand beside a client's; keys with their section: "speed.decode_mean"."""
    found = ((path, find(summary, path)) for path in SERVER)
    return tuple(replace(one, key=path) for path, one in found if one is not None)


def beside(benchmark: Benchmark, summary: Sequence[Section]) -> list[Compared]:
    """What both tell. summary: of the whole run, for a result that is all of it."""
    own = benchmark.overlay.server if benchmark.overlay is not None and benchmark.overlay.server else None
    server = {one.key: one for one in (server_entries(summary) if own is None else own)}
    client = {one.key: one for one in benchmark.entries if not one.of}
    found = []
    for pair in PAIRS:
        if pair.client in client:
            mine, theirs = client[pair.client], server.get(pair.server)
            difference = _difference(mine, theirs) if pair.compared else None
            found.append(Compared(pair.label or mine.label, mine, theirs, difference, pair.note))
    return found


def _difference(client: Entry, server: Entry | None) -> float | None:
    if server is None or client.value is None or not server.value or server.relation != "=":
        return None
    return (client.value - server.value) / server.value


def apart(difference: float | None) -> str:
    """A difference in words, "" where it says nothing.

    >>> apart(0.0), apart(-0.0123), apart(None)
    ('equal', '−1.2 %', '')
    """
    if difference is None:
        return ""
    return "equal" if difference == 0 else f"{difference * 100:+.1f} %".replace("-", "−")


def rest(benchmark: Benchmark) -> list[Entry]:
    """Numbers of a client that the engine has nothing beside: of single tests, and what only a client knows."""
    paired = {pair.client for pair in PAIRS}
    return [one for one in benchmark.entries if one.of or one.key not in paired]


def answer(benchmark: Benchmark, summary: Sequence[Section]) -> Mapping[str, Any]:
    """A result as the API gives it: {…, key, beside, rest}."""
    told = benchmark.to_json()
    return {
        **{name: told[name] for name in told if name not in ("entries", "overlay")},
        "key": benchmark.key,
        "overlay": None
        if benchmark.overlay is None
        else {name: told["overlay"][name] for name in ("start", "end", "how")},
        "beside": [one.to_json() for one in beside(benchmark, summary)],
        "rest": [one.to_json() for one in rest(benchmark)],
    }
