"""What the Alerts page makes of its values: causes and what follows, order, words, forms; hostile texts stay text."""

from __future__ import annotations

import re
from typing import Any

import pytest

from alerts.defaults import defaults
from dashboard import alert_steps
from dashboard.components import alert_channels, alert_rules, alert_words
from dashboard.components import alert_forms as forms
from dashboard.components import alert_lists as lists
from dashboard.pages import alert as alert_page
from dashboard.pages import alerts as page
from tests.dashboard.alert_parts import (
    AROUND,
    CHANGE,
    CHANNEL,
    EVIL,
    NOW,
    RULE,
    SILENCE,
    alert,
    render,
    text,
    titles,
)
from tests.dashboard.parts import attribute, rows, walk


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
    assert "2 more alerts follow from it ▲ GPU hot 2 : because ▲ GPU hot 3 : too" in text(found)
    assert "<details" in render(found)
    one = lists.firing([alert(1), alert(2, state="inhibited", cause=1, message="because")], NOW)
    assert "1 more alert follows from it" in text(one)


def cards(found: Any) -> list[str]:
    """Severity of each."""
    return re.findall(r'<article[^>]* data-severity="([a-z]+)"', render(found))


def test_a_cause_is_as_grave_as_what_follows_from_it() -> None:
    grave = alert(2, state="inhibited", cause=1, severity="critical")
    found = lists.firing([alert(1), grave, alert(3)], NOW)
    assert titles(found) == ["GPU hot 1", "GPU hot 3"]
    assert cards(found) == ["critical", "warning"]
    quiet = lists.firing([alert(1), {**grave, "silence": 5}, {**grave, "id": 4, "cause": 7}], NOW)
    assert cards(quiet) == ["warning"], "of what nobody wants to hear of, and of what is not there, nothing"
    assert lists.groups([alert(1), {**grave, "state": "firing"}])[1][0]["severity"] == "warning", "it stands for itself"


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


def test_the_same_alert_on_one_thing_after_another_has_one_card() -> None:
    many = [alert(number, subject=f"n{number}", fired=NOW - number * 1000) for number in range(1, 13)]
    found = lists.firing([*many, alert(20, state="inhibited", cause=12)], NOW)
    assert titles(found) == ["GPU hot 1"]
    told = text(found)
    assert "and on 11 more: n2, n3, n4, n5, n6, n7, n8, n9, …" in told
    assert "GPU hot 12 :" in told
    assert "1 more alert follows from it" in told, "also from one of the others"
    assert "and on 2 more: n2, n3" in text(lists.firing(many[:3], NOW))
    later = [alert(number, subject=f"n{number}", fired=NOW - 9000 + number) for number in (1, 2, 10)]
    assert "GPU hot 1 warning" in text(lists.firing(later, NOW)), "by name, whichever fired last"
    assert "and on 2 more: n2, n10" in text(lists.firing(later, NOW))
    apart = [many[0], many[1], alert(3, fired=NOW - 61_001)]
    acknowledged = [*many[:2], alert(3, fired=NOW - 3000, state="acknowledged", acknowledged=NOW)]
    for few in (many[:2], apart, acknowledged):
        assert len(titles(lists.firing(few, NOW))) == len(few)


def test_a_broken_silence_says_so() -> None:
    found = text(lists.silences([{**SILENCE, "state": "broken", "problem": "“from” is no time"}]))
    assert "number 3 is broken: “from” is no time" in found


def test_information_has_a_mark_of_its_own() -> None:
    card = lists.firing([alert(1, severity="info")], NOW)
    assert text(card).startswith("◆ GPU hot 1")
    past = lists.history([alert(1, severity="info", ended=NOW)], NOW)
    assert rows(past)[1][0] == "◆ GPU hot 1"
    assert [attribute(row, "data-level") for row in walk(past) if row.to_plotly_json()["type"] == "Tr"][1:] == ["info"]
    assert text(alert_rules.rule({**RULE, "severity": "info"})).startswith("◆ GPU hot info")


def test_nothing_fires() -> None:
    assert text(lists.firing([], NOW)) == "Nothing is wrong that a rule knows of."
    assert page.count([]) == "all quiet"


