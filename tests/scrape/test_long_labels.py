"""An engine whose labels are too long, or whose lines cannot be read, is not silently unknown: it says why."""

from __future__ import annotations

from collectors.scrape.engines import STATISTICS
from collectors.scrape.text import MAX_LABEL_VALUE, PageReader


def body(model: str, value: int = 3) -> bytes:
    lines = (f'vllm:num_requests_{name}{{engine="0",model_name="{model}"}} {value}' for name in ("running", "waiting"))
    return ("\n".join(lines) + "\n").encode()


def test_labels_that_are_too_long_are_the_reason() -> None:
    reader = PageReader("head")
    for value in (3, 4):
        page = reader.read(body("m" * (MAX_LABEL_VALUE + 1), value))
        assert (page.layout.engine, page.layout.series, page.layout.refused_series) == ("vllm", (), 2)
        assert (page.bad_lines, page.raw.tolist()) == (0, [])
        assert "its labels are too long" in STATISTICS[page.layout.facts["statistics"]]


def test_the_longest_label_is_read_and_a_shorter_name_ends_the_reason() -> None:
    reader = PageReader("head")
    reader.read(body("m" * (MAX_LABEL_VALUE + 1)))
    page = reader.read(body("m" * MAX_LABEL_VALUE))
    assert (len(page.layout.series), page.layout.refused_series) == (2, 0)
    assert "statistics" not in page.layout.facts


def test_one_long_line_among_others_is_only_counted() -> None:
    page = PageReader("head").read(
        body("m") + b'vllm:num_requests_running{engine="1",model_name="' + b"m" * 2000 + b'"} 1'
    )
    assert (len(page.layout.series), page.layout.refused_series, page.bad_lines) == (2, 1, 0)
    assert "statistics" not in page.layout.facts


def test_lines_that_cannot_be_read_are_the_reason_and_no_fresh_start() -> None:
    declared = b"# TYPE vllm:num_requests_running gauge\n"
    page = PageReader("head").read(declared + body("m").replace(b'"m"', b'"m\xe9"'))
    assert (page.layout.engine, page.layout.series, page.bad_lines) == ("vllm", (), 2)
    assert "no line of its page can be read" in STATISTICS[page.layout.facts["statistics"]]
    fresh = PageReader("head").read(declared)
    assert "has served no request" in STATISTICS[fresh.layout.facts["statistics"]]
    both = PageReader("head").read(declared + body("m") + b"vllm:num_requests_waiting{ 3\n")
    assert (len(both.layout.series), both.bad_lines) == (2, 1)
    assert "statistics" not in both.layout.facts
