"""A GB10 node made of files: its tree in every scenario, an opener that fails as the machine would, clocks that stand.

The listing in tests/data/gb10 holds one idle node: cage p1 cabled, cage p0 empty. Lines read `/path = content`,
`/path -> target`, `/path !ERRNO` or `/path <<EOF`.
"""

from __future__ import annotations

import atexit
import errno
import lzma
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace

from collectors.node.machine import Machine
from collectors.node.rounds import Rounds
from collectors.node.tree import Tree, read_file

DATA = Path(__file__).parent.parent / "data" / "gb10"
LISTING = lzma.decompress((DATA / "node.listing.xz").read_bytes()).decode()
LINE = re.compile(r"(/\S+) (= ?|-> |!|<<EOF$)(.*)$")
P1 = (("rocep1s0f1", "enp1s0f1np1"), ("roceP2p1s0f1", "enP2p1s0f1np1"))
PORT = "/sys/class/infiniband/{rdma}/ports/1/"
NET = "/sys/class/net/{net}/"


class Node:
    """The tree of one node below a directory."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.errors: dict[str, int] = {}

    def put(self, path: str, text: str) -> None:
        full = self.root + path
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.exists(full):
            os.unlink(full)  # trees share what they do not change
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def get(self, path: str) -> str:
        with open(self.root + path, encoding="utf-8") as file:
            return file.read()

    def add(self, path: str, amount: float) -> None:
        self.put(path, f"{int(self.get(path)) + int(amount)}\n")

    def both(self, path: str, text: str) -> None:
        """Write a file of both functions of cage p1."""
        for rdma, net in P1:
            self.put(path.format(rdma=rdma, net=net), text + "\n")

    def meminfo(self, **kib: int) -> None:
        text = self.get("/proc/meminfo")
        for name, value in kib.items():
            text = re.sub(rf"(?m)^({name}:\s+)\d+", rf"\g<1>{value}", text)
        self.put("/proc/meminfo", text)

    def open(self, path: str) -> bytes:
        """Opener of this tree: resolves the path, then fails where the machine would."""
        name = os.path.basename(path)
        code = None
        if any(os.path.basename(error) == name for error in self.errors):
            code = self.errors.get(os.path.realpath(path)[len(os.path.realpath(self.root)) :])
        if code is not None:
            raise OSError(code, os.strerror(code), path.removeprefix(self.root))
        return read_file(path)


def _unpack(node: Node) -> None:
    lines = iter(LISTING.splitlines())
    for line in lines:
        match = LINE.match(line)
        assert match, line
        path, sign, value = match.groups()
        if sign.startswith("="):
            node.put(path, value + "\n")
        elif sign.startswith("<<"):
            body = "\n".join(iter(lines.__next__, "EOF")) + "\n"
            node.put(path, body.rstrip("\n").replace("\\0", "\0") if path.endswith("cmdline") else body)
        elif sign.startswith("->"):
            os.makedirs(os.path.dirname(node.root + path), exist_ok=True)
            os.symlink(value, node.root + path)
        else:
            node.errors[path] = getattr(errno, value)


def _rdma(node: Node, words: float, devices: tuple[str, ...] = ("rocep1s0f1", "roceP2p1s0f1")) -> None:
    for rdma in devices:
        for counter in ("port_xmit_data", "port_rcv_data"):
            node.add(f"{PORT.format(rdma=rdma)}counters/{counter}", words)


def _tcp(node: Node, transferred: float) -> None:
    for counter in ("tx_bytes", "rx_bytes"):
        node.add(f"/sys/class/net/enp1s0f1np1/statistics/{counter}", transferred)


def _loss(node: Node, t: float) -> None:
    _rdma(node, 2.8e9 * t)
    for rdma, _ in P1:
        for counter, rate in (("packet_seq_err", 50), ("out_of_sequence", 20), ("rp_cnp_handled", 2000)):
            node.add(f"{PORT.format(rdma=rdma)}hw_counters/{counter}", rate * t)


def _uncabled(node: Node, _t: float) -> None:
    base = Path(node.root)
    for link in (base / "sys/class/infiniband").iterdir():
        link.unlink()
    for link in (base / "sys/class/net").iterdir():
        if re.match(r"en[pP].*f\d+np\d+$", link.name):
            link.unlink()
    for chip in (base / "sys/class/hwmon").iterdir():
        if (chip / "name").read_text().strip() == "mlx5":
            shutil.rmtree(chip)


def _link_down(node: Node, _t: float) -> None:
    node.both(PORT + "state", "1: DOWN")
    node.both(PORT + "phys_state", "3: Disabled")
    node.both(PORT + "rate", "40 Gb/sec (4X QDR)")
    node.both(NET + "operstate", "down")
    node.both(NET + "carrier", "0")
    node.both(NET + "speed", "-1")


def _link_100g(node: Node, _t: float) -> None:
    node.both(PORT + "rate", "100 Gb/sec (4X EDR)")
    node.both(NET + "speed", "100000")


def _fragmented(node: Node, _t: float) -> None:
    node.put("/proc/buddyinfo", re.sub(r"1417    782\n$", "  27      0\n", node.get("/proc/buddyinfo")))
    vmstat = re.sub(r"(?m)^compact_stall .*$", "compact_stall 2700000", node.get("/proc/vmstat"))
    node.put("/proc/vmstat", re.sub(r"(?m)^compact_fail .*$", "compact_fail 1350000", vmstat))
    node.meminfo(MemAvailable=118_000_000)


def _driver_pool(node: Node, _t: float) -> None:
    node.meminfo(MemTotal=127600816, MemFree=3139656, MemAvailable=40174336, Buffers=13252, Cached=37694160)
    node.meminfo(AnonPages=1712244, Shmem=3028, KReclaimable=477572, SUnreclaim=520360)


SCENARIOS: dict[str, Callable[[Node, float], None]] = {
    "idle": lambda _node, _t: None,
    "nccl-busy": lambda node, t: _rdma(node, 2.8e9 * t),
    "one-rail": lambda node, t: _rdma(node, 3.0e9 * t, ("rocep1s0f1",)),
    "tcp-fallback": lambda node, t: _tcp(node, 5.0e9 * t),
    "degraded": lambda node, t: _rdma(node, 825e6 / 4 * t),
    "loss": _loss,
    "wrap": lambda node, t: node.both(PORT + "hw_counters/packet_seq_err", str((4294967290 + int(2 * t)) % 2**32)),
    "uncabled": _uncabled,
    "link-100g": _link_100g,
    "link-down": _link_down,
    "driver-pool": _driver_pool,
    "kho-defect": lambda node, _t: node.meminfo(CmaTotal=0, CmaFree=940604, MemFree=92274688),
    "hugetlb": lambda node, _t: node.meminfo(
        HugePages_Total=8, HugePages_Free=3, Hugepagesize=1048576, Hugetlb=8388608
    ),
    "serving": lambda node, _t: node.meminfo(MemFree=6200000, MemAvailable=34800000, AnonPages=9100000),
    "fragmented": _fragmented,
}


@cache
def _idle() -> Node:
    """The listing as files, once for all tests."""
    root = tempfile.mkdtemp(prefix="gb10-")
    atexit.register(shutil.rmtree, root)
    node = Node(Path(root))
    _unpack(node)
    return node


def build(root: Path, scenario: str = "idle", t: float = 0.0) -> Node:
    """The node's tree `t` seconds into a scenario."""
    node = Node(root)
    shutil.copytree(_idle().root, root, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
    node.errors = dict(_idle().errors)
    SCENARIOS[scenario](node, t)
    return node


class Clock:
    """Monotonic and wall clock that move only when told to."""

    def __init__(self, now: float = 248281.42) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return 1796000000.0 + self.now


def file_system(_path: str) -> SimpleNamespace:
    """A disk of 4 TB with 2.5 TB left for users."""
    return SimpleNamespace(f_frsize=4096, f_blocks=976_562_500, f_bavail=610_351_562, f_bfree=659_179_687)


def machine(node: Node, clock: Clock | None = None) -> Machine:
    """The node as collectors see it, with pages of 4 KiB and ticks of 10 ms as on GB10."""
    clock = clock or Clock()
    return Machine(
        Tree(node.root, node.open),
        monotonic=clock.monotonic,
        wall=clock.wall,
        file_system=file_system,  # type: ignore[arg-type]
        usage=lambda: (12.5, 16 * 1024 * 1024),
        host_processes=True,
        page_bytes=4096,
        ticks_per_second=100,
    )


Values = dict[str, float]


def values(page: bytes) -> Values:
    """Series text without the prefix → number, of a metrics page."""
    lines = (line.rpartition(" ") for line in page.decode().splitlines() if not line.startswith("#"))
    return {name.removeprefix("tachograph_"): float(value) for name, _, value in lines}


def scrape(node: Node, clock: Clock | None = None) -> Values:
    """Values of the page of a fresh agent on this node."""
    return values(Rounds(machine(node, clock)).snapshot().page)
