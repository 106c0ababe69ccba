"""The demo's faults raise their alerts, each within its time and with no other cause; its look-alikes raise none.

Where and when a fault comes, and which come in pairs, the seed decides.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.live.alert_demo import Raised, play

BEGIN_S = 60
"""From here on what only looks like a fault is there."""
BEGINS_S = (45, 65)
"""Between these a fault begins: the demo is at work until second 110, and what a fault does to work shows in work."""

NODES = 4
FAULTS = [
    ("power-delivery@", "power_delivery", ("0",), 30),
    ("thermal@", "thermal_slowdown", ("0",), 60),
    ("straggler@", "straggler", ("0",), 200),
    ("one-rail@", "one_rail", ("p1", "rocep1s0f1"), 90),
    ("degraded-link@", "degraded_link", ("p1",), 90),
    ("link-down@", "link_down", ("p1",), 15),
    ("tcp-fallback", "tcp_fallback", ("spark-02",), 60),
    ("wedge", "engine_wedged", ("engine", "0", "moonshotai/Kimi-K3"), 100),
    # Its time-outs last real seconds, in each of which the play has as many of its own as the machine is fast.
    ("node-down@", "node_silent", (), 400),
    ("agent-down@", "node_silent", (), 40),
    ("memory-collapse@", "memory_collapse", (), 10),
    ("fragmentation@", "memory_fragmented", (), 130),
    ("engine-restart", "engine_unreachable", ("engine",), 30),
    ("loading", "engine_unreachable", ("engine",), 30),
    ("clock-skew@", "clock_skew", (), 75),
]
"""The fault (@: of a node), the rule that tells of it, of what (of a node's what part), and within how many seconds."""
MAY_COME_TOGETHER = ("power-delivery@", "agent-down@", "clock-skew@", "fragmentation@")
"""Faults that do not hide each other, on different nodes."""
SEED = 20_260_830
PAIRS = 4
BEFORE_ALL = ("uncabled", "loading")
"""A cage that was never cabled, and an engine that has not served yet: an engine at work that loads anew has died."""
LOOK_ALIKES = [
    ("long-prefill",),
    ("weight-copy@1",),
    ("idle-power-cap@2",),
    ("uncabled@3",),
    ("engine-stop",),
    ("loading",),
    ("slow-scrape@1",),
    (),
]


def roots(raised: list[Raised]) -> set[str]:
    """Rules that nothing else explains."""
    return {one.rule for one in raised if one.cause is None}


@dataclass(frozen=True)
class Drawn:
    """A fault on a node and at a time that the seed decides: as the simulator is asked for it, and what must come."""

    order: str
    begin_s: int
    rule: str
    key: tuple[str, ...]
    within_s: int


def drawn(dice: random.Random, fault: str, node: int) -> Drawn:
    """A row of `FAULTS`, somewhere."""
    _, rule, key, within_s = next(one for one in FAULTS if one[0] == fault)
    begin_s = dice.randint(*BEGINS_S)
    if not fault.endswith("@"):
        return Drawn(f"{fault}:{begin_s}", begin_s, rule, key, within_s)
    return Drawn(f"{fault}{node}:{begin_s}", begin_s, rule, (f"spark-{node + 1:02}", *key), within_s)


def check(raised: list[Raised], expected: Sequence[Drawn]) -> None:
    """Each fault raised its alert, once and in time, and nothing else is a cause of its own."""
    for one in expected:
        mine = [alert for alert in raised if alert.rule == one.rule and alert.key == one.key]
        assert len(mine) == 1, (one, raised)
        assert one.begin_s < mine[0].fired_s <= one.begin_s + one.within_s, (one, mine)
    assert roots(raised) == {one.rule for one in expected}


@pytest.mark.live
@pytest.mark.parametrize("fault", [one[0] for one in FAULTS])
def test_a_fault_raises_its_alert_wherever_and_whenever_it_comes(tmp_path: Path, fault: str) -> None:
    dice = random.Random(f"{SEED} {fault}")
    one = drawn(dice, fault, dice.randrange(NODES))
    check(play(tmp_path / "store.db", one.begin_s + one.within_s + 60, [one.order], NODES), [one])


def pairs() -> list[tuple[str, str]]:
    """So many pairs of faults, by the seed."""
    return random.Random(SEED).sample(list(itertools.combinations(MAY_COME_TOGETHER, 2)), PAIRS)


@pytest.mark.live
@pytest.mark.parametrize("faults", LOOK_ALIKES, ids=[" ".join(one) or "nothing" for one in LOOK_ALIKES])
def test_what_only_looks_like_a_fault_raises_none(tmp_path: Path, faults: tuple[str, ...]) -> None:
    raised = play(
        tmp_path / "store.db", 300, [f"{one}:{0 if one.startswith(BEFORE_ALL) else BEGIN_S}" for one in faults]
    )
    assert raised == []


@pytest.mark.live
@pytest.mark.parametrize("both", pairs(), ids=[" ".join(one) for one in pairs()])
def test_two_faults_raise_both(tmp_path: Path, both: tuple[str, str]) -> None:
    dice = random.Random(f"{SEED} {both}")
    found = [drawn(dice, fault, node) for fault, node in zip(both, dice.sample(range(NODES), 2), strict=True)]
    until_s = max(one.begin_s + one.within_s for one in found) + 60
    check(play(tmp_path / "store.db", until_s, [one.order for one in found], NODES), found)
