"""Keeping the agent small, and in memory: what it takes is taken from the model."""

from __future__ import annotations

import ctypes
import gc
import threading
from typing import Any

STACK_BYTES = 256 * 1024
M_ARENA_MAX = -8
MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT = 1, 2, 4


def _libc(name: str) -> Any:
    """A function of the C library, None where it has none of this name."""
    return getattr(ctypes.CDLL(None, use_errno=True), name, None)


def _call(name: str, *arguments: int) -> None:
    function = _libc(name)
    if function is not None:
        function(*arguments)


def prepare() -> None:
    """Small stacks, and one heap for all threads: to be called before there are any."""
    threading.stack_size(STACK_BYTES)
    _call("mallopt", M_ARENA_MAX, 1)


def shrink() -> None:
    """Give back the memory that starting took; what is left now stays, and need not be looked through for garbage.

    Nor is it now: that would cost a start 8 ms, to find next to nothing.
    """
    gc.freeze()
    gc.enable()
    _call("malloc_trim", 0)


def lock() -> str | None:
    """Keep every page, once touched, in memory, so that the agent answers while the node swaps; else why not."""
    function = _libc("mlockall")
    if function is None:
        return "this C library has no mlockall"
    if function(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT):
        return f"mlockall failed with errno {ctypes.get_errno()}: raise LimitMEMLOCK"
    return None
