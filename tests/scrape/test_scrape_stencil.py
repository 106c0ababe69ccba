"""Reading a page through the one before: what is taken over, what is not, and that it says what reading anew does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.scrape.plain import plain_numbers
from collectors.scrape.stencil import Hole, LastPage, Stencil
from collectors.scrape.text import PageReader

RUNNING = b'vllm:num_requests_running{engine="0"} '
WAITING = b'vllm:num_requests_waiting{engine="0"} '
TOKENS = b'vllm:generation_tokens_total{engine="0"} '
PROMPT = b'vllm:prompt_tokens_total{engine="0"} '


def page(*numbers: object) -> bytes:
    texts = (str(number).encode() for number in numbers)
    heads = (RUNNING, WAITING, TOKENS, PROMPT)
    return b"# HELP a page\n" + b"".join(head + text + b"\n" for head, text in zip(heads, texts, strict=True))


def test_numbers_come_out_of_the_holes_alone() -> None:
    lines = page(1, 2, 3, 4).split(b"\n")
    stencil = Stencil(lines, [Hole(1, len(RUNNING)), Hole(3, len(TOKENS))])
    assert stencil.read(page(1, 2, 3, 4)) == [1.0, 3.0]
    assert stencil.read(page("1e3", 2, -0.25, 4)) == [1000.0, -0.25]
    others = [page(1, 3, 3, 4), page(1, 2, 3, 5), page(1, 2, 3, 4)[:-1], page(1, 2, 3, 4) + b"\n", b""]
    others += [page(number, 2, 3, 4) for number in ("NaN", "", "1 2", "1 ", "1_0", "1-", "0x1", "3\n" + "4")]
    assert [stencil.read(other) for other in others] == [None] * len(others)


def test_a_hole_reaches_to_the_end_of_a_page_without_a_line_end() -> None:
    stencil = Stencil([b"a 1", b"b 2"], [Hole(0, 2), Hole(1, 2)])
    assert (stencil.read(b"a 10\nb 20"), stencil.read(b"a 10\nb 20\n"), stencil.read(b"a 10")) == ([10, 20], None, None)
    assert Stencil([b"a", b""], []).read(b"a\n") == []
    assert Stencil([b"a", b""], []).read(b"b\n") is None


def test_numbers_are_plain_ones_only() -> None:
    assert plain_numbers([b"1", b"2.5e3", b"-.5"]) == [1.0, 2500.0, -0.5]
    assert [plain_numbers([b"1", bad]) for bad in (b"", b"NaN", b"1_0", b" 1", b"inf", b"1-", b"1e")] == [None] * 7


def last(body: bytes, keys: list[bytes | None]) -> LastPage:
    known = LastPage()
    known.become(body, keys, list(range(len(keys))))
    return known


def test_the_page_before_is_the_one_that_was_read_through_the_stencil() -> None:
    known, numbers = last(b"a 1\nb 2", [b"a", b"b"]), np.array([1.0, 2.0])
    for body in (b"a 5\nb 2", b"a 6\nb 2"):
        assert known.patch(body, numbers)
    assert known.patch(b"a 5\nb 7", numbers)  # b never changed before, so that lines are compared
    assert numbers.tolist() == [5.0, 7.0]


def test_lines_that_changed_on_a_longer_page_are_no_holes_of_a_shorter_one() -> None:
    known, numbers = last(b"a 1\nb 2\nc 3", [b"a", b"b", b"c"]), np.array([1.0, 2.0, 3.0])
    assert known.patch(b"a 1\nb 2\nc 4", numbers)
    known.become(b"a 1\nb 2", [b"a", b"b"], [0, 1])
    assert known.patch(b"a 7\nb 2", numbers)
    assert numbers.tolist() == [7.0, 2.0, 4.0]


def test_what_changed_once_is_read_in_its_hole_from_then_on() -> None:
    known, numbers = last(b"a 1\nb 2\nc 3", [b"a", b"b", b"c"]), np.array([1.0, 2.0, 3.0])
    bodies = [
        b"a 5\nb 2\nc 3",
        b"a 6\nb 2\nc 3",
        b"a 6\nb 7\nc 3",
        b"a 8\nb 9\nc 3",
        b"a 8\nb 9\nc 3",
        b"a 8\nb 9\nc 4",
    ]
    told = [(known.patch(body, numbers), *numbers.tolist()) for body in bodies]
    assert told == [
        (True, 5, 2, 3),
        (True, 6, 2, 3),
        (True, 6, 7, 3),
        (True, 8, 9, 3),
        (True, 8, 9, 3),
        (True, 8, 9, 4),
    ]


@pytest.mark.parametrize("body", [b"a 5\nb x\nc 3", b"a 5\n7\nc 3", b"a 5\nb 2", b"a 5\nd 2\nc 3", b"a 5\nb 2\nc 3\n"])
def test_what_is_no_other_number_changes_nothing(body: bytes) -> None:
    known, numbers = last(b"a 1\nb 2\nc 3", [b"a", b"b", b"c"]), np.array([1.0, 2.0, 3.0])
    assert not known.patch(body, numbers)
    assert known.patch(b"a 4\nb 2\nc 3", numbers)
    assert not known.patch(body, numbers)
    assert numbers.tolist() == [4.0, 2.0, 3.0]
    known.forget()
    assert not known.patch(b"a 4\nb 2\nc 3", numbers)


def test_a_stamped_line_is_compared_each_time_and_a_key_that_tells_nothing_is_never_taken() -> None:
    known, numbers = last(b"a 1 17\n2 3\nc 3", [b"a", None, b"c"]), np.array([1.0, 0.0, 3.0])
    assert known.patch(b"a 5 18\n2 3\nc 4", numbers)
    assert known.patch(b"a 6 19\n2 3\nc 5", numbers)
    assert numbers.tolist() == [6.0, 0.0, 5.0]
    assert not known.patch(b"a 6 19\n2 4\nc 5", numbers)


def test_a_page_that_is_handed_out_stays_as_it_was() -> None:
    reader = PageReader("e")
    first = reader.read(page(1, 2, 3, 4))
    second, third = reader.again(page(5, 2, 3, 4)), reader.again(page(6, 2, 3, 4))
    assert second is not None
    assert third is not None
    assert [one.raw.tolist() for one in (first, second, third)] == [[1, 2, 3, 4], [5, 2, 3, 4], [6, 2, 3, 4]]
    assert first.layout is second.layout is third.layout


def test_a_number_beyond_a_float_is_unknown_through_a_hole_too() -> None:
    reader = PageReader("e")
    for number in (1, 2, "1e999", 3):
        known = reader.read(page(number, 2, 3, 4)).raw.tolist()
        assert known[1:] == [2, 3, 4]
        assert repr(known[0]) == ("nan" if number == "1e999" else repr(float(str(number))))


NUMBERS = st.sampled_from([b"0", b"1", b"2.5", b"1e3", b"NaN", b"", b"x", b"1 17", b"7\n7", b"-0", b"1e999", b"+Inf"])
LINES = st.sampled_from([RUNNING, WAITING, TOKENS, PROMPT, b"", b"# ", b"foo ", RUNNING.replace(b"} ", b',pid="1"} ')])
EDITS = st.lists(st.tuples(st.integers(0, 6), st.one_of(NUMBERS, LINES), st.booleans()), max_size=3)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(LINES, NUMBERS), min_size=1, max_size=7), st.lists(EDITS, min_size=1, max_size=8))
def test_one_reader_says_of_each_page_what_a_new_one_does(
    first: list[tuple[bytes, bytes]], turns: list[list[tuple[int, bytes, bool]]]
) -> None:
    """Edits: (line, text, whether the number is replaced, else the head)."""
    reader, lines = PageReader("e"), [list(line) for line in first]
    for edits in [[], *turns]:
        for place, text, of_number in edits:
            lines[place % len(lines)][1 if of_number else 0] = text
        body = b"\n".join(head + number for head, number in lines)
        known, anew = reader.read(body), PageReader("e").read(body)
        one, other = (dict(zip(each.layout.lines, each.raw.tolist(), strict=True)) for each in (known, anew))
        assert {line: repr(number + 0.0) for line, number in one.items()} == {
            line: repr(number + 0.0) for line, number in other.items()
        }
