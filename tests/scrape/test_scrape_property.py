"""The text reader against prometheus_client's parser on generated pages."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from collectors.scrape.lines import understand
from collectors.scrape.text import PageReader

NAMES = st.sampled_from(
    [
        "vllm:num_requests_running",
        "vllm:generation_tokens_total",
        "vllm:kv_cache_usage_perc",
        "vllm:request_success_total",
        "vllm:spec_decode_num_accepted_tokens_per_pos_total",
        "sglang_gen_throughput",
        "vllm:num_requests_running_not_known",
        "python_info",
    ]
)
LABELS = st.sampled_from(["engine", "model_name", "finished_reason", "position", "extra", "pid"])
TEXTS = st.text(st.sampled_from(list('ab 1{}",=\\\n#é\t')), max_size=8)
NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats(width=64).map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map("{:e}".format),
    st.sampled_from(["NaN", "+Inf", "-Inf", "-nan", "1e400", "1_0", "x", "", "0x1", "1.", ".5", "+1", "1e+2", "１"]),
)
ENDS = st.sampled_from(["", "", "", " ", " 1700000000000", "\t5", ' # {trace="a"} 3', " 17 18", "\r"])


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


@st.composite
def lines(draw: st.DrawFn) -> str:
    labels = draw(st.lists(st.tuples(LABELS, TEXTS), max_size=3, unique_by=lambda pair: pair[0]))
    inside = ",".join(f'{name}="{escaped(text)}"' for name, text in labels)
    braces = draw(st.sampled_from(["{%s}", "{%s,}", " {%s}"])) % inside if labels else draw(st.sampled_from(["", "{}"]))
    return f"{draw(NAMES)}{braces}{draw(st.sampled_from([' ', '  ', chr(9)]))}{draw(NUMBERS)}{draw(ENDS)}"


def parsed(body: str) -> dict[str, float]:
    """identity of a line → what the parser makes of it; NaN where equal lines say different things."""
    found: dict[str, list[float]] = {}
    for text in body.split("\n"):
        try:
            samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        except (ValueError, IndexError):
            continue
        for sample in samples:
            line = understand(sample.name, sample.labels)
            if line is not None and line.meanings:
                found.setdefault(line.identity, []).append(number(sample.value))
    return {
        key: several[0] if all(one == several[0] for one in several) or len(several) == 1 else math.nan
        for key, several in found.items()
    }


def number(value: float) -> float:
    try:
        return float(value) if math.isfinite(value) else math.nan
    except OverflowError:
        return math.nan


def read(reader: PageReader, body: str) -> dict[str, float]:
    page = reader.read(body.encode())
    values = zip(page.layout.lines, page.raw.tolist(), strict=True)
    return {line.partition(" ")[2]: value for line, value in values}


def same(left: dict[str, float], right: dict[str, float]) -> bool:
    return {key: repr(value) for key, value in left.items()} == {key: repr(value) for key, value in right.items()}


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(lines(), max_size=6), min_size=1, max_size=4))
def test_successive_pages_equal_the_parser(pages: list[list[str]]) -> None:
    reader = PageReader("e")
    for page in pages:
        body = "\n".join([*page, ""])
        assert same(read(reader, body), parsed(body))
        assert same(read(reader, body), parsed(body)), "read again through the cache"


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.lists(lines(), min_size=1, max_size=6), st.lists(NUMBERS, min_size=6, max_size=6), ENDS)
def test_same_series_with_other_numbers_equal_the_parser(page: list[str], numbers: list[str], end: str) -> None:
    reader = PageReader("e")
    read(reader, "\n".join(page))
    for turn in range(2):
        changed = [f"{line.rpartition(' ')[0]} {numbers[(i + turn) % 6]}{end}" for i, line in enumerate(page)]
        body = "\n".join(changed)
        assert same(read(reader, body), parsed(body))


@settings(max_examples=80, deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=200), st.binary(max_size=60))
def test_no_bytes_make_it_raise(body: bytes, tail: bytes) -> None:
    reader = PageReader("e", cap_series=3)
    known = b'vllm:num_requests_running{engine="0"} 3\n'
    for page in (body, known + tail, known + body, b"vllm:" + body, b"vllm:num_requests_running" + body, known):
        reader.read(page)
    assert reader.read(known).raw.tolist() == [3.0]


PIECES = [
    "# TYPE vllm:x gauge",
    "process_start_time_seconds 7",
    'vllm:num_requests_running{engine="0" 3',
    "vllm:num_requests_running 3",
    "vllm:num_requests_running",
    "http_request_duration_highr_seconds_count 1",
    "foo",
    "foo 1",
    " 5",
    "5",
]


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=5), min_size=2, max_size=4))
def test_what_a_page_is_does_not_depend_on_those_before(pages: list[list[str]]) -> None:
    reader = PageReader("e")
    for lines_ in pages:
        body = "\n".join([*lines_, ""]).encode()
        said, alone = reader.read(body), PageReader("e").read(body)
        assert said.layout.facts == alone.layout.facts
        told = [(one.layout.engine, one.layout.dropped_families, one.bad_lines, one.started_s) for one in (said, alone)]
        assert told[0] == told[1]
