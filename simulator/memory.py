"""Memory of the nodes: what is available while the model is loaded, absent or being loaded, and what faults take.

Wants are approached at the speeds that owners reported: weights load at 1.8 GiB/s, a runaway eats 2.2 GiB/s.
"""

from __future__ import annotations

import numpy as np

from simulator.conditions import Floats, NodeStates
from simulator.draws import array_stream
from simulator.timeline import Activity

GIB = 1024.0**3
TOTAL = 127_600_748 * 1024.0
SWAP = 16_777_212 * 1024.0
LOADED, UNLOADED, COLLAPSED = 25.0 * GIB, 112.0 * GIB, 1.6 * GIB
LOADING_SPEED, COLLAPSE_SPEED, FREEING_SPEED = 1.8 * GIB, 2.2 * GIB, 25.0 * GIB
TIGHT = 4.0 * GIB
SWAP_OUT, SWAP_IN = 1.8e8, 0.7e8
SWAP_LEFT = 2.0 * GIB
STALLS_PER_S, FAILURES_PER_S, ALLOCATION_STALLS_PER_S = 45.0, 22.0, 300.0
BLOCKS_4M, BLOCKS_16M = (1120.0, 160.0), (660.0, 27.0)
"""Free blocks of a serving node: healthy, fragmented."""
FRAGMENTING_S = 12.0
COMPLAINT_S = 9.0
"""Seconds between two NV_ERR_NO_MEMORY lines while memory is tight."""


class Memory:
    """Available bytes and what goes with them."""

    def __init__(self, seed: int, nodes: int) -> None:
        draw = array_stream(seed, "memory")
        self._loaded = LOADED + draw.normal(0.0, 0.4 * GIB, nodes)
        self._unloaded = UNLOADED + draw.normal(0.0, 0.3 * GIB, nodes)
        self._noise = array_stream(seed, "memory, cell by cell")
        self._state = NodeStates(nodes)
        self.available: Floats = self._loaded.copy()
        self.swapped: Floats = np.zeros(nodes)
        self.pieces: Floats = np.zeros(nodes)
        """How fragmented memory is: 0 healthy, 1 in small pieces."""
        self.lowest: list[Floats] = [self.available]

    def open(self, state: NodeStates) -> None:
        """Fix the conditions of the next cell."""
        self._state = state

    @property
    def tight(self) -> Floats:
        """1 where a runaway has left next to nothing."""
        return np.where((self._state.collapse > 0) & (self.available < TIGHT), 1.0, 0.0)

    def gains(self, seconds: float) -> dict[str, Floats]:
        """What the counters grow by in so many seconds."""
        alive = np.where(self._state.gone > 0, 0.0, seconds)
        tight = self.tight * alive
        room = np.where(self.swapped < SWAP - SWAP_LEFT, 1.0, SWAP_IN / SWAP_OUT)
        broken = np.where(self._state.fragmented > 0, alive, 0.0)
        return {
            "swap_out": SWAP_OUT * room * tight,
            "swap_in": SWAP_IN * tight,
            "memory_waiting": 0.6 * tight + 1e-5 * alive,
            "memory_stalled": 0.3 * tight,
            "cpu_waiting": 0.018 * alive,
            "io_waiting": 0.004 * alive + 0.2 * tight,
            "io_stalled": 0.002 * alive + 0.1 * tight,
            "stalls": STALLS_PER_S * broken + 0.02 * alive,
            "failures": FAILURES_PER_S * broken + 0.004 * alive,
            "allocation_stalls": ALLOCATION_STALLS_PER_S * tight,
            "complaints": tight / COMPLAINT_S,
        }

    def settle(self, activity: Activity, gains: dict[str, Floats], seconds: float) -> None:
        """Move towards what the activity and the faults want."""
        resident = np.where(self._state.taking_part, activity is not Activity.ABSENT, False)
        want = np.where(resident, self._loaded, self._unloaded)
        want = np.where(self._state.collapse > 0, COLLAPSED, want)
        falling = np.where(self._state.collapse > 0, COLLAPSE_SPEED, LOADING_SPEED) * seconds
        step = np.clip(want - self.available, -falling, FREEING_SPEED * seconds)
        self.available = self.available + step + self._noise.normal(0.0, 3e6, step.shape)
        self.lowest = [*self.lowest[-7:], self.available]
        self.swapped = np.clip(self.swapped + gains["swap_out"] - gains["swap_in"], 0.0, SWAP)
        keep = np.exp(-seconds / FRAGMENTING_S)
        self.pieces = self._state.fragmented + (self.pieces - self._state.fragmented) * keep

    def gauges(self) -> dict[str, Floats]:
        """Readings of /proc/meminfo and /proc/buddyinfo; they add up to the total."""
        available = np.clip(self.available, 0.0, TOTAL)
        reclaimable = np.minimum(0.7 * available, 19.0 * GIB)
        eaten = np.where(self._state.collapse > 0, np.maximum(self._loaded - available, 0.0), 0.0)
        anonymous = 5.4 * GIB + eaten
        shared, kernel = np.full_like(available, 0.3 * GIB), np.full_like(available, 0.7 * GIB)
        unattributed = TOTAL - available - anonymous - shared - kernel
        pool = np.minimum(1.4 * GIB, unattributed)
        return {
            "available": available,
            "available_min": np.clip(np.min(self.lowest, axis=0), 0.0, available),
            "used": TOTAL - available,
            "free": available - reclaimable,
            "cached": reclaimable,
            "shared": shared,
            "anonymous": anonymous,
            "kernel": kernel,
            "unattributed": unattributed,
            "retained": pool,
            "process_bytes": unattributed - pool,
            "swap_free": SWAP - self.swapped,
            "blocks_4m": _between(BLOCKS_4M, self.pieces),
            "blocks_16m": _between(BLOCKS_16M, self.pieces),
        }


def _between(ends: tuple[float, float], share: Floats) -> Floats:
    healthy, broken = ends
    return np.floor(healthy + (broken - healthy) * share)
