"""Chunks: the numbers of one series and hour as a blob, and back with the same bits.

`encode` chooses the format and its name goes into the column `codec`; every name ever written stays readable:

    unknown         no number at all, no blob
    constant        one and the same number at every tick, no blob: it stands in the row's `first`
    forgotten       the blob was given up; only the summary is left
    pco.i64 .f64    pcodec, of whole numbers as integers where all are, else of floats
    zlib.i64 .f64   differences, their bytes sorted by place, deflated: for a Python without pcodec

Behind each blob stands its CRC-32, since a flipped bit would else come back as a number like any other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, standalone

from storage.errors import StoreBroken
from telemetry.frame import Floats, Ints

UNKNOWN, CONSTANT, FORGOTTEN = "unknown", "constant", "forgotten"
PCO, ZLIB = "pco", "zlib"
FAMILIES = (PCO, ZLIB)
"""What can be chosen for writing."""
WHOLE, FLOAT = ".i64", ".f64"

EXACT = 2.0**53
"""Below this every whole number is one float and one integer."""
LEVEL = ChunkConfig(compression_level=8)
DEFLATE = 6
SUM = struct.Struct("<I")

Words = npt.NDArray[Any]


def encode(values: Floats, family: str = PCO) -> tuple[str, bytes | None]:
    """float64[n] as (codec, blob): the family's format of it, or "unknown" or "constant" without a blob."""
    if np.isnan(values).all():
        return UNKNOWN, None
    if _same(values):
        return CONSTANT, None
    whole = _whole(values)
    if whole is not None:
        return family + WHOLE, pack(whole, family)
    return family + FLOAT, pack(np.ascontiguousarray(values, dtype=np.float64), family)


def _same(values: Floats) -> bool:
    """Whether all are one finite number that a column of the database gives back; -0.0 would come back as 0.0."""
    first = values[0]
    return bool(np.isfinite(first) and (values == first).all() and not np.signbit(values[values == 0]).any())


def _whole(values: Floats) -> Ints | None:
    """int64[n] of the same numbers, None where one of them is none or would not come back with the same bits."""
    if not (np.abs(values) < EXACT).all():
        return None
    whole = values.astype(np.int64)
    return whole if (whole.astype(np.float64).view(np.int64) == values.view(np.int64)).all() else None


def decode(codec: str, blob: bytes | None, first: float | None, into: Floats, what: object) -> None:
    """Write the numbers of a chunk into float64[n], contiguous.

    first: the row's `first`, which a constant is. what: names the chunk in StoreBroken, for one that is damaged, of
    another length, or in a format that this version does not know. A forgotten chunk is unknown.
    """
    if codec in (UNKNOWN, FORGOTTEN):
        into.fill(np.nan)
    elif codec == CONSTANT:
        if first is None:
            raise StoreBroken(f"{what} is damaged: it is constant, but has no number")
        into.fill(first)
    elif codec.endswith(WHOLE):
        into[:] = unpack(codec.removesuffix(WHOLE), blob, len(into), what)
    else:
        family = codec.removesuffix(FLOAT)
        _reader(family if family != codec else "", codec, what)(_checked(blob, what), into, what)


def pack(numbers: Words, family: str) -> bytes:
    """int64[n] or float64[n], contiguous, as a blob with its sum."""
    data = _PACK[family](numbers)
    return data + SUM.pack(zlib.crc32(data))


def unpack(family: str, blob: bytes | None, count: int, what: object) -> Ints:
    """int64[count] of `pack`."""
    numbers = np.empty(count, dtype=np.int64)
    _reader(family, family, what)(_checked(blob, what), numbers, what)
    return numbers


def _checked(blob: bytes | None, what: object) -> memoryview:
    if blob is None or len(blob) < SUM.size:
        raise StoreBroken(f"{what} is damaged: its data is missing")
    data = memoryview(blob)[: -SUM.size]
    if SUM.unpack_from(blob, len(data))[0] != zlib.crc32(data):
        raise StoreBroken(f"{what} is damaged: its checksum is wrong")
    return data


def _reader(family: str, codec: str, what: object) -> Callable[[memoryview, Words, object], None]:
    found = _UNPACK.get(family)
    if found is None:
        raise StoreBroken(f"{what} is in a format that this version does not know: {codec!r}")
    return found


def _pack_pco(numbers: Words) -> bytes:
    return bytes(standalone.simple_compress(numbers, LEVEL))


def _unpack_pco(data: memoryview, into: Words, what: object) -> None:
    try:
        progress = standalone.simple_decompress_into(bytes(data), into)
    except (RuntimeError, TypeError) as error:
        raise StoreBroken(f"{what} is damaged: {error}") from error
    if progress.n_processed != len(into) or not progress.finished:
        raise StoreBroken(f"{what} is damaged: it does not hold {len(into)} numbers")


def _pack_zlib(numbers: Words) -> bytes:
    words = numbers.view(np.uint64)
    steps = np.diff(words, prepend=np.zeros(1, dtype=np.uint64))
    return zlib.compress(steps.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes(), DEFLATE)


def _unpack_zlib(data: memoryview, into: Words, what: object) -> None:
    try:
        raw = np.frombuffer(zlib.decompress(data), dtype=np.uint8)
    except zlib.error as error:
        raise StoreBroken(f"{what} is damaged: {error}") from error
    if len(raw) != 8 * len(into):
        raise StoreBroken(f"{what} is damaged: it does not hold {len(into)} numbers")
    steps = np.ascontiguousarray(raw.reshape(8, -1).T).view("<u8").ravel()
    np.cumsum(steps, dtype=np.uint64, out=into.view(np.uint64))


_PACK: Mapping[str, Callable[[Words], bytes]] = {PCO: _pack_pco, ZLIB: _pack_zlib}
_UNPACK: Mapping[str, Callable[[memoryview, Words, object], None]] = {PCO: _unpack_pco, ZLIB: _unpack_zlib}
