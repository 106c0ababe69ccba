"""How far something long is: one line on a terminal that is written over, nothing anywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

EVERY_S = 0.5


class Line:
    """Tells at most twice a second, on standard error."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told = clock()
        self._shown = False

    def tell(self, what: str, done: int, of: int) -> None:
        """So much of it is done."""
        now = self._clock()
        if not sys.stderr.isatty() or now - self._told < EVERY_S:
            return
        self._told, self._shown = now, True
        print(f"\r{done / max(of, 1):4.0%} {what}   ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Clear the line."""
        if self._shown:
            print("\r" + " " * 20 + "\r", end="", file=sys.stderr, flush=True)
        self._shown = False
