"""Power, heat and clocks of the GPUs: what each activity draws, how the die warms, when it throttles.

Figures of GB10 owners: 5 W asleep, 11 W with a context, 60–90 W under load, 96 % utilisation while NCCL polls, 208 MHz
asleep, 2405–2418 MHz awake, less under the load of a prefill.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simulator.conditions import Floats, NodeStates
from simulator.draws import array_stream
from simulator.timeline import BUSY, Activity

WATTS = {
    Activity.ABSENT: 4.6,
    Activity.LOADING: 13.0,
    Activity.READY: 11.0,
    Activity.DECODE: 67.0,
    Activity.PREFILL: 86.0,
    Activity.STALL: 62.0,
}
MEGAHERTZ = {
    Activity.ABSENT: 208.0,
    Activity.LOADING: 2405.0,
    Activity.READY: 2412.0,
    Activity.DECODE: 2398.0,
    Activity.PREFILL: 2262.0,
    Activity.STALL: 2411.0,
}
POLLING_WATTS = 56.0
"""What a rank draws while it waits for the slowest one."""
ASLEEP_WATTS = 5.0
WEAK_READY_WATTS = 8.0
WATTS_SPREAD, WEAK_SPREAD = 0.02, 0.08
HERTZ_SPREAD, WEAK_HERTZ_SPREAD = 4e6, 4e7
WOBBLE = 2.5
"""Noise from cell to cell: spread of the watts (as a share) and of the clock (in hertz), and where it is cut."""
UTILIZATION = 0.96
KELVIN_PER_WATT = 0.52
WARMING_S = 38.0
THROTTLE_CELSIUS = 85.0
THROTTLE_PER_KELVIN = 0.12
CLOCK_EXPONENT = 0.7
"""The clock falls with this power of the watts."""
SOFTWARE_THERMAL, POWER_CAP, IDLE = 0x20, 0x4, 0x1
CAP_SHARE = 0.46
"""Share of its idle time for which a sleeping GPU reports the software power cap."""
KINDS = len(Activity)
BUSY_KINDS = [int(kind) for kind in BUSY]


class Power:
    """Rates of the present cell, and the temperature of each die."""

    def __init__(self, seed: int, nodes: int) -> None:
        draw = array_stream(seed, "power, node by node")
        self._noise = array_stream(seed, "power, cell by cell")
        self._efficiency = draw.normal(1.0, 0.025, nodes)
        self._ambient = draw.normal(27.0, 1.5, nodes)
        self._resistance = draw.normal(KELVIN_PER_WATT, 0.015, nodes)
        self._nodes = nodes
        self.celsius: Floats = self._ambient + self._resistance * WATTS[Activity.READY]
        self._throttle: Floats = np.ones(nodes)
        self._follow(NodeStates(nodes))
        self.watts, self.hertz, self.mask = self._base_watts, self._base_hertz, self._asleep

    def open(self, state: NodeStates) -> None:
        """Fix the rates of the next cell."""
        if state is not self._state:
            self._follow(state)
        wobble = self._noise.normal(0.0, 1.0, (2, self._nodes)).clip(-WOBBLE, WOBBLE)
        capped = self._noise.random(self._nodes) < CAP_SHARE
        self._throttle = np.clip(1 - THROTTLE_PER_KELVIN * (self.celsius - THROTTLE_CELSIUS), 0.45, 1.0)
        self.watts = self._base_watts * (1 + self._watts_spread * wobble[0])
        self.hertz = self._base_hertz + self._hertz_spread * wobble[1]
        self.mask = self._asleep * (IDLE + POWER_CAP * capped)
        if self.hot.any():
            self.watts[BUSY_KINDS] *= self._throttle
            self.hertz[BUSY_KINDS] *= self._throttle**CLOCK_EXPONENT
            self.mask[BUSY_KINDS] += SOFTWARE_THERMAL * self.hot

    def _follow(self, state: NodeStates) -> None:
        """Work out what changes with the faults alone."""
        self._state = state
        weak, apart = state.fixed_watts > 0, state.apart > 0
        sleeps = (state.sleeps > 0) & ~weak
        watts = np.array([WATTS[kind] for kind in Activity])[:, None] * self._efficiency
        for kind, pace in ((Activity.DECODE, state.decode_pace), (Activity.PREFILL, state.prefill_pace)):
            slowest = np.max(pace[state.taking_part], initial=1.0)
            watts[kind] = POLLING_WATTS + (watts[kind] - POLLING_WATTS) * np.minimum(pace / slowest, 1.0)
        watts[BUSY_KINDS] = np.where(weak, state.fixed_watts, watts[BUSY_KINDS] * state.power)
        watts[Activity.READY, weak] = WEAK_READY_WATTS
        watts[Activity.READY, sleeps] = ASLEEP_WATTS
        hertz = np.array([MEGAHERTZ[kind] for kind in Activity])[:, None] * np.full(self._nodes, 1e6)
        hertz[BUSY_KINDS] *= state.clock
        hertz[Activity.LOADING :, weak] = state.fixed_hertz[weak]
        hertz[Activity.READY, sleeps] = hertz[Activity.ABSENT, sleeps]
        asleep = np.zeros_like(watts, dtype=np.int64)
        asleep[Activity.ABSENT] = 1
        asleep[Activity.READY, sleeps] = 1
        for table in (watts, hertz, asleep):
            table[:, apart] = table[Activity.ABSENT, apart]
        watts[:, state.gone > 0] = 0.0
        self._base_watts, self._base_hertz, self._asleep = watts, hertz, asleep
        self._watts_spread = np.where(weak, WEAK_SPREAD, WATTS_SPREAD)
        awake = (np.arange(KINDS) >= Activity.DECODE)[:, None] & ~apart
        self._hertz_spread = np.where(awake, np.where(weak, WEAK_HERTZ_SPREAD, HERTZ_SPREAD), 0.0)
        self._ranks = state.taking_part & (state.gone == 0)

    @property
    def hot(self) -> npt.NDArray[np.bool_]:
        """Nodes that throttle for heat when they work."""
        return np.less(self._throttle, 1.0)

    @property
    def slowdown(self) -> Floats:
        """By how much each node stretches a step for heat."""
        return np.asarray(self._throttle**-CLOCK_EXPONENT)

    def gains(self, seconds: Sequence[float]) -> dict[str, Floats]:
        """What the counters grow by while the activities last so long."""
        lasting = np.asarray(seconds)
        busy = sum(seconds[kind] for kind in BUSY_KINDS)
        return {
            "gpu_joules": lasting @ self.watts,
            "busy_seconds": self._ranks * busy,
            "power_cap_seconds": lasting @ (self.mask // POWER_CAP % 2),
            "thermal_seconds": self._ranks * self.hot * busy,
        }

    def settle(self, seconds: Sequence[float]) -> None:
        """Warm or cool the dies over a cell."""
        span = sum(seconds)
        watts = np.asarray(seconds) @ self.watts / max(span, 1e-9)
        aim = self._ambient + self._resistance * self._state.cooling * watts
        self.celsius = self.celsius + (aim - self.celsius) * (1 - math.exp(-span / WARMING_S))
