"""How the C library keeps memory that was given back, where it can be told."""

from __future__ import annotations

import ctypes

SETTINGS = ((-8, 2), (-3, 4 << 20), (-1, 4 << 20))
"""(parameter of glibc's <malloc.h>, its value): M_ARENA_MAX, M_MMAP_THRESHOLD, M_TRIM_THRESHOLD."""


def keep_few() -> bool:
    """Let all threads share two heaps, which give back what is free at their ends beyond 4 MiB, and have each larger
    array for itself alone; False where the C library has no such settings. Before there are threads.

    By itself glibc gives each of the many threads a heap of its own, and what large answers took stays with each: 360
    MB after a few minutes in Explore, in place of 200. And once an array of 20 MB was freed, it keeps 40 MB at the end
    of a heap for the next one: 40 MB less at rest with these limits, for as much time of the processor.
    """
    try:
        set_to = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    done = [bool(set_to(*setting)) for setting in SETTINGS]
    return all(done)
