"""Chunks: the numbers of one series and hour as a blob, and back with the same bits.

`encode` chooses the format and its name goes into the column `codec`; every name ever written stays readable:

    unknown         no number at all, no blob
    constant        one and the same number at every tick, no blob: it stands in the row's `first`
    forgotten       the blob was given up; only the summary is left
    pco.KIND        pcodec
    zlib.KIND       differences, their bytes sorted by place, deflated: for a Python without pcodec

KIND is what the numbers are kept as: d0, d1, d2 or d3, as integers, each the number × 10ⁿ, where every one of them is a
decimal fraction of n digits; f64, as they are.

Behind each blob stands its CRC-32, since a flipped bit would else come back as a number like any other.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from pcodec import ChunkConfig, DeltaSpec, standalone

from storage.errors import StoreBroken
from telemetry.frame import Floats, Ints

UNKNOWN, CONSTANT, FORGOTTEN = "unknown", "constant", "forgotten"
UNREADABLE = "unreadable"
"""Never written: stands for a row that the database itself cannot read."""
PCO, ZLIB = "pco", "zlib"
FAMILIES = (PCO, ZLIB)
"""What can be chosen for writing."""
FLOAT = "f64"
SCALES = {"d0": 1.0, "d1": 10.0, "d2": 100.0, "d3": 1000.0}
"""Kind → what a number was multiplied with. Readings have few digits, and integers take a sixth less room."""
EXACT = 2.0**53
"""Below this every whole number is one float and one integer."""
LEVEL = 8
DELTAS = (DeltaSpec.auto(), DeltaSpec.try_consecutive(1), DeltaSpec.try_consecutive(2))
"""What pcodec may compress: what it chooses itself by a look at some of the numbers, differences, and theirs. The
smallest is kept: its own choice is twice as large now and then, and 3 % over all."""
CONFIGS = tuple(ChunkConfig(compression_level=LEVEL, delta_spec=delta) for delta in DELTAS)
DEFLATE = 6
SUM = struct.Struct("<I")

Words = npt.NDArray[Any]


def encode(values: Floats, family: str = PCO) -> tuple[str, bytes | None]:
    """float64[n] as (codec, blob): the family's format of it, or "unknown" or "constant" without a blob."""
    if np.isnan(values).all():
        return UNKNOWN, None
    if _same(values):
        return CONSTANT, None
    for kind, scale in SCALES.items():
        whole = _whole(values, scale)
        if whole is not None:
            return f"{family}.{kind}", pack(whole, family)
    return f"{family}.{FLOAT}", pack(np.ascontiguousarray(values, dtype=np.float64), family)


def _same(values: Floats) -> bool:
    """Whether all are one finite number that a column of the database gives back; -0.0 would come back as 0.0."""
    first = values[0]
    return bool(np.isfinite(first) and (values == first).all() and not np.signbit(values[values == 0]).any())


def _whole(values: Floats, scale: float) -> Ints | None:
    """int64[n] of the numbers × scale, None where one of them would not come back with the same bits."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = values * scale
    if not (np.abs(scaled) < EXACT).all():
        return None
    whole = np.rint(scaled).astype(np.int64)
    return whole if ((whole / scale).view(np.int64) == values.view(np.int64)).all() else None


def decode(codec: str, blob: bytes | None, first: float | None, into: Floats, what: object) -> None:
    """Write the numbers of a chunk into float64[n], contiguous.

    first: the row's `first`, which a constant is. what: names the chunk in StoreBroken, for one that is damaged, of
    another length, or in a format that this version does not know. A forgotten chunk is unknown.
    """
    if codec in (UNKNOWN, FORGOTTEN):
        into.fill(np.nan)
    elif codec == UNREADABLE:
        raise StoreBroken(f"{what} cannot be read: the file is damaged there")
    elif codec == CONSTANT:
        if first is None:
            raise StoreBroken(f"{what} is damaged: it is constant, but has no number")
        into.fill(first)
    elif codec not in _READ:
        raise StoreBroken(f"{what} is in a format that this version does not know: {codec}")
    else:
        read, scale = _READ[codec]
        if scale is None:
            read(checked(blob, what), into, what)
            return
        numbers = np.empty(len(into), dtype=np.int64)
        read(checked(blob, what), numbers, what)
        if scale == 1.0:
            into[:] = numbers  # in a third of a division's time
        else:
            np.divide(numbers, scale, out=into)


def pack(numbers: Words, family: str) -> bytes:
    """int64[n] or float64[n], contiguous, as a blob with its sum."""
    return summed(_PACK[family](numbers))


def unpack(family: str, blob: bytes | None, count: int, what: object) -> Ints:
    """int64[count] of `pack`."""
    if family not in FAMILIES:
        raise StoreBroken(f"{what} is in a format that this version does not know: {family}")
    numbers = np.empty(count, dtype=np.int64)
    _UNPACK[family](checked(blob, what), numbers, what)
    return numbers


def summed(data: bytes) -> bytes:
    """Data with its checksum behind it."""
    return data + SUM.pack(zlib.crc32(data))


def checked(blob: bytes | None, what: object) -> bytes:
    """What `summed` was given; StoreBroken when it was something else."""
    if blob is None or len(blob) < SUM.size:
        raise StoreBroken(f"{what} is damaged: its data is missing")
    data = blob[: -SUM.size]
    if SUM.unpack_from(blob, len(data))[0] != zlib.crc32(data):
        raise StoreBroken(f"{what} is damaged: its checksum is wrong")
    return data


def _pack_pco(numbers: Words) -> bytes:
    return min((bytes(standalone.simple_compress(numbers, config)) for config in CONFIGS), key=len)


def _unpack_pco(data: bytes, into: Words, what: object) -> None:
    try:
        progress = standalone.simple_decompress_into(data, into)
    except (RuntimeError, TypeError) as error:
        raise StoreBroken(f"{what} is damaged: {error}") from error
    if progress.n_processed != len(into) or not progress.finished:
        raise StoreBroken(f"{what} is damaged: it does not hold {len(into)} numbers")


def _pack_zlib(numbers: Words) -> bytes:
    words = numbers.view(np.uint64)
    steps = np.diff(words, prepend=np.zeros(1, dtype=np.uint64))
    return zlib.compress(steps.astype("<u8").view(np.uint8).reshape(-1, 8).T.tobytes(), DEFLATE)


def _unpack_zlib(data: bytes, into: Words, what: object) -> None:
    try:
        raw = np.frombuffer(zlib.decompress(data), dtype=np.uint8)
    except zlib.error as error:
        raise StoreBroken(f"{what} is damaged: {error}") from error
    if len(raw) != 8 * len(into):
        raise StoreBroken(f"{what} is damaged: it does not hold {len(into)} numbers")
    steps = np.ascontiguousarray(raw.reshape(8, -1).T).view("<u8").ravel()
    np.cumsum(steps, dtype=np.uint64, out=into.view(np.uint64))


_PACK: Mapping[str, Callable[[Words], bytes]] = {PCO: _pack_pco, ZLIB: _pack_zlib}
_UNPACK: Mapping[str, Callable[[bytes, Words, object], None]] = {PCO: _unpack_pco, ZLIB: _unpack_zlib}
_READ: Mapping[str, tuple[Callable[[bytes, Words, object], None], float | None]] = {
    f"{family}.{kind}": (_UNPACK[family], scale)
    for family in FAMILIES
    for kind, scale in {**SCALES, FLOAT: None}.items()
}
"""codec → what reads it, and what its integers are divided by."""
