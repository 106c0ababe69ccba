"""The questions, once for everybody: what is asked, over which range, and what must be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.speed.workload import Size
from telemetry.catalog import engine, gpu, host, memory
from telemetry.model import PARTS, part
from telemetry.summary import HOUR_MS

Questions = Mapping[str, Callable[[], object]]
"""By name, what asks them; a question that somebody cannot be asked is not in it."""

DAY_MS = 24 * HOUR_MS
RECENT_MS = 300_000
RUN_MS = 2 * HOUR_MS
CSV_MS = 2 * HOUR_MS
DAY_POINTS, MONTH_POINTS = 960, 720
GAUGES = tuple(
    one.name
    for one in (
        gpu.GPU_UTILIZATION,
        gpu.GPU_TEMPERATURE,
        gpu.GPU_POWER,
        gpu.GPU_POWER_INSTANT,
        gpu.GPU_SM_CLOCK,
        gpu.GPU_PERFORMANCE_STATE,
        gpu.GPU_CLOCK_EVENT_REASONS,
        memory.MEMORY_USED,
        memory.MEMORY_AVAILABLE,
        memory.MEMORY_AVAILABLE_MIN,
        memory.MEMORY_HEADROOM,
        memory.MEMORY_FREE,
        memory.MEMORY_CACHED,
        host.LOAD,
        host.TEMPERATURE,
        host.DISK_AVAILABLE,
    )
)
COUNTERS = tuple(one.name for one in (gpu.GPU_ENERGY, host.CPU_BUSY, memory.PRESSURE_WAITING, host.AGENT_CPU))
"""With GAUGES the 20 metrics of a run summary: of these the increase, of those least, mean, largest and percentiles."""
BUCKETS = tuple(part(one, PARTS[0]).name for one in (engine.TTFT, engine.ITL, engine.E2E, engine.QUEUE_TIME))
QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True)
class Goal:
    """What must be reached, what one dreams of: a time, or how many times faster than a rival's question."""

    must_ms: float | None = None
    dream_ms: float | None = None
    times: float | None = None
    rival: str = ""
    against: str = ""


@dataclass(frozen=True)
class Question:
    """A row of the table. repeats: so many are tried, the best counts."""

    name: str
    text: str
    goal: Goal
    repeats: int = 40


ROWS = (
    Question("latest", "latest of everything, from the file", Goal(2, 0.3), 100),
    Question("latest_tail", "latest of everything, from the web's tail", Goal(2, 0.3), 100),
    Question("recent", "5 min raw × 16, from the file", Goal(10, 0.5), 100),
    Question("recent_tail", "5 min raw × 16, from the web's tail", Goal(10, 0.5), 100),
    Question("day", "24 h × 16 at 960 points, ending now", Goal(None, 8, 8, "Prometheus", "day")),
    Question("day_again", "the same, when some of it was asked before", Goal(None, 8)),
    Question("month", "30 d × 16 at 720 points, ending now", Goal(None, 10, 6, "Prometheus", "month_rules")),
    Question("month_again", "the same, when it was asked before", Goal(None, 10, 6, "Prometheus", "month_rules")),
    Question("month_rules", "the same from 10-minute recording rules", Goal()),
    Question("summary", "run summary, 2 h, 20 metrics × 16, sealed", Goal(None, 40, 10, "Prometheus", "summary")),
    Question("summary_now", "the same, ending now", Goal(None, 40, 10, "Prometheus", "summary_now")),
    Question("percentiles", "p50, p95, p99 of 4 histograms × 2 engines, 2 h", Goal()),
    Question("csv", "every sample of 2 h, all series, ending now", Goal(None, 500, 3, "VictoriaMetrics", "csv"), 3),
)


def run_end_ms(size: Size) -> int:
    """A run that ended with the last sealed hour but 10 minutes."""
    return size.first_ms + size.hours * HOUR_MS - 600_000 + 637
