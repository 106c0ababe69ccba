"""Numbers of long runs that go on, worked out before anybody asks for them."""

from __future__ import annotations

import logging

from dashboard.background import Background
from dashboard.run_numbers import MOST_REMEMBERED, RunNumbers
from dashboard.sources import Sources
from storage.errors import StoreError
from storage.records import RunFilter

FIRST_S, EVERY_S = 5.0, 600.0
"""Looked at for the first time this long after the start, and while the tail is loaded; and from then on."""
LONG_MS = 2 * 3_600_000
"""What went on for less is worked out at once by whoever asks."""
DEAR_MS = 2_000.0
"""A run that takes so long although it was gone through before (it is longer than what is kept) is left to those who
ask."""

log = logging.getLogger(__name__)


class Ahead(Background):
    """Goes through the runs, in a daemon thread, so that whoever opens one waits for its last hour alone."""

    def __init__(self, sources: Sources, numbers: RunNumbers) -> None:
        super().__init__("ahead")
        self._sources, self._numbers = sources, numbers
        self._seen: dict[int, float] = {}

    def step(self) -> bool:
        """One look; False while the tail is not loaded."""
        sources = self._sources
        if not sources.tail.loaded:
            return False
        going_on = sources.store.runs(RunFilter(live=True))
        since = sources.now_ms() - LONG_MS
        for run in [one for one in going_on if one.start_ms < since][:MOST_REMEMBERED]:
            if self._seen.get(run.id, 0.0) <= DEAR_MS:
                took_ms = self._numbers.ahead(run)
                self._seen[run.id] = took_ms if run.id in self._seen else 0.0
        return True

    def _run(self) -> None:
        wait_s = FIRST_S
        while not self._stop.wait(wait_s):
            try:
                wait_s = EVERY_S if self.step() else FIRST_S
            except StoreError as error:
                log.debug("numbers of runs are not worked out ahead: %s", error)
            except Exception:  # what is amiss with one run must not end this for all others
                log.exception("numbers of runs cannot be worked out ahead")
                wait_s = EVERY_S
