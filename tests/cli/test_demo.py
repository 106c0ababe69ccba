"""The demo: what the simulator is told, and that nothing of a real cluster gets into it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from cli import demo
from cli.supervisor import Supervisor
from settings import Settings, load
from settings.figures import ROOFLINE


def test_the_simulator_is_told_what_was_asked_for(tmp_path: Path) -> None:
    settings = load({"demo_nodes": "3", "demo_speed": "2.5", "demo_seed": "9"}, {}, tmp_path)
    child = demo.simulator(settings)
    assert child.command[1:] == ("-m", "simulator", "--nodes", "3", "--speed", "2.5", "--seed", "9")
    assert child.vital


def test_nothing_real_is_read() -> None:
    real = Settings(
        store="sqlite:////x.db",
        nodes={"a": "http://a"},
        engines={"b": "http://b"},
        deployments={"kimi": ("b",)},
        roofline={"kimi": {"active_bytes": 1e9}},
        node_token_file="/etc/node",
        engine_token_file="/etc/engine",
        interval_s=2.0,
    )
    assert demo.without_cluster(real) == Settings(store="sqlite:////x.db", interval_s=2.0)
    addresses = {"engine": "http://e", "control": "http://c", "nodes": {"spark-01": "http://n"}}
    line = json.dumps({**addresses, "roofline": {"K": {"active_bytes": 2e9}}, "more": 1})
    assert demo.with_cluster(demo.without_cluster(real), line) == Settings(
        store="sqlite:////x.db",
        interval_s=2.0,
        nodes={"spark-01": "http://n"},
        engines={"head": "http://e"},
        roofline={"K": {"active_bytes": 2e9}},
        demo_control_url="http://c",
    )


def test_the_real_simulator_announces_itself(tmp_path: Path) -> None:
    found: list[Settings] = []

    async def plan(supervisor: Supervisor) -> None:
        line = await supervisor.announce(demo.simulator(load({"demo_nodes": "2"}, {}, tmp_path)))
        found.append(demo.with_cluster(Settings(), line))
        supervisor.stop()

    assert asyncio.run(asyncio.wait_for(Supervisor().run(plan), 60)) == 0
    assert list(found[0].nodes) == ["spark-01", "spark-02"]
    told = load({"roofline": [ROOFLINE.render(found[0].roofline)]}, {}, tmp_path).roofline
    assert told == found[0].roofline, "the simulator's figures are such as the setting takes"
    assert told["Kimi-K3"]["active_bytes"] == 132e9
    for url in (*found[0].nodes.values(), *found[0].engines.values(), found[0].demo_control_url or ""):
        assert url.startswith("http://127.0.0.1:")
