"""What the GPUs of the deployment are doing, from instant to instant."""

from __future__ import annotations

from bisect import bisect_right
from enum import IntEnum


class Activity(IntEnum):
    """What the engine makes a GPU do."""

    ABSENT = 0
    """No process holds the GPU."""
    LOADING = 1
    READY = 2
    """The model is loaded and nothing runs."""
    DECODE = 3
    PREFILL = 4
    STALL = 5
    """Kernels spin in a collective that does not end."""


BUSY = (Activity.DECODE, Activity.PREFILL, Activity.STALL)


class Timeline:
    """Piecewise constant activity and fabric rate; each piece lasts until the next begins."""

    def __init__(self, start: float, activity: Activity) -> None:
        self._times = [start]
        self._pieces = [(activity, 0.0)]

    def switch(self, now: float, activity: Activity, rate: float = 0.0) -> None:
        """From now on: this activity, with so many bytes per second and node on the fabric."""
        self._times.append(now)
        self._pieces.append((activity, rate))

    @property
    def current(self) -> tuple[Activity, float]:
        """The last piece."""
        return self._pieces[-1]

    def over(self, start: float, end: float) -> tuple[list[float], float]:
        """Seconds by activity, and bytes per node, between two instants that are not in the future."""
        seconds, moved = [0.0] * len(Activity), 0.0
        at = bisect_right(self._times, start) - 1
        while start < end:
            last = at + 1 == len(self._times)
            stop = end if last else min(end, self._times[at + 1])
            activity, rate = self._pieces[at]
            seconds[activity] += stop - start
            moved += rate * (stop - start)
            start, at = stop, at + 1
        return seconds, moved

    def forget(self, before: float) -> None:
        """Drop the pieces that ended before an instant."""
        keep = bisect_right(self._times, before) - 1
        if keep > 64:
            del self._times[:keep], self._pieces[:keep]
