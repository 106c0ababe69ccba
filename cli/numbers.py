"""Numbers of runs and alerts on the command line."""

from __future__ import annotations

import re

MOST_DIGITS = 18
"""More than a store counts."""
NUMBER = re.compile("[0-9]+")
SHOWN = 40


def number(word: str, otherwise: str) -> int:
    """A number that a store can hold; ValueError with a sentence, `otherwise` where it is no number at all."""
    if not NUMBER.fullmatch(word):
        raise ValueError(otherwise)
    if len(word) > MOST_DIGITS:
        raise ValueError(f"there is none with the number {word[:SHOWN]}")
    return int(word)
