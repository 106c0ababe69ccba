"""Charts of what is kept with an alert: what its rule reads, against which numbers, and how states last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alerts.defaults import defaults
from alerts.given import Span
from alerts.language import parse
from alerts.operands import label_of
from alerts.places import PLACES
from alerts.record import Alert
from alerts.rule import Rule, rule, rules
from alerts.view import View
from dashboard.alert_charts import Drawing, frame_of, gap_of, summed
from dashboard.alert_limits import asked
from dashboard.api.lists import plain
from tests.alerts.samples import frame, of_node

RULES = rules(defaults())
T0 = 1_796_000_000_000
ONE = {"gpu": "0"}


def lines(of: Rule) -> list[tuple[str, str, list[str]]]:
    """(reading, place, what is said of the numbers it is compared with)."""
    return [(label_of(one.reading), one.place.name, [line.text for line in one.limits]) for one in asked(of)]


def made(when: str, place: str = "gpu", **more: str) -> Rule:
    return rule("mine", {"title": "Mine", "place": place, "when": when, "severity": "warning", **more})


def test_a_rule_reads_each_reading_once_with_what_it_is_compared_with() -> None:
    assert lines(RULES["gpu_hot"]) == [("GPU temperature", "gpu", ["wrong from 85.0 °C", "over below 82.0 °C"])]
    assert lines(RULES["power_delivery"]) == [
        ("GPU utilisation", "gpu", ["wrong from 80.0 %"]),
        ("SM clock", "gpu", ["wrong below 1400 MHz"]),
        ("GPU power", "gpu", ["wrong below 30 W"]),
        ("GPU temperature", "gpu", ["wrong below 75.0 °C"]),
        ("Clock event reasons", "gpu", []),
        ("SM clock, maximum", "gpu", ["wrong from 1500 MHz"]),
    ]


def test_readings_of_a_larger_thing_and_of_another_scope_stand_in_their_own_place() -> None:
    assert lines(RULES["one_rail"])[:3] == [
        ("RDMA sent", "function", []),
        ("RDMA sent", "cage", ["wrong above 40.0 Gb/s", "over below 8.0 Gb/s"]),
        ("Link", "cage", ["wrong from 2"]),
    ]
    ((_, place, _),) = lines(made("requests_running > 3", "deployment"))
    assert place == "each requests_running"


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("gpu_power_watts > 20 W + 5 W", ["wrong above 25 W"]),
        ("20 W >= gpu_power_watts", ["wrong up to 20 W"]),
        ("gpu_power_watts == 20 W", ["wrong at 20 W"]),
        ("gpu_power_watts != 20 W", []),
        ("not gpu_power_watts > 20 W", []),
        ("gpu_power_watts > gpu_temperature_celsius * 1 W / 1 °C", []),
        ("maybe(gpu_power_watts < 9 W) and gpu_power_watts > 1 W", ["wrong below 9 W", "wrong above 1 W"]),
        ("gpu_power_watts > 1 W or gpu_power_watts > 2 W", ["wrong above 1 W", "wrong above 2 W"]),
    ],
)
def test_numbers_that_a_reading_is_compared_with(when: str, expected: list[str]) -> None:
    assert next(texts for label, _, texts in lines(made(when)) if label == "GPU power") == expected


def test_a_line_says_on_which_side_it_is_wrong() -> None:
    low, high = asked(made("gpu_power_watts < 9 W", clear="gpu_power_watts > 12 W"))[0].limits
    assert low.to_json() == {
        "value": 9.0,
        "side": "below",
        "title": "wrong below 9 W",
        "severity": "warning",
        "over": False,
    }
    assert (high.side, high.severity, high.over) == ("above", "", True)


def test_states_and_bits_that_a_rule_asks_for() -> None:
    lost = asked(RULES["gpu_lost"])[0]
    assert len(lost.codes) == 4
    assert asked(RULES["hardware_slowdown"])[0].bits == 0xC0
    assert asked(made("not gpu_clock_event_reasons has 0xe0 and gpu_power_watts > 1 W"))[0].bits == 0


def series(
    metric: str, values: list[float | None], target: str = "a", of: str = "rule", **labels: str
) -> dict[str, Any]:
    return {"metric": metric, "target": target, "labels": labels or ONE, "of": of, "v": values}


def kept(*found: dict[str, Any]) -> dict[str, Any]:
    """What is kept, a tick a second."""
    return {"t": [T0 + 1000 * at for at in range(len(found[0]["v"]))], "series": list(found)}


HOT = Alert(1, "gpu_hot", "GPU hot", "gpu", ("a", "0"), "warning", "k3", T0, T0 + 2000, "a is hot")


def charts(part: dict[str, Any], alert: Alert = HOT, of: Rule | None = RULES["gpu_hot"]) -> list[dict[str, Any]]:
    return list(plain(Drawing(frame_of(part), alert, of).charts()))


def test_what_the_rule_reads_stands_first_with_the_alerts_own_line_in_front() -> None:
    part = kept(
        series("gpu_temperature_celsius", [60.0, None, 88.0], target="b"),
        series("gpu_temperature_celsius", [84.0, 86.0, 88.25]),
        series("gpu_power_watts", [50.0, 51.0, 52.0], of="beside"),
    )
    hot, power = charts(part)
    assert (hot["label"], hot["metric"], hot["unit"], hot["of"]) == (
        "GPU temperature",
        "gpu_temperature_celsius",
        "celsius",
        "rule",
    )
    assert [(line["labels"]["target"], line["own"], line["v"]) for line in hot["lines"]] == [
        ("a", True, [84.0, 86.0, 88.25]),
        ("b", False, [60.0, 60.0, 88.0]),
    ]
    assert [limit["value"] for limit in hot["limits"]] == [85.0, 82.0]
    assert (power["label"], power["of"], power["lines"][0]["own"]) == ("GPU power", "beside", False)
    assert charts(part, of=None)[0]["of"] == "beside"


def test_counters_beside_are_drawn_by_what_they_grow_by_per_second() -> None:
    part = kept(
        series("gpu_temperature_celsius", [88.0] * 14),
        series("rdma_transmit_bytes_total", [1e9 * at for at in range(14)], of="beside", cage="p0", function="f0"),
    )
    sent = next(one for one in charts(part) if one["metric"] == "rdma_transmit_bytes_total")
    assert sent["label"].endswith("per second")
    assert sent["unit"] == "network_bytes_per_second"
    assert sent["lines"][0]["v"][-1] == 1e9
    assert sent["lines"][0]["labels"] == {"target": "a", "cage": "p0", "function": "f0"}


def test_each_quantity_beside_has_one_chart_by_a_name_that_says_what_it_is() -> None:
    engine = {"target": "head", "of": "beside", "engine": "0", "model": "K3"}
    group = {"target": "deployment:k3", "of": "beside"}
    recorded = (
        series("recorded_decode_tokens_per_second", [9.0] * 14, **group),
        series("deployment_requests_running", [2.0] * 14, **group),
        series("cluster_gpu_power_watts", [800.0] * 14, target="cluster", of="beside"),
    )
    both = charts(
        kept(
            *recorded,
            series("requests_running", [2.0] * 14, **engine),
            series("generation_tokens_total", [9.0 * at for at in range(14)], **engine),
        )
    )
    assert [one["metric"] for one in both] == [
        "requests_running",
        "generation_tokens_total",
        "cluster_gpu_power_watts",
    ]
    assert [one["label"] for one in charts(kept(*recorded))] == [
        "Decode, all together",
        "Running, all together",
        "GPU power, all together",
    ]


def test_no_rate_is_drawn_across_the_restart_of_a_counter() -> None:
    tokens = series("rdma_transmit_bytes_total", [float(second * 10) for second in range(20)], rdma="r0")
    whole = frame_of(kept(tokens))
    assert not whole.breaks.any(), "of an earlier version"
    broken = frame_of(kept({**tokens, "breaks": [12]}))
    assert np.flatnonzero(broken.breaks[0]).tolist() == [12]


def test_a_state_lasts_until_the_next_sample_and_as_long_as_rules_hold_it_where_that_lies_beyond_a_gap() -> None:
    values: list[float | None] = [0.0, 0.0, 1.0, None, None, None, None, 1.0, 0.0]
    found = next(one for one in charts(kept(series("gpu_reading_state", values)), of=RULES["gpu_lost"]) if one["spans"])
    at = lambda number: T0 + 1000 * number  # noqa: E731
    assert [(start, end) for start, end, *_ in found["lines"][0]["spans"]] == [
        (at(0), at(2)),
        (at(2), at(5)),
        (at(7), at(8)),
        (at(8), at(9)),
    ]


def test_a_mask_says_its_bits_and_which_the_rule_asks_for() -> None:
    part = kept(series("gpu_clock_event_reasons", [0.0, 4.0, 68.0]))
    found = charts(part, of=RULES["hardware_slowdown"])[0]
    assert [(text, wrong) for _, _, text, wrong in found["lines"][0]["spans"]] == [
        ("none", False),
        ("software power cap", False),
        ("software power cap, hardware thermal", True),
    ]


def test_nothing_is_drawn_of_what_has_no_value() -> None:
    assert charts(kept(series("gpu_temperature_celsius", [None, None, None]))) == []


def test_a_series_has_a_gap_by_its_own_pace() -> None:
    ticks = np.array([0, 1000, 2000, 3000, 4000])
    nan = float("nan")
    assert gap_of(ticks, np.array([1.0, 1.0, 1.0, 1.0, 1.0])) == 2500.0
    assert gap_of(ticks, np.array([1.0, nan, 1.0, nan, 1.0])) == 5000.0
    assert gap_of(ticks, np.array([nan, nan, nan, nan, nan])) == 2500.0


def test_how_a_target_answered_is_known_from_when_it_did_not() -> None:
    silent = Alert(2, "node_silent", "Silent", "node", ("a",), "critical", "", T0, T0 + 3000, "a is silent")
    away = [Span(T0 + 2000, None, "timed out: nobody there")]
    found = plain(
        Drawing(frame_of(kept(series("gpu_power_watts", [5.0] * 4, "b"))), silent, RULES["node_silent"], away).charts()
    )
    state = found[0]
    assert (state["label"], state["of"], state["spans"]) == ("State", "rule", True)
    assert [(line["labels"], line["own"]) for line in state["lines"]] == [({"target": "a"}, True)]
    assert state["lines"][0]["spans"] == [[T0, T0 + 2000, "ok", False], [T0 + 2000, T0 + 4000, "timed out", True]]


@pytest.mark.parametrize(
    ("text", "place", "functions", "said"),
    [
        ("link_up", "cage", "01", ", sum over functions"),
        ("rate(rdma_transmit_bytes_total[10s])", "cage", "01", ", sum over functions"),
        ("rate(rdma_transmit_bytes_total[10s])", "node", "01", ", sum over cages and functions"),
        ("link_up", "cage", "0", ""),
        ("link_up", "function", "01", ""),
        ("link_capacity_bytes_per_second", "cage", "01", ""),  # the largest: both name the same link
        ("increase(rdma_transmit_bytes_total[24h])", "cage", "01", ""),  # not of the samples that are drawn
    ],
)
def test_over_what_a_line_is_a_sum(text: str, place: str, functions: str, said: str) -> None:
    names = ("link_up", "link_capacity_bytes_per_second", "rdma_transmit_bytes_total")
    rows = {of_node("a", name, cage="p0", function=one): [1.0, 1.0] for name in names for one in functions}
    reading = parse(f"{text} > 0").left  # type: ignore[union-attr]
    assert summed(reading, PLACES[place], View(frame(rows))) == said
