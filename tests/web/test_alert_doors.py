"""What is sent to alerts and is none of theirs: 400 with a sentence, never a fault, and nothing is queued."""

from __future__ import annotations

from typing import Any

import pytest

from alerts.record import Silence, fault_state
from alerts.weekly import Weekly
from storage.records import Batch
from tests.web.alert_world import collecting, raise_alerts
from tests.web.conftest import MakeWeb, MakeWorld, Web
from tests.web.test_alerts import MINE, ask
from tests.web.world import World, tick

COMMANDS = "/api/v1/alerts/commands"
YEAR_MS = 366 * 86_400_000


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    found = make_world()
    found.run(0, 60)
    raise_alerts(found)
    return found


@pytest.fixture
def web(world: World, make_web: MakeWeb) -> Web:
    return make_web(world)


def window(begin: str) -> dict[str, Any]:
    return {"days": ["mon"], "from": begin, "to": "10:00"}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"kind": "silence", "end_ms": 1, "weekly": window("0\u0663:00")}, "“from” is a time such as 22:00"),
        ({"kind": "silence", "end_ms": 9_007_199_254_000_000}, "“end_ms” is later than the year 2100"),
        ({"kind": "silence", "end_ms": 1, "start_ms": 4_102_444_800_001}, "“start_ms” is later than the year 2100"),
        ({"kind": "rule", "name": "gpu_hot", "table": {"settings": 5}}, "Rule gpu_hot: settings are texts such as"),
        ({"kind": "rule", "name": "gpu_hot", "table": {"settings": [5]}}, "Rule gpu_hot: settings are texts such as"),
        ({"kind": "rule", "name": "new", "table": {**MINE, "settings": 5}}, "Rule new: settings are texts such as"),
        ({"kind": "rule", "name": "new", "table": {**MINE, "settings": {"x": 5}}}, "Rule new: settings are texts"),
    ],
)
def test_what_makes_no_sense_is_refused(web: Web, body: dict[str, Any], says: str) -> None:
    assert ask(web, 400, **body)["error"].startswith(says)


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "rule", "name": "new", "table": {"title": "\\ud800x"}}',
        '{"kind": "acknowledge", "alert": NaN}',
        '{"kind": "acknowledge", "alert": 1} 2',
        '{"kind": ' + "[" * 20_000 + "]" * 20_000 + "}",
        '{"kind": "rule", "name": "gpu_hot", "table": ' + '{"a":' * 40 + "1" + "}" * 40 + "}",
        "[" * 31_000,
    ],
    ids=["surrogate", "NaN", "two", "deep", "somewhat deep", "open"],
)
@pytest.mark.parametrize("path", [COMMANDS, "/api/v1/rules/check", "/api/v1/runs/commands", "/api/v1/annotations"])
def test_json_that_nobody_could_keep_is_refused(web: Web, path: str, text: str) -> None:
    status = web.client.post(path, data=text, content_type="application/json").status_code
    assert status == 400 or (status == 413 and len(text) > 16_000)


def test_a_silence_begins_within_a_year(world: World, web: Web) -> None:
    with collecting(world):
        for ahead in (YEAR_MS + 1, YEAR_MS):
            start = world.now + ahead
            answer = ask(web, 409 if ahead > YEAR_MS else 200, kind="silence", start_ms=start, end_ms=start + 1000)
            assert answer["error"] == ("a silence begins within a year" if ahead > YEAR_MS else None)


BROKEN = Silence(2, tick(0), tick(500), weekly=Weekly(("mon",), "0\u0663:00", "10:00"))


def test_a_broken_silence_is_shown_and_can_be_ended(world: World, web: Web, caplog: pytest.LogCaptureFixture) -> None:
    world.writer.commit(Batch(silences=[BROKEN]), world.now)
    for path in ("status", "alerts", "live", "silences"):
        assert web.client.get(f"/api/v1/{path}").status_code == 200, path
    found = {one["id"]: one for one in web.get("silences")["silences"]}
    problem = "“from” is a time such as 22:00, not '0\u0663:00'"
    assert (found[2]["state"], found[2]["problem"]) == ("broken", problem)
    assert (found[1]["state"], found[1]["problem"]) == ("active", "")
    assert web.get("alerts/5")["silenced"]["id"] == 1, "the others hold on"
    with collecting(world):
        assert ask(web, 200, kind="unsilence", silence=2)["error"] is None
    assert f"silence 2 hides nothing: {problem}" in caplog.messages
    ended = {one["id"]: one for one in web.get("silences")["silences"]}[2]
    assert (ended["state"], ended["problem"], ended["weekly"]["from"]) == ("over", "", "0\u0663:00")


def test_a_rule_that_cannot_be_worked_out_says_so(world: World, web: Web) -> None:
    world.writer.commit(Batch(standings=[fault_state("gpu_hot", "cannot be worked out: E, x")]), world.now)
    found = web.get("rules")
    rules = {one["name"]: one["fault"] for one in found["rules"] if one["fault"]}
    assert rules == {"gpu_hot": "cannot be worked out: E, x"}
    assert found["problems"] == ["rule gpu_hot cannot be worked out: E, x"]
    assert len(web.get("alerts")["alerts"]) == 5, "where rules stand is read beside it"
    world.writer.commit(Batch(standings=[fault_state("gpu_hot", "")]), world.now)
    assert web.get("rules")["problems"] == []


def test_a_chain_that_would_stop_the_collector_is_refused(web: Web) -> None:
    when = "load_average" + "+1" * 974 + " > 9"
    table = {"title": "d", "place": "node", "severity": "info", "when": when}
    said = ask(web, 400, kind="rule", name="deep", table=table)["error"]
    assert said.startswith("Rule deep: when: a condition has at most 100 of + - * / (at character ")


@pytest.mark.parametrize(
    ("silence", "states", "causes"),
    [
        ({"rule": "node_silent"}, ["silenced", "firing"], 2),
        ({"rule": "gpu_hot"}, ["firing", "inhibited"], 2),
        ({"node": "spark-01"}, ["silenced", "silenced"], 1),
        ({"rule": "kv_full"}, ["firing", "inhibited"], 2),
    ],
)
def test_what_follows_from_a_silenced_alert_stands_for_itself(
    world: World, web: Web, silence: dict[str, Any], states: list[str], causes: int
) -> None:
    """1, of spark-01, is why 2 fires; 3 of spark-02 beside them, 5 of spark-03 is silenced."""
    world.writer.commit(Batch(silences=[Silence(2, tick(0), tick(500), **silence)]), world.now)
    found = {one["id"]: one["state"] for one in web.get("alerts")["alerts"]}
    assert [found[1], found[2]] == states
    assert web.step()["alerts"]["causes"] == causes
