"""The text reader line by line: what may skip the parser, what is refused, what is the same page."""

from __future__ import annotations

import math

import numpy as np
import pytest

from collectors.scrape.text import PageReader
from tests.scrape.invented import engines, page_of
from tests.scrape.recordings import pages, per_engine, total

RUNNING = 'vllm:num_requests_running{engine="0",model_name="m"}'


def value(text: str) -> float | None:
    """What a page of one line says of the running requests, the same when read again."""
    reader = PageReader("e")
    body = f"{text}\n".encode()
    found = [total(reader.read(body), "requests_running") for _ in range(2)]
    reader.read(b"# shorter\n")
    found.append(total(reader.read(body), "requests_running"))
    assert len({repr(one) for one in found}) == 1, "the cache says something else than the parser"
    return found[0]


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (" 3", 3.0),
        (" 3.0", 3.0),
        (" +3", 3.0),
        (" -3", -3.0),
        (" 3e2", 300.0),
        (" 9.75e-06", 9.75e-06),
        ("  3", 3.0),
        ("\t3", 3.0),
        (" 3\t", 3.0),
        (" 3 ", 3.0),
        (" 3\r", 3.0),
        (" 3 1700000000000", 3.0),
        (" 3\t1700000000000", 3.0),
        (' 3 # {trace="x"} 7', 3.0),
        (' 3 # {trace="x"} 7 1700000000.5', 3.0),
    ],
)
def test_number(rest: str, expected: float) -> None:
    assert value(RUNNING + rest) == expected


@pytest.mark.parametrize(
    "rest", ["NaN", "nan", "-nan", "+Inf", "-Inf", "inf", "1e999", "-1e999", "9" * 400, "9" * 5000]
)
def test_no_number_is_unknown(rest: str) -> None:
    assert math.isnan(value(f"{RUNNING} {rest}") or 0.0)


@pytest.mark.parametrize(
    "line",
    [
        RUNNING,
        RUNNING + " ",
        RUNNING + " 1_000",
        RUNNING + " 0x10",
        RUNNING + " three",
        RUNNING + " 1-2",
        RUNNING + " --3",
        RUNNING + " 3e",
        'vllm:num_requests_running{engine="0 3',
        'vllm:num_requests_running{engine="0"',
        "vllm:num_requests_running{engine=0} 3",
        'vllm:num_requests_running{engine="0",engine="1"} 3',
        "vllm:num_requests_running{,,} 3",
    ],
)
def test_line_that_cannot_be_read_says_nothing_and_is_counted(line: str) -> None:
    reader = PageReader("e")
    page = reader.read(f'{line}\nvllm:num_requests_waiting{{engine="0"}} 1\n'.encode())
    assert total(page, "requests_running") is None
    assert total(page, "requests_waiting") == 1
    assert page.bad_lines == 1


def test_label_values_are_read_by_the_parser() -> None:
    body = rb'vllm:num_requests_running{model_name="a}b\"c \\ {x=\"y\"} 7, d\n",engine="0"} 3' + b"\n"
    reader = PageReader("e")
    for _ in range(3):
        page = reader.read(body)
        assert page.layout.series[0].label("model") == 'a}b"c \\ {x="y"} 7, d\n'
        assert page.raw.tolist() == [3.0]


def test_known_series_with_another_rest_goes_to_the_parser() -> None:
    reader = PageReader("e")
    bodies = [
        f"{RUNNING} 3\n",
        f"{RUNNING} 4 99\n",
        f"{RUNNING} NaN\n",
        f"{RUNNING} 5\n",
        f"{RUNNING} x\n",
        f"{RUNNING} 6\n",
    ]
    found = [total(reader.read(body.encode()), "requests_running") for body in bodies]
    assert found[:2] == [3.0, 4.0]
    assert math.isnan(found[2] or 0.0)
    assert found[3:] == [5.0, None, 6.0]


def test_timestamp_never_becomes_the_value() -> None:
    reader = PageReader("e")
    for stamp in (17, 18, 19):
        assert total(reader.read(f"{RUNNING} 3 {stamp}\n".encode()), "requests_running") == 3.0


def test_value_with_a_space_behind_is_not_taken_for_series_text() -> None:
    reader = PageReader("e")
    assert total(reader.read(f"{RUNNING} 3 \n".encode()), "requests_running") == 3.0
    assert total(reader.read(f"{RUNNING} 3 1700000000000\n".encode()), "requests_running") == 3.0


