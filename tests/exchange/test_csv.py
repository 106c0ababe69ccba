"""Rows as CSV, worked out by hand."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exchange.blocks import Blocks
from exchange.csv import CsvWriter, cell, iso
from exchange.table import Layout, Table, table
from telemetry.catalog import engine, gpu, memory
from telemetry.query import Line, Query
from tests.exchange.lines import NAN, T0, bins, line, query

ONE = {"target": "spark-01", "gpu": "0"}
TWO = {"target": "spark-02", "gpu": "0"}
NODE = {"target": "spark-01"}


def text(
    queries: list[Query], *blocks: list[list[Line]], layout: Layout = Layout.WIDE, gaps: bool = False
) -> list[str]:
    """The rows of a CSV, heading included, ends checked."""
    reduced = any(one.values is None for block in blocks for lines in block for one in lines)
    made = table(queries, layout, reduced=reduced)
    found = written(made, *blocks, gaps=gaps)
    assert found.endswith("\r\n")
    assert "\r" not in found.replace("\r\n", "")
    return found.split("\r\n")[:-1]


def written(made: Table, *blocks: list[list[Line]], gaps: bool = False) -> str:
    writer, maker = CsvWriter(made), Blocks(made, gaps=gaps)
    return b"".join([writer.head(), *(piece for block in blocks for piece in writer.rows(maker.block(block)))]).decode()


def test_wide_has_a_column_per_metric_with_its_unit() -> None:
    power = [line(ONE, [0, 1], [50.5, NAN]), line(TWO, [0, 1], [51.0, -3.25])]
    clock = [line(ONE, [0, 1], [2.4e9, 2.3e9]), line(TWO, [0, 1], [NAN, NAN])]
    assert text([query(gpu.GPU_POWER), query(gpu.GPU_SM_CLOCK)], [power, clock]) == [
        "time,target,gpu,gpu_power_watts [watts],gpu_sm_clock_hertz [hertz]",
        "2026-11-30T00:53:20.000Z,spark-01,0,50.5,2400000000",
        "2026-11-30T00:53:20.000Z,spark-02,0,51,",
        "2026-11-30T00:53:21.000Z,spark-01,0,,2300000000",
        "2026-11-30T00:53:21.000Z,spark-02,0,-3.25,",
    ]


def test_scopes_of_several_kinds_stand_side_by_side() -> None:
    power = [line(ONE, [0, 1], [50.0, 51.0])]
    used = [line(NODE, [0, 1], [7.0, 8.0])]
    running = [line({"target": "head", "engine": "0", "model": "m"}, [0, 1], [3.0, 4.0])]
    queries = [query(gpu.GPU_POWER), query(memory.MEMORY_USED), query(engine.REQUESTS_RUNNING)]
    assert text(queries, [power, used, running])[1:] == [
        "2026-11-30T00:53:20.000Z,spark-01,0,,,50,,",
        "2026-11-30T00:53:20.000Z,head,,0,m,,,3",
        "2026-11-30T00:53:20.000Z,spark-01,,,,,7,",
        "2026-11-30T00:53:21.000Z,spark-01,0,,,51,,",
        "2026-11-30T00:53:21.000Z,head,,0,m,,,4",
        "2026-11-30T00:53:21.000Z,spark-01,,,,,8,",
    ]


def test_a_scope_without_the_metric_between_has_an_empty_cell() -> None:
    queries = [query(gpu.GPU_POWER), query(gpu.GPU_SM_CLOCK), query(gpu.GPU_TEMPERATURE)]
    rows = text(queries, [[line(ONE, [0], [50.0])], [line(TWO, [0], [1.0])], [line(ONE, [0], [60.0])]])
    assert [row.partition("Z")[2] for row in rows[1:]] == [",spark-01,0,50,,60", ",spark-02,0,,1,"]


def test_long_has_a_row_per_value() -> None:
    power, used = [line(ONE, [0, 1], [50.0, NAN])], [line(NODE, [0, 1], [7.0, 8.0])]
    assert text([query(gpu.GPU_POWER), query(memory.MEMORY_USED)], [power, used], layout=Layout.LONG) == [
        "time,metric,unit,target,gpu,value",
        "2026-11-30T00:53:20.000Z,gpu_power_watts,watts,spark-01,0,50",
        "2026-11-30T00:53:20.000Z,memory_used_bytes,bytes,spark-01,,7",
        "2026-11-30T00:53:21.000Z,memory_used_bytes,bytes,spark-01,,8",
    ]


def test_bins_have_four_columns() -> None:
    power = [bins(ONE, [0, 10], [1.0, NAN], [3.0, NAN], [2.0, NAN], [1.5, NAN])]
    assert text([query(gpu.GPU_POWER)], [power], gaps=True) == [
        "time,target,gpu,gpu_power_watts_min [watts],gpu_power_watts_mean [watts],"
        "gpu_power_watts_max [watts],gpu_power_watts_last [watts]",
        "2026-11-30T00:53:20.000Z,spark-01,0,1,2,3,1.5",
        "2026-11-30T00:53:30.000Z,spark-01,0,,,,",
    ]
    assert text([query(gpu.GPU_POWER)], [power], layout=Layout.LONG)[:2] == [
        "time,metric,unit,target,gpu,min,mean,max,last",
        "2026-11-30T00:53:20.000Z,gpu_power_watts,watts,spark-01,0,1,2,3,1.5",
    ]


def test_percentiles_say_their_side_and_count() -> None:
    labels = {"target": "head", "engine": "0", "model": "m"}
    values = line(labels, [0, 1, 2, 3], [1.0, 2.5, 10.0, NAN])
    one = Line(labels, values.t_ms, values.values, relation=("<", "=", ">", None), count=np.array([10.0, 20, 30, 4]))
    wide = query(engine.TTFT, quantile=0.95)
    assert text([wide], [[one]]) == [
        "time,target,engine,model,time_to_first_token_seconds_p95 [seconds],time_to_first_token_seconds_p95_side,"
        "time_to_first_token_seconds_p95_count",
        "2026-11-30T00:53:20.000Z,head,0,m,1,-1,10",
        "2026-11-30T00:53:21.000Z,head,0,m,2.5,0,20",
        "2026-11-30T00:53:22.000Z,head,0,m,10,1,30",
        "2026-11-30T00:53:23.000Z,head,0,m,,,4",
    ]
    both = text([query(gpu.GPU_POWER), wide], [[line(ONE, [0], [50.0])], [one]], layout=Layout.LONG)
    assert both[0] == "time,metric,unit,target,gpu,engine,model,value,side,count"
    assert both[1] == "2026-11-30T00:53:20.000Z,gpu_power_watts,watts,spark-01,0,,,50,,"
    assert both[2] == "2026-11-30T00:53:20.000Z,time_to_first_token_seconds_p95,seconds,head,,0,m,1,-1,10"


def test_a_sum_of_everything_has_no_target() -> None:
    assert text([query(gpu.GPU_POWER, total=True)], [[line({}, [0.25], [206.0])]]) == [
        "time,gpu_power_watts [watts]",
        "2026-11-30T00:53:20.250Z,206",
    ]
    mixed = text([query(gpu.GPU_POWER, total=True), query(memory.MEMORY_USED)], [[line({}, [0], [206.0])], []])
    assert mixed[:2] == [
        "time,target,gpu_power_watts [watts],memory_used_bytes [bytes]",
        "2026-11-30T00:53:20.000Z,,206,",
    ]


def test_a_rate_is_called_one() -> None:
    (head, _) = text([query(engine.GENERATION_TOKENS, rate=True)], [[line({"target": "head"}, [0], [20.0])]])
    assert head == "time,target,engine,model,generation_tokens_total_rate [tokens_per_second]"


def test_times_of_two_queries_need_not_be_the_same() -> None:
    queries = [query(gpu.GPU_POWER), query(gpu.GPU_TEMPERATURE)]
    rows = text(queries, [[line(ONE, [0, 1, 2], [1.0, 2.0, 3.0])], [line(ONE, [1], [60.0])]])
    assert [row.partition("0,")[2] for row in rows[1:]] == ["1,", "2,60", "3,"]


def test_every_sample_has_a_row_and_nothing_else_does() -> None:
    power = [line(ONE, [0, 1, 2], [1.0, NAN, 3.0]), line(TWO, [0, 1, 2], [NAN, NAN, NAN])]
    rows = text([query(gpu.GPU_POWER)], [power], [[line(TWO, [3], [4.0])]])
    assert [row[17:] for row in rows[1:]] == ["20.000Z,spark-01,0,1", "22.000Z,spark-01,0,3", "23.000Z,spark-02,0,4"]


def test_a_gap_of_bins_stays_a_gap_however_the_range_is_cut() -> None:
    """From its first value on a scope has a row at every time, in slices that know nothing of it, too."""
    first = [line(ONE, [0, 1], [NAN, 1.0]), line(TWO, [0, 1], [NAN, NAN])]
    second = [line(TWO, [2, 3], [NAN, 2.0])]
    whole = [line(ONE, [0, 1, 2, 3], [NAN, 1.0, NAN, NAN]), line(TWO, [0, 1, 2, 3], [NAN, NAN, NAN, 2.0])]
    expected = ["21.000Z,spark-01,0,1", "22.000Z,spark-01,0,", "23.000Z,spark-01,0,", "23.000Z,spark-02,0,2"]
    for blocks in ([[first], [second]], [[whole]]):
        rows = text([query(gpu.GPU_POWER)], *blocks, gaps=True)
        assert [row[17:] for row in rows[1:]] == expected


def test_infinite_is_no_measurement() -> None:
    rows = text([query(gpu.GPU_POWER)], [[line(ONE, [0, 1], [float("inf"), 2.0])]])
    assert len(rows) == 2


def test_long_blocks_are_written_in_pieces() -> None:
    count = 120_000
    made = table([query(gpu.GPU_POWER)], Layout.WIDE, reduced=False)
    block = Blocks(made, gaps=False).block([[line(ONE, [*range(count)], [float(one) for one in range(count)])]])
    pieces = list(CsvWriter(made).rows(block))
    assert len(pieces) > 2
    rows = b"".join(pieces).decode().split("\r\n")[:-1]
    assert [row.rpartition(",")[2] for row in rows] == [str(one) for one in range(count)]


def test_an_empty_answer_is_a_heading() -> None:
    assert text([query(gpu.GPU_POWER)], [[]]) == ["time,target,gpu,gpu_power_watts [watts]"]


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("spark-01", "spark-01"),
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ("\rx", '"\'\rx"'),
        ("\n=1+1", '"\'\n=1+1"'),
        ("-5", "-5"),
        ("-0.25", "-0.25"),
        ("+1e-3", "+1e-3"),
        ("-.5", "-.5"),
        ("--5", "'--5"),
        ("+Inf", "Inf"),
        ("-Infinity", "'-Infinity"),
        ("a,b", '"a,b"'),
        ('say "no"', '"say ""no"""'),
        ("two\nlines", '"two\nlines"'),
        ("=a,b", '"\'=a,b"'),
        ("nul\0rs\0", "nul\ufffdrs\ufffd"),
        ("", ""),
        ("Ω", "Ω"),
    ],
)
def test_texts(given: str, written: str) -> None:
    assert cell(given) == written


