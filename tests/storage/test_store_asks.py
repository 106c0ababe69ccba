"""Commands and preferences: the rows that people write."""

from __future__ import annotations

from collections.abc import Callable

from storage.records import Batch, Command, Done
from storage.store import Store
from tests.storage.worlds import NOW


def test_commands_wait_until_they_are_finished(store: Store, opened: Callable[..., Store]) -> None:
    web = opened(writer=False)
    first_payload = {"rule": "x", "for_s": 60, "note": None}
    first = web.enqueue("silence", first_payload, NOW)
    second = web.enqueue("label", {}, NOW + 1)
    assert store.pending_commands() == [
        Command(first, NOW, "silence", first_payload),
        Command(second, NOW + 1, "label", {}),
    ]
    store.commit(Batch(commands=[Done(first, NOW + 2)]), NOW + 2)
    assert [command.id for command in store.pending_commands()] == [second]
    store.commit(Batch(commands=[Done(second, NOW + 3, "there is no run 7")]), NOW + 3)
    assert store.pending_commands() == []
    assert web.command(second) == Command(second, NOW + 1, "label", {}, NOW + 3, "there is no run 7")
    store.commit(Batch(commands=[Done(first, NOW + 9, "too late"), Done(12, NOW + 9)]), NOW + 9)
    assert web.command(first) == Command(first, NOW, "silence", first_payload, NOW + 2)
    assert web.command(12) is None
    assert web.enqueue("label", {}, NOW) not in (first, second)


def test_preferences(store: Store, opened: Callable[..., Store]) -> None:
    web = opened(writer=False)
    assert web.preference("view") is None
    web.set_preference("view", {"metric": "gpu_power_watts", "points": [1, 2.5, None]})
    web.set_preference("other", False)
    assert store.preference("view") == {"metric": "gpu_power_watts", "points": [1, 2.5, None]}
    web.set_preference("view", "plain")
    assert store.preference("view") == "plain"
    assert store.preference("other") is False
