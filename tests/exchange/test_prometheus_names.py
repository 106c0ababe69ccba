"""What series of the exporters mean: each row of the table with a worked number."""

from __future__ import annotations

import numpy as np
import pytest

from cli.import_prometheus import refusal
from exchange.prometheus import exporters
from exchange.prometheus.client import Samples
from exchange.prometheus.names import (
    AGENT,
    DCGM_EXPORTER,
    ENGINE,
    KINDS,
    NODE_EXPORTER,
    derived_line,
    kind_of,
    pattern,
    readings,
)
from exchange.prometheus.pages import Pages, shares_times
from exchange.prometheus.scrapes import Place, find, host_of, name_of
from telemetry.model import Fold, Series

CHIPS = {"0000:01:00_0": "mlx5", "ieee80211_phy0": "mt7925_phy0"}
P1 = {"cage": "p1", "function": "rocep1s0f1"}
FABRIC, ROCE = {"device": "enp1s0f1np1"}, {"device": "rocep1s0f1", "port": "1"}
GPU = {"gpu": "0"}
CASES = [
    ("DCGM_FI_DEV_GPU_UTIL", GPU, 96, "gpu_utilization_ratio", GPU, 0.96),
    ("DCGM_FI_DEV_GPU_TEMP", GPU, 71, "gpu_temperature_celsius", GPU, 71),
    ("DCGM_FI_DEV_POWER_USAGE", GPU, 83.5, "gpu_power_watts", GPU, 83.5),
    ("DCGM_FI_DEV_POWER_USAGE_INSTANT", GPU, 91, "gpu_power_instant_watts", GPU, 91),
    ("DCGM_FI_DEV_ENFORCED_POWER_LIMIT", GPU, 140, "gpu_power_limit_watts", GPU, 140),
    ("DCGM_FI_DEV_SM_CLOCK", GPU, 2411, "gpu_sm_clock_hertz", GPU, 2.411e9),
    ("DCGM_FI_DEV_MAX_SM_CLOCK", GPU, 3003, "gpu_sm_clock_max_hertz", GPU, 3.003e9),
    ("DCGM_FI_DEV_PSTATE", GPU, 0, "gpu_performance_state", GPU, 0),
    ("DCGM_FI_DEV_CLOCKS_EVENT_REASONS", GPU, 4, "gpu_clock_event_reasons", GPU, 4),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", GPU, 2_147_483_640, "gpu_energy_joules_total", GPU, 2_147_483.64),
    ("DCGM_FI_DEV_FAN_SPEED", GPU, 30, "gpu_fan_speed_ratio", GPU, 0.3),
    ("DCGM_FI_DEV_FB_USED", GPU, 3, "gpu_memory_used_bytes", GPU, 3 * 1024**2),
    ("DCGM_FI_DEV_FB_TOTAL", GPU, 5, "gpu_memory_total_bytes", GPU, 5 * 1024**2),
    ("DCGM_FI_DEV_GPU_UTIL", GPU, 2_147_483_632, "gpu_utilization_ratio", GPU, None),
    ("DCGM_FI_DEV_POWER_USAGE", GPU, 140_737_488_355_328.0, "gpu_power_watts", GPU, None),
    ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", GPU, 9_223_372_036_854_775_792, "gpu_energy_joules_total", GPU, None),
    ("node_load1", {}, 3.5, "load_average", {}, 3.5),
    ("node_cpu_seconds_total", {"cpu": "3", "mode": "steal"}, 9, "cpu_busy_seconds_total", {}, 9),
    ("node_memory_MemTotal_bytes", {}, 7, "memory_total_bytes", {}, 7),
    ("node_memory_MemAvailable_bytes", {}, 7, "memory_available_bytes", {}, 7),
    ("node_memory_MemFree_bytes", {}, 7, "memory_free_bytes", {}, 7),
    ("node_memory_Shmem_bytes", {}, 7, "memory_shmem_bytes", {}, 7),
    ("node_memory_AnonPages_bytes", {}, 7, "memory_anonymous_bytes", {}, 7),
    ("node_memory_SwapTotal_bytes", {}, 7, "swap_total_bytes", {}, 7),
    ("node_memory_SwapFree_bytes", {}, 7, "swap_free_bytes", {}, 7),
    ("node_vmstat_oom_kill", {}, 2, "oom_kills_total", {}, 2),
    ("node_vmstat_compact_stall", {}, 2, "memory_compaction_stalls_total", {}, 2),
    ("node_vmstat_compact_fail", {}, 2, "memory_compaction_failures_total", {}, 2),
    ("node_pressure_cpu_waiting_seconds_total", {}, 4, "pressure_waiting_seconds_total", {"resource": "cpu"}, 4),
    ("node_pressure_io_waiting_seconds_total", {}, 4, "pressure_waiting_seconds_total", {"resource": "io"}, 4),
    ("node_pressure_memory_stalled_seconds_total", {}, 4, "pressure_stalled_seconds_total", {"resource": "memory"}, 4),
    (
        "node_hwmon_temp_celsius",
        {"chip": "0000:01:00_0", "sensor": "temp1"},
        61,
        "temperature_celsius",
        {"sensor": "mlx5"},
        61,
    ),
    ("node_hwmon_temp_celsius", {"chip": "ieee80211_phy0"}, 40, "temperature_celsius", {"sensor": "mt7925"}, 40),
    ("node_disk_read_bytes_total", {"device": "nvme0n1"}, 8, "disk_read_bytes_total", {"disk": "nvme0n1"}, 8),
    ("node_disk_written_bytes_total", {"device": "sda"}, 8, "disk_written_bytes_total", {"disk": "sda"}, 8),
    (
        "node_filesystem_avail_bytes",
        {"device": "/dev/nvme0n1p2", "fstype": "ext4", "mountpoint": "/"},
        8,
        "disk_available_bytes",
        {"mount": "/"},
        8,
    ),
    (
        "node_filesystem_size_bytes",
        {"device": "/dev/nvme0n1p2", "fstype": "ext4", "mountpoint": "/"},
        9,
        "disk_size_bytes",
        {"mount": "/"},
        9,
    ),
    ("node_infiniband_port_data_transmitted_bytes_total", ROCE, 400, "rdma_transmit_bytes_total", P1, 400),
    ("node_infiniband_port_data_received_bytes_total", ROCE, 400, "rdma_receive_bytes_total", P1, 400),
    (
        "node_infiniband_port_data_received_bytes_total",
        {"device": "mlx5_0", "port": "1"},
        4,
        "rdma_receive_bytes_total",
        {"cage": "mlx5_0", "function": "mlx5_0"},
        4,
    ),
    ("node_infiniband_state_id", ROCE, 4, "link_up", P1, 1),
    ("node_infiniband_state_id", ROCE, 1, "link_up", P1, 0),
    ("node_infiniband_link_downed_total", ROCE, 3, "fabric_errors_total", {**P1, "counter": "link_downed"}, 3),
    (
        "node_infiniband_port_errors_received_total",
        ROCE,
        3,
        "fabric_errors_total",
        {**P1, "counter": "port_rcv_errors"},
        3,
    ),
    ("node_network_transmit_bytes_total", FABRIC, 5, "netdev_transmit_bytes_total", P1, 5),
    ("node_network_receive_bytes_total", FABRIC, 5, "netdev_receive_bytes_total", P1, 5),
    ("node_network_mtu_bytes", FABRIC, 9000, "mtu_bytes", P1, 9000),
    (
        "node_network_transmit_bytes_total",
        {"device": "enP7s7"},
        5,
        "management_transmit_bytes_total",
        {"interface": "enP7s7"},
        5,
    ),
    (
        "node_network_receive_bytes_total",
        {"device": "wlP9s9"},
        5,
        "management_receive_bytes_total",
        {"interface": "wlP9s9"},
        5,
    ),
    ("node_network_carrier", {"device": "eth0"}, 1, "management_up", {"interface": "eth0"}, 1),
    (
        "node_network_speed_bytes",
        {"device": "eth0"},
        1.25e9,
        "management_capacity_bytes_per_second",
        {"interface": "eth0"},
        1.25e9,
    ),
    (
        "node_network_speed_bytes",
        {"device": "eth0"},
        -125_000,
        "management_capacity_bytes_per_second",
        {"interface": "eth0"},
        None,
    ),
]


