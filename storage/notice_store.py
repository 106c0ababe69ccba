"""The part of the store that knows notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from alerts.outbox import Account, ChannelMemory, Outgoing, State, account
from storage import notices
from storage.database import Database

LOOK_BACK_MS = 7 * 86_400_000
"""How far back an account of a channel looks."""


class NoticeStore:
    """Notices of a store. What is to be told goes through `commit`; whoever delivers it writes what came of it."""

    _database: Database

    def memories(self) -> list[ChannelMemory]:
        """What channels were told, as last committed."""
        with self._database.reading() as connection:
            return notices.memories(connection)

    def outgoing(
        self, channel: str | None = None, state: State | None = None, since_ms: int | None = None
    ) -> list[Outgoing]:
        """Messages, oldest first; None is any."""
        with self._database.reading() as connection:
            return notices.find(connection, channel, state, since_ms)

    def notice(self, identity: str) -> Outgoing | None:
        """A message by its id."""
        with self._database.reading() as connection:
            return notices.one(connection, identity)

    def ask_test(self, channel: str, now_ms: int) -> str:
        """Have a test message sent to a channel; its id, or that of one that waits already."""
        return notices.add_test(self._database, Outgoing(f"test-{channel}-{now_ms}", channel, now_ms, None))

    def claim_notice(self, wanted: Outgoing, now_ms: int, next_ms: int) -> bool:
        """Note an attempt before it is made; False when another has begun one meanwhile, or it waits no more.

        next_ms: when it is tried again should nobody say what came of this attempt.
        """
        return notices.claim(self._database, wanted, now_ms, next_ms)

    def settle_notice(self, identity: str, state: State, error: str = "", next_ms: int | None = None) -> None:
        """What came of an attempt, or that there will be none any more. One that waits no more stays as it is."""
        notices.settle(self._database, identity, state, error, next_ms)

    def drop_notices(self, before_ms: int) -> int:
        """Forget messages from before then that wait no more; how many."""
        return notices.drop(self._database, before_ms)

    def accounts(self, channels: Iterable[str], now_ms: int) -> dict[str, Account]:
        """How delivery to these channels goes, out of the messages of the last week and those that wait."""
        found: dict[str, Account] = {}
        with self._database.reading() as connection:
            waiting = notices.find(connection, None, State.WAITING, None)
            held = {one.channel: len(one.memory.held) for one in notices.memories(connection)}
            for name in channels:
                of_channel = [one for one in waiting if one.channel == name]
                of_channel += notices.newest(connection, name, now_ms - LOOK_BACK_MS)
                of_name = account(name, list({one.id: one for one in of_channel}.values()), now_ms)
                found[name] = replace(of_name, held=held.get(name, 0))
        return found
