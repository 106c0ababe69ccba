"""Numbers that cannot follow from those before: unknown, never a peak and never part of a total."""

from __future__ import annotations

import numpy as np
import pytest

from collectors.scrape.text import PageReader
from pipeline.ingest import LEAP, Ingest, Reading
from pipeline.ranges import limits_of
from telemetry import catalog
from telemetry.catalog import engine, gpu, host, network
from tests.pipeline.source import Source

TOKENS = 'vllm:generation_tokens_total{engine="0",model_name="m"} '
OTHER = TOKENS.replace('"0"', '"1"') + "5"
START = "\nprocess_start_time_seconds 50"
LEVEL = ["another level"]


class Line:
    """One line of a page, number after number: what is stored of it, and what is told of the steps."""

    def __init__(self, text: str, beside: str = "", **ingest: object) -> None:
        self.text, self.beside = text, beside
        self.reader, self.ingest = PageReader("n"), Ingest("n", **ingest)  # type: ignore[arg-type]
        self.now_s = 0.0

    def read(self, raw: object, after_s: float = 1.0, took_s: float = 0.0) -> Reading:
        self.now_s += after_s
        tick = round(1000 * self.now_s)
        page = self.reader.read(f"{self.text}{raw}\n{self.beside}".encode())
        return self.ingest.take(page, tick, tick, tick + 1000 * took_s)

    def __call__(self, raw: object, after_s: float = 1.0, took_s: float = 0.0) -> tuple[float | None, list[str]]:
        reading = self.read(raw, after_s, took_s)
        value = float(reading.values[0])
        return None if np.isnan(value) else value, [offset.reason for offset in reading.offsets]


def test_a_leap_of_one_page_is_unknown_with_a_reason_and_the_counter_goes_on() -> None:
    line = Line(TOKENS)
    line(5000)
    assert line(5040) == (40.0, [])
    reading = line.read(1e12)
    assert np.isnan(reading.values[0])
    assert (reading.nonsense, dict(reading.why)) == (1, {"generation_tokens_total": LEAP})
    assert reading.offsets == ()
    assert line(5100) == (100.0, [])
    assert line(5150) == (150.0, [])


@pytest.mark.parametrize("start", ["", START])
def test_a_leap_that_stays_is_another_level_by_which_nothing_is_gained(start: str) -> None:
    line = Line(TOKENS, start)
    line(5000)
    line(5040)
    assert line(1e12) == (None, [])
    assert line(1e12 + 30) == (40.0, LEVEL)
    assert line(1e12 + 55) == (65.0, [])


@pytest.mark.parametrize("start", ["", START])
def test_a_level_that_was_the_fault_is_left_for_the_old_line(start: str) -> None:
    line = Line(TOKENS, start)
    line(5000)
    line(5040)
    line(1e12)
    for gained in (40.0, 40.0, 40.0):
        assert line(1e12)[0] == gained
    assert line(5300) == (300.0, LEVEL), "what it gained meanwhile is known, but not when"
    assert line(5310) == (310.0, [])


def test_a_counter_never_falls_on_its_way_back_from_a_level() -> None:
    line = Line(TOKENS)
    line(5000)
    line(1e12)
    line(1e12)
    assert line(1e12 + 900) == (900.0, [])
    assert line(5010) == (900.0, LEVEL)
    assert line(5030) == (920.0, [])


def test_a_level_below_is_left_for_the_old_line_too() -> None:
    line = Line(TOKENS, START)
    line(5000)
    assert [line(0)[0], line(0), line(0)] == [None, (0.0, LEVEL), (0.0, [])]
    assert line(5120) == (120.0, LEVEL)
    assert line(5130) == (130.0, [])


def test_a_nodes_counter_that_is_nothing_for_a_page_goes_on_where_it_was() -> None:
    line = Line('tachograph_rdma_transmit_bytes_total{cage="p0",function="f0"} ')
    line(5e10)
    assert line(0) == (0.0, ["restart"])
    assert line(5e10 + 64) == (64.0, LEVEL)
    assert line(5e10 + 96) == (96.0, [])


def test_an_engine_that_says_nothing_but_zeros_for_a_page_goes_on_where_it_was() -> None:
    source = Source()
    source.body(f"{PROMPTS}700\n{FINISHED}3\n{TOKENS}5000")
    reading = source.body(f"{PROMPTS}0\n{FINISHED}0\n{TOKENS}0")
    assert (reading.values.tolist(), reading.restarted) == ([0.0, 0.0, 0.0], True), "that is how a restart looks"
    reading = source.body(f"{PROMPTS}710\n{FINISHED}4\n{TOKENS}5020")
    assert reading.values.tolist() == [10.0, 1.0, 20.0]
    assert {offset.reason for offset in reading.offsets} == set(LEVEL)


