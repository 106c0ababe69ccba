"""What an untrusted page cannot do: fill the memory, push out what was there, take the time of the parser."""

from __future__ import annotations

import math

import pytest

from collectors.scrape.layout import FORGET_AFTER_READS, Admission
from collectors.scrape.text import MAX_IN_VAIN, MAX_LABEL_VALUE, MAX_LABELS, MAX_LINE, PageReader
from telemetry.model import Series
from tests.scrape.invented import engines, page_of
from tests.scrape.recordings import per_engine, total

RUNNING = 'vllm:num_requests_running{engine="0",model_name="m"}'


def test_flood_of_lines_does_not_push_out_what_was_there() -> None:
    reader = PageReader("e", cap_series=10)
    reader.read(engines(10_000, 5))
    for attempt in range(30):
        page = reader.read(engines(attempt * 100, 100) + engines(10_000, 5, start=attempt))
        found = per_engine(page, "requests_running")
        assert {str(number): float(attempt + number) for number in range(10_000, 10_005)}.items() <= found.items()
        assert len(page.layout.series) <= 10
        assert len(reader._table) <= 2 * 10 + 1
        assert page.layout.refused_series > 0


def test_flood_of_unknown_labels_is_bounded_and_changes_nothing() -> None:
    reader = PageReader("e")
    for attempt in range(3):
        flood = "".join(f'http_requests_total{{method="{attempt}-{number}-{"x" * 200}"}} 1\n' for number in range(4000))
        page = reader.read(f"{flood}{RUNNING} {attempt}\n".encode())
        assert page.raw.tolist() == [attempt]
        assert page.layout.dropped_families == 1
    assert sum(map(len, reader._seen)) < 600_000


def test_flood_of_unknown_families_is_bounded() -> None:
    reader = PageReader("e")
    page = reader.read("".join(f"family_{number} 1\n" for number in range(2000)).encode() + f"{RUNNING} 3\n".encode())
    assert page.layout.dropped_families == 501
    assert page.raw.tolist() == [3.0]


def test_too_long_lines_and_labels_are_refused() -> None:
    long_label = "x" * (MAX_LABEL_VALUE + 1)
    many = ",".join(f'l{number}="x"' for number in range(MAX_LABELS + 1))
    padding = " " * MAX_LINE
    for line in (
        f'vllm:num_requests_running{{model_name="{long_label}"}} 3',
        f"vllm:num_requests_running{{{many}}} 3",
        f"vllm:num_requests_running {padding}3",
    ):
        page = PageReader("e").read(f"{line}\n".encode())
        assert (page.layout.series, page.bad_lines + page.layout.refused_series) == ((), 1)
    fits = f'vllm:num_requests_running{{model_name="{"x" * MAX_LABEL_VALUE}"}} 3\n'
    assert PageReader("e").read(fits.encode()).raw.tolist() == [3.0]


def test_memory_of_series_text_is_bounded() -> None:
    reader = PageReader("e", max_seen_bytes=1000)
    layout = reader.read(f"{RUNNING} 0\n".encode()).layout
    for spaces in range(1, 60):
        page = reader.read(f"{RUNNING}{' ' * spaces}{spaces}\n".encode())
        assert page.raw.tolist() == [spaces]
        assert page.layout is layout
        assert sum(map(len, reader._seen)) <= 1000 + 120
    for number in range(60):
        page = reader.read(f'{RUNNING} {number}\nhttp_requests_total{{n="{number}"}} 1\n'.encode())
        assert (page.raw.tolist(), page.layout.dropped_families) == ([number], 1)
        assert sum(map(len, reader._seen)) <= 1000 + 120


def test_page_larger_than_the_memory_of_series_text_is_read_all_the_same() -> None:
    reader = PageReader("e", max_seen_bytes=10)
    for start in range(4):
        page = reader.read(engines(0, 5, start) + b"# another comment\n" * (start % 2))
        assert per_engine(page, "requests_running") == {str(number): float(start + number) for number in range(5)}


def test_unknown_families_take_no_room_from_known_lines() -> None:
    reader = PageReader("e", cap_series=4)
    flood = "".join(f"family_{number} 1\n" for number in range(50)).encode()
    page = reader.read(flood + engines(0, 4))
    assert (len(page.layout.series), page.layout.refused_series, page.layout.dropped_families) == (4, 0, 50)


def test_repeated_lines_that_need_the_parser_are_bounded() -> None:
    reader = PageReader("e", cap_series=10)
    page = reader.read((f"{RUNNING} 3 # {{}} 1\n" * 200 + 'vllm:num_requests_waiting{engine="0"} 1 1\n').encode())
    assert page.bad_lines == 141, "60 lines were parsed, the rest was too much"
    assert total(page, "requests_running") == 3.0


def test_lines_that_go_through_the_parser_in_vain_are_bounded() -> None:
    reader = PageReader("e")
    vain = f"{RUNNING} 3 # {{}} 1\n" * (MAX_IN_VAIN + 7)
    first, later = (reader.read((f'vllm:num_requests_waiting{{engine="0"}} {n}\n' + vain).encode()) for n in (1, 2))
    assert (first.bad_lines, later.bad_lines) == (7, 7)
    assert (total(later, "requests_waiting"), total(later, "requests_running")) == (2.0, 3.0)


