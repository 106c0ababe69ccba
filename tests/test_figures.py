"""The setting `roofline`: what a model weighs, from a file, the environment and flags; contradictions are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from settings import SettingsError, load, to_environment

K3 = {"active_bytes": 132e9, "expert_bytes": 1.445e12, "experts": 896, "experts_per_token": 16}
FLAG = "active_bytes:132e9,expert_bytes:1.445e12,experts:896,experts_per_token:16"


def test_every_source(tmp_path: Path) -> None:
    (tmp_path / "tachograph.toml").write_text(
        "[roofline.Kimi-K3]\nactive_bytes = 132e9\nexpert_bytes = 1.445e12\nexperts = 896\nexperts_per_token = 16\n"
        '[roofline."Qwen3.6"]\nactive_bytes = 6_000_000_000\nbandwidth = 1e12\nnodes = 2\n'
    )
    other = {"active_bytes": 6e9, "bandwidth": 1e12, "nodes": 2}
    assert load({}, {}, tmp_path).roofline == {"Kimi-K3": K3, "Qwen3.6": other}
    assert load({}, {"TACHOGRAPH_ROOFLINE": f"a={FLAG}  b=active_bytes:6e9"}, tmp_path).roofline == {
        "a": K3,
        "b": {"active_bytes": 6e9},
    }
    assert load({"roofline": [f"a={FLAG}", "b= active_bytes : 6e9"]}, {}, tmp_path).roofline["b"] == {
        "active_bytes": 6e9
    }
    assert load({}, {"TACHOGRAPH_ROOFLINE": ""}, tmp_path).roofline == {}


def test_it_reaches_child_processes(tmp_path: Path) -> None:
    found = load({"roofline": [f"Kimi-K3={FLAG}", "b=active_bytes:123456789012,nodes:4"]}, {}, tmp_path)
    assert (
        load({}, to_environment(found), tmp_path).roofline
        == found.roofline
        == {
            "Kimi-K3": K3,
            "b": {"active_bytes": 123456789012.0, "nodes": 4},
        }
    )


MIXTURE = "all of expert_bytes, experts, experts_per_token, or none"
NAMES = "one of active_bytes, expert_bytes, experts, experts_per_token, bandwidth, nodes"
WRONG = [
    ("nodes:4", "'k' is wrong, expected active_bytes: what one token alone reads"),
    ("active_bytes:1e9,expert_bytes:1e9", f"'k' is wrong, expected {MIXTURE}"),
    ("active_bytes:1e9,experts:8,experts_per_token:1", f"'k' is wrong, expected {MIXTURE}"),
    (
        "active_bytes:1e9,expert_bytes:1e9,experts:8,experts_per_token:9",
        "'k' is wrong, expected at most as many experts_per_token as experts",
    ),
    (
        "active_bytes:1e9,expert_bytes:8.1e9,experts:8,experts_per_token:1",
        "'k' is wrong, expected active_bytes that contain the experts of one token",
    ),
    ("bytes:1e9", f"'bytes' is wrong, expected {NAMES}"),
    ("active_bytes:0", "'active_bytes:0' is wrong, expected a number from 1000000.0 to 1000000000000000.0"),
    ("active_bytes:1e9,nodes:1.5", "'nodes:1.5' is wrong, expected a whole number from 1 to 100000"),
    ("active_bytes", "'active_bytes:' is wrong, expected a number from 1000000.0 to 1000000000000000.0"),
]


@pytest.mark.parametrize(("figures", "problem"), WRONG)
def test_what_is_refused(tmp_path: Path, figures: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"roofline": [f"k={figures}"]}, {}, tmp_path)
    assert caught.value.problems == (f"--roofline: {problem}",)


@pytest.mark.parametrize(
    "figures",
    [
        "active_bytes:1e9,expert_bytes:8e9,experts:8,experts_per_token:1",
        "active_bytes:1e9,expert_bytes:1e9,experts:8,experts_per_token:8",
    ],
)
def test_bounds_are_allowed(tmp_path: Path, figures: str) -> None:
    assert load({"roofline": [f"k={figures}"]}, {}, tmp_path).roofline["k"]["active_bytes"] == 1e9


@pytest.mark.parametrize(
    ("text", "value"),
    [('roofline = ["active_bytes:1e9"]', "active_bytes:1e9"), ("roofline = {k = 132e9}", "132000000000.0")],
)
def test_shapes_that_are_refused(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "tachograph.toml").write_text(text)
    expected = "NAME=active_bytes:BYTES and, as far as known, the other figures"
    with pytest.raises(SettingsError) as caught:
        load({}, {}, tmp_path)
    assert caught.value.problems == (f"roofline: '{value}' is wrong, expected {expected}",)


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load({"roofline": ["k=bytes:1,nodes:0", "k!=active_bytes:1e9"]}, {}, tmp_path)
    assert len(caught.value.problems) == 3
