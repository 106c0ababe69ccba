"""Evidence: what the nodes tell of an engine that does not answer. Is a machine gone? Are weights being loaded?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pipeline.targets import Target
from pipeline.window import Window
from telemetry import ratios
from telemetry.catalog import gpu
from telemetry.states import TargetState

FILL_BYTES = 1024.0**3
FILL_MS = 30_000
"""GPU memory of processes that grows by so much within this time is a model being loaded."""
SETTLED_MS = 60_000
"""For so long a stop may turn out to be something else: an OOM kill is told seconds later."""
LOADING_MS = 600_000
"""How long after its last growth loading may go on without any (graph capture, warm-up)."""


@dataclass
class Evidence:
    """Gathered while an engine is silent, and told to it before its next verdict."""

    _rose_ms: int | None = None

    def gather(self, targets: Iterable[Target], window: Window, tick: int) -> None:
        """Look at the nodes, and let every silent engine know."""
        known = list(targets)
        silent = [target for target in known if not target.is_node and target.health.failing_since is not None]
        if silent:
            lost, filling = any(is_lost(target) for target in known), self.filling(window, tick)
            off = any(target.is_node and target.health.verdict.state is TargetState.STOPPED for target in known)
            for target in silent:
                settled = target.before.stopped or _settled(target, tick)
                target.note(fatal=target.before.fatal or lost, memory_rising=filling, stopped=settled, machine_off=off)

    def filling(self, window: Window, tick: int) -> bool:
        """Whether a model is being loaded: GPU memory of processes grew lately, and none of it was given back since."""
        frame = window.frame([gpu.GPU_PROCESS_MEMORY.name], start_ms=tick - FILL_MS, end_ms=tick)
        held = ratios.hold(frame.values, frame.gap_ms, frame.ticks.astype(np.float64))
        for values in held:
            seen = values[~np.isnan(values)]
            if len(seen) and seen.max() - seen[-1] >= FILL_BYTES:
                self._rose_ms = None
                return False
        if any(len(seen) and seen[-1] - seen.min() >= FILL_BYTES for seen in (one[~np.isnan(one)] for one in held)):
            self._rose_ms = tick
        return self._rose_ms is not None and tick - self._rose_ms <= LOADING_MS


def _settled(target: Target, tick: int) -> bool:
    """Whether an engine has been stopped for a while."""
    since = target.health.failing_so_since
    stopped = target.health.verdict.state is TargetState.STOPPED
    return stopped and since is not None and tick - since >= SETTLED_MS


def is_lost(target: Target) -> bool:
    """Whether a node is silent without having said goodbye."""
    silent = target.is_node and target.health.failing_since is not None
    return silent and target.health.verdict.state is not TargetState.STOPPED
