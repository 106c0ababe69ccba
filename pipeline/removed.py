"""Targets that the settings do not name any more: what was recorded of them stays, and nobody misses them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from dataclasses import replace

from storage.errors import StoreError
from storage.records import Batch
from storage.store import Store
from telemetry.states import REMOVED

FOREVER_MS = 2**62
WHY = "the settings do not name it any more"

log = logging.getLogger(__name__)


def take_leave(store: Store, names: Collection[str], now_ms: int) -> None:
    """Mark every target of the store but these as removed, and end what is absent of it. A store that cannot be written
    just now is asked again by the next collector."""
    rows = [row for row in store.targets() if row.name not in names and row.state != REMOVED]
    if not rows:
        return
    gone = {row.name for row in rows}
    absent = [one for one in store.absences(0, FOREVER_MS) if one.end_ms is None and one.target in gone]
    batch = Batch(
        targets=[replace(row, state=REMOVED, reason=WHY, since_ms=now_ms) for row in rows],
        absences_closed=[replace(one, end_ms=max(now_ms, one.start_ms)) for one in absent],
    )
    try:
        store.commit(batch, now_ms)
    except StoreError as error:
        log.warning("%s cannot be marked as removed: %s", ", ".join(sorted(gone)), error)
