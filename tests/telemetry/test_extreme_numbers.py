"""Numbers that nothing measures still have a text: no finite float fails."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telemetry import formatting
from telemetry.model import Unit


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("value", [1e308, sys.float_info.max, 1e291, 1e290])
def test_what_is_too_much_says_so(unit: Unit, value: float) -> None:
    assert formatting.show(value, unit)[0].startswith(formatting.TOO_MUCH)
    assert formatting.show(-value, unit)[0].startswith(f"{formatting.MINUS}{formatting.TOO_MUCH}")


@given(value=st.floats(allow_nan=False, allow_infinity=False), unit=st.sampled_from(list(Unit)))
def test_any_number_has_a_short_text(value: float, unit: Unit) -> None:
    assert 0 < len(formatting.text(value, unit)) < 24
    assert formatting.decimal_bytes(abs(value))
    assert formatting.change(value, -value) is not None
    assert formatting.points(value, -value) is not None


def test_large_numbers_without_fractions() -> None:
    assert formatting.text(2.0**53, Unit.COUNT) == "9.0P"
    assert formatting.text(2.0**53 * 1024, Unit.BYTES) == "8.0 EiB"
    assert formatting.text(999_999_999e6, Unit.HERTZ) == "999999999 MHz"
    assert formatting.text(1e15, Unit.HERTZ) == ">999 MHz"