def test_a_collector_that_is_silent_is_told_of_first() -> None:
    assert page.silent({"silent": False, "commit_age_ms": 500}, NOW) == []
    gone = page.silent({"silent": True, "commit_age_ms": 65_000}, NOW - 65_000)
    assert text(gone).startswith("Nobody has evaluated rules since")
    assert [attribute(one, "data-instant") for one in walk(gone) if attribute(one, "data-instant")] == [
        str(NOW - 65_000)
    ]
    never = page.silent({"silent": True, "commit_age_ms": None}, NOW)
    assert text(never) == "The collector has not written anything yet: no rule was evaluated."


def test_alerts_are_counted_by_cause() -> None:
    assert page.count([alert(1)]) == "1 cause"
    assert page.count([alert(1), alert(2)]) == "2 causes"
    assert page.count([alert(1), alert(2, state="inhibited", cause=1)]) == "1 cause, 2 alerts"
    many = [alert(number, severity="info", fired=NOW - number) for number in range(1, 5)]
    assert page.count(many) == "1 cause (1 for information), 4 alerts", "as many as cards"
    assert page.count([alert(1), alert(2, severity="info", state="silenced")]) == "2 causes (1 silenced)"
    mixed = [alert(1, severity="info"), alert(2, severity="critical", state="silenced")]
    assert page.count(mixed) == "2 causes (1 for information, 1 silenced)"


def test_a_card_says_since_when_and_how_it_stands() -> None:
    fresh = lists.card(alert(1), (), NOW)
    assert text(fresh) == "▲ GPU hot 1 warning for 5m 10s , since When it fired message 1"
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
    page = lists.card(alert(1, state="acknowledged", acknowledged=NOW, acknowledged_by="page"), (), NOW)
    assert "acknowledged on the page," in text(page)
    nobody = lists.card(alert(1, state="acknowledged", acknowledged=NOW), (), NOW)
    assert "acknowledged," in text(nobody)
    quiet = lists.card(alert(1, state="silenced"), (), NOW)
    assert "fires, silenced" in text(quiet)
    assert 'data-alert-order="silence"' not in render(quiet)


def test_what_is_not_known_any_more_goes_on_and_says_so() -> None:
    words = alert_words.NOT_KNOWN
    assert words in text(lists.card(alert(1, known=False, condition="unknown"), (), NOW))
    assert words not in text(lists.card(alert(1, known=True), (), NOW))
    assert words not in text(lists.card(alert(1, known=None, condition=None), (), NOW))


def test_what_is_well_again_says_when_it_is_over() -> None:
    ending = alert(1, condition="ending", ends_in_s=41.0)
    assert "Well again; it ends when that has lasted 41 s more." in text(lists.card(ending, (), NOW)), "a rule is gone"
    assert "Well again; it ends when that has lasted 30 s (41 s to go)." in text(lists.card(ending, (), NOW, RULE))
    assert alert_words.sure(ending)[0] == "well again, for now"
    assert alert_words.doubt(alert(1, condition="ending", ends_in_s=None)) == "", "a rule that is gone"
    between = alert(1, condition="between")
    said = "No longer beyond its limit, but not well yet"
    assert f"{said}." in text(lists.card(between, (), NOW))
    assert f"{said}." in text(lists.card(between, (), NOW, RULE)), "a rule without an end of its own"
    cool = {**RULE, "clear": "gpu_temperature_celsius < 82 °C"}
    expected = f"{said}; it ends when “gpu_temperature_celsius < 82 °C”"
    assert f"{expected} has held for 30 s." in text(lists.card(between, (), NOW, cool))
    assert f"{expected} holds." in text(lists.card(between, (), NOW, {**cool, "clear_for": "0s"}))
    assert alert_words.doubt(alert(1)) == ""


def test_how_long_an_alert_lasted_ends_with_it() -> None:
    assert lists.lasted(alert(1), NOW) == "5m 10s"
    assert lists.lasted(alert(1, ended=NOW - 280_000), NOW) == "30.0 s"


