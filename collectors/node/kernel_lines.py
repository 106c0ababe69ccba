"""What a line of the kernel log means."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from telemetry.catalog import host
from telemetry.model import Metric

XID = r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)(?: GPU-I:\d+)?\): (\d+),? ?(.*)"
WHO = r"""^pid=('[^']*'|[^,]*), (?:name=([^,]*), )?"""
NO_MEMORY = r"NVRM: .*NV_ERR_NO_MEMORY"
AER = r"(?i)(?:pcieport (\S+): )?AER: (.*?error.*?received.*)"
RESET = r"mlx5_core (\S+): .*(mlx5_pci_slot_reset|mlx5_pci_err_detected|health compromised)"
LINK = r"mlx5_core (\S+) (\S+): Link (up|down)"
MODULE = r"mlx5_core (\S+): Port module event: module (\d+), (Cable (?:un)?plugged)"
OOM = r"[Oo]ut of memory: Killed process (\d+) \(([^)]*)\)"
"""Texts, since most machines never use one: re compiles each at its first use, and keeps it."""
INTERESTING = re.compile(rb"NVRM|AER:|mlx5|ut of memory")
"""The last is of "Out of memory" and of "Memory cgroup out of memory", by which a container's limit ends an engine."""


class Line(NamedTuple):
    """Meaning of one line: kind, a sentence, labels, and the counter that it raises (None: only an event)."""

    kind: str
    text: str
    labels: dict[str, str]
    counter: Metric | None = None
    counter_labels: tuple[str, ...] = ()


def aer_severity(text: str) -> str:
    """ "fatal", "nonfatal" or "correctable" as the line names it; "(Non-Fatal)" contains "fatal"."""
    lower = text.lower()
    if "non-fatal" in lower or "nonfatal" in lower:
        return "nonfatal"
    return "fatal" if "fatal" in lower else "correctable"


def _xid(match: re.Match[str]) -> Line:
    address, number, rest = match.groups()
    labels = {"xid": number, "pci": address.lower()}
    who = re.match(WHO, rest)
    if who:
        rest = rest[who.end() :]
        pid = who[1].strip("'")
        labels |= {"pid": pid} if pid.isascii() and pid.isdigit() else {}
        labels |= {"process": who[2]} if who[2] and not who[2].startswith("<") else {}
    return Line("xid", f"Xid {number} on {address.lower()}: {rest.strip()}", labels, host.KERNEL_XID, (number,))


def _no_memory(_match: re.Match[str]) -> Line:
    return Line("no_memory", "The driver could not get memory (NV_ERR_NO_MEMORY)", {}, host.KERNEL_NO_MEMORY)


def _aer(match: re.Match[str]) -> Line:
    device, severity = match[1] or "", aer_severity(match[2])
    text = f"PCIe error ({severity}) on {device or 'a port'}"
    return Line("aer", text, {"severity": severity, "pci": device}, host.KERNEL_AER, (severity,))


def _link(match: re.Match[str]) -> Line:
    address, netdev, direction = match.groups()
    labels = {"direction": direction, "pci": address, "interface": netdev}
    return Line("link", f"Link {direction} on {netdev}", labels, host.KERNEL_LINK, (direction,))


def _module(match: re.Match[str]) -> Line:
    return Line("cable", f"{match[3]}, module {match[2]} of {match[1]}", {"pci": match[1], "module": match[2]})


def _reset(match: re.Match[str]) -> Line:
    return Line("nic", f"The NIC's function {match[1]} was reset ({match[2]})", {"pci": match[1]})


def _oom(match: re.Match[str]) -> Line:
    labels = {"pid": match[1], "process": match[2]}
    return Line("oom", f"Out of memory: process {match[1]} ({match[2]}) was killed", labels)


RULES: tuple[tuple[str, Callable[[re.Match[str]], Line]], ...] = (
    (XID, _xid),
    (NO_MEMORY, _no_memory),
    (AER, _aer),
    (RESET, _reset),
    (MODULE, _module),
    (LINK, _link),
    (OOM, _oom),
)
"""The first that fits counts. Of an AER error only the announcing line counts; details follow in lines of their own."""


def may_concern(record: bytes) -> bool:
    """Whether a record is worth parsing, which takes ten times as long: a log may have many thousands at the start."""
    return INTERESTING.search(record) is not None


def meaning(message: str) -> Line | None:
    """What a message says, None when it is of no concern. Process names are the kernel's 15 letters, never commands."""
    for pattern, build in RULES:
        match = re.search(pattern, message)
        if match:
            return build(match)
    return None
