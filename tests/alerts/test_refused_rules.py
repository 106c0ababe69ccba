"""Rules that would stop the collector, silence each other or never hold: refused with a sentence, at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from alerts.causes import causes
from alerts.check import problems
from alerts.defaults import defaults
from alerts.language import MOST_OPERATORS, parse
from alerts.places import PLACES, Members
from alerts.record import RuleChange
from alerts.rule import RuleError, rule, rules
from alerts.rulebook import Rulebook
from alerts.tokens import LanguageError

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
