"""guidellm: `benchmarks.json`, the numbers of its successful requests; one result per benchmark in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from exchange.benchmarks import numbers as of
from exchange.benchmarks.fields import Fields
from exchange.benchmarks.record import Benchmark
from runs.entries import Entry, Number

TOOL = "guidellm"
LEVELS = ("p50", "p95", "p99")
LATENCIES = {
    "time_to_first_token_ms": ("ttft", 0.001),
    "time_per_output_token_ms": ("tpot", 0.001),
    "inter_token_latency_ms": ("itl", 0.001),
    "request_latency": ("e2el", 1.0),
}
RATES: Mapping[str, Number] = {
    "output_tokens_per_second": of.CLIENT_TPS,
    "tokens_per_second": of.TOTAL_TPS,
    "requests_per_second": of.REQUEST_RATE,
}
COUNTS: Mapping[str, Number] = {"prompt_token_count": of.PROMPT, "output_token_count": of.OUTPUT}


def fits(data: Any) -> bool:
    """Whether it looks like one of its files."""
    if not isinstance(data, Mapping) or not isinstance(data.get("benchmarks"), list):
        return False
    about = data.get("metadata")
    told = isinstance(about, Mapping) and "guidellm_version" in about
    return told or any(isinstance(one, Mapping) and "scheduler_metrics" in one for one in data["benchmarks"])


def read(data: Mapping[str, Any], where: str) -> list[Benchmark]:
    """Its results; ValueError names the key that is wrong."""
    fields = Fields(data, where)
    about = fields.inner("metadata")
    version = "" if about is None else about.text("guidellm_version")
    return [_one(one, version) for one in fields.objects("benchmarks")]


def _one(fields: Fields, version: str) -> Benchmark:
    clock, config = fields.inner("scheduler_metrics"), fields.inner("config")
    start = None if clock is None else clock.number("start_time")
    end = None if clock is None else clock.number("end_time")
    length = end - start if start is not None and end is not None and end >= start else None
    strategy = None if config is None else config.inner("strategy")
    return Benchmark(
        tool=TOOL,
        version=version,
        model=_model(config),
        entries=tuple(_entries(fields, length)),
        start_ms=None if start is None else round(start * 1000),
        end_ms=None if end is None else round(end * 1000),
        seconds=length,
        protocol={} if strategy is None else _plain(strategy),
    )


def _model(config: Fields | None) -> str:
    """The model, where its settings tell it: with the backend that asked for it."""
    backend = None if config is None else config.inner("backend")
    for place in (backend, config):
        if place is not None and isinstance(place.data.get("model"), str):
            return place.text("model")
    return ""


def _plain(fields: Fields) -> dict[str, str]:
    plain = {name: value for name, value in fields.data.items() if isinstance(value, str | int | float)}
    return {name.strip("_").replace("_", " ")[:160]: str(value)[:500] for name, value in plain.items()}


def _entries(fields: Fields, length: float | None) -> Iterable[Entry]:
    if length is not None:
        yield of.SECONDS.entry(length)
    metrics = fields.inner("metrics")
    if metrics is None:
        raise fields.wrong("metrics", None, "an object")
    totals = metrics.inner("request_totals") or fields.inner("request_totals")
    if totals is not None:
        completed, errored = totals.number("successful"), totals.number("errored")
        yield of.COMPLETED.entry(completed)
        yield of.FAILED.entry(errored)
    for key, number in COUNTS.items():
        known = _successful(metrics, key)
        if known is not None and (total := known.number("total_sum")) is not None:
            yield number.entry(total)
    for key, number in RATES.items():
        known = _successful(metrics, key)
        if known is not None and (mean := known.number("mean")) is not None:
            yield number.entry(mean)
    for key, (name, scale) in LATENCIES.items():
        known = _successful(metrics, key)
        if known is not None:
            yield from _latency(known, name, scale)


def _successful(metrics: Fields, key: str) -> Fields | None:
    several = metrics.inner(key)
    return None if several is None else several.inner("successful")


def _latency(known: Fields, name: str, scale: float) -> Iterable[Entry]:
    count, levels = known.number("count"), known.inner("percentiles")
    found = {"mean": known.number("mean"), "median": known.number("median")}
    found |= {level: None if levels is None else levels.number(level) for level in LEVELS}
    for statistic, value in found.items():
        if value is not None:
            yield of.latency(name, statistic).entry(value * scale, count=count)