@pytest.mark.parametrize("steps", [(160, 240, 320), (120, 199, 200, 201)])
def test_a_counter_that_began_anew_passes_its_old_number_within_a_minute(steps: tuple[int, ...]) -> None:
    line = Line(TOKENS)
    line(0)
    assert line(200) == (200.0, [])
    assert line(80) == (280.0, ["restart"])
    for raw in steps:
        assert line(raw) == (200.0 + raw, [])
    assert line(500) == (700.0, []), "and is not taken for back at it later"


def test_half_of_the_way_back_at_once_is_a_return() -> None:
    line = Line(TOKENS)
    line(1000)
    assert line(400) == (400.0, ["restart"])
    assert line(701) == (701.0, [])
    assert line(1000) == (1000.0, [])
    line = Line(TOKENS)
    line(1000)
    assert line(400) == (400.0, ["restart"])
    assert line(700) == (700.0, [])
    assert line(1000) == (700.0, LEVEL)


def test_a_level_below_that_comes_up_to_the_old_line_step_by_step_goes_on() -> None:
    line = Line(TOKENS)
    line(1000)
    assert [line(600), line(620)] == [(None, []), (0.0, LEVEL)]
    assert [line(800), line(990), line(1010), line(1100)] == [(180.0, []), (370.0, []), (390.0, []), (480.0, [])]


def test_a_nodes_counter_that_began_anew_counts_all_it_does() -> None:
    line = Line('tachograph_rdma_transmit_bytes_total{cage="p0",function="f0"} ')
    line(5e10)
    assert line(100) == (100.0, ["restart"])
    assert line(200) == (200.0, [])
    assert line(5e10 + 700, after_s=61) == (5e10 + 700, []), "by then it may have come so far"


def test_after_an_hour_a_level_stands() -> None:
    line = Line(TOKENS)
    line(5000)
    line(1e12)
    line(1e12)
    assert line(1e12, after_s=3700) == (0.0, [])
    assert line(5300) == (5300.0, ["restart"])


def test_two_leaps_in_a_row_that_do_not_belong_together_are_both_doubted() -> None:
    line = Line(TOKENS)
    line(5000)
    assert line(1e12) == (None, [])
    assert line(3e12) == (None, [])
    assert line(5020) == (20.0, [])
    line(1e12)
    line(3e12)
    assert line(3e12 + 8) == (20.0, LEVEL)


def test_a_leap_that_is_a_faults_beginning_does_not_become_likely_with_time() -> None:
    """Five million are within what five seconds allow, but not as what followed from one second's silence."""
    line = Line(TOKENS)
    line(5000)
    assert line(5_005_000) == (None, [])
    assert line(5_005_000, after_s=10) == (0.0, LEVEL)


LEAPS = [
    (engine.GENERATION_TOKENS.name, 'vllm:generation_tokens_total{engine="0",model_name="m"} ', 1e6),
    (engine.PROMPT_TOKENS.name, 'vllm:prompt_tokens_total{engine="0",model_name="m"} ', 1.01e8),
    (
        "time_to_first_token_seconds_bucket",
        'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="1.0"} ',
        1e6,
    ),
    ("time_to_first_token_seconds_count", 'vllm:time_to_first_token_seconds_count{engine="0",model_name="m"} ', 1e6),
    ("time_to_first_token_seconds_sum", 'vllm:time_to_first_token_seconds_sum{engine="0",model_name="m"} ', 1.1e7),
    ("inter_token_latency_seconds_sum", 'vllm:inter_token_latency_seconds_sum{engine="0",model_name="m"} ', 1e6),
    (engine.ESTIMATED_FLOPS.name, 'vllm:estimated_flops_per_gpu_total{engine="0",model_name="m"} ', 1e18),
    (network.RDMA_TRANSMIT.name, 'tachograph_rdma_transmit_bytes_total{cage="p0",function="f0"} ', 1e11),
    (network.FABRIC_LOSS.name, 'tachograph_fabric_loss_total{cage="p0",counter="c",function="f0"} ', 1e8),
    (gpu.GPU_ENERGY.name, 'tachograph_gpu_energy_joules_total{gpu="0"} ', 1e5),
    (host.CPU_BUSY.name, "tachograph_cpu_busy_seconds_total ", 1e3),
    (host.KERNEL_XID.name, 'tachograph_kernel_xid_total{gpu="0",xid="79"} ', 1e5),
]


@pytest.mark.parametrize(("name", "text", "most"), LEAPS)
def test_every_kind_of_counter_has_its_limit(name: str, text: str, most: float) -> None:
    assert limits_of(catalog.stored(name)).most(1.0) == most
    for step, expected in ((most, (most, [])), (most * 1.001 + 1, (None, []))):
        line = Line(text)
        assert line(1000)[0] == 0.0
        assert line(1000 + step) == expected


