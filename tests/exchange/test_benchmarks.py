"""Result files of benchmarks: every number exact, no text kept, and each mistake named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exchange.benchmarks import reading, vllm
from exchange.benchmarks.record import KEY_SIGNS, Benchmark, Overlay
from telemetry.model import Unit
from tests.exchange import results
from tests.exchange.results import packed


def values(found: Benchmark) -> dict[str, Any]:
    return {f"{one.key} {one.of}".strip(): one.value for one in found.entries}


def test_the_recorded_result_of_vllm() -> None:
    (found,) = reading.read(results.recorded("vllm-bench-serve.json"), "/home/me/bench.json")
    assert (found.tool, found.model, found.file) == ("vllm bench serve", "tiny-llama", "bench.json")
    assert (found.local_end, found.start_ms, found.end_ms) == ("2026-11-30T02:47:25", None, None)
    assert found.seconds == 131.94345463199988
    told = values(found)
    assert {key: told[key] for key in ("completed", "failed", "prompt", "output", "peak", "peak_requests")} == {
        "completed": 260,
        "failed": 0,
        "prompt": 33_702,
        "output": 26_176,
        "peak": 532,
        "peak_requests": 13,
    }
    assert told["output_throughput"] == 198.38801457038406
    assert told["tpot_mean"] == pytest.approx(0.011079742414810996)
    assert told["ttft_p95"] == pytest.approx(0.32906689244991827)
    assert told["e2el_mean"] == pytest.approx(1.2164759964576748)
    assert "request_goodput" not in told
    assert found.protocol == {
        "endpoint": "openai",
        "backend": "openai",
        "tokenizer": "models/tiny-llama",
        "requests asked for": "260",
        "requests per second asked for": "2.0",
        "burstiness": "1.0",
    }


def test_texts_are_never_kept() -> None:
    given = results.vllm(generated_texts=["a secret answer"], errors=["a secret answer"], itls=[[0.1]])
    (found,) = reading.read(packed(given), "x.json")
    assert "secret" not in json.dumps(found.to_json())
    (other,) = reading.read(packed(results.GUIDELLM), "x.json")
    assert "secret" not in json.dumps(other.to_json())


def test_speculative_decoding_is_in_base_units() -> None:
    given = results.vllm(
        spec_decode_acceptance_rate=40.0,
        spec_decode_acceptance_length=4.2,
        spec_decode_num_drafts=12,
        spec_decode_per_position_acceptance_rates=[0.7, 0.1],
    )
    told = values(reading.read(packed(given), "x.json")[0])
    assert told["acceptance"] == pytest.approx(0.4)
    assert (told["accepted_length"], told["acceptance_at 1"], told["acceptance_at 2"]) == (4.2, 0.7, 0.1)


def test_metadata_of_people_is_kept() -> None:
    (found,) = reading.read(packed(results.vllm(corpus="ShareGPT", request_rate="inf")), "x.json")
    assert found.protocol["corpus"] == "ShareGPT"
    assert found.protocol["requests per second asked for"] == "inf"
    assert "most requests at once" not in found.protocol


@pytest.mark.parametrize("between", ["\n", "", " \n\n", ",\n"])
def test_appended_results(between: str) -> None:
    data = packed(results.vllm(), results.vllm(total_output_tokens=500), between=between)
    assert [one.value("output") for one in reading.read(data, "x.json")] == [400, 500]
    assert len({one.key for one in reading.read(data, "x.json")}) == 2


def test_a_list_of_results() -> None:
    data = packed([results.vllm(), results.vllm(total_output_tokens=500)])
    assert [one.value("output") for one in reading.read(data, "x.json")] == [400, 500]


def test_the_key_is_of_the_result_and_not_of_its_file() -> None:
    one, other = (reading.read(packed(results.vllm()), name)[0] for name in ("a.json", "b.json"))
    assert one.key == other.key
    assert len(one.key) == KEY_SIGNS
    assert one.file != other.file


def test_llama_benchy() -> None:
    (found,) = reading.read(results.recorded("llama-benchy.json"), "benchy.json")
    assert (found.tool, found.version, found.model) == ("llama-benchy", "0.2.2.dev7+gcd427054e", "test")
    assert found.start_ms == 1_770_491_340_000
    told = values(found)
    assert told["prefill pp2048 (c1)"] == 987.0987514675164
    assert told["decode tg32 (c2)"] == 98.70484912562281
    assert told["decode_each tg32 (c2)"] == 49.922734796997744
    assert told["peak_decode tg32 (c2)"] == 101.88887651677194
    assert told["first_token pp2048 (c2)"] == pytest.approx(2.0769748225575313)
    assert {one.count for one in found.entries if one.of == "pp2048 (c2)" and one.key == "prefill_each"} == {4}
    assert next(one.note for one in found.entries if one.key == "prefill") == "± 1.08 tok/s"
    assert found.protocol["latency mode"] == "api"
    assert found.protocol["prefix caching enabled"] == "True"


def test_llama_benchy_names_context_and_its_prefill() -> None:
    data = json.loads(results.recorded("llama-benchy.json"))
    data["max_concurrency"] = 1
    data["timestamp"] = "2026-02-07 19:09:00"
    data["benchmarks"][0]["context_size"] = 4096
    data["benchmarks"][1] |= {"is_context_prefill_phase": True, "context_size": 4096, "ttfr": None}
    (found,) = reading.read(packed(data), "x.json")
    assert found.start_ms is None
    assert {one.of for one in found.entries} == {"pp2048 @ d4096", "tg32 @ d4096", "ctx_pp @ d4096", "ctx_tg @ d4096"}
    assert not [one for one in found.entries if one.key == "first_response" and one.of.startswith("ctx")]


HEAD = "model,test_name,t_s_mean,t_s_std,t_s_req_mean,t_s_req_std,peak_ts_mean,peak_ts_std,ttfr_mean,ttfr_std"


def test_llama_benchy_csv() -> None:
    rows = "org/m,pp2048 (c2),1000,2.5,500,1,,,2050,10\norg/m,tg32 (c2),98.5,0.4,49,0.1,101,0.5,,\n"
    (found,) = reading.read(f"{HEAD}\n{rows}".encode(), "b.csv")
    assert (found.model, found.start_ms, found.local_end) == ("org/m", None, "")
    assert values(found) == {
        "prefill pp2048 (c2)": 1000,
        "prefill_each pp2048 (c2)": 500,
        "first_response pp2048 (c2)": pytest.approx(2.05),
        "decode tg32 (c2)": 98.5,
        "decode_each tg32 (c2)": 49,
        "peak_decode tg32 (c2)": 101,
    }
    assert [one.note for one in found.entries if one.key == "first_response"] == ["± 0.01 s"]


def test_guidellm() -> None:
    (found,) = reading.read(packed(results.GUIDELLM), "benchmarks.json")
    assert (found.tool, found.version, found.model) == ("guidellm", "0.7.1", "org/Kimi-K3")
    assert (found.start_ms, found.end_ms, found.seconds) == (1_796_000_010_000, 1_796_000_030_000, 20)
    assert values(found) == {
        "seconds": 20,
        "completed": 4,
        "failed": 1,
        "output": 400,
        "output_throughput": 19.5,
        "ttft_mean": pytest.approx(0.8125),
        "ttft_median": pytest.approx(0.8),
        "ttft_p50": pytest.approx(0.8),
        "ttft_p95": pytest.approx(0.99),
        "e2el_mean": 5.25,
        "e2el_p99": 6.0,
    }
    assert {one.count for one in found.entries if one.key.startswith("ttft")} == {4}
    assert found.protocol == {"type": "concurrent", "streams": "4"}


def test_a_file_of_guidellm_is_told_by_either_of_its_marks() -> None:
    plain = {"type_": "x", "metrics": {}}
    (found,) = reading.read(packed({"metadata": {"guidellm_version": "0.5"}, "benchmarks": [plain]}), "x.json")
    assert (found.version, found.start_ms, found.seconds, found.entries) == ("0.5", None, None, ())
    (found,) = reading.read(packed({"benchmarks": results.GUIDELLM["benchmarks"]}), "x.json")
    assert (found.version, found.value("output")) == ("", 400)
    for other in ({"metadata": {}, "benchmarks": [plain]}, {"benchmarks": 5}):
        with pytest.raises(ValueError, match="not a result of a tool"):
            reading.read(packed(other), "x.json")


def test_units_are_base_units() -> None:
    units = {one.key: one.unit for one in reading.read(packed(results.vllm()), "x.json")[0].entries}
    assert (units["ttft_mean"], units["output"], units["output_throughput"], units["seconds"]) == (
        Unit.SECONDS,
        Unit.TOKENS,
        Unit.TOKENS_PER_SECOND,
        Unit.SECONDS,
    )


BENCHY = json.loads(results.recorded("llama-benchy.json"))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "x.json: there is no result in it"),
        (b"hello", "x.json: no JSON, and no CSV; known are vllm bench serve"),
        (b'{"date": "20261130-024725",\n "duration": }', "x.json, line 2, column 14: Expecting value"),
        (packed(results.vllm())[:-5], "x.json, line 1, column"),
        (b"\n\xff\xfe", "x.json, line 2: no text in UTF-8"),
        (packed({"a": 1}), "x.json: not a result of a tool that is known here"),
        (packed(3), "x.json: not a result of a tool that is known here"),
        (packed({"date": "", "duration": 1, "completed": 1}), "x.json: “total_output_tokens” is missing"),
        (
            packed(results.vllm(), results.vllm(duration="fast")),
            "x.json, result 2: “duration” is 'fast', expected a number",
        ),
        (packed(results.vllm(duration=-1)), "x.json: “duration” is -1, expected a number from 0 up"),
        (packed(results.vllm(duration=None)), "x.json: “duration” is missing, expected a number from 0 up"),
        (packed(results.vllm(completed=True)), "x.json: “completed” is True, expected a number from 0 up"),
        (packed(results.vllm(mean_ttft_ms="1")), "x.json: “mean_ttft_ms” is '1', expected a number from 0 up"),
        (packed(results.vllm(date="yesterday")), "x.json: “date” is 'yesterday', expected a time like 20261130-024725"),
        (packed(results.vllm(date=7)), "x.json: “date” is 7, expected a text"),
        (packed({**BENCHY, "benchmarks": [{}]}), "x.json, “benchmarks” 1: “prompt_size” is missing"),
        (packed({**BENCHY, "benchmarks": {}}), "x.json: “benchmarks” is {}, expected a list of objects"),
        (packed({**BENCHY, "timestamp": "soonZ"}), "x.json: “timestamp” is 'soonZ', expected a time like 2026-02-07"),
        (f"{HEAD}\nm,pp1,1,1\n".encode(), "x.json, line 2: it has not as many fields as the heading"),
        (
            f"{HEAD}\nm,pp1,fast,1,1,1,,,,\n".encode(),
            "x.json, line 2: “t_s_mean” is 'fast', expected a number from 0 up",
        ),
        (f"{HEAD}\nm,xx1,1,1,1,1,,,,\n".encode(), "x.json, line 2: “test_name” is 'xx1', expected pp… or tg…"),
        (f"{HEAD}\n".encode(), "x.json: it has a heading and no results"),
        (f"{HEAD}\nm,pp1,1,1,1,1,,,,\nn,pp1,1,1,1,1,,,,\n".encode(), "x.json: it tells of several models"),
        (
            packed({**results.GUIDELLM, "benchmarks": [{"scheduler_metrics": {}}]}),
            "“benchmarks” 1: “metrics” is missing",
        ),
        (b"\x1f\x8b\x08", "x.json: it is packed; a run of another Tachograph is imported with “runs import”"),
        (b"[" * 100_000, "x.json: not JSON that can be read"),
    ],
)
def test_a_broken_file_gets_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(ValueError) as error:
        reading.read(data, "folder/x.json")
    assert str(error.value).startswith(sentence) or sentence in str(error.value)


def test_what_is_no_number_is_not_known() -> None:
    """Python writes NaN where nothing was completed."""
    data = packed(results.vllm()).replace(b"4100.0", b"NaN")
    assert "ttft_mean" not in values(reading.read(data, "x.json")[0])


def test_a_file_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 10)
    with pytest.raises(ValueError, match="x: larger than"):
        reading.read(b"12345678901", "x")


def test_too_many_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_RESULTS", 2)
    with pytest.raises(ValueError, match="more than 2 results"):
        reading.read(packed(*[results.vllm()] * 3), "x")


def test_there_and_back() -> None:
    (found,) = reading.read(results.recorded("vllm-bench-serve.json"), "bench.json")
    overlay = Overlay(5, 9, "named by hand", tuple(found.entries[:2]))
    whole = Benchmark.from_json(json.loads(json.dumps({**found.to_json(), "overlay": overlay.to_json()})))
    assert whole.overlay == overlay
    assert (whole.key, whole.entries, whole.protocol) == (found.key, found.entries, found.protocol)


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"entries": 3}, "“entries” is no list"),
        ({"entries": [{"key": "a"}]}, "a number has no key, label, value and unit"),
        ({"entries": [{"key": "a", "label": "a", "value": "1", "unit": "seconds"}]}, "“a” is no number"),
        ({"entries": [{"key": "a", "label": "a", "value": 1, "unit": "miles"}]}, "the unit “miles” is not known here"),
        ({"entries": [{"key": "a", "label": 3, "value": 1, "unit": ""}]}, "“label” is no text"),
        ({"entries": [{"key": "a", "label": "", "value": 1, "unit": "seconds", "relation": "?"}]}, "no relation"),
        ({"tool": 5}, "“tool” is no text"),
        ({"tool": "x" * 3000}, "“tool” is no text of at most"),
        ({"start": -1}, "“start” is no instant"),
        ({"start": True}, "“start” is no instant"),
        ({"end": 2**53}, "“end” is no instant"),
        ({"seconds": "x"}, "“seconds” is no number"),
        ({"protocol": [1]}, "“protocol” is expected"),
        ({"overlay": {"start": 9, "end": 5}}, "a benchmark's stretch has no start and end"),
    ],
)
def test_nothing_of_a_record_is_believed(changed: dict[str, Any], sentence: str) -> None:
    (found,) = reading.read(packed(results.vllm()), "x.json")
    with pytest.raises(ValueError, match=sentence):
        Benchmark.from_json({**found.to_json(), **changed})
    with pytest.raises(ValueError, match="expected to be an object"):
        Benchmark.from_json([])


def test_needed_keys_are_those_of_the_recording() -> None:
    data = json.loads(results.recorded("vllm-bench-serve.json"))
    assert vllm.fits(data)
    assert all(
        not vllm.fits({**data, name: 0} if name not in data else {k: v for k, v in data.items() if k != name})
        for name in vllm.NEEDED
    )
    assert Path(results.DATA).is_dir()