def test_texts_stand_quoted_among_the_numbers() -> None:
    labels = {"target": 'a "b", c', "gpu": "=0"}
    used = [line({"target": "x\ny"}, [0], [1.0])]
    rows = written(
        table([query(gpu.GPU_POWER), query(memory.MEMORY_USED)], Layout.WIDE, reduced=False),
        [[line(labels, [0], [-50.0])], used],
    )
    found = list(csv.reader(io.StringIO(rows, newline="")))
    assert found[1:] == [
        ["2026-11-30T00:53:20.000Z", 'a "b", c', "'=0", "-50", ""],
        ["2026-11-30T00:53:20.000Z", "x\ny", "", "", "1"],
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20))
def test_no_text_breaks_a_row_or_begins_a_formula(given: str) -> None:
    made = written(table([query(gpu.GPU_POWER)], Layout.WIDE, reduced=False), [[line({"target": given}, [0], [1.0])]])
    (_, row) = csv.reader(io.StringIO(made, newline=""))
    assert (row[0], row[2:]) == ("2026-11-30T00:53:20.000Z", ["", "1"])
    if row[1][:1] in tuple("=+-@\t\r\n"):
        float(row[1])


def test_times_are_utc_with_milliseconds() -> None:
    assert iso(np.array([T0 + 7, 0, 1_798_761_599_999])).tolist() == [
        b"2026-11-30T00:53:20.007Z",
        b"1970-01-01T00:00:00.000Z",
        b"2026-12-31T23:59:59.999Z",
    ]
