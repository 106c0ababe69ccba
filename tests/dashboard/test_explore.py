"""Explore's frame, what it tells the scripts, and the text of the catalogue."""

from __future__ import annotations

import json

import pytest

from dashboard import theme
from dashboard.figures.explore import DEFAULT_METRICS, GROUPS, SERIES_COLOURS
from dashboard.pages import explore, explore_text
from telemetry import catalog
from telemetry.catalog import engine, gpu, host, memory, network, ratios
from telemetry.formatting import LADDERS
from telemetry.model import Metric, Ratio, Unit
from tests.dashboard.parts import attribute, text, walk
from tests.dashboard.test_theme import contrast
from tests.web.conftest import MakeWeb, MakeWorld, make_web, make_world

__all__ = ["make_web", "make_world"]


def test_the_frame_carries_the_formatters_tables() -> None:
    page = explore.page()
    told = json.loads(attribute(page, "data-explore"))
    assert set(told["ladders"]) == {unit.value for unit in Unit if unit is not Unit.SECONDS}
    assert told["ladders"]["hertz"] == {
        "steps": ["MHz"],
        "base": 1000.0,
        "scale": 1e-6,
        "unit": "",
        "glued": False,
        "whole": "always",
        "open_ended": True,
        "fine": False,
    }
    assert len(told["ladders"]) == len(LADDERS)
    assert told["seconds"]["short"][2] == ["s", 1.0, 60]
    assert told["seconds"]["ends"] == {"m": 3600, "h": 86400, "d": 31536000, "y": 31536000000}
    assert told["words"] == {"unknown": "–", "minus": "−", "too_much": ">999", "most_open": 1e9}
    assert told["metrics"] == [metric.name for metric in DEFAULT_METRICS]
    assert told["groups"][0] == ["tokens", "Tokens"]


def test_every_group_of_the_catalogue_has_a_heading() -> None:
    assert {group for group, _ in GROUPS} == {metric.group for metric in catalog.METRICS}


def test_colours_are_the_themes_and_stand_out() -> None:
    assert len(set(SERIES_COLOURS)) == len(SERIES_COLOURS) == 8
    for palette in theme.PALETTES.values():
        for name in SERIES_COLOURS:
            assert contrast(palette[name], palette["panel"]) >= 3.0, name
        assert len({palette[name] for name in SERIES_COLOURS}) == 8


def named(name: str) -> Metric | Ratio:
    metric = catalog.find(name)
    assert metric is not None
    return metric


def pairs_of(metric: Metric | Ratio) -> dict[str, str]:
    parts = [part for part in walk(explore_text.about(metric)) if part.to_plotly_json()["type"] in ("Dt", "Dd")]
    words = [text(part) for part in parts]
    return dict(zip(words[::2], words[1::2], strict=True))


def test_a_gauge_in_words() -> None:
    assert text(explore_text.about(gpu.GPU_TEMPERATURE)).startswith(f"GPU temperature {gpu.GPU_TEMPERATURE.help}")
    told = pairs_of(gpu.GPU_TEMPERATURE)
    assert told["Name"] == "gpu_temperature_celsius"
    assert told["Of"] == "each node, by gpu"
    assert told["Unit"] == "°C, kept in celsius"
    assert told["Source"] == "the node's agent"
    assert told["In total"] == {"max": "largest", "mean": "mean"}[gpu.GPU_TEMPERATURE.across.value]
    assert told["Attention"].startswith("from ")


@pytest.mark.parametrize(
    ("ratio", "formula"),
    [
        (ratios.DECODE_TPS, "Δ generation_tokens_total ∕ seconds of the window"),
        (ratios.STREAM_TPS, "Δ generation_tokens_total ∕ requests_running × s"),
        (
            ratios.INTERCONNECT_TRANSMIT,
            "(Δ rdma_transmit_bytes_total + Δ netdev_transmit_bytes_total) ∕ seconds of the window",
        ),
        (ratios.ACCEPTED_LENGTH, "Δ speculative_accepted_tokens_total ∕ Δ speculative_drafts_total + 1"),
    ],
)
def test_formulas(ratio: Ratio, formula: str) -> None:
    assert explore_text.formula(ratio) == formula
    assert pairs_of(ratio)["Formula"] == formula


def test_windows_folds_and_states_in_words() -> None:
    assert pairs_of(ratios.DECODE_TPS)["Window"] == "trailing 10 s"
    assert pairs_of(named("memory_used_ratio"))["Window"] == "none: of one instant"
    assert pairs_of(ratios.THROTTLE_SHARE)["In total"] == "mean of the lines"
    assert pairs_of(ratios.DECODE_TPS)["In total"] == "Σ numerator ∕ Σ denominator over all lines"
    assert pairs_of(gpu.GPU_READING_STATE)["States"].startswith("0 ok, 1 not supported")
    assert pairs_of(engine.TTFT)["Window"].startswith("trailing 5 minutes")
    assert "In one point" not in pairs_of(engine.TTFT)
    assert "below" in pairs_of(named("disk_available_ratio"))["Attention"]
    assert "critical" in pairs_of(named("disk_available_ratio"))["Attention"]
    assert pairs_of(host.UPTIME)["Unit"] == "s, kept in seconds"
    assert "Source" not in pairs_of(ratios.DECODE_TPS)
    assert pairs_of(memory.MEMORY_HEADROOM)["In total"]
    wrapped = next(metric for metric in catalog.METRICS if isinstance(metric, Metric) and metric.bits != 64)
    assert pairs_of(wrapped)["Wraps"] == f"at {wrapped.bits} bits"
    assert "Wraps" not in pairs_of(network.LINK_UP)


def test_every_metric_has_a_text() -> None:
    for metric in catalog.METRICS:
        told = pairs_of(metric)
        assert told["Name"] == metric.name
        assert all(told.values()), metric.name


def test_what_a_number_is_comes_as_html(make_world: MakeWorld, make_web: MakeWeb) -> None:
    from dashboard.server import build

    web = make_web(make_world())
    client = build(web.process).test_client()
    told = client.get("/fragment/metric?name=gpu_power_watts")
    assert told.status_code == 200
    assert "<h2>GPU power</h2>" in told.text
    other = client.get("/fragment/metric?name=%3Cb%3E")
    assert other.status_code == 404
    assert "&lt;b&gt;" in other.text
    page = client.get("/explore").text
    assert "data-explore=" in page
    assert '<link rel="modulepreload" href="/assets/explore/explorer.js">' in page
    assert "/assets/explore/explorer.js" not in client.get("/").text
    assert explore.PATH == "/explore"
