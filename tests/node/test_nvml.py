"""NVML through the real pynvml over a stub library: normal, busy, not supported, lost, mismatched, hung, discrete."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from collectors.node.nvml import STALLED_AFTER_S
from collectors.node.nvml_states import gpus_on_bus
from collectors.node.rounds import Rounds, Snapshot
from collectors.node.state import facts_of, state
from collectors.node.tree import Tree
from telemetry.catalog.gpu import READING_STATES
from tests.node.conftest import Stub
from tests.node.node_machine import Clock, Node, machine, scrape, values

MakeNode = Callable[..., Node]
MIB, GIB = 1024**2, 1024**3


class Watch:
    """An agent on a node, and its clock."""

    def __init__(self, tree: Node) -> None:
        self.clock = Clock()
        self.machine = machine(tree, self.clock)
        self.rounds = Rounds(self.machine)

    def after(self, seconds: float) -> Snapshot:
        self.clock.now += seconds
        return self.rounds.snapshot()


def gpu(snapshot: Snapshot) -> dict[str, float]:
    return {name: value for name, value in values(snapshot.page).items() if name.startswith("gpu_")}


def state_of(snapshot: Snapshot, index: int = 0) -> str:
    return READING_STATES[int(gpu(snapshot)[f'gpu_reading_state{{gpu="{index}"}}'])]


def test_busy(node: MakeNode, nvml: Stub) -> None:
    nvml.play("busy")
    found = scrape(node())
    assert found['gpu_utilization_ratio{gpu="0"}'] == 0.96
    assert found['gpu_temperature_celsius{gpu="0"}'] == 71
    assert found['gpu_power_watts{gpu="0"}'] == 89.26
    assert found['gpu_power_instant_watts{gpu="0"}'] == 112.78
    assert found['gpu_sm_clock_hertz{gpu="0"}'] == 2249e6
    assert found['gpu_sm_clock_max_hertz{gpu="0"}'] == 3003e6
    assert found['gpu_performance_state{gpu="0"}'] == 0, "P0 is the fastest state, not a missing one"
    assert found['gpu_energy_joules_total{gpu="0"}'] == 912033.481
    assert found['gpu_clock_event_reasons{gpu="0"}'] == 0
    assert found['gpu_throttle_seconds_total{gpu="0",reason="power_cap"}'] == 114
    assert found['gpu_process_memory_bytes{gpu="0"}'] == (104448 + 179) * MIB, "one process is in both lists"
    assert found['gpu_processes{gpu="0"}'] == 2


def test_idle_has_nothing_that_means_nothing(node: MakeNode, nvml: Stub) -> None:
    snapshot = Watch(node()).after(0)
    found = gpu(snapshot)
    assert state_of(snapshot) == "ok"
    for name in ("memory_used", "memory_total", "power_limit", "fan_speed", "memory_temperature"):
        assert not [series for series in found if series.startswith(f"gpu_{name}")]
    facts = facts_of(snapshot.readings)
    assert facts["gpu.0.memory"] == "unified"
    assert facts["gpu.0.reading.power_limit"] == facts["gpu.0.reading.fan"] == "not supported"
    assert facts["gpu.0.uuid"] == "GPU-2dee1e25-b3b5-007e-2b55-79f2d0f2ebe5"
    assert facts["driver_version"] == "580.142"
    assert facts["gpu.0.pci"] == "000f:01:00.0", "as the kernel writes it, not as NVML does"
    assert "gpu.0.serial" not in facts
    assert found['gpu_process_memory_bytes{gpu="0"}'] == 0


def test_the_power_delivery_fault_shows_as_it_is(node: MakeNode, nvml: Stub) -> None:
    nvml.play("power-fault")
    found = scrape(node())
    names = ("gpu_utilization_ratio", "gpu_sm_clock_hertz", "gpu_power_watts", "gpu_temperature_celsius")
    assert [found[f'{name}{{gpu="0"}}'] for name in names] == [0.96, 650e6, 12.0, 48]


def test_thermal_reasons_and_their_time(node: MakeNode, nvml: Stub) -> None:
    nvml.play("thermal")
    found = scrape(node())
    assert found['gpu_clock_event_reasons{gpu="0"}'] == 0x68
    assert found['gpu_throttle_seconds_total{gpu="0",reason="thermal_software"}'] == 7.5
    assert found['gpu_throttle_seconds_total{gpu="0",reason="thermal_hardware"}'] == 0


@pytest.mark.parametrize("scenario", ["near-total", "zero-total", "idle"])
def test_three_ways_to_share_the_machines_memory(node: MakeNode, nvml: Stub, scenario: str) -> None:
    nvml.play(scenario)
    snapshot = Watch(node()).after(0)
    facts = facts_of(snapshot.readings)
    assert facts["gpu.0.memory"] == "unified"
    assert "gpu.0.serial" not in facts, "neither an empty one nor none"
    assert not [name for name in gpu(snapshot) if name.startswith("gpu_memory")]


def test_two_cards_with_memory_of_their_own(node: MakeNode, nvml: Stub) -> None:
    nvml.play("discrete")
    snapshot = Watch(node()).after(0)
    found = gpu(snapshot)
    assert [state_of(snapshot, index) for index in (0, 1)] == ["ok", "ok"]
    assert [found[f'gpu_memory_used_bytes{{gpu="{index}"}}'] for index in (0, 1)] == [8 * GIB, 9 * GIB]
    assert found['gpu_memory_total_bytes{gpu="1"}'] == 96 * GIB
    assert [found[f'gpu_utilization_ratio{{gpu="{index}"}}'] for index in (0, 1)] == [0.4, 0.5]
    assert found['gpu_power_limit_watts{gpu="0"}'] == 600
    assert found['gpu_fan_speed_ratio{gpu="0"}'] == 0.35
    assert found['gpu_memory_temperature_celsius{gpu="0"}'] == 62
    facts = facts_of(snapshot.readings)
    assert (facts["gpu.1.memory"], facts["gpu.0.serial"]) == ("own", "1322")
    assert facts["gpu.0.uuid"] != facts["gpu.1.uuid"]
    assert "memory_driver_retained_bytes" not in values(snapshot.page), "only a unified memory has a driver pool"


def test_a_card_as_large_as_the_machine_keeps_its_own_memory(node: MakeNode, nvml: Stub) -> None:
    nvml.play("big-card")
    snapshot = Watch(node()).after(0)
    assert facts_of(snapshot.readings)["gpu.0.memory"] == "own"
    assert gpu(snapshot)['gpu_memory_total_bytes{gpu="0"}'] == 130000000 * 1024


def test_older_drivers(node: MakeNode, nvml: Stub) -> None:
    nvml.play("old-driver")
    assert scrape(node())['gpu_temperature_celsius{gpu="0"}'] == 43


def test_an_unknown_performance_state_has_no_line(node: MakeNode, nvml: Stub) -> None:
    nvml.play("no-pstate")
    found = scrape(node())
    assert 'gpu_performance_state{gpu="0"}' not in found
    assert found['gpu_power_watts{gpu="0"}'] == 4.31


def test_a_call_that_succeeds_and_says_not_available_has_no_line(node: MakeNode, nvml: Stub) -> None:
    nvml.play("not-available")
    snapshot = Watch(node()).after(0)
    assert gpu(snapshot) == {
        'gpu_reading_state{gpu="0"}': 0,
        'gpu_temperature_celsius{gpu="0"}': 42,
        'gpu_performance_state{gpu="0"}': 8,
        'gpu_process_memory_bytes{gpu="0"}': 0,
        'gpu_processes{gpu="0"}': 0,
        'gpu_throttle_seconds_total{gpu="0",reason="power_brake"}': 0,
        'gpu_throttle_seconds_total{gpu="0",reason="thermal_hardware"}': 0,
        'gpu_throttle_seconds_total{gpu="0",reason="thermal_software"}': 0,
    }
    facts = facts_of(snapshot.readings)
    assert facts["gpu.0.reading.power"] == "not supported"
    assert "gpu.0.reading.temperature" not in facts


def test_a_limit_of_nothing_is_none(node: MakeNode, nvml: Stub) -> None:
    nvml.play("no-limit")
    found = scrape(node())
    assert 'gpu_power_limit_watts{gpu="0"}' not in found
    assert 'gpu_sm_clock_max_hertz{gpu="0"}' not in found
    assert found['gpu_sm_clock_hertz{gpu="0"}'] == 208e6


def test_not_supported(node: MakeNode, nvml: Stub) -> None:
    nvml.play("not-supported")
    snapshot = Watch(node()).after(0)
    assert state_of(snapshot) == "not supported"
    assert list(gpu(snapshot)) == ['gpu_reading_state{gpu="0"}']


def test_failing_calls_say_why(node: MakeNode, nvml: Stub) -> None:
    nvml.play("broken")
    snapshot = Watch(node()).after(0)
    assert state_of(snapshot) == "failed"
    assert snapshot.readings["nvml"].outcome == "failed"
    assert "999" in snapshot.readings["nvml"].reason
    assert "gpu.0.memory" not in facts_of(snapshot.readings), "whose memory it is cannot be known"
    assert snapshot.readings["processes"].reason == snapshot.readings["nvml"].reason


def test_process_memory_unknown_is_not_zero(node: MakeNode, nvml: Stub) -> None:
    nvml.play("process-na")
    snapshot = Watch(node()).after(0)
    found = values(snapshot.page)
    assert found['gpu_processes{gpu="0"}'] == 1
    assert 'gpu_process_memory_bytes{gpu="0"}' not in found
    assert "memory_driver_retained_bytes" not in found
    assert snapshot.readings["processes"].processes[0].gpu_memory_bytes is None
    assert facts_of(snapshot.readings)["gpu.0.reading.processes"] == "the driver does not tell the memory of a process"


def test_no_processes_in_a_namespace_of_its_own_is_unknown(node: MakeNode, nvml: Stub) -> None:
    watch = Watch(node())
    watch.machine.host_processes = False
    watch.rounds = Rounds(watch.machine)
    snapshot = watch.after(0)
    assert 'gpu_processes{gpu="0"}' not in gpu(snapshot)
    why = facts_of(snapshot.readings)["gpu.0.reading.processes"]
    assert "namespace" in why
    assert (snapshot.readings["processes"].outcome, snapshot.readings["processes"].reason) == ("failed", why)
    assert state_of(snapshot) == "ok"


def test_the_driver_pool_is_what_no_process_holds(node: MakeNode, nvml: Stub) -> None:
    found = scrape(node("driver-pool"))
    assert found["memory_driver_retained_bytes"] == found["memory_unattributed_bytes"] == 82009984 * 1024
    nvml.play("busy")
    busy = scrape(node("serving"))
    held = (104448 + 179) * MIB
    assert busy["memory_driver_retained_bytes"] == max(0.0, busy["memory_unattributed_bytes"] - held) == 0
    tree = node("driver-pool", 1)
    tree.meminfo(MemFree=100, Cached=100, Buffers=0)
    full = scrape(tree)
    assert full["memory_driver_retained_bytes"] == full["memory_unattributed_bytes"] - held > 0


def test_the_numbers_of_a_node_that_reports_no_memory(node: MakeNode, nvml: Stub) -> None:
    """One vLLM worker holds 102 GiB of 121.69; the driver says "not supported" where others read 0 or 5 %."""
    nvml.play("case-07")
    tree = node()
    tree.put(
        "/proc/meminfo",
        "MemTotal: 127600748 kB\nMemFree: 2621440 kB\nMemAvailable: 23592960 kB\nCached: 20761804 kB\n"
        "HugePages_Total: 0\nSwapTotal: 16777212 kB\nSwapFree: 16777212 kB\n",
    )
    tree.put("/proc/114687/comm", "VLLM::Worker_TP\n")
    watch = Watch(tree)
    snapshot = watch.after(0)
    found = values(snapshot.page)
    assert round(found["memory_total_bytes"] / GIB, 2) == 121.69
    assert found["memory_available_bytes"] / GIB == 22.5
    assert found["memory_free_bytes"] / GIB == 2.5
    assert found['gpu_process_memory_bytes{gpu="0"}'] / GIB == 102.0
    assert found["memory_used_bytes"] == (127600748 - 23592960) * 1024
    assert not [name for name in found if name.startswith(("gpu_memory", "gpu_power_limit", "memory_unattributed"))]
    (process,) = state(watch.rounds, snapshot, 0)["processes"]
    assert (process["name"], process["gpu_memory_bytes"]) == ("VLLM::Worker_TP", 102 * GIB)


def test_a_lost_gpu(node: MakeNode, nvml: Stub) -> None:
    watch = Watch(node())
    assert state_of(watch.after(0)) == "ok"
    nvml.play("lost")
    lost = watch.after(1)
    assert state_of(lost) == "lost"
    assert list(gpu(lost)) == ['gpu_reading_state{gpu="0"}'], "no number of it is shown any longer"
    assert lost.readings["nvml"].reason == "the GPU has fallen off the bus"
    assert "memory_driver_retained_bytes" not in values(lost.page)
    assert [event.text for event in watch.machine.events.after(0)] == ["GPU 0: lost (the GPU has fallen off the bus)"]


def test_what_was_lost_is_found_again_without_a_restart(node: MakeNode, nvml: Stub) -> None:
    watch = Watch(node())
    nvml.play("lost")
    assert state_of(watch.after(0)) == "lost"
    nvml.play("idle")
    assert state_of(watch.after(9)) == "lost", "NVML is not started anew at every scrape"
    assert state_of(watch.after(1)) == "ok"
    assert state_of(watch.after(30)) == "ok"
    assert [event.text for event in watch.machine.events.after(0)] == ["GPU 0: ok"]


def test_one_lost_of_two(node: MakeNode, nvml: Stub) -> None:
    nvml.play("discrete")
    watch = Watch(node())
    watch.after(0)
    nvml.play("one-lost")
    snapshot = watch.after(1)
    assert [state_of(snapshot, index) for index in (0, 1)] == ["ok", "lost"]
    assert 'gpu_power_watts{gpu="0"}' in gpu(snapshot)
    assert 'gpu_power_watts{gpu="1"}' not in gpu(snapshot)
    assert snapshot.readings["nvml"].outcome == "failed"
    nvml.play("discrete")
    assert state_of(watch.after(11), 1) == "ok"


def test_driver_mismatch_and_its_end(node: MakeNode, nvml: Stub) -> None:
    nvml.play("mismatch")
    watch = Watch(node())
    snapshot = watch.after(0)
    assert state_of(snapshot) == "driver mismatch"
    assert "reboot" in snapshot.readings["nvml"].reason
    nvml.play("idle")
    assert state_of(watch.after(11)) == "ok"


def test_a_gpu_without_driver(node: MakeNode, nvml: Stub) -> None:
    nvml.play("no-driver")
    tree = node()
    assert gpus_on_bus(Tree(tree.root)) == 1
    snapshot = Watch(tree).after(0)
    assert state_of(snapshot) == "no driver"
    assert snapshot.readings["nvml"].outcome == "failed"
    assert snapshot.readings["nvml"].reason == "the NVIDIA kernel driver is not loaded"


def test_no_library_on_a_machine_without_gpu_is_nothing(node: MakeNode) -> None:
    tree = node()
    tree.put("/sys/devices/pci000f:00/000f:00:00.0/000f:01:00.0/vendor", "0x1af4\n")
    snapshot = Watch(tree).after(0)
    assert snapshot.readings["nvml"].outcome == "nothing here"
    assert snapshot.readings["nvml"].reason == "libnvidia-ml.so.1 is not installed"
    assert gpu(snapshot) == {}


def test_no_library_on_a_machine_with_gpu(node: MakeNode) -> None:
    snapshot = Watch(node()).after(0)
    assert state_of(snapshot) == "no driver"


def test_a_driver_that_finds_no_gpu(node: MakeNode, nvml: Stub) -> None:
    nvml.play("no-gpu")
    watch = Watch(node())
    snapshot = watch.after(0)
    assert state_of(snapshot) == "lost", "the bus shows one"
    assert snapshot.readings["nvml"].reason == "the driver finds no GPU"
    nvml.play("idle")
    assert state_of(watch.after(10)) == "ok"


def test_a_gpu_that_another_driver_holds_is_not_missed(node: MakeNode, nvml: Stub) -> None:
    nvml.play("no-gpu")
    tree = node()
    link = f"{tree.root}/sys/devices/pci000f:00/000f:00:00.0/000f:01:00.0/driver"
    os.unlink(link)
    assert gpus_on_bus(Tree(tree.root)) == 1, "it waits for its driver"
    os.symlink("../../../../bus/pci/drivers/vfio-pci", link)
    snapshot = Watch(tree).after(0)
    assert snapshot.readings["nvml"].outcome == "nothing here"
    assert gpu(snapshot) == {}


def test_a_gpu_that_may_not_be_read_costs_only_itself(node: MakeNode, nvml: Stub) -> None:
    nvml.play("one-forbidden")
    snapshot = Watch(node()).after(0)
    assert [state_of(snapshot, index) for index in (0, 1)] == ["ok", "failed"]
    assert gpu(snapshot)['gpu_utilization_ratio{gpu="0"}'] == 0.4
    assert snapshot.readings["nvml"].reason.startswith("NVML error 4: ")


def test_whose_memory_is_asked_again_until_it_is_known(node: MakeNode, nvml: Stub) -> None:
    nvml.play("broken")
    watch = Watch(node())
    assert "gpu.0.memory" not in facts_of(watch.after(0).readings)
    nvml.play("idle")
    facts = facts_of(watch.after(1).readings)
    assert facts["gpu.0.memory"] == "unified"
    assert facts["driver_version"] == "580.142", "by /proc, as NVML did not tell when it was started"


def test_a_hang_stalls_nothing_else(node: MakeNode, nvml: Stub) -> None:
    watch = Watch(node())
    assert state_of(watch.after(0)) == "ok"
    nvml.play("hang")
    late = watch.after(1)
    assert gpu(late) == {}, "neither old numbers nor a state"
    assert late.readings["nvml"].outcome == "failed"
    assert late.readings["nvml"].reason == "NVML has not answered for 0 s (in power)"
    threads = threading.active_count()
    stalled = watch.after(STALLED_AFTER_S)
    assert state_of(stalled) == "stalled"
    assert stalled.readings["nvml"].reason == "NVML has not answered for 5 s (in power)"
    assert threading.active_count() == threads, "at most one call is outstanding"
    assert values(stalled.page)["memory_total_bytes"] == 127600748 * 1024
    nvml.play("idle")
    assert state_of(recovered(watch)) == "ok"
    assert [event.text.partition(" (")[0] for event in watch.machine.events.after(0)] == ["GPU 0: stalled", "GPU 0: ok"]


def recovered(watch: Watch) -> Snapshot:
    """The first round after the hanging call has come back."""
    for _ in range(200):
        snapshot = watch.after(3)
        if snapshot.readings["nvml"].outcome == "ok":
            return snapshot
    raise AssertionError("NVML did not come back")
