"""The machine as collectors see it: files, clocks and system calls come through here, and a test gives its own."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from collectors.node.events import EventLog
from collectors.node.figures import count
from collectors.node.tree import Tree, read_file

COLD_S = 10.0
"""How long what changes rarely stays good: counters the firmware must be asked for, sensors, directories."""
INITIAL_PID_NAMESPACE = "pid:[4026531836]"


def own_usage() -> tuple[float, int | None]:
    """Processor seconds and resident bytes of this process; the latter None where /proc is not there."""
    try:
        resident = read_file("/proc/self/statm").split()[1]
    except (OSError, IndexError):
        return time.process_time(), None
    return time.process_time(), count(resident, os.sysconf("SC_PAGE_SIZE"))


def sees_all_processes() -> bool:
    """Whether this process lives in the machine's own process namespace; elsewhere the driver hides processes."""
    try:
        return os.readlink("/proc/self/ns/pid") == INITIAL_PID_NAMESPACE
    except OSError:
        return False


@dataclass
class Machine:
    """Tree, clocks and system calls of one machine; `events` is what it has to tell."""

    tree: Tree = field(default_factory=Tree)
    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    file_system: Callable[[str], os.statvfs_result] = os.statvfs
    usage: Callable[[], tuple[float, float | None]] = own_usage
    host_processes: bool = field(default_factory=sees_all_processes)
    page_bytes: int = field(default_factory=lambda: os.sysconf("SC_PAGE_SIZE"))
    ticks_per_second: int = field(default_factory=lambda: os.sysconf("SC_CLK_TCK"))
    lowest_available: Callable[[float], int | None] = lambda _now: None
    events: EventLog = field(default_factory=EventLog)
    _kept: dict[str, tuple[float, Any]] = field(default_factory=dict)

    def kept(self, name: str, find: Callable[[Tree], Any], now: float, seconds: float = COLD_S) -> Any:
        """What `find` gave at most `seconds` ago; several collectors share one discovery."""
        until, found = self._kept.get(name, (now, None))
        if now >= until:
            found = find(self.tree)
            self._kept[name] = (now + seconds, found)
        return found

    def forget(self, name: str) -> None:
        """Discover anew at the next call: something that was found has vanished."""
        self._kept.pop(name, None)
