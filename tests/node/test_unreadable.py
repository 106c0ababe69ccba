"""One line that cannot be read costs itself; a file without a number is a failure told in a sentence."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from collectors.node.blocks import free_blocks
from collectors.node.cpu import busy_ticks, first
from collectors.node.disks import transfers
from collectors.node.kernel import parse_record
from collectors.node.nvml_errors import attempt
from collectors.node.paging import parse_vmstat
from collectors.node.pressure import parse as parse_pressure
from collectors.node.reading import Reading, unforeseen
from collectors.node.rounds import Rounds
from collectors.node.sensors import parse as parse_sensors
from tests.node.node_machine import Node, machine, values

MakeNode = Callable[..., Node]
NONE_READ = "no number could be read there"
HUGE = 400 * "9"


def look(tree: Node) -> tuple[dict[str, float], dict[str, Reading]]:
    snapshot = Rounds(machine(tree)).snapshot()
    return values(snapshot.page), snapshot.readings


def test_a_counter_of_vmstat_costs_itself(node: MakeNode) -> None:
    tree = node()
    tree.put("/proc/vmstat", "pswpin 3\npswpout\noom_kill x\nallocstall_dma 1\nallocstall_normal y\ncompact_stall 7\n")
    found, readings = look(tree)
    assert readings["paging"].outcome == "ok"
    assert {name: found.get(f"memory_{name}") for name in ("compaction_stalls_total", "allocation_stalls_total")} == {
        "compaction_stalls_total": 7,
        "allocation_stalls_total": None,
    }
    assert [value for _, _, value in readings["paging"].samples] == [3 * 4096, 7]


@pytest.mark.parametrize("lines", ["allocstall_a x\nallocstall_b 2\n", "allocstall_a 2\nallocstall_b x\n"])
def test_a_sum_with_an_unreadable_part_is_unknown(lines: str) -> None:
    assert parse_vmstat(lines.encode()) == {"allocstall": None}


def test_the_line_of_all_processors_costs_only_the_busy_time(node: MakeNode) -> None:
    tree = node()
    tree.put("/proc/stat", f"cpu  {HUGE} 1 1 1 1 1 1 1\ncpu0 1\n")
    found, readings = look(tree)
    assert readings["cpu"].outcome == "ok"
    assert "cpu_busy_seconds_total" not in found
    assert (found["cpu_cores"], found["load_average"], found["uptime_seconds"]) == (1, 0.89, 248281.42)


def test_columns_of_the_line_of_all_processors() -> None:
    assert busy_ticks(b"cpu 1 2 3 x y 4 5 6\n") == 21, "what is not counted need not be a number"
    assert busy_ticks(b"cpu 1 2 3\n") == 6
    assert busy_ticks(b"cpu 1 2\n") is None, "not 3: the kernel always names system"
    assert busy_ticks(b"cpu\n") is None
    assert busy_ticks(b"") is None
    assert busy_ticks(b"cpu 1 2 3 4 5 6 7 x\n") is None


def test_load_and_uptime_cost_themselves(node: MakeNode) -> None:
    tree = node()
    tree.put("/proc/loadavg", "")
    tree.put("/proc/uptime", "nan 1\n")
    found, readings = look(tree)
    assert readings["cpu"].outcome == "ok"
    assert "load_average" not in found
    assert "uptime_seconds" not in found
    assert found["cpu_cores"] == 20
    assert first(b"0.89 1 2\n") == 0.89
    assert first(b"3\n") == 3.0


def test_pressure_costs_itself(node: MakeNode) -> None:
    assert parse_pressure("some total=²\nfull total=5000000\n") == {"full": 5.0}
    tree = node()
    tree.put("/proc/pressure/memory", "some total=x\n")
    found, readings = look(tree)
    assert readings["pressure"].outcome == "ok"
    assert not [name for name in found if name.startswith("pressure") and "memory" in name]


def test_blocks_cost_the_sizes_they_are_in() -> None:
    content = "Node 0, zone Normal x 8 7 6\nNode 1, zone Normal 5 4 x 2\n"
    assert free_blocks(content, 4096, 32768) == 6 + 2
    assert free_blocks(content, 4096, 16384) is None


def test_a_disk_costs_its_direction(node: MakeNode) -> None:
    assert list(transfers(" 8 0 sda 1 2 x 4 5 6 70 8\n")) == [("sda", None, 70 * 512)]
    tree = node()
    tree.put("/proc/diskstats", f" 8 0 sda 1 2 x 4 5 6 70 8\n 8 16 sdb 1 2 3 4 5 6 {HUGE} 8\n")
    found, readings = look(tree)
    assert readings["disk traffic"].outcome == "ok"
    assert {name: value for name, value in found.items() if name.startswith(("disk_read", "disk_written"))} == {
        'disk_read_bytes_total{disk="sdb"}': 3 * 512,
        'disk_written_bytes_total{disk="sda"}': 70 * 512,
    }


def test_a_mount_point_that_cannot_be_one_costs_itself(node: MakeNode) -> None:
    tree = node()
    tree.put("/proc/mounts", "/dev/sda1 /a\\000b ext4 rw 0 0\n/dev/sdb1 /b ext4 rw 0 0\n")
    watched = machine(tree)
    answer = watched.file_system
    watched.file_system = lambda path: _refuse() if "\0" in path else answer(path)
    snapshot = Rounds(watched).snapshot()
    assert snapshot.readings["disks"].outcome == "ok"
    assert 'tachograph_disk_size_bytes{mount="/b"}' in snapshot.page.decode()


def _refuse() -> object:
    raise ValueError("embedded null byte")


def test_a_record_of_the_kernel_log_without_a_time_is_none() -> None:
    assert parse_record("4,2217,²,-;text") is None
    assert parse_record(f"4,2217,{HUGE},-;text") is None
    assert parse_record("4,2217,2000000,-;text") == (2.0, "text")


def test_a_sensor_costs_itself(node: MakeNode) -> None:
    assert [value for _, _, value in parse_sensors([("a", None), ("a", 2000), ("b", None)]).samples] == [2.0]
    unread = parse_sensors([("a", None)])
    assert (unread.outcome, unread.reason) == ("failed", f"/sys/class/hwmon: {NONE_READ}")


@pytest.mark.parametrize(
    ("collector", "paths", "content", "reason"),
    [
        ("memory", ("/proc/meminfo",), "MemTotal: x kB\n", "/proc/meminfo"),
        ("paging", ("/proc/vmstat",), "pswpin x\n", "/proc/vmstat"),
        (
            "cpu",
            ("/proc/stat", "/proc/loadavg", "/proc/uptime"),
            "\n",
            "/proc/stat, /proc/loadavg, /proc/uptime",
        ),
        (
            "pressure",
            ("/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/io"),
            "some total=x\n",
            "/proc/pressure",
        ),
        ("blocks", ("/proc/buddyinfo",), "Node 0, zone Normal" + 11 * " x" + "\n", "/proc/buddyinfo"),
        ("disk traffic", ("/proc/diskstats",), " 8 0 sda a b c d e f g h\n", "/proc/diskstats"),
    ],
)
def test_a_file_without_a_number_is_a_failure(
    node: MakeNode, collector: str, paths: tuple[str, ...], content: str, reason: str
) -> None:
    tree = node()
    for path in paths:
        tree.put(path, content)
    _, readings = look(tree)
    assert (readings[collector].outcome, readings[collector].reason) == ("failed", f"{reason}: {NONE_READ}")


@pytest.mark.parametrize(
    "content", ["", "\0\0\0", "x", ": : :\n", f"{HUGE}\n", "٣ ² ½\n", "cpu\ncpu \n", "a b c d e f g\n" * 9]
)
def test_no_content_makes_a_collector_speak_of_exceptions(node: MakeNode, content: str) -> None:
    paths = ("stat", "loadavg", "uptime", "meminfo", "vmstat", "buddyinfo", "diskstats", "mounts", "pressure/cpu")
    tree = node()
    for path in paths:
        tree.put(f"/proc/{path}", content)
    for path in ("speed", "carrier", "mtu", "statistics/tx_bytes"):
        tree.both(f"/sys/class/net/{{net}}/{path}", content)
    for path in ("rate", "state", "counters/port_xmit_data", "hw_counters/packet_seq_err", "counters/symbol_error"):
        tree.both(f"/sys/class/infiniband/{{rdma}}/ports/1/{path}", content)
    for path in ("temp1_input", "power1_input", "energy1_input"):
        tree.put(f"/sys/class/hwmon/hwmon7/{path}", content)
    _, readings = look(tree)
    for name, reading in readings.items():
        assert "Error" not in reading.reason, (name, reading.reason)
        assert "make sense" not in reading.reason, (name, reading.reason)


def test_an_error_without_words_is_a_sentence(node: MakeNode) -> None:
    tree = node()
    tree.errors["/proc/stat"] = errno.EIO
    _, readings = look(tree)
    assert readings["cpu"].reason == "/proc/stat: Input/output error"
    assert unforeseen(ValueError("x")).reason == "the agent cannot make sense of what it read (at an unknown place)"


def test_an_answer_of_the_driver_that_is_no_text_costs_only_itself() -> None:
    assert attempt(lambda: b"\xff".decode()) == (None, "the driver's answer makes no sense")
    assert attempt(lambda: "well") == ("well", "ok")
