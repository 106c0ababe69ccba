"""Cases with known answers: a wedged engine, a long prefill, a temperature that flaps, a hot node that goes."""

from __future__ import annotations

import asyncio
import csv
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from alerts.record import Alert
from pipeline.config import TargetConfig, TargetKind
from pipeline.sampler import Sampler
from storage.store import open_store
from telemetry.catalog import gpu
from tests.pipeline.served import Answer, Bench, serving

DATA = Path(__file__).parents[1] / "data" / "alerts"
STEP_S = 10.0
LABELS = 'engine="0",model_name="org/m"'


class Cluster:
    """A node and an engine whose pages a case sets."""

    def __init__(self, path: Path, alerts: Mapping[str, Mapping[str, Any]]) -> None:
        self.path, self.alerts = path, alerts
        self.node: bytes | None = None
        self.engine: bytes | None = None

    def _of(self, name: str) -> Callable[[str], Answer]:
        def answer(where: str) -> Answer:
            body = getattr(self, name)
            if where != "/metrics":
                return 404, b""
            return (500, b"") if body is None else (200, body)

        return answer

    def gpu(self, **values: float) -> None:
        names = {"power": gpu.GPU_POWER, "util": gpu.GPU_UTILIZATION, "temp": gpu.GPU_TEMPERATURE}
        lines = [f'tachograph_{names[key].name}{{gpu="0"}} {value}\n' for key, value in values.items()]
        self.node = "".join(lines).encode()

    def play(self, story: Callable[[Sampler, Bench], Awaitable[None]], *, engine: bool, step_s: float) -> list[Alert]:
        async def run() -> None:
            with serving(self._of("node")) as node, serving(self._of("engine")) as server:
                targets = [TargetConfig("spark", node, TargetKind.NODE)]
                targets += [TargetConfig("head", server, TargetKind.ENGINE)] if engine else []
                bench = Bench(self.path, targets, settings={"interval_s": step_s, "alerts": self.alerts})
                sampler, store = bench.open()
                await story(sampler, bench)
                await sampler.finish()
                store.close()

        asyncio.run(run())
        store = open_store(str(self.path), writer=False, now_ms=0)
        found = store.alerts()
        store.close()
        return sorted(found, key=lambda alert: alert.fired_ms)


def wedged(path: Path, name: str) -> list[Alert]:
    cluster = Cluster(path, {})
    rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text().splitlines()]

    async def story(sampler: Sampler, bench: Bench) -> None:
        for row in rows:
            bench.clock.now_s = 100.0 + row["t"]
            cluster.gpu(power=row["gpu_power_w"], util=row["gpu_util"] / 100, temp=row["gpu_temp_c"])
            cluster.engine = (
                f"vllm:generation_tokens_total{{{LABELS}}} {row['generation_tokens_total']}\n"
                f"vllm:prompt_tokens_total{{{LABELS}}} {row['prompt_tokens_total']}\n"
                f"vllm:num_requests_running{{{LABELS}}} {row['num_requests_running']}\n"
            ).encode()
            await sampler.tick(bench.clock.now_s)

    return cluster.play(story, engine=True, step_s=STEP_S)


def test_an_engine_whose_tokens_froze_is_wedged(tmp_path: Path) -> None:
    """Power is known, fabric and KV use are not; it answers with 200 and the GPU says 96 %."""
    (alert,) = wedged(tmp_path / "store.db", "deadlock")
    assert (alert.rule, alert.key, alert.ended_ms) == ("engine_wedged", ("head", "0", "org/m"), None)
    assert 90 <= alert.fired_ms / 1000 - 100 <= 150


def test_a_long_prefill_is_none(tmp_path: Path) -> None:
    assert wedged(tmp_path / "store.db", "long_prefill") == []


EIGHTY = {
    "gpu_hot": {"when": "gpu_temperature_celsius > 80 °C", "clear": "gpu_temperature_celsius < 78 °C"},
    "gpu_too_hot": {"enabled": False},
}


def test_a_temperature_that_flaps_tells_nobody(tmp_path: Path) -> None:
    """79 and 81 in turn every 10 s; 80 for 60 s, clear 2 below."""
    cluster = Cluster(tmp_path / "store.db", EIGHTY)

    async def story(sampler: Sampler, bench: Bench) -> None:
        for row in csv.DictReader((DATA / "flap.csv").read_text().splitlines()):
            bench.clock.now_s = 100.0 + float(row["t_s"])
            cluster.gpu(temp=float(row["gpu_temp_c"]))
            await sampler.tick(bench.clock.now_s)

    assert cluster.play(story, engine=False, step_s=STEP_S) == []


def test_a_node_that_goes_while_it_is_hot_is_two_alerts_and_no_end(tmp_path: Path) -> None:
    """92 °C from the start, firing at 120 s, offline from 180 s on, 91 °C when it is back at 600 s."""
    rule = {"gpu_too_hot": {"for": "120s"}, "gpu_hot": {"enabled": False}}
    cluster = Cluster(tmp_path / "store.db", rule)
    marks = {mark["t"]: mark for mark in json.loads((DATA / "offline_while_hot.json").read_text())}
    firing: dict[int, list[str]] = {}

    async def story(sampler: Sampler, bench: Bench) -> None:
        for second in range(0, 700, 5):
            mark = marks.get(second, {})
            if mark.get("node") == "offline":
                cluster.node = None
            elif "temp" in mark:
                cluster.gpu(temp=mark["temp"])
            bench.clock.now_s = 100.0 + second
            await sampler.tick(bench.clock.now_s)
            firing[second] = sorted(rule for rule, _ in sampler.hub.alarms.open)

    hot, silent = cluster.play(story, engine=False, step_s=5.0)
    assert (hot.rule, hot.fired_ms, hot.ended_ms) == ("gpu_too_hot", 220_000, None)
    assert (silent.rule, silent.fired_ms) == ("node_silent", 310_000)
    assert hot.cause == silent.id
    assert (firing[115], firing[120], firing[205]) == ([], ["gpu_too_hot"], ["gpu_too_hot"])
    assert firing[400] == ["gpu_too_hot", "node_silent"]
    assert firing[695] == ["gpu_too_hot"]
