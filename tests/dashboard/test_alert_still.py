"""An alert whose condition holds no more, while something that follows from it does: said on its card and its page."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.components import alert_lists as lists
from dashboard.components import alert_still as still
from dashboard.pages import alert as alert_page
from tests.dashboard.alert_parts import NOW, RULE, alert, own, render, text

HEADROOM = {
    "metric": "memory_headroom_bytes",
    "label": "Memory headroom",
    "value": 2e9,
    "text": "1.9 GiB",
    "corroborates": False,
}
COLLAPSE = alert(1, title="Memory collapsing", condition="ending", ends_in_s=26.0)
GONE = alert(
    2,
    title="Memory headroom nearly gone",
    place="node",
    key=["spark-02"],
    severity="critical",
    state="inhibited",
    cause=1,
    values=[HEADROOM],
)
LOW = {**GONE, "id": 3, "title": "Memory headroom low", "severity": "warning"}
RULES = {"gpu_hot": {**RULE, "clear_for": "60s"}}


def entry(value: float | None, **labels: str) -> dict[str, Any]:
    return {"metric": "memory_headroom_bytes", "unit": "bytes", "labels": {"target": "spark-02", **labels}, "v": value}


def read(target: str, metric: str) -> list[dict[str, Any]]:
    assert (target, metric) == ("spark-02", "memory_headroom_bytes")
    return [entry(1.6 * 2**30)]


def test_a_cause_that_is_well_again_says_what_still_holds_and_shows_it_openly() -> None:
    found = lists.firing([COLLAPSE, LOW, GONE], NOW, RULES, read=read)
    assert (
        "Well again, but “Memory headroom nearly gone” still holds: 1.6 GiB. "
        "This alert ends when that has lasted 1m 0s (26 s to go)." in text(found)
    )
    told = text(found)
    assert told.endswith(
        "2 more alerts follow from it: ■ Memory headroom nearly gone : message 2 · holds now "
        "▲ Memory headroom low : message 2 · holds now"
    ), "the gravest first"
    assert "<details" not in render(found)


def test_it_stays_acknowledged() -> None:
    seen = {**COLLAPSE, "state": "acknowledged", "acknowledged": NOW, "acknowledged_by": "ann"}
    found = text(lists.firing([seen, GONE], NOW, RULES, read=read))
    assert "fires, acknowledged" in found
    assert "acknowledged by ann," in found
    assert "still holds" in found


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        ({"condition": "holds"}, {}),
        ({"condition": "unknown"}, {}),
        ({}, {"condition": "ending"}),
        ({}, {"condition": "unknown"}),
        ({}, {"ended": NOW}),
    ],
)
def test_otherwise_nothing_is_said_of_it(cause: dict[str, Any], effect: dict[str, Any]) -> None:
    found = lists.firing([{**COLLAPSE, **cause}, {**GONE, **effect}], NOW, RULES, read=read)
    assert "still holds" not in text(found)
    assert "<details" in render(found)


def test_what_follows_and_holds_no_more_stands_behind_what_does() -> None:
    over = {**GONE, "id": 4, "condition": "ending"}
    told = text(lists.firing([COLLAPSE, over, LOW], NOW, RULES, read=read))
    assert "“Memory headroom low” still holds" in told
    assert "message 2 · holds now ■ Memory headroom nearly gone : message 2 · well again, for now" in told


def test_between_its_limit_and_its_end_it_is_said_too() -> None:
    between = {**COLLAPSE, "condition": "between", "ends_in_s": None}
    start = "No longer beyond its limit, but “Memory headroom nearly gone” still holds: 1.6 GiB."
    plain = text(lists.firing([between, GONE], NOW, read=read))
    assert f"{start} 1 more alert" in plain
    rule = {"gpu_hot": {**RULE, "clear": "x < 1"}}
    told = text(lists.firing([between, GONE], NOW, rule, read=read))
    assert f"{start} This alert ends when “x < 1” has held for 30 s." in told


def test_of_a_rule_that_is_gone_it_is_said_without_an_end() -> None:
    gone = {**COLLAPSE, "ends_in_s": None}
    told = text(lists.firing([gone, GONE], NOW, read=read))
    assert "Well again, but “Memory headroom nearly gone” still holds: 1.6 GiB. 1 more alert" in told


def test_the_page_of_the_alert_says_it_too() -> None:
    answer = own(COLLAPSE, effects=[GONE], rule=RULES["gpu_hot"])
    content, _ = alert_page.body(answer, NOW, read)
    assert "Well again, but “Memory headroom nearly gone” still holds: 1.6 GiB." in text(content)


@pytest.mark.parametrize(
    ("more", "values"),
    [
        ({"place": "channel"}, [entry(1.0)]),
        ({"key": []}, [entry(1.0)]),
        ({"values": []}, [entry(1.0)]),
        ({"values": [{**HEADROOM, "metric": ""}]}, [entry(1.0)]),
        ({"values": [{**HEADROOM, "label": "peers' Memory headroom"}]}, [entry(1.0)]),
        ({"values": [{**HEADROOM, "metric": "kernel_oom_kills_total", "label": "OOM kills"}]}, [entry(1.0)]),
        ({"key": ["spark-02", "1"]}, [entry(1.0, gpu="0")]),
        ({}, [entry(1.0, gpu="0"), entry(2.0, gpu="1")]),
        ({}, [entry(None)]),
        ({}, []),
    ],
)
def test_a_value_that_is_not_just_what_a_gauge_says_now_is_left_out(
    more: dict[str, Any], values: list[dict[str, Any]]
) -> None:
    assert still.value_now({**GONE, **more}, lambda _target, _metric: values) == ""


def test_of_several_instances_that_of_the_alert_is_read() -> None:
    values = [entry(1.0 * 2**30, gpu="0"), entry(2.0 * 2**30, gpu="1")]
    assert still.value_now({**GONE, "key": ["spark-02", "1"]}, lambda _target, _metric: values) == "2.0 GiB"
