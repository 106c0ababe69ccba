"""Several questions of one state of the store: what is committed or sealed meanwhile is in none of the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from storage.edition import Edition
from storage.errors import StoreError
from storage.store import Store
from telemetry.summary import HOUR_MS
from tests.storage.worlds import NOW, write

LATER = NOW + 50 * HOUR_MS


def test_nothing_that_happens_meanwhile_is_seen(store: Store, opened: Callable[..., Store]) -> None:
    write(store, "a", ["x"], {0: [1], 3600: [4]})
    web = opened(writer=False)
    with web.one_state():
        before = web.edition(), web.unsealed_hours(NOW, LATER), web.latest_commit()
        assert store.seal("a", NOW, LATER)
        write(store, "a", ["x"], {7200: [5]})
        assert (web.edition(), web.unsealed_hours(NOW, LATER), web.latest_commit()) == before
        with web.one_state():
            assert web.edition() == Edition(0, 0), "the inner one is of the state of the outer one"
        assert web.edition() == Edition(0, 0)
        seen: list[Edition] = []
        other = threading.Thread(target=lambda: seen.append(web.edition()))
        other.start()
        other.join()
        assert seen == [Edition(1, 0)], "it is of this thread alone"
    assert web.edition() == Edition(1, 0)
    assert web.unsealed_hours(NOW, LATER) == [NOW + HOUR_MS, NOW + 2 * HOUR_MS]


def test_it_ends_with_what_goes_wrong_inside(store: Store, opened: Callable[..., Store]) -> None:
    write(store, "a", ["x"], {0: [1]})
    web = opened(writer=False)
    with pytest.raises(StoreError, match="no layout 77"), web.one_state():
        web.series_of(77)
    assert store.seal("a", NOW, LATER)
    assert web.edition() == Edition(1, 0)
