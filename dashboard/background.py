"""Work beside the answers: a daemon thread that goes on until the web process ends."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod

LONGEST_END_S = 5
"""What is under way then is left to end with the process."""


class Background(ABC):
    """name: of its thread."""

    def __init__(self, name: str) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it; one that was never begun is left."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=LONGEST_END_S)

    @abstractmethod
    def _run(self) -> None:
        """What the thread does, until `_stop` is set."""
