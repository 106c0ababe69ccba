"""What the speed is compared with: no fault that lasts becomes what is usual, and the fault stands before what follows
from it."""

from __future__ import annotations

import math

import pytest

from alerts.defaults import defaults
from alerts.record import Alert
from dashboard.live.factors import Stretch
from dashboard.live.reference import REACH_MS, SLOWING, choose, length
from dashboard.live.scene import SHOWN_MS
from telemetry.catalog import cluster, engine, gpu
from telemetry.model import part
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_live_why import card, slower
from tests.web.world import DEPLOYMENT, HEAD, World, constant, rising, tick

ITL_SUM = part(engine.ITL, "sum")
QUARTER = SHOWN_MS // 1000
NAN = math.nan
LAST_MINUTES = "Compared with the last 2 minutes"


def stretch(speed: float, running: float = 3.0, end: int = 0) -> Stretch:
    return Stretch(end, speed, {"running": running})


LATELY = stretch(10.0)
CHOSEN: list[tuple[str, list[Stretch], Stretch | None, float, float | None]] = [
    ("nothing", [], None, 3.0, None),
    ("nothing earlier", [], LATELY, 3.0, 10.0),
    ("nothing lately", [stretch(20.0)], None, 3.0, 20.0),
    ("notably faster", [stretch(10.5)], LATELY, 3.0, 10.5),
    ("hardly faster", [stretch(10.4)], LATELY, 3.0, 10.0),
    ("another concurrency", [stretch(20.0, 3.8)], LATELY, 3.0, 10.0),
    ("much the same concurrency", [stretch(20.0, 3.7)], LATELY, 3.0, 20.0),
    ("the concurrency of now", [stretch(20.0, 6.0)], LATELY, 6.0, 20.0),
    ("the nearest one", [stretch(20.0, 6.0), stretch(30.0, 12.0)], LATELY, 8.0, 20.0),
    ("not the luckiest of many", [stretch(speed) for speed in (20.0, 30.0, 40.0, 50.0)], LATELY, 3.0, 40.0),
    ("a concurrency that is not known", [stretch(20.0, NAN)], LATELY, 3.0, 20.0),
    ("now not known", [stretch(20.0, 12.0)], LATELY, NAN, 20.0),
]


@pytest.mark.parametrize(
    ("earlier", "lately", "running", "speed"), [case[1:] for case in CHOSEN], ids=[case[0] for case in CHOSEN]
)
def test_which_stretch_is_compared_with(
    earlier: list[Stretch], lately: Stretch | None, running: float, speed: float | None
) -> None:
    found = choose(earlier, lately, running)
    assert (None if found is None else found.speed) == speed


def test_the_rules_that_explain_a_slower_speed_are_rules() -> None:
    assert set(SLOWING) <= set(defaults())


def slow_from(world: World, number: int, factor: float = 2.0) -> None:
    """Steps take longer from a tick on, and fewer tokens come."""
    world.set(HEAD, ITL_SUM, lambda at: 0.75 * (min(at, number) + factor * max(at - number, 0)))
    world.set(DEPLOYMENT, cluster.RECORDED_DECODE, lambda at: 20.0 if at < number else 20.0 / factor)


def straggling(world: World, number: int, rule: str = "straggler", title: str = "Straggler") -> None:
    """An alert that began at a tick."""
    alert = Alert(1, rule, title, "gpu", ("spark-03", "0"), "warning", "Kimi-K3", tick(number), tick(number), "slow")
    world.commit(alerts=(alert,))


def told(web: Web) -> tuple[str, str, str]:
    """(baseline of the step time, headline, what is compared with)."""
    message = web.step()
    row = next(row for row in message["why"] if row["key"] == "step_time")
    return row["baseline"], message["cells"]["why"][0], message["cells"]["why.against"][0]


