"""Runs side by side: numbers with differences, nodes, what they ran on, the roofline; published results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exchange.references import SHIPPED, ReferencesError, references
from runs.compare.roof import roof
from runs.compare.tables import differing, nodes, numbers
from runs.compare.work import notes
from runs.entries import Entry, Section
from runs.fingerprint import Field, Fingerprint
from runs.model import Measured
from runs.references import CAVEAT
from telemetry.model import Unit
from telemetry.roofline import Weights


def entry(key: str, value: float | None, unit: Unit = Unit.TOKENS_PER_SECOND, note: str = "", of: str = "") -> Entry:
    """An entry."""
    return Entry(key, key.title(), value, unit, note=note, of=of, definition=f"what {key} is")


def summary(decode: float | None, power: dict[str, float], **more: float) -> tuple[Section, ...]:
    """A summary of a few numbers."""
    own = [entry("power_mean_on", watts, Unit.WATTS, of=name) for name, watts in power.items()]
    sections = [
        Section("speed", "Speed", (entry("decode_mean", decode, note="a gap"),)),
        Section("nodes", "Nodes", own),
    ]
    for path, value in more.items():
        section, _, key = path.partition("__")
        sections.append(Section(section, section, (entry(key, value, Unit.SECONDS),)))
    return tuple(sections)


def test_numbers_stand_side_by_side_with_their_differences() -> None:
    found = numbers([summary(20.0, {}), summary(25.0, {}), summary(None, {})])
    assert [one.key for one in found] == ["speed.decode_mean"]
    assert found[0].values == (20.0, 25.0, None)
    assert found[0].differences == [None, 0.25, None]
    assert found[0].to_json() == {
        "key": "speed.decode_mean",
        "label": "Decode_Mean",
        "unit": "tokens_per_second",
        "definition": "what decode_mean is",
        "of": "",
        "values": [20.0, 25.0, None],
        "differences": [None, 0.25, None],
        "notes": ["a gap"] * 3,
    }


def test_temperatures_differ_by_kelvins() -> None:
    hot = [
        [Section("nodes", "", (Entry("temperature_max", "Hottest", one, Unit.CELSIUS),))] for one in (60.0, 50.75, None)
    ]
    assert numbers(hot)[0].differences == [None, -9.25, None]
    assert numbers(hot[::-1])[0].differences == [None, None, None]


def test_a_difference_from_nothing_or_from_0_is_none() -> None:
    assert numbers([summary(None, {}), summary(3.0, {})])[0].differences == [None, None]
    assert numbers([summary(0.0, {}), summary(3.0, {})])[0].differences == [None, None]
    assert numbers([summary(None, {}), summary(None, {})]) == []


def test_nodes_of_any_run_are_told() -> None:
    found = nodes([summary(1.0, {"b": 50.0, "a": 40.0}), summary(1.0, {"b": 60.0, "c": 70.0})])
    assert [(one.of, one.values, one.differences[1]) for one in found] == [
        ("a", (40.0, None), None),
        ("b", (50.0, 60.0), pytest.approx(0.2)),
        ("c", (None, 70.0), None),
    ]


def printed(**values: str) -> Fingerprint:
    """A fingerprint."""
    return Fingerprint(tuple(Field(key, key.title(), value) for key, value in values.items()))


def test_what_differs() -> None:
    prints = [printed(model="m", driver="580", kernel="6.14"), printed(model="m", driver="580"), printed(model="n")]
    told = [Measured("4", tool="x"), Measured("4", tool="x"), Measured("8")]
    found = [(one.key, one.values) for one in differing(prints, told)]
    assert found == [
        ("model", ("m", "m", "n")),
        ("driver", ("580", "580", "")),
        ("kernel", ("6.14", "", "")),
        ("measured.concurrency", ("4", "4", "8")),
        ("measured.tool", ("x", "x", "")),
    ]
    assert differing([prints[0]] * 2, [told[0]] * 2) == []


def worked(prompt: float, output: float, finished: float = 10.0) -> tuple[Section, ...]:
    """A summary of so much work."""
    told = {"prompt": prompt, "output": output, "finished": finished}
    return (Section("requests", "Requests", [entry(key, value, Unit.TOKENS) for key, value in told.items()]),)


def test_another_work_is_told() -> None:
    same = printed(model="m")
    assert notes([worked(1000, 100), worked(2400, 240, 20)], [same, same]) == []
    assert notes([worked(21_000, 100), worked(60_000, 130)], [same, same]) == [
        "prompts had 2,100 tokens on average in the first run, 6,000 in the second run",
        "answers had 10 tokens on average in the first run, 13 in the second run",
    ]
    assert notes([worked(0, 100), worked(10, 100)], [same, same]) == []
    assert notes([worked(10, 100), worked(100, 100, 0)], [same, printed(driver="580")]) == []
    assert notes([(), ()], [same, printed(model="n")]) == ["they served different models: m and n"]


KIMI = Weights(132e9, 1.445e12, 896, 16)
STEPS = {"latency__itl_mean": 0.4, "phases__decoding_mean": 3.0, "speculation__draft_length": 8.0}
MACHINES = {"nodes": ", ".join(f"spark-{number:02}" for number in range(16)), "gpu": "NVIDIA GB10"}


def test_the_roofline_of_a_run() -> None:
    """27 tokens a step touch 38.5 % of the experts: 664 GB, read by 16 × 273 GB/s in 152 ms."""
    found = roof(KIMI, summary(20.0, {}, **STEPS), printed(**MACHINES))
    assert (found.tokens, found.nodes, found.step_s, found.why) == (27.0, 16, 0.4, "")
    assert found.floor_s == pytest.approx(0.1518, rel=0.002)
    assert found.share == pytest.approx(0.3795, rel=0.002)
    assert found.ceiling == pytest.approx(1 / 0.1518, rel=0.002)
    plain = roof(KIMI, summary(20.0, {}, **{**STEPS, "phases__decoding_mean": 1.0}), printed(**MACHINES))
    assert (plain.tokens, plain.to_json()["nodes"]) == (9.0, 16)
    two = roof(replace(KIMI, nodes=8), summary(1.0, {}, **STEPS), printed(**MACHINES, engines="a, b"))
    assert (two.tokens, two.nodes) == (13.5, 8)
    undrafted = {name: value for name, value in STEPS.items() if "spec" not in name}
    assert roof(KIMI, summary(1.0, {}, **undrafted), printed(**MACHINES)).tokens == 3.0
    assert roof(replace(KIMI, bandwidth=546e9), summary(1.0, {}, **STEPS), printed(**MACHINES)).floor_s == (
        pytest.approx(0.0759, rel=0.002)
    )


@pytest.mark.parametrize(
    ("weights", "steps", "machines", "why"),
    [
        (None, {}, {}, "what the model weighs is not told (setting roofline)"),
        (
            KIMI,
            {},
            {"engines": "a, b"},
            "several engines step by themselves; set how many nodes one of them has (nodes)",
        ),
        (KIMI, {}, {"nodes": ""}, "which nodes took part is not known; set how many (nodes)"),
        (KIMI, {}, {"gpu": "NVIDIA H100"}, "memory bandwidth of the nodes is not known; set bandwidth"),
        (KIMI, {"phases__decoding_mean": None}, {}, "how many requests were in decode is not known"),
        (KIMI, {"latency__itl_mean": None}, {}, "the engine does not offer step times"),
        (KIMI, {"latency__itl_mean": 0.1}, {}, "steps are shorter than the figures allow; check the setting roofline"),
        (
            KIMI,
            {"speculation__draft_length": None, "speculation__acceptance": 0.4},
            {},
            "this engine times tokens, not steps",
        ),
    ],
)
def test_where_the_roofline_cannot_be_told(
    weights: Weights | None, steps: dict[str, Any], machines: dict[str, str], why: str
) -> None:
    told = {name: value for name, value in {**STEPS, **steps}.items() if value is not None}
    found = roof(weights, summary(1.0, {}, **told), printed(**{**MACHINES, **machines}))
    assert (found.why, found.share, found.floor_s) == (why, None, None)


def test_nodes_of_several_gpus_have_no_bandwidth() -> None:
    fields = (Field("nodes", "", "a, b"), Field("gpu", "", "NVIDIA GB10", apart={"b": "NVIDIA H100"}))
    found = roof(KIMI, summary(1.0, {}, **STEPS), Fingerprint(fields))
    assert found.why == "memory bandwidth of the nodes is not known; set bandwidth"


def test_the_published_results_that_come_with_the_product() -> None:
    found = references()
    assert [(one.name.partition(" on ")[0], one.hosting, one.decode) for one in found] == [
        ("Kimi K3", "self-hosted", (20.0, 20.0)),
        ("Llama 3.1 405B", "self-hosted", (15.0, 25.0)),
        ("Gemini 1.5 Pro", "hosted", (20.0, 30.0)),
    ]
    kimi = found[0]
    assert (kimi.peak, kimi.prefill, kimi.engine) == ((38.0, 38.0), (750.0, 750.0), "vLLM with DSpark")
    assert "16 × GB10" in kimi.hardware
    assert kimi.to_json()["caveat"] == CAVEAT
    assert (found[1].to_json()["decode"], found[1].to_json()["peak"]) == ([15.0, 25.0], None)


OWN = """
[[reference]]
name = "Ours"
source = "us"
context = "1M"
engine = "vLLM"
hardware = "8 × GB10"
hosting = "self-hosted"
prefill = [700, 900.5]
note = "measured at night"
"""


def test_a_file_of_ones_own_comes_on_top(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN + OWN.replace("Ours", "Kimi K3 on 16 × GB10"), "utf-8")
    found = references(path)
    assert [one.name.partition(" on ")[0] for one in found] == ["Llama 3.1 405B", "Gemini 1.5 Pro", "Ours", "Kimi K3"]
    assert (found[2].prefill, found[2].decode, found[2].note) == ((700.0, 900.5), None, "measured at night")


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("[[reference]]", "[reference]", "must hold [[reference]] tables, at most 200, and nothing else"),
        ("[[reference]]", "[[references]]", "must hold [[reference]] tables, at most 200, and nothing else"),
        ('name = "Ours"', "name = ", "is no TOML"),
        ('name = "Ours"', "", "reference 1: “name” is missing, or no text"),
        ('source = "us"', 'source = " "', "reference 1: “source” is missing, or no text"),
        ('context = "1M"', "context = 1", "reference 1: “context” is missing, or no text"),
        ('note = "measured at night"', "note = 3", "reference 1: “note” is missing, or no text"),
        ("self-hosted", "cloud", "reference 1: “hosting” is “cloud”, expected self-hosted or hosted"),
        ("prefill", "speed", "reference 1: there is no key “speed”; known are: context, decode, engine, hardware"),
        ("prefill = [700, 900.5]", "", "reference 1: at least one of decode, peak, prefill is needed"),
        ("[700, 900.5]", "[900, 700]", "“prefill” is [900, 700], expected tokens per second, or [LOW, HIGH]"),
        ("[700, 900.5]", "0", "“prefill” is 0, expected tokens per second, or [LOW, HIGH]"),
        ("[700, 900.5]", "true", "“prefill” is True, expected tokens per second, or [LOW, HIGH]"),
        ("[700, 900.5]", "[1]", "“prefill” is [1], expected tokens per second, or [LOW, HIGH]"),
        ("[700, 900.5]", "inf", "“prefill” is inf, expected tokens per second, or [LOW, HIGH]"),
    ],
)
def test_a_wrong_file_is_told_by_row_and_key(tmp_path: Path, before: str, after: str, why: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN.replace(before, after), "utf-8")
    with pytest.raises(ReferencesError) as refused:
        references(path)
    assert why in str(refused.value)
    assert str(refused.value).startswith(str(path))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReferencesError, match="cannot be read: No such file"):
        references(tmp_path / "none.toml")
    assert SHIPPED.exists()