@pytest.mark.parametrize(("name", "labels", "value", "metric", "ours", "number"), CASES)
def test_each_row(
    name: str, labels: dict[str, str], value: float, metric: str, ours: dict[str, str], number: float | None
) -> None:
    kind = DCGM_EXPORTER if name.startswith("DCGM") else NODE_EXPORTER
    assert kind_of(name) == kind
    found = [one for one in readings({"__name__": name, "job": "j", **labels}, kind, CHIPS) if one.line.meanings]
    (one,) = found
    (meaning,) = one.line.meanings
    assert (meaning.metric.name, dict(meaning.labels)) == (metric, ours)
    (got,) = one.convert(np.array([float(value)])).tolist()
    assert got == pytest.approx(number) if number is not None else np.isnan(got)


def test_a_fabric_port_tells_its_link_and_its_cage() -> None:
    found = readings({"__name__": "node_network_speed_bytes", **FABRIC}, NODE_EXPORTER, {})
    told = {
        one.line.meanings[0].metric.name: (dict(one.line.meanings[0].labels), one.line.meanings[0].fold)
        for one in found
    }
    assert told == {
        "link_capacity_bytes_per_second": (P1, Fold.MAX),
        "cage_capacity_bytes_per_second": ({"cage": "p1"}, Fold.MAX),
    }
    assert [float(one.convert(np.array([25e9]))[0]) for one in found] == [25e9, 25e9]
    assert np.isnan([float(one.convert(np.array([0.0]))[0]) for one in found]).all()


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("node_cpu_seconds_total", {"mode": "idle"}),
        ("node_cpu_seconds_total", {"mode": "iowait"}),
        ("node_network_receive_bytes_total", {"device": "lo"}),
        ("node_network_receive_bytes_total", {"device": "docker0"}),
        ("node_network_receive_bytes_total", {"device": "veth12"}),
        ("node_disk_read_bytes_total", {"device": "nvme0n1p1"}),
        ("node_disk_read_bytes_total", {"device": "dm-0"}),
        ("node_filesystem_size_bytes", {"device": "tmpfs", "fstype": "tmpfs", "mountpoint": "/run"}),
        ("node_filesystem_size_bytes", {"device": "/dev/loop3", "fstype": "ext4", "mountpoint": "/snap"}),
        ("node_filesystem_size_bytes", {"device": "/dev/sda1", "fstype": "vfat", "mountpoint": "/boot/efi"}),
        ("node_hwmon_temp_celsius", {"chip": "nobody"}),
        ("node_infiniband_state_id", {"device": "qedr0"}),
        ("node_forks_total", {}),
    ],
)
def test_what_says_nothing_to_us(name: str, labels: dict[str, str]) -> None:
    assert readings({"__name__": name, **labels}, NODE_EXPORTER, CHIPS) == []


