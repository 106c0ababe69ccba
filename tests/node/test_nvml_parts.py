"""Parts of the NVML collector that need no library: the watched thread, kinds of memory, field values, lists."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import pytest

from collectors.node.nvml import Watched
from collectors.node.nvml_calls import field_value, kernel_address
from collectors.node.nvml_gpu import merged, unified
from collectors.node.processes import untold
from collectors.node.reading import Reading

PLACE = re.compile(r"the agent cannot make sense of what it read \(at test_nvml_parts\.py line \d+\)")


@pytest.mark.parametrize(
    ("total", "supported", "machine_total", "memory_clock", "expected"),
    [
        (None, False, 100, False, True),
        (0, True, 100, True, True),
        (90, True, 100, False, True),
        (110, True, 100, False, True),
        (89, True, 100, False, False),
        (111, True, 100, False, False),
        (100, True, 100, True, False),
        (100, True, None, False, False),
        (None, True, 100, False, None),
    ],
)
def test_whose_memory(
    total: int | None, supported: bool, machine_total: int | None, memory_clock: bool, expected: bool | None
) -> None:
    assert unified(total, supported, machine_total, memory_clock) is expected


@pytest.mark.parametrize(
    ("nvml", "expected"),
    [
        (Reading(), ("ok", "", True)),
        (Reading(facts={"gpu.0.reading.fan": "not supported"}), ("ok", "", True)),
        (Reading("failed", "stalled"), ("failed", "stalled", False)),
        (Reading("nothing here", "no driver"), ("nothing here", "no driver", False)),
        (Reading(facts={"gpu.1.reading.processes": "no permission"}), ("failed", "no permission", False)),
        (
            Reading(facts={"gpu.0.reading.processes": "not supported"}),
            ("nothing here", "the driver does not tell processes", False),
        ),
    ],
)
def test_no_process_or_none_known(nvml: Reading, expected: tuple[str, str, bool]) -> None:
    found = untold(nvml)
    assert (found.outcome, found.reason, found.described) == expected
    assert found.processes == []


def test_a_late_reading_serves_the_next_round_once() -> None:
    finish, begun = threading.Event(), threading.Event()

    def work(_asked: float) -> Reading:
        begun.set()
        finish.wait()
        return Reading(reason="done")

    watched = Watched(work)
    assert watched.ask(100.0, patience_s=0.0) == 0.0
    begun.wait()
    assert watched.ask(104.0, patience_s=0.0) == 4.0
    finish.set()
    while isinstance(answer := watched.ask(101.5, patience_s=0.05), float):
        pass
    assert answer.reason == "done"


def test_a_reading_that_is_too_old_is_not_given_out() -> None:
    gate = threading.Semaphore(1)

    def work(asked: float) -> Reading:
        gate.acquire()
        return Reading(reason=f"{asked:g}")

    watched = Watched(work)
    first = watched.ask(100.0, patience_s=10.0)
    assert isinstance(first, Reading)
    assert watched.ask(101.0, patience_s=0.0) == 0.0
    gate.release()
    gate.release()
    answer = watched.ask(110.0, patience_s=10.0)
    while isinstance(answer, float):
        answer = watched.ask(110.0, patience_s=10.0)
    assert answer.reason == "110"


def test_work_that_raises_does_not_end_the_thread() -> None:
    answers = iter([ZeroDivisionError("x"), Reading(reason="well")])

    def work(_asked: float) -> Reading:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    watched = Watched(work)
    broken = watched.ask(1.0, patience_s=10.0)
    assert isinstance(broken, Reading)
    assert broken.outcome == "failed"
    assert PLACE.fullmatch(broken.reason), broken.reason
    whole = watched.ask(2.0, patience_s=10.0)
    assert isinstance(whole, Reading)
    assert whole.reason == "well"


@pytest.mark.parametrize(
    ("value_type", "raw", "expected"),
    [
        (0, b"\x00\x00\x00\x00\x00\x00\xf8?", 1.5),
        (1, b"\xfe\xff\xff\xff\x01\x00\x00\x00", 4294967294.0),
        (1, b"\xff\xff\xff\xff\x01\x00\x00\x00", None),
        (3, b"\xff" * 8, None),
        (2, b"\x01\x00\x00\x00\x01\x00\x00\x00", 4294967297.0),
        (3, b"\x01\x00\x00\x00\x01\x00\x00\x00", 4294967297.0),
        (4, b"\xff" * 8, -1.0),
        (5, b"\xff" * 4 + b"\x00" * 4, -1.0),
        (6, b"\xff" * 8, 65535.0),
        (7, b"\xff" * 8, None),
    ],
)
def test_field_values(value_type: int, raw: bytes, expected: float | None) -> None:
    assert field_value(value_type, raw) == expected


def test_lists_of_processes_are_merged_by_the_larger_number() -> None:
    def process(pid: int, held: int | None) -> SimpleNamespace:
        return SimpleNamespace(pid=pid, usedGpuMemory=held)

    lists = ((process(1, 5), process(2, None), process(3, 7)), (process(1, 9), process(2, 4), process(3, None)))
    assert merged(lists) == {1: 9, 2: 4, 3: 7}
    assert merged(((process(1, None),), ())) == {1: None}


def test_the_address_of_a_gpu() -> None:
    assert kernel_address("0000000F:01:00.0") == "000f:01:00.0"
    assert kernel_address("00000000:C1:00.0") == "0000:c1:00.0"
