"""What a run ran on, and how two runs differ."""

from __future__ import annotations

import json

import pytest

from runs.facts import at, during
from runs.fingerprint import (
    MOST_CHANGES,
    ROWS,
    Changed,
    Difference,
    Field,
    Fingerprint,
    change,
    diff,
    fingerprint,
    words,
)
from storage.records import Fact
from telemetry.model import Unit

START, END = 1000, 9000
NODES = ("spark-01", "spark-02", "spark-03")


def node_facts(name: str, *values: str, start: int = 0) -> list[Fact]:
    """The same fact of several nodes."""
    return [Fact(node, name, value, start) for node, value in zip(NODES, values, strict=False)]


def made(*facts: Fact, engines: tuple[str, ...] = ("head",), nodes: tuple[str, ...] = NODES) -> Fingerprint:
    return fingerprint(facts, engines, nodes, START, END)


def field(found: Fingerprint, key: str) -> Field:
    one = found.find(key)
    assert one is not None
    return one


def test_fields_are_in_order_and_only_those_that_are_told() -> None:
    facts = [
        Fact("head", "version", "0.32.0", 0),
        Fact("head", "model", "moonshotai/Kimi-K3", 0),
        *node_facts("kernel", "6.17", "6.17", "6.17"),
    ]
    found = made(*facts)
    assert [(one.key, one.value) for one in found.fields] == [
        ("model", "moonshotai/Kimi-K3"),
        ("version", "0.32.0"),
        ("kernel", "6.17"),
    ]
    assert found.find("driver") is None


def test_values_that_differ_are_named_by_node() -> None:
    one = field(made(*node_facts("driver_version", "580.142", "580.142", "580.95")), "driver")
    assert (one.value, one.apart, one.changes) == ("580.142", {"spark-03": "580.95"}, ())
    assert words(one) == "580.142; spark-03: 580.95"


def test_a_node_that_does_not_tell_is_apart() -> None:
    one = field(made(*node_facts("dgx_os", "7.5.0", "7.5.0")), "dgx_os")
    assert one.apart == {"spark-03": ""}
    assert words(one) == "7.5.0; spark-03: not known"


def test_as_many_of_each_the_first_by_name_is_the_value() -> None:
    one = field(made(*node_facts("kernel", "6.18", "6.17"), nodes=NODES[:2]), "kernel")
    assert (one.value, one.apart) == ("6.17", {"spark-01": "6.18"})


def test_facts_of_others_are_left_out() -> None:
    found = made(Fact("elsewhere", "kernel", "5.0", 0), Fact("elsewhere", "version", "1", 0))
    assert found.fields == ()
    assert made(*node_facts("version", "0.32.0")).fields == (), "a node's version is none of the engine's"


@pytest.mark.parametrize(
    ("start", "end", "value"),
    [(0, None, "a"), (0, 1000, None), (0, 1001, "a"), (9000, None, "a"), (9001, None, None), (2000, 3000, "a")],
)
def test_only_what_was_true_in_the_run(start: int, end: int | None, value: str | None) -> None:
    found = made(Fact("head", "version", "a", start, end))
    assert [one.value for one in found.fields] == ([] if value is None else [value])


def test_a_change_during_the_run_is_said() -> None:
    facts = [
        Fact("head", "version", "0.31.0", 0, 4000),
        Fact("head", "version", "0.32.0", 4000, 6000),
        Fact("head", "version", "0.33.0", 6000),
    ]
    one = field(made(*facts), "version")
    assert one.value == "0.33.0"
    assert one.changes == (Changed(4000, "head", "0.31.0", "0.32.0"), Changed(6000, "head", "0.32.0", "0.33.0"))


def test_a_gauge_that_changes_all_the_time_is_told_by_its_newest_changes() -> None:
    """A day of one change a second is worked through once; the first value is that of the beginning."""
    facts = [Fact("head", "version", str(at_s), at_s * 1000, (at_s + 1) * 1000) for at_s in range(86_400)]
    found = field(fingerprint(facts, ["head"], [], 0, 86_400_000), "version")
    assert (found.value, len(found.changes)) == ("86399", MOST_CHANGES)
    assert found.changes[0] == Changed(86_200_000, "head", "0", "86200")
    assert found.changes[-1] == Changed(86_399_000, "head", "86398", "86399")


def test_as_many_changes_as_are_kept_are_all_told() -> None:
    facts = [Fact("head", "version", str(number), number, number + 1) for number in range(MOST_CHANGES + 1)]
    found = field(fingerprint(facts, ["head"], [], 0, 9000), "version")
    assert [one.after for one in found.changes] == [str(number) for number in range(1, MOST_CHANGES + 1)]


def test_a_device_that_goes_leaves_the_others() -> None:
    facts = [
        Fact("spark-01", "gpu.0.vbios", "a", 0, 5000),
        Fact("spark-01", "gpu.1.vbios", "b", 0),
        Fact("spark-01", "gpu.2.vbios", "b", 6000),
    ]
    assert list(field(made(*facts, nodes=("spark-01",)), "vbios").changes) == [Changed(6000, "spark-01", "a / b", "b")]


def test_a_change_to_the_same_is_none() -> None:
    facts = [Fact("head", "version", "0.32.0", 0, 4000), Fact("head", "version", "0.32.0", 4000)]
    assert field(made(*facts), "version").changes == ()


