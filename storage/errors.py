"""What can go wrong with a store, as few classes as a caller can act upon.

Each message is a sentence for people. The names say what is the matter, without "Error" at each end.
"""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what was asked; the message says why and what to do."""


class StoreBusy(StoreError):  # noqa: N818
    """Another process holds the lock for longer than we wait. Nothing was written: try again with the next tick."""


class StoreAway(StoreError):  # noqa: N818
    """The database server does not answer, or the connection to it was lost. Try again with the next tick."""


class StoreFull(StoreError):  # noqa: N818
    """The disk, or the size the file may have, is used up. Nothing was written."""


class StoreReadOnly(StoreError):  # noqa: N818
    """The file or its directory does not let this process write."""


class StoreNotReady(StoreError):  # noqa: N818
    """There is no store yet, or an older one that the collector has not migrated yet: wait for the collector."""


class StoreBroken(StoreError):  # noqa: N818
    """The file is not a database, or is damaged."""


class StoreNewer(StoreError):  # noqa: N818
    """A newer version of this program wrote the store; this one does not understand it."""


class StoreTaken(StoreError):  # noqa: N818
    """Another collector writes to this store; two would count every counter twice."""


class StoreGone(StoreError):  # noqa: N818
    """The file was deleted, or another one stands in its place: what is open is read and written by nobody else."""
