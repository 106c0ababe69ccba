"""Reception: whether what came in of a request is the whole of it. Pure; it keeps the bytes, and reads no socket."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum

HEAD_MOST = 64 * 1024
"""Bytes of a head, at most: browsers stay below a quarter of it."""
LINE_END = b"\r\n"
HEAD_END = LINE_END * 2
MOST_DIGITS = 15
LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n", re.I)
CHUNKED = re.compile(rb"\r\ntransfer-encoding:[^\r\n]*chunked[ \t]*\r\n", re.I)
SIZE = re.compile(rb"[0-9a-fA-F]{1,15}(?![0-9a-fA-F])")


class State(Enum):
    """What can be done with a request."""

    PART = "more of it is to come"
    WHOLE = "it can be answered without a further byte"
    LONG = "its body is longer than any that is taken, which can be answered without reading it"
    REFUSED = "its head never ends"


@dataclass
class Reception:
    """One request that comes in. body_most: bytes of a body, at most.

    What cannot be understood counts as whole: whoever answers says what is wrong with it. Each byte is looked at once,
    however many pieces it comes in.
    """

    body_most: int
    data: bytearray = field(default_factory=bytearray)
    _looked: int = 0
    _head: int | None = None
    _body: int | None = None
    """Bytes of the body; None for chunks."""

    def take(self, piece: bytes) -> State:
        """Add what came in; how it stands then."""
        self.data += piece
        if self._head is None and not self._find_head():
            return State.REFUSED if len(self.data) > HEAD_MOST else State.PART
        assert self._head is not None
        if self._body is None:
            return self._chunks()
        if self._body > self.body_most:
            return State.LONG
        return State.WHOLE if len(self.data) >= self._head + self._body else State.PART

    def _find_head(self) -> bool:
        while self.data.startswith(LINE_END):  # between two requests there may be empty lines
            del self.data[: len(LINE_END)]
            self._looked = 0
        end = self.data.find(HEAD_END, max(self._looked - len(HEAD_END), 0))
        self._looked = len(self.data)
        if end < 0:
            return False
        head = bytes(self.data[: end + len(HEAD_END)])
        self._head = self._looked = len(head)
        length = LENGTH.search(head)
        self._body = None if CHUNKED.search(head) else self._said(length[1]) if length else 0
        return True

    def _said(self, digits: bytes) -> int:
        return int(digits) if len(digits) <= MOST_DIGITS else self.body_most + 1

    def _chunks(self) -> State:
        """Go on over chunks, from the first that was not there whole."""
        while (line := self.data.find(LINE_END, self._looked)) >= 0:
            size = SIZE.match(self.data, self._looked)
            if size is None:
                return State.WHOLE
            if int(size[0], 16) == 0:
                return State.WHOLE if self.data.find(HEAD_END, line) >= 0 else self._part()
            end = line + 2 + int(size[0], 16) + 2
            if end > len(self.data):
                return self._part()
            self._looked = end
        return self._part()

    def _part(self) -> State:
        assert self._head is not None
        return State.LONG if len(self.data) - self._head > self.body_most else State.PART
