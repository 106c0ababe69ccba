"""Orders that are taken back before a collector has begun them."""

from __future__ import annotations

from pathlib import Path

from pipeline.inbox import Inbox
from pipeline.orders import PREFIX
from storage.records import Batch, Done
from storage.store import Store, open_store

NOW = 1_790_000_000_000


def two(tmp_path: Path) -> tuple[Store, Store]:
    path = str(tmp_path / "store.db")
    return open_store(path, writer=True, now_ms=NOW), open_store(path, writer=False, now_ms=NOW)


def test_what_is_taken_back_is_settled_and_what_was_done_stays(tmp_path: Path) -> None:
    writer, web = two(tmp_path)
    done, late = (web.enqueue(f"{PREFIX}start", {"deployment": "m"}, NOW) for _ in range(2))
    writer.commit(Batch(commands=[Done(done, NOW + 1, None)]), NOW + 1)
    assert web.take_back([done, late], "too late", NOW + 5) == {late}
    assert writer.pending_commands() == []
    assert [(one.applied_ms, one.error) for one in map(web.command, (done, late)) if one] == [
        (NOW + 1, None),
        (NOW + 5, "too late"),
    ]
    web.close()
    writer.close()


def test_a_collector_that_has_fetched_it_does_not_carry_it_out(tmp_path: Path) -> None:
    writer, web = two(tmp_path)
    inbox = Inbox(writer)
    first, second = (web.enqueue(f"{PREFIX}start", {"deployment": "m"}, NOW) for _ in range(2))
    inbox.fetch()
    web.take_back([first], "too late", NOW + 5)
    inbox.fetch()
    assert [one.number for one in inbox.take()] == [second]
    web.close()
    writer.close()
