"""Edition: numbers that rise when sealed hours change: whoever keeps what was read of them knows when to let go.

They stand in `meta`, and rise in the very transaction that changes what they tell of. A store in which nothing changed
since there are editions has none, which is 0.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, select, update

from storage import schema
from storage.asking import fetched
from storage.dialect import Dialect

CHANGED, DROPPED = "edition.changed", "edition.dropped"
META = schema.meta.c
READ = select(META.key, META.value).where(META.key.in_((CHANGED, DROPPED)))
RISE = (
    update(schema.meta).where(META.key == bindparam("which")).values(value=cast(cast(META.value, BigInteger) + 1, Text))
)


class Edition(NamedTuple):
    """changed: rises whenever an hour is sealed, sealed anew, imported or deleted. dropped: when it is deleted, after
    which another may come in its place that looks the same from outside."""

    changed: int = 0
    dropped: int = 0


def read(connection: Connection) -> Edition:
    """The edition of what this transaction sees."""
    found = dict(fetched(connection, READ))
    return Edition(int(found.get(CHANGED, 0)), int(found.get(DROPPED, 0)))


def rise(connection: Connection, dialect: Dialect, *, dropped: bool = False) -> None:
    """Sealed hours are about to change in this transaction. dropped: they are deleted."""
    for key in (CHANGED, DROPPED) if dropped else (CHANGED,):
        if not connection.execute(RISE, {"which": key}).rowcount:
            connection.execute(dialect.upsert(schema.meta), {"key": key, "value": "1"})