def test_what_may_come_to_fire() -> None:
    one = {"title": "GPU too hot", "subject": "spark-02, GPU 0", "severity": "critical", "since": NOW - 40_000}
    assert rows(lists.pending([{**one, "fires_after_ms": 60_000}], NOW))[1] == [
        "■ GPU too hot",
        "spark-02, GPU 0",
        "40 s",
        "1m 0s",
    ]
    short = {**one, "since": NOW - 93, "fires_after_ms": 5_000}
    assert rows(lists.pending([short], NOW))[1][2:] == ["0 s", "5 s"], "whole seconds: it counts"


def test_a_card_says_what_to_do_first_and_who_does_not_want_to_hear_of_it() -> None:
    rule = {**RULE, "text": "Unplug it.", "runbook": "https://wiki/hot"}
    found = lists.firing([alert(1, state="silenced", silence=3)], NOW, {"gpu_hot": rule}, [{**SILENCE, "by": "ann"}])
    assert f"First {alert_steps.steps()['gpu_hot'].first} Runbook" in text(found)
    assert "Silenced until by ann" in text(found)
    assert "Silenced until by ann : fan" not in text(found)
    why = lists.card(alert(1, state="silenced"), (), NOW, None, {**SILENCE, "comment": "fan"})
    assert "Silenced until : fan" in text(why)
    for rule in (None, {**RULE, "name": "mine"}, {**RULE, "origins": {"when": "page"}}):
        assert "First" not in text(lists.card(alert(1), (), NOW, rule))
    assert "It throttles soon." in text(lists.card(alert(1), (), NOW, {**RULE, "name": "mine"}))


def test_a_failing_channel_has_its_name_in_the_command_to_try_it() -> None:
    rule = {**RULE, "name": "channel_failing"}
    failing = alert(1, rule="channel_failing", place="channel", key=["ops"])
    assert "app.py alerts test-channel ops prints" in text(lists.card(failing, (), NOW, rule))
    assert "app.py alerts test-channel NAME prints" in text(alert_rules.rule(rule))


def test_every_rule_of_the_product_has_a_first_step_and_no_other() -> None:
    assert set(alert_steps.steps()) == set(defaults())
    found = alert_steps.read(
        "### hot\n\n**Means.** It is `hot`. **First.** Cool it. **Not this.** *Sun*.\n\n### cold\n\nx\n"
    )
    assert found == {"hot": alert_steps.Step("It is hot.", "Cool it.", "Sun.")}


def test_silences_say_what_they_are_about() -> None:
    about = {"rule": "gpu_hot", "node": "spark-03", "severity": "warning", "comment": "fan", "by": "ann"}
    found = rows(lists.silences([{**SILENCE, **about}, SILENCE]))
    assert found[1][:2] == ["rule gpu_hot, node spark-03, severity warning", "active"]
    assert found[1][4:6] == ["fan", "ann"]
    assert (found[2][0], *found[2][4:6]) == ("everything", "–", "–")
    weekly = {"days": ["fri", "sat"], "from": "22:00", "to": "06:00", "zone": "Europe/Berlin"}
    assert rows(lists.silences([{**SILENCE, "weekly": weekly}]))[1][3] == "fri, sat 22:00–06:00 Europe/Berlin"
    assert 'name="silence" value="3"' in render(lists.silences([SILENCE]))


def test_what_is_over() -> None:
    ended = alert(1, state="resolved", ended=NOW - 250_000, why_ended="it is well again")
    found = lists.history([ended], NOW)
    assert rows(found)[0] == ["Alert", "What was wrong", "Since", "Fired", "Ended", "Lasted", "Ended because"]
    assert rows(found)[1] == ["▲ GPU hot 1", "message 1", "", "", "", "1m 0s", "it is well again"]
    instants = [attribute(one, "data-instant") for one in walk(found) if attribute(one, "data-instant")]
    assert instants == [str(NOW - 310_000), str(NOW - 300_000), str(NOW - 250_000)], "Since + Lasted = Ended"
    assert rows(lists.history([{**ended, "why_ended": ""}], NOW))[1][6] == "–"


def test_ten_of_what_is_over_stand_there_at_first() -> None:
    ended = [alert(number, state="resolved", ended=NOW) for number in range(1, 13)]
    assert "Show 2 more" in text(lists.history(ended, NOW))
    assert len(rows(lists.history(ended, NOW))) == 13, "all are there, for who looks for words on the page"
    assert "Show" not in text(lists.history(ended[:10], NOW))


