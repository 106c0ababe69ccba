"""What the Alerts pages make of their values: causes and what follows, order, words, forms; hostile texts stay text."""

from __future__ import annotations

import re
from typing import Any

from dashboard.components import alert_forms as forms
from dashboard.components import alert_lists as lists
from dashboard.layout import static
from dashboard.pages import alert as alert_page
from dashboard.pages import alerts as page
from tests.dashboard.parts import attribute, rows, walk
from tests.dashboard.parts import text as all_text

NOW = 1_796_000_600_000
EVIL = '<img src=x onerror="alert(1)">&'


def alert(number: int, **more: Any) -> dict[str, Any]:
    """An alert that fired five minutes before NOW, wrong for ten seconds more."""
    plain: dict[str, Any] = {
        "id": number,
        "rule": "gpu_hot",
        "title": f"GPU hot {number}",
        "place": "gpu",
        "key": [f"spark-0{number}", "0"],
        "severity": "warning",
        "deployment": "Kimi-K3",
        "state": "firing",
        "began": NOW - 310_000,
        "fired": NOW - 300_000,
        "ended": None,
        "why_ended": "",
        "message": f"message {number}",
        "values": [],
        "known": True,
        "cause": None,
        "silence": None,
        "acknowledged": None,
        "acknowledged_by": "",
        "run": None,
    }
    return {**plain, **more}


def render(part: Any) -> str:
    return static.render(part, {})


def text(part: Any) -> str:
    """What can be read of a part; forms have tests of their own."""
    return " ".join(re.sub(r"<form.*?</form>", "", all_text(part)).split())


def titles(part: Any) -> list[str]:
    return [text(one) for one in walk(part) if one.to_plotly_json()["type"] == "H3"]


def test_a_cause_has_one_card_with_what_follows_from_it() -> None:
    found = lists.firing(
        [
            alert(1),
            alert(2, state="inhibited", cause=1, message="because"),
            alert(3, state="inhibited", cause=1, message="too"),
        ],
        NOW,
    )
    assert titles(found) == ["GPU hot 1"]
    assert "2 more alerts follow from it GPU hot 2 : because GPU hot 3 : too" in text(found)
    one = lists.firing([alert(1), alert(2, state="inhibited", cause=1, message="because")], NOW)
    assert "1 more alert follows from it" in text(one)


def test_the_gravest_stands_first_the_newest_among_equals_and_the_silenced_last() -> None:
    found = lists.firing(
        [
            alert(1, severity="info"),
            alert(2, fired=NOW - 400_000),
            alert(3, fired=NOW - 200_000),
            alert(4, severity="critical", state="silenced"),
            alert(5, severity="critical"),
            alert(6, severity="critical", state="acknowledged", acknowledged=NOW - 1000),
        ],
        NOW,
    )
    assert titles(found) == [f"GPU hot {number}" for number in (5, 6, 3, 2, 1, 4)]


def test_nothing_fires() -> None:
    assert text(lists.firing([], NOW)) == "Nothing is wrong that a rule knows of."
    assert page.count([]) == "all quiet"


def test_alerts_are_counted_by_cause() -> None:
    assert page.count([alert(1)]) == "1 cause"
    assert page.count([alert(1), alert(2)]) == "2 causes"
    assert page.count([alert(1), alert(2, state="inhibited", cause=1)]) == "1 cause, 2 alerts"


def test_a_card_says_since_when_and_how_it_stands() -> None:
    fresh = lists.card(alert(1), (), NOW)
    assert text(fresh) == "▲ GPU hot 1 warning for 5m 10s, since message 1"
    instants = [attribute(one, "data-instant") for one in walk(fresh) if one.to_plotly_json()["type"] == "Time"]
    assert instants == [str(NOW - 310_000)]
    assert (attribute(fresh, "data-severity"), attribute(fresh, "data-state")) == ("warning", "firing")
    html = render(fresh)
    assert 'data-alert-order="acknowledge"' in html
    assert 'data-alert-order="silence"' in html
    seen = lists.card(alert(1, state="acknowledged", acknowledged=NOW, acknowledged_by="ann"), (), NOW)
    assert "fires, acknowledged" in text(seen)
    assert "acknowledged by ann," in text(seen)
    assert 'data-alert-order="acknowledge"' not in render(seen)
    nobody = lists.card(alert(1, state="acknowledged", acknowledged=NOW), (), NOW)
    assert "acknowledged," in text(nobody)
    quiet = lists.card(alert(1, state="silenced"), (), NOW)
    assert "fires, silenced" in text(quiet)
    assert 'data-alert-order="silence"' not in render(quiet)


