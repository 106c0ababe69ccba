"""Memory that many threads took and gave back does not stay with each of them."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

THREADS_ALLOCATE = """
import ctypes, sys, threading
from dashboard.arenas import keep_few
if sys.argv[1] == "few":
    assert keep_few()
gate = threading.Barrier(12)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def work():
    gate.wait()
    assert libc.malloc(1000)
    gate.wait()
threads = [threading.Thread(target=work) for _ in range(12)]
[one.start() for one in threads]
[one.join() for one in threads]
libc.malloc_stats()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the setting is glibc's")
def test_many_threads_share_few_heaps() -> None:
    def heaps(how: str) -> int:
        run = subprocess.run([sys.executable, "-c", THREADS_ALLOCATE, how], capture_output=True, text=True, check=True)
        return sum(line.startswith("Arena ") for line in run.stderr.splitlines())

    assert heaps("few") == 2
    assert heaps("as usual") > 2
