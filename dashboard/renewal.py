"""A store deleted or replaced under the web process: said at once, and left for the new one when that is there."""

from __future__ import annotations

import logging
from collections.abc import Callable

from dashboard.background import Background
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


class Renewal(Background):
    """Looks twice a second. renew: begins a new process over the store that stands at the address then."""

    def __init__(self, store: Store, hub: Hub, url: str, clock: Callable[[], int], renew: Callable[[], None]) -> None:
        super().__init__("renewal")
        self._store, self._hub, self._url, self._clock, self._renew = store, hub, url, clock, renew
        self._told = False

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
