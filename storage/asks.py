"""What people do: commands for the collector, and the web's own preferences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, update

from storage import schema
from storage.codec import text_of
from storage.database import Database
from storage.errors import StoreError


def enqueue(database: Database, kind: str, payload: Mapping[str, Any], now_ms: int) -> int:
    """Append a command; its number."""
    row = {"at_ms": now_ms, "kind": kind, "payload": text_of(dict(payload))}
    with database.writing() as connection:
        key = connection.execute(insert(schema.command), row).inserted_primary_key
    assert key is not None, "the table gives every command a number"
    return int(key[0])


def finish(database: Database, number: int, now_ms: int, error: str | None) -> None:
    """Mark a command as applied, or as failed with a sentence; StoreError when there is none of this number."""
    change = update(schema.command).where(schema.command.c.id == number).values(applied_ms=now_ms, error=error)
    with database.writing() as connection:
        if connection.execute(change).rowcount != 1:
            raise StoreError(f"there is no command {number}")


def prefer(database: Database, key: str, value: Any) -> None:
    """Keep a preference (JSON)."""
    row = {"key": key, "value": text_of(value)}
    with database.writing() as connection:
        connection.execute(database.dialect.upsert(schema.preference), row)
