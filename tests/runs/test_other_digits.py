"""Positions of drafts are what an engine says: a digit that `int` does not read is a text like any other."""

from __future__ import annotations

from runs.speculation import _place


def test_numbers_come_first_in_their_order() -> None:
    assert sorted(["10", "x", "\u00b2", "2", "\u0663", "0"], key=_place) == ["0", "2", "10", "x", "\u00b2", "\u0663"]
