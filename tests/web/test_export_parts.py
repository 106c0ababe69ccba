"""Files are sent in parts, so that a slow client has time for each."""

from __future__ import annotations

import os

from dashboard.api.download import PART_BYTES, _until_done


def test_pieces_are_sent_in_parts() -> None:
    """The server gives all of what is sent at once the same time, however much it is."""
    freed: list[bool] = []
    pieces = [os.urandom(2 * PART_BYTES + 1), b"small", os.urandom(PART_BYTES), b""]
    found = list(_until_done(pieces, lambda: freed.append(True)))
    assert [len(one) for one in found] == [PART_BYTES, PART_BYTES, 1, 5, PART_BYTES, 0]
    assert b"".join(found) == b"".join(pieces)
    assert freed == [True]