def test_a_gpu_without_a_number_is_none() -> None:
    assert readings({"__name__": "DCGM_FI_DEV_GPU_UTIL", "gpu": ""}, DCGM_EXPORTER, {}) == []


def test_kinds() -> None:
    names = ("tachograph_gpu_power_watts", "DCGM_FI_DEV_SM_CLOCK", "node_load1", "vllm:num_requests_running")
    assert tuple(map(kind_of, names)) == KINDS == (AGENT, DCGM_EXPORTER, NODE_EXPORTER, ENGINE)
    assert kind_of("vllm:nobody_knows") is None
    assert kind_of("process_start_time_seconds") is None
    assert kind_of("node_memory_Slab_bytes") is None
    assert kind_of("node_memory_SReclaimable_bytes") == NODE_EXPORTER
    for name in (*exporters.ROWS, *exporters.PARTS, "vllm:.*", "process_start_time_seconds", "node_hwmon_chip_names"):
        assert name in pattern().split("|")


def sample(name: str, values: list[float], times: list[int] | None = None, **labels: str) -> Samples:
    return Samples({"__name__": name, **labels}, np.array(times or range(len(values))) * 1000, np.array(values, float))


def pages(kind: str, *samples: Samples, families: frozenset[str]) -> list[tuple[int, dict[Series, float]]]:
    found = Pages("t", kind, families, {}).of(samples)
    return [(tick, dict(zip(page.layout.series, page.values().tolist(), strict=True))) for tick, page in found]


