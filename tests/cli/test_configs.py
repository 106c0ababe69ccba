"""What collector and web are told, and the link that is printed."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from cli import configs
from dashboard.config import WebConfig
from pipeline.config import CollectorConfig, Keep, TargetConfig, TargetKind
from settings import Settings, SettingsError
from telemetry.roofline import Weights


def test_collector() -> None:
    settings = Settings(
        store="sqlite:////x.db",
        nodes={"spark-01": "http://10.0.0.1:9810"},
        engines={"head": "http://10.0.0.1:8000"},
        deployments={"kimi": ("head",)},
        interval_s=2.0,
        run_silence_s=90.0,
        raw_days=5.0,
        summary_months=6.0,
        size_limit=7 << 30,
        disk_reserve=8,
    )
    assert configs.collector(settings) == CollectorConfig(
        store_url="sqlite:////x.db",
        nodes=(TargetConfig("spark-01", "http://10.0.0.1:9810", TargetKind.NODE),),
        engines=(TargetConfig("head", "http://10.0.0.1:8000", TargetKind.ENGINE),),
        deployments={"kimi": ("head",)},
        interval_s=2.0,
        run_silence_s=90.0,
        keep=Keep(5.0, 6.0, 7 << 30, 8),
    )


def test_web() -> None:
    settings = Settings(
        store="s",
        host="10.0.0.9",
        port=99,
        allowed_hosts=("a.example",),
        demo_control_url="http://127.0.0.1:1",
        roofline={"kimi": {"active_bytes": 1e9, "nodes": 4}},
    )
    assert configs.web(settings, "t") == WebConfig(
        "s", "10.0.0.9", 99, "t", ("a.example",), "http://127.0.0.1:1", {"kimi": Weights(1e9, nodes=4)}
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_who_listens_everywhere_answers_to_its_own_name(host: str) -> None:
    name = socket.gethostname().lower()
    allowed = configs.web(Settings(host=host, allowed_hosts=("a.example",)), None).allowed_hosts
    assert allowed == ("a.example", name, f"{name.partition('.')[0]}.local")
    assert configs.link(host, 8050, "t") == f"http://{name}:8050/?token=t"


def test_links() -> None:
    assert configs.link("127.0.0.1", 8050) == "http://127.0.0.1:8050/"
    assert configs.link("::1", 8050) == "http://[::1]:8050/"
    assert configs.link("10.0.0.1", 80, "a-_b") == "http://10.0.0.1:80/?token=a-_b"


def test_the_store_gets_its_directory(tmp_path: Path) -> None:
    configs.make_store_directory(f"sqlite:///{tmp_path}/state/a/t.db")
    assert stat.S_IMODE((tmp_path / "state" / "a").stat().st_mode) == 0o700
    configs.make_store_directory(f"sqlite:///{tmp_path}/state/a/t.db")
    configs.make_store_directory("postgresql+psycopg://h/db")
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"store: .* is wrong, expected a place that can be written"):
        configs.make_store_directory(f"sqlite:///{tmp_path}/file/b/t.db")
    with pytest.raises(SettingsError, match=r"store: .*/state/a' is wrong, expected a file: this is a directory"):
        configs.make_store_directory(f"sqlite:///{tmp_path}/state/a")
