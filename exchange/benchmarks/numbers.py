"""Numbers of clients: what they are called, and how a client works them out. Written once for all tools."""

from __future__ import annotations

from runs.entries import Number
from telemetry.model import Unit

CLIENT_TPS = Number(
    "output_throughput",
    "Output throughput",
    Unit.TOKENS_PER_SECOND,
    "Output tokens ∕ seconds from the first request sent to the last answer whole, by the client's clock.",
)
TOTAL_TPS = Number(
    "total_throughput",
    "Total throughput",
    Unit.TOKENS_PER_SECOND,
    "Prompt and output tokens ∕ seconds; cached prompt tokens count in full.",
)
REQUEST_RATE = Number("request_throughput", "Requests per second", Unit.PER_SECOND, "Requests completed ∕ seconds.")
GOODPUT = Number(
    "request_goodput", "Goodput", Unit.PER_SECOND, "Requests that kept what was asked of their latency ∕ seconds."
)
PEAK = Number(
    "peak",
    "Peak",
    Unit.TOKENS_PER_SECOND,
    "Stream chunks that arrived in the fullest of fixed bins of one second. A chunk may hold several tokens.",
)
PEAK_REQUESTS = Number(
    "peak_requests", "Requests at once, most", Unit.REQUESTS, "Largest number of requests under way at the client."
)
OUTPUT = Number("output", "Output tokens", Unit.TOKENS, "Output tokens of the completed requests.")
PROMPT = Number("prompt", "Prompt tokens", Unit.TOKENS, "Prompt tokens of the completed requests, cached ones too.")
COMPLETED = Number("completed", "Requests completed", Unit.REQUESTS, "Requests whose answer came whole.")
FAILED = Number("failed", "Requests failed", Unit.REQUESTS, "Requests that failed or were given up.")
SECONDS = Number("seconds", "Length", Unit.SECONDS, "From the first request sent to the last answer.")
ACCEPTANCE = Number(
    "acceptance", "Acceptance", Unit.RATIO, "Accepted ∕ drafted tokens, read by the tool from the server's counters."
)
ACCEPTED_LENGTH = Number(
    "accepted_length",
    "Accepted length",
    Unit.TOKENS_PER_STEP,
    "Tokens per draft, the one that the model itself adds included, read from the server's counters.",
)
ACCEPTANCE_AT = Number(
    "acceptance_at", "Acceptance by position", Unit.RATIO, "Share of the drafts whose token at this position was taken."
)
LATENCIES = {
    "ttft": ("TTFT", "From sending a request to its first token at the client; its own queue and the network count."),
    "tpot": ("TPOT", "(End − first token) ∕ (output tokens − 1) of each request, by the client's clock."),
    "itl": ("ITL", "Time between stream chunks at the client; with speculative decoding a chunk holds several tokens."),
    "e2el": ("E2E", "From sending a request to the end of its answer at the client."),
}
STATISTICS = {"mean": "mean", "median": "median", "std": "standard deviation"}


def latency(name: str, statistic: str) -> Number:
    """A statistic of a latency: "mean", "median", "std", or "p95"."""
    label, definition = LATENCIES[name]
    said = STATISTICS.get(statistic, statistic)
    return Number(f"{name}_{statistic}", f"{label}, {said}", Unit.SECONDS, definition)