def test_lines_with_timestamps_or_words_are_parsed_once() -> None:
    reader = PageReader("e")
    names = [f'vllm:request_success_total{{finished_reason="a b {number}"}}' for number in range(50)]
    for second in range(1, 5):
        stamped = "".join(f"{name} {number * second}.5 179600000{second}000\n" for number, name in enumerate(names))
        page = reader.read(f"{RUNNING} NaN\n{stamped}{'# changed' * (second % 2)}\n".encode())
        assert page.raw[1:].tolist() == [number * second + 0.5 for number in range(50)]
        assert math.isnan(page.raw[0])
        assert page.bad_lines == 0
        assert (reader._parses > 0) is (second == 1)


@pytest.mark.parametrize(
    "line",
    [
        f"{RUNNING} {{}} 1700",
        f"{RUNNING} {{}} {{}} 1700",
        f"{RUNNING} {{}} 12 1700",
        f"{RUNNING} 4 {{}} 1700",
        f"{RUNNING} {{}} 1e3 17.5",
        f"{RUNNING} {{}} 1_0 1700",
        f"{RUNNING} {{}} 1-0 1700",
    ],
)
@pytest.mark.parametrize("number", ["7", "+8e1", "0x9", "NaN"])
def test_what_follows_a_number_changes_nothing_about_it(line: str, number: str) -> None:
    """Whatever the reader has learned from other lines, it reads a line as a fresh reader does."""
    line = line.replace("{}", "5", line.count("{}") - 1).replace("{}", number)
    reader = PageReader("e")
    for known in (f"{RUNNING} 1", f"{RUNNING} 2 1700", f"{RUNNING} 6 3 1700", f"{RUNNING} 3"):
        reader.read(f"{known}\n".encode())
    page, fresh = (one.read(f"{line}\n".encode()) for one in (reader, PageReader("e")))
    assert page.raw.tolist() == pytest.approx(fresh.raw.tolist(), nan_ok=True)
    assert page.bad_lines == fresh.bad_lines
    again = reader.read(f"{line}\n#\n".encode())
    assert again.raw.tolist() == pytest.approx(fresh.raw.tolist(), nan_ok=True)


def test_a_line_with_and_without_timestamp_is_one_line() -> None:
    reader = PageReader("e")
    ends = ["1 1700", "2 1701", "3", "4", "5 1702", "6 -3", "7 1703", "8 1e3", "9 1704"]
    read = [reader.read(f"{RUNNING} {end}\n".encode()) for end in ends]
    assert [page.raw.tolist() for page in read] == [[float(number)] for number in range(1, 10)]
    assert len({page.layout for page in read}) == 1


def test_admission_forgets_what_has_been_gone_for_an_hour_of_readings() -> None:
    old, new = Series("e", "a"), Series("e", "b")
    admission = Admission(1)
    assert admission.admit([old], 1) == {old}
    assert admission.admit([new], 1 + FORGET_AFTER_READS) == set()
    assert admission.admit([new], 2 + FORGET_AFTER_READS) == {new}
    assert admission.admit([old], 3 + FORGET_AFTER_READS) == set()


def test_admission_remembers_what_was_there_all_the_time() -> None:
    old, new = Series("e", "a"), Series("e", "b")
    admission = Admission(1)
    admission.admit([old], 1)
    admission.touch([old], 9000)
    assert admission.admit([new, old], 9001) == {old}


def test_reader_remembers_a_series_that_was_there_all_the_time() -> None:
    reader = PageReader("e", cap_series=1)
    for _ in range(FORGET_AFTER_READS + 10):
        page_of(reader, 1)
    assert per_engine(page_of(reader, 1, 2), "requests_running") == {"0": 1.0}
    turned = reader.read(b'vllm:num_requests_running{engine="1"} 2\nvllm:num_requests_running{engine="0"} 1\n')
    assert per_engine(turned, "requests_running") == {"0": 1.0}
    for _ in range(FORGET_AFTER_READS + 10):
        reader.read(b'vllm:num_requests_running{engine="1"} 2\nvllm:num_requests_running{engine="0"} 1\n')
    turned = reader.read(
        b'vllm:num_requests_running{engine="2"} 3\n'
        b'vllm:num_requests_running{engine="1"} 2\nvllm:num_requests_running{engine="0"} 1\n'
    )
    assert per_engine(turned, "requests_running") == {"0": 1.0}


def test_series_gone_for_long_no_longer_counts_against_the_cap() -> None:
    reader = PageReader("e", cap_series=2)
    page_of(reader, 1, 2)
    assert per_engine(reader.read(engines(5, 1)), "requests_running") == {}, "two are remembered"
    for _ in range(3601):
        reader.read(b"vllm:num_requests_waiting 1 1\n")
    assert per_engine(reader.read(engines(5, 1)), "requests_running") == {"5": 5.0}
