"""Numbers as text and back."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.codec import labels_of, labels_text, pack, pick, text_of, unpack, unpack_joined, value_of

WHOLE = [2.0**52 + 1, 2.0**53, 9999999999999998.0, 1e15, -1e15, 0.0, 1.0]
EXACT = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    1e300,
    5e-324,
    2.0**53,
    2.0**63,
    1e22,
    123456789012345.67,
    math.inf,
    -math.inf,
    math.nan,
]


def bits(values: object) -> list[bytes]:
    """The bit patterns of floats, every NaN alike."""
    return [b"nan" if math.isnan(v) else struct.pack("<d", v) for v in np.asarray(values).tolist()]


@pytest.mark.parametrize("given_as", [list, tuple, np.array])
def test_every_number_comes_back_with_the_same_bits(given_as: type) -> None:
    assert bits(unpack(pack(given_as(EXACT)))) == bits(EXACT)
    assert bits(unpack(pack(given_as(WHOLE)))) == bits(WHOLE)
    for value in EXACT + WHOLE:
        assert bits(unpack(pack(given_as([value])))) == bits([value])


def test_text_is_plain_json() -> None:
    assert pack([1.0, math.nan, 2.5, 3.0]) == "[1,null,2.5,3]"
    assert pack([-0.0, 1.0]) == "[-0.0,1.0]"
    assert pack([10.05, 0.0, 1e16, 2.0**53, -7.0]) == "[10.05,0,1e+16,9007199254740992,-7]"
    assert pack([math.inf, -math.inf, math.nan, -0.0]) == '["Infinity","-Infinity",null,-0.0]'
    assert pack([]) == "[]"
    assert len(unpack("[]")) == 0


def test_integers_and_slices_are_taken() -> None:
    assert pack([3, 2**53]) == "[3,9007199254740992]"
    assert pack(np.arange(6, dtype=np.float64)[::2]) == "[0,2,4]"


@given(st.lists(st.floats() | st.integers(-(2**53), 2**53).map(float)))
def test_any_number_comes_back(values: list[float]) -> None:
    assert bits(unpack(pack(values))) == bits(values)


@given(st.lists(st.lists(st.floats(), min_size=1, max_size=40), min_size=1, max_size=8), st.data())
def test_picking_equals_reading_everything(rows: list[list[float]], data: st.DataObject) -> None:
    everything = [value for row in rows for value in row]
    text = ",".join(pack(row) for row in rows).encode()
    some = st.lists(st.integers(0, len(everything) - 1), max_size=max(1, len(everything) // 6))
    index = np.array(data.draw(some), dtype=np.int64)
    assert bits(pick(text, len(everything), index)) == bits([everything[place] for place in index])


@pytest.mark.parametrize("values", [[7.0] * 12, [math.nan] * 12, [math.inf, -math.inf] * 6, [1e-300] * 11 + [2.0]])
def test_picking_the_first_and_the_last(values: list[float]) -> None:
    text = f"{pack(values[:5])},{pack(values[5:])}".encode()
    for place in range(12):
        assert bits(pick(text, 12, np.array([place]))) == bits([values[place]])
    assert bits(pick(text, 12, np.arange(12))) == bits(values)
    assert len(pick(text, 12, np.zeros(0, np.int64))) == 0


def test_joined_numbers() -> None:
    assert unpack_joined(b"1,2.5,3").tolist() == [1.0, 2.5, 3.0]
    assert unpack_joined(None).tolist() == []


def test_labels_have_one_text() -> None:
    assert labels_text((("b", "2"), ("a", 'x"y'))) == '{"a":"x\\"y","b":"2"}'
    assert labels_of('{"b":"2","a":"1"}') == (("a", "1"), ("b", "2"))
    assert value_of(text_of({"z": [1, None], "a": "é"})) == {"z": [1, None], "a": "é"}
    assert text_of({"z": 1, "a": 2}) == '{"a":2,"z":1}'
