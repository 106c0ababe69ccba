"""Backups where there is no room for them: said before, or of the disk that is full."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from storage.backup import back_up
from storage.errors import StoreFull
from storage.records import Batch, Event
from tests.storage.test_store_backup import files, fill
from tests.storage.worlds import NOW


def test_no_room_for_a_copy_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path / "store.db").close()
    real = os.statvfs

    def full(path: str | Path) -> os.statvfs_result:
        found = list(real(path))
        found[4] = 3  # f_bavail
        return os.statvfs_result(found)

    monkeypatch.setattr(os, "statvfs", full)
    with pytest.raises(StoreFull, match=r"no room for the copy in .*: it needs 0\.00 GB of 0\.00 GB"):
        back_up(str(tmp_path / "store.db"), tmp_path / "copy.db")
    assert files(tmp_path) == {"store.db"}


def test_a_disk_that_fills_up_under_the_copy_is_the_one_that_is_named(tmp_path: Path) -> None:
    """The store's own may have room for years."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    small, store = tmp_path / "small", fill(tmp_path / "store.db")
    small.mkdir()
    store.commit(Batch(events=[Event(0, NOW, "a", "k", f"{number:0800d}") for number in range(2600)]), NOW)
    mount = ["mount", "-t", "tmpfs", "-o", "size=3072k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("no file system can be mounted here")

    def use_up(_what: str, _done: int, _of: int) -> None:
        with suppress(OSError), (small / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65536))

    try:
        with pytest.raises(StoreFull, match=rf"no room left for the store {small}/copy\.db\.part: free"):
            back_up(str(tmp_path / "store.db"), small / "copy.db", progress=use_up)
        assert files(small) == {"filler"}
    finally:
        subprocess.run(["umount", "--lazy", str(small)], check=True)
        store.close()
