"""Who scrapes the agent, and who of them has been told goodbye."""

from __future__ import annotations

import threading

RECENT_S = 60.0


class Scrapers:
    """Remembers each scraper of the last minute. A scraper is an address with what it calls itself."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], float] = {}
        self._told: set[tuple[str, str]] = set()
        self._changed = threading.Condition()

    def saw(self, scraper: tuple[str, str], now: float, goodbye: bool) -> None:
        """A page was sent to this scraper, with or without a goodbye on it."""
        with self._changed:
            self._seen[scraper] = now
            self._seen = {one: at for one, at in self._seen.items() if now - at <= RECENT_S}
            if goodbye:
                self._told.add(scraper)
                self._changed.notify_all()

    def untold(self, now: float) -> set[tuple[str, str]]:
        """Scrapers of the last minute that have not seen the goodbye."""
        return {one for one, at in self._seen.items() if now - at <= RECENT_S} - self._told

    def wait_until_told(self, now: float, seconds: float) -> bool:
        """Wait until all have seen the goodbye; False when the time was up first."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.untold(now), seconds)
