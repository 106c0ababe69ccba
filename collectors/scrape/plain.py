"""Plain numbers at the ends of lines, as text that skips the parser; of untrusted pages."""

from __future__ import annotations

from collections.abc import Sequence

from telemetry.model import UNKNOWN

WORDS = frozenset({b"NaN", b"+Inf", b"-Inf"})
"""What stands where a line has no number."""
_PLAIN = b"0123456789.eE+-"
_DIGITS = b"0123456789"


def plain(rest: bytes) -> float | None:
    """The number that this text is, by itself; UNKNOWN for a word, None when it is anything else."""
    if rest in WORDS:
        return UNKNOWN
    if rest.strip(_PLAIN):
        return None
    try:
        return float(rest)
    except ValueError:
        return None


def plain_numbers(texts: Sequence[bytes]) -> list[float] | None:
    """The numbers that these texts are, each by itself; None when one of them is anything else, or a word."""
    if b"".join(texts).translate(None, _PLAIN):
        return None
    try:
        return list(map(float, texts))
    except ValueError:
        return None


def unstamped(key: bytes, rest: bytes) -> tuple[bytes, bytes]:
    """Series text and number of a line that ends with a timestamp; two empty ones when it does not."""
    if not rest or rest.strip(_DIGITS):
        return b"", b""
    key, _, number = key.rpartition(b" ")
    return key, number
