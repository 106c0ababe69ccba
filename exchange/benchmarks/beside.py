"""A client's numbers beside the engine's of the same stretch, with what explains the difference. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exchange.benchmarks.record import Benchmark, Overlay
from runs.entries import Entry, Section, find

CLOCKS = (
    "The client's includes its own queue, the connection and the network; the engine's begins when it has the request."
)
WHOLE_TIME = (
    "The client divides by its whole time, from the first request sent to the last answer; the engine's is over the "
    "time in which tokens came."
)
WARM_UP = "The engine counts warm-up requests and those of other clients, too."
FEWER = "The engine counted less than the client: some of it went to another engine, or lies outside of these minutes"
UNCACHED = f"{FEWER}; llama.cpp leaves out prompt tokens that were cached."
CHUNKS = "The client times stream chunks, the engine tokens: with speculative decoding a chunk holds several tokens."
OTHERS = "The engine's is of all requests of these minutes, those of warm-up and of other clients, too."
BINS = (
    "Not comparable: the client counts stream chunks in fixed bins of a second, the engine's is the largest mean over "
    "1 s of tokens; with speculative decoding a chunk holds several."
)
COUNTERS = "The tool reads the engine's counters before and after."
BUCKETS = "The engine's percentile lies somewhere in a bucket of its histogram."


@dataclass(frozen=True, slots=True)
class Pair:
    """client: key of a result's number. server: entry of the summary, "section.key".

    below, above: why the client's is lower than the engine's, and why it is higher: what explains the one cannot
    explain the other. always: what is to be said whichever is.
    compared: whether a difference of the two says anything. label: what the two are called where they are not the same
    thing, "" where the client's name is that of both.
    """

    client: str
    server: str
    below: str = ""
    above: str = ""
    always: str = ""
    compared: bool = True
    label: str = ""

    def reason(self, client: float | None, server: float | None) -> str:
        """Why two numbers differ, as far as their order allows; "" where nothing is to be explained."""
        if client is None or server is None:
            return ""
        told = self.below if client < server else self.above if client > server else ""
        return " ".join(filter(None, (self.always, told)))


def _latency(client: str, server: str, below: str, above: str, always: str, compared: bool) -> Iterable[Pair]:
    yield Pair(f"{client}_mean", f"latency.{server}_mean", below, above, always, compared)
    for level in ("p50", "p95", "p99"):
        said = f"{BUCKETS} {always}".strip()
        yield Pair(f"{client}_{level}", f"latency.{server}_{level}", below, above, said, False)


PAIRS: tuple[Pair, ...] = (
    Pair("output", "requests.output", WARM_UP, f"{FEWER}."),
    Pair("prompt", "requests.prompt", WARM_UP, UNCACHED),
    Pair("completed", "requests.finished", WARM_UP, f"{FEWER}."),
    Pair(
        "seconds",
        "speed.decoding_seconds",
        OTHERS,
        WHOLE_TIME,
        compared=False,
        label="Length (engine: time decoding)",
    ),
    Pair("output_throughput", "speed.decode_mean", WHOLE_TIME, OTHERS),
    Pair("peak", "speed.decode_peak_1s", always=BINS, compared=False),
    *_latency("ttft", "ttft", OTHERS, CLOCKS, "", False),
    *_latency("tpot", "tpot", OTHERS, OTHERS, "Both leave the first token out.", True),
    *_latency("itl", "itl", OTHERS, CHUNKS, "", False),
    *_latency("e2el", "e2e", OTHERS, CLOCKS, "", True),
    Pair("acceptance", "speculation.acceptance", always=COUNTERS),
    Pair("accepted_length", "speculation.accepted_length", always=COUNTERS),
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
            why = pair.reason(mine.value, None if theirs is None else theirs.value)
            found.append(Compared(pair.label or mine.label, mine, theirs, difference, why))
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


OF_BENCHMARK, OF_RUN = "the minutes of the benchmark", "all of the run over which it was laid"


def minutes(overlay: Overlay | None, between: tuple[int, int] | None) -> dict[str, Any] | None:
    """{start, end, of}: of which minutes the engine's numbers are, and whether those are the benchmark's own.

    between: what they are of where the result is all of its run.
    """
    if overlay is None:
        return None
    start, end = (overlay.start_ms, overlay.end_ms) if overlay.server or between is None else between
    return {"start": start, "end": end, "of": OF_BENCHMARK if overlay.server else OF_RUN}


def answer(
    benchmark: Benchmark, summary: Sequence[Section], between: tuple[int, int] | None = None
) -> Mapping[str, Any]:
    """A result as the API gives it: {…, key, engine, beside, rest}. between: of what the summary is."""
    told = benchmark.to_json()
    return {
        **{name: told[name] for name in told if name not in ("entries", "overlay")},
        "key": benchmark.key,
        "overlay": None
        if benchmark.overlay is None
        else {name: told["overlay"][name] for name in ("start", "end", "how")},
        "engine": minutes(benchmark.overlay, between),
        "beside": [one.to_json() for one in beside(benchmark, summary)],
        "rest": [one.to_json() for one in rest(benchmark)],
    }
