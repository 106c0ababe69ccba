"""Notes: what the collector tells of the store as a whole, kept beside the version of the tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from storage import schema
from storage.codec import text_of, value_of
from storage.database import Database

PREFIX = "note."
"""In front of a note's name, so that none can be taken for what the store itself keeps there."""


def note(database: Database, name: str, value: Any) -> None:
    """Keep a note (JSON) in place of the one of this name before."""
    row = {"key": f"{PREFIX}{name}", "value": text_of(value)}
    with database.writing() as connection:
        connection.execute(database.dialect.upsert(schema.meta), row)


def noted(database: Database, name: str) -> Any:
    """A note, None when there is none."""
    with database.reading() as connection:
        text = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == f"{PREFIX}{name}"))
    return None if text is None else value_of(text)
