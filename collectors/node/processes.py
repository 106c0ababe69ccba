"""Processes with a context on a GPU: name, resident memory, container. Never commands, users or environment."""

from __future__ import annotations

import re

from collectors.node.figures import count
from collectors.node.machine import COLD_S, Machine
from collectors.node.memory import KIB
from collectors.node.nvml_states import NOT_SUPPORTED
from collectors.node.reading import OK, Process, Read, Reading, Round, collector, failed, nothing_here
from collectors.node.tree import Tree

CONTAINER = re.compile(r"([0-9a-f]{64})")
RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)
MOST = 64
REASON = ".reading.processes"
"""End of the fact that says why a GPU's processes are not known."""


def container_in(cgroup: str) -> str | None:
    """The 64 hexadecimal digits by which a container engine names the group of a process."""
    match = CONTAINER.search(cgroup)
    return match[1] if match else None


def resident_in(status: str) -> int | None:
    """VmRSS in bytes. CUDA memory is not in it."""
    match = RESIDENT.search(status)
    return count(match[1], KIB) if match else None


def describe(tree: Tree, process: Process) -> Process:
    """Add what /proc says; a process that has gone meanwhile keeps what the driver said."""
    base = f"/proc/{process.pid}"
    return process._replace(
        name=tree.line(f"{base}/comm"),
        resident_bytes=resident_in(tree.line(f"{base}/status") or ""),
        container=container_in(tree.line(f"{base}/cgroup") or ""),
    )


def untold(nvml: Reading) -> Reading:
    """The reading of processes when NVML names none: there are none, or why that is not known."""
    if nvml.outcome != OK:
        return Reading(nvml.outcome, nvml.reason)
    why = next((value for name, value in nvml.facts.items() if name.endswith(REASON)), None)
    if why is None:
        return Reading(described=True)
    return nothing_here("the driver does not tell processes") if why == NOT_SUPPORTED else failed(why)


@collector("processes", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        nvml = now.readings["nvml"]
        if not nvml.processes:
            return untold(nvml)
        found = nvml.processes[:MOST]
        return Reading(processes=[describe(machine.tree, process) for process in found], described=True)

    return read
