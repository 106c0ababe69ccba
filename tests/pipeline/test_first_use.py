"""When a counter that appears counts from 0: never a lifetime, always what a front end shows only after its use."""

from __future__ import annotations

import pytest

from collectors.scrape.text import PageReader
from pipeline.first_use import END, FIRST_TOKEN
from pipeline.ingest import Ingest
from tests.pipeline.source import Source

LIFETIME = 700_000
RUNNING = 'vllm:num_requests_running{engine="0",model_name="m"} 1\n'
START = "process_start_time_seconds 5\n"


def line(name: str, value: object, **labels: str) -> str:
    prefix = "" if ":" in name else "vllm:"
    inside = ",".join(f'{key}="{text}"' for key, text in {"engine": "0", "model_name": "m", **labels}.items())
    return f"{prefix}{name}{{{inside}}} {value}\n"


def counted(metric: str, *pages: str, seconds: float = 1.0) -> float:
    """What all series of a metric have counted after these pages."""
    reader, ingest = PageReader("head"), Ingest("head")
    for number, page in enumerate(pages):
        read = reader.read(page.encode())
        reading = ingest.take(read, round(1000 * seconds * number))
    places = [place for place, series in enumerate(read.layout.series) if series.metric == metric]
    return float(reading.values[places].sum())


TOKENS = "generation_tokens_total"


@pytest.mark.parametrize(
    "before",
    [
        RUNNING + line(TOKENS, "12x"),
        RUNNING + line("num_requests_waiting", "x"),
        RUNNING + START,
        RUNNING + line("prompt_tokens_total", 5),
        RUNNING + line("time_to_first_token_seconds_bucket", 1, le="0.5"),
        RUNNING + line("request_success_total", 1, finished_reason="stop"),
        RUNNING + line("e2e_request_latency_seconds_count", 1),
    ],
)
def test_a_page_that_lacks_a_counter_of_an_engine_at_work_is_no_zero(before: str) -> None:
    assert counted(TOKENS, before, RUNNING + line(TOKENS, LIFETIME)) == 0.0
    assert counted(TOKENS, before, RUNNING + line(TOKENS, LIFETIME), RUNNING + line(TOKENS, LIFETIME + 9)) == 9.0


@pytest.mark.parametrize(
    "before",
    [
        "# TYPE vllm:generation_tokens counter\n",
        RUNNING,
        RUNNING + line("prompt_tokens_total", 0),
        RUNNING + line("num_preemptions_total", 4),
        RUNNING + line("prompt_tokens_total", 5, engine="1"),
        RUNNING + line("prompt_tokens_total", 5, model_name="other"),
    ],
)
def test_an_engine_that_had_not_begun_counts_from_zero(before: str) -> None:
    assert counted(TOKENS, before, RUNNING + line(TOKENS, 40)) == 40.0


def test_what_ends_after_the_first_token_counts_from_zero() -> None:
    """The Rust front end: the histograms of finished requests appear long after those of first tokens."""
    begun = RUNNING + line(TOKENS, 900) + line("prompt_tokens_total", 50)
    name = "e2e_request_latency_seconds"
    assert counted("e2e_latency_seconds_count", begun, begun + line(f"{name}_count", 1)) == 1.0
    assert counted("e2e_latency_seconds_sum", begun, begun + line(f"{name}_sum", 8.5)) == 8.5
    finished = begun + line("request_success_total", 3, finished_reason="stop")
    assert counted("e2e_latency_seconds_count", finished, finished + line(f"{name}_count", 4)) == 0.0
    aborted = finished + line("request_success_total", 1, finished_reason="abort")
    assert counted("requests_finished_total", finished, aborted) == 1.0
    assert counted("preemptions_total", finished, finished + line("num_preemptions_total", 2)) == 2.0


@pytest.mark.parametrize(("value", "seconds", "expected"), [(1e6, 0.2, 1e6), (1_000_001, 1, 0), (5e6, 5, 5e6)])
def test_more_than_an_engine_can_do_since_the_page_before_is_a_lifetime(
    value: float, seconds: float, expected: float
) -> None:
    assert counted(TOKENS, RUNNING, RUNNING + line(TOKENS, value), seconds=seconds) == expected


def test_estimated_operations_are_many() -> None:
    assert counted("estimated_flops_total", RUNNING, RUNNING + line("estimated_flops_per_gpu_total", 3e15)) == 3e15


def test_llamacpp_shows_everything_from_its_start() -> None:
    before = "llamacpp:requests_processing 1\n"
    assert counted(TOKENS, before, before + "llamacpp:tokens_predicted_total 50\n") == 0.0


