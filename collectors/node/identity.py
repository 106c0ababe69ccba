"""Who the machine is: facts that change with a boot, an update or never."""

from __future__ import annotations

import re

from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector
from collectors.node.tree import Tree

EVERY_S = 60.0
LINES = {
    "hostname": "/proc/sys/kernel/hostname",
    "boot_id": "/proc/sys/kernel/random/boot_id",
    "kernel": "/proc/sys/kernel/osrelease",
    "vendor": "/sys/class/dmi/id/sys_vendor",
    "product": "/sys/class/dmi/id/product_name",
    "board": "/sys/class/dmi/id/board_name",
    "bios": "/sys/class/dmi/id/bios_version",
    "serial": "/sys/class/dmi/id/product_serial",
}
PLACEHOLDERS = frozenset({"not specified", "default string", "to be filled by o.e.m.", "none", "unknown", "n/a"})
DRIVER = re.compile(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s")
CPU = "/sys/devices/system/cpu"


def known(value: str | None) -> str | None:
    """The value, unless it is one of the things vendors write into an empty field."""
    return None if value is None or value.strip().lower() in PLACEHOLDERS else value


def assignments(content: str) -> dict[str, str]:
    """NAME=VALUE lines, quoted or not; of a repeated name the last counts."""
    pairs = (line.partition("=") for line in content.splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def dgx_version(release: dict[str, str]) -> str | None:
    """Version of DGX OS: the last update over the air, else what the machine was delivered with."""
    return release.get("DGX_OTA_VERSION") or release.get("DGX_SWBUILD_VERSION")


def driver_version(content: str) -> str | None:
    """Version in /proc/driver/nvidia/version."""
    match = DRIVER.search(content)
    return match[1] if match else None


def core_kinds(capacities: list[int]) -> str | None:
    """ "10 large + 10 small" from cpu_capacity values, "20" where all are alike or the kernel names none."""
    if not capacities:
        return None
    large = sum(capacity > 0.9 * max(capacities) for capacity in capacities)
    small = len(capacities) - large
    return f"{large} large + {small} small" if small else str(large)


def _release(tree: Tree, path: str) -> dict[str, str]:
    try:
        return assignments(tree.text(path))
    except OSError:
        return {}


def _capacities(tree: Tree) -> list[int]:
    cpus = [name for name in tree.names(CPU) if name.isascii() and name[3:].isdigit()]
    values = [tree.number(f"{CPU}/{name}/cpu_capacity") for name in cpus]
    return [value for value in values if value is not None]


@collector("identity", every_s=EVERY_S)
def build(machine: Machine) -> Read:
    tree = machine.tree

    def read(_now: Round) -> Reading:
        reading = Reading()
        for name, path in LINES.items():
            reading.fact(name, known(tree.line(path)))
        dgx = _release(tree, "/etc/dgx-release")
        reading.fact("dgx_os", dgx_version(dgx))
        reading.fact("dgx_platform", known(dgx.get("DGX_PLATFORM")))
        reading.fact("dgx_serial", known(dgx.get("DGX_SERIAL_NUMBER")))
        reading.fact("os", _release(tree, "/etc/os-release").get("PRETTY_NAME"))
        reading.fact("driver_version", driver_version(tree.line("/proc/driver/nvidia/version") or ""))
        reading.fact("cores", core_kinds(_capacities(tree)))
        return reading

    return read