def test_what_is_not_known_any_more_goes_on_and_says_so() -> None:
    words = "Not known any more; it counts as going on."
    assert words in text(lists.card(alert(1, known=False), (), NOW))
    assert words not in text(lists.card(alert(1, known=True), (), NOW))
    assert words not in text(lists.card(alert(1, known=None), (), NOW))


def test_how_long_an_alert_lasted_ends_with_it() -> None:
    assert lists.lasted(alert(1), NOW) == "5m 10s"
    assert lists.lasted(alert(1, ended=NOW - 280_000), NOW) == "30.0 s"


def test_what_may_come_to_fire() -> None:
    one = {"title": "GPU too hot", "subject": "spark-02, GPU 0", "severity": "critical", "since": NOW - 40_000}
    assert rows(lists.pending([{**one, "fires_after_ms": 60_000}], NOW))[1] == [
        "■ GPU too hot",
        "spark-02, GPU 0",
        "40.0 s",
        "1m 0s",
    ]


SILENCE: dict[str, Any] = {
    "id": 3,
    "state": "active",
    "start": NOW,
    "end": NOW + 1000,
    "rule": "",
    "node": "",
    "deployment": "",
    "severity": "",
    "comment": "",
}


def test_silences_say_what_they_are_about() -> None:
    about = {"rule": "gpu_hot", "node": "spark-03", "severity": "warning", "comment": "fan"}
    found = rows(lists.silences([{**SILENCE, **about}, SILENCE]))
    assert found[1][:2] == ["rule gpu_hot, node spark-03, severity warning", "active"]
    assert found[1][4] == "fan"
    assert (found[2][0], found[2][4]) == ("everything", "–")
    assert 'name="silence" value="3"' in render(lists.silences([SILENCE]))


def test_what_is_over() -> None:
    ended = alert(1, state="resolved", ended=NOW - 250_000, why_ended="it is well again")
    assert rows(lists.history([ended], NOW))[1] == ["▲ GPU hot 1", "message 1", "", "1m 0s", "it is well again"]
    assert rows(lists.history([{**ended, "why_ended": ""}], NOW))[1][4] == "–"


RULE: dict[str, Any] = {
    "name": "gpu_hot",
    "title": "GPU hot",
    "when": "gpu_temperature_celsius >= $limit",
    "clear": "",
    "for": "60s",
    "clear_for": "30s",
    "severity": "warning",
    "text": "It throttles soon.",
    "runbook": "",
    "enabled": True,
    "settings": {"limit": "85 °C"},
    "origins": {"for": "default", "when": "default"},
}


def test_a_rule_as_delivered() -> None:
    found = lists.rule(RULE)
    assert text(found) == "▲ GPU hot warning It throttles soon."
    assert attribute(found, "data-rule") == "gpu_hot"
    html = render(found)
    assert 'data-alert-order="enable"' in html
    assert "Switch off" in html
    assert 'data-alert-order="reset"' not in html
    assert 'name="table.settings.limit" value="85 °C"' in html
    assert 'name="table.for" value="60s"' in html
    assert '<textarea name="table.when" rows="1"' in html
    assert '<option value="warning" selected>' in html


def test_a_changed_rule_says_by_whom_and_offers_the_way_back() -> None:
    changed = {**RULE, "enabled": False, "origins": {"for": "page", "when": "file", "clear": "default"}}
    found = lists.rule(changed)
    assert text(found).startswith("○ GPU hot warning off changed")
    assert "for changed here when from tachograph.toml" in text(found)
    html = render(found)
    assert "Switch on" in html
    assert 'data-alert-order="reset"' in html
    assert 'data-alert-order="reset"' not in render(lists.rule({**RULE, "origins": {"for": "file"}}))


