"""NVML as a whole: loading it, losing it, loading it again without a restart of the agent."""

from __future__ import annotations

import _ctypes
from typing import Any

import pynvml

from collectors.node.memory import parse_meminfo
from collectors.node.nvml_errors import attempt, unavailable
from collectors.node.nvml_gpu import Asked, Gpu
from collectors.node.nvml_states import DRIVER_MISMATCH, LOST, NO_DRIVER, UnavailableError
from collectors.node.reading import FAILED, OK, Reading
from collectors.node.tree import Tree
from telemetry.catalog import gpu

RETRY_S = 10.0


def unload() -> None:
    """Let go of the loaded library, so that the next start finds the one of an updated driver."""
    library: Any = pynvml.nvmlLib
    pynvml._nvmlGetFunctionPointer_cache.clear()
    pynvml.nvmlLib = None
    if library is not None:
        _ctypes.dlclose(library._handle)


class Library:
    """NVML from one start to the next; all of it runs in the one NVML thread.

    `asked` is told the name of each call before it is made, for the watchdog. `gpus` is how many it named last.
    """

    def __init__(self, tree: Tree, sees_processes: bool, asked: Asked) -> None:
        self._tree, self._sees_processes, self._asked = tree, sees_processes, asked
        self.gpus: int | None = None
        self._gpus: list[Gpu] | None = None
        self._facts: dict[str, str] = {}
        self._why: UnavailableError | None = None
        self._retry_at = 0.0
        self._reopen_at: float | None = None

    def read(self, now: float) -> Reading:
        """All GPUs; UnavailableError when none of them can be read."""
        try:
            return self._read_gpus(self._opened(now), now)
        except UnavailableError as why:
            self._close(why, now)
            raise

    def _opened(self, now: float) -> list[Gpu]:
        if self._gpus is not None and self._reopen_at is not None and now >= self._reopen_at:
            self._shut_down()
        if self._gpus is None:
            if self._why is not None and now < self._retry_at:
                raise self._why
            self._gpus = self._open()
            self.gpus = len(self._gpus) or None
        return self._gpus

    def _open(self) -> list[Gpu]:
        total = parse_meminfo(self._tree.bytes("/proc/meminfo")).get("MemTotal")
        self._asked("init")
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise unavailable(error) from error
        version, why = attempt(pynvml.nvmlSystemGetDriverVersion)
        self._facts = {"driver_version": version} if why == OK else {}
        return [Gpu(index, total, self._asked) for index in range(count)]

    def _shut_down(self) -> None:
        self._gpus = self._reopen_at = None
        try:
            pynvml.nvmlShutdown()
        except pynvml.NVMLError:
            pass  # it was not running, which is what is wanted

    def _close(self, why: UnavailableError, now: float) -> None:
        """Shut down and try again later; the library itself is only unloaded where another one may come."""
        if why is self._why:
            return  # the same answer given again while waiting for the next try
        self._shut_down()
        if why.state in (DRIVER_MISMATCH, NO_DRIVER):
            unload()
        self._why, self._retry_at = why, now + RETRY_S

    def _read_gpus(self, gpus: list[Gpu], now: float) -> Reading:
        whole = Reading(facts=dict(self._facts))
        for one in gpus:
            try:
                self._add(whole, one.read(self._sees_processes))
            except UnavailableError as why:
                if why.whole:
                    raise
                if why.state == LOST and self._reopen_at is None:
                    self._reopen_at = now + RETRY_S
                self._add(whole, Reading(facts=one.facts, reason=why.reason))
                whole.add(gpu.GPU_READING_STATE, gpu.READING_STATES.index(why.state), one.index)
        if not gpus:
            raise UnavailableError(LOST, "the driver finds no GPU")
        whole.outcome = FAILED if whole.reason else OK
        return whole

    @staticmethod
    def _add(whole: Reading, part: Reading) -> None:
        whole.samples += part.samples
        whole.facts |= part.facts
        whole.processes += part.processes
        whole.reason = whole.reason or part.reason
