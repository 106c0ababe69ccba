"""Parts of the Alerts pages as the browser fetches them: numbers and words over a real store."""

from __future__ import annotations

import re

import pytest

from alerts.record import RuleChange
from tests.web.alert_world import raise_alerts
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


@pytest.fixture
def quiet(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    return make_web(make_world())


def fragment(web: Web, address: str, status: int = 200) -> str:
    """A fragment's HTML."""
    answer = web.pages.get(f"/fragment/{address}")
    assert answer.status_code == status, answer.text
    return answer.text


def words(html: str) -> str:
    """What can be read of it, with single spaces."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


def test_what_fires_by_cause(web: Web) -> None:
    html = fragment(web, "alerts")
    assert re.findall(r'<h3><a[^>]*href="(/alerts/\d)"', html) == ["/alerts/1", "/alerts/3", "/alerts/5"]
    assert re.findall(r'data-state="(\w+)"', html) == ["firing", "acknowledged", "silenced"]
    told = words(html)
    assert told.startswith("Firing 3 causes (1 silenced), 4 alerts ■ node_silent critical")
    assert "1 more alert follows from it ▲ gpu_hot : gpu_hot 2" in told
    assert "acknowledged by ann," in told
    assert "Pending Rule Where For Fires after ■ GPU too hot spark-02, GPU 0" in told
    assert "node spark-03 active" in told


def test_what_is_over(web: Web) -> None:
    told = words(fragment(web, "alerts-over"))
    assert told.endswith("▲ kv_full kv_full 4 38.0 s it is well again")


def test_rules(web: Web) -> None:
    html = fragment(web, "alert-rules")
    count = html.count('class="rule"')
    off = html.count('<span class="chip">off</span>')
    assert count > 20
    assert words(html).startswith(f"Rules {count - off} of {count} on")
    assert 'data-rule="gpu_hot"' in html


def test_one_alert(web: Web) -> None:
    told = words(fragment(web, "alert?number=2"))
    assert told.startswith("▲ gpu_hot warning fires because of another When it fired gpu_hot 2")
    assert "Where spark-01, GPU 0 Kimi-K3" in told
    assert "Follows from node_silent : node_silent 1" in told
    assert "GPU temperature 88.0 °C" in words(fragment(web, "alert-more?number=2"))
    assert "Follows from it" in words(fragment(web, "alert-more?number=1"))
    assert "Silenced until by ann: fan" in words(fragment(web, "alert?number=5"))


def test_who_is_told_and_what_was_changed(world: World, web: Web) -> None:
    assert "there is no channel" in words(fragment(web, "alert-channels"))
    assert words(fragment(web, "rule-log")) == "Changes of rules Nobody has changed a rule here yet."
    world.commit(rule_changes=[RuleChange(1, "gpu_hot", {"for": "5s"}, tick(20), "ann")])
    assert "GPU hot for: 5s ann" in words(fragment(web, "rule-log"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("severity=warning", ["/alerts/4"]),
        ("severity=critical", []),
        ("rule=kv_full&node=head", ["/alerts/4"]),
        ("text=KV_full 4", ["/alerts/4"]),
        ("text=kv xid", []),
        (f"end={tick(11)}", []),
        (f"start={tick(40)}", ["/alerts/4"]),
        (f"start={tick(41)}", []),
    ],
)
def test_what_is_over_can_be_chosen(web: Web, query: str, expected: list[str]) -> None:
    html = fragment(web, f"alerts-over?{query}")
    assert re.findall(r'<th[^>]*>.*?<a[^>]*href="(/alerts/\d)"', html) == expected
    assert ("No alert that is over is like that." in html) == (not expected)


def test_a_filter_that_is_none_is_answered_with_a_sentence(web: Web) -> None:
    assert "start" in words(fragment(web, "alerts-over?start=soon"))
    assert 'class="reason critical"' in fragment(web, "alerts-over?start=soon")


@pytest.mark.parametrize("number", ["9", "x", "", "-1", "9" * 40])
def test_an_alert_that_there_is_not(web: Web, number: str) -> None:
    assert "There is no such alert" in words(fragment(web, f"alert?number={number}", 404))


def test_a_silent_collector_leaves_what_was_known_then(world: World, web: Web) -> None:
    before = words(fragment(web, "alerts"))
    assert "Nobody has evaluated" not in before
    world.now += 30_000
    html = fragment(web, "alerts")
    told = words(html)
    assert told.startswith("Firing 3 causes (1 silenced), 4 alerts Nobody has evaluated rules since")
    assert f'since <time data-instant="{world.now - 30_000}"' in html
    assert re.findall(r"for (\S+ \S+) , since", told) == re.findall(r"for (\S+ \S+) , since", before)


def test_nothing_is_well_while_nobody_looks(make_world: MakeWorld, make_web: MakeWeb) -> None:
    calm = make_world()
    calm.run(0, 60)
    web = make_web(calm)
    assert words(fragment(web, "alerts")).startswith("Firing all quiet Nothing is wrong that a rule knows of.")
    calm.now += 60_000
    told = words(fragment(web, "alerts"))
    assert told.startswith("Firing not known Nobody has evaluated rules since")
    assert "Nothing fired then." in told
    assert "Nothing is wrong" not in told


def test_a_store_without_anything(quiet: Web) -> None:
    told = words(fragment(quiet, "alerts"))
    assert told.startswith("Firing not known The collector has not written anything yet: no rule was evaluated. Sil")
    assert "Pending" not in told
    assert "No alert has fired and ended yet." in words(fragment(quiet, "alerts-over"))
    assert 'data-rule="gpu_hot"' in fragment(quiet, "alert-rules")
    assert "There is no such alert" in fragment(quiet, "alert?number=1", 404)
