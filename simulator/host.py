"""The machine around the GPU: processors, sensors, power by rail, disks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simulator.conditions import Floats, NodeStates
from simulator.draws import array_stream
from simulator.timeline import Activity

CORES = 20
BUSY_CORES = {
    Activity.ABSENT: 0.5,
    Activity.LOADING: 4.2,
    Activity.READY: 0.8,
    Activity.DECODE: 3.2,
    Activity.PREFILL: 2.9,
    Activity.STALL: 3.1,
}
HEAD_EXTRA = 1.6
WATTS_PER_CORE, CPU_WATTS = 1.7, 2.2
REST_WATTS, PACKAGE_WATTS = 13.5, 5.0
INPUT_LOSS = 1.04
LOAD_MEMORY_S = 60.0
DISK, DISK_USED, LOG_BYTES_PER_S = 3.92e12, 2.31e12, 900.0


class Host:
    """Rates of the present cell and what the kernel averages."""

    def __init__(self, seed: int, nodes: int) -> None:
        draw = array_stream(seed, "host")
        self._noise = array_stream(seed, "host, cell by cell")
        self._nodes = nodes
        self._nic = draw.normal(54.0, 1.0, nodes)
        self._drive = draw.normal(46.0, 1.0, nodes)
        self._radio = draw.normal(51.0, 0.7, nodes)
        self.disk_used: Floats = DISK_USED + draw.normal(0.0, 2e10, nodes)
        self.cores: Floats = np.zeros((len(Activity), nodes))
        self.load: Floats = np.full(nodes, 1.0)
        self.nic_celsius: Floats = self._nic.copy()
        self._state = NodeStates(nodes)

    def open(self, state: NodeStates) -> None:
        """Fix the rates of the next cell."""
        self._state = state
        base = np.array([BUSY_CORES[kind] for kind in Activity])[:, None]
        cores = base * (1 + 0.05 * self._noise.normal(0.0, 1.0, self._nodes))
        cores[Activity.DECODE :, 0] += HEAD_EXTRA
        cores[:, state.apart > 0] = cores[Activity.ABSENT, state.apart > 0]
        cores[:, state.gone > 0] = 0.0
        self.cores = cores

    def gains(self, seconds: Sequence[float], gpu_joules: Floats) -> dict[str, Floats]:
        """What the counters grow by; energy by rail follows from that of the GPU."""
        lasting = np.asarray(seconds)
        alive = np.where(self._state.gone > 0, 0.0, lasting.sum())
        busy = lasting @ self.cores
        cpu = CPU_WATTS * alive + WATTS_PER_CORE * busy
        return {
            "cpu_busy": busy,
            "cpu_joules": cpu,
            "package_joules": gpu_joules + cpu + PACKAGE_WATTS * alive,
            "system_joules": gpu_joules + cpu + (PACKAGE_WATTS + REST_WATTS) * alive,
            "agent_cpu": 0.0025 * alive,
            "disk_read": 2e4 * alive,
            "disk_written": 6e4 * alive,
        }

    def settle(self, seconds: Sequence[float], moved_per_s: Floats) -> None:
        """Averages and slow things over a cell."""
        lasting = np.asarray(seconds)
        span = float(lasting.sum())
        runnable = lasting @ self.cores / max(span, 1e-9)
        self.load = self.load + (runnable - self.load) * (1 - np.exp(-span / LOAD_MEMORY_S))
        aim = self._nic + 10.0 * np.minimum(moved_per_s / 1e10, 1.0)
        self.nic_celsius = self.nic_celsius + (aim - self.nic_celsius) * (1 - np.exp(-span / 90.0))
        self.disk_used = self.disk_used + LOG_BYTES_PER_S * span

    def gauges(self, activity: Activity, gpu_watts: Floats, gpu_celsius: Floats) -> dict[str, Floats]:
        """Sensors, rails and averages while an activity goes on."""
        cores = self.cores[activity]
        cpu = np.where(self._state.gone > 0, 0.0, CPU_WATTS + WATTS_PER_CORE * cores)
        package = gpu_watts + cpu + PACKAGE_WATTS
        return {
            "load": self.load,
            "acpitz": gpu_celsius + 3.5 + 0.9 * cores,
            "nic": self.nic_celsius,
            "drive": self._drive,
            "radio": self._radio,
            "package": gpu_celsius - 1.5,
            "rail_sys_total": package + REST_WATTS,
            "rail_soc_pkg": package,
            "rail_cpu_gpu": gpu_watts + cpu,
            "rail_cpu_p": 0.7 * cpu,
            "rail_cpu_e": 0.3 * cpu,
            "rail_gpu": gpu_watts,
            "rail_vcore": 0.8 * gpu_watts,
            "rail_prereg": 3.0 + 1.02 * gpu_watts,
            "rail_dc_input": (package + REST_WATTS) * INPUT_LOSS,
            "disk_available": DISK - self.disk_used,
        }
