"""Differences between messages, and the hub that hands them out."""

from __future__ import annotations

import threading
from typing import Any

import orjson
import pytest

from dashboard.live.delta import difference, same_shape
from dashboard.live.hub import Hub, StreamsFullError


def message(tick: int, **cells: list[str]) -> dict[str, Any]:
    """A message with two nodes and two rows, so that single fields can be changed."""
    return {
        "tick": tick,
        "age_ms": 1,
        "sentence": {"level": "ok", "text": "fine", "worst": None},
        "title": "t",
        "alerts": {"causes": 0, "level": "ok"},
        "cells": {"a": ["1", "", "ok", ""], **cells},
        "nodes": [
            {"name": "n1", "level": "ok", "cells": [["1", "W", "ok", ""], ["4", "°C", "ok", ""], ["5", "", "ok", ""]]},
            {"name": "n2", "level": "ok", "cells": [["2", "W", "ok", ""], ["4", "°C", "ok", ""], ["5", "", "ok", ""]]},
        ],
        "why": [{"key": "x", "now": "1"}, {"key": "y", "now": "2"}],
        "points": {"decode": 1.0},
        "map": {"power": [1, 2]},
    }


LOST = ["–", "", "unknown", "lost"]


def ticks(entries: list[Any] | None) -> list[int]:
    assert entries is not None
    return [orjson.loads(entry.data)["tick"] for entry in entries]


def test_difference_holds_what_changed_and_the_parts_that_always_come() -> None:
    before, after = (
        message(1),
        message(2, b=["2", "", "ok", ""], c=["9", "", "warning", ""], d=["9", "", "ok", "mean of 6"]),
    )
    after["nodes"][1] |= {"level": "critical", "cells": [["3", "W", "ok", ""], ["4", "°C", "ok", ""], LOST]}
    after["why"][0] = {"key": "x", "now": "9"}
    assert difference(before, after) == {
        "tick": 2,
        "age_ms": 1,
        "sentence": {"level": "ok", "text": "fine", "worst": None},
        "title": "t",
        "alerts": {"causes": 0, "level": "ok"},
        "points": {"decode": 1.0},
        "map": {"power": [1, 2]},
        "cells": {"b": ["2", ""], "c": ["9", "", "warning", ""], "d": ["9", "", "ok", "mean of 6"]},
        "nodes": [{"index": 1, "level": "critical", "cells": {"0": ["3", "W"], "2": LOST}}],
        "why": [{"key": "x", "now": "9"}],
    }


def test_difference_of_equal_messages_is_small() -> None:
    same = difference(message(1), message(1))
    assert (same["cells"], same["nodes"], same["why"]) == ({}, [], [])


@pytest.mark.parametrize("part", ["nodes", "why"])
def test_other_nodes_or_rows_are_another_shape(part: str) -> None:
    other = message(2)
    other[part] = other[part][:1]
    assert not same_shape(message(1), other)
    assert same_shape(message(1), message(2))


def test_order_of_nodes_is_part_of_the_shape() -> None:
    other = message(2)
    other["nodes"].reverse()
    assert not same_shape(message(1), other)


def test_polling_gets_what_it_missed() -> None:
    hub = Hub()
    assert hub.after_tick(1) is None
    for tick in (1, 2, 3):
        hub.publish(message(tick))
    assert ticks(hub.after_tick(1)) == [2, 3]
    assert ticks(hub.after_tick(2)) == [3]
    assert hub.after_tick(3) == []
    assert hub.after_tick(4) is None, "a tick of another life of the server"
    assert hub.after_tick(0) is None
    assert hub.sequence == 3


def test_too_much_missed_is_a_reset() -> None:
    hub = Hub(keep=2)
    for tick in (1, 2, 3, 4):
        hub.publish(message(tick))
    assert ticks(hub.after_tick(2)) == [3, 4]
    assert hub.after_tick(1) is None


def test_another_shape_is_a_reset() -> None:
    hub = Hub()
    hub.publish(message(1))
    hub.publish(message(2))
    other = message(3)
    other["nodes"] = other["nodes"][:1]
    hub.publish(other)
    assert hub.after_tick(2) is None
    assert hub.wait(2, 0) is None
    hub.publish({**other, "tick": 4})
    assert ticks(hub.after_tick(3)) == [4]


def test_waiting_wakes_with_the_next_message() -> None:
    hub = Hub()
    hub.publish(message(1))
    found: list[Any] = []
    waiter = threading.Thread(target=lambda: found.extend(hub.wait(1, 30) or []))
    waiter.start()
    hub.publish(message(2))
    waiter.join(timeout=30)
    assert ticks(found) == [2]
    assert hub.wait(2, 0) == []
    assert ticks(hub.wait(1, 0)) == [2]


def test_resume_is_one_instant() -> None:
    hub = Hub()
    assert hub.resume(None) == (0, None, None)
    hub.publish(message(1))
    hub.publish(message(2))
    sequence, whole, missed = hub.resume(1)
    assert (sequence, whole and whole["tick"], ticks(missed)) == (2, 2, [2])
    assert hub.resume(None)[2] is None


def test_places_for_streams_are_counted_and_given_back() -> None:
    hub = Hub(stream_cap=1)
    with hub.stream():
        assert hub.streams == 1
        with pytest.raises(StreamsFullError), hub.stream():
            pass
    assert hub.streams == 0
    with hub.stream():
        pass


def test_a_closed_hub_takes_no_streams_and_lets_waiters_go() -> None:
    hub = Hub()
    hub.publish(message(1))
    hub.close()
    assert hub.closed
    assert hub.wait(1, 30) == []
    with pytest.raises(StreamsFullError), hub.stream():
        pass
