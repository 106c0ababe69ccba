"""Conditions over arrays: what is true, what is false, and what nobody knows."""

from __future__ import annotations

import numpy as np
import pytest

from alerts.evaluate import instances, truth, value
from alerts.language import parse
from alerts.operands import operands
from alerts.places import PLACES, Members
from alerts.view import View
from telemetry.model import Scope
from tests.alerts.samples import NAN, frame, of_engine, of_node

NODE, GPU, CAGE = PLACES["node"], PLACES["gpu"], PLACES["cage"]
T, F, U = 1.0, 0.0, NAN


def holds(
    text: str, view: View, place: str = "gpu", settings: dict[str, str] | None = None
) -> dict[tuple[str, ...], list[float]]:
    condition = parse(text, settings)
    keys = instances(condition, PLACES[place], view)
    return dict(zip(keys, truth(condition, PLACES[place], view, keys).tolist(), strict=True))


def same(found: list[float], expected: list[float]) -> bool:
    return np.array_equal(found, expected, equal_nan=True)


def one(power: list[float], util: list[float]) -> View:
    rows = {of_node("a", "gpu_power_watts", gpu="0"): power, of_node("a", "gpu_utilization_ratio", gpu="0"): util}
    return View(frame(rows, gap_ms=500))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu_power_watts < 30 W", [T, F, U, T, U]),
        ("gpu_power_watts < 30 W and gpu_utilization_ratio >= 80 %", [T, F, U, U, F]),
        ("gpu_power_watts < 30 W or gpu_utilization_ratio >= 80 %", [T, T, T, T, U]),
        ("not gpu_power_watts < 30 W", [F, T, U, F, U]),
        ("gpu_power_watts < 30 W and maybe(gpu_utilization_ratio >= 80 %)", [T, F, U, T, F]),
        ("gpu_power_watts < 30 W or maybe(gpu_utilization_ratio >= 80 %)", [T, T, T, T, U]),
        ("maybe(gpu_power_watts < 30 W) and maybe(gpu_utilization_ratio >= 80 %)", [T, F, T, T, F]),
        ("absent(gpu_power_watts)", [F, F, T, F, T]),
        ("gpu_power_watts / (gpu_utilization_ratio - gpu_utilization_ratio) > 1", [U, U, U, U, U]),
        ("gpu_power_watts * 2 + 1 W == 45 W", [F, F, U, T, U]),
        ("gpu_power_watts >= $limit", [F, T, U, F, U]),
    ],
)
def test_three_values(text: str, expected: list[float]) -> None:
    view = one([20, 40, NAN, 22, NAN], [0.9, 0.9, 0.9, NAN, 0.1])
    assert same(holds(text, view, settings={"limit": "30 W"})["a", "0"], expected)


def test_what_corroborates_and_is_not_known_neither_fires_nor_blocks() -> None:
    view = one([20, 40], [NAN, NAN])
    assert holds("gpu_power_watts < 30 W and maybe(gpu_utilization_ratio > 0.5)", view)["a", "0"] == [T, F]
    assert holds("gpu_power_watts < 30 W or maybe(gpu_utilization_ratio > 0.5)", view)["a", "0"] == [T, F]


def test_bits_and_states() -> None:
    rows = {
        of_node("a", "gpu_clock_event_reasons", gpu="0"): [0.0, 4.0, 0x24, 0x40],
        of_node("a", "gpu_reading_state", gpu="0"): [0.0, 2.0, 3.0, 1.0],
    }
    view = View(frame(rows))
    assert holds("gpu_clock_event_reasons has 0x60", view)["a", "0"] == [F, F, T, T]
    assert holds('gpu_reading_state in ("lost", "stalled")', view)["a", "0"] == [F, T, T, F]
    assert holds('gpu_reading_state is "ok"', view)["a", "0"] == [T, F, F, F]


