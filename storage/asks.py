"""What people do: commands for the collector, and the web's own preferences."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import insert, select, update

from storage import schema
from storage.codec import text_of, value_of
from storage.database import Database
from storage.records import Command


def enqueue(database: Database, kind: str, payload: Mapping[str, Any], now_ms: int) -> int:
    """Append a command; its number."""
    row = {"at_ms": now_ms, "kind": kind, "payload": text_of(dict(payload))}
    with database.writing() as connection:
        key = connection.execute(insert(schema.command), row).inserted_primary_key
    assert key is not None, "the table gives every command a number"
    return int(key[0])


def command(database: Database, number: int) -> Command | None:
    """A command and what became of it."""
    with database.reading() as connection:
        found = connection.execute(select(schema.command).where(schema.command.c.id == number)).first()
    if found is None:
        return None
    return Command(found.id, found.at_ms, found.kind, value_of(found.payload), found.applied_ms, found.error)


def take_back(database: Database, numbers: Collection[int], why: str, now_ms: int) -> set[int]:
    """Settle commands that were not carried out, as if they were refused; those that it was in time for."""
    done = schema.command.c.applied_ms
    back = set()
    with database.writing() as connection:
        for number in numbers:
            change = update(schema.command).where(schema.command.c.id == number, done.is_(None))
            if connection.execute(change.values(applied_ms=now_ms, error=why)).rowcount:
                back.add(number)
    return back


def prefer(database: Database, key: str, value: Any) -> None:
    """Keep a preference (JSON)."""
    row = {"key": key, "value": text_of(value)}
    with database.writing() as connection:
        connection.execute(database.dialect.upsert(schema.preference), row)
