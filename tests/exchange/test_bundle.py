"""Bundles: there and back exactly, and nothing in them believed."""

from __future__ import annotations

import gzip
import json
import zlib
from typing import Any

import pytest

from exchange import bundle
from exchange.benchmarks import reading
from exchange.benchmarks.record import PART
from exchange.bundle import Bundle
from runs.bounds import AHEAD_MS, BESIDE_MS, EARLIEST_MS, LATEST_MS, LONGEST_MS
from runs.model import Mark
from tests.exchange import results
from tests.exchange.results import packed

START, END = 1_796_000_000_000, 1_796_000_060_000
NOW = END + 1
ENTRY = {"key": "decode_mean", "label": "Decode", "value": 20.123456789, "unit": "tokens_per_second", "note": "x"}
CONTENT: dict[str, Any] = {
    "about": {
        "deployment": "Kimi-K3",
        "name": "with drafts",
        "model": "org/Kimi-K3",
        "began": "tokens flowed",
        "ended": "nothing happened for 60 s",
        "start": 1_796_000_000_000,
        "end": 1_796_000_060_000,
        "trim_start": 1_796_000_001_000,
        "trim_end": None,
        "labels": {"drafts": "7"},
        "tags": ["good"],
        "note": "",
        "measured": {"corpus": "ShareGPT"},
    },
    "parts": {
        "summary": {
            "start": 1_796_000_001_000,
            "end": 1_796_000_060_000,
            "cut": "",
            "why": "",
            "sections": [{"key": "speed", "label": "Speed", "entries": [ENTRY]}],
        },
        "headline": {"speed.decode_mean": 20.123456789, "speed.decode_peak": None},
        "fingerprint": [
            {"key": "nodes", "label": "Nodes", "value": "a, b", "apart": {"a": "x"}, "changes": [[5, "a", "y", "x"]]}
        ],
        "charts": {
            "start": 1_796_000_000_000,
            "step_ms": 10_000,
            "series": [{"metric": "gpu_power_watts", "target": "a", "labels": {"gpu": "0"}, "v": [1.5, None, 3]}],
        },
        "events": [{"t": 1_796_000_030_000, "target": "a", "kind": "kernel", "text": "Xid 79"}],
        "alerts": [
            {"t": 1_796_000_040_000, "end": 1_796_000_050_000, "target": "a", "severity": "warning", "text": "GPU hot"},
            {"t": 1_796_000_041_000, "end": None, "target": "b", "severity": "critical", "text": "node away"},
        ],
    },
    "marks": [[1_796_000_020_000, "note", "fan on"]],
    "origin": {"id": 7, "version": "0.1.0", "exported": 1_796_000_100_000},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The content with another value at a place: "parts.events.0.t"."""
    data = json.loads(json.dumps(CONTENT))
    place: Any = data
    *way, last = path.split(".")
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        place[int(last)] = value
    else:
        place[last] = value
    return dict(data)


def file(content: Any, **head: Any) -> bytes:
    data = {"format": bundle.FORMAT, "version": 1, "checksum": bundle.checksum(content), "content": content, **head}
    return gzip.compress(json.dumps(data).encode(), mtime=0)


def test_there_and_back() -> None:
    found = Bundle.from_json(CONTENT)
    assert found.to_json() == CONTENT
    again = bundle.read(bundle.write(found), NOW)
    assert again == found
    assert bundle.write(again) == bundle.write(found)


def test_the_run_is_foreign() -> None:
    run = Bundle.from_json(CONTENT).run(12)
    assert (run.id, run.by, run.deployment, run.name, run.own) == (
        12,
        "foreign",
        "foreign:Kimi-K3",
        "with drafts",
        False,
    )
    assert (run.start_ms, run.end_ms, run.trim_start_ms, run.trim_end_ms) == (
        1_796_000_000_000,
        1_796_000_060_000,
        1_796_000_001_000,
        None,
    )
    assert (run.engines, run.nodes, run.baseline, run.pinned) == ((), None, False, False)
    assert (run.measured.corpus, run.tags, run.labels) == ("ShareGPT", ("good",), {"drafts": "7"})
    again = Bundle.from_json(changed("about.deployment", "foreign:Kimi-K3"))
    assert again.run(1).deployment == "foreign:Kimi-K3"
    assert again.key == Bundle.from_json(CONTENT).key


def test_the_deployment_in_its_charts_is_the_foreign_one() -> None:
    content = changed("parts.charts.series.0.target", "deployment/Kimi-K3")
    found = Bundle.from_json(content)
    assert [one["target"] for one in found.kept["charts"]["series"]] == ["deployment/foreign:Kimi-K3"]
    back = Bundle.from_json({**content, "parts": found.kept})
    assert back.parts["charts"] == content["parts"]["charts"]
    del content["parts"]["charts"]
    assert "charts" not in Bundle.from_json(content).kept


def test_marks_come_along() -> None:
    assert Bundle.from_json(CONTENT).marks == (Mark(1_796_000_020_000, "note", "fan on"),)


def test_benchmarks_come_along() -> None:
    (result,) = reading.read(packed(results.vllm()), "x.json")
    content = changed(f"parts.{PART}forged", result.to_json())
    assert Bundle.from_json(content).parts[PART + result.key] == result.to_json()
    assert f"{PART}forged" not in Bundle.from_json(content).parts


def test_the_key_is_of_the_run_and_not_of_the_export() -> None:
    one, other = Bundle.from_json(CONTENT), Bundle.from_json(changed("origin.exported", 5))
    assert one.key == other.key
    assert one.key != Bundle.from_json(changed("about.name", "other")).key


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("about", [], "“about” is expected to be an object"),
        ("about.name", 5, "“name” is expected to be a text"),
        ("about.name", "x" * 300, "“name” is expected to be a text of at most"),
        ("about.start", "x", "“start” is expected to be an instant, a whole number"),
        ("about.end", 5, "the run ends before it begins"),
        ("about.end", True, "“end” is expected to be an instant, a whole number"),
        ("about.trim_end", -1, "“trim_end” is expected to be an instant, a whole number"),
        ("about.end", 2**53 - 1, "“end” is expected to be an instant"),
        ("about.end", LATEST_MS + 1, "“end” is expected to be an instant"),
        ("about.start", EARLIEST_MS - 1, "the run begins before 2015"),
        ("about.start", END - LONGEST_MS - 1, "the run is longer than a run can be (400 days)"),
        ("about.trim_start", START - BESIDE_MS - 1, "“trim_start” has a time outside of the run"),
        ("about.trim_end", END + BESIDE_MS + 1, "“trim_end” has a time outside of the run"),
        ("parts.summary.start", START - BESIDE_MS - 1, "“summary” has a time outside of the run"),
        ("parts.summary.end", END + BESIDE_MS + 1, "“summary” has a time outside of the run"),
        ("parts.summary.end", 0, "the summary ends before it begins"),
        ("parts.events.0.t", END + BESIDE_MS + 1, "“events” has a time outside of the run"),
        ("parts.alerts", {}, "“alerts” is expected to be a list"),
        ("parts.alerts.0", 7, "“alerts” is expected to be an object"),
        ("parts.alerts.1.t", END + BESIDE_MS + 1, "“alerts” has a time outside of the run"),
        ("parts.alerts.0.t", None, "“t” is expected to be an instant, a whole number"),
        ("parts.alerts.0.end", "x", "“end” is expected to be an instant, a whole number"),
        ("parts.alerts.0.end", END - 20_001, "“alerts” has one that ends before it fires"),
        ("parts.alerts.0.severity", "grave", "“severity” is info, warning, critical"),
        ("parts.alerts.0.text", None, "“text” is expected to be a text"),
        ("parts.alerts.0.target", 5, "“target” is expected to be a text"),
        ("parts.charts.start", END + BESIDE_MS + 1, "“charts” are not of the run's time"),
        ("parts.charts.start", START - BESIDE_MS - 30_001, "“charts” are not of the run's time"),
        ("parts.charts.step_ms", LONGEST_MS, "“charts” are not of the run's time"),
        ("parts.charts.start", 2**53 - 1, "“start” is expected to be an instant"),
        ("marks.0", [START - BESIDE_MS - 1, "note", ""], "“marks” has a time outside of the run"),
        ("marks.0", [2**53 - 1, "note", ""], "“marks” is expected to be an instant"),
        ("parts.fingerprint.0.changes.0", [2**53 - 1, "a", "y", "x"], "“changes” is expected to be an instant"),
        ("origin.exported", 2**53 - 1, "“exported” is expected to be an instant"),
        ("about.name", "\ud800", "“name” is expected to be a text"),
        ("about.labels", {"\ud800": ""}, "“labels” is expected to be a text"),
        ("about.labels", {"a": "\ud800"}, "“labels” is expected to be a text"),
        ("about.tags", ["\ud800"], "“tags” is expected to be a text"),
        ("about.end", 10**400, "“end” is expected to be an instant"),
        ("parts.\ud800", {}, "“parts” has '\\ud800', which is not known here"),
        ("parts.summary.sections", [], "“sections” is empty: the run has no numbers"),
        ("parts.summary.sections.0.entries.0.value", 10**400, "“decode_mean” is no number"),
        ("parts.summary.sections.0.entries.0.value", -1.1e100, "“decode_mean” is no number"),
        ("parts.summary.sections.0.entries.0.count", 10**400, "“decode_mean” is no number"),
        ("parts.summary.sections.0.entries.0.note", "\ud800", "“note” is no text"),
        ("parts.headline", {"x": 10**400}, "“headline” is expected to be an object of numbers"),
        ("parts.charts.series.0.v", [10**400], "“v” is expected to be a list of numbers"),
        ("parts.charts.step_ms", 10**400, "“step_ms” is expected to be a whole number"),
        ("parts.events.0.text", "\ud800", "“text” is expected to be a text"),
        ("marks.0", [START, "note", "\ud800"], "“marks” is expected to be a text"),
        ("origin.id", 10**400, "“origin” is expected to be a whole number"),
        ("about.labels", {str(n): "" for n in range(51)}, "“labels” has more than 50 members"),
        ("about.tags", [5], "“tags” is expected to be a text"),
        ("parts.weights", {}, "“parts” has 'weights', which is not known here"),
        ("parts.summary", None, "“summary” is expected to be an object"),
        ("parts.summary.sections.0.entries.0.value", "fast", "“decode_mean” is no number"),
        ("parts.summary.sections.0.entries.0.unit", "miles", "the unit “miles” is not known here"),
        ("parts.summary.sections.0.label", 5, "“label” is expected to be a text"),
        ("parts.headline", {"x": "y"}, "“headline” is expected to be an object of numbers"),
        ("parts.fingerprint.0.value", 5, "“value” is expected to be a text"),
        ("parts.fingerprint.0.more", 5, "“fingerprint” has a field that is not whole"),
        ("parts.fingerprint.0.changes.0", [5], "“changes” has a row that is not whole"),
        ("parts.fingerprint.0.apart.a", 5, "“apart” is expected to be a text"),
        ("parts.charts.step_ms", 0, "“step_ms” is 0"),
        ("parts.charts.series.0.v", ["x"], "“v” is expected to be a list of numbers"),
        ("parts.charts.series.0.v", [1] * 5_002, "“v” is expected to be a list of at most 5001"),
        ("parts.events.0.t", None, "“t” is expected to be an instant, a whole number"),
        ("parts.events.0", 7, "“events” is expected to be an object"),
        ("marks.0", [1, "note"], "“marks” has a row that is not whole"),
        ("origin.id", None, "“origin” is expected to be a whole number"),
        ("origin.version", 1, "“origin” is expected to be a text"),
    ],
)
def test_what_is_not_as_it_should_be(path: str, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        bundle.read(file(changed(path, value)), NOW)
    assert sentence in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("about.start", END - LONGEST_MS),
        ("about.trim_start", START - BESIDE_MS),
        ("about.trim_end", END + BESIDE_MS),
        ("parts.charts.start", END + BESIDE_MS),
        ("parts.charts.start", START - BESIDE_MS - 30_000),
        ("parts.charts.series", []),
        ("parts.alerts", []),
        ("parts.alerts.1.t", END + BESIDE_MS),
        ("parts.alerts.0.end", END - 20_000),
        ("parts.alerts.0.end", END + BESIDE_MS + 1),
        ("parts.fingerprint.0.changes.0", [LATEST_MS, "a", "y", "x"]),
    ],
)
def test_times_that_can_be(path: str, value: Any) -> None:
    assert Bundle.from_json(changed(path, value)).to_json() == changed(path, value)


def test_a_run_of_2015_can_be() -> None:
    content = changed("about.start", EARLIEST_MS)
    content["about"] |= {"end": EARLIEST_MS + 1, "trim_start": None}
    content["parts"] = {"summary": {**content["parts"]["summary"], "start": EARLIEST_MS, "end": EARLIEST_MS + 1}}
    assert Bundle.from_json({**content, "marks": []}).about["start"] == EARLIEST_MS


def test_a_run_of_the_future_is_none() -> None:
    assert bundle.read(file(CONTENT), END - AHEAD_MS).about["end"] == END
    with pytest.raises(ValueError, match="the run ends in the future: the clock"):
        bundle.read(file(CONTENT), END - AHEAD_MS - 1)


def test_series_of_unequal_length() -> None:
    two = [*CONTENT["parts"]["charts"]["series"], {**CONTENT["parts"]["charts"]["series"][0], "v": [1]}]
    with pytest.raises(ValueError, match="not equally long"):
        bundle.read(file(changed("parts.charts.series", two)), NOW)


def test_a_run_without_a_summary() -> None:
    content = changed("parts.summary", {})
    del content["parts"]["summary"]
    with pytest.raises(ValueError, match="no summary"):
        bundle.read(file(content), NOW)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"hello", "it is not packed, or damaged"),
        (gzip.compress(b"hello", mtime=0), "it holds no JSON"),
        (gzip.compress(b"[1]", mtime=0), "“file” is expected to be an object"),
        (gzip.compress(b'{"format": "zip"}', mtime=0), "this file is no run of a Tachograph"),
        (file(CONTENT, version=2), "written by another version (2), known is 1"),
        (file(CONTENT, checksum="0"), "its checksum is another one"),
        (file(CONTENT)[:-30], "its end is missing"),
        (gzip.compress(b"9" * 5_000, mtime=0), "it holds no JSON"),
        (gzip.compress(b"[" * 90_000, mtime=0), "it holds no JSON"),
    ],
)
def test_a_file_that_is_no_bundle(data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        bundle.read(data, NOW)
    assert sentence in str(error.value)


def test_what_would_fill_the_memory_is_noticed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(b" " * (bundle.MOST_BYTES + 2), 9)
    assert len(bomb) < 100_000
    with pytest.raises(ValueError, match="this file holds more than a run can"):
        bundle.read(bomb, NOW)
    with pytest.raises(ValueError, match="larger than a run can be"):
        bundle.read(b"\0" * (bundle.MOST_PACKED + 1), NOW)
    assert zlib.decompressobj(wbits=31).decompress(bundle.write(Bundle.from_json(CONTENT)))[:1] == b"{"
