"""How full the store is, of what it may become."""

from __future__ import annotations

from pipeline.config import Keep
from pipeline.retention import reserve
from storage.records import Room
from storage.store import Store


def share(store: Store, keep: Keep) -> float | None:
    """Size of the store as a share of its limit, or of what the disk leaves it, whichever is more; None where neither
    is known."""
    return of(store.room(), keep)


def of(room: Room, keep: Keep) -> float | None:
    """The same of what is known of the room. What is free inside the file is not filled."""
    filled = room.size - (room.free or 0)
    found = [] if keep.size_limit is None else [filled / keep.size_limit]
    if room.disk_free is not None:
        found.append(filled / max(room.size + room.disk_free - reserve(keep, room), 1))
    return max(found, default=None)
