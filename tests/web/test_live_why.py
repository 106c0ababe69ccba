"""Why this speed: each factor now and against its baseline, the one that deviates most, and the straggler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dashboard.live.factors import inside
from dashboard.live.reference import EVERY_MS, Baselines
from storage.records import Episode
from telemetry.catalog import cluster, engine, gpu, network
from telemetry.model import Metric, part
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.world import DEPLOYMENT, HEAD, NAN, World, constant, rising, tick

SLOW_FROM, LAST = 270, 300


def slower(rate: float, factor: float) -> Callable[[int], float]:
    """A counter that grows by `rate` until SLOW_FROM and by `factor` as much afterwards."""
    return lambda number: rate * (min(number, SLOW_FROM) + factor * max(number - SLOW_FROM, 0))


def card(make_world: MakeWorld, make_web: MakeWeb, change: Callable[[World], None]) -> tuple[dict[str, Any], list[str]]:
    world = make_world()
    change(world)
    world.run(0, LAST)
    message = make_web(world).step()
    return {row["key"]: row for row in message["why"]}, message["cells"]["why"]


def test_all_rows_of_a_steady_run(make_world: MakeWorld, make_web: MakeWeb) -> None:
    rows, cause = card(make_world, make_web, lambda _world: None)
    assert {key: (row["label"], row["now"], row["baseline"], row["change"]) for key, row in rows.items()} == {
        "running": ("Running", "3", "3", ""),
        "steps": ("Verify steps", "5.0 /s", "5.0 /s", ""),
        "step_time": ("Step time", "150 ms", "150 ms", ""),
        "accepted_length": ("Accepted length", "4.0 tok/step", "4.0 tok/step", ""),
        "draft_length": ("Draft length", "8.0 tok/step", "8.0 tok/step", ""),
        "foreign_prefill": ("Foreign prefill", "0.0 %", "0.0 %", ""),
        "fabric": ("Fabric use", "0.8 %", "0.8 %", ""),
        "straggler": ("Straggler", "none", "", ""),
    }
    assert {row["level"] for row in rows.values()} == {"ok"}
    assert cause == ["as usual", "", "ok", ""]


CAUSES: list[tuple[str, Callable[[World], None], str, str, str, str]] = [
    (
        "longer steps",
        lambda world: [world.set(HEAD, part(engine.ITL, "sum"), slower(0.75, 2.0))],
        "step_time",
        "300 ms",
        "▲ +100 %",
        "warning",
    ),
    (
        "fewer tokens accepted",
        lambda world: [world.set(HEAD, engine.ACCEPTED_TOKENS, slower(15.0, 1 / 3))],
        "accepted_length",
        "2.0 tok/step",
        "▼ −50.0 %",
        "warning",
    ),
    (
        "fewer steps",
        lambda world: [world.set(HEAD, metric, slower(rate, 0.8)) for metric, rate in DRAFTED.items()],
        "steps",
        "4.0 /s",
        "▼ −20.0 %",
        "warning",
    ),
    (
        "more requests",
        lambda world: [world.set(HEAD, engine.REQUESTS_RUNNING, lambda n: 3.0 if n < SLOW_FROM else 6.0)],
        "running",
        "6",
        "▲ +100 %",
        "ok",
    ),
    (
        "fewer requests are no fault",
        lambda world: [world.set(HEAD, engine.REQUESTS_RUNNING, lambda n: 3.0 if n < SLOW_FROM else 1.0)],
        "running",
        "1",
        "▼ −66.7 %",
        "ok",
    ),
]
DRAFTED: dict[Metric, float] = {engine.DRAFTS: 5.0, engine.DRAFT_TOKENS: 40.0, engine.ACCEPTED_TOKENS: 15.0}


@pytest.mark.parametrize(
    ("change", "key", "now", "changed", "level"), [case[1:] for case in CAUSES], ids=[case[0] for case in CAUSES]
)
def test_largest_deviation_is_named(
    make_world: MakeWorld,
    make_web: MakeWeb,
    change: Callable[[World], None],
    key: str,
    now: str,
    changed: str,
    level: str,
) -> None:
    rows, cause = card(make_world, make_web, change)
    assert (rows[key]["now"], rows[key]["change"], rows[key]["level"]) == (now, changed, level)
    assert cause == [f"{rows[key]['label'].lower()} {changed}", "", level, ""]
    assert [other for other, row in rows.items() if row["level"] == "warning"] == [key][: int(level == "warning")]


def test_small_deviations_are_as_usual(make_world: MakeWorld, make_web: MakeWeb) -> None:
    rows, cause = card(make_world, make_web, lambda world: world.set(HEAD, part(engine.ITL, "sum"), slower(0.75, 1.09)))
    assert rows["step_time"]["change"] == "▲ +9.0 %"
    assert (cause[0], rows["step_time"]["level"]) == ("as usual", "ok")


def test_baseline_is_of_decoding_only(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Idle for 200 of 300 s, with one request stuck: the median over decoding is still 3."""

    def change(world: World) -> None:
        world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda number: 20.0 if number >= 200 else 0.0)
        world.set(HEAD, engine.REQUESTS_RUNNING, lambda number: 3.0 if number >= 200 else 0.5)

    rows, _ = card(make_world, make_web, change)
    assert rows["running"]["baseline"] == "3"


