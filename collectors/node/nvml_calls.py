"""The numbers of one GPU: a table of calls, each of them optional.

Left out on purpose, because they answer with something meaningless on GB10: memory utilisation (0), PCIe generation and
width (1 × 1, the real link is C2C), PCIe throughput, BAR1, memory clock.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import pynvml

from telemetry.catalog import gpu
from telemetry.model import Metric

MEGAHERTZ = 1e6
MILLI = 1000.0
NANO = 1e9
"""Divisors: 4310 ∕ 1000 is 4.31, and 4310 × 0.001 is not."""
UNKNOWN_PERFORMANCE_STATE = 32
NOT_AVAILABLE = frozenset({2**32 - 1, 2**64 - 1})
"""NVML_VALUE_NOT_AVAILABLE (−1), as its unsigned types hold it: a call that succeeds may still say that."""

Handle = Any


def told(raw: int, divisor: float = 1.0) -> float | None:
    """The number that a call answered, in the metric's unit; None where that stands for "not available"."""
    return None if raw in NOT_AVAILABLE else raw / divisor


def _limit(raw: int, divisor: float) -> float | None:
    """A limit; none is 0, so that says "not available", too."""
    return told(raw, divisor) if raw else None


def _hertz(megahertz: int) -> float | None:
    return None if megahertz in NOT_AVAILABLE else megahertz * MEGAHERTZ


def _temperature(handle: Handle) -> float | None:
    try:
        return told(pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU))
    except pynvml.NVMLError_FunctionNotFound:  # a driver before 570
        return told(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))


def _reasons(handle: Handle) -> float | None:
    try:
        return told(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except pynvml.NVMLError_FunctionNotFound:  # a driver before 535
        return told(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _performance_state(handle: Handle) -> float | None:
    state = pynvml.nvmlDeviceGetPerformanceState(handle)
    return None if state == UNKNOWN_PERFORMANCE_STATE else float(state)


class Call(NamedTuple):
    """One call that gives one number: its name among the facts, the metric, the call."""

    name: str
    metric: Metric
    ask: Callable[[Handle], float | None]


CALLS = (
    Call("utilization", gpu.GPU_UTILIZATION, lambda h: told(pynvml.nvmlDeviceGetUtilizationRates(h).gpu, 100)),
    Call("temperature", gpu.GPU_TEMPERATURE, _temperature),
    Call("power", gpu.GPU_POWER, lambda h: told(pynvml.nvmlDeviceGetPowerUsage(h), MILLI)),
    Call("power_limit", gpu.GPU_POWER_LIMIT, lambda h: _limit(pynvml.nvmlDeviceGetEnforcedPowerLimit(h), MILLI)),
    Call("energy", gpu.GPU_ENERGY, lambda h: told(pynvml.nvmlDeviceGetTotalEnergyConsumption(h), MILLI)),
    Call("sm_clock", gpu.GPU_SM_CLOCK, lambda h: _hertz(pynvml.nvmlDeviceGetClockInfo(h, pynvml.NVML_CLOCK_SM))),
    Call(
        "sm_clock_max",
        gpu.GPU_SM_CLOCK_MAX,
        lambda h: _hertz(pynvml.nvmlDeviceGetMaxClockInfo(h, pynvml.NVML_CLOCK_SM)) or None,
    ),
    Call("performance_state", gpu.GPU_PERFORMANCE_STATE, _performance_state),
    Call("clock_event_reasons", gpu.GPU_CLOCK_EVENT_REASONS, _reasons),
    Call("fan", gpu.GPU_FAN_SPEED, lambda h: told(pynvml.nvmlDeviceGetFanSpeed(h), 100)),
)


class Field(NamedTuple):
    """One NVML field: its name among the facts, number, metric, divisor to the metric's unit, further labels."""

    name: str
    number: int
    metric: Metric
    divisor: float
    labels: tuple[str, ...] = ()
    zero_is_unknown: bool = False


FIELDS = (
    Field("power_instant", 186, gpu.GPU_POWER_INSTANT, MILLI),
    Field("memory_temperature", 82, gpu.GPU_MEMORY_TEMPERATURE, 1.0, zero_is_unknown=True),
    Field("throttle_power_cap", 74, gpu.GPU_THROTTLE, NANO, ("power_cap",)),
    Field("throttle_sync_boost", 76, gpu.GPU_THROTTLE, NANO, ("sync_boost",)),
    Field("throttle_thermal_software", 269, gpu.GPU_THROTTLE, NANO, ("thermal_software",)),
    Field("throttle_thermal_hardware", 270, gpu.GPU_THROTTLE, NANO, ("thermal_hardware",)),
    Field("throttle_power_brake", 271, gpu.GPU_THROTTLE, NANO, ("power_brake",)),
)
FIELD_NUMBERS = [field.number for field in FIELDS]
FORMATS = {0: "<d", 1: "<I", 2: "<Q", 3: "<Q", 4: "<q", 5: "<i", 6: "<H"}
"""NVML's value types: double, unsigned int, unsigned long, unsigned long long, long long, int, unsigned short."""


def field_value(value_type: int, raw: bytes) -> float | None:
    """The number in the eight bytes of a field's value; None for a type that this table does not know, and for what
    stands for "not available"."""
    form = FORMATS.get(value_type)
    return None if form is None else told(struct.unpack_from(form, raw)[0])


def kernel_address(bus_id: str) -> str:
    """PCI address as the kernel writes it: NVML's 0000000F:01:00.0 is 000f:01:00.0."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


class Fact(NamedTuple):
    """One text that stays the same while the driver runs."""

    name: str
    ask: Callable[[Handle], Any]


FACTS = (
    Fact("name", lambda h: pynvml.nvmlDeviceGetName(h)),
    Fact("uuid", lambda h: pynvml.nvmlDeviceGetUUID(h)),
    Fact("serial", lambda h: pynvml.nvmlDeviceGetSerial(h)),
    Fact("vbios", lambda h: pynvml.nvmlDeviceGetVbiosVersion(h)),
    Fact("pci", lambda h: kernel_address(pynvml.nvmlDeviceGetPciInfo(h).busId)),
    Fact("compute_capability", lambda h: "{}.{}".format(*pynvml.nvmlDeviceGetCudaComputeCapability(h))),
)
