"""Clocks: ticks, instants and layouts of an hour as one blob."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.chunks import FAMILIES
from storage.clocks import Decoder, Place, Reading, encode
from storage.errors import StoreBroken
from telemetry.model import Series
from tests.storage.worlds import NOW

PLACE = Place("clock", "spark-01", NOW)


def reading(ticks: list[int], lags: list[int], layouts: list[int]) -> Reading:
    """A reading of plain numbers."""
    return Reading(np.array(ticks), np.array(lags), np.array(layouts))


@pytest.mark.parametrize("family", FAMILIES)
@given(
    data=st.data(),
    ticks=st.lists(st.integers(0, 3_599_999), min_size=1, max_size=20, unique=True).map(sorted),
    around=st.sampled_from([0, 1, -1, 255, 256, -300, 10**9]),
    wide=st.sampled_from([0, 5, 255, 256, 10**6]),
)
def test_what_comes_back(data: st.DataObject, ticks: list[int], around: int, wide: int, family: str) -> None:
    count = len(ticks)
    lags = data.draw(st.lists(st.integers(around, around + wide), min_size=count, max_size=count))
    layouts = data.draw(st.lists(st.integers(1, 2**40), min_size=count, max_size=count))
    found = Decoder().decode(family, encode(reading(ticks, lags, layouts), family), count, PLACE)
    assert found.ticks.tolist() == ticks
    assert found.at_ms.tolist() == [tick + lag for tick, lag in zip(ticks, lags, strict=True)]
    assert found.layout.tolist() == layouts


def test_lags_within_a_byte_are_a_byte_each() -> None:
    ticks, layouts = list(range(0, 3_600_000, 1000)), [7] * 3600
    near = encode(reading(ticks, [place * 37 % 256 - 100 for place in range(3600)], layouts), "pco")
    assert 3600 < len(near) < 3800


def test_targets_that_are_read_together_share_their_ticks() -> None:
    decoder = Decoder()
    blobs = [encode(reading([1, 2, 4], lags, [layout] * 3), "pco") for lags, layout in (([5, 6, 7], 1), ([9, 9, 9], 2))]
    one, other = (decoder.decode("pco", blob, 3, PLACE) for blob in blobs)
    assert one.ticks is other.ticks
    assert other.at_ms.tolist() == [10, 11, 13]
    assert other.layout.tolist() == [2, 2, 2]


@pytest.mark.parametrize("lags", [[5, 6, 7], [0, 0, 5000]])
def test_a_damaged_clock_is_named(lags: list[int]) -> None:
    blob = encode(reading([1, 2, 4], lags, [1, 1, 1]), "pco")
    message = "the clock of spark-01 in the hour of 2026-11-30T01:00Z is damaged"
    for length in range(len(blob)):
        with pytest.raises(StoreBroken, match=message):
            Decoder().decode("pco", blob[:length], 3, PLACE)
    for place in range(len(blob)):
        broken = bytearray(blob)
        broken[place] ^= 1
        with pytest.raises(StoreBroken, match=message):
            Decoder().decode("pco", bytes(broken), 3, PLACE)
    for count in (2, 4):
        with pytest.raises(StoreBroken, match=f"{message}: it does not hold {count} numbers"):
            Decoder().decode("pco", blob, count, PLACE)
    with pytest.raises(StoreBroken, match=f"{message}: its data is missing"):
        Decoder().decode("pco", None, 3, PLACE)


def test_lags_of_another_length_are_named() -> None:
    blob = encode(reading([1, 2], [5, 6], [1, 1]), "zlib")
    other = encode(reading([1, 2], [5, 5000], [1, 1]), "zlib")
    one_more = encode(reading([1, 2, 3], [5, 6, 7], [1, 1, 1]), "zlib")
    first = int.from_bytes(blob[:4], "little")
    lags = one_more[8 + int.from_bytes(one_more[:4], "little") :][: int.from_bytes(one_more[4:8], "little")]
    mixed = blob[:4] + len(lags).to_bytes(4, "little") + blob[8 : 8 + first] + lags
    mixed += blob[8 + first + int.from_bytes(blob[4:8], "little") :]
    with pytest.raises(StoreBroken, match="it does not hold 2 numbers"):
        Decoder().decode("zlib", mixed, 2, PLACE)
    assert Decoder().decode("zlib", other, 2, PLACE).at_ms.tolist() == [6, 5002]


def test_places_have_names() -> None:
    one = Series("head", "ttft_bucket", (("engine", "0"), ("le", "0.5")))
    hour = "in the hour of 2026-11-30T01:00Z"
    assert str(Place("chunk", one, NOW)) == f"the chunk of ttft_bucket engine=0 le=0.5 of head {hour}"
    assert str(PLACE) == f"the clock of spark-01 {hour}"
