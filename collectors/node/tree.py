"""Files of a machine: one tree, which may be `/` or a copy of another machine's `/proc`, `/sys` and `/etc`.

Reads go through one injectable opener, because a directory cannot express that reading a file fails with EINVAL.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from collectors.node.figures import integer

Opener = Callable[[str], bytes]
LARGEST = 1 << 20
"""No file this agent reads is longer; a longer one is cut there."""


def read_file(path: str) -> bytes:
    """Whole content of a small file. os.read costs a quarter of what open() does, which is most of a round's time.

    Only an empty read is the end: of /proc the kernel gives as many whole lines as fit into a page, so that a read of
    less than a page may not be the last.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        whole = chunk = os.read(descriptor, 65536)
        while chunk and len(whole) < LARGEST:
            chunk = os.read(descriptor, 65536)
            whole += chunk
        return whole
    finally:
        os.close(descriptor)


class Tree:
    """The files below a root; every path given here is absolute as the machine itself would write it."""

    def __init__(self, root: str = "", opener: Opener = read_file) -> None:
        self.root = root.rstrip("/")
        self._open = opener

    def bytes(self, path: str) -> bytes:
        """Content of a file; OSError as the machine gives it."""
        return self._open(self.root + path)

    def text(self, path: str) -> str:
        """Content of a file as text; OSError as the machine gives it."""
        return self._open(self.root + path).decode("utf-8", "replace")

    def line(self, path: str) -> str | None:
        """Stripped content of a one-line file, None when it cannot be read or is empty."""
        try:
            return self._open(self.root + path).decode("utf-8", "replace").strip() or None
        except OSError:
            return None

    def number(self, path: str) -> int | None:
        """The integer in a file; None when it cannot be read or holds no integer, as in "N/A (no PMA)"."""
        try:
            return integer(self._open(self.root + path))
        except OSError:
            return None

    def names(self, path: str) -> list[str]:
        """Sorted names in a directory; empty when there is no such directory."""
        try:
            return sorted(os.listdir(self.root + path))
        except OSError:
            return []

    def resolve(self, path: str) -> str:
        """The path with every link followed, as the machine would write it."""
        real = os.path.realpath(self.root + path)
        root = os.path.realpath(self.root) if self.root else ""
        return real[len(root) :] if real.startswith(root) else real

    def target(self, path: str) -> str | None:
        """Last part of what a link points to, whether that is there or not; None when there is no such link."""
        try:
            return os.path.basename(os.readlink(self.root + path))
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether the path is there."""
        return os.path.exists(self.root + path)
