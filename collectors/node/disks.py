"""Local file systems and disks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from collectors.node.figures import count
from collectors.node.machine import COLD_S, Machine
from collectors.node.reading import Read, Reading, Round, collector, known_of, nothing_here
from telemetry.catalog import host

IGNORED_TYPES = frozenset({"vfat", "squashfs", "iso9660", "erofs", "udf", "autofs"})
"""Boot partitions and read-only images: full by nature, or of no concern."""
SECTOR = 512
TRAFFIC = "/proc/diskstats"
WHOLE_DISK = re.compile(r"(nvme\d+n\d+|sd[a-z]+|vd[a-z]+|mmcblk\d+)$")
OCTAL = re.compile(r"\\([0-7]{3})")


def mounts(content: str) -> Iterator[str]:
    """Mount points of local disks, one for each device: the first one, so bind mounts do not repeat it."""
    seen = set()
    for line in content.splitlines():
        words = line.split()
        if len(words) < 3 or not words[0].startswith("/dev/") or words[2] in IGNORED_TYPES or words[0] in seen:
            continue
        if words[0].startswith("/dev/loop"):
            continue
        seen.add(words[0])
        yield OCTAL.sub(lambda match: chr(int(match[1], 8)), words[1])


def transfers(content: str) -> Iterator[tuple[str, int | None, int | None]]:
    """(disk, bytes read, bytes written) of whole disks, from /proc/diskstats; None where there is no number."""
    for line in content.splitlines():
        words = line.split()
        if len(words) >= 10 and WHOLE_DISK.match(words[2]):
            yield words[2], count(words[5], SECTOR), count(words[9], SECTOR)


@collector("disks", every_s=COLD_S)
def build(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        reading = Reading()
        for mount in mounts(machine.tree.text("/proc/mounts")):
            try:
                found = machine.file_system(machine.tree.root + mount)
            except (OSError, ValueError):  # ValueError: a mount point with a zero byte in it
                continue
            reading.add(host.DISK_SIZE, found.f_blocks * found.f_frsize, mount)
            reading.add(host.DISK_AVAILABLE, found.f_bavail * found.f_frsize, mount)
        return reading if reading.samples else nothing_here("no local file system")

    return read


@collector("disk traffic")
def build_traffic(machine: Machine) -> Read:
    def read(_now: Round) -> Reading:
        reading = Reading()
        found = list(transfers(machine.tree.text(TRAFFIC)))
        for disk, read_bytes, written in found:
            reading.add(host.DISK_READ, read_bytes, disk)
            reading.add(host.DISK_WRITTEN, written, disk)
        return known_of(reading, TRAFFIC) if found else nothing_here("no disk")

    return read
