"""What a node's page makes of its values: memory, cages, processes, facts, events."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.components import cages, memory
from dashboard.components.latest import Latest, labels_of, number_cell, shown
from dashboard.pages import node
from telemetry.catalog import gpu, host, network
from telemetry.catalog import memory as metrics
from telemetry.catalog import ratios as quotients
from telemetry.model import Metric, Ratio, Unit
from tests.dashboard.parts import attribute, rows, text, walk

GIB = 1024.0**3


def entry(metric: Metric | Ratio, value: float | None, reason: str = "", **labels: str) -> dict[str, Any]:
    return {
        "metric": metric.name,
        "unit": metric.unit.value,
        "labels": {"target": "spark-03", **labels},
        "t": 1,
        "v": value,
        "state": "unknown" if value is None else "ok",
        "reason": reason,
    }


def memory_values(**changes: float | None) -> Latest:
    sizes: dict[Metric, float | None] = {
        metrics.MEMORY_TOTAL: 120 * GIB,
        metrics.MEMORY_UNATTRIBUTED: 90 * GIB,
        metrics.MEMORY_DRIVER_RETAINED: 2 * GIB,
        metrics.MEMORY_ANONYMOUS: 5 * GIB,
        metrics.MEMORY_SHMEM: 1 * GIB,
        metrics.MEMORY_KERNEL: 1 * GIB,
        metrics.HUGEPAGES_TOTAL: 0.0,
        metrics.MEMORY_CACHED: 15 * GIB,
        metrics.MEMORY_FREE: 8 * GIB,
    }
    for name, value in changes.items():
        sizes[getattr(metrics, name)] = value
    return Latest([entry(metric, value, "not offered") for metric, value in sizes.items()])


def test_memory_is_split_by_who_holds_it_and_adds_up() -> None:
    parts = memory.segments(memory_values())
    assert [(part.label, part.size / GIB) for part in parts] == [
        ("CUDA", 88),
        ("Driver pool and other", 2),
        ("Processes", 5),
        ("Shared", 1),
        ("Kernel", 1),
        ("Page cache", 15),
        ("Free", 8),
    ]
    assert sum(part.size for part in parts) == 120 * GIB


def test_without_the_drivers_share_cuda_is_all_that_is_unattributed() -> None:
    parts = memory.segments(memory_values(MEMORY_DRIVER_RETAINED=None))
    assert (parts[0].label, parts[0].size) == ("CUDA", 90 * GIB)
    assert "Driver pool and other" not in [part.label for part in parts]


def test_without_a_gpu_nothing_is_called_cuda() -> None:
    assert node.has_gpu(FOUND)
    assert not node.has_gpu({**FOUND, "facts": {"hostname": "laptop"}})
    assert memory.segments(memory_values(), has_gpu=False)[0].label == "Other"
    assert "CUDA" not in text(memory.memory_bars(memory_values(), has_gpu=False))


def test_unknown_parts_are_left_out_of_the_bar() -> None:
    parts = memory.segments(memory_values(MEMORY_UNATTRIBUTED=None, MEMORY_FREE=None))
    assert {"CUDA", "Free"}.isdisjoint(part.label for part in parts)


def test_bar_widths_are_shares_of_the_whole() -> None:
    shown_bar = memory.bar(memory.segments(memory_values()), 120 * GIB, "Memory")
    widths = [
        attribute(part, "style")["width"] for part in walk(shown_bar) if "width" in (attribute(part, "style") or {})
    ]
    assert widths == ["73.33%", "1.67%", "4.17%", "0.83%", "0.83%", "12.50%", "6.67%"]
    label = next(attribute(part, "aria-label") for part in walk(shown_bar) if attribute(part, "role") == "img")
    assert label.startswith("Memory: CUDA 88.0 GiB, Driver pool and other 2.0 GiB")


def test_a_bar_of_nothing_says_so() -> None:
    assert text(memory.bar([], None, "Memory")) == "not known"
    half = memory.bar([memory.Segment("Used", 5.0, "memory-1"), memory.Segment("Free", 5.0, "memory-free")], None, "x")
    assert [
        attribute(part, "style")["width"] for part in walk(half) if "width" in (attribute(part, "style") or {})
    ] == [
        "50.00%",
        "50.00%",
    ]


def test_a_gpu_with_its_own_memory_has_its_own_bar() -> None:
    assert memory.gpu_segments(memory_values()) == []
    latest = Latest([entry(gpu.GPU_MEMORY_USED, 10 * GIB, gpu="0"), entry(gpu.GPU_MEMORY_TOTAL, 24 * GIB, gpu="0")])
    assert [(part.label, part.size / GIB) for part in memory.gpu_segments(latest)] == [("Used", 10), ("Free", 14)]
    assert "GPU memory" in text(memory.memory_bars(latest))
    assert "GPU memory" not in text(memory.memory_bars(memory_values()))


def test_sums_need_every_part() -> None:
    both = Latest([entry(gpu.GPU_POWER, 40.0, gpu="0"), entry(gpu.GPU_POWER, 50.0, gpu="1")])
    assert both.value(gpu.GPU_POWER) == 90.0
    assert both.value(gpu.GPU_POWER, gpu="1") == 50.0
    one = Latest([entry(gpu.GPU_POWER, 40.0, gpu="0"), entry(gpu.GPU_POWER, None, gpu="1")])
    assert one.value(gpu.GPU_POWER) is None
    assert one.value(gpu.GPU_ENERGY) is None


def test_a_value_is_shown_with_unit_state_and_reason() -> None:
    hot = {**entry(gpu.GPU_TEMPERATURE, 86.0, gpu="0"), "state": "warning"}
    cell = shown(hot)
    assert text(cell) == "86.0 °C"
    assert attribute(cell, "data-state") == "warning"
    lost = shown(entry(gpu.GPU_POWER, None, "node does not answer"))
    assert text(lost) == "–"
    assert attribute(lost, "title") == "node does not answer"
    assert text(shown({**entry(gpu.GPU_READING_STATE, 2.0), "text": "lost"})) == "lost"
    assert labels_of(hot) == {"gpu": "0"}
    assert text(Latest([]).shown(gpu.GPU_POWER)) == "–"


def test_a_number_without_a_value_gives_its_reason() -> None:
    assert text(number_cell(0.0, Unit.COUNT)) == "0"
    assert attribute(number_cell(None, Unit.COUNT, "not counted"), "title") == "not counted"
    assert attribute(number_cell(0.0, Unit.COUNT, "not counted"), "title") is None


def test_of_a_node_that_does_not_answer_the_reason_stands_in_words() -> None:
    """Where a table of dashes, or a bar of nothing, would stand: who has no pointer reads it, too."""
    silent, at = "spark-03 does not answer", {"cage": "p0", "function": "f0"}
    links = [entry(network.LINK_UP, None, silent, **at), entry(network.LINK_UP, None, silent, cage="p1", function="f1")]
    assert text(cages.cage_table(Latest(links), {})) == f"Not known of p0 (f0), p1 (f1): {silent}."
    one_known = Latest([links[0], entry(network.LINK_UP, 1.0, cage="p1", function="f1")])
    assert len(rows(cages.cage_table(one_known, {}))) > 2, "one that is known has its table"
    lost = Latest([entry(memory.memory.MEMORY_TOTAL, None, silent), entry(memory.memory.MEMORY_FREE, None, silent)])
    assert text(memory.memory_bars(lost)) == f"Not known: {silent}."
    part = Latest([entry(memory.memory.MEMORY_TOTAL, None, silent), entry(memory.memory.MEMORY_FREE, 1e9)])
    assert "Free" in text(memory.memory_bars(part))
    assert text(memory.memory_bars(Latest([]))) == "not known", "nobody says why"


def test_a_reason_for_all_stands_in_but_never_the_value_of_another_label() -> None:
    other = Latest([entry(quotients.FABRIC_LOSS, 5.0, cage="p1")])
    assert text(other.shown(quotients.FABRIC_LOSS, cage="p0")) == "–"
    silent = Latest([entry(quotients.FABRIC_LOSS, None, "node does not answer")])
    assert attribute(silent.shown(quotients.FABRIC_LOSS, cage="p0"), "title") == "node does not answer"


def cage_values() -> Latest:
    one = {"cage": "p0", "function": "f0"}
    two = {"cage": "p1", "function": "f1"}
    values = [
        entry(network.LINK_UP, 0.0, **one),
        entry(network.LINK_UP, 1.0, **two),
        entry(network.LINK_CAPACITY, 25e9, **two),
        entry(network.CAGE_CAPACITY, 25e9, cage="p1"),
        entry(network.PCIE_WIDTH, 4.0, **two),
        entry(network.PCIE_CAPACITY, 15.75e9, **two),
        entry(network.MTU, 9000.0, **two),
        entry(network.RDMA_TRANSMIT, 3 * GIB, **two),
        entry(network.NETDEV_TRANSMIT, 1 * GIB, **two),
        entry(network.RDMA_RECEIVE, 3 * GIB, **two),
        entry(network.FABRIC_AT_MAXIMUM, 2.0, **two),
        entry(network.FABRIC_LOSS, 7.0, counter="a", **two),
        entry(network.FABRIC_LOSS, 1.0, counter="b", **two),
        entry(quotients.INTERCONNECT_TRANSMIT, 7.6e9, cage="p1"),
        entry(quotients.INTERCONNECT_RECEIVE, 0.0, cage="p0"),
        entry(quotients.INTERCONNECT_USE, 0.304, cage="p1"),
        entry(quotients.FABRIC_LOSS, 0.5, cage="p1"),
    ]
    return Latest(values)


def test_cages_with_their_functions() -> None:
    told = rows(cages.cage_table(cage_values(), {"function.f1.netdev": "enp1s0f1np1"}))
    assert told[0][0] == "Cage, function"
    by_name = {row[0]: row[1:] for row in told[1:]}
    assert list(by_name) == ["Cage p0", "f0", "Cage p1", "f1"]
    assert by_name["Cage p1"][:5] == ["up", "200 Gb/s", "60.8 Gb/s", "–", "30.4 %"]
    assert by_name["Cage p1"][9] == "0.50 /s"
    assert by_name["f1"] == [
        "up",
        "200 Gb/s",
        "",
        "",
        "",
        "4.0 GiB",
        "–",
        "x4 126 Gb/s",
        "9000",
        "8 in all",
        "2",
        "enp1s0f1np1",
    ]


def test_a_cage_without_a_link_is_no_fault_and_has_no_rate() -> None:
    told = rows(cages.cage_table(cage_values(), {}))
    cage = next(row for row in told if row[0] == "Cage p0")
    assert cage[1:3] == ["no link", ""]
    assert cage[4] == "0 b/s"
    function = next(row for row in told if row[0] == "f0")
    assert function[1] == "no link"
    assert function[8] == "–"
    assert function[10] == "–"


def test_a_saturated_counter_marks_its_function() -> None:
    latest = cage_values()
    assert cages.function_row(latest, "p1", "f1", {}).level == "warning"
    assert cages.function_row(latest, "p0", "f0", {}).level == "ok"


def test_a_node_without_fabric_says_so() -> None:
    assert text(cages.cage_table(Latest([]), {})) == "No fabric port is known on this node."
    assert text(cages.link(None)) == "–"


FOUND = {
    "name": "spark-03",
    "readings": {"processes": {"outcome": "ok", "reason": "", "seconds": 0.001}},
    "state": "ok",
    "level": "warning",
    "reason": "is throttling",
    "age_s": 1.25,
    "facts": {"hostname": "spark-03", "gpu.0.name": "NVIDIA GB10", "function.f1.netdev": "enp", "board": "P4242"},
    "processes": [
        {"pid": 114687.0, "name": "VLLM::Worker_TP0", "gpu": "0", "gpu_memory_bytes": None, "resident_bytes": 2 * GIB,
         "container": "3f0123456789abcdef"}
    ],
    "events": [{"t": 1796000000000, "kind": "xid", "text": "Xid 79 <on> 000f:01:00"}],
}  # fmt: skip


def test_head_says_how_it_is_and_leads_to_the_neighbours() -> None:
    head = node.head(FOUND, ["spark-02", "spark-03", "spark-04"])
    assert text(head) == "spark-03 ▲ is throttling read 1.3 s ago Earlier alerts ‹ spark-02 spark-04 ›"
    links = [attribute(part, "href") for part in walk(head) if attribute(part, "href")]
    assert links == ["/alerts?node=spark-03", "/node/spark-02", "/node/spark-04"]
    never = node.head({**FOUND, "age_s": None, "reason": ""}, ["spark-03"])
    assert text(never) == "spark-03 ▲ ok never read Earlier alerts"
    away = node.head({**FOUND, "state": "refused", "level": "critical", "reason": "no agent"}, ["spark-03"])
    assert text(away) == "spark-03 ■ refused no agent read 1.3 s ago Earlier alerts"


def test_alerts_of_the_node_stand_on_its_page_the_worst_first() -> None:
    one = {"id": 4, "title": "GPU hot", "severity": "warning", "state": "firing", "began": 5, "message": "85 °C"}
    other = {**one, "id": 7, "title": "No memory", "severity": "critical", "state": "inhibited", "message": "0 B"}
    part = node.alerts([one, other])
    assert rows(part)[1:] == [
        ["■ No memory", "fires because of another", "", "0 B"],
        ["▲ GPU hot", "fires", "", "85 °C"],
    ]
    assert [attribute(found, "href") for found in walk(part) if attribute(found, "href")] == ["/alerts/7", "/alerts/4"]
    quiet = node.now({**FOUND, "facts": {}}, Latest([]), ["spark-03"])
    assert "Alerts" not in [text(found) for found in walk(quiet) if found.to_plotly_json()["type"] == "H2"]
    assert text(node.events({**FOUND, "events": []}, fires=True)) == (
        "No other events in the last day; alerts that ended are behind “Earlier alerts”."
    )


@pytest.mark.parametrize(
    ("reading", "said"),
    [
        (
            {"outcome": "failed", "reason": "NVML has not answered for 7 s (in power)"},
            "NVML has not answered for 7 s (in power)",
        ),
        (
            {"outcome": "nothing here", "reason": "libnvidia-ml.so.1 is not installed"},
            "libnvidia-ml.so.1 is not installed",
        ),
        ({"outcome": "failed", "reason": ""}, "the agent does not say why"),
        (None, "the agent has not told"),
    ],
)
def test_processes_that_are_not_known_are_not_none(reading: dict[str, str] | None, said: str) -> None:
    readings = {} if reading is None else {"processes": reading}
    assert text(node.processes({**FOUND, "processes": [], "readings": readings})) == f"Not known: {said}."


def test_processes_facts_and_events() -> None:
    told = rows(node.processes(FOUND))[1]
    assert told == ["VLLM::Worker_TP0", "114687", "0", "–", "2.0 GiB", "3f0123456789"]
    assert text(node.processes({**FOUND, "processes": []})) == "No process uses a GPU of this node."
    lost = {**FOUND, "processes": [], "state": "refused"}
    assert text(node.processes(lost)) == "Not known while the node does not answer."
    silent = {**lost, "state": "unknown", "reason": "Collector silent for 1m 4s"}
    assert text(node.processes(silent)) == "Not known: Collector silent for 1m 4s."
    assert text(node.processes({**silent, "reason": ""})) == "Not known while the node does not answer."
    facts = text(node.facts(FOUND))
    assert facts == "Host name spark-03 GPU NVIDIA GB10 Board P4242"
    inner = {
        "events_read": "1/1",
        "deployment.a": "b",
        "started_s": "5",
        "interval_ms": "1000",
        "gpu.0.uuid": "x",
        "dgx_platform": "y",
    }
    assert text(node.facts({**FOUND, "facts": inner})) == "DGX platform y GPU 0 UUID x"
    assert text(node.facts({**FOUND, "facts": {}})) == "The agent has told nothing yet."
    events = node.events(FOUND)
    assert rows(events)[1] == ["", "xid", "Xid 79 <on> 000f:01:00"]
    instants = [attribute(part, "data-instant") for part in walk(events) if attribute(part, "data-instant")]
    assert instants == ["1796000000000"]
    assert text(node.events({**FOUND, "events": []})) == (
        "No events in the last day; alerts that ended are behind “Earlier alerts”."
    )


def test_headlines_give_the_reason_of_what_is_missing() -> None:
    latest = Latest([entry(gpu.GPU_POWER, 78.4, gpu="0"), entry(host.UPTIME, None, "node does not answer")])
    told = text(node.headlines(latest))
    assert "GPU power 78 W" in told
    assert "Uptime – node does not answer" in told


def test_one_reason_for_all_is_not_said_eight_times() -> None:
    silent = Latest([entry(metric, None, "node does not answer") for metric in node.HEADLINES])
    assert "node does not answer" not in text(node.headlines(silent))
    mixed = Latest([entry(metric, None, metric.name) for metric in node.HEADLINES])
    assert "gpu_power_watts" in text(node.headlines(mixed))
    assert text(node.headlines(Latest([]))).count("–") == len(node.HEADLINES)


def test_all_readings_name_labels_values_and_reasons() -> None:
    latest = Latest([entry(gpu.GPU_POWER, 78.4, gpu="0"), entry(gpu.GPU_POWER_LIMIT, None, "not offered")])
    assert rows(node.all_readings(latest))[1:] == [
        ["GPU power", "0", "78 W", ""],
        ["GPU power limit", "", "–", "not offered"],
    ]


def test_the_page_has_all_charts_and_fragments() -> None:
    page = node.page("spark 03")
    charts = [attribute(part, "data-chart") for part in walk(page) if attribute(part, "data-chart")]
    assert len(charts) == len(node.NODE_CHARTS)
    fragments = [attribute(part, "data-fragment") for part in walk(page) if attribute(part, "data-fragment")]
    assert fragments == [
        "/fragment/node?node=spark+03",
        "/fragment/node-facts?node=spark+03",
        "/fragment/node-readings?node=spark+03",
    ]


@pytest.mark.parametrize(
    ("others", "told"), [([], "No node is known yet."), (["a", "b"], "These nodes are known: a b")]
)
def test_a_node_nobody_knows(others: list[str], told: str) -> None:
    assert text(node.unknown_node("x", others)) == f"There is no node “x” {told} To the cluster"
