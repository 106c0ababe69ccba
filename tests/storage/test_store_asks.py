"""Commands and preferences: the rows that people write."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from storage.errors import StoreError
from storage.records import Command
from storage.store import Store
from tests.storage.worlds import NOW


def test_commands_wait_until_they_are_finished(store: Store, opened: Callable[..., Store]) -> None:
    web = opened(writer=False)
    first = web.enqueue("silence", {"rule": "x", "for_s": 60, "note": None}, NOW)
    second = web.enqueue("label", {}, NOW + 1)
    assert store.pending_commands() == [
        Command(first, NOW, "silence", {"rule": "x", "for_s": 60, "note": None}),
        Command(second, NOW + 1, "label", {}),
    ]
    store.finish_command(first, NOW + 2)
    assert [command.id for command in store.pending_commands()] == [second]
    store.finish_command(second, NOW + 3, "there is no run 7")
    assert store.pending_commands() == []
    assert web.enqueue("label", {}, NOW) not in (first, second)


def test_finishing_what_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="no command 12"):
        store.finish_command(12, NOW)


def test_preferences(store: Store, opened: Callable[..., Store]) -> None:
    web = opened(writer=False)
    assert web.preference("view") is None
    web.set_preference("view", {"metric": "gpu_power_watts", "points": [1, 2.5, None]})
    web.set_preference("other", False)
    assert store.preference("view") == {"metric": "gpu_power_watts", "points": [1, 2.5, None]}
    web.set_preference("view", "plain")
    assert store.preference("view") == "plain"
    assert store.preference("other") is False
