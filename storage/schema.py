"""The tables as they are now. How older files get here is in `migrations`."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from storage import notice_schema
from storage.alert_schema import add_tables

VERSION = 6
"""Number of the last migration; what `meta` says under "schema"."""

tables = MetaData()

meta = Table("meta", tables, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

series = Table(
    "series",
    tables,
    Column("id", Integer, primary_key=True),
    Column("target", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("labels", Text, nullable=False),  # JSON object, keys sorted
    UniqueConstraint("target", "metric", "labels"),
)

layout = Table(
    "layout",
    tables,
    Column("id", Integer, primary_key=True),
    Column("target", Text, nullable=False),
    Column("digest", Text, nullable=False),  # of series_ids, which are too long for an index
    Column("series_ids", Text, nullable=False),  # JSON array, in the order of hot.data
    UniqueConstraint("target", "digest"),
)

# Keyed by time first: a key by target would touch a page per target and tick.
hot = Table(
    "hot",
    tables,
    Column("tick", BigInteger, primary_key=True, autoincrement=False),
    Column("target", Text, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("layout", Integer, nullable=False),
    Column("data", Text, nullable=False),  # JSON array, null = no number
)

# A sealed hour of a target: its ticks, instants and layouts. Blobs last, so that what stands before is read without.
clock = Table(
    "clock",
    tables,
    Column("target", Text, primary_key=True),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),  # start
    Column("n", Integer, nullable=False),
    Column("first_tick", BigInteger, nullable=False),
    Column("last_tick", BigInteger, nullable=False),
    Column("late", Integer, nullable=False),  # 1 = rows came since
    Column("codec", Text, nullable=False),
    Column("data", LargeBinary),
    Index("clock_hour", "hour", "target", "n", "first_tick", "last_tick", "late", "codec"),
    Index("clock_late", "target", "hour", sqlite_where=text("late = 1"), postgresql_where=text("late = 1")),
)

# An ordinary table with an index that holds the summaries: without rowids the blobs would overflow most pages, and
# with the summaries beside them months of summaries would drag all blobs through memory.
chunk = Table(
    "chunk",
    tables,
    Column("series", Integer, primary_key=True, autoincrement=False),
    Column("hour", BigInteger, primary_key=True, autoincrement=False),
    Column("n", Integer, nullable=False),
    Column("first", Double),
    Column("last", Double),
    Column("min", Double),
    Column("max", Double),
    Column("sum", Double),
    Column("gain", Double),
    Column("seconds", Double),
    Column("codec", Text, nullable=False),
    Column("data", LargeBinary),
    Index("chunk_summary", "series", "hour", "n", "first", "last", "min", "max", "sum", "gain", "seconds"),
)

# The summaries of a series' day in one row, for whoever reads months: `storage.days` says what is in it.
day = Table(
    "day",
    tables,
    Column("series", Integer, primary_key=True, autoincrement=False),
    Column("day", BigInteger, primary_key=True, autoincrement=False),  # start
    Column("data", LargeBinary, nullable=False),
)

# Days of which hours were written since they were put together, if they were. mark: so often.
day_due = Table(
    "day_due",
    tables,
    Column("target", Text, primary_key=True),
    Column("day", BigInteger, primary_key=True, autoincrement=False),
    Column("mark", BigInteger, nullable=False),
    Index("day_due_day", "day"),
)

commit_log = Table(
    "commit_log",
    tables,
    Column("sequence", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("first_tick", BigInteger, nullable=False),
    Column("last_tick", BigInteger, nullable=False),
)

offset = Table(
    "offset",
    tables,
    Column("series", Integer, primary_key=True, autoincrement=False),
    Column("tick", BigInteger, primary_key=True, autoincrement=False),
    Column("offset", Double, nullable=False),
    Column("reason", Text, nullable=False),
    Index("offset_tick", "tick"),
)

absence = Table(
    "absence",
    tables,
    Column("target", Text, primary_key=True),
    Column("metric", Text, primary_key=True),  # "" = the whole target
    Column("start_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("end_ms", BigInteger),  # null = still so
    Column("reason", Text, nullable=False),
    Index("absence_end", "end_ms"),
)

fact = Table(
    "fact",
    tables,
    Column("target", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("start_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("end_ms", BigInteger),  # null = still so
    Column("value", Text, nullable=False),
)

event = Table(
    "event",
    tables,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("target", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("labels", Text, nullable=False),  # JSON object
    Index("event_at", "at_ms"),
)

episode = Table(
    "episode",
    tables,
    Column("deployment", Text, primary_key=True),
    Column("target", Text, primary_key=True),
    Column("engine", Text, primary_key=True),
    Column("start_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("end_ms", BigInteger, nullable=False),
    Column("tokens", BigInteger),
    Column("seconds", Double),
    Index("episode_end", "deployment", "end_ms"),
)

target = Table(
    "target",
    tables,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("url", Text, nullable=False),
    Column("interval_ms", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
    Column("last_ok_ms", BigInteger),
    Column("detail", Text, nullable=False),  # JSON object
)

command = Table(
    "command",
    tables,
    Column("id", Integer, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),  # JSON object
    Column("applied_ms", BigInteger),
    Column("error", Text),
    Index("command_applied", "applied_ms"),
)

preference = Table("preference", tables, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

run = Table(
    "run",
    tables,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("deployment", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("start_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger),  # null = it goes on
    Column("began", Text, nullable=False),
    Column("ended", Text, nullable=False),
    Column("by", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("engines", Text, nullable=False),  # JSON array of [target, engine, model]
    Column("labels", Text, nullable=False),  # JSON object
    Column("tags", Text, nullable=False),  # JSON array
    Column("note", Text, nullable=False),
    Column("trim_start_ms", BigInteger),
    Column("trim_end_ms", BigInteger),
    Column("baseline", Integer, nullable=False),
    Column("pinned", Integer, nullable=False),
    Column("nodes", Text),  # JSON array; null = by evidence
    Column("measured", Text, nullable=False),  # JSON object
    Column("revision", Integer, nullable=False),
    Index("run_start", "start_ms"),
)

run_mark = Table(
    "run_mark",
    tables,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("at_ms", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, primary_key=True),
    Column("text", Text, primary_key=True),
)

# What was worked out of a run at its end, so that it outlives its samples. Apart from the run, which people change.
run_part = Table(
    "run_part",
    tables,
    Column("run", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, primary_key=True),
    Column("revision", Integer, nullable=False),  # of the run that it was worked out of
    Column("data", Text, nullable=False),  # JSON
)

detector = Table(
    "detector",
    tables,
    Column("deployment", Text, primary_key=True),
    Column("state", Text, nullable=False),  # JSON object: what the detector of runs needs to go on
)

add_tables(tables)
notice_schema.add_tables(tables)
