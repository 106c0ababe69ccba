"""Rules that would stop the collector, silence each other or never hold: refused with a sentence, at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from alerts.causes import causes
from alerts.check import problems
from alerts.constants import constant
from alerts.defaults import defaults
from alerts.language import MOST_OPERATORS, parse
from alerts.places import PLACES, Members
from alerts.record import RuleChange
from alerts.rule import RuleError, rule, rules, unread
from alerts.rulebook import Rulebook
from alerts.tokens import LanguageError
from pipeline.alert_orders import check

HOT = {"title": "Hot", "place": "gpu", "when": "gpu_temperature_celsius > 90 °C", "severity": "warning"}


@pytest.mark.parametrize("sign", ["+", "-", "*", "/"])
def test_a_chain_of_operators_has_an_end(sign: str) -> None:
    text = "gpu_power_watts" + f"{sign}1" * MOST_OPERATORS
    began = time.process_time()
    assert problems(parse(text + " > 1"), PLACES["gpu"]) == []
    assert time.process_time() - began < 1.0
    with pytest.raises(LanguageError, match=r"a condition has at most 100 of \+ - \* /"):
        parse(text + f"{sign}1 > 1")


def test_what_is_in_several_chains_or_brackets_counts_together() -> None:
    half = "1" + "+1" * (MOST_OPERATORS // 2)
    assert parse(f"gpu_power_watts > {half} or (({half}) > gpu_power_watts)")
    for text in (f"gpu_power_watts > {half} or 2 * ({half}) > 1", f"(({half}) + {half} > gpu_power_watts)"):
        with pytest.raises(LanguageError, match="a condition has at most 100 of"):
            parse(text)
    with pytest.raises(LanguageError, match="a condition has at most 100 of"):
        parse("(gpu_power_watts" + "+1" * 974 + " > 9)")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0xffffffffffffffffffff", "none beyond"),
        (f"{1 << 53:#x}", "none beyond"),
        ("0x0", "a mask has one of 53 bits at least"),
    ],
)
def test_bits_that_no_mask_has(text: str, says: str) -> None:
    with pytest.raises(LanguageError, match=says):
        parse(f"gpu_clock_event_reasons has {text}")


def test_the_last_bit_of_a_mask() -> None:
    assert parse(f"gpu_clock_event_reasons has {(1 << 53) - 1:#x}").bits == (1 << 53) - 1  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["1e999 W", "1e308 GiB"])
def test_no_number_is_infinite(text: str) -> None:
    with pytest.raises(LanguageError, match="is more than a number can be"):
        parse(f"gpu_power_watts > {text}")


@pytest.mark.parametrize(
    ("place", "text", "says"),
    [
        ("gpu", "1 / gpu_power_watts > 3 W", "J^-1 s may not be compared with watts"),
        ("gpu", "gpu_power_watts / gpu_power_watts > 3 W", "ratio may not be compared with watts"),
        ("gpu", "gpu_power_watts * gpu_power_watts > 3 W", "J^2 s^-2 may not be compared with watts"),
        ("gpu", "gpu_power_watts / 2 s > 3 W", "J s^-2 may not be compared with watts"),
        ("gpu", "gpu_power_watts + 1 / gpu_power_watts > 3 W", "watts may not be added to J^-1 s"),
        ("node", "rate(oom_kills_total[0.001s]) > 0", "a window is at least 1s: it has no two samples else"),
        ("gpu", "mean(gpu_power_watts[999ms]) > 3 W", "a window is at least 1s: it has no two samples else"),
        ("gpu", "count(gpu_power_watts > 3 W) > 80 %", "count may not be compared with ratio"),
    ],
)
def test_what_makes_no_sense(place: str, text: str, says: str) -> None:
    assert problems(parse(text), PLACES[place]) == [says]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("gpu", "1 / gpu_power_watts > 3"),
        ("gpu", "gpu_power_watts / gpu_power_watts > 90 %"),
        ("gpu", "gpu_power_watts * 2 s > 3 J"),
        ("gpu", "3 J / gpu_power_watts > 2 s"),
        ("gpu", "2 * 3 * gpu_power_watts / 4 > 3 W"),
        ("gpu", "count(gpu_power_watts > 3 W) * 2 W > gpu_power_watts"),
        ("node", "rate(agent_cpu_seconds_total[1s]) > 5 %"),
        ("node", "increase(oom_kills_total[10s]) / 10 s > 1 /min"),
        ("node", "1 / 2 * swap_bytes_per_second > 1 MB/s"),
    ],
)
def test_what_makes_sense(place: str, text: str) -> None:
    assert problems(parse(text), PLACES[place]) == []


def because(**names: str) -> dict[str, dict[str, Any]]:
    return {name: {**HOT, "because_of": list(causes)} for name, causes in names.items()}


@pytest.mark.parametrize(
    ("tables", "way"),
    [
        (because(a="a"), "rule a: because_of goes in a circle: a → a"),
        (because(a="b", b="a"), "rule a: because_of goes in a circle: a → b → a"),
        (because(x="b", a="cb", b="c", c="da", d=""), "rule a: because_of goes in a circle: a → c → a"),
        (because(a="b", b="c", c="d", d="b"), "rule b: because_of goes in a circle: b → c → d → b"),
    ],
)
def test_rules_that_are_because_of_themselves_are_refused(tables: dict[str, Any], way: str) -> None:
    with pytest.raises(RuleError) as caught:
        rules(tables)
    assert str(caught.value) == way


def test_a_circle_is_told_of_what_was_written() -> None:
    file = {"gpu_too_hot": {"because_of": ["gpu_hot"]}}
    with pytest.raises(RuleError) as caught:
        Rulebook(file)
    assert str(caught.value) == "rule gpu_too_hot: because_of goes in a circle: gpu_too_hot → gpu_hot → gpu_too_hot"


@pytest.mark.parametrize(
    ("when", "more", "says"),
    [
        ("gpu_power_watts > $most", {}, ["settings: nothing reads powr: it has most"]),
        ("gpu_power_watts > 9 W", {"clear": "gpu_power_watts < $most"}, ["settings: nothing reads powr: it has most"]),
        ("gpu_power_watts > 9 W", {"message": "more than {most}"}, ["settings: nothing reads powr: it has most"]),
        (
            "gpu_power_watts > 9 W",
            {},
            ["settings: nothing reads most: it has none", "settings: nothing reads powr: it has none"],
        ),
        ("gpu_power_watts > $most + $powr", {}, []),
    ],
)
def test_a_setting_that_nothing_reads(when: str, more: dict[str, str], says: list[str]) -> None:
    made = rule("x", {**HOT, "when": when, "settings": {"most": "9 W", "powr": "1 W"}, **more})
    assert unread(made, made.settings) == says


def test_every_setting_of_the_product_is_read() -> None:
    assert [wrong for one in Rulebook().rules.values() for wrong in unread(one, one.settings)] == []


def test_people_are_told_of_settings_that_nothing_reads() -> None:
    book = Rulebook()
    with pytest.raises(RuleError, match="rule power_delivery: settings: nothing reads powr: it has busy, clock, power"):
        book.changed("power_delivery", {"settings": {"powr": "25 W"}})
    assert book.changed("power_delivery", {"settings": {"power": "25 W"}}) == {"settings": {"power": "25 W"}}
    other = {"when": "gpu_power_watts > 30 W", "message": "hot"}  # which reads none of those that are there
    assert book.changed("power_delivery", other) == other


@pytest.mark.parametrize("on", [{"on": None}, {}, {"on": "yes"}])
def test_whether_a_rule_is_on_must_be_said(on: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"“on” is (missing|'yes'), expected true or false"):
        check("enable", {"name": "gpu_hot", **on})


@pytest.mark.parametrize("on", [True, False])
def test_a_rule_is_switched_on_or_off(on: bool) -> None:
    assert check("enable", {"name": "gpu_hot", "on": on}) == {"name": "gpu_hot", "on": on, "by": None}


@pytest.mark.parametrize(
    "text", ['gpu_power_watts{gpu="0", gpu="1"} > 3 W', 'gpu_power_watts{gpu in ("0", "1"), gpu="0"} > 3 W']
)
def test_a_label_stands_there_once(text: str) -> None:
    with pytest.raises(LanguageError, match=r'the label gpu stands there twice: write gpu in \("…", "…"\)'):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "gpu_power_watts has 0x1",
        "max(gpu_clock_event_reasons[60s]) has 0x20",
        "gpu_clock_event_reasons + 1 has 0x20",
        "across(node, gpu_power_watts) has 0x1",
    ],
)
def test_bits_are_those_of_masks(text: str) -> None:
    assert problems(parse(text), PLACES["gpu"]) == ["has asks for bits of a mask, such as gpu_clock_event_reasons"]
    assert problems(parse("across(node, gpu_clock_event_reasons) has 0x20"), PLACES["gpu"]) == []


@pytest.mark.parametrize(
    ("place", "larger"),
    [
        ("engine", "node"),
        ("server", "node"),
        ("node", "server"),
        ("gpu", "server"),
        ("deployment", "node"),
        ("deployment", "target"),
        ("cluster", "node"),
        ("cluster", "target"),
        ("cluster", "deployment"),
        ("channel", "node"),
        ("channel", "deployment"),
        ("node", "channel"),
    ],
)
def test_what_is_part_of_no_such_thing(place: str, larger: str) -> None:
    found = problems(parse(f"across({larger}, scrape_duration_seconds) > 1 s"), PLACES[place])
    an = "an" if place == "engine" else "a"
    assert found == [f"{an} {place} is part of no {larger}: nothing would ever be known across it"]


@pytest.mark.parametrize(
    ("place", "larger"),
    [
        ("gpu", "node"),
        ("function", "cage"),
        ("node", "target"),
        ("engine", "target"),
        ("engine", "server"),
        ("target", "node"),
        ("target", "server"),
        ("server", "target"),
        ("node", "deployment"),
        ("engine", "deployment"),
        ("server", "deployment"),
        ("deployment", "deployment"),
        ("channel", "channel"),
        ("node", "cluster"),
        ("channel", "cluster"),
        ("cluster", "cluster"),
    ],
)
def test_what_is_part_of_something(place: str, larger: str) -> None:
    assert problems(parse(f"across({larger}, scrape_duration_seconds) > 1 s"), PLACES[place]) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("gpu_power_watts > 1e308 W * 1e10", "what is worked out is more than a number can be"),
        ("gpu_power_watts > 1e308 W + 1e308 W", "what is worked out is more than a number can be"),
        ("gpu_power_watts > -1e308 W - 1e308 W", "what is worked out is more than a number can be"),
        ("gpu_power_watts > 5 W / 0", "what is divided by 0 is never known"),
        ("gpu_power_watts / (1 - 1) > 5 W", "what is divided by 0 is never known"),
    ],
)
def test_numbers_are_finite(text: str, says: str) -> None:
    assert problems(parse(text), PLACES["gpu"]) == [says]
    assert constant(parse("gpu_power_watts > 5 W / 0").right) is None  # type: ignore[union-attr]
    assert problems(parse("gpu_power_watts > 1e10 W * 1e10 / 2"), PLACES["gpu"]) == []


def test_the_same_cause_by_two_ways_is_no_circle() -> None:
    assert list(rules(because(a="bc", b="d", c="d", d=""))) == ["a", "b", "c", "d"]


def test_circles_through_what_people_change() -> None:
    book = Rulebook()
    with pytest.raises(RuleError, match="circle: node_silent → gpu_lost → node_silent"):
        book.changed("node_silent", {"because_of": ["gpu_lost"]})
    book.apply("gpu_lost", book.changed("gpu_lost", {"because_of": []}))
    book.apply("node_silent", book.changed("node_silent", {"because_of": ["gpu_lost"]}))
    with pytest.raises(RuleError, match="circle: gpu_lost → node_silent → gpu_lost"):
        book.check_reset("gpu_lost")
    found = Rulebook({}, [RuleChange(1, "node_silent", {"because_of": ["gpu_lost"]}, 1)])
    assert [one.rpartition(": ")[2] for one in found.problems] == ["node_silent → gpu_lost → node_silent"]
    assert found.rules["node_silent"].because_of == ()
    with pytest.raises(RuleError, match="circle"):
        Rulebook({"node_silent": {"because_of": ["gpu_lost"]}})
    assert defaults()["gpu_lost"]["because_of"] == ["node_silent"]


def test_one_of_a_circle_is_told() -> None:
    """Rules that an earlier version took, or that changed while alerts fired."""
    found = {name: rule(name, table) for name, table in because(a="b", b="c", c="b", d="a", e="").items()}
    members = Members(nodes={"n": "k3"})
    firing = [(name, ("n", "0")) for name in "abcde"]
    root = ("b", ("n", "0"))
    assert causes(firing, found, members) == {one: root for one in firing if one[0] in "acd"}
