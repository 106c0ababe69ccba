"""Power, heat and clocks of the GPUs: what each activity draws, how the die warms, when it throttles.

Figures of GB10 owners: 5 W asleep, 11 W with a context, 60–90 W under load, 96 % utilisation while NCCL polls, 208 MHz
asleep, 2405–2418 MHz awake, less under the load of a prefill.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
WEAK_WATTS = (12.0, 19.0)
WEAK_HERTZ = (0.6e9, 0.8e9)
UTILIZATION = 0.96
KELVIN_PER_WATT = 0.52
WARMING_S = 38.0
THROTTLE_CELSIUS = 85.0
THROTTLE_PER_KELVIN = 0.12
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
        self.watts: Floats = np.zeros((KINDS, nodes))
        self.hertz: Floats = np.zeros((KINDS, nodes))
        self.mask = np.zeros((KINDS, nodes), dtype=np.int64)
        self._throttle: Floats = np.ones(nodes)
        self._capped: Floats = np.zeros(nodes)
        self._state = NodeStates(nodes)

    def open(self, state: NodeStates) -> None:
        """Fix the rates of the next cell."""
        self._state = state
        self._throttle = np.clip(1 - THROTTLE_PER_KELVIN * (self.celsius - THROTTLE_CELSIUS), 0.45, 1.0)
        wobble = self._noise.normal(0.0, 1.0, (3, self._nodes))
        self._capped = (self._noise.random(self._nodes) < CAP_SHARE).astype(float)
        self.watts = self._draw_watts(state, wobble)
        self.hertz = self._draw_hertz(state, wobble[1])
        self._set_mask(state)

    def _draw_watts(self, state: NodeStates, wobble: Floats) -> Floats:
        base = np.array([WATTS[kind] for kind in Activity])[:, None]
        watts = base * self._efficiency * (1 + 0.02 * wobble[0])
        for kind, pace in ((Activity.DECODE, state.decode_pace), (Activity.PREFILL, state.prefill_pace)):
            slowest = np.max(pace[state.taking_part], initial=1.0)
            watts[kind] = POLLING_WATTS + (watts[kind] - POLLING_WATTS) * np.minimum(pace / slowest, 1.0)
        watts[BUSY_KINDS] *= state.power * self._throttle
        weak = state.fixed_watts > 0
        watts[BUSY_KINDS] = np.where(weak, np.clip(state.fixed_watts + 1.2 * wobble[2], *WEAK_WATTS), watts[BUSY_KINDS])
        watts[Activity.READY] = np.where(weak, WEAK_READY_WATTS, watts[Activity.READY])
        watts[Activity.READY] = np.where(state.sleeps > 0, ASLEEP_WATTS, watts[Activity.READY])
        watts[:, state.apart > 0] = watts[Activity.ABSENT, state.apart > 0]
        watts[:, state.gone > 0] = 0.0
        return np.asarray(watts)

    def _draw_hertz(self, state: NodeStates, wobble: Floats) -> Floats:
        base = np.array([MEGAHERTZ[kind] for kind in Activity])[:, None] * 1e6
        hertz = np.repeat(base, self._nodes, axis=1)
        hertz[BUSY_KINDS] = (hertz[BUSY_KINDS] + 4e6 * wobble) * state.clock * self._throttle**0.7
        awake = [kind for kind in Activity if kind is not Activity.ABSENT]
        weak = np.clip(state.fixed_hertz + 4e7 * wobble, *WEAK_HERTZ)
        hertz[awake] = np.where(state.fixed_hertz > 0, weak, hertz[awake])
        hertz[Activity.READY] = np.where(state.sleeps > 0, hertz[Activity.ABSENT], hertz[Activity.READY])
        hertz[:, state.apart > 0] = hertz[Activity.ABSENT, state.apart > 0]
        return hertz

    def _set_mask(self, state: NodeStates) -> None:
        self.mask = np.zeros((KINDS, self._nodes), dtype=np.int64)
        asleep = IDLE + POWER_CAP * self._capped.astype(np.int64)
        self.mask[Activity.ABSENT] = asleep
        self.mask[Activity.READY] = np.where(state.sleeps > 0, asleep, 0)
        self.mask[BUSY_KINDS] = np.where(self._throttle < 1.0, SOFTWARE_THERMAL, 0)
        self.mask[:, state.apart > 0] = asleep[state.apart > 0]

    @property
    def slowdown(self) -> Floats:
        """By how much each node stretches a step for heat."""
        return np.asarray(self._throttle**-0.7)

    def gains(self, seconds: Sequence[float]) -> dict[str, Floats]:
        """What the counters grow by while the activities last so long."""
        lasting = np.asarray(seconds)
        busy = lasting[BUSY_KINDS].sum()
        asleep = (self.mask & POWER_CAP).T / POWER_CAP @ lasting
        return {
            "gpu_joules": lasting @ self.watts,
            "busy_seconds": np.where(self._state.taking_part & (self._state.gone == 0), busy, 0.0),
            "power_cap_seconds": asleep,
            "thermal_seconds": np.where(self._throttle < 1.0, busy, 0.0),
        }

    def settle(self, seconds: Sequence[float]) -> None:
        """Warm or cool the dies over a cell."""
        lasting = np.asarray(seconds)
        span = float(lasting.sum())
        watts = lasting @ self.watts / max(span, 1e-9)
        aim = self._ambient + self._resistance * self._state.cooling * watts
        self.celsius = self.celsius + (aim - self.celsius) * (1 - np.exp(-span / WARMING_S))
