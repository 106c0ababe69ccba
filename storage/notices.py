"""Notices: what a commit writes of them, what whoever delivers them writes, and questions about them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, and_, delete, select, update
from sqlalchemy.sql.dml import Insert

from alerts.notices import Memory, Notice
from alerts.outbox import ChannelMemory, Outgoing, State, held_of, told_json, told_of, words_json, words_of
from storage import schema
from storage.codec import text_of, value_of
from storage.database import Database
from storage.records import Batch

NOTICE, MEMORY = schema.tables.tables["notice"], schema.tables.tables["notice_memory"]


def _waiting(one: Notice | Outgoing) -> dict[str, Any]:
    """One row of `notice` before the first attempt."""
    return {
        "id": one.id,
        "channel": one.channel,
        "at_ms": one.at_ms,
        "words": text_of(words_json(one.words)),
        "state": State.WAITING.value,
        "attempts": 0,
        "next_ms": 0,
        "tried_ms": None,
        "error": "",
    }


def _outgoing(found: Row[Any]) -> Outgoing:
    words, state = words_of(value_of(found.words)), State(found.state)
    return Outgoing(
        found.id, found.channel, found.at_ms, words, state, found.attempts, found.next_ms, found.tried_ms, found.error
    )


class NoticeWriter:
    """What a batch holds of notices, written inside the transaction of its commit."""

    def __init__(self, database: Database) -> None:
        self._notice = database.dialect.insert(NOTICE)
        self._memory = database.dialect.upsert(MEMORY)

    def work(self, batch: Batch) -> list[tuple[Insert, list[dict[str, Any]]]]:
        """Statements and their rows. A notice that is there already is left as it is: it may be delivered by now."""
        memories = [
            {
                "channel": one.channel,
                "told": text_of(told_json(one.memory.told, one.memory.held)),
                "sent": text_of(list(one.memory.sent_ms)),
            }
            for one in batch.memories
        ]
        work = ((self._notice, [_waiting(one) for one in batch.notices]), (self._memory, memories))
        return [(statement, rows) for statement, rows in work if rows]


def memories(connection: Connection) -> list[ChannelMemory]:
    """What channels were told."""
    found = connection.execute(select(MEMORY).order_by(MEMORY.c.channel))
    return [ChannelMemory(row.channel, _memory(value_of(row.told), value_of(row.sent))) for row in found]


def _memory(told: list[list[Any]], sent: list[int]) -> Memory:
    return Memory(told_of(told), tuple(sent), held_of(told))


def find(connection: Connection, channel: str | None, state: State | None, since_ms: int | None) -> list[Outgoing]:
    """Messages, oldest first; None is any."""
    query = select(NOTICE).order_by(NOTICE.c.at_ms, NOTICE.c.id)
    if channel is not None:
        query = query.where(NOTICE.c.channel == channel)
    if state is not None:
        query = query.where(NOTICE.c.state == state.value)
    if since_ms is not None:
        query = query.where(NOTICE.c.at_ms >= since_ms)
    return [_outgoing(row) for row in connection.execute(query)]


def one(connection: Connection, identity: str) -> Outgoing | None:
    """A message by its id."""
    found = connection.execute(select(NOTICE).where(NOTICE.c.id == identity)).first()
    return None if found is None else _outgoing(found)


def newest(connection: Connection, channel: str, since_ms: int) -> list[Outgoing]:
    """Of a channel what was done last, what was taken last, and what was last not taken, each if since then."""
    is_done = NOTICE.c.state.in_([State.SENT.value, State.GIVEN_UP.value])
    conditions = (
        and_(is_done, NOTICE.c.words != text_of(None)),
        NOTICE.c.state == State.SENT.value,
        and_(NOTICE.c.error != "", NOTICE.c.state != State.SENT.value, NOTICE.c.state != State.DROPPED.value),
    )
    found: list[Outgoing] = []
    for condition in conditions:
        query = select(NOTICE).where(NOTICE.c.channel == channel, NOTICE.c.at_ms >= since_ms, condition)
        row = connection.execute(query.order_by(NOTICE.c.at_ms.desc(), NOTICE.c.id.desc()).limit(1)).first()
        found += [_outgoing(row)] if row is not None else []
    return found


def add_test(database: Database, wanted: Outgoing) -> str:
    """Put a test in, unless one waits for the channel already; the id of the one that waits then."""
    waits = (NOTICE.c.channel == wanted.channel, NOTICE.c.state == State.WAITING.value)
    with database.writing() as connection:
        known = connection.scalar(select(NOTICE.c.id).where(*waits, NOTICE.c.words == text_of(None)))
        if known is None:
            connection.execute(database.dialect.insert(NOTICE), _waiting(wanted))
    return str(known or wanted.id)


def claim(database: Database, wanted: Outgoing, now_ms: int, next_ms: int) -> bool:
    """Note an attempt before it is made; False when another has begun one meanwhile, or it waits no more."""
    mine = (NOTICE.c.id == wanted.id, NOTICE.c.state == State.WAITING.value, NOTICE.c.attempts == wanted.attempts)
    change = update(NOTICE).where(*mine).values(attempts=wanted.attempts + 1, tried_ms=now_ms, next_ms=next_ms)
    with database.writing() as connection:
        return connection.execute(change).rowcount == 1


def settle(database: Database, identity: str, state: State, error: str = "", next_ms: int | None = None) -> None:
    """What came of an attempt, or that there will be none any more."""
    values: dict[str, Any] = {"state": state.value, "error": error}
    if next_ms is not None:
        values["next_ms"] = next_ms
    change = update(NOTICE).where(NOTICE.c.id == identity, NOTICE.c.state == State.WAITING.value).values(**values)
    with database.writing() as connection:
        connection.execute(change)


def drop(database: Database, before_ms: int) -> int:
    """Forget messages from before then that wait no more; how many."""
    gone = delete(NOTICE).where(NOTICE.c.at_ms < before_ms, NOTICE.c.state != State.WAITING.value)
    with database.writing() as connection:
        return int(connection.execute(gone).rowcount)
