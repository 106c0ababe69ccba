"""Chunks: every number comes back with the same bits, and a damaged one is named instead of believed."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pcodec import standalone

from storage.chunks import CONFIGS, FAMILIES, SUM, decode, encode, pack, unpack
from storage.errors import StoreBroken

NAN, INF = math.nan, math.inf
TINY = 5e-324
WHAT = "the chunk of x in hour 7"
ODD = [0.0, -0.0, NAN, INF, -INF, TINY, -TINY, 2.0**53, 2.0**53 + 2, -(2.0**63), 1e308, 0.1]


def again(values: list[float], family: str = "pco") -> tuple[str, np.ndarray]:
    """The codec's name, and what comes back."""
    array = np.array(values, dtype=np.float64)
    codec, blob = encode(array, family)
    assert (blob is None) == (codec in ("unknown", "constant"))
    into = np.full(len(values), 123.0)
    decode(codec, blob, values[0] if values else None, into, WHAT)
    return codec, into


def same_bits(one: np.ndarray, other: list[float]) -> bool:
    """Whether all have the same bits."""
    return one.view(np.uint64).tolist() == np.array(other, dtype=np.float64).view(np.uint64).tolist()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([], "unknown"),
        ([NAN], "unknown"),
        ([NAN, NAN], "unknown"),
        ([7.5], "constant"),
        ([0.0, 0.0], "constant"),
        ([-3.0] * 5, "constant"),
        ([-0.0], ".f64"),
        ([0.0, -0.0], ".f64"),
        ([-0.0, -0.0], ".f64"),
        ([INF, INF], ".f64"),
        ([5.0, NAN], ".f64"),
        ([NAN, 5.0], ".f64"),
        ([1.0, 2.0], ".d0"),
        ([0.0, 1.0], ".d0"),
        ([1.0, 2.5], ".d1"),
        ([0.25, 1.0], ".d2"),
        ([0.123, 40.1], ".d3"),
        ([0.1234, 40.1], ".f64"),
        ([0.1 + 0.2, 40.1], ".f64"),
        ([-0.0, 40.1], ".f64"),
        ([1e300, 1e307], ".f64"),
        ([2.0**53 / 10, 0.5], ".f64"),
        ([NAN, 0.5, 0.75], ".f64"),
        ([1.0, 2.0**53 - 1], ".d0"),
        ([1.0, 2.0**53], ".f64"),
        ([1.0, -(2.0**53) + 1], ".d0"),
        ([1.0, -(2.0**53)], ".f64"),
        ([1.0, INF], ".f64"),
        (ODD, ".f64"),
        (ODD * 300, ".f64"),
    ],
)
def test_what_becomes_of_numbers(values: list[float], kind: str, family: str) -> None:
    codec, found = again(values, family)
    assert codec == (family + kind if kind.startswith(".") else kind)
    assert same_bits(found, values)


@pytest.mark.parametrize("family", FAMILIES)
@given(
    values=st.lists(
        st.floats() | st.integers(-(2**53), 2**53).map(float) | st.integers(-9999, 9999).map(lambda n: n / 100),
        max_size=50,
    )
)
def test_any_numbers_come_back(values: list[float], family: str) -> None:
    assert same_bits(again(values, family)[1], values)


@pytest.mark.parametrize("family", FAMILIES)
@given(values=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
def test_any_integers_come_back(values: list[int], family: str) -> None:
    blob = pack(np.array(values, dtype=np.int64), family)
    assert unpack(family, blob, len(values), WHAT).tolist() == values


def test_an_hour_of_readings_is_small() -> None:
    random = np.random.default_rng(7)
    power = np.round(40 + np.cumsum(random.normal(0, 0.3, 3600)), 1)
    packed = {family: len(encode(power, family)[1] or b"") for family in FAMILIES}
    assert packed["pco"] < 1900
    assert packed["zlib"] < 8000
    strided = np.stack([power, power], axis=1)[:, 0]
    codec, blob = encode(strided)
    into = np.empty(3600)
    decode(codec, blob, None, into, WHAT)
    assert (into == power).all()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0], [0.5, 2.0, 4.0], [math.pi, 2.0, 4.0]])
def test_a_damaged_blob_is_named(values: list[float], family: str) -> None:
    codec, blob = encode(np.array(values), family)
    assert blob is not None
    into = np.empty(3)
    for length in range(len(blob)):
        with pytest.raises(StoreBroken, match=f"{WHAT} is damaged"):
            decode(codec, blob[:length], None, into, WHAT)
    for place in range(len(blob)):
        flipped = bytearray(blob)
        flipped[place] ^= 16
        with pytest.raises(StoreBroken, match=f"{WHAT} is damaged: its checksum is wrong"):
            decode(codec, bytes(flipped), None, into, WHAT)
    for count in (0, 1, 2, 4):
        with pytest.raises(StoreBroken, match=f"{WHAT} is damaged: it does not hold {count} numbers"):
            decode(codec, blob, None, np.empty(count), WHAT)
    with pytest.raises(StoreBroken, match="its data is missing"):
        decode(codec, None, None, into, WHAT)


@pytest.mark.parametrize("codec", ["pco.f64", "pco.d1", "zlib.f64", "zlib.d1"])
def test_a_blob_of_something_else_is_named(codec: str) -> None:
    other = b"something else"
    with pytest.raises(StoreBroken, match=f"{WHAT} is damaged"):
        decode(codec, other + zlib.crc32(other).to_bytes(4, "little"), None, np.empty(3), WHAT)


def test_integers_are_not_read_as_floats() -> None:
    _, blob = encode(np.array([1.0, 2.0]))
    with pytest.raises(StoreBroken, match="is damaged"):
        decode("pco.f64", blob, None, np.empty(2), WHAT)


@pytest.mark.parametrize("codec", ["", "pco", "zstd.f64", ".f64", "pco.f32", "pco.", "pco.d4", "zstd.d0"])
def test_an_unknown_format_is_named(codec: str) -> None:
    with pytest.raises(StoreBroken, match=f"{WHAT} is in a format that this version does not know"):
        decode(codec, b"1234567", None, np.empty(2), WHAT)


def test_a_clock_in_an_unknown_format_is_named() -> None:
    with pytest.raises(StoreBroken, match=f"{WHAT} is in a format that this version does not know: zstd"):
        unpack("zstd", b"1234567", 2, WHAT)


def test_what_has_no_blob() -> None:
    into = np.zeros(3)
    decode("forgotten", None, 5.0, into, WHAT)
    assert np.isnan(into).all()
    decode("constant", None, 5.0, into, WHAT)
    assert into.tolist() == [5.0] * 3
    decode("unknown", None, 5.0, into, WHAT)
    assert np.isnan(into).all()
    with pytest.raises(StoreBroken, match=f"{WHAT} is damaged: it is constant, but has no number"):
        decode("constant", None, None, into, WHAT)


def test_the_smallest_of_what_pcodec_can_do_is_kept() -> None:
    random = np.random.default_rng(4)
    rare = np.cumsum(random.random(3600) < 0.002) * 13_000_000
    smooth = np.rint(1e9 + 4096 * np.cumsum(np.cumsum(random.normal(0, 3, 3600)))).astype(np.int64)
    noise = random.integers(0, 6, 3600)
    for numbers, most in ((rare, 90), (smooth, 7200), (noise, 1300)):
        sizes = [len(standalone.simple_compress(numbers, config)) for config in CONFIGS]
        blob = pack(numbers, "pco")
        assert len(blob) == min(sizes) + SUM.size < most
        assert (unpack("pco", blob, 3600, WHAT) == numbers).all()