def test_hostile_texts_stay_text() -> None:
    hostile = alert(1, title=EVIL, message=EVIL, why_ended=EVIL, acknowledged=NOW, acknowledged_by=EVIL, key=[EVIL])
    hostile["subject"] = EVIL
    values = [{"metric": "", "label": EVIL, "value": None, "text": EVIL, "corroborates": False}]
    told = {"alert": {**hostile, "rule": EVIL, "values": values}, "effects": [hostile]}
    event = {"t": NOW, "target": EVIL, "kind": EVIL, "text": EVIL}
    absence = {"target": EVIL, "metric": None, "from": NOW, "to": None, "reason": EVIL}
    around = {**AROUND, "events": [event], "absences": [absence], "facts": {EVIL: EVIL}, "run": {"id": 1, "name": EVIL}}
    hint = {**RULE, "text": EVIL}
    rule = dict.fromkeys(("name", "title", "when", "clear", "for", "clear_for", "text", "runbook"), EVIL)
    about = dict.fromkeys(("rule", "node", "deployment", "severity", "comment", "state"), EVIL)
    shown = [
        lists.firing([hostile, {**hostile, "id": 2, "state": "inhibited", "cause": 1}], NOW),
        lists.card({**hostile, "acknowledged": None}, (), NOW),
        lists.history([hostile], NOW),
        lists.pending([{"title": EVIL, "subject": EVIL, "severity": EVIL, "since": NOW, "fires_after_ms": 0}], NOW),
        lists.silences([{**SILENCE, **about}]),
        alert_rules.rule({**RULE, **rule, "settings": {EVIL: EVIL}, "origins": {EVIL: "page"}, "channels": [EVIL]}),
        forms.silence([{"name": EVIL, "title": EVIL}], NOW),
        forms.weekly([{"name": EVIL, "title": EVIL}], NOW),
        forms.filters({"node": EVIL, "text": EVIL, "rule": EVIL}, [{"name": EVIL, "title": EVIL}]),
        *alert_page.body({**told, "because": hostile, "silenced": {**SILENCE, **about, "by": EVIL}, "rule": hint}, NOW)[
            0
        ],
        *alert_page.more(told, around, NOW),
        *page.rules({"rules": [], "problems": [EVIL]}, {"channels": []}),
        alert_rules.log([{**CHANGE, "rule": EVIL, "by": EVIL, "table": {EVIL: EVIL}}], {EVIL: EVIL}),
        alert_channels.channels([{**CHANNEL, "name": EVIL, "last_error": {"at": NOW, "text": EVIL}}], [RULE]),
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


def test_both_forms_of_silences_say_which_alerts_and_until_when() -> None:
    for form, chosen in ((forms.silence([], NOW), "60"), (forms.weekly([], NOW), "525600")):
        html = render(form)
        assert 'data-alert-order="silence"' in html
        for name in ("rule", "node", "deployment", "severity", "comment"):
            assert f'name="{name}"' in html
        assert f'<option value="{chosen}" selected>' in html
    for name in ("days", "from", "to", "zone"):
        assert f'name="weekly.{name}"' in html
        assert f'name="weekly.{name}"' not in render(forms.silence([], NOW))


@pytest.mark.parametrize(
    ("who", "told"),
    [
        ("", ""),
        ("page", " on the page"),
        ("API", " through the API"),
        ("command line", " on the command line"),
        ("ann", " by ann"),
    ],
)
def test_who_did_something_is_said_as_name_or_way(who: str, told: str) -> None:
    assert alert_words.by(who) == told


@pytest.mark.parametrize(("on", "told"), [(True, "all but 1"), (False, "all")])
def test_a_rule_that_names_only_a_channel_that_is_off_is_told_to_the_others(on: bool, told: str) -> None:
    two = [{**CHANNEL, "name": "ops"}, {**CHANNEL, "name": "night", "enabled": on}]
    found = repr(alert_channels.channels(two, [{**RULE, "channels": ["night"], "untold": ""}]))
    assert (found.count("'all but 1'"), found.count("'all'")) == ((1, 0) if on else (0, 1))
    assert told in found
