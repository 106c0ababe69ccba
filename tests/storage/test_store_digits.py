"""Numbers out of text, many at once: the same 64 bits as a parser's."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from storage import codec
from storage.digits import even, parsed


def bits(values: Sequence[float]) -> list[str]:
    """Each number's 64 bits; NaN is one whatever its bits."""
    return ["nan" if math.isnan(value) else struct.pack("<d", value).hex() for value in values]


def read(texts: Sequence[str]) -> list[float]:
    """Texts that stand one after the other, with commas between."""
    letters = ",".join(texts).encode()
    end = np.cumsum([len(text) + 1 for text in texts]) - 1
    begin = end - np.array([len(text) for text in texts])
    return parsed(np.frombuffer(letters, dtype=np.uint8), begin, end).tolist()


PLAIN = st.from_regex(r"-?(0|[1-9][0-9]{0,16})(\.[0-9]{1,16})?", fullmatch=True)
ANY = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@given(st.lists(PLAIN | ANY, min_size=1, max_size=30))
@example(["0.1", "-0.0", "0", "-0", "999999999999999", "9999999999999999", "0.30000000000000004", "1e300", "5e-324"])
@example(["123456789.12345", "0.00000000000001", "-1.5", "1.5e3", "-9.9", "7", "1E5", "2e5"])
def test_every_number_is_what_a_parser_reads(texts: list[str]) -> None:
    assert bits(read(texts)) == bits([float(text) for text in texts])


@pytest.mark.parametrize(
    "text", ["1,2,3", "17,20,99", "1796000400000,1796000401000", "123456789012345,999999999999999", "0,0"]
)
def test_numbers_of_one_length(text: str) -> None:
    found = even(text.encode())
    assert found is not None
    assert found.tolist() == [int(one) for one in text.split(",")]
    assert codec.unpack_joined(text.encode()).tolist() == found.tolist()


@pytest.mark.parametrize(
    "text", ["", "7", ",", "1,22", "10,2", "1,-2,33", "1.5,2.5", "-1,-2", "10,2,3", "1234567890123456,1"]
)
def test_numbers_that_are_not(text: str) -> None:
    assert even(text.encode()) is None


def test_null_infinity_and_brackets() -> None:
    texts = ["[null", "1]", "[[2.5", '"Infinity"', '"-Infinity"]', "[-3]", "null]", "[null]", "[12345678901234567890]"]
    expected = [math.nan, 1.0, 2.5, math.inf, -math.inf, -3.0, math.nan, math.nan, 12345678901234567890.0]
    assert bits(read(texts)) == bits(expected)


@pytest.mark.parametrize("text", ["1.2.3", "1-2", "--5", "x", "12a4", "1 2", "-", "..", "nonsense-of-a-length-beyond"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        read(["7", text, "8"])


@pytest.mark.parametrize("piece", [1, 2, 7, 64, 1 << 17])
def test_commas_are_found_piece_by_piece(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "PIECE", piece)
    monkeypatch.setattr(codec, "FEW", 0)
    values = [float(place) if place % 5 else math.nan for place in range(100)]
    text = ",".join(codec.pack(values[low : low + 10]) for low in range(0, 100, 10)).encode()
    for index in ([0], [99], list(range(100)), [3, 50, 51, 98], [98, 3, 3, 50]):
        assert bits(codec.pick(text, 100, np.array(index)).tolist()) == bits([values[place] for place in index])
    for total in (99, 101):
        with pytest.raises(ValueError, match=f"100 numbers where the layouts say {total}"):
            codec.pick(text, total, np.array([5]))
