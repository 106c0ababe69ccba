"""Alerts in the live message: the sentence names the gravest that nothing else names, the menu counts, tiles show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from alerts.record import Alert, Silence
from dashboard.live import alarms
from dashboard.live.alarms import Alarms
from storage.records import Batch
from telemetry.catalog import engine, gpu
from tests.web.alert_world import alert
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import HEAD, World, constant, tick

HOT = alert(1, "gpu_hot", ("spark-02", "0"), 10, title="GPU hot")


def at_60(make_world: MakeWorld, *found: Alert, silences: tuple[Silence, ...] = ()) -> World:
    world = make_world()
    world.run(0, 60)
    world.writer.commit(Batch(alerts=list(found), silences=list(silences)), world.now)
    return world


def level_and_text(message: dict[str, Any]) -> tuple[str, str, str | None]:
    sentence = message["sentence"]
    return sentence["level"], sentence["text"], sentence["worst"]


WELL = ("ok", "Serving Kimi-K3 on 4 nodes", None)


def test_nothing_fires(make_world: MakeWorld, make_web: MakeWeb) -> None:
    message = make_web(at_60(make_world)).step()
    assert level_and_text(message) == WELL
    assert message["alerts"] == {"causes": 0, "level": "ok"}


STORIES: list[tuple[str, list[Alert], tuple[str, str, str | None], tuple[int, str]]] = [
    (
        "one, and since when",
        [HOT],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot, for 1 min", "spark-02"),
        (1, "warning"),
    ),
    (
        "a fresh one",
        [replace(HOT, began_ms=tick(1) + 1)],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot", "spark-02"),
        (1, "warning"),
    ),
    (
        "a grave one stands first",
        [replace(HOT, severity="critical")],
        ("critical", "spark-02: GPU hot, for 1 min · Serving Kimi-K3 on 4 nodes", "spark-02"),
        (1, "critical"),
    ),
    (
        "two nodes share one, a third has another",
        [
            HOT,
            replace(HOT, id=2, key=("spark-04", "0"), began_ms=tick(-200)),
            replace(HOT, id=3, rule="nic_hot", key=("spark-01", "0"), title="NIC hot", began_ms=tick(5)),
        ],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-04 and spark-02: GPU hot, for 4 min · 1 more alert", "spark-04"),
        (3, "warning"),
    ),
    (
        "each alert of others is counted, also two of one node",
        [
            HOT,
            replace(HOT, id=2, rule="nic_hot", key=("spark-01", "0"), title="NIC hot", began_ms=tick(11)),
            replace(HOT, id=3, rule="straggler", key=("spark-01", "0"), title="Straggler", began_ms=tick(12)),
        ],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot, for 1 min · 2 more alerts", "spark-02"),
        (3, "warning"),
    ),
    (
        "two GPUs of one node are one name",
        [HOT, replace(HOT, id=2, key=("spark-02", "1"))],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot, for 1 min", "spark-02"),
        (2, "warning"),
    ),
    (
        "what follows from a cause is not counted",
        [replace(HOT, severity="critical"), replace(HOT, id=2, key=("spark-01", "0"), cause=1)],
        ("critical", "spark-02: GPU hot, for 1 min · Serving Kimi-K3 on 4 nodes", "spark-02"),
        (1, "critical"),
    ),
    (
        "a cause is as grave as what follows from it",
        [HOT, replace(HOT, id=2, key=("spark-01", "0"), cause=1, severity="critical")],
        ("critical", "spark-02: GPU hot, for 1 min · Serving Kimi-K3 on 4 nodes", "spark-02"),
        (1, "critical"),
    ),
    (
        "an effect whose cause is over stands for itself",
        [replace(HOT, ended_ms=tick(50)), replace(HOT, id=2, key=("spark-01", "0"), cause=1)],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-01: GPU hot, for 1 min", "spark-01"),
        (1, "warning"),
    ),
    ("what is over is well", [replace(HOT, ended_ms=tick(50))], WELL, (0, "ok")),
    ("for information alone", [replace(HOT, severity="info")], WELL, (0, "ok")),
    (
        "what shares a card counts once",
        [replace(HOT, id=at, key=(f"spark-0{at}", "0"), fired_ms=tick(10 + at)) for at in range(1, 5)],
        (
            "warning",
            "Serving Kimi-K3 on 4 nodes; spark-01, spark-02 and 2 more: GPU hot, for 1 min",
            "spark-01",
        ),
        (1, "warning"),
    ),
    (
        "one that was seen has a card of its own",
        [
            replace(HOT, id=at, key=(f"spark-0{at}", "0"), acknowledged_ms=tick(30) if at == 1 else None)
            for at in range(1, 5)
        ],
        (
            "warning",
            "Serving Kimi-K3 on 4 nodes; spark-01, spark-02 and 2 more: GPU hot, for 1 min",
            "spark-01",
        ),
        (2, "warning"),
    ),
    (
        "of the whole cluster",
        [replace(HOT, key=(), place="cluster", title="The monitor misses ticks")],
        ("warning", "Serving Kimi-K3 on 4 nodes; the monitor misses ticks, for 1 min", None),
        (1, "warning"),
    ),
    (
        "somebody has seen it",
        [replace(HOT, acknowledged_ms=tick(30))],
        ("warning", "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot, for 1 min", "spark-02"),
        (1, "warning"),
    ),
]


@pytest.mark.parametrize(("found", "told", "counted"), [story[1:] for story in STORIES], ids=[s[0] for s in STORIES])
def test_stories(
    make_world: MakeWorld,
    make_web: MakeWeb,
    found: list[Alert],
    told: tuple[str, str, str | None],
    counted: tuple[int, str],
) -> None:
    message = make_web(at_60(make_world, *found)).step()
    assert level_and_text(message) == told
    assert message["alerts"] == dict(zip(("causes", "level"), counted, strict=True))


def silence(start: int, end: int) -> Silence:
    return Silence(1, tick(start), tick(end), node="spark-02")


@pytest.mark.parametrize(("start", "end", "causes"), [(0, 500, 0), (0, 60, 1), (0, 62, 0), (300, 500, 1)])
def test_silenced_alerts_are_neither_said_nor_counted(
    make_world: MakeWorld, make_web: MakeWeb, start: int, end: int, causes: int
) -> None:
    message = make_web(at_60(make_world, HOT, silences=(silence(start, end),))).step()
    assert message["alerts"]["causes"] == causes
    hushed = ("idle", "Serving Kimi-K3 on 4 nodes; 1 alert fires, silenced", None)
    assert (level_and_text(message) == hushed) == (causes == 0)


NIC = replace(HOT, id=2, rule="nic_hot", key=("spark-01", "0"), title="NIC hot", severity="critical")


@pytest.mark.parametrize(
    ("others", "nodes", "told"),
    [
        ([NIC], ("spark-02", "spark-01"), ("idle", "; 2 alerts fire, all silenced")),
        ([replace(NIC, severity="info")], ("spark-02", "spark-01"), ("idle", "; 1 alert fires, silenced")),
        ([replace(NIC, cause=HOT.id)], ("spark-02", "spark-01"), ("idle", "; 1 alert fires, silenced")),
        ([replace(NIC, cause=77)], ("spark-02", "spark-01"), ("idle", "; 2 alerts fire, all silenced")),
        ([replace(NIC, severity="info")], ("spark-01",), ("warning", "; spark-02: GPU hot, for 1 min")),
    ],
)
def test_where_all_that_fires_is_silenced_the_sentence_says_so(
    make_world: MakeWorld, make_web: MakeWeb, others: list[Alert], nodes: tuple[str, ...], told: tuple[str, str]
) -> None:
    quiet = tuple(Silence(number, tick(0), tick(500), node=node) for number, node in enumerate(nodes, 1))
    level, text, _ = level_and_text(make_web(at_60(make_world, HOT, *others, silences=quiet)).step())
    assert (level, text) == (told[0], "Serving Kimi-K3 on 4 nodes" + told[1])


def hot_world(make_world: MakeWorld, celsius: float, *found: Alert) -> World:
    """spark-02's GPU is that hot, as the page sees by itself; alerts beside."""
    world = make_world()
    world.set("spark-02", gpu.GPU_TEMPERATURE, constant(celsius))
    world.run(0, 60)
    world.writer.commit(Batch(alerts=list(found)), world.now)
    return world


