"""What the driver keeps of a unified memory: unattributed less what NVML ascribes to processes."""

from __future__ import annotations

from collections.abc import Mapping

from collectors.node.machine import Machine
from collectors.node.nvml_states import UNIFIED
from collectors.node.reading import OK, Read, Reading, Round, collector, nothing_here
from telemetry.catalog import gpu, memory


def retained(unattributed: float | None, held: list[float | None]) -> float | None:
    """Bytes, not below 0; unknown when either side is. `held` is the process memory of each unified GPU."""
    known = [value for value in held if value is not None]
    if unattributed is None or not held or len(known) < len(held):
        return None
    return max(0.0, unattributed - sum(known))


def held_by_processes(nvml: Reading) -> list[float | None]:
    """Process memory of each GPU that shares the machine's memory; None where the driver does not tell."""
    gpus = [name.split(".")[1] for name, value in nvml.facts.items() if name.endswith(".memory") and value == UNIFIED]
    return [nvml.value(gpu.GPU_PROCESS_MEMORY, index) for index in gpus]


def parse(readings: Mapping[str, Reading]) -> Reading:
    """From the readings of `memory` and `nvml` in the same round."""
    nvml = readings["nvml"]
    held = held_by_processes(nvml) if nvml.outcome == OK else []
    reading = Reading()
    reading.add(memory.MEMORY_DRIVER_RETAINED, retained(readings["memory"].value(memory.MEMORY_UNATTRIBUTED), held))
    return reading if reading.samples else nothing_here("process memory on a unified GPU is not known")


@collector("retained")
def build(_machine: Machine) -> Read:
    def read(now: Round) -> Reading:
        return parse(now.readings)

    return read
