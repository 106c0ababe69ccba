"""Available memory, five times a second: it can fall by 20 GiB between two scrapes."""

from __future__ import annotations

import threading
from collections import deque

from collectors.node.memory import available_in
from collectors.node.tree import Tree

INTERVAL_S = 0.2
WINDOW_S = 2.0


class Trailing:
    """The lowest value of the trailing window. One thread adds, others ask."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        self._window_s = window_s
        self._values: deque[tuple[float, int]] = deque()
        self._lock = threading.Lock()

    def add(self, at_s: float, value: int) -> None:
        """Keep a value; what is older than the window falls out."""
        with self._lock:
            self._values.append((at_s, value))
            while self._values[0][0] < at_s - self._window_s:
                self._values.popleft()

    def lowest(self, now: float) -> int | None:
        """Lowest value of the window that ends now, None without one."""
        with self._lock:
            return min((value for at_s, value in self._values if at_s >= now - self._window_s), default=None)


def sample(tree: Tree, trailing: Trailing, now: float) -> None:
    """Read MemAvailable once; where it cannot be read there is nothing to keep, and the memory collector says so."""
    try:
        value = available_in(tree.bytes("/proc/meminfo"))
    except OSError:
        return
    if value is not None:
        trailing.add(now, value)