def test_bad_utf8_costs_only_its_line() -> None:
    page = PageReader("e").read(b'vllm:num_requests_running{model_name="\xff"} 3\nvllm:num_requests_waiting 1\n')
    assert total(page, "requests_running") is None
    assert total(page, "requests_waiting") == 1
    assert page.bad_lines == 1


def test_equal_lines_count_once() -> None:
    reader = PageReader("e")
    for number in (2, 5, 5):
        page = reader.read(f"{RUNNING} {number}\n{RUNNING} {number}\n".encode())
        assert (page.raw.tolist(), page.contradicted, page.twice.tolist()) == ([number], (), [False])
    other_order = 'vllm:num_requests_running{model_name="m",engine="0"}'
    assert reader.read(f"{RUNNING} 4\n{other_order} 4.0\n".encode()).raw.tolist() == [4.0], "labels have no order"
    assert reader.read(f"{RUNNING} 4 1000\n{RUNNING} 4 2000\n".encode()).raw.tolist() == [4.0]
    page = reader.read(f"{RUNNING} 0\n{RUNNING} -0\n".encode())
    assert (page.raw.tolist(), page.contradicted) == ([0.0], ())


@pytest.mark.parametrize(
    "second",
    [
        f"{RUNNING} 2",
        f"{RUNNING} NaN",
        f"{RUNNING} 2 1700000000",
        'vllm:num_requests_running{model_name="m",engine="0"} 2',
    ],
)
def test_lines_that_contradict_each_other_have_no_number(second: str) -> None:
    reader, waiting = PageReader("e"), 'vllm:num_requests_waiting{engine="0",model_name="m"}'
    for first in (1, 1, 3, 1):
        page = reader.read(f"{waiting} 7\n{RUNNING} {first}\n{second}\n".encode())
        assert page.raw.tolist() == [7.0, pytest.approx(float("nan"), nan_ok=True)]
        assert (page.contradicted, page.twice.tolist()) == ((1,), [False, True])
    page = reader.read(f"{waiting} 7\n{RUNNING} 9\n".encode())
    assert (page.raw.tolist(), page.contradicted) == ([7.0, 9.0], ()), "the next page is without fault"


def test_three_lines_of_which_one_contradicts_have_no_number() -> None:
    page = PageReader("e").read(f"{RUNNING} 2\n{RUNNING} 5\n{RUNNING} 2\n".encode())
    assert (np.isnan(page.raw).tolist(), page.contradicted) == ([True], (0,))


def test_a_start_time_that_is_contradicted_is_not_known() -> None:
    start = "process_start_time_seconds"
    assert PageReader("e").read(f"{RUNNING} 2\n{start} 5\n{start} 5\n".encode()).started_s == 5.0
    assert PageReader("e").read(f"{RUNNING} 2\n{start} 5\n{start} 9\n".encode()).started_s is None


def test_page_without_a_last_line_end_is_read() -> None:
    assert total(PageReader("e").read(f"{RUNNING} 3".encode()), "requests_running") == 3


@pytest.mark.parametrize("body", [b"", b"\n\n", b"\x00\xff\xfe", b"<html><body>no</body></html>", b"# only a comment"])
def test_page_of_nothing(body: bytes) -> None:
    reader = PageReader("e")
    for _ in range(2):
        page = reader.read(body)
        assert (page.layout.series, page.layout.engine, page.raw.tolist()) == ((), "unknown", [])
        assert page.started_s is None


def test_comments_and_blank_lines_mean_nothing() -> None:
    body = f"# HELP {RUNNING} 9\n\n  # {RUNNING} 8\n#\n   \n  {RUNNING} 3\n# EOF\n"
    page = PageReader("e").read(body.encode())
    assert (page.raw.tolist(), page.bad_lines) == ([3.0], 0)


# The same page, another page ------------------------------------------------------------------------------------


def test_layout_stays_the_same_object_while_the_lines_do() -> None:
    reader = PageReader("e")
    busy, after = pages()["vllm-0.32/plain-1.prom"], pages()["vllm-0.32/plain-2.prom"]
    first = reader.read(busy)
    again, changed = reader.read(busy), reader.read(after)
    assert first.layout is again.layout is changed.layout
    assert total(first, "generation_tokens_total") != total(changed, "generation_tokens_total")
    fresh = PageReader("e").read(after)
    np.testing.assert_array_equal(changed.raw, fresh.raw)
    assert changed.layout.lines == fresh.layout.lines


def test_changed_numbers_are_taken_over_line_by_line() -> None:
    reader = PageReader("e")
    layout = page_of(reader, 1, 2, 3).layout
    for numbers in ([1, 5, 3], [1, 5, 3], [7, 8, 9], [7, 8, 0], [1e3, -2, 0.5]):
        page = page_of(reader, *numbers)
        assert page.raw.tolist() == numbers
        assert page.layout is layout


