"""From pages to unwrapped counters: what each kind of step does to the total, and what is told of it."""

from __future__ import annotations

import pytest

from collectors.scrape.text import PageReader
from pipeline.ingest import MOST_LINES, Ingest
from telemetry.model import Series
from tests.pipeline.source import GENERATED, RUNNING, Source


def test_counts_from_the_first_sample_and_says_so() -> None:
    source = Source()
    assert source.tokens({"": 5_000_000}) == (0.0, ["first sample"])
    assert source.tokens({"": 5_000_100}) == (100.0, [])
    assert source.tokens({"": 5_000_100}) == (100.0, [])


def test_offset_rows_say_what_is_added_from_their_tick_on() -> None:
    source = Source()
    (first,) = source.page({"": 500}).offsets
    assert (first.series, first.tick, first.offset) == (GENERATED, 1000, -500.0)
    (again,) = source.page({"": 30}).offsets
    assert (again.tick, again.offset, again.reason) == (2000, 0.0, "restart")
    assert source.page({"": 40}).offsets == ()


def test_gauges_pass_unchanged_and_without_offsets() -> None:
    source = Source()
    reading = source.page({})
    assert reading.values.tolist() == [1.0]
    assert source.layout.series == (RUNNING,)
    assert reading.offsets == ()


def test_a_fall_is_a_restart_that_loses_nothing() -> None:
    source = Source()
    source.page({"": 1000})
    source.page({"": 1600})
    assert source.tokens({"": 70}) == (670.0, ["restart"])
    assert source.tokens({"": 80}) == (680.0, [])


def test_a_known_restart_counts_from_zero_though_the_number_rose() -> None:
    source = Source()
    source.page({"": 100}, started=50.0)
    assert source.tokens({"": 160}, started=50.0) == (60.0, [])
    reading = source.page({"": 400}, started=90.0)
    assert reading.restarted
    assert source.total(reading) == 460.0
    assert source.tokens({"": 401}, started=90.0) == (461.0, [])


@pytest.mark.parametrize(("later", "restarted"), [(0.0, False), (2.0, False), (2.1, True), (-2.0, False), (-5.0, True)])
def test_start_times_within_two_seconds_are_one_start(later: float, restarted: bool) -> None:
    source = Source()
    source.page({"": 100}, started=1000.0)
    assert source.page({"": 300}, started=1000.0 + later).restarted is restarted


def test_a_start_time_missing_on_one_page_is_remembered() -> None:
    source = Source()
    source.page({"": 100}, started=1000.0)
    assert not source.page({"": 110}).restarted
    assert source.page({"": 500}, started=2000.0).restarted


def test_a_fall_of_an_engines_counter_is_told_as_a_restart_of_the_engine() -> None:
    source = Source()
    assert not source.page({"": 100}).restarted
    assert not source.page({"": 150}).restarted
    assert source.page({"": 20}).restarted
    assert not source.page({"": 30}).restarted


def test_a_nodes_counter_that_begins_again_does_not_restart_its_agent() -> None:
    source = Source()
    line = 'tachograph_netdev_transmit_bytes_total{{cage="p0",function="f0"}} {}'
    source.body(line.format(900))
    reading = source.body(line.format(20))
    assert [offset.reason for offset in reading.offsets] == ["restart"]
    assert reading.values.tolist() == [20.0]
    assert not reading.restarted


def test_a_page_without_the_series_means_that_it_stood_at_zero() -> None:
    source = Source()
    assert source.tokens({}) == (None, [])
    assert source.tokens({"": 40}) == (40.0, ["first use"])
    assert source.tokens({"": 45}) == (45.0, [])


def test_the_first_page_after_a_restart_counts_from_zero() -> None:
    source = Source(started_s=1000.0)
    assert source.tokens({"": 40}, started=2000.0) == (40.0, ["first use after a restart"])


def test_a_page_of_something_else_says_nothing_of_the_series() -> None:
    source = Source()
    source.body("<html>loading</html>")
    assert source.tokens({"": 5_000_000}) == (0.0, ["first sample"])


def test_a_page_that_was_not_read_in_full_says_nothing_of_the_series() -> None:
    source = Source()
    source.reader = PageReader("head", cap_series=1)
    source.page({"": 7_000_000})
    assert source.layout.refused_series == 1
    source.reader = PageReader("head")
    assert source.tokens({"": 7_000_100}) == (0.0, ["first sample"])


def test_a_line_without_a_number_did_not_stand_at_zero() -> None:
    source = Source()
    source.page({})
    assert source.tokens({"": "NaN"}) == (None, [])
    assert source.tokens({"": 5_000_000}) == (0.0, ["first sample"])
    assert source.tokens({"": "NaN"}) == (None, [])
    assert source.tokens({"": 5_000_007}) == (7.0, [])


