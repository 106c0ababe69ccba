"""Alerts in the store: all of a tick or nothing, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerts.machine import Phase, Standing
from alerts.record import Alert, AlertPart, RuleChange, RuleState, Silence, standings_json, standings_of
from storage.alerts import AlertFilter
from storage.records import Batch, Row
from storage.store import Store
from tests.storage.worlds import NOW, SECOND

HOT = Alert(
    1,
    "gpu_hot",
    "GPU hot",
    "gpu",
    ("a", "0"),
    "warning",
    "k3",
    NOW,
    NOW + 60 * SECOND,
    "a, GPU 0: 88 °C",
    ({"value": 88.0},),
)
DEAD = Alert(2, "node_silent", "Node silent", "node", ("b",), "critical", "", NOW, NOW + 90 * SECOND, "b is silent")
MINUTE = 60 * SECOND


def put(store: Store, **what: object) -> None:
    store.commit(Batch(**what), NOW)  # type: ignore[arg-type]


def test_an_alert_comes_back_as_it_was_and_changes_by_its_number(store: Store) -> None:
    put(store, alerts=[HOT, DEAD])
    over = replace(
        HOT, ended_ms=NOW + 5 * MINUTE, ended="well", cause=2, acknowledged_ms=NOW, acknowledged_by="me", run=3
    )
    put(store, alerts=[replace(HOT, revision=2), over])
    assert store.alert(1) == over
    assert store.alert(2) == DEAD
    assert store.alert(3) is None
    assert store.alert_numbers() == (2, 0, 0)


def test_alerts_are_chosen(store: Store) -> None:
    over = replace(HOT, ended_ms=NOW + 5 * MINUTE, run=7)
    put(store, alerts=[over, DEAD])
    every: list[tuple[dict[str, object], list[int]]] = [
        ({}, [2, 1]),
        ({"firing": True}, [2]),
        ({"firing": False}, [1]),
        ({"rule": "gpu_hot"}, [1]),
        ({"owner": "b"}, [2]),
        ({"deployment": "k3"}, [1]),
        ({"severity": "critical"}, [2]),
        ({"run": 7}, [1]),
        ({"end_ms": NOW + MINUTE}, [1]),
        ({"end_ms": NOW + MINUTE - 1}, []),
        ({"start_ms": NOW + 5 * MINUTE}, [2, 1]),
        ({"start_ms": NOW + 5 * MINUTE + 1}, [2]),
        ({"limit": 1}, [2]),
        ({"limit": 0}, []),
    ]
    for given, numbers in every:
        assert [one.id for one in store.alerts(AlertFilter(**given))] == numbers, given  # type: ignore[arg-type]


def test_standings_replace_each_other_and_come_back(store: Store) -> None:
    standing = Standing(Phase.FIRING, 5, 3, True, 4000, 9, holds=False, clears=True)
    state = standings_json({("b", "0"): Standing(Phase.PENDING, 1, 1), ("a", "0"): standing})
    put(store, standings=[RuleState("gpu_hot", []), RuleState("gpu_hot", state), RuleState("oom_kill", [])])
    hot, kill = store.standings()
    assert (hot.rule, kill) == ("gpu_hot", RuleState("oom_kill", []))
    assert standings_of(hot.state) == {("a", "0"): standing, ("b", "0"): Standing(Phase.PENDING, 1, 1)}
    assert [one[0] for one in hot.state] == [["a", "0"], ["b", "0"]]
    with pytest.raises(ValueError):
        standings_of([[["a"], "nonsense", 0, 0, False, 0, 0, False, False]])
    assert standings_of([[*hot.state[0][:-1]]]) == {("a", "0"): standing}, "as earlier versions wrote it"
    for wrong in (hot.state[0][:-2], [*hot.state[0], True]):
        with pytest.raises(ValueError):
            standings_of([wrong])


def test_changes_of_rules_are_a_log(store: Store) -> None:
    log = [RuleChange(1, "gpu_hot", {"for": "5s"}, NOW, "me"), RuleChange(2, "gpu_hot", None, NOW + 1)]
    put(store, rule_changes=log[:1])
    put(store, rule_changes=log)
    assert store.rule_changes() == log
    assert store.alert_numbers() == (0, 2, 0)


def test_silences_that_are_not_over(store: Store) -> None:
    one = Silence(1, NOW, NOW + MINUTE, "gpu_hot", "a", "k3", "warning", "maintenance", "me", NOW)
    two = Silence(2, NOW, NOW + 2 * MINUTE)
    put(store, silences=[one, replace(two, end_ms=NOW + 9 * MINUTE), two])
    assert store.silences() == [one, two]
    assert store.silences(NOW + MINUTE) == [two]
    assert store.silences(NOW + MINUTE - 1) == [one, two]


def test_parts_are_kept_with_their_alert(store: Store) -> None:
    put(store, alerts=[HOT, DEAD])
    assert [one.id for one in store.bare_alerts("evidence", DEAD.fired_ms)] == [1, 2]
    assert [one.id for one in store.bare_alerts("evidence", DEAD.fired_ms - 1)] == [1]
    assert [one.id for one in store.bare_alerts("evidence", DEAD.fired_ms, limit=1)] == [1]
    store.keep_parts([AlertPart(1, "evidence", [1]), AlertPart(1, "evidence", {"t": [1, None]}), AlertPart(1, "b", 2)])
    store.keep_parts([])
    assert [one.id for one in store.bare_alerts("evidence", DEAD.fired_ms)] == [2]
    assert store.alert_parts(1) == {"b": 2, "evidence": {"t": [1, None]}}
    assert store.alert_parts(2) == {}


def test_a_tick_that_cannot_be_written_raises_no_alert(store: Store) -> None:
    layout = store.layout("a", ())
    with pytest.raises(ValueError):
        put(store, alerts=[HOT], rows=[Row(NOW, "a", NOW, layout, [1.0])])
    assert store.alerts() == []
