"""Rules: what they are made of, the ones that come with the product, and one alert per cause."""

from __future__ import annotations

import itertools

import pytest

from alerts.book import Book, Turn
from alerts.causes import causes
from alerts.defaults import defaults, merged
from alerts.machine import Change, Phase, Standing, Timing
from alerts.places import Members
from alerts.rule import RuleError, Severity, rule, rules
from alerts.view import View
from tests.alerts.samples import NAN, START_MS, frame, of_node

HOT = {"title": "Hot", "place": "gpu", "when": "gpu_temperature_celsius >= 90 °C", "severity": "critical"}


def test_the_rules_of_the_product_are_rules() -> None:
    found = rules(defaults())
    assert len(found) == 51
    assert [name for name, one in found.items() if not one.enabled] == ["ttft_objective", "itl_objective"]
    assert found["gpu_hot"].timing == Timing(60_000, 60_000)
    assert found["power_delivery"].settings == {"busy": "80 %", "clock": "1400 MHz", "power": "30 W"}
    assert found["node_silent"].severity is Severity.CRITICAL


def test_a_rule_is_made_of_a_table() -> None:
    made = rule("hot", {**HOT, "for": "60s", "clear_for": "2min", "clear": "gpu_temperature_celsius < 87 °C"})
    assert made.timing == Timing(60_000, 120_000)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"when": "gpu_temp > 1"}, "when: there is no metric gpu_temp"),
        ({"when": "gpu_temperature_celsius > 3 W"}, "when: celsius may not be compared with watts"),
        ({"clear": "nonsense"}, "clear: there is no metric nonsense"),
        ({"place": "moon"}, "there is no place moon: it is node, gpu,"),
        ({"severity": "bad"}, "severity is info, warning or critical, not 'bad'"),
        ({"for": "soon"}, "for: 'soon' is no duration"),
        ({"for": "8d"}, "for is at most 7d"),
        ({"enabled": "yes"}, "enabled is true or false, not 'yes'"),
        ({"because_of": "x"}, "because_of is a list of names, not 'x'"),
        ({"title": ""}, "title is missing"),
        ({"title": 3}, "title is a text of at most 2,000 characters, not 3"),
        ({"whne": "x"}, "there is no whne: a rule has title,"),
        ({"settings": {"x": 3}}, 'settings are texts such as "85 °C"'),
        (
            {"settings": {"x": "gpu_power_watts"}, "when": "gpu_temperature_celsius > $x"},
            "when: 'gpu_power_watts' is no number",
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_said(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(RuleError) as caught:
        rule("hot", {**HOT, **change})
    assert caught.value.problems[0][: len(sentence)] == sentence


def test_a_cause_must_be_a_rule() -> None:
    with pytest.raises(RuleError, match="because_of names cold, which is no rule"):
        rules({"hot": {**HOT, "because_of": ["cold"]}})


def test_changes_are_laid_over_the_defaults() -> None:
    table = merged(defaults(), {"power_delivery": {"for": "5s", "settings": {"power": "20 W"}}})["power_delivery"]
    assert (table["for"], table["settings"]) == ("5s", {"busy": "80 %", "clock": "1400 MHz", "power": "20 W"})
    assert defaults()["power_delivery"]["for"] == "20s"


def test_an_alert_is_held_while_its_node_is_silent() -> None:
    """92 °C from the start, firing at 120 s, silent from 180 s on, 91 °C when it is back at 600 s."""
    temperature = [92.0] * 180 + [NAN] * 420 + [91.0] * 10
    view = View(frame({of_node("a", "gpu_temperature_celsius", gpu="0"): temperature}))
    book = Book()
    turns = book.read([rule("hot", {**HOT, "for": "120s", "clear_for": "60s"})], view)
    expected = [Change(START_MS, Phase.PENDING, START_MS), Change(START_MS + 120_000, Phase.FIRING, START_MS)]
    assert turns == [Turn("hot", ("a", "0"), change) for change in expected]
    assert list(book.firing()) == [("hot", ("a", "0"))]


def test_an_instance_that_is_well_leaves_nothing_behind() -> None:
    book = Book()
    temperature = [92.0, 92.0, 50.0, 50.0]
    book.read([rule("hot", HOT)], View(frame({of_node("a", "gpu_temperature_celsius", gpu="0"): temperature})))
    assert book.standings == {}


def test_a_rule_that_is_off_reads_nothing() -> None:
    view = View(frame({of_node("a", "gpu_temperature_celsius", gpu="0"): [99.0]}))
    assert Book().read([rule("hot", {**HOT, "enabled": False})], view) == []


def test_one_alert_per_cause() -> None:
    found = rules(defaults())
    members = Members({("head", "0", "K3"): "k3"}, {"a": "k3", "b": "k3", "x": "other"})
    firing = [
        ("node_silent", ("a",)),
        ("gpu_too_hot", ("a", "0")),
        ("gpu_hot", ("a", "0")),
        ("gpu_hot", ("b", "0")),
        ("engine_wedged", ("head", "0", "K3")),
        ("gpu_lost", ("x", "0")),
        ("queue_growing", ("head", "0", "K3")),
    ]
    expected = {
        ("gpu_too_hot", ("a", "0")): ("node_silent", ("a",)),
        ("gpu_hot", ("a", "0")): ("node_silent", ("a",)),
        ("engine_wedged", ("head", "0", "K3")): ("node_silent", ("a",)),
        ("queue_growing", ("head", "0", "K3")): ("node_silent", ("a",)),
    }
    for order in itertools.islice(itertools.permutations(firing), 0, 5040, 97):
        assert causes(order, found, members) == expected


@pytest.mark.parametrize(
    ("names", "root"),
    [
        (("gpu_hot", "thermal_slowdown"), "thermal_slowdown"),
        (("gpu_hot", "hardware_slowdown"), "hardware_slowdown"),
        (("gpu_hot", "gpu_too_hot", "thermal_slowdown"), "gpu_too_hot"),
        (("thermal_slowdown", "hardware_slowdown"), "hardware_slowdown"),
    ],
)
def test_a_hot_gpu_is_one_cause(names: tuple[str, ...], root: str) -> None:
    """What has come to the worst stands for the rest of the same GPU, and for nothing of another."""
    members = Members(nodes={"a": "k3", "b": "k3"})
    firing = [(name, ("a", "0")) for name in names]
    expected = {one: (root, ("a", "0")) for one in firing if one[0] != root}
    assert causes([*firing, ("gpu_hot", ("b", "0"))], rules(defaults()), members) == expected


@pytest.mark.parametrize(
    ("well_s", "explained"), [(0, True), (60, True), (61, False), (300, False)], ids=["holds", "just", "over", "long"]
)
def test_what_was_over_before_is_no_cause(well_s: int, explained: bool) -> None:
    """An alert that only waits for its end has led to nothing that began meanwhile."""
    cause, alert = ("driver_no_memory", ("a",)), ("engine_unreachable", ("head",))
    members = Members(nodes={"a": "k3"}, servers={"head": "k3"})
    now = 1_000_000
    standings = {
        cause: Standing(Phase.FIRING, 0, 0, well_s > 0, well_s * 1000, seen_ms=now),
        alert: Standing(Phase.FIRING, now, now, seen_ms=now),
    }
    expected = {alert: cause} if explained else {}
    assert causes(standings, rules(defaults()), members, standings) == expected
    assert causes(standings, rules(defaults()), members) == {alert: cause}, "where nothing is known of when"
    pending = {cause: Standing(Phase.PENDING, 0, 0, True, 900_000, seen_ms=now), alert: standings[alert]}
    assert causes(pending, rules(defaults()), members, pending) == {alert: cause}, "what is counted there is for it"


@pytest.mark.parametrize(
    ("cause", "alert", "after_s", "explained"),
    [
        ("memory_out", "swapping", 120, True),
        ("memory_out", "swapping", 121, False),
        ("node_silent", "driver_no_memory", 3600, True),  # nothing is known of it any more
        ("memory_out", "memory_low", 3600, True),  # the graver stage of the same
        ("thermal_slowdown", "gpu_hot", 3600, True),  # of one GPU
        ("node_silent", "driver_no_memory", -3600, True),
    ],
)
def test_what_began_well_before_is_not_explained(cause: str, alert: str, after_s: int, explained: bool) -> None:
    members, began, book = Members(nodes={"a": "k3"}), 10_000_000, rules(defaults())
    then, first = ((name, ("a", *("0" for _ in book[name].place.labels))) for name in (alert, cause))
    standings = {
        then: Standing(Phase.FIRING, began, began, seen_ms=2 * began),
        first: Standing(Phase.FIRING, began, began + after_s * 1000, seen_ms=2 * began),
    }
    expected = {then: first} if explained else {}
    assert causes(standings, rules(defaults()), members, standings) == expected


def test_a_node_that_fell_and_came_back_is_one_cause() -> None:
    """What the engines of its deployment do then follows from it: while it is silent, and after it booted anew."""
    members = Members({("head", "0", "K3"): "k3"}, {"a": "k3"}, servers={"head": "k3"})
    silent, boot, engine = ("node_silent", ("a",)), ("unclean_boot", ("a",)), ("engine_unreachable", ("head",))
    wedged, queue = ("engine_wedged", ("head", "0", "K3")), ("queue_growing", ("head", "0", "K3"))
    every = [silent, boot, engine, wedged, queue]
    assert causes(every, rules(defaults()), members) == dict.fromkeys(every[1:], silent)
    assert causes(every[1:], rules(defaults()), members) == dict.fromkeys(every[2:], boot)
    assert causes([boot, wedged], rules(defaults()), members) == {wedged: boot}
    assert causes([("unclean_boot", ("x",)), engine], rules(defaults()), members) == {}, "of no node of its deployment"


def test_a_node_of_another_deployment_is_no_cause() -> None:
    members = Members({("head", "0", "K3"): "k3"}, {"a": "k3", "x": "other"})
    firing = [("node_silent", ("x",)), ("engine_wedged", ("head", "0", "K3"))]
    assert causes(firing, rules(defaults()), members) == {}
    cages = [("link_down", ("a", "p0")), ("degraded_link", ("a", "p1"))]
    assert causes(cages, rules(defaults()), members) == {}
    assert causes([*cages, ("degraded_link", ("a", "p0"))], rules(defaults()), members) == {
        ("degraded_link", ("a", "p0")): ("link_down", ("a", "p0"))
    }