def test_sglang_shows_labelled_counters_after_their_first_use_though_it_tells_its_start() -> None:
    before = line("sglang:num_running_reqs", 1) + START
    assert counted(TOKENS, before, before + line("sglang:generation_tokens_total", 50)) == 50.0


def test_kernel_events_count_from_zero_unless_the_page_before_had_a_bad_line() -> None:
    before, xid = "tachograph_memory_total_bytes 5\n", 'tachograph_kernel_xid_total{gpu="0",xid="79"} '
    (metric,) = {series.metric for series in PageReader("n").read(f"{xid}1".encode()).layout.series}
    assert counted(metric, before, f"{before}{xid}3\n") == 3.0
    assert counted(metric, f"{before}{xid}x\n", f"{before}{xid}3\n") == 0.0


def test_a_line_that_joins_its_series_counts_from_zero_though_the_engine_is_at_work() -> None:
    source = Source()
    source.page({"1": 1000})
    assert source.tokens({"1": 1010, "2": 5}) == (15.0, ["lines changed"])


def renamed(value: int, **labels: str) -> str:
    """A page of the Rust front end: what a request moves, under these labels."""
    told = "".join(line(name, value, **labels) for name in (TOKENS, "prompt_tokens_total", "num_preemptions_total"))
    return told + line("time_to_first_token_seconds_bucket", value, le="0.5", **labels)


RENAMED = [{"model_name": "new"}, {"engine": "7"}, {"engine": "7", "model_name": "new"}, {"extra": "x"}]
MOVED = (TOKENS, "prompt_tokens_total", "preemptions_total", "time_to_first_token_seconds_bucket")


@pytest.mark.parametrize("labels", RENAMED)
@pytest.mark.parametrize("metric", MOVED)
def test_a_lifetime_under_another_name_is_no_first_use(metric: str, labels: dict[str, str]) -> None:
    old, new = RUNNING + renamed(5000), RUNNING + renamed(5040, **labels)
    assert counted(metric, old, old, new) == 0.0
    assert counted(metric, old, old, new, RUNNING + renamed(5100, **labels)) == 60.0


def test_another_name_that_comes_a_page_later_is_no_first_use_either() -> None:
    new = RUNNING + renamed(5040, model_name="new")
    assert counted(TOKENS, RUNNING + renamed(5000), RUNNING, new) == 0.0


def test_a_metric_that_only_the_new_name_has_is_a_lifetime_too() -> None:
    new = RUNNING + renamed(5040, model_name="new") + line("request_success_total", 800, model_name="new")
    assert counted("requests_finished_total", RUNNING + renamed(5000), new) == 0.0


def test_a_second_model_beside_the_first_counts_from_zero() -> None:
    old = RUNNING + renamed(5000)
    assert counted(TOKENS, old, old + renamed(30, model_name="new")) == 30.0


def test_a_name_that_had_not_counted_when_it_went_was_unused() -> None:
    assert counted(TOKENS, RUNNING + renamed(0), RUNNING + renamed(30, model_name="new")) == 30.0


def test_another_model_after_a_restart_counts_from_zero() -> None:
    emptied = "# TYPE vllm:generation_tokens counter\n"
    assert counted(TOKENS, RUNNING + renamed(5000), emptied, RUNNING + renamed(30, model_name="new")) == 30.0
    running, tokens = line("sglang:num_running_reqs", 1), "sglang:generation_tokens_total"
    before = running + line(tokens, 5000) + "process_start_time_seconds 5\n"
    after = running + line(tokens, 30, model_name="new") + "process_start_time_seconds 95\n"
    assert counted(TOKENS, before, after) == 30.0


def test_a_lifetime_of_another_model_after_a_restart_is_none_yet() -> None:
    running, tokens = line("sglang:num_running_reqs", 1), "sglang:generation_tokens_total"
    before = running + line(tokens, 5000) + "process_start_time_seconds 5\n"
    after = running + line(tokens, 7_000_000, model_name="new") + "process_start_time_seconds 95\n"
    assert str(counted(TOKENS, before, after)) == "nan"
    assert counted(TOKENS, before, after, after) == 0.0


def test_the_counters_that_move_together_are_stored_counters() -> None:
    assert {TOKENS, "time_to_first_token_seconds_bucket", "prompt_tokens_total"} <= FIRST_TOKEN
    assert {"requests_finished_total", "e2e_latency_seconds_sum", "request_prompt_tokens_count"} <= END
    assert not FIRST_TOKEN & END
