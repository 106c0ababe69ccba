"""Rules and channels on the Alerts page: who is told, what was changed, whether it arrives."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dashboard import alert_steps
from dashboard.components import alert_channels, alert_forms, alert_rules
from tests.dashboard.alert_parts import (
    CHANGE,
    CHANNEL,
    NOW,
    RULE,
    render,
    text,
)
from tests.dashboard.parts import attribute, rows, walk


def test_a_rule_as_delivered() -> None:
    found = alert_rules.rule(RULE)
    step = alert_steps.steps()["gpu_hot"]
    paragraph = f"First {step.first} Means {step.means} Not this {step.other}"
    assert text(found) == f"▲ GPU hot warning {paragraph} Told nobody: there is no channel"
    assert f'placeholder="{step.means} {step.first}"' in render(found)
    own = alert_rules.rule({**RULE, "origins": {"text": "file"}})
    assert "It throttles soon." in text(own), "who has written what to do knows better"
    assert step.first not in render(own)
    assert attribute(found, "data-rule") == "gpu_hot"
    html = render(found)
    assert 'data-alert-order="enable"' in html
    assert "Switch off" in html
    assert 'data-alert-order="reset"' not in html
    assert 'name="table.settings.limit" value="85 °C"' in html
    assert 'name="table.for" value="60s"' in html
    assert '<textarea name="table.when" rows="1"' in html
    assert '<option value="warning" selected>' in html


def test_the_form_of_a_new_rule_shows_what_applies_where_nothing_stands() -> None:
    html = render(alert_forms.create())
    for name in ("table.for", "table.clear_for"):
        assert f'name="{name}" value="" placeholder="0s"' in html
    assert 'name="table.channels" value="" placeholder="every channel" data-as="names"' in html
    assert '<textarea name="table.message"' in html
    assert 'data-done="Made"' in html


def test_a_changed_rule_says_by_whom_and_offers_the_way_back() -> None:
    changed = {**RULE, "enabled": False, "origins": {"for": "page", "when": "file", "clear": "default"}}
    found = alert_rules.rule(changed)
    assert text(found).startswith("○ GPU hot warning off changed")
    assert "for changed here when from tachograph.toml" in text(found)
    html = render(found)
    assert "Switch on" in html
    assert 'data-alert-order="reset"' in html
    assert "Take back changes" in html
    assert 'data-alert-order="reset"' not in render(alert_rules.rule({**RULE, "origins": {"for": "file"}}))


def test_a_rule_that_was_made_here_can_be_deleted() -> None:
    found = alert_rules.rule({**RULE, "origins": {"for": "page", "when": "page"}})
    assert "made here" in text(found)
    assert "for changed here" not in text(found)
    assert ">Delete</button>" in render(found)


def test_a_rule_of_ones_own_from_the_settings_is_not_a_changed_one() -> None:
    found = alert_rules.rule({**RULE, "name": "fan_gone", "origins": {"for": "file", "when": "file"}})
    assert text(found).startswith("▲ GPU hot warning own ")
    assert "changed" not in text(found)
    assert "Written in tachograph.toml" in text(found)
    changed = alert_rules.rule({**RULE, "name": "fan_gone", "origins": {"for": "page", "when": "file"}})
    assert text(changed).startswith("▲ GPU hot warning own changed ")
    assert "for changed here Written in tachograph.toml" in text(changed)
    assert "Take back changes" in render(changed)


def test_no_two_fields_of_a_form_have_one_name() -> None:
    for form in (alert_forms.create(), alert_forms.edit(RULE)):
        names = re.findall(r'<span class="label">([^<]*)</span>', render(form))
        assert len(names) == len(set(names)), names
        assert {"Wrong for", "Well for"} <= set(names)


def test_a_rule_of_which_nothing_can_be_known_says_why() -> None:
    found = text(alert_rules.rule({**RULE, "unknown": "no run is marked"}))
    assert "Nothing is known of it: no run is marked." in found
    assert "It cannot be" not in found
    assert "It cannot be worked out: E" in text(alert_rules.rule({**RULE, "fault": "cannot be worked out: E"}))


def test_who_is_told_of_a_rule() -> None:
    assert alert_rules.told([], ["ops", "night"]) == "every channel"
    assert alert_rules.told(["night"], ["ops", "night"]) == "night"
    assert alert_rules.told(["night", "old"], ["ops", "night"]) == "night (old: no such channel)"
    assert alert_rules.told(["old"], ["ops"]) == "every channel (old: no such channel)"
    assert alert_rules.told(["old"], []) == "nobody: there is no channel (old: no such channel)"
    assert alert_rules.told(["ops"], ["ops"], "ops hears critical") == "nobody: ops hears critical"
    assert "nobody: ops hears critical" in text(alert_rules.rule({**RULE, "untold": "ops hears critical"}, ["ops"]))


def test_what_people_changed_of_rules() -> None:
    found = rows(alert_rules.log([CHANGE, {**CHANGE, "rule": "mine", "by": ""}], {"gpu_hot": "GPU hot"}))
    assert found[1] == ["GPU hot", "for: 5s", "", "ann"]
    assert (found[2][0], found[2][3]) == ("mine", "–")
    assert text(alert_rules.log([], {})) == "Nobody has changed a rule here yet."


@pytest.mark.parametrize(
    ("before", "table", "expected"),
    [
        (None, {"for": "5s"}, "for: 5s"),
        ({"for": "5s"}, {"for": "9s"}, "for: 5s → 9s"),
        ({"for": "5s", "when": "x"}, {"when": "x"}, "for taken back"),
        ({"for": "5s"}, None, "everything taken back"),
        (None, {"enabled": False}, "switched off"),
        ({"enabled": False}, {"enabled": True}, "switched on"),
        (
            {"settings": {"limit": "80 °C"}},
            {"settings": {"limit": "70 °C", "low": "1 W"}},
            "$limit: 80 °C → 70 °C; $low: 1 W",
        ),
        (None, {"channels": ["ops", "night"]}, "channels: ops, night"),
        ({"channels": ["ops"]}, {"channels": []}, "channels: ops → none"),
        ({"for": "5s"}, {"for": "5s"}, "nothing"),
    ],
)
def test_a_change_says_what_was_before(before: Any, table: Any, expected: str) -> None:
    assert alert_rules.said({**CHANGE, "before": before, "table": table}) == expected


def test_channels_say_whether_they_deliver() -> None:
    rules = [{**RULE, "title": "GPU hot", "channels": ["ops"]}, {**RULE, "channels": ["night"]}, RULE]
    error = {"at": NOW, "text": "503 from the server"}
    night = {**CHANNEL, "name": "night", "failing": True, "waiting": 2, "last_error": error, "last_success": None}
    found = alert_channels.channels([CHANNEL, night], rules)
    assert rows(found)[1][:6] == [
        "ops ntfys://…",
        "warning and graver, again every 4h 0m",
        "all but 1; alone: GPU hot",
        "delivers",
        "",
        "–",
    ]
    assert (rows(found)[2][3], rows(found)[2][4], rows(found)[2][5]) == (
        "failing, 2 waiting",
        "never",
        ": 503 from the server",
    )
    assert 'data-channel-test="ops"' in render(found)
    assert [attribute(row, "data-level") for row in walk(found) if row.to_plotly_json()["type"] == "Tr"][1:] == [
        "ok",
        "critical",
    ]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"enabled": False, "failing": True}, "off"),
        ({"last_success": None}, "nothing delivered yet"),
        ({"waiting": 1}, "delivers, 1 waiting"),
        ({"held": 1, "per_hour": 20}, "delivers, held back by the limit of 20 an hour: 1 waiting"),
    ],
)
def test_how_a_channel_stands(more: dict[str, Any], expected: str) -> None:
    assert alert_channels.state({**CHANNEL, **more}) == expected


def test_what_a_channel_hears_of() -> None:
    assert alert_channels.hears({**CHANNEL, "severity": "critical", "repeat_s": 0.0}) == "critical, once"
    assert alert_channels.of_rules("ops", [RULE], ["ops"]) == "all"
    assert alert_channels.of_rules("ops", [{**RULE, "channels": ["gone"]}], ["ops"]) == "all"
    mild = {**RULE, "channels": ["ops"], "untold": "ops hears critical"}
    assert alert_channels.of_rules("ops", [mild], ["ops"]) == "all; alone: GPU hot (told to nobody)"
    assert "there is no channel" in text(alert_channels.channels([], []))


def test_only_a_safe_runbook_is_a_link() -> None:
    assert "Runbook" in text(alert_rules.rule({**RULE, "runbook": "https://wiki/hot"}))
    assert "Runbook" not in text(alert_rules.rule({**RULE, "runbook": "javascript:alert(1)"}))
