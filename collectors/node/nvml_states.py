"""The states of a GPU's reading, and what is said of a GPU that cannot be read. Knows nothing of NVML itself."""

from __future__ import annotations

from collectors.node.reading import Reading, failed, nothing_here
from collectors.node.tree import Tree
from telemetry.catalog import gpu

OK, NOT_SUPPORTED, LOST, STALLED, NO_DRIVER, DRIVER_MISMATCH, FAILED = gpu.READING_STATES
UNIFIED, OWN = "unified", "own"
"""Whose memory a GPU uses: the machine's, or its own."""
PCI = "/sys/bus/pci/devices"
NVIDIA = "0x10de"
DISPLAY_CLASS = "0x03"
DRIVERS = ("nvidia", None)
"""A GPU that another driver holds, for a virtual machine for example, is not ours to read."""


class UnavailableError(Exception):
    """One GPU, or NVML as a whole, cannot be read: state and reason."""

    def __init__(self, state: str, reason: str, whole: bool = True) -> None:
        super().__init__(reason)
        self.state, self.reason, self.whole = state, reason, whole


def _is_ours(tree: Tree, device: str) -> bool:
    return (
        tree.line(f"{device}/vendor") == NVIDIA
        and (tree.line(f"{device}/class") or "").startswith(DISPLAY_CLASS)
        and tree.target(f"{device}/driver") in DRIVERS
    )


def gpus_on_bus(tree: Tree) -> int:
    """NVIDIA display devices on PCI: GPUs that should be readable, whatever the driver says."""
    return sum(_is_ours(tree, f"{PCI}/{name}") for name in tree.names(PCI))


def unavailable_reading(why: UnavailableError, gpus: int) -> Reading:
    """A reading that says of each of so many GPUs why it has no numbers; a machine without GPU misses none."""
    if why.state in (NO_DRIVER, LOST) and not gpus:
        return nothing_here(why.reason)
    reading = failed(why.reason)
    for index in range(gpus):
        reading.add(gpu.GPU_READING_STATE, gpu.READING_STATES.index(why.state), str(index))
    return reading