def test_what_happened_in_a_gap_has_happened() -> None:
    """The kill that stops an agent for ten seconds is seen when it answers again; a rate over the gap is not known."""
    rows = {of_node("a", "oom_kills_total"): [5.0, 5, *[U] * 10, 6, 6, 6, 6]}
    view = View(frame(rows))
    for text, expected in (("increase(oom_kills_total[12s])", [1.0] * 2), ("rate(oom_kills_total[12s])", [U] * 2)):
        reading = parse(f"{text} > 0").left  # type: ignore[union-attr]
        assert same(value(reading, NODE, view, [("a",)])[0, 12:14].tolist(), expected), text


def test_a_gap_longer_than_the_window_hides_nothing_that_happened_in_it() -> None:
    """Live, where only the last tick is worked out, and a replay say the same, whoever else answered meanwhile."""
    rows = {
        of_node("a", "oom_kills_total"): [5.0, *[U] * 200, 6],
        of_node("b", "oom_kills_total"): [float(second) for second in range(202)],
    }
    made = frame(rows)
    reading = parse("increase(oom_kills_total[60s]) > 0").left  # type: ignore[union-attr]
    now, whole = (value(reading, NODE, View(made, first), [("a",), ("b",)])[:, -1] for first in (201, 0))
    assert now.tolist() == pytest.approx([60 / 201, 60.0])
    assert now.tolist() == pytest.approx(whole.tolist())


def test_rates_increases_changes_and_extremes() -> None:
    rows = {
        of_node("a", "oom_kills_total"): [5.0, 5, 5, 6, 6, 6, 6],
        of_node("a", "memory_available_bytes"): [90.0, 80, 70, 60, 60, 60, 90],
    }
    view = View(frame(rows))
    for text, expected in (
        ("increase(oom_kills_total[2s])", [U, 0, 0, 1, 1, 0, 0]),
        ("rate(oom_kills_total[2s])", [U, U, 0, 0.5, 0.5, 0, 0]),
        ("change(memory_available_bytes[2s])", [U, U, -20, -20, -10, 0, 30]),
        ("max(memory_available_bytes[2s])", [90, 90, 80, 70, 60, 60, 90]),
        ("min(memory_available_bytes[2s])", [90, 80, 70, 60, 60, 60, 60]),
        ("mean(memory_available_bytes[2s])", [90, 85, 75, 65, 60, 60, 75]),
    ):
        reading = parse(f"{text} > 0").left  # type: ignore[union-attr]
        assert same(value(reading, NODE, view, [("a",)])[0].tolist(), expected), text


CHANGES: list[tuple[str, float, list[float], int, list[float]]] = [
    ("read every two seconds", 2.0, [90, 80, 70, 60, 50], 5, [U, U, U, -25, -25]),
    (
        "every four: of the step that the window begins in its part counts",
        4.0,
        [90, 80, 70, 90],
        5,
        [U, U, -12.5, 17.5],
    ),
    ("every five: at a sample it is what that says", 5.0, [90, 80, 60], 5, [U, -10, -20]),
    ("every ten: nobody knows when it changed", 10.0, [90, 80, 70, 60], 5, [U, U, U, U]),
    ("every ten, over ten", 10.0, [90, 80, 60], 10, [U, -10, -20]),
    ("one read missed", 1.0, [90, 80, NAN, 60, 50, 40], 3, [U, U, U, -30, -30, -30]),
    ("over a gap", 1.0, [90, NAN, NAN, 60, 50, 40], 3, [U, U, U, -30, U, U]),
    ("a step longer than the window, no gap", 1.0, [90, NAN, 70, 60, 50], 1, [U, U, U, -10, -10]),
]


@pytest.mark.parametrize(("what", "step_s", "values", "window_s", "expected"), CHANGES, ids=[one[0] for one in CHANGES])
def test_a_change_begins_between_two_samples(
    what: str, step_s: float, values: list[float], window_s: int, expected: list[float]
) -> None:
    """The value where the window begins lies on the line between the samples around it; live and in a replay."""
    made = frame({of_node("a", "memory_available_bytes"): values}, step_s)
    reading = parse(f"change(memory_available_bytes[{window_s}s]) > 0").left  # type: ignore[union-attr]
    whole = value(reading, NODE, View(made), [("a",)])[0].tolist()
    read = [at for at, one in enumerate(values) if one == one]
    assert same([whole[at] for at in read], [expected[at] for at in read]), what
    for at in read:
        until = made.between(made.ticks[0], made.ticks[at])
        now = value(reading, NODE, View(until, first=at), [("a",)])[0].tolist()
        assert same(now, [expected[at]]), (what, at)


