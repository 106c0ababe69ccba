"""Parts of the Alerts pages as the browser fetches them: numbers and words over a real store."""

from __future__ import annotations

import re

import pytest

from tests.web.alert_world import raise_alerts
from tests.web.conftest import MakeWeb, MakeWorld, Web


@pytest.fixture
def web(make_world: MakeWorld, make_web: MakeWeb) -> Web:
    world = make_world()
    world.run(0, 60)
    raise_alerts(world)
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
    assert told.startswith("Firing 3 causes, 4 alerts ■ node_silent critical")
    assert "1 more alert follows from it gpu_hot : gpu_hot 2" in told
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
    assert told.startswith("gpu_hot fires because of another")
    assert "Because of alert 1" in told
    assert "GPU temperature 88.0 °C" in told
    assert "Follows from it" in words(fragment(web, "alert?number=1"))


@pytest.mark.parametrize("number", ["9", "x", "", "-1", "9" * 40])
def test_an_alert_that_there_is_not(web: Web, number: str) -> None:
    assert "There is no such alert" in words(fragment(web, f"alert?number={number}", 404))


def test_a_store_without_anything(quiet: Web) -> None:
    told = words(fragment(quiet, "alerts"))
    assert told.startswith("Firing all quiet Nothing is wrong that a rule knows of. Silences")
    assert "Pending" not in told
    assert "No alert has fired and ended yet." in words(fragment(quiet, "alerts-over"))
    assert 'data-rule="gpu_hot"' in fragment(quiet, "alert-rules")
    assert "There is no such alert" in fragment(quiet, "alert?number=1", 404)
