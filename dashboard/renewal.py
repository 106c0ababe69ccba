"""A store deleted or replaced under the web process: said at once, and left for the new one when that is there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from dashboard.live.hub import Hub
from dashboard.live.sentence import Sentence
from storage.errors import StoreError, StoreGone
from storage.store import Store, open_store

EVERY_S = 0.5

log = logging.getLogger(__name__)


def lost(store: Store) -> Sentence | None:
    """What every page says while the store's file is gone; None while it is there."""
    try:
        store.confirm()
    except StoreGone as error:
        text = str(error)
        return Sentence("critical", f"{text[:1].upper()}{text[1:]}: nothing here is of now")
    return None


class Renewal:
    """Looks twice a second. renew: begins a new process over the store that stands at the address then."""

    def __init__(self, store: Store, hub: Hub, url: str, clock: Callable[[], int], renew: Callable[[], None]) -> None:
        self._store, self._hub, self._url, self._clock, self._renew = store, hub, url, clock, renew
        self._told = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="renewal", daemon=True)

    def start(self) -> None:
        """Begin to look, in a daemon thread."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def step(self) -> bool:
        """One look; True once `renew` was called."""
        said = lost(self._store)
        if said is None:
            return False
        if not self._told:
            log.error("%s", said.text)
            self._hub.forget()
            self._told = True
        try:
            open_store(self._url, writer=False, now_ms=self._clock()).close()
        except StoreError:
            return False  # nobody has made one yet, or not to its end
        log.warning("another store is there: beginning anew with it")
        self._renew()
        return True

    def _run(self) -> None:
        while not self._stop.wait(EVERY_S):
            if self.step():
                return