def test_a_change_of_targets_that_are_read_at_different_times() -> None:
    """One is read every second, one every fourth: each begins between its own samples."""
    rows = {
        of_node("a", "memory_available_bytes"): [float(-second) for second in range(13)],
        of_node("b", "memory_available_bytes"): [-2.0 * second if second % 4 == 0 else NAN for second in range(13)],
    }
    made = frame(rows, gap_ms=10_000)
    reading = parse("change(memory_available_bytes[5s]) > 0").left  # type: ignore[union-attr]
    whole = value(reading, NODE, View(made), [("a",), ("b",)])
    assert same(whole[0].tolist(), [U] * 5 + [-5] * 8)
    assert same(whole[1].tolist(), [U] * 8 + [-10] * 5)


def test_only_the_last_ticks_are_asked_for() -> None:
    rows = {of_node("a", "oom_kills_total"): [5.0, 5, 5, 6, 6, 6, 6]}
    view = View(frame(rows), first=5)
    assert holds("increase(oom_kills_total[3s]) > 0", view, "node")["a",] == [T, F]


def test_a_gap_is_unknown_and_not_over() -> None:
    rows = {of_node("a", "gpu_temperature_celsius", gpu="0"): [92.0, 92, NAN, NAN, NAN, NAN, 91]}
    assert same(holds("gpu_temperature_celsius >= 90 °C", View(frame(rows)))["a", "0"], [T, T, T, T, U, U, T])


def nodes(metric: str, values: dict[str, list[float]], **labels: str) -> dict[object, list[float]]:
    return {of_node(node, metric, **labels): row for node, row in values.items()}


def test_peers_are_the_others_of_the_same_deployment() -> None:
    clocks = {"a": [1.0], "b": [2.0], "c": [3.0], "d": [10.0], "x": [7.0], "y": [7.0]}
    members = Members(nodes=dict.fromkeys("abcd", "k3") | dict.fromkeys("xy", "other"))
    view = View(frame(nodes("gpu_sm_clock_hertz", clocks, gpu="0")), members=members)  # type: ignore[arg-type]
    keys = [(node, "0") for node in clocks]
    found = value(parse("peers(gpu_sm_clock_hertz) > 0").left, GPU, view, keys)  # type: ignore[union-attr]
    assert same(found[:, 0].tolist(), [3.0, 3.0, 2.0, 2.0, U, U])


def test_peers_that_are_not_alike_do_not_count() -> None:
    rows = nodes("gpu_sm_clock_hertz", {"a": [1.0], "b": [2.0], "c": [4.0], "d": [9.0]}, gpu="0")
    rows |= nodes("gpu_utilization_ratio", {"a": [0.9], "b": [0.9], "c": [0.9], "d": [0.0]}, gpu="0")
    view = View(frame(rows), members=Members(nodes=dict.fromkeys("abcd", "k3")))  # type: ignore[arg-type]
    text = "peers(gpu_sm_clock_hertz where gpu_utilization_ratio >= 80 %) > 0"
    keys = [(node, "0") for node in "abcd"]
    found = value(parse(text).left, GPU, view, keys)  # type: ignore[union-attr]
    assert found[:, 0].tolist() == [3.0, 2.5, 1.5, 2.0]


def test_what_belongs_to_no_deployment_has_no_peers() -> None:
    rows = nodes("gpu_sm_clock_hertz", {"a": [1.0], "b": [2.0], "c": [4.0]}, gpu="0")
    view, keys = View(frame(rows)), [(node, "0") for node in "abc"]  # type: ignore[arg-type]
    for text in ("peers(gpu_sm_clock_hertz) > 0", "count(gpu_sm_clock_hertz > 0) > 0"):
        found = value(parse(text).left, GPU, view, keys)  # type: ignore[union-attr]
        assert np.isnan(found).all()


