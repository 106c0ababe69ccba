"""Tables of alerts. `storage.schema` makes them part of the store."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, Table, Text


def add_tables(to: MetaData) -> None:
    """Tables of alerts as part of these."""
    Table(
        "alert",
        to,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("rule", Text, nullable=False),
        Column("title", Text, nullable=False),
        Column("place", Text, nullable=False),
        Column("key", Text, nullable=False),  # JSON array
        Column("severity", Text, nullable=False),
        Column("deployment", Text, nullable=False),
        Column("began_ms", BigInteger, nullable=False),
        Column("fired_ms", BigInteger, nullable=False),
        Column("ended_ms", BigInteger),  # null = it goes on
        Column("ended", Text, nullable=False),
        Column("cause", Integer),
        Column("values", Text, nullable=False),  # JSON array
        Column("message", Text, nullable=False),
        Column("acknowledged_ms", BigInteger),
        Column("acknowledged_by", Text, nullable=False),
        Column("run", Integer),
        Column("revision", Integer, nullable=False),
        Index("alert_fired", "fired_ms"),
        Index("alert_ended", "ended_ms"),
    )
    # Kept for as long as the alert, whatever became of the samples.
    Table(
        "alert_part",
        to,
        Column("alert", Integer, primary_key=True, autoincrement=False),
        Column("kind", Text, primary_key=True),
        Column("data", Text, nullable=False),  # JSON
    )
    Table(
        "alert_standing",
        to,
        Column("rule", Text, primary_key=True),
        Column("state", Text, nullable=False),  # JSON array: what the instances of the rule need to go on
    )
    Table(
        "rule_change",
        to,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("name", Text, nullable=False),
        Column("table", Text),  # JSON object; null = back to what it was
        Column("at_ms", BigInteger, nullable=False),
        Column("by", Text, nullable=False),
    )
    Table(
        "silence",
        to,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("start_ms", BigInteger, nullable=False),
        Column("end_ms", BigInteger, nullable=False),
        Column("matcher", Text, nullable=False),  # JSON object
        Column("comment", Text, nullable=False),
        Column("by", Text, nullable=False),
        Column("made_ms", BigInteger, nullable=False),
    )
