"""A map of numbers as a PNG of one hue, for light and dark ground: nodes are rows, time runs to the right."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

HUE, GREY = (52, 124, 209), (128, 128, 128)
STEPS = 32
FAINTEST = 0.07
"""How much of the hue the least number has."""
NOT_KNOWN = 0.45
"""How much grey there is where nothing is known."""


def png(rows: Sequence[Sequence[float | None]], low: float, high: float) -> bytes:
    """One pixel per number. Numbers from low to high; None is grey."""
    width = len(rows[0])
    palette = bytes(GREY) + bytes(HUE) * STEPS
    strength = [
        round(255 * NOT_KNOWN),
        *(round(255 * (FAINTEST + (1 - FAINTEST) * step / (STEPS - 1))) for step in range(STEPS)),
    ]
    body = b"".join(b"\0" + bytes(_step(value, low, high) for value in row) for row in rows)
    head = struct.pack(">IIBBBBB", width, len(rows), 8, 3, 0, 0, 0)
    chunks = (
        (b"IHDR", head),
        (b"PLTE", palette),
        (b"tRNS", bytes(strength)),
        (b"IDAT", zlib.compress(body, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _step(value: float | None, low: float, high: float) -> int:
    if value is None:
        return 0
    share = 0.5 if high <= low else (value - low) / (high - low)
    return 1 + min(max(int(share * STEPS), 0), STEPS - 1)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def address(image: bytes) -> str:
    """The picture as something that can stand in a page."""
    return f"data:image/png;base64,{base64.b64encode(image).decode()}"