def test_a_page_with_other_numbers_is_not_walked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    body = pages()["vllm-0.32/plain-1.prom"]
    reader = PageReader("e")
    first = reader.read(body)
    monkeypatch.setattr(PageReader, "_walk", lambda *_: pytest.fail("walked"))
    key = b'vllm:generation_tokens_total{engine="0",model_name="tiny-llama"} '
    after = reader.read(body.replace(key, key + b"1"))
    assert after.layout is first.layout
    assert total(after, "generation_tokens_total") == float(f"1{total(first, 'generation_tokens_total'):.0f}")


def test_bucket_without_an_edge_is_a_bad_line() -> None:
    for edge in ('le="x",', "", 'le="NaN",'):
        body = f'vllm:time_to_first_token_seconds_bucket{{{edge}engine="0"}} 3\nvllm:num_requests_waiting 1\n'
        page = PageReader("e").read(body.encode())
        assert (page.bad_lines, page.raw.tolist()) == (1, [1.0])


def test_order_of_lines_makes_no_new_layout() -> None:
    body = pages()["vllm-history/vllm_rust_main-2026-08-17_single__t030.prom"]
    reader = PageReader("e")
    first = reader.read(body)
    turned = reader.read(b"\n".join(reversed(body.split(b"\n"))))
    assert turned.layout is first.layout
    np.testing.assert_array_equal(turned.raw, first.raw)


def test_new_and_gone_lines_make_a_new_layout() -> None:
    reader = PageReader("e")
    one, two = (
        f"{RUNNING} 3\n".encode(),
        f'{RUNNING} 3\nvllm:num_requests_running{{engine="1",model_name="m"}} 4\n'.encode(),
    )
    first, second, third = reader.read(one), reader.read(two), reader.read(one)
    assert first.layout is not second.layout
    assert second.layout is not third.layout
    assert per_engine(second, "requests_running") == {"0": 3.0, "1": 4.0}
    assert per_engine(third, "requests_running") == {"0": 3.0}
    assert third.layout.lines == first.layout.lines


def test_dropped_family_is_counted_even_when_it_comes_later() -> None:
    reader = PageReader("e")
    assert reader.read(f"{RUNNING} 3\n".encode()).layout.dropped_families == 0
    http = 'http_requests_total{status="2xx"} 1\nhttp_requests_created{status="2xx"} 1\n'
    body = f'{RUNNING} 3\n{http}foo_bucket{{le="1"}} 1\n'
    assert reader.read(body.encode()).layout.dropped_families == 2
    assert reader.read(body.replace("} 1", "} 2").encode()).layout.dropped_families == 2
    assert reader.read(f"{RUNNING} 3\n".encode()).layout.dropped_families == 0


def test_a_dropped_line_never_reaches_a_value() -> None:
    reader = PageReader("e")
    for number in (7, 8, "NaN", 9):
        page = reader.read(f"foo 99\nbar{{}} {number}\n{RUNNING} 3\nfoo {number}\n".encode())
        assert page.raw.tolist() == [3.0]
        assert page.bad_lines == 0


def test_two_readers_do_not_share_what_they_know() -> None:
    body = pages()["vllm-0.32/plain-1.prom"]
    left, right = PageReader("left").read(body), PageReader("right").read(body)
    assert {series.target for series in left.layout.series} == {"left"}
    assert {series.target for series in right.layout.series} == {"right"}


# Bounds ---------------------------------------------------------------------------------------------------------


def test_cap_refuses_new_series_and_old_ones_go_on() -> None:
    reader = PageReader("e", cap_series=4)
    assert reader.read(engines(10, 3)).layout.refused_series == 0
    page = reader.read(engines(0, 13))
    assert page.layout.refused_series == 9
    assert set(per_engine(page, "requests_running")) == {"10", "11", "12", "0"}
    assert per_engine(page, "requests_running")["11"] == 11.0
    assert reader.read(engines(10, 3)).layout.refused_series == 0


def test_cap_is_on_stored_series_after_folding() -> None:
    reader = PageReader("e", cap_series=1)
    body = "".join(f'vllm:num_requests_waiting_by_reason{{engine="0",reason="{reason}"}} 2\n' for reason in ("a", "b"))
    page = reader.read(body.encode())
    assert (len(page.layout.series), len(page.layout.lines), page.layout.refused_series) == (1, 2, 0)
    assert total(page, "requests_waiting") == 4