def test_an_alert_is_not_said_beside_the_problem_that_the_page_names(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(hot_world(make_world, 86.0, HOT))
    message = web.step()
    assert message["sentence"]["text"] == "Serving Kimi-K3 on 4 nodes; spark-02 has a GPU at 86.0 °C"
    assert message["alerts"] == {"causes": 1, "level": "warning"}
    assert message["nodes"][1]["text"] == "has a GPU at 86.0 °C"


@pytest.mark.parametrize(
    ("rules", "ending"),
    [
        ((), ""),
        (("engine_wedged",), ", for 1 min"),
        (("kv_full",), ""),
        (("engine_wedged", "gpu_hot"), ", for 1 min · 1 more"),
    ],
)
def test_an_engine_that_has_stalled_is_said_once_and_since_when(
    make_world: MakeWorld, make_web: MakeWeb, rules: tuple[str, ...], ending: str
) -> None:
    world = make_world()
    world.set(HEAD, engine.ENGINE_PHASE, constant(6))
    world.run(0, 60)
    keys = {"gpu_hot": ("spark-02", "0")}
    found = [replace(HOT, id=at, rule=rule, key=keys.get(rule, (HEAD, "0"))) for at, rule in enumerate(rules, 1)]
    world.writer.commit(Batch(alerts=found), world.now)
    sentence = make_web(world).step()["sentence"]
    assert sentence["text"] == f"Kimi-K3 has stalled on 4 nodes: requests run, but no token moves{ending}"
    assert (sentence["level"], sentence["worst"]) == ("critical", HEAD)


def test_what_stands_behind_a_mixed_rest_is_a_number(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A critical alert first; one node that is hot, as the page sees by itself, and no alert."""
    world = hot_world(make_world, 86.0, replace(HOT, key=("spark-01", "0"), title="OOM kill", severity="critical"))
    text = make_web(world).step()["sentence"]["text"]
    assert text == "spark-01: OOM kill, for 1 min · 1 more · Serving Kimi-K3 on 4 nodes"


@pytest.mark.parametrize(
    ("found", "ending"),
    [
        ((), " · 1 more"),
        ((HOT,), " · 1 more alert"),
        ((HOT, replace(HOT, id=2, key=("spark-04", "0"))), " · 2 more alerts"),
        ((replace(HOT, key=("spark-04", "0")),), " · 2 more"),
    ],
)
def test_what_stands_behind_a_problem_that_the_page_sees_is_an_alert_where_one_fires_of_it(
    make_world: MakeWorld, make_web: MakeWeb, found: tuple[Alert, ...], ending: str
) -> None:
    """Two nodes with a problem each that the page sees by itself."""
    world = make_world()
    world.set("spark-02", gpu.GPU_TEMPERATURE, constant(86.0))
    world.set("spark-01", gpu.GPU_CLOCK_EVENT_REASONS, constant(0x20))
    world.run(0, 60)
    world.writer.commit(Batch(alerts=list(found)), world.now)
    text = make_web(world).step()["sentence"]["text"]
    assert text == f"Serving Kimi-K3 on 4 nodes; spark-01 is throttling (software thermal){ending}"


def test_a_graver_alert_comes_before_a_lesser_problem_of_the_same_node(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    kill = replace(HOT, rule="oom_kill", title="OOM kill", severity="critical")
    message = make_web(hot_world(make_world, 86.0, kill)).step()
    assert message["sentence"]["text"] == "spark-02: OOM kill, for 1 min · Serving Kimi-K3 on 4 nodes"
    assert (message["nodes"][1]["level"], message["nodes"][1]["text"]) == ("critical", "OOM kill")


def test_a_tile_carries_the_mark_of_its_alert(make_world: MakeWorld, make_web: MakeWeb) -> None:
    nodes = make_web(at_60(make_world, HOT)).step()["nodes"]
    assert [(node["level"], node["text"]) for node in nodes] == [
        ("ok", ""),
        ("warning", "GPU hot"),
        ("ok", ""),
        ("ok", ""),
    ]


def test_status_and_bootstrap_say_the_same(make_world: MakeWorld, make_web: MakeWeb) -> None:
    web = make_web(at_60(make_world, HOT))
    web.step()
    said = "Serving Kimi-K3 on 4 nodes; spark-02: GPU hot, for 1 min"
    status = web.get("status")
    assert status["sentence"]["text"] == said
    assert [(one["level"], one["reason"]) for one in status["nodes"]][1] == ("warning", "GPU hot")
    live = web.get("live?minutes=1")
    assert (live["sentence"]["text"], live["alerts"]["causes"]) == (said, 1)


def firing(web: Web) -> int:
    return int(web.step()["alerts"]["causes"])


def test_alerts_are_read_anew_only_when_something_has_changed(make_world: MakeWorld) -> None:
    world = at_60(make_world, HOT, replace(HOT, id=2))
    kept, store = Alarms(), world.writer
    assert [one.id for one in kept.at(store, world.now)] == [1, 2]
    before = kept.firing
    assert len(kept.at(store, world.now)) == 2
    assert kept.firing is before
    stamps = [store.alert_stamp()]
    changes = [
        Batch(alerts=[replace(HOT, acknowledged_ms=tick(60), revision=2)]),
        Batch(alerts=[replace(HOT, id=2, ended_ms=tick(60), revision=2)]),
        Batch(alerts=[replace(HOT, id=3)]),
        Batch(silences=[silence(0, 500)]),
        Batch(silences=[silence(0, 60)]),
    ]
    for batch in changes:
        store.commit(batch, world.now)
        stamps.append(store.alert_stamp())
    assert len(set(stamps)) == 6
    assert [one.id for one in kept.at(store, world.now)] == [1, 3]


def test_the_gravest_and_among_equals_the_oldest_comes_first() -> None:
    others = [
        replace(HOT, id=2, began_ms=HOT.began_ms - 1),
        replace(HOT, id=3, severity="critical", began_ms=HOT.began_ms + 5),
        replace(HOT, id=4, severity="info", began_ms=0),
        replace(HOT, id=5),
    ]
    assert [one.id for one in alarms.causes([HOT, *others], (), 0)] == [3, 2, 1, 5, 4]
