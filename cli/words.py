"""Words for a terminal: names come from machines and strangers, and must not move its cursor or begin a line."""

from __future__ import annotations

import sys
import unicodedata

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of signs that do something in the place of being seen: control, direction, halves of pairs, line ends."""
REPLACEMENT = "�"


def clean(text: object) -> str:
    """One line of text without signs that do something.

    >>> clean("a\\x1b[31mb\\nc")
    'a�[31mb�c'
    """
    return "".join(REPLACEMENT if unicodedata.category(sign) in HIDDEN else sign for sign in str(text))


def say(*lines: object, error: bool = False) -> None:
    """Print lines, each cleaned, so that each is one. error: to standard error."""
    print("\n".join(map(clean, lines)), file=sys.stderr if error else sys.stdout, flush=True)
