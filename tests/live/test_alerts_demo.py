"""The demo's faults raise their alerts, each within its time and with no other cause; its look-alikes raise none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.alert_demo import Raised, play

BEGIN_S = 60
"""From here on the fault is there."""

FAULTS = [
    ("power-delivery@1", "power_delivery", ("spark-02", "0"), 30),
    ("thermal@1", "thermal_slowdown", ("spark-02", "0"), 60),
    ("straggler@1", "straggler", ("spark-02", "0"), 200),
    ("one-rail@1", "one_rail", ("spark-02", "p1", "rocep1s0f1"), 90),
    ("degraded-link@1", "degraded_link", ("spark-02", "p1"), 90),
    ("link-down@1", "link_down", ("spark-02", "p1"), 15),
    ("tcp-fallback", "tcp_fallback", ("spark-02",), 60),
    ("wedge", "engine_wedged", ("engine", "0", "moonshotai/Kimi-K3"), 100),
    # Its time-outs last real seconds, in each of which the play has as many of its own as the machine is fast.
    ("node-down@1", "node_silent", ("spark-02",), 400),
    ("agent-down@1", "node_silent", ("spark-02",), 40),
    ("memory-collapse@1", "memory_collapse", ("spark-02",), 10),
    ("fragmentation@1", "memory_fragmented", ("spark-02",), 130),
    ("engine-restart", "engine_unreachable", ("engine",), 30),
    ("clock-skew@1", "clock_skew", ("spark-02",), 75),
]
"""The fault, the rule that tells of it, of what, and within how many seconds."""
LOOK_ALIKES = [
    ("long-prefill",),
    ("weight-copy@1",),
    ("idle-power-cap@2",),
    ("uncabled@3",),
    ("engine-stop",),
    ("slow-scrape@1",),
    (),
]


def roots(raised: list[Raised]) -> set[str]:
    """Rules that nothing else explains."""
    return {one.rule for one in raised if one.cause is None}


@pytest.mark.live
@pytest.mark.parametrize(("fault", "rule", "key", "within_s"), FAULTS, ids=[one[0] for one in FAULTS])
def test_a_fault_raises_its_alert(tmp_path: Path, fault: str, rule: str, key: tuple[str, ...], within_s: int) -> None:
    raised = play(tmp_path / "store.db", BEGIN_S + within_s + 60, [f"{fault}:{BEGIN_S}"])
    mine = [one for one in raised if one.rule == rule and one.key == key]
    assert len(mine) == 1, raised
    assert BEGIN_S < mine[0].fired_s <= BEGIN_S + within_s
    assert roots(raised) == {rule}


@pytest.mark.live
@pytest.mark.parametrize("faults", LOOK_ALIKES, ids=[" ".join(one) or "nothing" for one in LOOK_ALIKES])
def test_what_only_looks_like_a_fault_raises_none(tmp_path: Path, faults: tuple[str, ...]) -> None:
    raised = play(
        tmp_path / "store.db", 300, [f"{one}:{0 if one.startswith('uncabled') else BEGIN_S}" for one in faults]
    )
    assert raised == []


@pytest.mark.live
def test_two_faults_raise_both(tmp_path: Path) -> None:
    raised = play(tmp_path / "store.db", 180, ["power-delivery@1:60", "agent-down@2:70"])
    assert roots(raised) == {"power_delivery", "node_silent"}