def test_derived_numbers_need_all_their_parts() -> None:
    names = frozenset({"memory_used_bytes", "memory_cached_bytes", "memory_kernel_bytes", "uptime_seconds"})
    found = pages(
        NODE_EXPORTER,
        sample("node_memory_MemTotal_bytes", [100, 100, 100, 100]),
        sample("node_memory_MemAvailable_bytes", [30, 120, np.nan], [0, 1, 2]),
        sample("node_memory_SUnreclaim_bytes", [5, 6], [0, 1]),
        sample("node_memory_Percpu_bytes", [2], [0]),
        sample("node_time_seconds", [1000], [3]),
        sample("node_boot_time_seconds", [900], [3]),
        sample("node_memory_Cached_bytes", [10], [0]),
        families=names,
    )
    used, kernel, up = (Series("t", name) for name in ("memory_used_bytes", "memory_kernel_bytes", "uptime_seconds"))
    assert [tick for tick, _ in found] == [0, 1000, 2000, 3000]
    assert found[0][1] == {used: 70.0, kernel: 7.0}
    assert found[1][1] == {used: 0.0, kernel: 6.0}
    assert np.isnan(found[2][1].pop(used))
    assert found[2][1] == {}
    assert found[3][1] == {up: 100.0}


def test_page_cache_is_the_agents() -> None:
    parts = {"Cached": 50, "Shmem": 20, "Buffers": 3, "SReclaimable": 7}
    samples = [sample(f"node_memory_{name}_bytes", [value]) for name, value in parts.items()]
    found = pages(NODE_EXPORTER, *samples, families=frozenset({"memory_cached_bytes"}))
    assert found == [(0, {Series("t", "memory_cached_bytes"): 40.0})]


def test_a_pod_that_changes_does_not_break_a_gpu() -> None:
    first, second = (
        readings({"__name__": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "gpu": "0", "pod": pod}, DCGM_EXPORTER, {})
        for pod in ("a", "b")
    )
    assert first[0].line.identity == second[0].line.identity


def test_whether_series_share_their_times() -> None:
    same = np.ones((3, 10), dtype=bool)
    assert shares_times(same)
    assert shares_times(np.zeros((0, 0), dtype=bool))
    late = same.copy()
    late[0, :8] = False
    assert shares_times(late)
    apart = np.zeros((2, 10), dtype=bool)
    apart[0, ::2] = apart[1, 1::2] = True
    assert not shares_times(apart)


def test_pages_of_series_with_times_of_their_own_say_nothing_by_what_they_lack() -> None:
    first = sample("vllm:num_requests_running", [1, 1, 1], [0, 2, 4])
    second = sample("vllm:generation_tokens_total", [5, 6, 7], [1, 3, 5])
    both = frozenset({"requests_running", "generation_tokens_total"})
    assert {page.bad_lines for _, page in Pages("t", ENGINE, both, {}).of([first, second])} == {1}
    assert {page.bad_lines for _, page in Pages("t", ENGINE, both, {}).of([first])} == {0}


@pytest.mark.parametrize(
    ("instance", "kind", "names", "target"),
    [
        ("spark-01:9100", NODE_EXPORTER, {}, "spark-01"),
        ("http://spark-01:9100/metrics", NODE_EXPORTER, {}, "spark-01"),
        ("[fe80::1]:9100", AGENT, {}, "fe80::1"),
        ("spark-01", DCGM_EXPORTER, {}, "spark-01"),
        ("head:8000", ENGINE, {}, "head:8000"),
        ("head:8000", ENGINE, {"head:8000": "kimi"}, "kimi"),
        ("10.0.0.1:9100", NODE_EXPORTER, {"10.0.0.1": "spark-01"}, "spark-01"),
        ("10.0.0.1:9100", NODE_EXPORTER, {"10.0.0.1": "a", "10.0.0.1:9100": "b"}, "b"),
        ("", NODE_EXPORTER, {}, None),
        ("[broken", NODE_EXPORTER, {}, "[broken"),
    ],
)
def test_whose_a_page_is(instance: str, kind: str, names: dict[str, str], target: str | None) -> None:
    assert name_of(instance, kind, names) == target
    assert host_of("a:1") == "a"