@pytest.mark.parametrize(("after_s", "took_s"), [(30.0, 0.0), (1.0, 29.0)])
def test_a_burst_after_a_gap_and_a_page_that_was_long_in_coming_are_not_cut(after_s: float, took_s: float) -> None:
    line = Line('tachograph_rdma_receive_bytes_total{cage="p0",function="f0"} ')
    line(7e15)
    assert line(7e15 + 30 * 25e9, after_s, took_s) == (30 * 25e9, [])
    assert line(7e15 + 31 * 25e9) == (31 * 25e9, [])


def test_sixteen_prompts_of_a_million_tokens_may_end_at_once() -> None:
    line = Line('vllm:prompt_tokens_total{engine="0",model_name="m"} ')
    line(3)
    assert line(16e6) == (16e6 - 3, [])


def test_the_time_that_counts_is_since_the_lines_own_last_number() -> None:
    line = Line(TOKENS)
    line(100)
    for _ in range(4):
        assert line("NaN") == (None, [])
    assert line(4_500_100) == (4.5e6, [])
    assert line(4_500_100 + 2_000_000) == (None, [])


def test_the_time_while_no_collector_ran_counts() -> None:
    known = dict.fromkeys(PageReader("n").read(f"{TOKENS}1\n".encode()).layout.series, (500.0, -100.0))
    assert Line(TOKENS, resumed=known, left_ms=-9000.0)(5_000_600) == (5_000_500.0, [])
    assert Line(TOKENS, resumed=known, left_ms=0.0)(5_000_600) == (None, [])


def test_a_32_bit_wrap_is_one_and_a_reset_that_looks_like_one_is_none() -> None:
    text = 'tachograph_fabric_loss_total{cage="p0",counter="c",function="f0"} '
    line = Line(text)
    line(2**32 - 6)
    assert line(14) == (20.0, ["wrap"])
    line = Line(text)
    line(3_000_000_000)
    assert line(14) == (None, [])
    assert line(20) == (0.0, LEVEL)
    assert line(25) == (5.0, [])


@pytest.mark.parametrize("beside", ["", OTHER])
def test_two_servers_that_answer_at_one_address_in_turn_are_not_new_ones_each_time(beside: str) -> None:
    """As behind a balancer. The second counts from 0 once, as a new process would; from then on nobody knows."""
    line = Line(TOKENS)
    told, restarts = [], []
    for turn in range(6):
        first = turn % 2 == 0
        lines = [f"{TOKENS}{(5000 if first else 400) + turn}", beside, f"{PROMPTS}{900 if first else 70}"]
        lines += [f"{FINISHED}{9 if first else 2}", f"process_start_time_seconds {100 if first else 700}"]
        line.now_s += 1
        reading = line.ingest.take(line.reader.read("\n".join(lines).encode()), round(1000 * line.now_s))
        told.append(float(reading.values[0]))
        restarts.append(reading.restarted)
    assert told == [0.0, 401.0, 401.0, 401.0, 401.0, 401.0]
    assert restarts == [False, True, False, False, False, False]


def test_a_server_that_answers_again_and_goes_on_counts_on() -> None:
    source = Source()
    for tokens, started in ((5000, 100.0), (400, 700.0), (5020, 100.0)):
        source.tokens({"": tokens}, started=started)
    assert source.tokens({"": 5050}, started=100.0) == (430.0, [])
    assert source.tokens({"": 7}, started=900.0) == (437.0, ["restart"])


LOST = 'tachograph_fabric_loss_total{cage="p0",counter="c",function="f0"} '
BYTES = 'tachograph_rdma_transmit_bytes_total{cage="p0",function="f0"} '


@pytest.mark.parametrize("later", [0, 1, 10])
def test_a_port_that_was_taken_away_did_not_wrap_but_began_anew(later: int) -> None:
    """Its bytes say so, at once or some readings before its losses, which an agent reads more rarely."""
    line = Line(LOST, f"{BYTES}7e9")
    line(2**32 - 6)
    line.beside = f"{BYTES}100"
    for _ in range(later):
        assert line(2**32 - 6) == (0.0, []) or line.now_s == 2.0
    assert line(14)[0] == 14.0
    line.beside = f"{BYTES}300"
    assert line(2**32 - 6, after_s=61) == (2**32 - 6, [])
    assert line(14) == (2**32 - 6 + 20.0, ["wrap"]), "a minute later it is one again"


