"""The language of conditions: what it says, and how it refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts import expression as ex
from alerts.check import problems
from alerts.language import parse
from alerts.places import PLACES
from alerts.tokens import LanguageError
from telemetry import catalog
from telemetry.model import Unit

POWER = ex.Reading(catalog.stored("gpu_power_watts"))
UTIL = ex.Reading(catalog.stored("gpu_utilization_ratio"))
PHASE = ex.Reading(catalog.stored("engine_phase"))
LOW = ex.Compare("<", POWER, ex.Number(30.0, Unit.WATTS))
BUSY = ex.Compare(">=", UTIL, ex.Number(0.8, Unit.RATIO))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gpu_power_watts < 30 W", LOW),
        ("gpu_power_watts<30W", LOW),
        ("(gpu_power_watts < 30 W)", LOW),
        ("(gpu_power_watts) < (30 W)", LOW),
        ("gpu_power_watts < 30 W and gpu_utilization_ratio >= 80%", ex.All((LOW, BUSY))),
        ("gpu_power_watts < 30 W or gpu_utilization_ratio >= 80 %", ex.Some((LOW, BUSY))),
        (
            "gpu_power_watts < 30 W or gpu_power_watts < 30 W and gpu_utilization_ratio >= 0.8",
            ex.Some((LOW, ex.All((LOW, ex.Compare(">=", UTIL, ex.Number(0.8)))))),
        ),
        ("not maybe(gpu_power_watts < 30 W)", ex.Not(ex.Maybe(LOW))),
        ('engine_phase in ("idle", "stalled")', ex.Is(PHASE, (1, 6))),
        ("gpu_power_watts > -2 kW", ex.Compare(">", POWER, ex.Number(-2000.0, Unit.WATTS))),
        (
            "gpu_power_watts + 1 W * 2 > 3 W",
            ex.Compare(
                ">",
                ex.Arithmetic("+", POWER, ex.Arithmetic("*", ex.Number(1.0, Unit.WATTS), ex.Number(2.0))),
                ex.Number(3.0, Unit.WATTS),
            ),
        ),
        (
            'rate(gpu_throttle_seconds_total{reason in ("a", "b"), gpu="0"}[1.5min]) > 1 %',
            ex.Compare(
                ">",
                ex.Reading(
                    catalog.stored("gpu_throttle_seconds_total"),
                    "rate",
                    90.0,
                    (("gpu", ("0",)), ("reason", ("a", "b"))),
                ),
                ex.Number(0.01, Unit.RATIO),
            ),
        ),
        (
            "gpu_temperature_celsius >= critical(gpu_temperature_celsius)",
            ex.Compare(">=", ex.Reading(catalog.stored("gpu_temperature_celsius")), ex.Number(90.0, Unit.CELSIUS)),
        ),
    ],
)
def test_what_is_said(text: str, said: ex.Condition) -> None:
    assert parse(text) == said


@pytest.mark.parametrize(
    ("text", "at", "sentence"),
    [
        ("", 0, "here should be a metric, not the end"),
        ("gpu_power_watts", 15, "here should be a comparison such as < or >=, not the end"),
        ("gpu_power < 3", 0, "there is no metric gpu_power; near are "),
        ("gpu_power_watts < 3 X", 20, "there is no unit X: here it may be W, kW"),
        ("gpu_power_watts < 3W5", 19, "there is no unit W5: here it may be W, kW"),
        ("gpu_temperature_celsius > 85 C", 29, "there is no unit C: here it may be °C"),
        ("gpu_temperature_celsius > 85C and gpu_power_watts < 3 W", 28, "there is no unit C: here it may be °C"),
        ("gpu_temperature_celsius > 85 °F", 29, "there is no unit °F: here it may be °C"),
        ("gpu_temperature_celsius > 85°F", 28, "there is no unit °F: here it may be °C"),
        ("gpu_utilization_ratio > 80 percent", 27, "there is no unit percent: here it may be %"),
        ("requests_waiting > 3 requests", 21, "there is no unit requests: here a number stands alone"),
        ("rate(oom_kills_total[60s]) > 3 Hz", 31, "there is no unit Hz: here it may be /s, /min"),
        ("rate(oom_kills_total[60sec]) > 0", 23, "there is no unit sec: here it may be ms, s, min, h, d"),
        ("30 C < gpu_temperature_celsius", 3, "there is no unit C: there are W, kW, J, °C, "),
        ("gpu_power_watts < 3 W W", 22, "here should be the end, or and, or, not 'W'"),
        ("(gpu_power_watts < 3) and 30 C < gpu_temperature_celsius", 29, "there is no unit C: there are W"),
        ("(gpu_power_watts < gpu) or 30 C < gpu_temperature_celsius", 19, "there is no metric gpu"),
        ("gpu_power_watts < 3; drop", 19, "';' is nothing that a condition is made of"),
        ("gpu_power_watts < 3and gpu_power_watts > 1", 19, "there is no unit and: here it may be W, kW"),
        ("gpu_power_watts < 0x6G", 18, "'0x6G' is nothing that a condition is made of"),
        ("gpu_power_watts < 3 °C°", 22, "'°' is nothing that a condition is made of"),
        ("gpu_power_watts < 3 and", 23, "here should be a metric, not the end"),
        ('gpu_power_watts{cage="p0"} < 3', 0, "gpu_power_watts has no label cage: gpu"),
        ('engine_phase is "dead"', 16, "engine_phase is never 'dead': it is unknown, idle,"),
        ('gpu_power_watts is "idle"', 19, '"is" and "in" are for states, such as engine_phase'),
        ("gpu_clock_event_reasons has 3", 28, "here should be bits such as 0x60, not '3'"),
        ("rate(oom_kills_total[5]) > 0", 21, "'5' is no duration: write it like 90s, 2min or 24h"),
        ("rate(oom_kills_total[0s]) > 0", 21, "a window is longer than nothing"),
        ("rate(oom_kills_total) > 0", 20, "here should be '[', not ')'"),
        ("gpu_power_watts < $limit", 18, "there is no setting limit: none"),
        ("gpu_power_watts < warning(gpu_power_watts)", 18, "gpu_power_watts has no limit 'warning' in the catalogue"),
        ("__import__('os')", 11, "\"'os')\" is nothing that a condition is made of"),
        ("gpu_power_watts ; drop", 16, "';' is nothing that a condition is made of"),
        ("across(moon, gpu_power_watts) > 1", 7, "there is no place moon: node, gpu,"),
    ],
)
def test_refusals_name_the_place_and_what_should_stand_there(text: str, at: int, sentence: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse(text)
    assert (caught.value.at, str(caught.value)[: len(sentence)]) == (at, sentence)


def test_what_is_too_deep_or_too_long_is_refused_at_once() -> None:
    for text in ("(" * 500 + "gpu_power_watts", "not " * 400 + "gpu_power_watts < 1", "gpu_power_watts < 1 or " * 200):
        with pytest.raises(LanguageError, match=r"deep|at most 2,000"):
            parse(text)


@given(st.text(max_size=60))
def test_any_text_is_a_condition_or_a_refusal(text: str) -> None:
    at = 0
    try:
        parse(text)
    except LanguageError as error:
        at = error.at
    assert 0 <= at <= len(text)


@pytest.mark.parametrize(
    ("place", "text", "sentence"),
    [
        ("gpu", "gpu_power_watts < 30 °C", "watts may not be compared with celsius"),
        ("gpu", "gpu_power_watts + 3 s < 30 W", "watts may not be added to seconds"),
        ("node", "oom_kills_total > 0", "oom_kills_total is a counter: ask for its increase or rate"),
        ("node", "max(oom_kills_total[5s]) > 0", "oom_kills_total is a counter: ask for its increase or rate"),
        ("node", "rate(uptime_seconds[5s]) > 0", "uptime_seconds is no counter and has no rate"),
        ("node", "p95(uptime_seconds[5min]) > 0", "uptime_seconds is no histogram and has no p95"),
        ("engine", "time_to_first_token_seconds > 1 s", "time_to_first_token_seconds is a histogram: ask for p50, p95"),
        ("engine", "p95(time_to_first_token_seconds[60s]) > 1 s", "percentiles are taken over 5min"),
        ("engine", "max(decode_tokens_per_second[60s]) > 1", "decode_tokens_per_second is a quotient"),
        ("engine", "usual(requests_running[60s]) > 1", "a usual value needs a window of at least 1h"),
        ("node", "increase(oom_kills_total[31d]) > 0", "a window is at most 30d"),
        ("cluster", "gpu_power_watts < peers(gpu_power_watts)", "a cluster has no peers"),
        ("cage", "link_up > 0 and across(cluster, count(gpu_power_watts > 9 W)) > 1", "a cluster has no peers"),
        ("cage", "link_up > across(node, across(cage, link_up))", "a cage is no part of a node's surroundings"),
        (
            "cluster",
            "change(store_fill_ratio[5min]) > 5 %",
            "store_fill_ratio is known only as it is now: it has no ch",
        ),
        (
            "cluster",
            "min(commit_age_seconds[60s]) > 5 s",
            "commit_age_seconds is known only as it is now: it has no mi",
        ),
        ("deployment", "usual(baseline_speed_ratio[1d]) < 1", "baseline_speed_ratio is known only as it is now"),
        ("node", "mean(unclean_boot[60s]) > 0.9", "unclean_boot is known only as it is now"),
        ("gpu", "differs(gpu_power_watts)", "a gpu has no members that could differ"),
        ("node", "across(cage, link_up) > 0", "a cage is no part of a node's surroundings"),
        ("node", "1 > 2", "a condition reads something"),
    ],
)
def test_what_makes_no_sense_is_refused(place: str, text: str, sentence: str) -> None:
    assert [problem[: len(sentence)] for problem in problems(parse(text), PLACES[place])][:1] == [sentence]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("node", "swap_bytes_per_second > 50 MB/s"),
        ("cage", "interconnect_transmit_bytes_per_second > 12 Gb/s"),
        ("node", "rate(oom_kills_total[5s]) > 1 /min"),
        ("node", "rate(agent_cpu_seconds_total[10s]) > 5 %"),
        ("gpu", "gpu_power_watts / gpu_power_limit_watts > 0.9"),
        ("gpu", "gpu_sm_clock_hertz < 85 % * peers(gpu_sm_clock_hertz)"),
    ],
)
def test_units_that_are_the_same_go_together(place: str, text: str) -> None:
    assert problems(parse(text), PLACES[place]) == []
