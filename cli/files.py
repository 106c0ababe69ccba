"""Files of people: read whole, and never without an end."""

from __future__ import annotations

from pathlib import Path

PIECE = MOST_TEXT = 1 << 20


def whole(path: Path, most: int) -> bytes:
    """What a file, a pipe or a device holds; ValueError where it is more than so many bytes. OSError.

    A size that is asked for beforehand says nothing of devices and pipes, and a file may grow meanwhile.
    """
    with path.open("rb") as file:
        data = file.read(min(path.stat().st_size, most) + 1)
        while len(data) <= most and (piece := file.read(PIECE)):
            data += piece
    if len(data) > most:
        raise ValueError(f"{path.name}: larger than {most >> 20} MiB")
    return data


def text_of(path: Path) -> str:
    """A file that people wrote by hand, or that holds a secret; ValueError, also for what is no UTF-8. OSError."""
    return whole(path, MOST_TEXT).decode("utf-8")
