"""Alerts, rules and silences over HTTP: a collector's alarms behind a real store, people in front of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from alerts.machine import Phase, Standing
from alerts.notices import Channel
from alerts.record import Alert, RuleState, standings_json
from alerts.rule import Severity
from dashboard.api import alert_answers
from dashboard.api.awaited import SILENT as SILENT_COLLECTOR
from pipeline.notify.destination import Shown
from storage.alerts import AlertFilter
from storage.records import Batch
from tests.web.alert_world import FAR, HOT, OVER, SILENT, SLOW, collecting, raise_alerts
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.world import World, tick


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    found = make_world()
    found.run(0, 60)
    raise_alerts(found)
    return found


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    return make_web(world)


def numbers(found: Any) -> list[int]:
    return [one["id"] for one in found["alerts"]]


def test_what_is_well_again_says_how_long_until_it_is_over(web: Web, world: World) -> None:
    ending = Standing(Phase.FIRING, tick(25), tick(15), True, 20_000, tick(60), clears=True)
    world.writer.commit(Batch(standings=[RuleState("gpu_hot", standings_json({FAR.key: ending}))]), world.now)
    web.step()
    found = next(one for one in web.get("alerts")["alerts"] if one["id"] == FAR.id)
    assert (found["known"], found["condition"], found["ends_in_s"]) == (True, "ending", 40.0)


def test_what_fires_stands_first_each_with_its_state(web: Web) -> None:
    found = web.get("alerts")
    assert [(one["id"], one["state"], one["known"], one["condition"]) for one in found["alerts"]] == [
        (5, "silenced", True, "holds"),
        (3, "acknowledged", None, None),
        (2, "inhibited", False, "unknown"),
        (1, "firing", None, None),
        (4, "resolved", None, None),
    ]
    assert found["pending"] == [
        {
            "rule": "gpu_too_hot",
            "title": "GPU too hot",
            "key": ["spark-02", "0"],
            "subject": "spark-02, GPU 0",
            "severity": "critical",
            "since": tick(50),
            "fires_after_ms": 60_000,
        }
    ]


def test_an_alert_that_ends_while_it_is_listed_stands_there_once(
    web: Web, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = web.process.sources.store
    look = store.alerts

    def looked(wanted: AlertFilter | None = None) -> list[Alert]:
        found = look(wanted)
        over = replace(SILENT, ended_ms=tick(60), ended="it is well again", revision=SILENT.revision + 1)
        world.writer.commit(Batch(alerts=[over]), world.now)
        return found

    monkeypatch.setattr(store, "alerts", looked)
    found = web.get("alerts")
    assert sorted(numbers(found)) == [1, 2, 3, 4, 5]
    assert next(one["state"] for one in found["alerts"] if one["id"] == SILENT.id) == "resolved"


def test_alerts_as_alertmanager_has_them(web: Web) -> None:
    told = {one["id"]: one for one in web.get("alerts")["alerts"]}
    assert told[5]["labels"] == {
        "alertname": "gpu_hot",
        "severity": "warning",
        "node": "spark-03",
        "gpu": "0",
        "deployment": "Kimi-K3",
    }
    assert told[1]["annotations"] == {
        "summary": "node_silent",
        "description": "node_silent 1",
        "runbook_url": "docs/alerts.md#node_silent",
    }
    assert {number: one["status"] for number, one in told.items()} == {
        1: {"state": "active", "silencedBy": [], "inhibitedBy": []},
        2: {"state": "suppressed", "silencedBy": [], "inhibitedBy": ["1"]},
        3: {"state": "active", "silencedBy": [], "inhibitedBy": []},
        4: {"state": "resolved", "silencedBy": [], "inhibitedBy": []},
        5: {"state": "suppressed", "silencedBy": ["1"], "inhibitedBy": []},
    }
    instant = datetime.fromtimestamp(OVER.fired_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    assert (told[4]["startsAt"], told[4]["fingerprint"]) == (instant, "4")
    assert told[4]["endsAt"] > instant
    assert told[1]["endsAt"] == "0001-01-01T00:00:00Z"
    assert web.get("alerts/2")["alert"]["annotations"]["runbook_url"] == "docs/alerts.md#gpu_hot"


def test_whether_the_collector_is_silent(web: Web, world: World) -> None:
    monitor = web.get("alerts")["monitor"]
    assert not monitor["silent"]
    assert 0 <= monitor["commit_age_ms"] < 10_000
    world.now += 20_000
    assert web.get("alerts")["monitor"] == {"commit_age_ms": monitor["commit_age_ms"] + 20_000, "silent": True}


def test_rules_for_prometheus(web: Web) -> None:
    found = web.get("rules/prometheus")
    assert "gpu_hot" in found["rules"]
    assert found["left_out"]["engine_wedged"].startswith("it is about engines")
    assert "own" in found["partly"]["gpu_hot"][0]
    answer = web.client.get("/api/v1/rules/prometheus.yml")
    assert answer.data.decode() == found["text"]
    assert answer.headers["Content-Disposition"] == 'attachment; filename="tachograph-rules.yml"'


def test_a_rule_of_which_nothing_can_be_known_says_why(web: Web) -> None:
    why = {one["name"]: one["unknown"] for one in web.get("rules")["rules"] if one["unknown"]}
    assert why == {"slower_than_baseline": "no run is marked as its deployment's baseline"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("state=firing", [5, 3, 2, 1]),
        ("state=resolved", [4]),
        ("rule=gpu_hot", [5, 2]),
        ("node=spark-01", [2, 1]),
        ("deployment=Kimi-K3", [5, 3, 2, 4]),
        ("severity=critical", [1]),
        ("run=7", [3]),
        (f"end={tick(20)}", [1, 4]),
        (f"start={tick(41)}", [5, 3, 2, 1]),
        ("text=GPU_hot", [5, 2]),
        ("text=hot spark-03", [5]),
        ("text=well again", [4]),
        ("limit=2", [5, 3]),
    ],
)
def test_alerts_are_chosen(web: Web, query: str, expected: list[int]) -> None:
    assert numbers(web.get(f"alerts?{query}")) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("limit=3", [5, 3, 2]),
        ("limit=5", [5, 3, 2, 1, 7]),
        ("limit=1&state=resolved", [7]),
        ("limit=1&text=kv", [7]),
        ("limit=2&severity=warning", [5, 3]),
    ],
)
def test_a_limit_leaves_out_what_is_over_first(web: Web, world: World, query: str, expected: list[int]) -> None:
    """What fires is older than an alert that came and went; one of them is acknowledged, one silenced."""
    world.writer.commit(Batch(alerts=[replace(OVER, id=7, fired_ms=tick(41), ended_ms=tick(42))]), world.now)
    assert numbers(web.get(f"alerts?{query}")) == expected


def test_one_alert_and_what_it_explains(web: Web) -> None:
    found = web.get("alerts/1")
    assert numbers({"alerts": found["effects"]}) == [2]
    assert (found["because"], found["silenced"], found["rule"]["name"]) == (None, None, "node_silent")
    assert (found["alert"]["subject"], web.get("alerts/2")["alert"]["subject"]) == ("spark-01", "spark-01, GPU 0")
    assert web.get("alerts/2")["because"]["id"] == 1
    assert web.get("alerts/5")["silenced"]["comment"] == "fan"
    assert found["alert"]["message"] == SILENT.message
    hot = web.get("alerts/2")["alert"]
    assert (hot["values"], hot["began"], hot["fired"], hot["cause"]) == (list(HOT.values), tick(15), tick(25), 1)
    over = web.get("alerts/4")["alert"]
    assert (over["ended"], over["why_ended"]) == (OVER.ended_ms, OVER.ended)
    assert web.get("alerts/3")["alert"]["acknowledged_by"] == SLOW.acknowledged_by
    assert web.get("alerts/9", 404)["error"] == "There is no alert 9."
    assert web.get("alerts/5/evidence") == {"parts": {}}
    assert web.get("alerts/9/evidence", 404)["error"] == "There is no alert 9."


def test_rules_say_where_their_values_come_from(world: World, make_web: MakeWeb) -> None:
    web = make_web(world, alerts={"gpu_hot": {"for": "90s"}, "power_delivery": {"settings": {"power": "25 W"}}})
    rules = {one["name"]: one for one in web.get("rules")["rules"]}
    hot, power = rules["gpu_hot"], rules["power_delivery"]
    assert (hot["for"], hot["origins"]["for"], hot["origins"]["when"]) == ("90s", "file", "default")
    assert power["settings"] == {"busy": "80 %", "clock": "1400 MHz", "power": "25 W"}
    assert (power["origins"]["settings.power"], power["origins"]["settings.clock"]) == ("file", "default")


def ask(web: Web, status: int, **body: Any) -> Any:
    answer = web.client.post("/api/v1/alerts/commands", json=body)
    assert answer.status_code == status, answer.text
    return answer.json


def test_people_acknowledge_silence_and_change_rules(world: World, web: Web) -> None:
    with collecting(world):
        assert ask(web, 200, kind="acknowledge", alert=FAR.id, by="bob")["error"] is None
        assert ask(web, 409, kind="acknowledge", alert=4)["error"] == "there is no alert 4 that fires"
        assert ask(web, 200, kind="silence", rule="straggler", end_ms=world.now + 1000)["error"] is None
        assert ask(web, 200, kind="unsilence", silence=1)["error"] is None
        assert ask(web, 200, kind="rule", name="gpu_hot", table={"for": "5s"}, by="bob")["error"] is None
        assert ask(web, 200, kind="rule", name="mine", table=MINE)["error"] is None
    assert web.get("alerts/5")["alert"]["acknowledged_by"] == "bob"
    assert [(one["id"], one["state"]) for one in web.get("silences")["silences"]] == [(2, "active"), (1, "over")]
    rules = {one["name"]: one for one in web.get("rules")["rules"]}
    assert (rules["gpu_hot"]["for"], rules["gpu_hot"]["origins"]["for"]) == ("5s", "page")
    assert rules["mine"]["title"] == "Mine"
    assert [(one["rule"], one["by"], one["before"], one["table"]) for one in web.get("rules/log")["changes"]] == [
        ("mine", "API", None, MINE),
        ("gpu_hot", "bob", None, {"for": "5s"}),
    ]
    changed = {one["id"]: one for one in web.get("alerts")["alerts"]}
    assert (changed[5]["state"], changed[5]["why_ended"]) == ("resolved", "the rule was changed")


@pytest.mark.parametrize(
    ("headers", "named", "by"),
    [
        ({}, {}, "API"),
        ({"Origin": "http://localhost"}, {}, "page"),
        ({"Sec-Fetch-Site": "same-origin"}, {}, "page"),
        ({"Sec-Fetch-Site": "same-origin"}, {"by": "ann"}, "ann"),
        ({}, {"by": "ann"}, "ann"),
    ],
)
def test_who_gave_an_order(world: World, web: Web, headers: dict[str, str], named: dict[str, str], by: str) -> None:
    """A name that is given, else the way by which the order came."""
    body = {"kind": "acknowledge", "alert": FAR.id, **named}
    with collecting(world):
        answer = web.client.post("/api/v1/alerts/commands", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
    assert web.get("alerts/5")["alert"]["acknowledged_by"] == by


MINE = {"title": "Mine", "place": "gpu", "when": "gpu_power_watts > 100 W", "severity": "info"}


def test_what_cannot_be_asked_is_refused_at_once(web: Web) -> None:
    assert ask(web, 400, kind="nonsense")["error"].startswith("There is no command “nonsense”, known are: acknowledge")
    assert ask(web, 400)["error"] == "Send an object: {“kind”: “acknowledge”, “alert”: 1}."
    assert ask(web, 400, kind="silence")["error"] == "“end_ms” is missing, expected a whole number."
    weekly = {"days": ["mon"], "from": "9:00", "to": "10:00"}
    refused = ask(web, 400, kind="silence", end_ms=1, weekly=weekly)["error"]
    assert refused == "“from” is a time such as 22:00, not '9:00'."
    bad = ask(web, 400, kind="rule", name="gpu_hot", table={"for": "soon"})["error"]
    assert bad == "Rule gpu_hot: for: 'soon' is no duration: write it like 90s, 2min or 24h."
    answer = web.client.post("/api/v1/alerts/commands", data="x")
    assert answer.status_code == 415


def test_an_order_that_nobody_carries_out(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert_answers, "WAIT_S", 0.01)
    found = ask(web, 503, kind="acknowledge", alert=1)
    assert (found["applied"], found["why"]) == (None, SILENT_COLLECTOR)
    assert web.world.writer.pending_commands() == [], "no collector that comes later carries it out"
    later = web.get(f"alerts/commands/{found['command']}")
    assert later["applied"] is not None
    assert later["error"] == "no collector had carried it out in time, so it was taken back"
    assert web.get("alerts/commands/77", 404)["error"] == "There is no command 77."


@pytest.mark.parametrize("name", ["", "Fan gone!", "fan_gone"])
def test_a_draft_is_replayed_without_name_and_title(web: Web, name: str) -> None:
    def replay(**table: str) -> Any:
        return web.client.post("/api/v1/rules/replay", json={"name": name, "table": table, "start": "-1h"})

    draft = {"place": "gpu", "when": "gpu_temperature_celsius > 0 °C", "severity": "warning"}
    found = replay(**draft)
    assert (found.status_code, len(found.json["fired"]) > 0) == (200, True)
    refused = replay(**draft | {"for": "soon"})
    assert (refused.status_code, refused.json["error"][:8]) == (400, "For: 'so")
    unit = replay(**draft | {"when": "gpu_temperature_celsius > 0 C"}).json["error"]
    assert unit == "When: there is no unit C: here it may be °C (at character 29)."


@pytest.mark.parametrize("name", ["", "  ", None])
def test_a_rule_without_a_name_is_refused_with_a_sentence(web: Web, name: str | None) -> None:
    told = "A rule needs a name, such as fan_gone: small letters, digits and _"
    assert ask(web, 400, kind="rule", name=name, table=MINE)["error"].rstrip(".") == told
    assert ask(web, 400, kind="rule", name="Fan gone", table=MINE)["error"].startswith("“name” is 'Fan gone'")


def test_a_rule_is_checked_without_being_changed(web: Web) -> None:
    def check(**body: Any) -> Any:
        return web.client.post("/api/v1/rules/check", json=body)

    assert check(name="gpu_hot", table={"for": "5s"}).json == {"problems": [], "notes": []}
    problems = check(name="gpu_hot", table={"when": "gpu_temp > 1", "severity": "warning"}).json["problems"]
    assert problems == [
        "when: there is no metric gpu_temp; near are gpu_temperature_celsius, engine_up (at character 1)"
    ] or problems[0].startswith("when: there is no metric gpu_temp")
    assert check(name="gpu_hot").status_code == 400
    assert web.get("rules/log") == {"changes": []}


def test_a_rule_that_nobody_would_hear_of_says_so(world: World, make_web: MakeWeb) -> None:
    web = make_web(world, channels=(Shown(Channel("ops", Severity.WARNING), "ntfys://…"),))
    found = {one["name"]: one["untold"] for one in web.get("rules")["rules"]}
    assert (found["gpu_hot"], found["versions_differ"]) == ("", "ops hears warning and graver")
    given = {"name": "gpu_hot", "table": {"severity": "info", "channels": ["ops"]}}
    checked = web.client.post("/api/v1/rules/check", json=given).json
    assert checked == {"problems": [], "notes": ["nobody is told of it: ops hears warning and graver"]}
    rule = web.pages.get("/fragment/alert-rules").text
    assert "nobody: ops hears warning and graver" in rule
