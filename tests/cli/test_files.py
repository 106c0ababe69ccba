"""Files that people name: never read without an end."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.files import text_of, whole


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "some"
    path.write_bytes(b"x" * (2 << 20))
    assert whole(path, 2 << 20) == b"x" * (2 << 20)
    with pytest.raises(ValueError, match=r"^some: larger than 1 MiB$"):
        whole(path, 1 << 20)


def test_a_device_without_an_end_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^zero: larger than 4 MiB$"):
        whole(Path("/dev/zero"), 4 << 20)
    with pytest.raises(ValueError, match=r"^zero: larger than 1 MiB$"):
        text_of(Path("/dev/zero"))
