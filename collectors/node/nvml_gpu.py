"""Reading one GPU: every call on its own, and the question whose memory it uses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

import pynvml

from collectors.node.nvml_calls import CALLS, FACTS, FIELD_NUMBERS, FIELDS, Handle, field_value
from collectors.node.nvml_errors import attempt, unavailable
from collectors.node.nvml_states import FAILED, NOT_SUPPORTED, OK, OWN, UNIFIED
from collectors.node.reading import Process, Reading
from telemetry.catalog import gpu

NEAR_TOTAL = (0.9, 1.1)
"""A GPU that claims about as much memory as the machine has is claiming the machine's."""
Asked = Callable[[str], None]


def unified(total: int | None, supported: bool, machine_total: int | None, has_memory_clock: bool) -> bool | None:
    """Whether the GPU uses the machine's memory: no memory query, a total of 0, or a total near the machine's.

    The last is only believed of a GPU without a memory clock: a card with 141 GB in a machine with 128 GiB has its own.
    None when the query failed in another way.
    """
    if not supported or total == 0:
        return True
    if total is None:
        return None
    if not machine_total or has_memory_clock:
        return False
    return NEAR_TOTAL[0] <= total / machine_total <= NEAR_TOTAL[1]


def merged(lists: Iterable[Iterable[Any]]) -> dict[int, int | None]:
    """pid → GPU memory; a process in the compute and in the graphics list counts once, with the larger number."""
    found: dict[int, int | None] = {}
    for process in (process for listed in lists for process in listed):
        held, before = process.usedGpuMemory, found.get(process.pid)
        found[process.pid] = before if held is None else held if before is None else max(held, before)
    return found


class Gpu:
    """One GPU between two starts of NVML. `asked` is told the name of each call before it is made."""

    def __init__(self, index: int, machine_total: int | None, asked: Asked) -> None:
        self.index, self._machine_total, self._asked = str(index), machine_total, asked
        self._handle: Handle = None
        self.facts: dict[str, str] = {}
        self.memory_kind: str | None = None

    def _describe(self) -> None:
        """Handle, facts and kind of memory, once."""
        self._asked("handle")
        try:
            self._handle = pynvml.nvmlDeviceGetHandleByIndex(int(self.index))
        except pynvml.NVMLError as error:
            raise unavailable(error) from error
        for fact in FACTS:
            value, why = self._ask(fact.name, fact.ask)
            if why == OK and value not in (None, ""):
                self.facts[f"gpu.{self.index}.{fact.name}"] = str(value)

    def _ask(self, name: str, ask: Callable[[Handle], Any]) -> tuple[Any, str]:
        self._asked(name)
        return attempt(lambda: ask(self._handle))

    def _find_memory(self) -> None:
        info, why = self._ask("memory", pynvml.nvmlDeviceGetMemoryInfo)
        _, clock = self._ask("memory_clock", lambda h: pynvml.nvmlDeviceGetClockInfo(h, pynvml.NVML_CLOCK_MEM))
        total = None if info is None else int(info.total)
        shared = unified(total, why != NOT_SUPPORTED, self._machine_total, clock == OK)
        if shared is not None:
            self.memory_kind = UNIFIED if shared else OWN
            self.facts[f"gpu.{self.index}.memory"] = self.memory_kind

    def read(self, sees_processes: bool) -> Reading:
        """All numbers; UnavailableError when the GPU is lost. What cannot be had is a fact `gpu.N.reading.CALL`."""
        if self._handle is None:
            self._describe()
        if self.memory_kind is None:
            self._find_memory()
        reading, outcomes = Reading(facts=dict(self.facts)), dict[str, str]()
        for call in CALLS:
            value, why = self._ask(call.name, call.ask)
            outcomes[call.name] = NOT_SUPPORTED if value is None and why == OK else why
            reading.add(call.metric, value, self.index)
        outcomes |= self._fields(reading)
        if self.memory_kind == OWN:
            outcomes["memory"] = self._own_memory(reading)
        outcomes["processes"] = self._processes(reading, sees_processes)
        for name, why in outcomes.items():
            if why != OK:
                reading.facts[f"gpu.{self.index}.reading.{name}"] = why
        self._judge(reading, [outcomes[call.name] for call in CALLS])
        return reading

    def _judge(self, reading: Reading, outcomes: list[str]) -> None:
        """One state for the GPU: ok as soon as one number came."""
        state = OK if OK in outcomes else NOT_SUPPORTED if set(outcomes) == {NOT_SUPPORTED} else FAILED
        reading.add(gpu.GPU_READING_STATE, gpu.READING_STATES.index(state), self.index)
        if state == FAILED:
            reading.reason = next(why for why in outcomes if why != NOT_SUPPORTED)

    def _fields(self, reading: Reading) -> dict[str, str]:
        values, why = self._ask("fields", lambda h: pynvml.nvmlDeviceGetFieldValues(h, FIELD_NUMBERS))
        if values is None:
            return {field.name: why for field in FIELDS}
        outcomes = {}
        for field, answer in zip(FIELDS, values, strict=True):
            if answer.nvmlReturn != pynvml.NVML_SUCCESS:
                outcomes[field.name] = NOT_SUPPORTED
                continue
            value = field_value(answer.valueType, ctypes.string_at(ctypes.addressof(answer.value), 8))
            if value is not None and not (value == 0 and field.zero_is_unknown):
                reading.add(field.metric, value / field.divisor, self.index, *field.labels)
        return outcomes

    def _own_memory(self, reading: Reading) -> str:
        version = pynvml.nvmlMemory_v2
        info, why = self._ask("memory", lambda h: pynvml.nvmlDeviceGetMemoryInfo(h, version=version))
        if info is None:  # a driver that only knows the first form, which counts the driver's reserve as used
            info, why = self._ask("memory", pynvml.nvmlDeviceGetMemoryInfo)
        if info is not None:
            reading.add(gpu.GPU_MEMORY_USED, int(info.used), self.index)
            reading.add(gpu.GPU_MEMORY_TOTAL, int(info.total), self.index)
        return why

    def _processes(self, reading: Reading, sees_processes: bool) -> str:
        compute, why = self._ask("processes", pynvml.nvmlDeviceGetComputeRunningProcesses)
        graphics, _ = self._ask("processes", pynvml.nvmlDeviceGetGraphicsRunningProcesses)
        if compute is None:
            return why
        found = merged((compute, graphics or ()))
        if not found and not sees_processes:
            return "the agent runs in a process namespace of its own, where the driver shows no processes"
        reading.processes = [Process(pid, self.index, held) for pid, held in sorted(found.items())]
        reading.add(gpu.GPU_PROCESSES, len(found), self.index)
        if None not in found.values():
            reading.add(gpu.GPU_PROCESS_MEMORY, sum(held or 0 for held in found.values()), self.index)
            return OK
        return "the driver does not tell the memory of a process"
