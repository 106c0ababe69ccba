"""One alert's page: what, since when, how sure, what to do first, and what is kept with it."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard import alert_steps
from dashboard.components import alert_evidence, alert_words
from dashboard.pages import alert as alert_page
from tests.dashboard.alert_parts import (
    AROUND,
    NOW,
    READ,
    SILENCE,
    alert,
    own,
    render,
    text,
)
from tests.dashboard.parts import attribute, rows


def test_an_alert_leads_to_explore_around_its_time() -> None:
    names = ("gpu_temperature_celsius", "target_state", "", "gpu_temperature_celsius")
    values = [{"metric": name, "label": "GPU temperature"} for name in names]
    found = alert_page.explore(alert(1, values=values))
    assert found is not None
    around = f"start={NOW - 900_000}&end={NOW + 300_000}"
    assert attribute(found, "href") == f"/explore?metric=gpu_temperature_celsius&{around}&node=spark-01"
    over = alert_page.explore(alert(1, values=values, ended=NOW))
    assert over is not None
    assert attribute(over, "href").endswith(f"end={NOW + 600_000}&node=spark-01")
    assert alert_page.explore(alert(1, values=[{"metric": "target_state", "label": "State"}])) is None


@pytest.mark.parametrize(
    ("more", "of"),
    [
        ({"place": "engine", "key": ["10.0.0.1:8000", "0"]}, "&engine=10.0.0.1%3A8000"),
        ({"place": "deployment", "key": ["Kimi-K3"]}, ""),
        ({"place": "cluster", "key": []}, ""),
        ({"place": "node", "key": []}, ""),
        ({"peers": "peers' GPU temperature"}, ""),
    ],
)
def test_explore_shows_what_an_alert_is_about_and_all_where_it_compares_with_peers(
    more: dict[str, Any], of: str
) -> None:
    labels = ("GPU temperature", *([more.pop("peers")] if "peers" in more else []))
    values = [{"metric": "gpu_temperature_celsius", "label": label} for label in labels]
    found = alert_page.explore(alert(1, values=values, **more))
    assert attribute(found, "href").endswith(f"end={NOW + 300_000}{of}")


def test_an_alerts_own_page_says_what_since_when_how_sure_and_what_to_do_first() -> None:
    content, status = alert_page.body(own(alert(1, values=READ)), NOW)
    assert status == 200
    words = text(content)
    assert words.startswith(
        "▲ GPU hot 1 warning fires When it fired message 1 For 5m 10s since Where spark-01, GPU 0 Kimi-K3"
    )
    assert "How sure holds now Went without cap." in words
    step = alert_steps.steps()["gpu_hot"]
    assert f"First {step.first} Means {step.means} Not this {step.other}" in words
    html = render(content)
    assert 'data-alert-order="acknowledge"' in html
    assert 'href="/api/v1/alerts/1/evidence.csv"' in html
    assert 'href="/api/v1/alerts/1/evidence.json"' in html
    over, _ = alert_page.body(own(alert(1, state="resolved", ended=NOW, why_ended="it is well again")), NOW)
    assert "Lasted 5m 10s –" in text(over)
    assert "How sure over Ended because it is well again." in text(over)
    assert 'data-alert-order="acknowledge"' not in render(over)
    lost, _ = alert_page.body(own(alert(1, known=False, condition="unknown", key=[], subject="", values=READ[:1])), NOW)
    assert f"How sure not known any more {alert_words.NOT_KNOWN} Its one reading was known." in text(lost)
    assert "Where the cluster" in text(lost)
    assert 'data-doubt="true"' in render(lost)
    assert 'data-doubt="true"' not in html
    missing, status = alert_page.body(None, NOW)
    assert status == 404
    assert "There is no such alert" in text(missing)


def test_how_sure_an_alert_is() -> None:
    assert alert_words.sure(alert(1, known=None, condition=None)) == ("fired", "")
    assert alert_words.sure(alert(1, values=READ[:1] * 3)) == ("holds now", "All 3 readings were known.")
    missing = [{**READ[1], "label": name} for name in "abcde"]
    assert alert_words.read(missing) == "Went without a, b, c, 2 more."
    assert alert_words.sure(alert(1, ended=NOW, known=None, condition=None)) == ("over", "")


def test_an_alerts_own_page_says_why_nobody_is_told() -> None:
    cause = alert(7, message="it is silent")
    content, _ = alert_page.body(own(alert(1, state="inhibited", cause=7), because=cause), NOW)
    assert "Follows from GPU hot 7 : it is silent" in text(content)
    assert "which is over" not in text(content)
    content, _ = alert_page.body(own(alert(1, cause=7), because={**cause, "ended": NOW}), NOW)
    assert "it is silent, which is over" in text(content)
    silence = {**SILENCE, "comment": "fan", "by": "ann"}
    weekly = {**SILENCE, "weekly": {"days": ["fri"], "from": "22:00", "to": "06:00", "zone": "UTC"}}
    assert "Silenced fri 22:00–06:00 UTC" in text(alert_page.body(own(alert(1), silenced=weekly), NOW)[0])
    assert "Silenced until by ann: fan" in text(alert_page.body(own(alert(1), silenced=silence), NOW)[0])


def test_an_alerts_own_page_has_what_is_kept_with_it() -> None:
    told = alert(
        1,
        values=READ,
        ended=NOW,
        why_ended="it is well again",
        state="resolved",
        acknowledged=NOW,
        acknowledged_by="ann",
    )
    around = {
        **AROUND,
        "events": [{"t": NOW, "target": "spark-01", "kind": "kernel_xid", "text": "Xid 79"}],
        "absences": [
            {"target": "spark-01", "metric": "gpu_power_watts", "from": NOW - 5, "to": NOW, "reason": "N/A"},
            {"target": "spark-02", "metric": None, "from": NOW + 5, "to": None, "reason": "refused"},
        ],
        "facts": {"driver_version": "580.1"},
        "run": {"id": 3, "name": "Night"},
    }
    content = alert_page.more(own(told), around, NOW)
    words = text(content)
    for part in (
        "Lasted, from Since on 5m 10s",
        "Deployment Kimi-K3",
        "Run Night",
        "Ended because it is well again",
        "by ann",
        "driver version 580.1",
    ):
        assert part in words
    assert ["GPU power", "20 W", "must be known"] in rows(content)
    assert ["cap", "–", "may be unknown"] in rows(content)
    assert [row[1:] for row in rows(content) if row[1:2] in (["spark-01"], ["spark-02"])] == [
        ["spark-01", "not read", "GPU power: N/A , until"],
        ["spark-01", "kernel xid", "Xid 79"],
        ["spark-02", "not read", "refused"],
    ]
    plain = alert_page.more(own(alert(1, deployment=""), effects=[alert(2)]), AROUND, NOW)
    assert "Ended not yet" in text(plain)
    assert "Follows from it" in text(plain)
    assert "Nothing else happened in these minutes" in text(plain)
    for absent in ("Deployment", "What the machine was then", "Run "):
        assert absent not in text(plain)
    assert alert_page.more(None, None, NOW) == []
    assert alert_evidence.run(AROUND) == []