def test_a_line_without_a_number_across_a_layout_did_not_stand_at_zero() -> None:
    source = Source()
    source.page({"1": 10, "2": "NaN"})
    source.page({"1": 10, "2": "NaN", "3": 0})
    assert source.tokens({"1": 10, "2": 9_000, "3": 0})[0] == 0.0


def test_a_number_missing_over_a_known_restart_counts_from_zero() -> None:
    source = Source()
    source.page({"": 100}, started=10.0)
    assert source.tokens({"": "NaN"}, started=500.0) == (None, [])
    assert source.tokens({"": 130}, started=500.0) == (130.0, ["restart"])


def test_several_lines_are_unwrapped_each_before_they_are_summed() -> None:
    source = Source()
    assert source.tokens({"1": 1000, "2": 400}) == (0.0, ["first sample"])
    assert source.tokens({"1": 1500, "2": 10}) == (510.0, ["restart"])
    assert source.tokens({"1": 1501, "2": 11}) == (512.0, [])


def test_a_restart_beside_a_first_use_stays_a_restart() -> None:
    source = Source()
    source.page({"1": 1000})
    assert source.tokens({"1": 10, "2": 5}) == (15.0, ["restart"])


def test_a_sum_with_an_unknown_part_is_unknown_and_loses_nothing() -> None:
    source = Source()
    source.page({"1": 0, "2": 0})
    assert source.tokens({"1": 10, "2": "NaN"}) == (None, [])
    assert source.tokens({"1": 15, "2": 7}) == (22.0, [])


def test_a_line_that_joins_counts_from_zero_and_is_no_first_use_of_the_series() -> None:
    source = Source()
    source.page({"1": 1000})
    assert source.tokens({"1": 1010, "2": 5}) == (15.0, ["lines changed"])


def test_a_line_that_leaves_keeps_what_it_counted() -> None:
    source = Source()
    source.page({"1": 1000, "2": 50})
    source.page({"1": 1010, "2": 60})
    assert source.tokens({"1": 1011}) == (21.0, ["lines changed"])
    assert source.tokens({"1": 1012, "2": 63}) == (25.0, ["lines changed"])


def test_a_line_that_returns_smaller_began_again() -> None:
    source = Source()
    source.page({"1": 100, "2": 50})
    source.page({"1": 100})
    assert source.tokens({"1": 100, "2": 8}) == (8.0, ["restart"])


def test_a_line_that_was_away_over_a_known_restart_began_again() -> None:
    source = Source()
    source.page({"1": 100, "2": 50}, started=10.0)
    assert source.tokens({"1": 3}, started=500.0) == (3.0, ["restart"])
    assert source.tokens({"1": 4, "2": 60}, started=500.0) == (64.0, ["restart"])
    source.page({"1": 4}, started=500.0)
    assert source.tokens({"1": 4, "2": 61}, started=500.0)[0] == 65.0


def test_a_new_line_after_a_restart_is_a_restart_of_the_series_not_its_first_use() -> None:
    source = Source()
    source.page({"1": 100}, started=10.0)
    source.page({"1": 130}, started=10.0)
    assert source.tokens({"2": 5}, started=500.0) == (35.0, ["restart"])


def test_a_series_that_returns_goes_on() -> None:
    source = Source()
    source.page({"": 100})
    source.page({"": 130})
    assert source.tokens({}) == (None, [])
    assert source.tokens({"": 150}) == (50.0, [])


def test_lines_that_replace_all_others_do_not_count_the_same_again() -> None:
    source = Source()
    source.page({"1": 100})
    source.page({"1": 600})
    assert source.tokens({"other": 610}) == (500.0, ["lines changed"])
    assert source.tokens({"other": 625}) == (515.0, [])


def test_the_rust_front_end_counts_from_zero_after_its_empty_page() -> None:
    source = Source()
    declared = "# TYPE vllm:generation_tokens counter\n"
    line = 'vllm:generation_tokens_total{model_name="m",engine="0"} '
    assert source.body(declared).values.tolist() == []
    reading = source.body(declared + line + "120\n")
    assert source.total(reading) == 120.0
    assert [offset.reason for offset in reading.offsets] == ["first use"]
    assert source.total(source.body(declared)) is None
    reading = source.body(declared + line + "30\n")
    assert (source.total(reading), reading.offsets[0].reason) == (150.0, "restart")


