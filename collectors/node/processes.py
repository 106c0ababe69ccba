"""Processes with a context on a GPU: name, resident memory, container. Never commands, users or environment."""

from __future__ import annotations

import re

from collectors.node.figures import count
from collectors.node.machine import COLD_S, Machine
from collectors.node.memory import KIB
from collectors.node.reading import Process, Read, Reading, Round, collector, nothing_here
from collectors.node.tree import Tree

CONTAINER = re.compile(r"([0-9a-f]{64})")
RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB$", re.MULTILINE)
MOST = 64


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


@collector("processes", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        found = now.readings["nvml"].processes
        if not found:
            return nothing_here("no process on a GPU")
        return Reading(processes=[describe(machine.tree, process) for process in found[:MOST]], described=True)

    return read