def test_a_counter_that_was_not_on_the_page_before_did_not_wrap() -> None:
    line = Line(LOST, f"{BYTES}0")
    line(2**32 - 6)
    line.read("NaN")
    assert line(14) == (14.0, ["restart"])


def test_a_known_restart_to_more_than_can_be_since_is_doubted() -> None:
    source = Source()
    source.page({"": 100}, started=50.0)
    assert source.tokens({"": 7e9}, started=90.0) == (None, [])
    assert source.tokens({"": 7e9 + 1}, started=90.0) == (0.0, LEVEL)
    source = Source()
    source.page({"": 100}, started=50.0)
    source.tokens({"": 7e9}, started=90.0)
    assert source.tokens({"": 70}, started=90.0) == (70.0, ["restart"])


def test_a_number_missing_since_before_a_restart_may_not_leap_either() -> None:
    source = Source()
    source.page({"": "NaN"}, started=50.0)
    assert source.tokens({"": 7e9}, started=90.0) == (None, [])
    assert source.tokens({"": 7e9 + 2}, started=90.0) == (0.0, LEVEL)
    assert source.tokens({"": 7e9 + 9}, started=90.0) == (7.0, [])


PROMPTS = 'vllm:prompt_tokens_total{engine="0",model_name="m"} '
FINISHED = 'vllm:request_success_total{engine="0",model_name="m",finished_reason="stop"} '


def test_a_counter_that_falls_by_one_is_no_restart() -> None:
    line = Line(TOKENS)
    line(1000)
    assert line(999) == (None, [])
    assert line(1004) == (4.0, [])
    assert line(1003) == (None, [])
    assert line(1003) == (4.0, LEVEL)
    assert line(1005) == (5.0, LEVEL), "it is where the old line would be"


def test_a_fall_to_less_than_half_is_a_restart_and_after_a_while_so_is_every_fall() -> None:
    line = Line(TOKENS)
    line(1000)
    assert line(500) == (500.0, ["restart"])
    assert line(400, after_s=10.5) == (900.0, ["restart"])


def test_a_number_that_falls_while_its_engine_goes_on_is_no_restart() -> None:
    """What was first was the fault: nothing of the true level may count."""
    source = Source()
    source.body(f"{PROMPTS}700\n{FINISHED}3\n{TOKENS}1e12")
    assert source.body(f"{PROMPTS}710\n{FINISHED}3\n{TOKENS}5000").values.tolist()[:2] == [10.0, 0.0]
    source.tick += 1000
    last = source.body(f"{PROMPTS}720\n{FINISHED}3\n{TOKENS}5020")
    assert last.values.tolist() == [20.0, 0.0, 0.0]
    assert [one.reason for one in last.offsets] == LEVEL
    assert not last.restarted


def test_a_restart_is_one_though_a_counter_overtakes_its_old_number() -> None:
    source = Source()
    source.body(f"{PROMPTS}700\n{FINISHED}3\n{TOKENS}5000")
    reading = source.body(f"{PROMPTS}900\n{FINISHED}1\n{TOKENS}20")
    assert (reading.values.tolist(), reading.restarted) == ([200.0, 1.0, 20.0], True)


def test_the_engines_of_a_page_start_anew_each_for_itself() -> None:
    other = TOKENS.replace('"0"', '"1"')
    more = PROMPTS.replace('"0"', '"1"')
    source = Source()
    source.body(f"{PROMPTS}700\n{TOKENS}5000\n{more}80\n{other}90\n")
    reading = source.body(f"{PROMPTS}700\n{TOKENS}5000\n{more}8\n{other}9\n")
    assert reading.values.tolist() == [0.0, 0.0, 8.0, 9.0]


def test_a_fall_within_one_process_is_held_for_a_minute_at_most() -> None:
    line = Line(TOKENS, START)
    line(1000)
    assert line(990, after_s=30) == (0.0, [])
    assert line(991, after_s=30) == (0.0, [])
    assert line(992, after_s=1) == (None, [])
    assert line(993) == (0.0, LEVEL)
    assert line(999) == (6.0, [])


@pytest.mark.parametrize(("high", "low"), [(1000, 400), (9e9, 8e9)])
def test_a_deep_fall_within_one_process_is_another_level_and_not_held(high: float, low: float) -> None:
    line = Line(TOKENS, START)
    line(high)
    assert line(low) == (None, [])
    assert line(low + 3) == (0.0, LEVEL)
    assert line(low + 8) == (5.0, [])


def test_a_doubt_lives_through_a_page_of_another_shape() -> None:
    line = Line(TOKENS)
    line(5000)
    assert line(1e12) == (None, [])
    line.beside = FINISHED + "1"
    assert line(1e12 + 2)[0] == 0.0
    line.beside = ""
    assert line(5060) == (60.0, LEVEL)
