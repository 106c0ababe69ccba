"""`/healthz` for watchdogs, and `/metrics`: what the hub says of itself, as text any Prometheus reads."""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator

from flask import Flask, Response
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from dashboard.live import current
from dashboard.live.scene import watched
from dashboard.process import WebProcess
from storage.errors import StoreError
from telemetry import catalog
from telemetry.catalog import cluster
from telemetry.model import Metric as Measured
from telemetry.model import Scope

OLD_COMMIT_MS = 10_000
RECORDED = tuple(
    metric
    for metric in catalog.METRICS
    if isinstance(metric, Measured) and metric.scope in (Scope.DEPLOYMENT, Scope.CLUSTER)
)


def commit_age_ms(process: WebProcess) -> int | None:
    """Age of the newest commit, None when there is none."""
    commit = process.sources.store.latest_commit()
    return None if commit is None else max(process.sources.now_ms() - commit.at_ms, 0)


def health(process: WebProcess) -> tuple[int, str]:
    """(status, sentence): 503 when nothing was committed within 10 s, or live data is not made."""
    try:
        age = commit_age_ms(process)
    except StoreError as error:
        return 503, str(error)
    if age is None:
        return 503, "nothing was ever committed"
    if age > OLD_COMMIT_MS:
        return 503, f"the last commit is {age / 1000:.0f} s old"
    if process.follower.work.problem is not None:
        return 503, process.follower.work.problem
    return 200, "ok"


class OwnMetrics(Collector):
    """Reads the hub's own numbers at each scrape."""

    def __init__(self, process: WebProcess) -> None:
        self._process = process

    def collect(self) -> Iterator[Metric]:
        """The families, names with the prefix of the wire."""
        yield from self._web()
        yield from self._targets()
        yield from self._recorded()

    def _web(self) -> Iterator[Metric]:
        work, hub = self._process.follower.work, self._process.hub
        age = commit_age_ms(self._process)
        if age is not None:
            yield _gauge("commit_age_seconds", "Age of the newest commit.", age / 1000.0)
        yield _gauge("store_size_bytes", "Size of the store.", self._process.sources.store.size_bytes())
        yield _gauge("web_streams", "Live streams open.", hub.streams)
        yield _counter("web_messages", "Live messages made.", work.messages)
        yield _counter("web_message_seconds", "Time spent on making live messages.", work.seconds)
        yield _counter("web_message_cpu_seconds", "Processor time spent on making live messages.", work.cpu_seconds)
        yield _counter("web_failures", "Looks at the store that failed.", work.failures)
        usage = resource.getrusage(resource.RUSAGE_SELF)
        yield _counter("web_cpu_seconds", "Processor time of the web process.", usage.ru_utime + usage.ru_stime)
        yield _gauge("web_resident_memory_bytes", "Resident memory of the web process.", resident_bytes())

    def _targets(self) -> Iterator[Metric]:
        age = commit_age_ms(self._process)
        known = age is not None and age <= OLD_COMMIT_MS
        up = GaugeMetricFamily(
            _name("target_up"), "1 while a target answers, absent while unknown.", labels=["target", "kind"]
        )
        interval = GaugeMetricFamily(_name("target_interval_seconds"), "Nominal interval.", labels=["target"])
        for target in watched(self._process.sources.store):
            if known:
                up.add_metric([target.name, target.kind], float(target.state == "ok"))
            interval.add_metric([target.name], target.interval_ms / 1000.0)
        if up.samples:
            yield up
        yield interval

    def _recorded(self) -> Iterator[Metric]:
        tail = self._process.sources.tail
        tick, now = tail.latest_tick, self._process.sources.now_ms()
        if not tail.loaded or tick is None or now - tick > OLD_COMMIT_MS:
            return
        frame = tail.frame({metric.name for metric in RECORDED}, start_ms=tick - OLD_COMMIT_MS, end_ms=tick)
        values = current.newest(frame, tick)
        for metric in RECORDED:
            counter = metric.name.endswith("_total")
            family = CounterMetricFamily if counter else GaugeMetricFamily
            found = family(_name(metric.name.removesuffix("_total")), metric.help, labels=["target"])
            for one, value in zip(frame.series, values, strict=True):
                if one.metric == metric.name and math.isfinite(value):
                    found.add_metric([one.target.removeprefix(cluster.DEPLOYMENT_PREFIX)], float(value))
            if found.samples:
                yield found


def _name(name: str) -> str:
    return catalog.WIRE_PREFIX + name


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(_name(name), text, value=value)


def _counter(name: str, text: str, value: float) -> Metric:
    return CounterMetricFamily(_name(name), text, value=value)


def resident_bytes() -> int:
    """Resident memory of this process, from /proc."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def register(server: Flask, process: WebProcess) -> None:
    """Add `/healthz` and `/metrics`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(OwnMetrics(process))

    @server.get("/healthz")
    def healthz() -> Response:
        status, text = health(process)
        response = Response(f"{text}\n", status=status, content_type="text/plain; charset=utf-8")
        response.headers["Cache-Control"] = "no-store"
        return response

    @server.get("/metrics")
    def own_metrics() -> Response:
        return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
