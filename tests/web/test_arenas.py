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


GIVE_BACK = """
import ctypes, sys
from dashboard.arenas import keep_few
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
if sys.argv[1] == "few":
    assert keep_few()
def take(size):
    found = libc.malloc(size)
    ctypes.memset(found, 1, size)
    return found
libc.free(take(24 << 20))
for one in reversed([take(1 << 20) for _ in range(30)]):
    libc.free(one)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the settings are glibc's")
def test_what_was_freed_is_given_back() -> None:
    def resident(how: str) -> int:
        run = subprocess.run([sys.executable, "-c", GIVE_BACK, how], capture_output=True, text=True, check=True)
        return int(run.stdout)

    # 30 MiB were freed, of which 4 may stay; as usual all of it does.
    assert resident("as usual") - resident("few") > 20_000
