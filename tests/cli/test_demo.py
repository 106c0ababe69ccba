"""The demo: what the simulator is told, and that nothing of a real cluster gets into it."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from cli import demo
from cli.main import main
from cli.supervisor import Supervisor
from settings import Settings, SettingsError, load
from settings.figures import ROOFLINE
from storage.records import Batch, Row
from storage.store import is_made, open_store
from telemetry.model import Series


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
        channels={"ops": {"url": "json://h/x"}},
        heartbeat={"url": "https://h/x"},
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


def url_of(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/made/tachograph.db"


def test_a_demo_goes_on_in_a_store_that_a_demo_made(tmp_path: Path) -> None:
    for now_ms in (5, 7):
        demo.claim(url_of(tmp_path), now_ms)
    assert is_made(url_of(tmp_path))
    with closing(open_store(url_of(tmp_path), writer=False, now_ms=9)) as store:
        assert store.noted("made_by_demo") is True


@pytest.mark.parametrize("rows", [0, 1])
def test_a_demo_never_writes_into_the_store_of_a_cluster(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "real.db"
    with closing(open_store(str(path), writer=True, now_ms=5)) as store:
        layout = store.layout("spark-01", (Series("spark-01", "gpu_power_watts", (("gpu", "0"),)),))
        store.commit(Batch(rows=[Row(5, "spark-01", 5, layout, [40.0])] * rows), 5)
    before = path.read_bytes()
    told = (
        f"store: 'sqlite:///{path}' is wrong, expected a new place, or a store that a demo made (the demo's invented "
        "numbers must not get among those of a real cluster)"
    )
    with pytest.raises(SettingsError) as refused:
        demo.claim(f"sqlite:///{path}", 6)
    assert refused.value.problems == (told,)
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    path.write_text("no database at all, but as long as a header of one would be: " + "x" * 100)
    with pytest.raises(SettingsError, match="expected a new place, or a store that a demo made"):
        demo.claim(f"sqlite:///{path}", 6)
    assert path.read_text().startswith("no database at all")


def test_the_command_refuses_before_anything_starts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "real.db"
    open_store(str(path), writer=True, now_ms=5).close()
    assert main(["demo", "--store", str(path), "--port", "0"]) == 2
    assert "expected a new place, or a store that a demo made" in capsys.readouterr().err


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
