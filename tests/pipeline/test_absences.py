"""Absences open, change their reason, and close; what happened is told once."""

from __future__ import annotations

from pipeline.absences import AbsenceBook
from storage.records import Absence

NODE = ("spark-01", None)
POWER = ("spark-01", "gpu_power_watts")


def test_one_that_opens_is_told_once_and_closes_with_its_end() -> None:
    book = AbsenceBook()
    book.missing(NODE, "timed out", 1000)
    book.missing(NODE, "timed out", 2000)
    assert book.drain() == ([Absence("spark-01", None, 1000, None, "timed out")], [])
    assert book.drain() == ([], [])
    book.present(NODE, 5000)
    assert book.drain() == ([], [Absence("spark-01", None, 1000, 5000, "timed out")])
    book.present(NODE, 6000)
    assert book.drain() == ([], [])


def test_a_new_reason_starts_a_new_absence() -> None:
    book = AbsenceBook()
    book.missing(NODE, "timed out", 1000)
    book.missing(NODE, "refused", 3000)
    opened, closed = book.drain()
    assert opened == [
        Absence("spark-01", None, 1000, None, "timed out"),
        Absence("spark-01", None, 3000, None, "refused"),
    ]
    assert closed == [Absence("spark-01", None, 1000, 3000, "timed out")]


def test_metrics_of_an_answering_target() -> None:
    book = AbsenceBook()
    book.missing(NODE, "timed out", 500)
    book.missing(("spark-02", "gpu_power_watts"), "lost", 500)
    book.metrics("spark-01", {"gpu_power_watts": "not supported", "sm_clock_hertz": "lost"}, 1000)
    assert [(one.target, one.metric, one.reason) for one in book.drain()[0]][2:] == [
        (*POWER, "not supported"),
        ("spark-01", "sm_clock_hertz", "lost"),
    ]
    book.metrics("spark-01", {"sm_clock_hertz": "lost"}, 2000)
    assert book.drain() == ([], [Absence("spark-01", "gpu_power_watts", 1000, 2000, "not supported")]), (
        "neither the target as a whole nor another one's metrics"
    )


def test_goes_on_with_what_was_open() -> None:
    book = AbsenceBook([Absence("spark-01", None, 1000, None, "timed out")])
    book.missing(NODE, "timed out", 9000)
    assert book.drain() == ([], [])
    book.present(NODE, 9500)
    assert book.drain() == ([], [Absence("spark-01", None, 1000, 9500, "timed out")])


def test_opened_and_closed_between_two_batches_is_in_both() -> None:
    book = AbsenceBook()
    book.missing(POWER, "stalled", 1000)
    book.present(POWER, 2000)
    assert book.drain() == (
        [Absence(*POWER, 1000, None, "stalled")],
        [Absence(*POWER, 1000, 2000, "stalled")],
    )


def test_no_absence_ends_before_it_began() -> None:
    book = AbsenceBook()
    book.missing(NODE, "timed out", 5000)
    book.present(NODE, 4000)
    assert book.drain()[1] == [Absence("spark-01", None, 5000, 5000, "timed out")]
