"""The text of the metrics page, the table of collectors, and rounds."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from collectors.node import page
from collectors.node.events import EventLog
from collectors.node.page import PageWriter, escape_label, header, number, prefix
from collectors.node.reading import COLLECTORS, Collector, Process, Reading, Round
from collectors.node.rounds import Rounds
from collectors.node.state import LARGEST, encode, facts_of, state
from collectors.node.version import VERSION
from telemetry.catalog import gpu, host, memory, network
from tests.node.node_machine import Clock, Node, machine, values

MakeNode = Callable[..., Node]


def test_one_family() -> None:
    text = PageWriter().write([(memory.MEMORY_TOTAL, (), 5), (network.MTU, ("p1", "a"), 9000.0)]).decode()
    assert text == (
        "# HELP tachograph_memory_total_bytes MemTotal.\n# TYPE tachograph_memory_total_bytes gauge\n"
        "tachograph_memory_total_bytes 5\n"
        "# HELP tachograph_mtu_bytes MTU of the function's netdev.\n# TYPE tachograph_mtu_bytes gauge\n"
        'tachograph_mtu_bytes{cage="p1",function="a"} 9000\n'
    )


def test_no_sample_no_page() -> None:
    assert PageWriter().write([]) == b""


def test_escapes() -> None:
    assert escape_label('a"b\\c\nd') == 'a\\"b\\\\c\\nd'
    assert prefix(host.DISK_SIZE, ('/my "x"',)) == 'tachograph_disk_size_bytes{mount="/my \\"x\\""} '
    assert header(replace(host.LOAD, help="a\\b\nc")).startswith("# HELP tachograph_load_average a\\\\b\\nc\n")


def test_types() -> None:
    assert header(gpu.GPU_ENERGY).endswith("# TYPE tachograph_gpu_energy_joules_total counter\n")
    assert header(gpu.GPU_POWER).endswith("gauge\n")
    assert "0 ok, 1 not supported, 2 lost, 3 stalled, 4 no driver" in header(gpu.GPU_READING_STATE)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-2.0, "-2"),
        (4.31, "4.31"),
        (912033.481, "912033.481"),
        (1e15, "1000000000000000"),
        (2**63 + 1, "9223372036854775809"),
        (2.0**53 - 1, "9007199254740991"),
        (2.0**53, "9007199254740992.0"),
        (1e300, "1e+300"),
        (0.1 + 0.2, "0.30000000000000004"),
    ],
)
def test_numbers_read_back_the_same(value: float, text: str) -> None:
    assert number(value) == text
    assert float(text) == float(value)


def test_the_memory_of_prefixes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_PREFIXES", 3)
    writer = PageWriter()
    for index in range(10):
        assert f'mount="/{index}"}} 1' in writer.write([(host.DISK_SIZE, (f"/{index}",), 1)]).decode()
    assert len(writer._prefixes) <= 4


def test_what_builds_on_another_reading_comes_after_it() -> None:
    order = list(COLLECTORS)
    assert order.index("retained") > order.index("memory")
    assert order.index("retained") > order.index("nvml")
    assert order.index("processes") > order.index("nvml")
    cold = {name: found.every_s for name, found in COLLECTORS.items() if found.every_s}
    assert cold == {
        "blocks": 10.0,
        "disks": 10.0,
        "fabric counters": 10.0,
        "fabric identity": 60.0,
        "fabric links": 10.0,
        "identity": 60.0,
        "processes": 10.0,
        "sensors": 10.0,
    }


def counting(clock: Clock) -> tuple[dict[str, Collector], list[str]]:
    calls: list[str] = []

    def build(name: str, seconds: float) -> Collector:
        def read(_now: Round) -> Reading:
            calls.append(name)
            clock.now += 0.003
            if name == "broken":
                raise RuntimeError("no")
            reading = Reading()
            reading.add(host.LOAD, len(calls))
            reading.add(host.UPTIME, None)
            return reading

        return Collector(name, seconds, lambda _machine: read)

    return {name: build(name, seconds) for name, seconds in (("hot", 0.0), ("cold", 10.0), ("broken", 0.0))}, calls


def test_rounds_within_200_ms_are_one_round(node: MakeNode) -> None:
    clock = Clock(0.0)
    table, calls = counting(clock)
    rounds = Rounds(machine(node(), clock), table)
    first = rounds.snapshot()
    clock.now = 0.199
    assert rounds.snapshot() is first
    clock.now = 0.2
    second = rounds.snapshot()
    assert second is not first
    assert (second.monotonic_s, second.wall_s) == (0.2, 1796000000.2)
    assert calls == ["hot", "cold", "broken", "hot", "broken"]


def test_a_round_says_how_each_reading_went(node: MakeNode) -> None:
    clock = Clock(100.0)
    table, _ = counting(clock)
    snapshot = Rounds(machine(node(), clock), table).snapshot()
    reason = snapshot.readings["broken"].reason
    assert re.fullmatch(r"the agent cannot make sense of what it read \(at test_page\.py line \d+\)", reason), reason
    found = values(snapshot.page)
    assert found['agent_read_outcome{collector="broken"}'] == 2
    assert found['agent_read_outcome{collector="hot"}'] == 0
    assert found['agent_read_seconds{collector="hot"}'] == 0.003
    assert "uptime_seconds" not in found


def test_a_cold_reading_keeps_its_values_in_between(node: MakeNode) -> None:
    clock = Clock(100.0)
    table, calls = counting(clock)
    rounds = Rounds(machine(node(), clock), {"cold": table["cold"]})
    for now, expected in ((100.0, 1), (105.0, 1), (109.5, 1), (110.0, 2)):
        clock.now = now
        assert values(rounds.snapshot().page)["load_average"] == expected
    assert len(calls) == 2


def test_goodbye_is_on_the_next_page(node: MakeNode) -> None:
    rounds = Rounds(machine(node()))
    assert values(rounds.snapshot().page)["agent_goodbye"] == 0
    rounds.say_goodbye()
    assert values(rounds.snapshot().page)["agent_goodbye"] == 1


def test_events_are_numbered_and_bounded() -> None:
    log = EventLog()
    for index in range(150):
        log.add(float(index), "xid", "x" * 1000, {})
    assert log.sequence == 150
    assert [event.sequence for event in log.after(148)] == [149, 150]
    assert log.after(150) == []
    assert log.after(151) == log.after(0), "a number that this agent has not given yet is another's"
    assert [event.sequence for event in log.after(0)] == list(range(51, 151))
    assert len(log.after(0)) == 100
    assert len(log.after(0)[0].text) == 160


def test_the_state_page(node: MakeNode) -> None:
    rounds = Rounds(machine(node()))
    rounds.machine.events.add(1.0, "xid", "a", {"xid": "79"})
    rounds.machine.events.add(2.0, "link", "b", {}, baseline=True)
    content = json.loads(encode(state(rounds, rounds.snapshot(), after=1)))
    assert content["version"] == VERSION
    assert content["sequence"] == 2
    assert content["goodbye"] is False
    assert content["events"] == [
        {"sequence": 2, "time_s": 2.0, "kind": "link", "text": "b", "labels": {}, "baseline": True}
    ]
    assert content["readings"]["cpu"] == {"outcome": "ok", "reason": "", "seconds": 0.0}
    assert content["readings"].keys() == COLLECTORS.keys()
    assert all(isinstance(value, str) for value in content["facts"].values())


def test_the_state_page_stays_below_64_kb(node: MakeNode) -> None:
    rounds = Rounds(machine(node()))
    snapshot = rounds.snapshot()
    snapshot.readings["processes"] = Reading(
        processes=[Process(pid, "0", None, "n" * 15, None, "c" * 64) for pid in range(1000)], described=True
    )
    snapshot.readings["cpu"] = Reading(facts={f"fact.{index}": "v" * 300 for index in range(500)})
    for index in range(100):
        rounds.machine.events.add(1.0, "xid", f"{index}" * 200, {})
    body = encode(state(rounds, snapshot, after=0))
    content = json.loads(body)
    assert len(body) <= LARGEST
    assert len(content["events"]) == 100, "what happened is cut last"
    assert content["processes"] == []
    assert max(map(len, content["facts"].values())) == 200


def test_nothing_private_is_served(node: MakeNode, nvml: object) -> None:
    nvml.play("busy")  # type: ignore[attr-defined]
    tree = node()
    tree.put("/proc/244850/environ", "HF_TOKEN=hf_secret\0")
    tree.put("/proc/244850/cmdline", "python3\0--api-key\0sk-secret\0")
    rounds = Rounds(machine(tree))
    snapshot = rounds.snapshot()
    text = encode(state(rounds, snapshot, 0)).decode() + snapshot.page.decode()
    assert "244850" in text
    for word in ("secret", "--api-key", "vllm.entrypoints", "org/model", "HF_TOKEN", "root", "Uid"):
        assert word not in text


def test_a_later_collector_knows_better() -> None:
    readings = {"identity": Reading(facts={"driver_version": "1"}), "nvml": Reading(facts={"driver_version": "2"})}
    assert facts_of(readings) == {"driver_version": "2"}
    assert list(COLLECTORS).index("nvml") > list(COLLECTORS).index("identity")


def test_readings_look_up_one_series() -> None:
    reading = Reading()
    reading.add(gpu.GPU_POWER, 4.0, "0")
    reading.add(gpu.GPU_POWER, math.pi, "1")
    reading.add(gpu.GPU_POWER, None, "2")
    assert reading.value(gpu.GPU_POWER, "1") == math.pi
    assert reading.value(gpu.GPU_POWER, "2") is None
    assert reading.value(gpu.GPU_ENERGY, "0") is None
