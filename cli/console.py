"""How commands end: an exit status, and the sentence that goes with it; and the machine's clock."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import datetime

from cli.words import say
from runs.bounds import clipped

FAILED, REFUSED, UNHEARD = 1, 2, 3
"""The store, a file or the collector says no; it cannot be asked so; no collector has carried it out."""


NOT_THERE = 404
"""Status of the API for a number that there is none of: asked in a right way, so it is the store that says no."""


def few(action: str, words: Sequence[str], most: Mapping[str, int]) -> None:
    """ValueError with a sentence where an action is given more words than it takes: none is left out of account."""
    if action in most and len(words) > most[action]:
        raise ValueError(f"{action}: “{words[most[action]]}” is one word too many")


def now_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


def said(error: object, status: int) -> int:
    """Say why, and how it ends."""
    say(*str(error).splitlines(), error=True)
    return status


def instant(ms: int | None) -> str:
    """An instant in the machine's zone, which it names."""
    shown = clipped(ms)
    return "–" if shown is None else f"{datetime.fromtimestamp(shown / 1000).astimezone():%Y-%m-%d %H:%M:%S %Z}"
