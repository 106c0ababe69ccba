"""A client's numbers beside the engine's: which belong together, and which may be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest

from exchange.benchmarks import beside, reading
from exchange.benchmarks.record import Benchmark, Overlay
from runs.client import sections
from runs.entries import Entry, Section
from telemetry.model import Unit
from tests.exchange import results
from tests.exchange.results import packed

TPS = Unit.TOKENS_PER_SECOND
SUMMARY = (
    Section(
        "speed",
        "Speed",
        (Entry("decode_mean", "Decode", 16.0, TPS), Entry("decode_peak_1s", "Peak", 30.0, TPS)),
    ),
    Section("requests", "Requests", (Entry("output", "Output", 410.0, Unit.TOKENS),)),
    Section(
        "latency",
        "Latency",
        (Entry("ttft_mean", "TTFT", 4.0, Unit.SECONDS), Entry("ttft_p99", "TTFT", 5.0, Unit.SECONDS, relation="<")),
    ),
)


def test_what_belongs_together() -> None:
    (found,) = reading.read(packed(results.vllm(max_output_tokens_per_s=12.0)), "x.json")
    told = {one.client.key: one for one in beside.beside(found, SUMMARY)}
    pairs = {key: one.server and one.server.value for key, one in told.items()}
    assert pairs == {
        "output": 410.0,
        "prompt": None,
        "completed": None,
        "seconds": None,
        "output_throughput": 16.0,
        "peak": 30.0,
        "ttft_mean": 4.0,
        "ttft_p99": 5.0,
    }
    assert told["output_throughput"].difference == pytest.approx(0.25)
    assert told["output"].difference == pytest.approx(-10 / 410)
    assert told["prompt"].difference is None


def test_a_row_of_two_different_lengths_names_both() -> None:
    (found,) = reading.read(packed(results.vllm(duration=20.0)), "x.json")
    speed = Section("speed", "Speed", (Entry("decoding_seconds", "Time decoding", 17.5, Unit.SECONDS),))
    told = {one.client.key: one for one in beside.beside(found, (speed,))}
    length = told["seconds"].to_json()
    assert (length["label"], length["client"]["label"]) == ("Length (engine: time decoding)", "Length")
    assert (length["client"]["value"], length["server"]["value"], length["difference"]) == (20.0, 17.5, None)
    assert told["output"].label == told["output"].client.label


@pytest.mark.parametrize(
    ("difference", "text"), [(0.0, "equal"), (0.25, "+25.0 %"), (-0.0123, "−1.2 %"), (1e-9, "+0.0 %"), (None, "")]
)
def test_how_far_they_are_apart_in_words(difference: float | None, text: str) -> None:
    assert beside.apart(difference) == text


def test_what_cannot_be_compared_has_a_reason_and_no_difference() -> None:
    (found,) = reading.read(packed(results.vllm(max_output_tokens_per_s=12.0)), "x.json")
    told = {one.client.key: one for one in beside.beside(found, SUMMARY)}
    assert told["peak"].difference is None
    assert "stream chunks" in told["peak"].note
    assert told["ttft_mean"].difference is None
    assert [told[key].note for key in ("prompt", "completed")] == ["", ""], "there is nothing beside them"


@pytest.mark.parametrize(
    ("key", "server", "below", "above"),
    [
        ("output", "requests.output", beside.WARM_UP, f"{beside.FEWER}."),
        ("prompt", "requests.prompt", beside.WARM_UP, beside.UNCACHED),
        ("completed", "requests.finished", beside.WARM_UP, f"{beside.FEWER}."),
        ("seconds", "speed.decoding_seconds", beside.OTHERS, beside.WHOLE_TIME),
        ("output_throughput", "speed.decode_mean", beside.WHOLE_TIME, beside.OTHERS),
        ("ttft_mean", "latency.ttft_mean", beside.OTHERS, beside.CLOCKS),
        ("ttft_p99", "latency.ttft_p99", f"{beside.BUCKETS} {beside.OTHERS}", f"{beside.BUCKETS} {beside.CLOCKS}"),
        ("itl_mean", "latency.itl_mean", beside.OTHERS, beside.CHUNKS),
        ("e2el_mean", "latency.e2e_mean", beside.OTHERS, beside.CLOCKS),
    ],
)
def test_a_reason_follows_which_of_the_two_is_larger(key: str, server: str, below: str, above: str) -> None:
    section, _, name = server.partition(".")

    def reason(client: float, engine: float | None) -> str:
        found = Benchmark("vllm", "m", (Entry(key, key, client, Unit.COUNT),))
        (one,) = beside.beside(found, (Section(section, "", (Entry(name, "", engine, Unit.COUNT),)),))
        return one.note

    always = beside.BUCKETS if key.endswith("p99") else ""
    assert (reason(9.0, 10.0), reason(11.0, 10.0)) == (below, above)
    assert (reason(10.0, 10.0), reason(10.0, None)) == (always, "")


def test_of_which_minutes_the_engines_numbers_are() -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    own = Overlay(5, 9, "", (Entry("speed.decode_mean", "Decode", 19.0, TPS),))
    assert beside.answer(found, ())["engine"] is None
    assert beside.answer(replace(found, overlay=own), ())["engine"] == {"start": 5, "end": 9, "of": beside.OF_BENCHMARK}
    whole = replace(found, overlay=Overlay(5, 9, ""))
    assert beside.answer(whole, SUMMARY, (6, 9))["engine"] == {"start": 6, "end": 9, "of": beside.OF_RUN}
    assert beside.answer(whole, ())["engine"] == {"start": 5, "end": 9, "of": beside.OF_RUN}


def test_percentiles_of_buckets_are_not_compared() -> None:
    (found,) = reading.read(packed(results.vllm(p50_tpot_ms=50.0, mean_tpot_ms=50.0)), "x.json")
    entries = (Entry("tpot_mean", "", 0.04, Unit.SECONDS), Entry("tpot_p50", "", 0.04, Unit.SECONDS))
    told = {one.client.key: one for one in beside.beside(found, (Section("latency", "", entries),))}
    assert told["tpot_mean"].difference == pytest.approx(0.25)
    assert told["tpot_p50"].difference is None
    assert "bucket" in told["tpot_p50"].note


def test_numbers_of_a_stretch_come_before_those_of_the_run() -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    own = (Entry("speed.decode_mean", "Decode", 19.0, TPS),)
    told = beside.beside(replace(found, overlay=Overlay(0, 1, "", own)), SUMMARY)
    assert {one.client.key: one.server.value for one in told if one.server is not None} == {"output_throughput": 19.0}


def test_an_engine_at_0_is_no_base_of_a_difference() -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    none = (Section("speed", "", (Entry("decode_mean", "", 0.0, TPS),)),)
    assert next(one for one in beside.beside(found, none) if one.client.key == "output_throughput").difference is None


def test_the_rest_is_what_only_the_client_knows() -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    assert [one.key for one in beside.rest(found)] == ["failed"]
    (tests,) = reading.read(results.recorded("llama-benchy.json"), "x.json")
    assert len(beside.rest(tests)) == len(tests.entries) == 18
    assert beside.beside(tests, SUMMARY) == []


def test_every_pair_names_an_entry_that_a_summary_can_have() -> None:
    assert len({one.client for one in beside.PAIRS}) == len(beside.PAIRS)
    assert {one.server.partition(".")[0] for one in beside.PAIRS} == {"requests", "speed", "latency", "speculation"}


def test_a_client_alone_gives_counts_and_no_speed() -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    told = {(part.key, one.key): one.value for part in sections(found.entries) for one in part.entries}
    assert told == {
        ("speed", "seconds"): 20.0,
        ("requests", "output"): 400.0,
        ("requests", "prompt"): 880.0,
        ("requests", "finished"): 4.0,
    }
    assert sections(reading.read(results.recorded("llama-benchy.json"), "x.json")[0].entries) == ()