@pytest.mark.live
def test_what_lasts_does_not_become_usual(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A fault without an alert, from minute 16 on: at minute 41 all of the last 15 are of it."""
    world = make_world()
    slow_from(world, 960)
    world.run(0, 900)
    web = make_web(world)
    assert told(web) == ("150 ms", "as usual", "Compared with the last 15 minutes")
    world.run(901, 1800)
    told(web)
    world.run(1801, 2460)
    assert told(web) == (
        "150 ms",
        "step time ▲ +100 %",
        "Compared with 15 minutes that ended 25 min ago, with 3 running",
    )


@pytest.mark.live
def test_history_is_looked_at_by_who_starts_amid_it(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """Started at minute 41, one stretch is read with each look, the latest first."""
    world = make_world()
    slow_from(world, 960)
    world.run(0, 2460)
    web = make_web(world)
    assert told(web)[0] == "300 ms", "so far it knows the last 15 minutes and the 15 before, of which a minute was fast"
    world.run(2461, 2470)
    found = told(web)
    assert found == ("150 ms", "step time ▲ +100 %", "Compared with 11 minutes that ended 30 min ago, with 3 running")


def test_what_was_before_a_fault_is_compared_with(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """However fast another stretch was; and the fault is named before what follows from it."""
    world = make_world()
    slow_from(world, 660)
    world.run(0, 960)
    straggling(world, 660)
    assert told(make_web(world)) == (
        "150 ms",
        "Straggler spark-03: step time ▲ +100 %",
        "Compared with 11 minutes that ended 5 min ago, with 3 running, before Straggler began",
    )


@pytest.mark.parametrize(
    ("span_s", "recorded_s", "words"),
    [
        (900, 900, "15 minutes"),
        (900, 811, "15 minutes"),
        (900, 540, "15 minutes (9 recorded)"),
        (240, 239, "4 minutes"),
        (75, 75, "1 minute"),
        (60, 20, "1 minute"),
    ],
)
def test_a_stretch_is_said_to_be_as_long_as_it_was_recorded(span_s: int, recorded_s: int, words: str) -> None:
    found = Stretch(0, 1.0, {}, {}, span_s * 1000.0, recorded_s * 1000.0)
    assert length(found) == words


def test_a_gap_in_what_is_compared_with_is_said(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 300)
    world.run(601, 900)
    assert told(make_web(world))[2] == "Compared with the last 15 minutes (10 recorded)"


def test_a_fault_of_many_nodes_is_said_to_be_of_all_of_them(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 300)
    names = ("spark-03", "spark-03", "spark-04")
    world.commit(
        alerts=[
            Alert(at, "tcp_fallback", "TCP", "node", (name,), "warning", "Kimi-K3", tick(-4000), tick(-4000), "slow")
            for at, name in enumerate(names, 1)
        ]
    )
    assert told(make_web(world))[1] == "TCP on 2 nodes"


def test_a_fault_that_was_always_there_is_said_to_be(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 300)
    straggling(world, -4000)
    assert told(make_web(world)) == (
        "150 ms",
        "Straggler spark-03",
        "Compared with the last 5 minutes; Straggler was there already",
    )


def test_another_model_is_not_compared_with(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    slow_from(world, 660)
    world.run(0, 670)
    world.fact(HEAD, "served_models", "another")
    world.run(671, 960)
    straggling(world, 660)
    assert told(make_web(world))[2] == "Compared with the last 15 minutes; Straggler was there already"


def test_a_fault_explains_no_shorter_drafts(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """A slow node makes steps slow, and nothing less likely to be accepted."""

    def change(world: World) -> None:
        world.set(HEAD, engine.ACCEPTED_TOKENS, slower(15.0, 1 / 3))
        world.set("spark-02", gpu.GPU_POWER, constant(30.0))

    assert card(make_world, make_web, change)[1][0] == "accepted length ▼ −50.0 %"


def test_a_straggler_that_is_seen_stands_before_the_foreign_prefill(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        world.prefill(270, 301, 1000, 30.0)
        world.set(HEAD, ITL_SUM, slower(0.75, 1.5))
        world.set("spark-02", gpu.GPU_POWER, constant(30.0))

    assert card(make_world, make_web, change)[1] == [
        "Straggler spark-02: foreign prefill ▲ +50.0 pp",
        "",
        "warning",
        "",
    ]


def test_an_alert_of_something_else_is_no_fault(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(HEAD, ITL_SUM, slower(0.75, 2.0))
    world.run(0, 300)
    straggling(world, 270, "nvme_hot", "NVMe hot")
    assert told(make_web(world)) == ("150 ms", "step time ▲ +100 %", "Compared with the last 5 minutes")


def test_a_fault_without_a_slower_speed_is_not_said_to_explain_it(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.set(HEAD, engine.GENERATION_TOKENS, rising(20.0))
    world.run(0, 300)
    straggling(world, 200)
    assert told(make_web(world))[1] == "as usual"


@pytest.mark.parametrize(
    ("ended", "told_of"),
    [(REACH_MS - 1, "Compared with 15 minutes that ended 5 h ago, with 3 running"), (REACH_MS, LAST_MINUTES)],
)
def test_what_was_more_than_six_hours_ago_is_compared_with_no_longer(
    make_world: MakeWorld, make_web: MakeWeb, ended: int, told_of: str
) -> None:
    world = make_world()
    world.run(0, 100)
    web = make_web(world)
    web.step()
    kept = web.process.follower._builder.baselines.kept
    kept[tick(110) - ended] = Stretch(tick(110) - ended, 99.0, {"running": 3.0, "step_time": 0.05})
    world.run(101, 110)
    assert told(web)[2] == told_of
    assert (tick(110) - ended in web.process.follower._builder.baselines.kept) is (told_of != LAST_MINUTES)


def test_history_is_asked_for_six_hours_back_and_no_further(make_world: MakeWorld, make_web: MakeWeb) -> None:
    """One stretch with each look, every ten seconds; of a time before anything was watched nothing is known."""
    world = make_world()
    world.run(0, 90)
    web = make_web(world)
    web.step()
    kept = web.process.follower._builder.baselines.kept
    assert sorted(kept) == [tick(90) - SHOWN_MS, tick(90)]
    for last in (100, 110):
        world.run(last - 9, last)
        web.step()
    kept = web.process.follower._builder.baselines.kept
    assert sorted(kept) == [tick(90) - 3 * SHOWN_MS, tick(90) - 2 * SHOWN_MS, tick(90) - SHOWN_MS, tick(90)]
    assert [one is None for _, one in sorted(kept.items())] == [True, True, True, False]
    asked = {tick(90) - quarter * SHOWN_MS: None for quarter in range(1, 24)}
    web.process.follower._builder.baselines.kept.update(asked)
    world.run(111, 120)
    web.step()
    assert min(web.process.follower._builder.baselines.kept) == tick(90) - 23 * SHOWN_MS


def test_what_was_before_an_old_fault_is_kept_for_as_long_as_that_lasts(
    make_world: MakeWorld, make_web: MakeWeb
) -> None:
    world = make_world()
    world.run(0, 100)
    web = make_web(world)
    web.step()
    began = -7 * 3600
    straggling(world, began)
    kept = web.process.follower._builder.baselines.kept
    kept[tick(began)] = Stretch(tick(began), 40.0, {"running": 3.0, "step_time": 0.05})
    for last in (110, 120):
        world.run(last - 9, last)
        found = told(web)
    assert found == (
        "50.0 ms",
        "Straggler spark-03: step time ▲ +200 %",
        "Compared with 15 minutes that ended 7 h ago, with 3 running, before Straggler began",
    )


def test_a_faster_stretch_at_another_concurrency_says_nothing(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    world.run(0, 100)
    web = make_web(world)
    web.step()
    kept = web.process.follower._builder.baselines.kept
    kept[tick(0) - SHOWN_MS] = Stretch(tick(0) - SHOWN_MS, 99.0, {"running": 12.0, "step_time": 0.05})
    world.run(101, 110)
    assert told(web) == ("150 ms", "as usual", LAST_MINUTES)


def test_a_fault_explains_nothing_that_is_faster(make_world: MakeWorld, make_web: MakeWeb) -> None:
    def change(world: World) -> None:
        world.set(HEAD, ITL_SUM, slower(0.75, 0.5))
        world.set("spark-02", gpu.GPU_POWER, constant(30.0))

    assert card(make_world, make_web, change)[1] == ["step time ▼ −50.0 %", "", "ok", ""]
