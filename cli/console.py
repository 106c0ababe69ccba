"""How commands end: an exit status, and the sentence that goes with it; and the machine's clock."""

from __future__ import annotations

import time
from datetime import datetime

from cli.words import say
from runs.bounds import clipped

FAILED, REFUSED, UNHEARD = 1, 2, 3
"""The store, a file or the collector says no; it cannot be asked so; no collector has carried it out."""


def now_ms() -> int:
    """The machine's clock."""
    return time.time_ns() // 1_000_000


def said(error: object, status: int) -> int:
    """Say why, and how it ends."""
    say(*str(error).splitlines(), error=True)
    return status


def instant(ms: int | None) -> str:
    """An instant in the machine's zone."""
    shown = clipped(ms)
    return "–" if shown is None else f"{datetime.fromtimestamp(shown / 1000).astimezone():%Y-%m-%d %H:%M:%S}"
