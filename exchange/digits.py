"""Numbers as text, a million at a time: planes of four letters each, in which a letter that is 0 is no letter.

Every text reads back as the same 64 bits, and is the shortest that does; whole numbers have no ".0". What is not known
(NaN) or is no measurement (infinite) is empty. Most readings are decimals of few digits, which tables of four digits
write ten times as fast as a general conversion; the rest goes through that one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import orjson

from telemetry.frame import Bools, Floats, Ints

Words = npt.NDArray[np.uint32]
"""Four letters each, as they stand in memory."""

WORD = 4
BASE = 10**WORD
NONE = 2 * BASE
"""Position of the empty text in a table of UNITS."""
MOST_WHOLE = 1e15
"""Below it every whole number, and every decimal of as many digits, is told apart from its neighbours."""


def words(text: bytes) -> Words:
    """Letters as words, filled up with no letters."""
    return np.frombuffer(text.ljust(-(-len(text) // WORD) * WORD, b"\0"), dtype=np.uint32)


def _table(lines: list[str], head: str = "") -> Words:
    return np.array([(head + line).encode().ljust(WORD, b"\0") for line in lines], dtype=f"S{WORD}").view(np.uint32)


_FULL = [f"{number:04d}" for number in range(BASE)]
_LED = [str(number) for number in range(BASE)]
UNITS = np.concatenate((_table(_FULL), _table(_LED), np.zeros(1, np.uint32)))
"""Last four digits of a whole number: behind others, at its beginning, nothing."""
HIGHER = np.concatenate((_table(_FULL), _table(["", *_LED[1:]])))
"""Four digits further in front: behind others, at the beginning or nowhere."""
_DECIMALS = [f"{number:03d}" for number in range(1000)]
POINT = np.concatenate((_table(_DECIMALS, "."), _table([one.rstrip("0") for one in _DECIMALS], ".")))
"""Point and three decimals: with others behind, at the end."""
POINT[1000] = 0  # a whole number has no point
LAST = _table([line.rstrip("0") for line in _FULL])
"""Four more decimals, at the end."""
COMMA, COMMA_MINUS = words(b",")[0], words(b",-")[0]


@dataclass(frozen=True)
class _Form:
    """How columns are written: `groups` words of digits before the point, `decimals` (0, 3 or 7) behind it."""

    groups: int
    decimals: int


def cells(columns: Floats) -> list[Words]:
    """float64[column, n] as planes: of each column in its order some uint32[n], the first with a comma."""
    known = np.isfinite(columns)
    size = np.where(known, np.abs(columns), 0.0)
    minus = np.signbit(columns) & known
    forms = [_form(one) for one in size]
    planes: list[list[Words]] = [[] for _ in forms]
    for form in dict.fromkeys(forms):
        rows = [row for row, one in enumerate(forms) if one == form]
        made = _general(columns[rows]) if form is None else _decimal(form, size[rows], known[rows], minus[rows])
        for row, one in zip(rows, made, strict=True):
            planes[row] = one
    return [plane for one in planes for plane in one]


def _form(size: Floats) -> _Form | None:
    """The form that writes all numbers of a column exactly; None where there is none."""
    top = float(np.max(size)) if len(size) else 0.0
    groups = 1 + sum(top >= float(BASE) ** more for more in (1, 2, 3))
    if top < MOST_WHOLE and _all(size, lambda part: np.floor(part)):
        return _Form(groups, 0)
    for decimals in (3, 7):
        scale = 10.0**decimals
        if top * scale < MOST_WHOLE and _all(size, lambda part, scale=scale: np.rint(part * scale) / scale):  # type: ignore[misc]
            return _Form(groups, decimals)
    return None


def _all(size: Floats, rounded: Callable[[Floats], Floats]) -> bool:
    """Whether rounding changes none; the first few tell it of most columns that it changes."""
    return all(bool(np.array_equal(rounded(part), part)) for part in (size[:64], size[64:]))


def _decimal(form: _Form, size: Floats, known: Bools, minus: Bools) -> list[list[Words]]:
    """Columns of one form: sign, digits before the point, digits behind it."""
    scale = 10**form.decimals
    scaled = np.rint(size * float(scale)).astype(np.int64)
    whole, rest = _split(scaled, scale) if form.decimals else (scaled, None)
    planes = [np.where(minus, COMMA_MINUS, COMMA), *_whole(whole, form.groups, known)]
    if rest is not None:
        front, back = _split(rest, BASE) if form.decimals > 3 else (rest, None)
        planes.append(POINT[front + 1000 * ((back == 0) if back is not None else 1)])
        planes += [] if back is None else [LAST[back]]
    return [[plane[row] for plane in planes] for row in range(len(size))]


def _split(numbers: Ints, base: int) -> tuple[Ints, Ints]:
    """Quotients and remainders."""
    front = numbers // base
    return front, numbers - front * base


def _whole(numbers: Ints, groups: int, known: Bools) -> list[Words]:
    planes: list[Words] = []
    for group in range(groups):
        front, digits = _split(numbers, BASE) if group < groups - 1 else (np.zeros_like(numbers), numbers)
        place = digits + BASE * (front == 0)
        planes.append(np.where(known, UNITS[place], 0).astype(np.uint32) if group == 0 else HIGHER[place])
        numbers = front
    return planes[::-1]


def _general(columns: Floats) -> list[list[Words]]:
    """Any numbers: by orjson, which writes the shortest digits that read back as the same."""
    return [_texts(column) for column in columns]


def _texts(column: Floats) -> list[Words]:
    text = orjson.dumps(np.ascontiguousarray(column), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1] + b","
    pieces = text.replace(b"null", b"").replace(b".0,", b",")[:-1].split(b",")
    longest = max(map(len, pieces)) + 1
    cut = np.array([b"," + piece for piece in pieces], dtype=f"S{-(-longest // WORD) * WORD}")
    return list(np.ascontiguousarray(cut.view(np.uint32).reshape(len(column), -1).T))
