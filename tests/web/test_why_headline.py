"""Which factor the card names: the one whose deviation changes the speed most, and no other."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from dashboard.live.factors import Effect
from dashboard.live.why import EFFECTS
from telemetry.catalog import engine
from telemetry.model import part
from tests.web.conftest import MakeWeb, MakeWorld
from tests.web.test_live_why import DRAFTED, card, slower
from tests.web.world import HEAD, World

Change = Callable[[World], None]
ITL_SUM, ITL_COUNT = part(engine.ITL, "sum"), part(engine.ITL, "count")


@pytest.mark.parametrize(
    ("effect", "now", "baseline", "expected"),
    [
        (Effect.FOLLOWS, 2.0, 4.0, -math.log(2)),
        (Effect.FOLLOWS, 4.0, 2.0, math.log(2)),
        (Effect.FOLLOWS, 0.0, 2.0, -math.inf),
        (Effect.FOLLOWS, 2.0, 0.0, 0.0),
        (Effect.FOLLOWS, math.nan, 2.0, 0.0),
        (Effect.FOLLOWS, 2.0, math.nan, 0.0),
        (Effect.AGAINST, 4.0, 2.0, -math.log(2)),
        (Effect.AGAINST, 2.0, 4.0, math.log(2)),
        (Effect.AGAINST, 0.0, 2.0, 0.0),
        (Effect.AGAINST, math.nan, 2.0, 0.0),
        (Effect.TAKES, 0.5, 0.0, -math.log(2)),
        (Effect.TAKES, 0.0, 0.5, math.log(2)),
        (Effect.TAKES, 1.0, 0.5, -math.inf),
        (Effect.TAKES, 0.5, 1.0, 0.0),
        (Effect.TAKES, math.nan, 0.5, 0.0),
        (Effect.NONE, 4.0, 2.0, 0.0),
    ],
)
def test_what_a_deviation_makes_of_the_speed(effect: Effect, now: float, baseline: float, expected: float) -> None:
    assert EFFECTS[effect](now, baseline) == pytest.approx(expected)


def itl(factor: float) -> Change:
    return lambda world: world.set(HEAD, ITL_SUM, slower(0.75, factor))


def drafts(factor: float) -> Change:
    return lambda world: [world.set(HEAD, metric, slower(rate, factor)) for metric, rate in DRAFTED.items()] and None


def running(value: float) -> Change:
    return lambda world: world.set(HEAD, engine.REQUESTS_RUNNING, lambda number: 3.0 if number < 270 else value)


def prefill(ticks: int) -> Change:
    """A foreign prefill in the last so many of the 60 ticks."""
    return lambda world: world.prefill(300 - ticks, 301, 1000, float(ticks))


def untimed(world: World) -> None:
    world.drop(ITL_SUM.name)


def uncounted(world: World) -> None:
    """Without drafts steps are tokens by requests."""
    for metric in (*DRAFTED, engine.REQUESTS_RUNNING):
        world.drop(metric.name)


PREFILL = "foreign prefill ▲ +50.0 pp"


def both(*changes: Change) -> Change:
    def change(world: World) -> None:
        for one in changes:
            one(world)

    return change


NAMED: list[tuple[str, Change, str, str]] = [
    ("a share of time counts by what it takes", both(prefill(30), itl(1.4)), PREFILL, "warning"),
    ("a tenth of the time", both(prefill(6), itl(1.2)), "foreign prefill ▲ +10.0 pp", "warning"),
    ("less than that", both(prefill(5), itl(1.2)), "step time ▲ +20.0 %", "warning"),
    ("too little for steps so long", both(prefill(6), itl(1.3)), "step time ▲ +30.0 %", "warning"),
    ("a prefill that no step shows", prefill(30), "as usual", "ok"),
    ("nor one step in ten", both(prefill(30), itl(1.09)), "as usual", "ok"),
    ("beside shorter steps", both(prefill(30), itl(0.5)), "step time ▼ −50.0 %", "ok"),
    ("in steps, where their time is not told", both(prefill(30), untimed, drafts(0.6)), PREFILL, "warning"),
    ("not in steps, where it is told", both(prefill(30), drafts(0.6)), "verify steps ▼ −40.0 %", "warning"),
    ("no step where their time is not told", both(prefill(30), untimed), "as usual", "ok"),
    ("where neither is told", both(prefill(30), untimed, uncounted), PREFILL, "warning"),
    ("fewer requests beside it", both(prefill(30), drafts(0.3), running(1.0)), "running ▼ −66.7 %", "ok"),
    ("however small it was before", both(prefill(5), itl(1.2)), "step time ▲ +20.0 %", "warning"),
    ("steps that follow from their length", both(drafts(0.4), itl(2.0)), "step time ▲ +100 %", "warning"),
    ("steps that follow from fewer requests", both(drafts(0.3), running(1.0)), "running ▼ −66.7 %", "ok"),
    ("steps that fall although more run", both(drafts(0.5), running(4.0)), "verify steps ▼ −50.0 %", "warning"),
    ("steps that fall although they are short", both(drafts(0.5), itl(0.8)), "verify steps ▼ −50.0 %", "warning"),
    ("steps that follow for the larger part", both(drafts(0.5), itl(1.5)), "step time ▲ +50.0 %", "warning"),
    ("for the smaller part", both(drafts(0.5), itl(1.3)), "verify steps ▼ −50.0 %", "warning"),
    ("from two together", both(drafts(0.5), running(2.4), itl(1.2)), "running ▼ −20.0 %", "ok"),
    ("from one, against the other", both(drafts(0.5), running(4.0), itl(1.5)), "step time ▲ +50.0 %", "warning"),
    ("no step at all", drafts(0.0), "verify steps ▼ −100 %", "warning"),
    ("shorter steps", itl(0.5), "step time ▼ −50.0 %", "ok"),
]


@pytest.mark.parametrize(("change", "text", "level"), [case[1:] for case in NAMED], ids=[case[0] for case in NAMED])
def test_named(make_world: MakeWorld, make_web: MakeWeb, change: Change, text: str, level: str) -> None:
    rows, cause = card(make_world, make_web, change)
    assert cause == [text, "", level, ""]
    assert [row["label"].lower() for row in rows.values() if row["level"] == "warning"] == (
        [text.partition(" ▲")[0].partition(" ▼")[0]] if level == "warning" else []
    )


@pytest.mark.parametrize(("since", "baseline"), [(240, "300 ms"), (241, "–")])
def test_a_factor_has_a_baseline_after_a_minute_of_its_own(
    make_world: MakeWorld, make_web: MakeWeb, since: int, baseline: str
) -> None:
    """Tokens move all the time; step times are observed from a tick on."""

    def change(world: World) -> None:
        world.set(HEAD, ITL_COUNT, lambda number: 5.0 * max(number - since, 0))
        world.set(HEAD, ITL_SUM, lambda number: 1.5 * max(number - since, 0))

    rows, cause = card(make_world, make_web, change)
    assert (rows["step_time"]["now"], rows["step_time"]["baseline"]) == ("300 ms", baseline)
    assert (rows["steps"]["baseline"], cause[0]) == ("5.0 /s", "as usual")


def test_stillness_is_told_before_there_is_a_baseline(make_world: MakeWorld, make_web: MakeWeb) -> None:
    world = make_world()
    for metric in (engine.GENERATION_TOKENS, engine.PROMPT_TOKENS):
        world.set(HEAD, metric, lambda _number: 7.0)
    world.set(HEAD, engine.ENGINE_PHASE, lambda _number: 2.0)
    world.run(0, 20)
    assert make_web(world).step()["cells"]["why"] == ["no token for 20.0 s with 3 requests running", "", "ok", ""]