def test_the_median_of_the_others_is_numpys() -> None:
    values = np.random.default_rng(3).uniform(0, 9, (7, 40)).round()
    values[np.random.default_rng(4).random(values.shape) < 0.2] = np.nan
    rows = {of_node(f"n{row}", "gpu_sm_clock_hertz", gpu="0"): values[row].tolist() for row in range(7)}
    view = View(frame(rows, gap_ms=500), members=Members(nodes={f"n{row}": "k3" for row in range(7)}))
    keys = [(f"n{row}", "0") for row in range(7)]
    found = value(parse("peers(gpu_sm_clock_hertz) > 0").left, GPU, view, keys)  # type: ignore[union-attr]
    for row in range(7):
        others = np.delete(values, row, axis=0)
        enough = (~np.isnan(others)).sum(axis=0) >= 2
        expected = np.where(enough, np.nanmedian(others, axis=0), np.nan)
        assert same(found[row].tolist(), expected.tolist())


def test_folding_and_looking_up() -> None:
    rows = {
        of_node("a", "rdma_transmit_bytes_total", cage="p0", function="f0"): [0.0, 900.0],
        of_node("a", "rdma_transmit_bytes_total", cage="p0", function="f1"): [0.0, 100.0],
        of_node("a", "gpu_power_watts", gpu="0"): [10.0, 20.0],
        of_node("b", "gpu_power_watts", gpu="0"): [30.0, 40.0],
        of_engine("requests_running"): [3.0, 4.0],
    }
    members = Members({("head", "0", "Kimi-K3"): "k3"}, {"a": "k3", "b": "k3"})
    view = View(frame(rows), members=members)
    ten = "rate(rdma_transmit_bytes_total[1s])"
    assert holds(f"{ten} > 0.9 * across(cage, {ten})", view, "function")["a", "p0", "f1"][1] == F
    assert holds(f"{ten} >= 0.9 * across(cage, {ten})", view, "function")["a", "p0", "f0"][1] == T
    assert holds("gpu_power_watts > 55 W", view, "deployment") == {("k3",): [F, T]}
    assert holds("requests_running > 3 and gpu_power_watts > 0", view, "engine") == {("head", "0", "Kimi-K3"): [F, T]}
    assert holds("gpu_power_watts > 15 W and requests_running > 3", view, "node") == {("a",): [F, T], ("b",): [F, T]}
    assert holds("gpu_power_watts > 55 W", view, "cluster") == {(): [F, T]}
    assert holds("count(gpu_power_watts > 15 W) >= 2 and gpu_power_watts > 0", view, "node")["a",] == [F, T]


def busy_nodes() -> View:
    """Four of a deployment: "a" has two cages, "b" and "c" have one, "d" has none; all but "c" are busy."""
    busy = {"a": [0.9], "b": [0.5], "c": [0.1], "d": [0.8]}
    rows = nodes("gpu_utilization_ratio", busy, gpu="0")
    rows |= {of_node("a", "link_up", cage=cage, function=f"f{cage}"): [1.0] for cage in ("p0", "p1")}
    rows |= nodes("link_up", {"b": [1.0], "c": [1.0]}, cage="p0", function="f0")
    return View(frame(rows), members=Members(nodes=dict.fromkeys("abcd", "k3")))  # type: ignore[arg-type]


def test_larger_things_are_counted_and_compared_once_each() -> None:
    view, keys = busy_nodes(), [("a", "p0"), ("a", "p1"), ("b", "p0"), ("c", "p0")]
    found = value(parse("across(node, count(gpu_utilization_ratio >= 50 %)) > 0").left, CAGE, view, keys)  # type: ignore[union-attr]
    assert found[:, 0].tolist() == [3.0] * 4, "nodes, and not cages; d, too, which has no cage"
    found = value(parse("across(node, peers(gpu_utilization_ratio)) > 0").left, CAGE, view, keys)  # type: ignore[union-attr]
    assert found[:, 0].tolist() == [0.5, 0.5, 0.8, 0.8], "of b, c, d; of a, c, d; of a, b, d"
    found = value(parse("count(across(node, gpu_utilization_ratio) >= 50 %) > 0").left, CAGE, view, keys)  # type: ignore[union-attr]
    assert found[:, 0].tolist() == [3.0] * 4, "three cages of busy nodes"


