"""How a file becomes the newest: numbered steps, forward only.

A new file is made from `schema` at once. An older one goes through the steps after its own number, each with its
number in one transaction. `schema.VERSION` is the number of the last step; step 1 is the first file ever published.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    inspect,
    select,
    text,
    update,
)

from storage import notice_schema, schema
from storage.alert_schema import add_tables
from storage.database import Database
from storage.errors import StoreBroken, StoreNewer, StoreNotReady

Step = Callable[[Connection], None]


def _sealed_hours(connection: Connection) -> None:
    """Tables of sealed hours."""
    late = text("late = 1")
    summary = ("first", "last", "min", "max", "sum", "gain", "seconds")
    made = MetaData()
    Table(
        "clock",
        made,
        Column("target", Text, primary_key=True),
        Column("hour", BigInteger, primary_key=True, autoincrement=False),
        Column("n", Integer, nullable=False),
        Column("first_tick", BigInteger, nullable=False),
        Column("last_tick", BigInteger, nullable=False),
        Column("late", Integer, nullable=False),
        Column("codec", Text, nullable=False),
        Column("data", LargeBinary),
        Index("clock_hour", "hour", "target", "n", "first_tick", "last_tick", "late", "codec"),
        Index("clock_late", "target", "hour", sqlite_where=late, postgresql_where=late),
    )
    Table(
        "chunk",
        made,
        Column("series", Integer, primary_key=True, autoincrement=False),
        Column("hour", BigInteger, primary_key=True, autoincrement=False),
        Column("n", Integer, nullable=False),
        *(Column(name, Double) for name in summary),
        Column("codec", Text, nullable=False),
        Column("data", LargeBinary),
        Index("chunk_summary", "series", "hour", "n", *summary),
    )
    made.create_all(connection, checkfirst=False)


def _runs(connection: Connection) -> None:
    """Tables of runs."""
    made = MetaData()
    texts = ("began", "ended", "by", "model", "engines", "labels", "tags", "note")
    Table(
        "run",
        made,
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("deployment", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("start_ms", BigInteger, nullable=False),
        Column("end_ms", BigInteger),
        *(Column(name, Text, nullable=False) for name in texts),
        Column("trim_start_ms", BigInteger),
        Column("trim_end_ms", BigInteger),
        Column("baseline", Integer, nullable=False),
        Column("pinned", Integer, nullable=False),
        Column("nodes", Text),
        Column("measured", Text, nullable=False),
        Column("revision", Integer, nullable=False),
        Index("run_start", "start_ms"),
    )
    Table(
        "run_mark",
        made,
        Column("run", Integer, primary_key=True, autoincrement=False),
        Column("at_ms", BigInteger, primary_key=True, autoincrement=False),
        Column("kind", Text, primary_key=True),
        Column("text", Text, primary_key=True),
    )
    Table(
        "run_part",
        made,
        Column("run", Integer, primary_key=True, autoincrement=False),
        Column("kind", Text, primary_key=True),
        Column("revision", Integer, nullable=False),
        Column("data", Text, nullable=False),
    )
    Table(
        "detector",
        made,
        Column("deployment", Text, primary_key=True),
        Column("state", Text, nullable=False),
    )
    made.create_all(connection, checkfirst=False)


def _days(connection: Connection) -> None:
    """Tables of days. None is made here: all that there are hours of are due, and made by and by."""
    made = MetaData()
    Table(
        "day",
        made,
        Column("series", Integer, primary_key=True, autoincrement=False),
        Column("day", BigInteger, primary_key=True, autoincrement=False),
        Column("data", LargeBinary, nullable=False),
    )
    Table(
        "day_due",
        made,
        Column("target", Text, primary_key=True),
        Column("day", BigInteger, primary_key=True, autoincrement=False),
        Column("mark", BigInteger, nullable=False),
        Index("day_due_day", "day"),
    )
    made.create_all(connection, checkfirst=False)
    connection.execute(text("INSERT INTO day_due SELECT DISTINCT target, hour - hour % 86400000, 1 FROM clock"))


def _alerts(connection: Connection) -> None:
    """Tables of alerts, as they were first; once they change, this step gets their first form."""
    made = MetaData()
    add_tables(made)
    made.create_all(connection, checkfirst=False)


def _notices(connection: Connection) -> None:
    """Tables of notices, as they were first; once they change, this step gets their first form."""
    made = MetaData()
    notice_schema.add_tables(made)
    made.create_all(connection, checkfirst=False)


STEPS: Mapping[int, Step] = {2: _sealed_hours, 3: _runs, 4: _days, 5: _alerts, 6: _notices}
"""Version reached → what makes it out of the version before."""


def version_of(connection: Connection) -> int | None:
    """Version of the schema in this file, None in an empty one; StoreBroken in somebody else's."""
    names = inspect(connection).get_table_names()
    if not names:
        return None
    if "meta" in names:
        found = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == "schema"))
        if found is not None and found.isdecimal():
            return int(found)
    raise StoreBroken("this database belongs to another program: name another file")


def known_version(database: Database, version: int = schema.VERSION) -> int | None:
    """The same of a database; StoreNewer where it is one that this program does not know."""
    with database.reading() as connection:
        found = version_of(connection)
    if found is not None and found > version:
        raise StoreNewer(
            f"a newer version of this program wrote the store (schema {found}, this one knows {version}): update it"
        )
    return found


def bring_up_to_date(
    database: Database, *, writer: bool, now_ms: int, steps: Mapping[int, Step] = STEPS, version: int = schema.VERSION
) -> None:
    """Create or migrate (writer), or refuse: StoreNewer, StoreNotReady, StoreBroken."""
    found = known_version(database, version)
    if found == version:
        return
    if not writer:
        raise StoreNotReady("the store is empty or of an older version: start the collector, which prepares it")
    if found is None:
        _create(database, now_ms, version)
        return
    for number in range(found + 1, version + 1):
        with database.writing() as connection:
            steps[number](connection)
            connection.execute(update(schema.meta).where(schema.meta.c.key == "schema").values(value=str(number)))


def _create(database: Database, now_ms: int, version: int) -> None:
    with database.writing() as connection:
        if version_of(connection) is not None:
            return  # another process was faster
        schema.tables.create_all(connection, checkfirst=False)
        rows = [{"key": "schema", "value": str(version)}, {"key": "created_ms", "value": str(now_ms)}]
        connection.execute(schema.meta.insert(), rows)