def found(*series: tuple[str, str, str], names: dict[str, str] | None = None) -> object:
    labels = [{"__name__": name, "job": job, "instance": instance, "gpu": "0"} for name, job, instance in series]
    return find(labels, lambda instance, kind: name_of(instance, kind, names or {}))


def test_each_metric_comes_from_one_page() -> None:
    got = found(
        ("node_memory_MemTotal_bytes", "node", "a:9100"),
        ("node_load1", "node", "a:9100"),
        ("DCGM_FI_DEV_POWER_USAGE", "dcgm", "a:9400"),
        ("tachograph_gpu_power_watts", "tachograph", "a:9810"),
        ("tachograph_load_average", "tachograph", "a:9810"),
    )
    assert [(one.kind, one.target, one.place, one.families) for one in got.scrapes] == [
        (AGENT, "a", Place("tachograph", "a:9810"), {"gpu_power_watts", "load_average"}),
        (NODE_EXPORTER, "a", Place("node", "a:9100"), {"memory_total_bytes"}),
    ]
    assert got.problems == (
        "dcgm of a:9400: 1 metrics of a come from tachograph of a:9810",
        "node of a:9100: 1 metrics of a come from tachograph of a:9810",
    )


def test_a_machine_is_no_engine() -> None:
    got = found(
        ("vllm:num_requests_running", "vllm", "a:8000"),
        ("node_load1", "node", "a:9100"),
        ("node_load1", "", ""),
        names={"a:8000": "a"},
    )
    assert [one.kind for one in got.scrapes] == [NODE_EXPORTER]
    assert got.problems == (
        "no job of no instance: 1 series have no instance, so nobody knows whose they are",
        "vllm of a:8000: a is a machine already; give its engine another name",
    )


def test_the_start_of_a_process_is_an_engines() -> None:
    got = found(
        ("vllm:num_requests_running", "vllm", "a:8000"),
        ("process_start_time_seconds", "vllm", "a:8000"),
        ("process_start_time_seconds", "node", "a:9100"),
        ("node_load1", "node", "a:9100"),
        ("node_hwmon_chip_names", "node", "a:9100"),
    )
    node, engine = got.scrapes
    assert engine.names == {"vllm:num_requests_running", "process_start_time_seconds"}
    assert node.names == {"node_load1"}


def test_derived_lines_are_of_machines() -> None:
    for one in exporters.NODE_DERIVED:
        assert derived_line(one).engine == AGENT


def test_of_servers_that_scrape_side_by_side_one_counts() -> None:
    labels = {"__name__": "vllm:generation_tokens_total", "job": "vllm", "instance": "a:8000", "prometheus": "p"}
    both = [{**labels, "replica": replica} for replica in ("b", "a")]
    got = find(both, lambda instance, kind: name_of(instance, kind, {}))
    (scrape,) = got.scrapes
    assert scrape.place.labels() == {"job": "vllm", "instance": "a:8000", "prometheus": "p", "replica": "a"}
    assert got.problems == (
        "vllm of a:8000 (prometheus p, replica b): 1 metrics of a:8000 come from vllm of a:8000"
        " (prometheus p, replica a)",
    )
    told = [readings(one, ENGINE, {})[0].line.identity for one in both]
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["cluster", "deployment/m1", '"><img src=x>', "a" * 64, "-a", "a b", "a\x1b[31m"])
def test_a_name_that_settings_refuse_is_refused_and_told(name: str) -> None:
    labels = [
        {"__name__": "vllm:num_requests_running", "job": "v", "instance": one, "model_name": "m", "engine": "0"}
        for one in ("bad:1", "w1:8000")
    ]
    got = find(labels, lambda instance, _: name if instance == "bad:1" else instance, refusal)
    assert [one.target for one in got.scrapes] == ["w1:8000"]
    (problem,) = got.problems
    assert problem.startswith(f"v of bad:1: “{name}” can be no target's name, expected a name of at most 63 letters")
    assert problem.endswith("name it with --map")