def test_changes_are_in_order_of_time() -> None:
    facts = [
        *(Fact(node, "kernel", "old", 0, since) for node, since in zip(NODES, (5000, 3000, 4000), strict=True)),
        *(Fact(node, "kernel", "new", since) for node, since in zip(NODES, (5000, 3000, 4000), strict=True)),
    ]
    one = field(made(*facts), "kernel")
    assert [(change.at_ms, change.target) for change in one.changes] == [
        (3000, "spark-02"),
        (4000, "spark-03"),
        (5000, "spark-01"),
    ]
    assert (one.value, one.apart) == ("new", {})


def test_several_devices_of_a_node() -> None:
    same = [Fact(node, f"function.{name}.firmware", "28.45", 0) for node in NODES for name in ("f0", "f1")]
    assert field(made(*same), "nic_firmware").value == "28.45"
    other = [*same, Fact("spark-02", "function.f2.firmware", "28.44", 0)]
    assert field(made(*other), "nic_firmware").apart == {"spark-02": "28.45 / 28.44"}


def test_the_first_name_that_is_told_counts() -> None:
    facts = [Fact("head", "served_models", "b", 0), Fact("head", "model_alias", "c", 0)]
    assert field(made(*facts), "model").value == "b"
    assert field(made(*facts, Fact("head", "model", "a", 0)), "model").value == "a"


@pytest.mark.parametrize("name", ["gpu..name", "gpu.name", "xgpu.0.name", "gpu.0.named"])
def test_names_that_only_look_alike(name: str) -> None:
    assert made(*node_facts(name, "x")).fields == ()


def test_two_engines_that_differ() -> None:
    facts = [Fact("head", "version", "0.32.0", 0), Fact("tail", "version", "0.31.0", 0)]
    one = field(made(*facts, engines=("head", "tail")), "version")
    assert (one.value, one.apart) == ("0.31.0", {"head": "0.32.0"})


def test_units_go_with_numbers() -> None:
    one = field(made(Fact("head", "context_tokens", "131072", 0)), "context")
    assert (one.value, one.unit) == ("131072", Unit.TOKENS)


def test_differences() -> None:
    before = made(
        Fact("head", "version", "0.31.0", 0),
        Fact("head", "speculative_tokens", "7", 0),
        *node_facts("driver_version", "580.142", "580.142", "580.142"),
        *node_facts("kernel", "6.17", "6.17", "6.17"),
    )
    after = made(
        Fact("head", "version", "0.32.0", 0),
        Fact("head", "context_tokens", "4096", 0),
        *node_facts("driver_version", "580.142", "580.95", "580.142"),
        *node_facts("kernel", "6.17", "6.17", "6.17"),
    )
    assert diff(before, after) == [
        Difference("version", "Engine version", "0.31.0", "0.32.0"),
        Difference("context", "Context length", "", "4096", Unit.TOKENS),
        Difference("speculative_tokens", "Draft tokens (K)", "7", ""),
        Difference("driver", "Driver", "580.142", "580.142; spark-02: 580.95"),
    ]
    assert diff(before, before) == []


def test_as_plain_data() -> None:
    facts = [
        Fact("head", "context_tokens", "4096", 0, 4000),
        Fact("head", "context_tokens", "8192", 4000),
        *node_facts("driver_version", "580.142", "580.142", "580.95"),
    ]
    found = made(*facts)
    stored = json.loads(json.dumps(found.to_json()))
    assert Fingerprint.from_json(stored) == found
    assert stored[1] == {"key": "driver", "label": "Driver", "value": "580.142", "apart": {"spark-03": "580.95"}}


def test_keys_are_unique() -> None:
    keys = [row.key for row in ROWS]
    assert len(keys) == len(set(keys))


def test_facts_at_an_instant() -> None:
    facts = [Fact("a", "x", "1", 0, 10), Fact("a", "x", "2", 10), Fact("b", "x", "3", 0)]
    assert [at(facts, "a", instant) for instant in (-1, 0, 9, 10)] == [{}, {"x": "1"}, {"x": "1"}, {"x": "2"}]


def test_facts_of_a_stretch_are_oldest_first() -> None:
    facts = [Fact("a", "x", "2", 10), Fact("a", "x", "1", 0, 10), Fact("a", "x", "0", -9, 0)]
    assert [one.value for one in during(facts, 0, 10)] == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "before", "after", "told"),
    [
        ("driver_version", "580.142", "590.1", "Driver 580.142 → 590.1"),
        ("function.rocep1s0f1.firmware", "28.45", "28.46", "NIC firmware 28.45 → 28.46"),
        ("context_tokens", "8192", "262144", "Context length 8.2k tokens → 262k tokens"),
        ("context_tokens", "8192", "auto", "Context length 8.2k tokens → auto"),
        ("speculative_method", "dspark", "", "Speculative method dspark → not told"),
        ("model", "a", "b", "Model a → b"),
        ("served_models", "a", "", ""),
        ("hostname", "a", "b", ""),
        ("function.firmware", "1", "2", ""),
    ],
)
def test_a_change_in_words(name: str, before: str, after: str, told: str) -> None:
    assert change(name, before, after) == told
