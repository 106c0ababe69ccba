"""Decimal numbers out of text, many at once: without a step of Python or of a parser for each of them.

A number of up to 15 digits is a whole number divided by a power of ten. Both are floats without any rounding, so that
the quotient is rounded once, as every parser rounds it: the same 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from telemetry.frame import Bools, Floats, Ints

Letters = npt.NDArray[np.uint8]
MOST_LETTERS = 15
"""Longer numbers are left to a parser."""
ZERO, DOT, MINUS, BLANK, COMMA = ord("0"), ord("."), ord("-"), ord(" "), ord(",")
OPENING, CLOSING, N_OF_NULL = ord("["), ord("]"), ord("n")
TENS = 10.0 ** np.arange(MOST_LETTERS + 1)
TO_NUMBER = np.arange(256, dtype=np.uint8)
"""Letters of JSON that are none of a number's become blanks."""
TO_NUMBER[[ord(letter) for letter in '[]"']] = BLANK


def even(text: bytes) -> Floats | None:
    """float64[n] of whole numbers of one length with commas between, as ticks are; None where they are not that."""
    length = text.find(b",")
    if not 0 < length <= MOST_LETTERS or (len(text) + 1) % (length + 1):
        return None
    cells = np.frombuffer(text + b",", dtype=np.uint8).reshape(-1, length + 1)
    digits = cells[:, :length] - np.uint8(ZERO)
    if (cells[:, length] != COMMA).any() or (digits > 9).any():
        return None
    return np.asarray(digits.astype(np.float64) @ TENS[length - 1 :: -1])


def parsed(letters: Letters, begin: Ints, end: Ints) -> Floats:
    """float64[n] of the elements of JSON arrays that stand in begin ≤ place < end, brackets around them or not; NaN for
    null, and ValueError for what is no number."""
    begin = begin + (letters[begin] == OPENING)
    end = end - (letters[end - 1] == CLOSING)
    values = np.empty(len(begin))
    left = np.zeros(len(begin), dtype=bool)
    for mine, length in _by_length(end - begin):
        if 0 < length <= MOST_LETTERS:
            values[mine], left[mine] = _short(letters, begin[mine], length)
        else:
            left[mine] = True
    if left.any():
        values[left] = _long(letters, begin[left], end[left])
    return values


def _by_length(lengths: Ints) -> Iterator[tuple[slice | Ints, int]]:
    """(where, length): numbers of one length."""
    short = np.minimum(lengths, MOST_LETTERS + 1).astype(np.uint8)
    found = np.flatnonzero(np.bincount(short)).tolist()
    for length in found:
        yield slice(None) if len(found) == 1 else np.flatnonzero(short == length), length


def _short(letters: Letters, begin: Ints, length: int) -> tuple[Floats, Bools]:
    """Numbers of one length, and which of them must be read otherwise."""
    total = np.zeros(len(begin))
    strange, dotted, minus, null = (np.zeros(len(begin), dtype=bool) for _ in range(4))
    after, signs = np.zeros(len(begin), dtype=np.intp), np.zeros(len(begin), dtype=np.uint8)
    for place in range(length):
        column = letters[begin + place]
        digit = column - np.uint8(ZERO)
        odd = digit > 9
        if not odd.any():
            total *= 10.0
            total += digit
            continue
        dot = column == DOT
        fits = dot & ~dotted
        if place == 0:
            minus, null = column == MINUS, (column == N_OF_NULL) & (length == len("null"))
            fits |= minus
        strange |= odd & ~fits
        signs += odd
        dotted |= dot
        after[dot] = length - 1 - place
        total = np.where(odd, total, total * 10.0 + digit)
    strange |= signs == length  # no digit at all
    if dotted.any():
        total /= TENS[after]
    if minus.any():
        np.negative(total, out=total, where=minus)
    total[null] = np.nan
    return total, strange & ~null


def _long(letters: Letters, begin: Ints, end: Ints) -> Floats:
    """Numbers of any kind, by numpy's own parser."""
    reach = np.arange(int(np.max(end - begin)))
    place = begin[:, None] + reach
    cells = TO_NUMBER[np.where(place < end[:, None], letters[np.minimum(place, len(letters) - 1)], BLANK)]
    return cells.view(f"S{len(reach)}").ravel().astype(np.float64)
