"""Numbers as a machine writes them. What cannot be a measurement is None: no number at all, or one beyond 64 bits."""

from __future__ import annotations

import re

LARGEST = 2**64
"""No counter, size or time of a machine is larger."""
INTEGER = re.compile(r"\s*(-?[0-9]{1,20})\s*", re.ASCII)
DECIMAL = re.compile(r"\s*(-?[0-9]{1,20}(?:\.[0-9]{1,20})?)\s*", re.ASCII)


def believable(value: float) -> bool:
    """Whether the number is finite and not beyond 64 bits; comparing an integer of any length never raises."""
    return -LARGEST <= value <= LARGEST


def integer(text: bytes | str) -> int | None:
    """The integer that the text is, space around it aside."""
    match = INTEGER.fullmatch(text.decode("ascii", "replace") if isinstance(text, bytes) else text)
    value = int(match[1]) if match else None
    return value if value is not None and believable(value) else None


def count(text: bytes | str, times: int = 1) -> int | None:
    """The integer that the text is, multiplied; None also below 0."""
    value = integer(text)
    return value * times if value is not None and value >= 0 and believable(value * times) else None


def decimal(text: bytes | str) -> float | None:
    """The number that the text is, written without an exponent."""
    match = DECIMAL.fullmatch(text.decode("ascii", "replace") if isinstance(text, bytes) else text)
    value = float(match[1]) if match else None
    return value if value is not None and believable(value) else None
