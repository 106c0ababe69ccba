"""Numbers as text, against Python's own shortest digits."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange import digits


def texts(columns: list[list[float]]) -> list[list[str]]:
    """[column][n] numbers as the texts that stand between commas."""
    planes = np.array(digits.cells(np.array(columns, dtype=np.float64)))
    rows = np.ascontiguousarray(planes.T)
    found = [row.tobytes().translate(None, b"\0").decode().split(",")[1:] for row in rows]
    return [list(column) for column in zip(*found, strict=True)]


def column(values: list[float]) -> list[str]:
    (found,) = texts([values])
    return found


def shortest(value: float) -> str:
    """What Python writes, without the ".0" of whole numbers."""
    return repr(value).removesuffix(".0")


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 1.0, 9.0, 10.0, 999.0, 9999.0],
        [10000.0, 10001.0, 100000.0, 99999999.0, 1.0, 0.0],
        [1e8, 100000001.0, 999999999999.0, 10000.0, 7.0],
        [1e12, 1000000000001.0, 999999999999999.0, 20000.0, 100000000.0],
        [0.5, 0.25, 0.125, 1.5, 0.0, 9999.999, 10.01, 100.1],
        [12345.678, 10000.001, 99999999.5, 0.001],
        [123456789.125, 1e8 + 0.5, 3.0],
        [0.1234567, 0.0001234, 1.0001, 1.0000001, 20.0, 0.5, 10000.0001],
        [0.9999999, 99999.0000001],
    ],
)
def test_decimals_of_few_digits(values: list[float]) -> None:
    assert column(values) == [shortest(value) for value in values]
    assert column([-value for value in values if value]) == [shortest(-value) for value in values if value]


def test_what_is_no_number_is_empty_and_minus_zero_stays() -> None:
    for kind in ([3.0], [0.25], [0.1 + 0.2], [1e300]):
        found = column([math.nan, math.inf, -math.inf, -math.nan, *kind, 0.0, -0.0])
        assert found[:4] == ["", "", "", ""]
        assert found[4:] == [shortest(kind[0]), "0", "-0"]


def test_a_column_that_is_nowhere_known() -> None:
    assert column([math.nan, math.nan]) == ["", ""]
    assert digits.cells(np.zeros((0, 3))) == []


@pytest.mark.parametrize(
    "value",
    [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 1e-7, 1e15, 1e16, 1e22, 123456789012345680.0, 2.0**53 + 2],
)
def test_any_other_number_comes_back_with_the_same_bits(value: float) -> None:
    (found, other) = column([value, -value])
    assert (bits(float(found)), bits(float(other))) == (bits(value), bits(-value))
    assert not found.endswith(".0")


def test_columns_of_different_forms_stand_in_their_order() -> None:
    found = texts([[1.0, 2.0], [0.5, 0.25], [1 / 3, 7.0], [1e9, 0.0], [3.0, 4.0]])
    assert found == [["1", "2"], ["0.5", "0.25"], [repr(1 / 3), "7"], ["1000000000", "0"], ["3", "4"]]


def test_one_long_number_late_in_a_column_changes_its_form() -> None:
    values = [0.5] * 100 + [1 / 3]
    assert column(values) == ["0.5"] * 100 + [repr(1 / 3)]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.floats(), min_size=1, max_size=30))
def test_every_float_reads_back(values: list[float]) -> None:
    for value, found in zip(values, column(values), strict=True):
        if math.isfinite(value):
            assert bits(float(found)) == bits(value)
        else:
            assert found == ""


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**12), 10**12), st.integers(0, 8)), min_size=1, max_size=30))
def test_every_decimal_has_its_shortest_digits(pairs: list[tuple[int, int]]) -> None:
    values = [whole / 10**decimals for whole, decimals in pairs]
    for value, found in zip(values, column(values), strict=True):
        assert bits(float(found)) == bits(value)
        if "e" not in repr(value):
            assert found == shortest(value)
