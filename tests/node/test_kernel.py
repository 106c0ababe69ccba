"""The kernel log: what lines mean, what is counted, what was there before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.node.kernel import KernelLog, parse_record
from collectors.node.kernel_lines import aer_severity, may_concern, meaning
from collectors.node.reading import Round
from collectors.node.rounds import Rounds
from tests.node.node_machine import DATA, Clock, Node, machine, values

MakeNode = Callable[..., Node]
BEFORE, LATER = (DATA / "kernel.log").read_text(), (DATA / "kernel-later.log").read_text()
XIDS = [
    ("43, pid=1234, name=python3, Ch 00000008", "43", "python3", "1234", "Ch 00000008"),
    (
        "31, pid=3003984, name=python3, channel 0x15. MMU Fault: x",
        "31",
        "python3",
        "3003984",
        "channel 0x15. MMU Fault: x",
    ),
    ("119, pid=3849, name=KMS thread, Timeout after 45s", "119", "KMS thread", "3849", "Timeout after 45s"),
    ("13, Graphics SM Global Exception on (GPC 0)", "13", None, None, "Graphics SM Global Exception on (GPC 0)"),
    (
        "79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "79",
        None,
        None,
        "GPU has fallen off the bus.",
    ),
    ("154, pid='77', name=x, GPU recovery action changed", "154", "x", "77", "GPU recovery action changed"),
]


@pytest.mark.parametrize(("text", "xid", "process", "pid", "rest"), XIDS, ids=[row[1] for row in XIDS])
def test_forms_of_an_xid(text: str, xid: str, process: str | None, pid: str | None, rest: str) -> None:
    assert may_concern(f"NVRM: Xid (PCI:000F:01:00): {text}".encode())
    line = meaning(f"NVRM: Xid (PCI:000F:01:00): {text}")
    assert line is not None
    assert (line.kind, line.counter_labels) == ("xid", (xid,))
    assert (line.labels.get("process"), line.labels.get("pid")) == (process, pid)
    assert line.text == f"Xid {xid} on 000f:01:00: {rest}"


def test_an_xid_of_a_part_of_a_gpu_is_one_of_the_gpu() -> None:
    line = meaning("NVRM: Xid (PCI:0000:65:00 GPU-I:05): 94, pid=7, name=python3, Contained: SM (0x1)")
    assert line is not None
    assert (line.text, line.counter_labels) == ("Xid 94 on 0000:65:00: Contained: SM (0x1)", ("94",))
    assert line.labels == {"xid": "94", "pci": "0000:65:00", "pid": "7", "process": "python3"}


@pytest.mark.parametrize(
    ("message", "severity"),
    [
        ("AER: Uncorrectable (Fatal) error message received from 0000:00:00.0", "fatal"),
        ("AER: Uncorrectable (Non-Fatal) error message received from 0000:00:00.0", "nonfatal"),
        ("AER: Corrected error received: 0000:00:1c.0", "correctable"),
        ("AER: Multiple Correctable error message received from 0002:01:00.0", "correctable"),
    ],
)
def test_severities(message: str, severity: str) -> None:
    assert aer_severity(message) == severity
    line = meaning(f"pcieport 0000:00:00.0: {message}")
    assert line is not None
    assert line.counter_labels == (severity,)
    assert line.labels["pci"] == "0000:00:00.0"
    assert may_concern(message.encode())


@pytest.mark.parametrize(
    "message",
    [
        "mlx5_core 0000:01:00.0: mlx5_pcie_event: Detected insufficient power on the PCIe slot (27W).",
        "pcieport 0000:00:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer",
        "pcieport 0000:00:00.0: AER: device recovery successful",
        "usb 1-1: new device",
        "NVRM: loading NVIDIA UNIX Open Kernel Module",
        "",
    ],
)
def test_lines_of_no_concern(message: str) -> None:
    assert meaning(message) is None


@pytest.mark.parametrize(
    ("message", "kind", "text"),
    [
        ("0000:01:00.1 enp1s0f1np1: Link down", "link", "Link down on enp1s0f1np1"),
        ("0000:01:00.0: Port module event: module 0, Cable unplugged", "cable", "unplugged, module 0 of 0000:01:00.0"),
        ("0002:01:00.1: mlx5_pci_slot_reset was called", "nic", "0002:01:00.1 was reset (mlx5_pci_slot_reset)"),
    ],
)
def test_links_cables_and_resets(message: str, kind: str, text: str) -> None:
    assert may_concern(f"mlx5_core {message}".encode())
    line = meaning(f"mlx5_core {message}")
    assert line is not None
    assert line.kind == kind
    assert line.text.endswith(text)


@pytest.mark.parametrize("beginning", ["Out of memory", "Memory cgroup out of memory"])
def test_a_killed_process_is_told_without_its_user(beginning: str) -> None:
    message = f"{beginning}: Killed process 12345 (python3) total-vm:98kB, UID:1000 oom_score_adj:0"
    assert may_concern(f"3,1,2,-;{message}".encode())
    line = meaning(message)
    assert line is not None
    assert line.text == "Out of memory: process 12345 (python3) was killed"
    assert line.labels == {"pid": "12345", "process": "python3"}
    assert line.counter is None


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("4,2217,88211334512,-;NVRM: x;y", (88211.334512, "NVRM: x;y")),
        ("4,2217,88211334512,-,caller=T1;text", (88211.334512, "text")),
        (" SUBSYSTEM=pci;x", None),
        ("4,2217;text", None),
        ("4,2217,abc,-;text", None),
        ("", None),
    ],
)
def test_records(record: str, expected: tuple[float, str] | None) -> None:
    assert parse_record(record) == expected


def follow(tree: Node, clock: Clock, rounds: Rounds, text: str) -> dict[str, float]:
    with open(tree.root + "/dev/kmsg", "a", encoding="utf-8") as log:
        log.write(text)
    clock.now += 1
    return values(rounds.snapshot().page)


def test_what_was_there_is_a_baseline(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    tree.put("/dev/kmsg", BEFORE)
    watched = machine(tree, clock)
    found = values(Rounds(watched).snapshot().page)
    assert not [name for name in found if name.startswith("kernel_xid")]
    assert found["kernel_driver_no_memory_total"] == 0
    assert [found[f'kernel_aer_total{{severity="{level}"}}'] for level in ("correctable", "nonfatal", "fatal")] == [
        0
    ] * 3
    events = watched.events.after(0)
    assert [event.kind for event in events] == ["link", "cable", "xid", "xid"]
    assert all(event.baseline for event in events)
    assert found["agent_event_sequence"] == 4


def test_what_comes_later_is_counted(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    tree.put("/dev/kmsg", BEFORE)
    watched = machine(tree, clock)
    rounds = Rounds(watched)
    rounds.snapshot()
    found = follow(tree, clock, rounds, LATER)
    assert {name: value for name, value in found.items() if name.startswith("kernel_")} == {
        'kernel_xid_total{xid="119"}': 1,
        'kernel_xid_total{xid="13"}': 1,
        'kernel_xid_total{xid="79"}': 1,
        "kernel_driver_no_memory_total": 1,
        'kernel_aer_total{severity="correctable"}': 1,
        'kernel_aer_total{severity="nonfatal"}': 1,
        'kernel_aer_total{severity="fatal"}': 1,
        'kernel_link_events_total{direction="up"}': 1,
        'kernel_link_events_total{direction="down"}': 1,
    }
    new = watched.events.after(4)
    assert not any(event.baseline for event in new)
    assert [event.sequence for event in new] == list(range(5, 16))
    again = follow(tree, clock, rounds, LATER)
    assert again['kernel_xid_total{xid="79"}'] == 2
    assert follow(tree, clock, rounds, "")['kernel_xid_total{xid="79"}'] == 2


def test_an_event_happened_when_the_kernel_says(node: MakeNode) -> None:
    tree, clock = node(), Clock(1000.0)
    tree.put("/dev/kmsg", "4,1,600000000,-;NVRM: Xid (PCI:000f:01:00): 43, x\n")
    watched = machine(tree, clock)
    Rounds(watched).snapshot()
    assert watched.events.after(0)[0].time_s == clock.wall() - 400


def test_a_line_written_in_two_halves_is_one_line(node: MakeNode) -> None:
    tree, clock = node(), Clock()
    tree.put("/dev/kmsg", "")
    rounds = Rounds(machine(tree, clock))
    rounds.snapshot()
    follow(tree, clock, rounds, "4,1,1000000,-;NVRM: Xid (PCI:000f:01:00)")
    assert follow(tree, clock, rounds, ": 48, x\n")['kernel_xid_total{xid="48"}'] == 1


def test_no_log_and_no_permission(node: MakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = node()
    assert Rounds(machine(tree)).snapshot().readings["kernel"].outcome == "nothing here"

    def refuse(*_: object) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "open", refuse)
    from collectors.node.kernel import build

    reading = build(machine(tree))(Round(0.0, 0.0, {}))
    assert reading.outcome == "failed"
    assert "CAP_SYSLOG" in reading.reason
    assert reading.samples == []


def test_a_log_that_fails_is_opened_again(tmp_path: Path, node: MakeNode) -> None:
    tree, clock = node(), Clock()
    os.makedirs(tree.root + "/dev/kmsg")
    rounds = Rounds(machine(tree, clock))
    failed = rounds.snapshot().readings["kernel"]
    assert (failed.outcome, failed.reason) == ("failed", "/dev/kmsg: Is a directory")
    os.rmdir(tree.root + "/dev/kmsg")
    tree.put("/dev/kmsg", "")
    assert follow(tree, clock, rounds, "")["kernel_driver_no_memory_total"] == 0


def test_a_pipe_without_news_does_not_block(tmp_path: Path) -> None:
    """Reading the device when nothing is new fails with EAGAIN, as a pipe does."""
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe)
    log = KernelLog(str(pipe))
    writer = os.open(pipe, os.O_WRONLY)
    assert list(log.news()) == []
    os.write(writer, b"4,1,1000000,-;NVRM: Xid (PCI:000f:01:00): 43, x\n")
    assert [line.kind for _, line in log.news()] == ["xid"]
    os.close(writer)
    log.close()
