"""Reading files: whole, in one piece, and with the machine's own errors."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from collectors.node import tree as tree_module
from collectors.node.kernel import KernelLog
from collectors.node.tree import Tree, read_file


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 65536, 65537, 300_000])
def test_a_file_is_read_whole(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert read_file(str(tmp_path / "file")) == content


def test_a_file_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "LARGEST", 200_000)
    assert 200_000 <= len(read_file("/dev/zero")) < 300_000


def test_files_of_the_kernel_are_read_whole() -> None:
    """They have no size, and give a page at a time."""
    assert read_file("/proc/self/maps").endswith(b"\n")
    assert b"\ncpu0 " in read_file("/proc/stat")


@pytest.mark.parametrize("pieces", [[b"a 1\n", b"b 2\n"], [b"x" * 4090 + b"\n", b"last 7\n"], [b"one"]])
def test_a_short_read_is_not_the_end(pieces: list[bytes]) -> None:
    """A pipe of packets gives a piece at each read, as /proc/vmstat and /proc/mounts give lines by the page."""
    reader, writer = os.pipe2(os.O_DIRECT | os.O_NONBLOCK)
    try:
        for piece in pieces:
            os.write(writer, piece)
        os.close(writer)
        assert read_file(f"/proc/self/fd/{reader}") == b"".join(pieces)
    finally:
        os.close(reader)


def test_what_a_file_says(tmp_path: Path) -> None:
    for name, text in (("number", " 42\n"), ("words", "N/A (no PMA)\n"), ("empty", "\n"), ("bytes", "\udcff")):
        (tmp_path / name).write_text(text, errors="surrogateescape")
    tree = Tree(str(tmp_path) + "/")
    assert tree.number("/number") == 42
    assert tree.number("/words") is None
    assert tree.number("/empty") is None
    assert tree.number("/none") is None
    assert tree.line("/words") == "N/A (no PMA)"
    assert tree.line("/empty") is None
    assert tree.line("/none") is None
    assert tree.text("/bytes") == "\ufffd"
    assert tree.names("/") == ["bytes", "empty", "number", "words"]
    assert tree.names("/none") == []
    assert tree.exists("/empty")
    assert not tree.exists("/none")
    with pytest.raises(FileNotFoundError):
        tree.bytes("/none")


def test_paths_are_resolved_within_the_tree(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "out").symlink_to("/usr")
    tree = Tree(str(tmp_path))
    assert tree.resolve("/link") == "/real"
    assert tree.resolve("/out") == os.path.realpath("/usr")
    assert Tree().resolve("/proc/../proc") == "/proc"


def test_a_log_that_overtook_the_reader_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the ring was overwritten the next read fails once with EPIPE, and then continues with the oldest record."""
    path = tmp_path / "kmsg"
    path.write_text("4,1,1000000,-;NVRM: Xid (PCI:000f:01:00): 43, x\n")
    log, failures, read = KernelLog(str(path)), [errno.EPIPE], os.read

    def overtaken(descriptor: int, size: int) -> bytes:
        if failures:
            raise OSError(failures.pop(), "Broken pipe")
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", overtaken)
    assert [line.kind for _, line in log.news()] == ["xid"]
    failures.append(errno.EIO)
    with pytest.raises(OSError, match="Broken pipe"):
        list(log.news())
    monkeypatch.undo()
    log.close()


def test_one_round_does_not_follow_an_endless_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.node.kernel.MOST_RECORDS", 2)
    monkeypatch.setattr("collectors.node.kernel.RECORD", 51)
    path = tmp_path / "kmsg"
    line = "4,1,1000000,-;NVRM: Xid (PCI:000f:01:00): 43, abcd\n"
    assert len(line) == 51
    path.write_text(line * 5)
    log = KernelLog(str(path))
    assert [len(list(log.news())) for _ in range(4)] == [2, 2, 1, 0]
    log.close()
