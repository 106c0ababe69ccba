"""The NVML collector: one thread with at most one call outstanding, because a call can block for minutes.

A reading that is not there yet is waited for only briefly; after 5 s its GPUs are "stalled". When the call comes back,
the next round reads as before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from collectors.node.machine import Machine
from collectors.node.nvml_states import NO_DRIVER, STALLED, UnavailableError, gpus_on_bus, unavailable_reading
from collectors.node.reading import Read, Reading, Round, collector, failed, unforeseen
from telemetry.catalog import gpu

if TYPE_CHECKING:
    from collectors.node.nvml_library import Library

PATIENCE_S = 0.5
STALLED_AFTER_S = 5.0
FRESH_S = 2.0
"""A reading that came too late for its own round still serves the next one, if it is no older than this."""


class Watched:
    """Runs `work` in a thread of its own, one call at a time. `ask` gives its result, or how long it is outstanding."""

    def __init__(self, work: Callable[[float], Reading]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._asked_s: float | None = None
        self._result: tuple[float, Reading] | None = None
        self._thread: threading.Thread | None = None

    def ask(self, now: float, patience_s: float = PATIENCE_S) -> Reading | float:
        """The reading, or the seconds for which the outstanding one has not come."""
        with self._changed:
            if self._asked_s is None:
                self._start(now)
                self._changed.wait_for(lambda: self._asked_s is None, patience_s)
            result, self._result = self._result, None  # given out once: an old number must not pass for a new one
            if result is not None and now - result[0] <= FRESH_S:
                return result[1]
            return now - self._asked_s if self._asked_s is not None else 0.0

    def _start(self, now: float) -> None:
        self._asked_s = now
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="nvml", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked_s is not None)
                asked_s = self._asked_s or 0.0
            try:
                reading = self._work(asked_s)
            except Exception as error:  # noqa: BLE001 - the thread must outlive whatever a driver makes of a call
                reading = unforeseen(error)
            with self._changed:
                self._result, self._asked_s = (asked_s, reading), None
                self._changed.notify_all()


def states(reading: Reading) -> dict[str, str]:
    """GPU → state, as the reading says."""
    return {
        labels[0]: gpu.READING_STATES[int(value)]
        for metric, labels, value in reading.samples
        if metric is gpu.GPU_READING_STATE
    }


def tell_changes(machine: Machine, now: Round, before: dict[str, str], reading: Reading) -> dict[str, str]:
    """Make an event of each GPU whose state is another than before; the states from now on."""
    after = states(reading)
    for index, state in after.items():
        if before.get(index, state) != state:
            text = f"GPU {index}: {state}" + (f" ({reading.reason})" if reading.reason else "")
            machine.events.add(now.wall_s, "gpu", text, {"gpu": index, "state": state})
    return before | after


class Source:
    """NVML as the thread reads it. pynvml is only imported there: it is large, and a checkout may be without it."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._library: Library | None = None
        self._on_bus = gpus_on_bus(machine.tree)
        self.calling = ""

    @property
    def gpus(self) -> int:
        """GPUs that NVML has named, else those on the bus."""
        named = None if self._library is None else self._library.gpus
        return self._on_bus if named is None else named

    def _asked(self, name: str) -> None:
        self.calling = name

    def read(self, now: float) -> Reading:
        """All GPUs, or why there are none; runs in the NVML thread."""
        try:
            if self._library is None:
                from collectors.node.nvml_library import Library

                self._library = Library(self._machine.tree, self._machine.host_processes, self._asked)
            return self._library.read(now)
        except ImportError:
            return unavailable_reading(UnavailableError(NO_DRIVER, "pynvml is not installed"), self.gpus)
        except UnavailableError as why:
            return unavailable_reading(why, self.gpus)


@collector("nvml")
def build(machine: Machine) -> Read:
    source, before = Source(machine), dict[str, str]()
    watched = Watched(source.read)

    def read(now: Round) -> Reading:
        answer = watched.ask(now.monotonic_s)
        if isinstance(answer, float):
            reason = f"NVML has not answered for {answer:.0f} s (in {source.calling})"
            stalled = UnavailableError(STALLED, reason)
            answer = unavailable_reading(stalled, source.gpus) if answer >= STALLED_AFTER_S else failed(reason)
        before.update(tell_changes(machine, now, before, answer))
        return answer

    return read