def test_the_rust_front_end_began_again_when_it_shows_no_series_any_more() -> None:
    reader, ingest = PageReader("head"), Ingest("head")
    declared = b"# TYPE vllm:generation_tokens counter\n"
    line = b'vllm:generation_tokens_total{model_name="m",engine="0"} '
    read = [ingest.take(reader.read(body), tick) for tick, body in enumerate(
        (declared + line + b"100\n", declared + line + b"150\n", declared, declared, declared + line + b"170\n")
    )]  # fmt: skip
    assert [one.restarted for one in read] == [False, False, False, False, True]
    assert read[1].values.tolist() == [50]
    assert read[4].values.tolist() == [220], "170 since the restart, not 20"


def test_an_agents_counter_has_no_first_use() -> None:
    source = Source()
    source.body("tachograph_memory_total_bytes 5")
    reading = source.body('tachograph_netdev_transmit_bytes_total{cage="p0",function="f0"} 5000')
    assert reading.values.tolist() == [0.0]


class TestResumed:
    """A later collector goes on from what the store holds: the last value and the last offset of each series."""

    def test_continues_where_it_stopped(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        assert source.tokens({"": 1000}) == (700.0, [])
        assert source.tokens({"": 1010}) == (710.0, [])

    def test_what_happened_meanwhile_is_in_the_total(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        assert source.tokens({"": 1500}) == (1200.0, [])

    def test_a_restart_meanwhile_is_seen_by_the_fall(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        reading = source.page({"": 90})
        assert source.total(reading) == 790.0
        assert [(one.reason, one.offset) for one in reading.offsets] == [("restart", 700.0)]

    def test_a_restart_meanwhile_is_seen_by_the_start_time(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)}, started_s=10.0)
        reading = source.page({"": 2000}, started=99.0)
        assert (source.total(reading), reading.restarted) == (2700.0, True)

    def test_a_restart_of_several_lines_loses_none_of_them(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)}, started_s=10.0)
        assert source.tokens({"1": 20, "2": 30, "3": 5}, started=99.0) == (755.0, ["restart"])
        assert source.tokens({"1": 21, "2": 30, "3": 5}, started=99.0) == (756.0, [])

    def test_several_lines_go_on_from_their_sum(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        assert source.tokens({"1": 900, "2": 100}) == (700.0, [])
        assert source.tokens({"1": 901, "2": 102}) == (703.0, [])

    def test_waits_until_every_line_has_a_number(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        assert source.tokens({"1": 900, "2": "NaN"}) == (None, [])
        assert source.tokens({"1": 905, "2": 100}) == (705.0, [])

    def test_waits_for_a_page_that_has_the_series(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)})
        source.page({})
        assert source.tokens({"": 1004}) == (704.0, [])

    def test_a_restart_while_it_waits_is_not_forgotten(self) -> None:
        source = Source(resumed={GENERATED: (700.0, -300.0)}, started_s=10.0)
        source.page({"": "NaN"}, started=99.0)
        assert source.tokens({"": 2000}, started=99.0) == (2700.0, ["restart"])

    def test_a_line_that_left_before_is_still_in_the_total(self) -> None:
        first = Source()
        first.page({"1": 100, "2": 50})
        first.page({"1": 100, "2": 60})
        reading = first.page({"1": 105})
        assert first.total(reading) == 15.0
        later = Source(resumed={GENERATED: (15.0, reading.offsets[-1].offset)})
        assert later.tokens({"1": 107}) == (17.0, [])

    def test_gauges_and_strangers_are_not_touched(self) -> None:
        source = Source(resumed={RUNNING: (9.0, 3.0), Series("head", "never_seen"): (1.0, 1.0)})
        assert source.page({"": 5}).values.tolist() == [1.0, 0.0]


def test_lines_that_change_with_every_request_do_not_fill_the_memory() -> None:
    """A label of its own for each request, 1,500 lines a page: what they counted stays, they themselves do not."""
    source = Source()
    source.page({"steady": 0})
    totals, kept = [], []
    for page in range(18):
        total, _ = source.tokens({f"{page}-{line}": 1 for line in range(1500)} | {"steady": page})
        totals.append(total)
        kept.append(len(source.ingest._home))
    assert totals[:5] == [1500, 3001, 4502, 6003, 7504], "each line counts its one token, and steady its own"
    assert totals == sorted(totals)
    assert max(kept) > MOST_LINES > kept[-1], "lines that left were forgotten"
    assert totals[-1] > 18_000, "what they counted was not"
    assert len(source.ingest._known) <= MOST_LINES


def test_gauges_whose_labels_change_with_every_page_are_not_remembered() -> None:
    source = Source()
    line = 'vllm:num_requests_running{{engine="0",model_name="m",request="{}"}} 1\n'
    for page in range(5):
        reading = source.body("".join(line.format(f"{page}-{at}") for at in range(100)))
        assert reading.values.tolist() == [100.0]
    assert source.ingest._known == {}
