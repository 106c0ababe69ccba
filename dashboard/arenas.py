"""How the C library keeps memory that was given back, where it can be told."""

from __future__ import annotations

import ctypes

ARENAS = 2
ARENA_MAX = -8
"""M_ARENA_MAX of glibc's <malloc.h>."""


def keep_few() -> bool:
    """Let all threads share two heaps; False where the C library has no such setting. Before there are threads.

    By itself glibc gives each of the many threads a heap of its own, and what large answers took stays with each: 360
    MB after a few minutes in Explore, in place of 200.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(ARENA_MAX, ARENAS))
    except AttributeError:
        return False
