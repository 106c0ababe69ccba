"""GPU measurements, read through NVML."""

from telemetry.model import Fold, Kind, Limits, Metric, Scope, Unit

READING_STATES = ("ok", "not supported", "lost", "stalled", "no driver", "driver mismatch", "failed")


def _gpu(name: str, label: str, text: str, unit: Unit, kind: Kind = Kind.GAUGE, **more: object) -> Metric:
    by = more.pop("by", ("gpu",))
    return Metric(name, label, text, unit, kind, Scope.NODE, "gpu", by=by, **more)  # type: ignore[arg-type]


GPU_UTILIZATION = _gpu(
    "gpu_utilization_ratio",
    "GPU utilisation",
    "Share of time in which at least one kernel ran. NCCL busy-polling reads about 96 % while nothing useful happens.",
    Unit.RATIO,
    across=Fold.MEAN,
)
GPU_TEMPERATURE = _gpu(
    "gpu_temperature_celsius",
    "GPU temperature",
    "Temperature of the GPU die.",
    Unit.CELSIUS,
    over_time=Fold.MAX,
    across=Fold.MAX,
    limits=Limits(85, 90),
)
GPU_POWER = _gpu(
    "gpu_power_watts",
    "GPU power",
    "Power of the GPU, averaged by the driver over about a second. Not the power of the whole machine.",
    Unit.WATTS,
)
GPU_POWER_INSTANT = _gpu(
    "gpu_power_instant_watts",
    "GPU power, instant",
    "Momentary power of the GPU; differs much from the average under load.",
    Unit.WATTS,
    over_time=Fold.MAX,
)
GPU_POWER_LIMIT = _gpu(
    "gpu_power_limit_watts",
    "GPU power limit",
    "Enforced power limit, where the driver reports one (GB10 does not).",
    Unit.WATTS,
)
GPU_SM_CLOCK = _gpu(
    "gpu_sm_clock_hertz", "SM clock", "Clock of the streaming multiprocessors.", Unit.HERTZ, across=Fold.MEAN
)
GPU_SM_CLOCK_MAX = _gpu(
    "gpu_sm_clock_max_hertz",
    "SM clock, maximum",
    "Highest SM clock the driver names; GB10 never sustains it, so it is no base for a percentage.",
    Unit.HERTZ,
    across=Fold.MAX,
)
GPU_PERFORMANCE_STATE = _gpu(
    "gpu_performance_state",
    "Performance state",
    "P-state of the GPU: 0 is fastest.",
    Unit.COUNT,
    over_time=Fold.MAX,
    across=Fold.MAX,
)
GPU_ENERGY = _gpu(
    "gpu_energy_joules_total",
    "GPU energy",
    "Energy used by the GPU since the driver was loaded.",
    Unit.JOULES,
    Kind.COUNTER,
)
GPU_CLOCK_EVENT_REASONS = _gpu(
    "gpu_clock_event_reasons",
    "Clock event reasons",
    "Bit mask of why the clock is not higher: 0x1 idle, 0x2 application clocks, 0x4 software power cap (flaps at idle, harmless), 0x8 hardware slowdown, 0x10 sync boost, 0x20 software thermal, 0x40 hardware thermal, 0x80 power brake, 0x100 display clock.",
    Unit.COUNT,
    over_time=Fold.LAST,
    across=Fold.MAX,
)
GPU_THROTTLE = _gpu(
    "gpu_throttle_seconds_total",
    "Throttled time",
    "Time for which a reason held the clock down: power_cap, thermal_software, thermal_hardware, power_brake, sync_boost.",
    Unit.SECONDS,
    Kind.COUNTER,
    by=("gpu", "reason"),
)
GPU_PROCESS_MEMORY = _gpu(
    "gpu_process_memory_bytes",
    "GPU memory of processes",
    "Memory held by processes on the GPU, as NVML reports it per process and summed; the only NVML memory number on GB10.",
    Unit.BYTES,
    over_time=Fold.MAX,
)
GPU_PROCESSES = _gpu(
    "gpu_processes", "GPU processes", "Processes with a context on the GPU.", Unit.COUNT, over_time=Fold.MAX
)
GPU_MEMORY_USED = _gpu(
    "gpu_memory_used_bytes",
    "GPU memory used",
    "Memory used on a GPU with memory of its own; a unified GPU (GB10) has none.",
    Unit.BYTES,
    over_time=Fold.MAX,
)
GPU_MEMORY_TOTAL = _gpu("gpu_memory_total_bytes", "GPU memory", "Memory of a GPU with memory of its own.", Unit.BYTES)
GPU_FAN_SPEED = _gpu(
    "gpu_fan_speed_ratio",
    "Fan speed",
    "Fan speed as a share of its maximum, where there is a fan.",
    Unit.RATIO,
    across=Fold.MAX,
)
GPU_MEMORY_TEMPERATURE = _gpu(
    "gpu_memory_temperature_celsius",
    "GPU memory temperature",
    "Temperature of the GPU's own memory, where there is a sensor.",
    Unit.CELSIUS,
    over_time=Fold.MAX,
    across=Fold.MAX,
)
GPU_READING_STATE = _gpu(
    "gpu_reading_state",
    "NVML reading",
    "How the last reading of the GPU went.",
    Unit.STATE,
    Kind.STATE,
    over_time=Fold.MAX,
    across=Fold.MAX,
    states=READING_STATES,
)