def test_only_a_safe_runbook_is_a_link() -> None:
    assert "Runbook" in text(lists.rule({**RULE, "runbook": "https://wiki/hot"}))
    assert "Runbook" not in text(lists.rule({**RULE, "runbook": "javascript:alert(1)"}))


def test_hostile_texts_stay_text() -> None:
    hostile = alert(1, title=EVIL, message=EVIL, why_ended=EVIL, acknowledged=NOW, acknowledged_by=EVIL, key=[EVIL])
    values = [{"metric": "", "label": EVIL, "text": EVIL, "corroborates": False}]
    rule = dict.fromkeys(("name", "title", "when", "clear", "for", "clear_for", "text", "runbook"), EVIL)
    about = dict.fromkeys(("rule", "node", "deployment", "severity", "comment", "state"), EVIL)
    shown = [
        lists.firing([hostile, {**hostile, "id": 2, "state": "inhibited", "cause": 1}], NOW),
        lists.card({**hostile, "acknowledged": None}, (), NOW),
        lists.history([hostile], NOW),
        lists.pending([{"title": EVIL, "subject": EVIL, "severity": EVIL, "since": NOW, "fires_after_ms": 0}], NOW),
        lists.silences([{**SILENCE, **about}]),
        lists.rule({**RULE, **rule, "settings": {EVIL: EVIL}, "origins": {EVIL: "page"}}),
        forms.silence([{"name": EVIL, "title": EVIL}], NOW),
        *alert_page.body({"alert": {**hostile, "rule": EVIL, "values": values}, "effects": [hostile]}, NOW)[0],
        *page.rules({"rules": [], "problems": [EVIL]}),
    ]
    for one in shown:
        html = render(one)
        assert "<img" not in html
        assert "&lt;img" in html


def test_a_silence_of_an_alert_is_about_its_rule_and_its_node() -> None:
    html = render(forms.quieten(alert(4), NOW))
    assert 'name="rule" value="gpu_hot"' in html
    assert 'name="node" value="spark-04"' in html
    assert f'name="end_ms" data-as="minutes" data-base="{NOW}"' in html
    assert '<option value="60" selected>1 h</option>' in html
    assert 'name="node"' not in render(forms.quieten(alert(4, key=[]), NOW))


def test_an_alert_leads_to_explore_around_its_time() -> None:
    values = [{"metric": name} for name in ("gpu_temperature_celsius", "target_state", "", "gpu_temperature_celsius")]
    found = alert_page.explore(alert(1, values=values))
    assert found is not None
    around = f"start={NOW - 900_000}&end={NOW + 300_000}"
    assert attribute(found, "href") == f"/explore?metric=gpu_temperature_celsius&{around}"
    over = alert_page.explore(alert(1, values=values, ended=NOW))
    assert over is not None
    assert attribute(over, "href").endswith(f"end={NOW + 600_000}")
    assert alert_page.explore(alert(1, values=[{"metric": "target_state"}])) is None


def test_an_alerts_own_page() -> None:
    values = [
        {"metric": "gpu_power_watts", "label": "GPU power", "text": "20 W", "corroborates": False},
        {"metric": "", "label": "cap", "text": "–", "corroborates": True},
    ]
    told = alert(1, values=values, cause=7, run=3, ended=NOW, why_ended="it is well again", state="resolved")
    content, status = alert_page.body({"alert": told, "effects": []}, NOW)
    assert status == 200
    words = text(content)
    assert words.startswith("GPU hot 1 over message 1 When")
    for part in ("Over Lasted 5m 10s", "Deployment Kimi-K3", "Run run 3", "Because of alert 7", "Ended because it is"):
        assert part in words
    assert rows(content)[1:] == [["GPU power", "20 W", "needed"], ["cap", "–", "goes without"]]
    plain, _ = alert_page.body({"alert": alert(1, deployment=""), "effects": [alert(2)]}, NOW)
    assert "Over not yet" in text(plain)
    assert "Follows from it" in text(plain)
    for absent in ("Deployment", "Because of"):
        assert absent not in text(plain)
    missing, status = alert_page.body(None, NOW)
    assert status == 404
    assert "There is no such alert" in text(missing)
