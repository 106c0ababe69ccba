"""Desk: where pages are read. What takes more than a moment is read in threads, so that no other target waits for it.

A page that differs from the last one in numbers only is read at once: that takes less than handing it over. One that
was never seen takes up to seconds where somebody means ill. Long pages have a thread of their own, so that they wait
for each other and short ones do not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from collectors.scrape.page import Page

LONG_BYTES = 200_000
"""An agent's page is 25 kB, that of an engine 50 kB, that of sixteen engines in one 700 kB."""
SHORT_AT_ONCE = 2

Made = TypeVar("Made")


class Desk:
    """Two queues for all targets of a collector. A target has one page on it at a time."""

    def __init__(self) -> None:
        self._short = ThreadPoolExecutor(SHORT_AT_ONCE, "short-pages")
        self._long = ThreadPoolExecutor(1, "long-pages")

    async def read(
        self, body: bytes, again: Callable[[bytes], Page | None], make: Callable[[Page | None], Made]
    ) -> Made:
        """What `make` gives for the page that `again` knows, or in a thread for None, which means: read it first."""
        long = len(body) > LONG_BYTES
        page = None if long else again(body)
        if page is not None:
            return make(page)
        queue = self._long if long else self._short
        return await asyncio.get_running_loop().run_in_executor(queue, make, None)

    def close(self) -> None:
        """Wait for nothing: what is still being read is of no use any more."""
        for queue in (self._short, self._long):
            queue.shutdown(wait=False, cancel_futures=True)
