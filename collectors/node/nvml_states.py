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


class UnavailableError(Exception):
    """NVML as a whole, or one GPU, cannot be read: state and reason."""

    def __init__(self, state: str, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


def gpus_on_bus(tree: Tree) -> int:
    """NVIDIA display devices on PCI: GPUs that should be readable, whatever the driver says."""
    return sum(
        tree.line(f"{PCI}/{name}/vendor") == NVIDIA
        and (tree.line(f"{PCI}/{name}/class") or "").startswith(DISPLAY_CLASS)
        for name in tree.names(PCI)
    )


def unavailable_reading(why: UnavailableError, gpus: int) -> Reading:
    """A reading that says of each of so many GPUs why it has no numbers; a machine without GPU needs no driver."""
    if why.state == NO_DRIVER and not gpus:
        return nothing_here(why.reason)
    reading = failed(why.reason)
    for index in range(gpus):
        reading.add(gpu.GPU_READING_STATE, gpu.READING_STATES.index(why.state), str(index))
    return reading
