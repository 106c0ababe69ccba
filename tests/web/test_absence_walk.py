"""Absent is not zero: every metric of the catalogue taken away, made unknown, or gone silent with its target.

No answer and no cell may show 0 or an old value in its place, and each says why there is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from dashboard.live.reasons import stored_metrics
from dashboard.server import build
from telemetry import catalog
from telemetry.model import PARTS, Kind, Metric, Ratio, Scope, Series, part
from tests.web.conftest import Web
from tests.web.world import DEPLOYMENT, ENGINE, HEAD, NAN, World, constant, rising, tick

GONE = 100
"""From this tick number on the metric is not there."""
LAST = 130
TARGETS = {
    Scope.NODE: "spark-02",
    Scope.TARGET: "spark-02",
    Scope.ENGINE: HEAD,
    Scope.DEPLOYMENT: DEPLOYMENT,
    Scope.CLUSTER: "cluster",
}


def all_stored() -> list[Metric]:
    """What can be in a store: metrics, and histograms by their parts."""
    found: list[Metric] = []
    for metric in catalog.METRICS:
        if isinstance(metric, Metric):
            found += [part(metric, name) for name in PARTS] if metric.kind is Kind.HISTOGRAM else [metric]
    return found


def complete(world: World) -> None:
    """Give every stored metric of the catalogue to a target that may have it."""
    values = {"gpu": "0", "engine": "0", "model": ENGINE[1][1], "le": "+Inf"}
    for metric in all_stored():
        owner = TARGETS[metric.scope]
        if not any(series.metric == metric.name for series in world.series[owner]):
            labels = tuple((name, values.get(name, "x")) for name in sorted(metric.by))
            course = rising(3.0) if metric.kind is Kind.COUNTER else constant(0.5)
            world.series[owner][Series(owner, metric.name, labels)] = course


def take_away(world: World, metric: Metric) -> None:
    """The metric is no longer on the page."""
    world.drop(metric.name)


def make_unknown(world: World, metric: Metric) -> None:
    """The metric is on the page, without a number."""
    for target, values in world.series.items():
        if any(series.metric == metric.name for series in values):
            world.set(target, metric, constant(NAN))


WAYS: dict[str, Callable[[World, Metric], None]] = {"taken away": take_away, "not a number": make_unknown}


class Worlds:
    """Web processes over complete worlds from which some metrics are gone since GONE; each is made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, ...], Web] = {}

    def without(self, way: str, metrics: list[Metric]) -> Web:
        """The one without these metrics."""
        key = (way, *(metric.name for metric in metrics))
        if key not in self._made:
            world = World(self._folder / f"{len(self._made)}.db", nodes=2)
            complete(world)
            world.run(GONE - 30, GONE - 1)
            for metric in metrics:
                WAYS[way](world, metric)
            world.run(GONE, LAST)
            self._made[key] = Web(world)
            self._made[key].step()
        return self._made[key]

    def close(self) -> None:
        """Close them all."""
        for web in self._made.values():
            web.close()
            web.world.close()


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Makes worlds, and closes them at the end."""
    made = Worlds(tmp_path_factory.mktemp("absences"))
    yield made
    made.close()


GROUPS = sorted({metric.group for metric in all_stored()})


def values_of(web: Web, names: set[str]) -> list[dict[str, Any]]:
    return [one for one in web.get("latest")["values"] if one["metric"] in names]


def told_as(metric: Metric) -> str | None:
    """What the newest values call a metric. Of a histogram nothing is known without its count; without its buckets or
    its sum there may still be a mean or a percentile, so that nothing is told of those."""
    counts = {part(one, "count").name: one.name for one in HISTOGRAMS}
    parts = {part(one, name).name for one in HISTOGRAMS for name in PARTS}
    return counts.get(metric.name, None if metric.name in parts else metric.name)


HISTOGRAMS = [one for one in catalog.METRICS if isinstance(one, Metric) and one.kind is Kind.HISTOGRAM]


def dependents(metric: Metric) -> set[str]:
    """The metric itself (the histogram that it counts), and the ratios that are read from it."""
    told = told_as(metric)
    found = set() if told is None else {told}
    for other in catalog.METRICS:
        if isinstance(other, Ratio) and metric.name in {one.name for one in stored_metrics(other)}:
            found.add(other.name)
    return found


def was_read(web: Web, target: str) -> bool:
    """Whether anything was read of a target since GONE: a line of one that was not ends there."""
    return any(row.layout.series for row in web.world.writer.rows(start=tick(GONE), targets=[target]))


def check(web: Web, metric: Metric) -> None:
    """Nothing that is made of a metric is known any more, and all of it was looked at."""
    seen = set()
    for one in values_of(web, dependents(metric)):
        if one["labels"]["target"] in (TARGETS[metric.scope], "cluster"):
            assert one["v"] is None, one
            assert one["reason"], one
            seen.add(one["metric"])
    assert told_as(metric) in {None, *seen}, "what is gone is told as unknown, not left out"
    lines = web.get(f"series?metric={metric.name}&start={tick(GONE - 5)}&end={tick(LAST)}")["series"]
    mine = [line for line in lines if line["labels"]["target"] == TARGETS[metric.scope]]
    early = [value for line in mine for t, value in zip(line["t"], line["v"], strict=True) if t < tick(GONE)]
    assert any(value is not None for value in early), "it was there before"
    for line in lines:
        late = [value for t, value in zip(line["t"], line["v"], strict=True) if t >= tick(GONE)]
        assert late or not was_read(web, line["labels"]["target"]), line["labels"]
        assert all(value is None for value in late), line["labels"]


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("group", GROUPS)
def test_whole_groups(worlds: Worlds, way: str, group: str) -> None:
    metrics = [metric for metric in all_stored() if metric.group == group]
    web = worlds.without(way, metrics)
    for metric in metrics:
        check(web, metric)


@pytest.mark.live
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("metric", all_stored(), ids=lambda metric: metric.name)
def test_each_alone(worlds: Worlds, way: str, metric: Metric) -> None:
    check(worlds.without(way, [metric]), metric)


CELLS = {
    "decode.now": "generation_tokens_total",
    "decode.mean": "generation_tokens_total",
    "decode.peak": "recorded_decode_tokens_per_second",
    "decode.peak_1s": "recorded_decode_1s_tokens_per_second",
    "prefill.throughput": "prefill_tokens_total",
    "requests.running": "requests_running",
    "requests.waiting": "requests_waiting",
    "ttft.p50": "time_to_first_token_seconds_count",
    "itl.p95": "inter_token_latency_seconds_count",
    "acceptance": "speculative_draft_tokens_total",
    "accepted_length": "speculative_drafts_total",
    "kv": "kv_cache_usage_ratio",
    "prefix_hits": "prompt_tokens_total",
    "power": "cluster_gpu_power_watts",
    "energy_per_token": "gpu_energy_joules_total",
    "interconnect": "cluster_transmit_bytes_per_second",
    "interconnect_per_token": "rdma_transmit_bytes_total",
}
"""Cells, each with the metric without which it cannot be known."""
STAND_INS = {"decode.now": "reported_throughput_tokens_per_second"}
"""What an engine says itself, where a cell falls back to it."""
OVER_THE_PAST = {"decode.mean", "decode.peak", "decode.peak_1s", "ttft.p50", "itl.p95"}
"""Cells of a longer time, which still tell of what happened before."""


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize(("key", "name"), list(CELLS.items()))
def test_cells(worlds: Worlds, way: str, key: str, name: str) -> None:
    gone = [metric for metric in all_stored() if metric.name in (name, STAND_INS.get(key))]
    message = worlds.without(way, gone).process.hub.latest()[1]
    assert message is not None
    text, _, state, reason = message["cells"][key]
    if key in OVER_THE_PAST and state == "ok":
        assert text not in ("0", "0.0")
        return
    assert (text, state) == ("–", "unknown")
    assert reason


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Web]]:
    """Makes web processes of complete worlds in which some targets are silent since GONE; each is made once."""
    made: dict[tuple[Any, ...], Web] = {}

    def make(names: tuple[str, ...], state: str, why: str) -> Web:
        key = (names, state, why)
        if key not in made:
            world = World(tmp_path_factory.mktemp("silent") / "store.db", nodes=3)
            complete(world)
            world.run(GONE - 30, GONE - 1)
            for name in names:
                world.silence(name, GONE, state, why)
            world.run(GONE, LAST)
            made[key] = Web(world)
            made[key].step()
        return made[key]

    yield make
    for web in made.values():
        web.close()
        web.world.close()


NAMES = ("spark-02", "spark-03", HEAD)
SILENCES = [
    (("spark-02",), "timed out", "", "does not answer in time"),
    ((HEAD,), "timed out", "", "does not answer in time"),
    (NAMES, "refused", "connection refused", "refuses the connection (connection refused)"),
    (NAMES, "stopped", "", "has stopped"),
    (NAMES, "loading", "", "is loading"),
    (("spark-02", HEAD), "ok", "", "has been silent for 31.0 s"),
]


@pytest.mark.parametrize(("names", "state", "why", "words"), SILENCES)
def test_silent_targets_show_nothing_old(
    silent: Callable[..., Web], names: tuple[str, ...], state: str, why: str, words: str
) -> None:
    web = silent(names, state, why)
    seen = dict.fromkeys(names, 0)
    for one in web.get("latest")["values"]:
        target = one["labels"]["target"]
        if target in names:
            assert (one["v"], one["t"], one["state"]) == (None, None, "unknown"), one
            assert one["reason"] == f"{target} {words}"
            seen[target] += 1
    assert min(seen.values()) > 10, seen
    path = "series?metric=scrape_duration_seconds&"
    before = web.get(f"{path}start={tick(GONE - 5)}&end={tick(GONE - 1)}")["series"]
    assert {line["labels"]["target"] for line in before if all(v is not None for v in line["v"])} >= set(names)
    after = web.get(f"{path}start={tick(GONE)}&end={tick(LAST)}")["series"]
    told = {line["labels"]["target"] for line in after if any(v is not None for v in line["v"])}
    assert told == {"spark-01", "spark-02", "spark-03", HEAD} - set(names)


def test_no_metric_of_a_silent_target_goes_on(silent: Callable[..., Web]) -> None:
    """Each stored metric of each, as a chart asks for it."""
    web, seen = silent(NAMES, "refused", "connection refused"), 0
    for metric in all_stored():
        if metric.scope not in (Scope.NODE, Scope.TARGET, Scope.ENGINE):
            continue
        lines = web.get(f"series?metric={metric.name}&start={tick(GONE - 5)}&end={tick(LAST)}")["series"]
        mine = [line for line in lines if line["labels"]["target"] in NAMES]
        early = [value for line in mine for t, value in zip(line["t"], line["v"], strict=True) if t < tick(GONE)]
        assert any(value is not None for value in early), f"{metric.name} was there before"
        late = [value for line in mine for t, value in zip(line["t"], line["v"], strict=True) if t >= tick(GONE)]
        assert all(value is None for value in late), metric.name
        seen += 1
    assert seen > 100


CELL = re.compile(r'<span class="cell"([^>]*)><b>(.*?)</b>')


def cells_of(fragment: str) -> list[tuple[str, str, str]]:
    """(state, text, reason) of every cell of a fragment."""
    found = []
    for attributes, text in CELL.findall(fragment):
        state = re.search(r'data-state="(.*?)"', attributes)
        reason = re.search(r'title="(.*?)"', attributes)
        assert state, attributes
        found.append((state[1], text, reason[1] if reason else ""))
    return found


@pytest.fixture(scope="module")
def pages(silent: Callable[..., Web]) -> FlaskClient:
    """The pages of a process that has lost two of three nodes and its engine."""
    return build(silent(NAMES, "refused", "connection refused").process).test_client()


@pytest.mark.parametrize("fragment", ["node", "node-readings"])
def test_the_fragments_of_a_silent_node_show_nothing_old(pages: FlaskClient, fragment: str) -> None:
    alive = cells_of(pages.get(f"/fragment/{fragment}?node=spark-01").text)
    assert ("ok", "50", "") in alive, "its power"
    for number, name in enumerate(NAMES[:2]):
        text = pages.get(f"/fragment/{fragment}?node={name}").text
        cells = cells_of(text)
        assert len(cells) >= 8, "the readings that people ask for first"
        why = f"{name} refuses the connection (connection refused)"
        assert [told for state, told, _ in cells if state != "unknown"] == []
        assert {told for state, told, _ in cells if state == "unknown"} == {"–"}
        assert all(reason for state, _, reason in cells if state == "unknown")
        assert why in {reason for _, _, reason in cells}
        assert fragment != "node" or f"Not known of p0 (f0, f1), p1 (f2, f3): {why}." in text, "in words, of the cages"
        for old in (f">{51 + number}<", f"{61 + number}.0", "2400"):
            assert old not in text


def test_the_status_page_measures_nothing_of_silent_targets(pages: FlaskClient) -> None:
    text = pages.get("/fragment/status").text
    rows = {re.sub(r"<[^>]+>", "", row.split("</th>")[0]).lstrip("●■○▲"): row for row in re.split(r"<tr[^>]*>", text)}
    for name, level in {"spark-01": "ok", **dict.fromkeys(NAMES, "unknown")}.items():
        scrape, page, every, *_ = cells_of(rows[name])
        assert (scrape[0], page[0], every[1]) == (level, level, "1.0"), name
    assert cells_of(rows["spark-01"])[0][1] == "4.0"
    for name in NAMES:
        assert "refuses the connection (connection refused)" in rows[name]
