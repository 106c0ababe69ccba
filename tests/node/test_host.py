"""The machine around the GPU: processors, sensors, power, disks, identity."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

import pytest

from collectors.node.cpu import busy_ticks, cores
from collectors.node.disks import mounts, transfers
from collectors.node.identity import assignments, core_kinds, dgx_version, driver_version, known
from collectors.node.machine import Machine, own_usage
from collectors.node.rounds import Rounds
from collectors.node.sensors import parse as parse_sensors
from collectors.node.state import facts_of
from tests.node.node_machine import Clock, Node, machine, scrape, values

MakeNode = Callable[..., Node]


def test_busy_time_leaves_out_idle_io_and_guests() -> None:
    stat = b"cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1\ncpu1 1\nintr 1\n"
    assert busy_ticks(stat) == 100 + 20 + 30 + 6 + 7 + 8
    assert cores(stat) == 2
    assert busy_ticks(b"cpu0 1 2 3\n") is None
    assert cores(b"cpu 1\nintr 1\n") is None


def test_processors(node: MakeNode) -> None:
    found = scrape(node())
    assert found["cpu_busy_seconds_total"] == (854050 + 16240 + 413030 + 18670) / 100
    assert found["cpu_cores"] == 20
    assert found["load_average"] == 0.89
    assert found["uptime_seconds"] == 248281.42


def test_the_hottest_sensor_of_each_name(node: MakeNode) -> None:
    found = scrape(node())
    assert {name.split('"')[1]: value for name, value in found.items() if name.startswith("temperature")} == {
        "acpitz": 47.8,
        "mlx5": 54.0,
        "mt7925": 50.0,
        "nvme": 49.85,
        "spbm": 31.2,
    }


def test_temperatures_below_zero_are_temperatures() -> None:
    reading = parse_sensors([("acpitz", -2000), ("acpitz", -5000)])
    assert [value for _, _, value in reading.samples] == [-2.0]
    assert parse_sensors([]).outcome == "nothing here"


def test_power_by_rail(node: MakeNode) -> None:
    found = scrape(node())
    assert found['system_power_watts{rail="sys_total"}'] == 25.1
    assert found['system_power_watts{rail="gpu"}'] == 5.01
    assert found['system_energy_joules_total{rail="pkg"}'] == 0.0, "since the agent's start"
    assert found['system_power_limit_watts{rail="syspl1"}'] == 231
    assert 'system_power_limit_watts{rail="sys_total"}' not in found
    assert found["processor_hot"] == 0


def test_channels_go_by_label_even_with_holes(node: MakeNode) -> None:
    tree = node()
    for name in ("power1_label", "power1_input"):
        os.unlink(f"{tree.root}/sys/class/hwmon/hwmon7/{name}")
    tree.put("/sys/class/hwmon/hwmon7/prochot", "1\n")
    found = scrape(tree)
    assert 'system_power_watts{rail="sys_total"}' not in found
    assert found['system_power_watts{rail="soc_pkg"}'] == 17.05
    assert found["processor_hot"] == 1


def test_without_its_driver_the_power_of_the_machine_is_unknown(node: MakeNode) -> None:
    tree = node()
    tree.put("/sys/class/hwmon/hwmon7/name", "other\n")
    snapshot = Rounds(machine(tree)).snapshot()
    assert snapshot.readings["power"].outcome == "nothing here"
    assert not [name for name in values(snapshot.page) if name.startswith("system_power")]


def test_a_power_channel_that_cannot_be_read_has_no_line(node: MakeNode) -> None:
    tree = node()
    tree.errors["/sys/class/hwmon/hwmon7/power1_input"] = errno.EIO
    found = scrape(tree)
    assert 'system_power_watts{rail="sys_total"}' not in found
    assert found['system_power_watts{rail="dc_input"}'] == 26.01


def test_one_mount_for_each_local_disk() -> None:
    content = (
        "proc /proc proc rw 0 0\n/dev/nvme0n1p2 / ext4 rw 0 0\n/dev/nvme0n1p2 /var/tmp ext4 rw 0 0\n"
        "/dev/nvme0n1p1 /boot/efi vfat rw 0 0\n/dev/loop3 /snap/x ext4 ro 0 0\n/dev/sda1 /my\\040models xfs rw 0 0\n"
        "server:/x /nfs nfs rw 0 0\n/dev/broken\n"
    )
    assert list(mounts(content)) == ["/", "/my models"]


def test_disks(node: MakeNode) -> None:
    found = scrape(node())
    assert found['disk_size_bytes{mount="/"}'] == 976_562_500 * 4096
    assert found['disk_available_bytes{mount="/"}'] == 610_351_562 * 4096, "what users can write, not what is free"
    assert found['disk_read_bytes_total{disk="nvme0n1"}'] == 162466820 * 512
    assert found['disk_written_bytes_total{disk="nvme0n1"}'] == 380884376 * 512


def test_a_disk_that_does_not_answer_costs_only_itself(node: MakeNode) -> None:
    tree = node()
    tree.put("/proc/mounts", "/dev/sda1 /a ext4 rw 0 0\n/dev/sdb1 /b ext4 rw 0 0\n")
    watched = machine(tree)
    answer = watched.file_system

    def file_system(path: str) -> os.statvfs_result:
        if path.endswith("/a"):
            raise OSError(errno.EIO, "input/output error")
        return answer(path)

    watched.file_system = file_system
    found = values(Rounds(watched).snapshot().page)
    assert {name for name in found if name.startswith("disk_size")} == {'disk_size_bytes{mount="/b"}'}


def test_partitions_and_loops_are_no_disks() -> None:
    content = " 7 0 loop0 1 2 3 4 5 6 7 8\n 8 0 sda 1 2 30 4 5 6 70 8\n 8 1 sda1 1 2 30 4 5 6 70 8\n short\n"
    assert list(transfers(content)) == [("sda", 30 * 512, 70 * 512)]


def test_who_the_machine_is(node: MakeNode) -> None:
    facts = facts_of(Rounds(machine(node())).snapshot().readings)
    expected = {
        "hostname": "spark-dcce",
        "boot_id": "0b1f7c52-6a3e-4f2b-9d07-3a5f1c2e8d41",
        "kernel": "6.17.0-1021-nvidia",
        "dgx_os": "7.5.0",
        "os": "Ubuntu 24.04.4 LTS",
        "driver_version": "580.142",
        "product": "NVIDIA_DGX_Spark",
        "cores": "10 large + 10 small",
    }
    assert {name: facts[name] for name in expected} == expected
    assert "serial" not in facts, "only root may read it"
    assert "dgx_serial" not in facts, "a placeholder is no serial number"


def test_the_last_update_names_the_version() -> None:
    release = assignments('# x=1\nDGX_OTA_VERSION="7.4.0"\nDGX_OTA_VERSION=7.5.0\nDGX_SWBUILD_VERSION=7.2.3\nno sign\n')
    assert dgx_version(release) == "7.5.0"
    assert dgx_version({"DGX_SWBUILD_VERSION": "7.2.3"}) == "7.2.3"
    assert dgx_version({}) is None
    assert "# x" not in release


@pytest.mark.parametrize(
    ("capacities", "expected"),
    [([1024, 1024, 718], "2 large + 1 small"), ([720, 720], "2"), ([1000, 999], "2"), ([], None)],
)
def test_kinds_of_cores(capacities: list[int], expected: str | None) -> None:
    assert core_kinds(capacities) == expected


def test_placeholders_and_versions() -> None:
    assert known("Not Specified") is None
    assert known("To Be Filled By O.E.M.") is None
    assert known(None) is None
    assert known("P4242") == "P4242"
    assert driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue Jan 1") == "570.86.15"
    assert driver_version("") is None


def test_a_failed_collector_costs_only_its_own_readings(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    tree.errors["/proc/stat"] = errno.EACCES
    tree.put("/proc/meminfo", "MemTotal: 1 kB\nMemAvailable: x kB\n")
    tree.put("/proc/vmstat", "pswpin many\n")
    snapshot = Rounds(machine(tree, clock)).snapshot()
    readings, found = snapshot.readings, values(snapshot.page)
    assert readings["cpu"].outcome == "failed"
    assert readings["cpu"].reason == "/proc/stat: Permission denied"
    assert readings["paging"].outcome == "failed"
    assert readings["paging"].reason == "/proc/vmstat: no number could be read there"
    assert "cpu_cores" not in found
    assert found['agent_read_outcome{collector="cpu"}'] == 2
    assert found['agent_read_outcome{collector="memory"}'] == 0
    assert found['temperature_celsius{sensor="nvme"}'] == 49.85


def test_the_agent_knows_what_it_uses() -> None:
    cpu, resident = own_usage()
    assert 0 < cpu < 3600
    assert 4e6 < resident < 4e9
    assert Machine().page_bytes in (4096, 16384, 65536)
