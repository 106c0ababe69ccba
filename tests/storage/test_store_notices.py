"""The outbox in the store: written with the tick, settled by whoever delivers, on every engine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerts.notices import Memory, Notice, Told, Word
from alerts.outbox import ChannelMemory, Outgoing, State
from storage.records import Batch
from storage.store import Store
from tests.storage.worlds import NOW

ONE = Notice("a1", "ops", NOW, ((7, Word.FIRING), (8, Word.RESOLVED)))
TWO = Notice("b2", "night", NOW + 1000, ((7, Word.STILL),))
MEMORY = ChannelMemory("ops", Memory({7: Told(Word.FIRING, NOW), 8: Told(Word.RESOLVED, NOW)}, (NOW - 5, NOW)))


def put(store: Store, *notices: Notice, memories: tuple[ChannelMemory, ...] = ()) -> None:
    store.commit(Batch(notices=notices, memories=memories), NOW)


def ids(found: list[Outgoing]) -> list[str]:
    return [one.id for one in found]


def test_what_is_told_waits_and_what_was_told_is_remembered(store: Store) -> None:
    put(store, ONE, TWO, memories=(MEMORY,))
    put(store, ONE, memories=(replace(MEMORY, memory=Memory()), MEMORY))
    assert store.outgoing() == [
        Outgoing("a1", "ops", NOW, ONE.words),
        Outgoing("b2", "night", NOW + 1000, TWO.words),
    ]
    assert store.memories() == [MEMORY]
    assert store.notice("a1") == Outgoing("a1", "ops", NOW, ONE.words)
    assert store.notice("c3") is None


def test_messages_are_chosen(store: Store) -> None:
    put(store, ONE, TWO)
    store.settle_notice("a1", State.SENT)
    assert ids(store.outgoing(channel="night")) == ["b2"]
    assert ids(store.outgoing(state=State.SENT)) == ["a1"]
    assert ids(store.outgoing(since_ms=NOW + 1)) == ["b2"]
    assert ids(store.outgoing(since_ms=NOW)) == ["a1", "b2"]


def test_an_attempt_is_noted_once(store: Store) -> None:
    put(store, ONE)
    waiting = store.outgoing()[0]
    assert store.claim_notice(waiting, NOW + 5, NOW + 10)
    assert not store.claim_notice(waiting, NOW + 6, NOW + 11)
    found = replace(waiting, attempts=1, tried_ms=NOW + 5, next_ms=NOW + 10)
    assert store.notice("a1") == found
    store.settle_notice("a1", State.WAITING, "no", NOW + 20)
    assert store.notice("a1") == replace(found, error="no", next_ms=NOW + 20)
    store.settle_notice("a1", State.SENT)
    sent = replace(found, state=State.SENT, next_ms=NOW + 20)
    assert store.notice("a1") == sent
    assert not store.claim_notice(sent, NOW + 30, NOW + 40)
    store.settle_notice("a1", State.GIVEN_UP, "too late")
    assert store.notice("a1") == sent
    put(store, ONE)
    assert store.notice("a1") == sent


def test_a_test_is_about_nothing(store: Store) -> None:
    identity = store.ask_test("ops", NOW)
    assert store.notice(identity) == Outgoing(f"test-ops-{NOW}", "ops", NOW, None)
    assert store.ask_test("ops", NOW + 1) == identity
    assert store.ask_test("night", NOW + 1) == f"test-night-{NOW + 1}"
    store.settle_notice(identity, State.FAILED, "no")
    assert store.ask_test("ops", NOW + 2) == f"test-ops-{NOW + 2}"


def test_only_what_is_old_and_done_is_forgotten(store: Store) -> None:
    put(store, ONE, TWO, replace(ONE, id="old"), replace(ONE, id="young", at_ms=NOW + 500))
    for identity in ("old", "young"):
        store.settle_notice(identity, State.SENT)
    assert store.drop_notices(NOW) == 0
    assert store.drop_notices(NOW + 1) == 1
    assert ids(store.outgoing()) == ["a1", "young", "b2"]


@pytest.mark.parametrize("tests_after", [0, 3])
def test_accounts_look_at_the_last_of_each_kind(store: Store, tests_after: int) -> None:
    for number in range(5):
        put(store, replace(ONE, id=f"n{number}", at_ms=NOW + number))
        store.claim_notice(store.outgoing(state=State.WAITING)[0], NOW + 100 + number, 0)
        store.settle_notice(f"n{number}", State.GIVEN_UP if number == 4 else State.SENT, "no" if number == 4 else "")
    for number in range(tests_after):
        identity = store.ask_test("ops", NOW + 10 + number)
        store.claim_notice(store.outgoing(state=State.WAITING)[0], NOW + 200 + number, 0)
        store.settle_notice(identity, State.SENT, "taken")
    put(store, TWO)
    found = store.accounts(["ops", "night", "gone"], NOW + 2000)
    ops, night = found["ops"], found["night"]
    assert (ops.failing, ops.waiting, ops.last_error, ops.last_error_ms) == (True, 0, "no", NOW + 104)
    assert ops.last_sent_ms == (NOW + 202 if tests_after else NOW + 103)
    assert (night.failing, night.waiting, night.last_sent_ms) == (False, 1, None)
    assert (found["gone"].failing, found["gone"].waiting) == (False, 0)
    week = 7 * 86_400_000
    assert store.accounts(["ops"], NOW + week + 100)["ops"].last_error == ""
