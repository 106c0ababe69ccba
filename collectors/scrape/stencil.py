"""Stencil: the page before, with holes for its changing numbers, through which the next page is read unsplit.

Of the hundreds of lines of a page a few dozen change from one reading to the next. What stands between their numbers
is compared piece by piece, and nothing is made of the other lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from collectors.scrape.plain import WORDS, plain, plain_numbers, unstamped
from telemetry.frame import Floats


class Hole(NamedTuple):
    """A place for a number, which reaches to the end of its line: the position of that, and where in it it begins."""

    line: int
    start: int


class Stencil:
    """Of one page. holes: in page order, at most one a line.

    >>> stencil = Stencil([b"# a", b"a 1", b"b 2", b"c 3"], [Hole(1, 2), Hole(3, 2)])
    >>> stencil.read(b"# a\\na 25\\nb 2\\nc 4"), stencil.read(b"# a\\na 25\\nb 3\\nc 4")
    ([25.0, 4.0], None)
    """

    def __init__(self, lines: Sequence[bytes], holes: Sequence[Hole]) -> None:
        self._pieces: list[tuple[bytes, int]] = []
        begin, before = 0, b""
        for line, start in holes:
            piece = before + b"\n".join([*lines[begin:line], lines[line][:start]])
            self._pieces.append((piece, len(piece)))
            begin, before = line + 1, b"\n"
        self._end = before + b"\n".join(lines[begin:]) if begin < len(lines) else b""

    def read(self, body: bytes) -> list[float] | None:
        """The number in each hole of a page that differs nowhere else; None where it does, or has no plain number."""
        at, found = 0, []
        for piece, length in self._pieces:
            if not body.startswith(piece, at):
                return None
            at += length
            end = body.find(b"\n", at)
            if end < 0:
                end = len(body)
            found.append(body[at:end])
            at = end
        return plain_numbers(found) if body[at:] == self._end else None


class LastPage:
    """The page before, by whose lines the next one is read. Lines that ever changed are where its stencil has holes."""

    def __init__(self) -> None:
        self._body = b""
        self._keys: list[bytes | None] = []
        self._slots: list[int] = []
        self._changing: set[int] = set()
        self._stencil: Stencil | None = None
        self._holes: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def become(self, body: bytes, keys: list[bytes | None], slots: list[int]) -> None:
        """A page that was read line by line. keys, slots: of each line its series text, None where that does not tell
        the slot, and the slot of its number."""
        if keys != self._keys:
            self._changing = set()
        self._body, self._keys, self._slots, self._stencil = body, keys, slots, None

    def forget(self) -> None:
        """The next page is not read by this one."""
        self.become(b"", [], [])

    def patch(self, body: bytes, numbers: Floats) -> bool:
        """Take over a page that differs only in plain numbers, which are put into float64[slot]; False when it does
        not, with nothing changed."""
        found = self._stencil.read(body) if self._stencil is not None else None
        if found is None:
            return self._compare(body, numbers)
        numbers[self._holes] = found
        self._body = body
        return True

    def _compare(self, body: bytes, numbers: Floats) -> bool:
        """The same line by line."""
        lines, keys = body.split(b"\n"), self._keys
        if len(lines) != len(keys):
            return False
        fresh: list[int] = []
        rests: list[bytes] = []
        for position, (line, old) in enumerate(zip(lines, self._body.split(b"\n"), strict=True)):
            if line != old:
                key, _, rest = line.rpartition(b" ")
                if key != keys[position]:
                    key, rest = unstamped(key, rest)
                    if key != keys[position]:
                        return False
                fresh.append(position)
                rests.append(rest)
        found = plain_numbers(rests)
        if found is None:
            return False
        numbers[[self._slots[position] for position in fresh]] = found
        self._body = body
        self._changing.update(fresh)
        self._cut(lines)
        return True

    def _cut(self, lines: list[bytes]) -> None:
        """A stencil with holes in all lines that have changed before and end with a plain number."""
        holes = []
        for position in sorted(self._changing):
            line = lines[position]
            key, _, rest = line.rpartition(b" ")
            if key == self._keys[position] and rest not in WORDS and plain(rest) is not None:
                holes.append(Hole(position, len(line) - len(rest)))
        self._stencil = Stencil(lines, holes)
        self._holes = np.array([self._slots[hole.line] for hole in holes], dtype=np.intp)
