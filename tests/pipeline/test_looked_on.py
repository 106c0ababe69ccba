"""Ticks at which nobody answered, out of rows and absences."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.looked_on import looked_on, silences, with_ticks
from storage.records import Absence
from telemetry.catalog import cluster
from telemetry.frame import Frame, empty
from tests.alerts.samples import NAN, START_MS, frame, of_node

REFUSED = "refused: the host is alive, but no agent listens there"


def rows(**seconds: str) -> Frame:
    """Of each target a sign a second: # it answered, . it did not; a second without any has no tick."""
    found = frame({of_node(name, cluster.SCRAPE_SECONDS.name): [1.0 if one == "#" else NAN for one in signs]
                   for name, signs in seconds.items()})  # fmt: skip
    return found.watched()


def away(target: str, start_s: int, end_s: int | None, reason: str = REFUSED) -> Absence:
    return Absence(target, None, START_MS + start_s * 1000, None if end_s is None else START_MS + end_s * 1000, reason)


def seconds(ticks: np.ndarray) -> list[int]:
    return ((ticks - START_MS) // 1000).tolist()


@pytest.mark.parametrize(
    ("signs", "absent", "start_s", "end_s", "expected"),
    [
        ({"a": "###....###"}, [away("a", 3, 7)], 0, 9, [3, 4, 5, 6]),
        ({"a": "###....###"}, [], 0, 9, []),
        ({"a": "###....###"}, [away("b", 3, 7)], 0, 9, []),
        ({"a": "###....###", "b": "###....###"}, [away("a", 3, 7)], 0, 9, []),
        ({"a": "###....###", "b": "###....###"}, [away("a", 3, 7), away("b", 4, 7)], 0, 9, [3, 4, 5, 6]),
        ({"a": "###....###", "b": "..........", "c": "###.######"}, [away("a", 3, 7), away("c", 3, 4)], 0, 9, [3]),
        ({"a": "###....###", "b": "##########"}, [away("a", 3, 7)], 0, 9, []),
        ({"a": "###.###"}, [away("a", 3, 4)], 0, 6, [3]),
        ({"a": "###......."}, [away("a", 3, None)], 0, 9, [3, 4, 5, 6, 7, 8, 9]),
        ({"a": "###......."}, [away("a", 3, None)], 5, 7, [5, 6, 7]),
        ({"a": "......####"}, [away("a", 2, 6)], 0, 9, [2, 3, 4, 5]),
        ({"a": "#.........", "b": "#########."}, [away("a", 1, None)], 0, 9, []),
        ({"a": "###..##..##"}, [away("a", 3, 5)], 0, 10, [3, 4]),
        ({"a": "###..##..##"}, [away("a", 7, 9)], 0, 10, [7, 8]),
        ({"a": "###....###"}, [away("a", 3, 5)], 0, 9, [3, 4]),
        ({"a": "###....###", "b": ".......###"}, [away("a", 3, 7)], 0, 9, [3, 4, 5, 6]),
        ({"a": "#####....#", "b": "#........."}, [away("a", 5, 9)], 0, 9, [5, 6, 7, 8]),
        ({"a": "###....###", "b": "#####..###"}, [away("a", 3, 7), away("b", 5, 7)], 0, 9, [5, 6]),
        ({"a": "####...###", "b": "#####..###"}, [away("a", 4, 7), away("b", 5, 7)], 0, 9, [5, 6]),
        ({"a": "###....###", "b": "####...###"}, [away("a", 3, 7), away("b", 4, 5)], 0, 9, [4, 5, 6]),
    ],
    ids=[
        "it was silent",
        "nobody knows why: the collector was away",
        "it is another that was silent",
        "one of two is not known to be silent: the collector was away",
        "both were silent",
        "another answered again at once",
        "another answered on",
        "for one tick",
        "it is silent still",
        "an hour within a silence",
        "it was silent from the first tick on",
        "one that answered on, and then the collector was away",
        "it was silent, and later the collector was away",
        "the collector was away, and later it was silent",
        "it was silent, and the collector was away before it answered again",
        "one that answered for the first time after the silence",
        "one that was given up long before",
        "one fell silent before the other",
        "one fell silent at the last tick of the other",
        "of one only the beginning of its silence is known",
    ],
)
def test_ticks_of_which_no_row_tells(
    signs: dict[str, str], absent: list[Absence], start_s: int, end_s: int, expected: list[int]
) -> None:
    found = looked_on(rows(**signs), absent, START_MS + start_s * 1000, START_MS + end_s * 1000, 1000)
    assert seconds(found) == expected


def test_ticks_are_in_step_with_the_silence_also_where_no_row_is_near() -> None:
    absent = [Absence("a", None, START_MS + 1_300, None, REFUSED)]
    found = looked_on(empty(), absent, START_MS + 100_000, START_MS + 115_000, 5000)
    assert (found - START_MS).tolist() == [101_300, 106_300, 111_300]


def test_silences_are_of_targets_that_were_asked() -> None:
    those = [away("a", 3, 7), away("a", 9, None), away("b", 3, 7, "damaged: an hour cannot be read")]
    between = (START_MS + 7_000, START_MS + 8_000)
    assert silences(those, *between) == [those[0]]
    assert silences(those, between[0] + 1, START_MS + 9_000) == [those[1]]


def test_nothing_was_read_at_ticks_that_are_put_in() -> None:
    before = frame({of_node("a", cluster.SCRAPE_SECONDS.name): [1.0, 2.0, 3.0]})
    assert with_ticks(before, before.ticks[1:]) is before
    found = with_ticks(before, np.array([START_MS + 500, START_MS + 1000], dtype=np.int64))
    assert (found.ticks - START_MS).tolist() == [0, 500, 1000, 2000]
    assert np.array_equal(found.values, [[1.0, NAN, 2.0, 3.0]], equal_nan=True)
    assert np.array_equal(found.at_ms - START_MS, [[0, NAN, 1000, 2000]], equal_nan=True)
    assert found.breaks.sum() == 0
    assert found.gap_ms.tolist() == before.gap_ms.tolist()
