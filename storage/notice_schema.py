"""Tables of notices. `storage.schema` makes them part of the store."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text


def add_tables(to: MetaData) -> None:
    """Tables of notices as part of these. None holds an address or another secret of a channel."""
    # The outbox: what is to be said, written with the alerts that it is about, and what became of it.
    Table(
        "notice",
        to,
        Column("id", Text, primary_key=True),
        Column("channel", Text, nullable=False),
        Column("at_ms", BigInteger, nullable=False),
        Column("words", Text, nullable=False),  # JSON array of [alert, word]; null: a test
        Column("state", Text, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("next_ms", BigInteger, nullable=False),  # not tried before then
        Column("tried_ms", BigInteger),  # when it was tried last
        Column("error", Text, nullable=False),  # why it was not delivered then
        Index("notice_state", "state", "next_ms"),
        Index("notice_channel", "channel", "at_ms"),
    )
    Table(
        "notice_memory",
        to,
        Column("channel", Text, primary_key=True),
        Column("told", Text, nullable=False),  # JSON array of [alert, word or "held back", at_ms]
        Column("sent", Text, nullable=False),  # JSON array: instants of the last hour's messages
    )