@pytest.mark.parametrize(("from_tick", "known"), [(241, True), (242, False)])
def test_a_minute_of_decoding_is_needed(make_world: MakeWorld, make_web: MakeWeb, from_tick: int, known: bool) -> None:
    def change(world: World) -> None:
        world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda number: 20.0 if number >= from_tick else 0.0)

    rows, cause = card(make_world, make_web, change)
    assert (rows["steps"]["baseline"] == "5.0 /s") is known
    assert (cause[2] == "unknown") is not known


def test_factors_while_nothing_is_decoded(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        for metric in (*DRAFTED, engine.GENERATION_TOKENS, part(engine.ITL, "sum"), part(engine.ITL, "count")):
            world.set(HEAD, metric, lambda number: float(min(number, 200)))

    rows, _ = card(make_world, make_web, change)
    assert rows["steps"]["now"] == "0.0 /s", "counted, and nothing happened"
    assert (rows["step_time"]["now"], rows["step_time"]["level"]) == ("–", "unknown")
    assert rows["step_time"]["reason"] == "nothing is decoded now"


def unread(world: World) -> None:
    for name in ("spark-01", "spark-02", "spark-03", "spark-04"):
        world.set(name, network.CAGE_CAPACITY, constant(NAN))


@pytest.mark.parametrize(
    ("change", "key", "why"),
    [
        (lambda world: world.drop(part(engine.ITL, "sum").name), "step_time", "not offered by this engine"),
        (lambda world: world.drop(network.CAGE_CAPACITY.name), "fabric", "no fabric port was found"),
        (lambda world: world.set("spark-01", network.CAGE_CAPACITY, constant(NAN)), "fabric", ""),
        (lambda world: unread(world), "fabric", "no reading"),
        (lambda world: world.set(HEAD, engine.DRAFTS, lambda n: 5.0 * n if n < 280 else NAN), "steps", "no reading"),
    ],
)
def test_why_a_factor_is_not_known_while_tokens_move(
    make_world: MakeWorld, make_web: MakeWeb, change: Callable[[World], None], key: str, why: str
) -> None:
    rows, _ = card(make_world, make_web, change)
    assert (rows[key]["reason"], rows[key]["now"] == "–") == (why, bool(why))


def test_foreign_prefill_is_a_share_of_decoding_time(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Of the last 60 ticks, 15 lie inside a prefill (270 < t < 286) while tokens move at every second one."""

    def change(world: World) -> None:
        world.set(DEPLOYMENT, cluster.RECORDED_DECODE_1S, lambda number: 25.0 if number % 2 else 0.0)
        world.prefill(270, 286, 1000, 16.0)

    rows, _ = card(make_world, make_web, change)
    assert rows["foreign_prefill"]["now"] == "26.7 %"  # 271, 273 … 285: 8 of 30


START = 270
"""Tick at which a second request begins its prefill, while one decodes."""


def prefilling_beside(world: World, *, until: int = 10**6, seen: Callable[[int], float] | None = None) -> None:
    """One request decodes all the time; another prefills from START until a tick, and decodes then."""

    def decoded(number: int) -> float:
        return number + max(number - until, 0)

    world.set(HEAD, engine.REQUESTS_RUNNING, seen or (lambda number: 1.0 if number < START else 2.0))
    world.set(HEAD, part(engine.ITL, "sum"), decoded)
    world.set(HEAD, engine.PROMPT_TOKENS, lambda number: 0.0 if number < until else 6e4)


def test_a_prefill_beside_a_decoding_request_counts_while_it_runs(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Running from 270 on, seen at 275 of ten-second means, and dated back to 270: 30 of the last 60 s."""

    def slower_steps(world: World) -> None:
        prefilling_beside(world)
        world.set(HEAD, part(engine.ITL, "count"), slower(5.0, 0.5))

    rows, cause = card(make_world, make_web, slower_steps)
    assert (rows["foreign_prefill"]["now"], rows["foreign_prefill"]["change"]) == ("51.7 %", "▲ +51.7 pp")
    assert cause[0] == "foreign prefill ▲ +51.7 pp"
    assert rows["foreign_prefill"]["hint"].startswith("Share of the last minute's decoding time")


@pytest.mark.parametrize(
    "change",
    [
        lambda world: prefilling_beside(world, until=290),  # it ended: told by its episode, or not at all
        lambda world: prefilling_beside(world, seen=lambda number: float(number % 5 > 0)),  # a gauge that reads 0
        lambda world: prefilling_beside(world, seen=lambda number: 1.0 if number < 297 else 2.0),  # too new to be seen
        lambda world: prefilling_beside(world, seen=lambda _number: 3.0),  # some are never timed
        lambda world: [prefilling_beside(world), world.drop(part(engine.ITL, "sum").name)],
        lambda world: [prefilling_beside(world), world.drop(engine.PROMPT_TOKENS.name)],
        lambda world: [prefilling_beside(world), world.drop(engine.REQUESTS_RUNNING.name)],
    ],
)
def test_no_prefill_is_seen_beside(make_world: MakeWorld, make_web: MakeWeb, change: Callable[[World], None]) -> None:
    rows, _ = card(make_world, make_web, change)
    assert rows["foreign_prefill"]["now"] == "0.0 %"


def test_many_requests_ask_for_more_of_a_difference(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """20 running: 0.9 without tokens is less than a twentieth; 1.1 shows when all of the ten seconds are of it."""
    for more, told in ((20.9, "0.0 %"), (21.1, "43.3 %")):
        rows, _ = card(
            make_world,
            make_web,
            lambda world, more=more: [  # type: ignore[misc]
                prefilling_beside(world, seen=lambda number: 20.0 if number < START else more),
                world.set(HEAD, part(engine.ITL, "sum"), rising(20.0)),
            ],
        )
        assert rows["foreign_prefill"]["now"] == told


def test_prefills_inside() -> None:
    ticks = np.array([tick(number) for number in range(6)])
    episodes = (Episode("d", HEAD, "0", tick(1), tick(4), None, None), Episode("d", HEAD, "0", tick(4), tick(5), 1, 1))
    assert inside(ticks, episodes).tolist() == [False, False, True, True, False, False]


def test_engine_without_drafts(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        for metric in DRAFTED:
            world.drop(metric.name)

    rows, _ = card(make_world, make_web, change)
    assert (rows["steps"]["label"], rows["steps"]["now"]) == ("Steps", "6.7 /s")
    assert (rows["accepted_length"]["now"], rows["accepted_length"]["level"]) == ("–", "unknown")


@pytest.mark.parametrize(
    ("values", "name", "change"),
    [
        ({gpu.GPU_POWER: 40.0}, "spark-02", "▼ −23.1 % power"),  # of a median of 52 W
        ({gpu.GPU_SM_CLOCK: 1.8e9}, "spark-02", "▼ −25.0 % clock"),
        ({gpu.GPU_POWER: 40.0, gpu.GPU_SM_CLOCK: 1.8e9}, "spark-02", "▼ −25.0 % clock"),
        ({gpu.GPU_POWER: 46.0}, "none", ""),
        ({gpu.GPU_POWER: 40.0, gpu.GPU_UTILIZATION: 0.5}, "none", ""),
        ({gpu.GPU_POWER: NAN}, "none", ""),
    ],
)
def test_straggler(
    make_world: MakeWorld, make_web: MakeWeb, values: dict[Metric, float], name: str, change: str
) -> None:
    def slow(world: World) -> None:
        world.set("spark-01", gpu.GPU_POWER, constant(52.0))
        for metric, value in values.items():
            world.set("spark-02", metric, constant(value))

    rows, _ = card(make_world, make_web, slow)
    row = rows["straggler"]
    assert (row["now"], row["change"], row["level"]) == (name, change, "ok" if name == "none" else "warning")


def test_straggler_among_too_few(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def idle(world: World) -> None:
        for name in ("spark-01", "spark-02"):
            world.set(name, gpu.GPU_UTILIZATION, constant(0.1))

    rows, _ = card(make_world, make_web, idle)
    row = rows["straggler"]
    assert (row["now"], row["level"], row["reason"]) == ("–", "unknown", "fewer than 3 busy nodes")


def test_baselines_are_kept_for_ten_seconds(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 100)
    web = make_web(world)
    web.step()
    kept = web.process.follower._builder.baselines
    first = kept.reference
    assert first.values
    world.run(101, 109)
    web.step()
    assert kept.reference is first
    world.run(110, 110)
    web.step()
    assert kept.reference is not first
    assert kept.tick == tick(110)
    assert EVERY_MS == 10_000
    assert Baselines().reference.values == {}


@pytest.mark.parametrize("metric", [network.RDMA_TRANSMIT, network.RDMA_RECEIVE], ids=lambda metric: metric.name)
def test_fabric_use_is_of_each_cages_own_capacity(make_world: MakeWorld, make_web: MakeWeb, metric: Metric) -> None:
    """One cable of 5 GB/s carries 3.64 GB/s; the others, of 25 GB/s, carry 10 GB/s at most."""

    def change(world: World) -> None:
        for series in list(world.series["spark-02"]):
            if series.label("cage") == "p1" and series.metric == network.CAGE_CAPACITY.name:
                world.series["spark-02"][series] = constant(5e9)
            if series.label("cage") == "p1" and series.metric == metric.name:
                world.series["spark-02"][series] = rising(1.82e9)
        world.set("spark-03", network.RDMA_TRANSMIT, rising(5e9))
        world.set(cluster.CLUSTER_TARGET, cluster.CLUSTER_WORST_CAGE, constant(10e9))

    rows, _ = card(make_world, make_web, change)
    assert (rows["fabric"]["now"], rows["fabric"]["baseline"]) == ("72.8 %", "–")


@pytest.mark.parametrize("metric", [network.RDMA_TRANSMIT, network.RDMA_RECEIVE], ids=lambda metric: metric.name)
def test_fabric_use_where_a_link_became_slower(make_world: MakeWorld, make_web: MakeWeb, metric: Metric) -> None:
    """5 s of 25 GB/s, 4 s of 5 GB/s and one in between make room for 160 GB, of which 3 GB/s × 10 s were used."""

    def change(world: World) -> None:
        for series in list(world.series["spark-02"]):
            if series.label("cage") == "p1" and series.metric == network.CAGE_CAPACITY.name:
                world.series["spark-02"][series] = lambda number: 25e9 if number <= LAST - 5 else 5e9
            if series.label("cage") == "p1" and series.metric == metric.name:
                world.series["spark-02"][series] = rising(1.5e9)

    rows, _ = card(make_world, make_web, change)
    assert rows["fabric"]["now"] == "18.8 %"


def test_fabric_use_of_cages_without_a_capacity_is_unknown(make_world: MakeWorld, make_web: MakeWeb) -> None:
    rows, _ = card(make_world, make_web, lambda world: world.drop(network.CAGE_CAPACITY.name))
    assert (rows["fabric"]["now"], rows["fabric"]["baseline"], rows["fabric"]["level"]) == ("–", "–", "unknown")


def test_fabric_use_passes_over_a_cage_that_is_not_known(make_world: MakeWorld, make_web: MakeWeb) -> None:
    rows, _ = card(make_world, make_web, lambda world: world.set("spark-01", network.RDMA_TRANSMIT, constant(NAN)))
    assert (rows["fabric"]["now"], rows["fabric"]["baseline"]) == ("0.8 %", "0.8 %")


def test_of_a_speed_that_is_not_known_nothing_is_as_usual(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, LAST)
    world.silence(HEAD, LAST + 1, "restarting")
    world.run(LAST + 1, LAST + 30)
    cause = make_web(world).step()["cells"]["why"]
    assert cause == ["–", "", "unknown", "the speed is not known"]
