"""The kernel log, where it may be read: Xids, the driver out of memory, PCIe errors, links.

What stands in it when the agent starts is a baseline: told as events, never counted.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Iterator

from collectors.node.figures import count
from collectors.node.kernel_lines import Line, may_concern, meaning
from collectors.node.machine import Machine
from collectors.node.reading import Read, Reading, Round, collector, failed, nothing_here
from telemetry.catalog import host
from telemetry.model import Metric

PATH = "/dev/kmsg"
RECORD = 16384
MOST_RECORDS = 50_000
"""In one round; a kernel that writes faster than it is read must not keep the agent in this loop."""
ALWAYS = ((host.KERNEL_NO_MEMORY, ()), *((host.KERNEL_AER, (level,)) for level in host.AER_SEVERITIES))
LINKS = tuple((host.KERNEL_LINK, (direction,)) for direction in host.LINK_DIRECTIONS)


def parse_record(record: str) -> tuple[float, str] | None:
    """ "4,2217,88211334512,-;message" → (seconds since boot, message); None for a continuation or a broken line."""
    head, separator, message = record.partition(";")
    fields = head.split(",")
    since_boot = count(fields[2]) if len(fields) > 2 else None
    if not separator or head.startswith(" ") or since_boot is None:
        return None
    return since_boot / 1e6, message


class KernelLog:
    """An open kernel log and what was counted in it since the first round."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._rest = b""
        self.counts: Counter[tuple[Metric, tuple[str, ...]]] = Counter(dict.fromkeys((*ALWAYS, *LINKS), 0))
        self.baseline = True

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self._descriptor)

    def _records(self) -> Iterator[bytes]:
        """What was written since the last call; the device gives one record for each read, a file gives many."""
        for _ in range(MOST_RECORDS):
            try:
                chunk = os.read(self._descriptor, RECORD)
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno == errno.EPIPE:  # the ring overtook us: the next read continues with the oldest record
                    continue
                raise
            if not chunk:
                return
            lines = (self._rest + chunk).split(b"\n")
            self._rest = lines.pop()
            yield from lines

    def news(self) -> Iterator[tuple[float, Line]]:
        """(seconds since boot, meaning) of each new line that means something."""
        for record in filter(may_concern, self._records()):
            parsed = parse_record(record.decode("utf-8", "replace"))
            line = meaning(parsed[1]) if parsed else None
            if parsed and line:
                yield parsed[0], line

    def read(self, machine: Machine, now: Round) -> Reading:
        """Count what is new, tell it as events, and give all counts so far."""
        for since_boot_s, line in self.news():
            if line.counter is not None and not self.baseline:
                self.counts[line.counter, line.counter_labels] += 1
            time_s = now.wall_s - now.monotonic_s + since_boot_s
            machine.events.add(time_s, line.kind, line.text, line.labels, self.baseline)
        self.baseline = False
        reading = Reading()
        for (metric, labels), seen in self.counts.items():
            reading.add(metric, seen, *labels)
        return reading


@collector("kernel")
def build(machine: Machine) -> Read:
    log: list[KernelLog] = []

    def read(now: Round) -> Reading:
        try:
            if not log:
                log.append(KernelLog(machine.tree.root + PATH))
            return log[0].read(machine, now)
        except FileNotFoundError:
            return nothing_here(f"no {PATH}")
        except PermissionError:
            return failed(f"{PATH} may only be read by root or with CAP_SYSLOG")
        except OSError as error:
            for opened in log:
                opened.close()
            log.clear()
            return failed(f"{PATH}: {error.strerror}")

    return read