def test_what_is_read_of_the_larger_thing_is_that_of_ones_own() -> None:
    view = busy_nodes()
    condition = parse("across(node, peers(gpu_utilization_ratio)) > 0.3 and link_up > 0")
    read = {key: operands(condition, CAGE, key, view)[0] for key in instances(condition, CAGE, view)}
    assert {key: one.value for key, one in read.items()} == {
        ("a", "p0"): 0.5,
        ("a", "p1"): 0.5,
        ("b", "p0"): 0.8,
        ("c", "p0"): 0.8,
    }


def test_a_sum_is_unknown_while_a_part_of_it_is() -> None:
    rows = nodes("gpu_power_watts", {"a": [10.0] * 20, "b": [10.0] * 3 + [NAN] * 17}, gpu="0")
    view = View(frame(rows, gap_ms=1500), members=Members(nodes={"a": "k", "b": "k"}))  # type: ignore[arg-type]
    found = holds("gpu_power_watts > 0", view, "deployment")["k",]
    assert same(found, [T] * 4 + [U] * 14 + [T] * 2)


def test_labels_choose_series() -> None:
    rows = {
        of_node("a", "temperature_celsius", sensor="nvme"): [80.0],
        of_node("a", "temperature_celsius", sensor="mlx5"): [80.0],
        of_node("a", "temperature_celsius", sensor="spbm"): [80.0],
    }
    text = 'temperature_celsius{sensor in ("nvme", "mlx5")} > 75 °C'
    assert holds(text, View(frame(rows)), "sensor") == {("a", "mlx5"): [T], ("a", "nvme"): [T]}


def test_members_that_do_not_agree() -> None:
    rows = nodes("cage_capacity_bytes_per_second", {"a": [25e9], "b": [25e9], "c": [12.5e9]}, cage="p0")
    facts = {"driver_version": {"a": "580", "b": "580", "c": "580"}, "gpu.0.vbios": {"a": "1", "b": "2"}}
    members = Members(nodes={"a": "k", "b": "k", "c": "k"})
    view = View(frame(rows), members=members, facts=facts)  # type: ignore[arg-type]
    assert holds("differs(cage_capacity_bytes_per_second)", view, "deployment") == {("k",): [T]}
    rows |= nodes("link_up", {"a": [1.0], "b": [1.0], "c": [0.0]}, cage="p0", function="f0")
    linked = View(frame(rows), members=members)  # type: ignore[arg-type]
    assert holds("differs(cage_capacity_bytes_per_second where link_up > 0)", linked, "deployment") == {("k",): [F]}
    assert holds('differs("driver_version")', view, "deployment") == {("k",): [F]}
    assert holds('differs("gpu.*.vbios")', view, "deployment") == {("k",): [T]}
    assert same(holds('differs("kernel")', view, "deployment")["k",], [U])


def test_given_readings_are_of_their_kind_of_target() -> None:
    members = Members(targets={"a": Scope.NODE, "head": Scope.ENGINE})
    given = {"target_state": {"a": np.array([0.0, 3.0]), "head": np.array([3.0, 3.0])}}
    view = View(frame({of_node("a", "uptime_seconds"): [1.0, 2.0]}), members=members, given=given)
    assert holds('target_state is "refused"', view, "node") == {("a",): [F, T]}
    assert holds('target_state is "refused"', view, "server") == {("head",): [T, T]}
    assert holds('target_state is "refused"', view, "target") == {("a",): [F, T], ("head",): [T, T]}


def test_slow_readings_come_from_elsewhere_and_are_unknown_without() -> None:
    text = "usual(gpu_power_watts[24h]) > 30 W"
    reading = parse(text).left  # type: ignore[union-attr]
    rows = {of_node("a", "gpu_power_watts", gpu="0"): [1.0, 1.0]}
    view = View(frame(rows), slow={(reading, "gpu"): {("a", "0"): 40.0}})  # type: ignore[dict-item]
    assert holds(text, view) == {("a", "0"): [T, T]}
    assert holds(text, View(frame(rows))) == {}
