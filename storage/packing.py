"""The order in which chunks are written, so that the pages of their table become full.

A row that does not fit into what is left of a page begins the next one. Chunks are up to a page long: in the order of
their series a fourth of the file would stay empty. The order says nothing else: chunks are found by their key.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from storage.sqlite import PAGE_BYTES

PAGE_HEAD = 8
"""Bytes that a page of rows begins with."""
ROW_BYTES = 96
"""What a row takes beside its blob, at most: its lengths, key, summary and the name of the codec."""
POINTER = 4
"""Number of the page on which a row too long for one goes on. (How much of it stays is SQLite's file format.)"""


def order(sizes: Sequence[int], page_bytes: int = PAGE_BYTES) -> list[int]:
    """Positions of blobs (their bytes) in the order in which they fill pages: of those that fit into what is left of a
    page always the largest; where none does, the next page begins with the largest of all."""
    room = page_bytes - PAGE_HEAD
    left = sorted((on_page(size, page_bytes), position) for position, size in enumerate(sizes))
    found: list[int] = []
    free = room
    while left:
        place = bisect_right(left, (free, len(sizes))) - 1
        if place < 0:
            place, free = len(left) - 1, room
        size, position = left.pop(place)
        free -= size
        found.append(position)
    return found


def on_page(size: int, page_bytes: int = PAGE_BYTES) -> int:
    """Bytes that a row with a blob of this size takes on its page; what is longer than a page goes on on others."""
    whole = size + ROW_BYTES
    if whole <= page_bytes - 35:
        return whole
    least = (page_bytes - 12) * 32 // 255 - 23
    local = least + (whole - least) % (page_bytes - 4)
    return (local if local <= page_bytes - 35 else least) + POINTER
