"""Parts of a report: lines and maps from charts, names replaced, times, Markdown."""

from __future__ import annotations

import doctest
import json
import re
import struct
import zlib
from typing import Any

import pytest

from dashboard.report import anonymous, figures, lines, markdown, picture, sections, tables, tags, times
from dashboard.report.figures import Figures
from dashboard.report.tags import Html, inner, shown, tag
from storage.records import TargetRow
from telemetry.catalog import cluster, gpu
from telemetry.model import Unit


@pytest.mark.parametrize("module", [lines, times])
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def one(metric: str, target: str, *values: float | None, **labels: str) -> dict[str, Any]:
    return {"metric": metric, "target": target, "labels": labels, "v": list(values)}


def charts(*series: dict[str, Any], step_ms: int = 10_000) -> dict[str, Any]:
    return {"start": 1_000_000, "step_ms": step_ms, "series": list(series)}


DECODE = one(cluster.RECORDED_DECODE.name, "deployment/x", 10.0, None, 30.0, 20.0)
TOKENS = one(cluster.PREFILL_TOKENS.name, "deployment/x", 100.0, 100.0, 850.0, 1000.0)
SECONDS = one(cluster.PREFILL_SECONDS.name, "deployment/x", 1.0, 1.0, 2.0, None)


def power(*nodes: str, **labels: str) -> list[dict[str, Any]]:
    return [one(gpu.GPU_POWER.name, name, 50.0, 60.0, None, 70.0, gpu="0", **labels) for name in nodes]


def test_lines_in_their_order() -> None:
    found = lines.lines(charts(TOKENS, SECONDS, DECODE))
    assert [(line.key, line.values, line.bars) for line in found] == [
        (cluster.RECORDED_DECODE.name, [10.0, None, 30.0, 20.0], False),
        ("prefill", [None, None, 750.0, None], True),
    ]
    assert [line.key for line in lines.lines(charts(TOKENS, SECONDS))] == ["prefill"]


def test_a_line_of_nothing_is_none() -> None:
    nothing = one(cluster.RECORDED_DECODE.name, "deployment/x", None, None)
    assert lines.lines(charts(nothing)) == []
    assert lines.lines(charts(TOKENS)) == []
    still = one(cluster.PREFILL_SECONDS.name, "deployment/x", 1.0, 1.0, 1.0, 1.0)
    assert lines.lines(charts(TOKENS, still)) == []


def test_a_counter_counts_over_what_is_not_known() -> None:
    tokens = one(cluster.PREFILL_TOKENS.name, "d", 0.0, None, 750.0)
    seconds = one(cluster.PREFILL_SECONDS.name, "d", 0.0, None, 1.5)
    assert lines.lines(charts(tokens, seconds))[0].values == [None, None, 500.0]


def test_maps_of_two_nodes_or_more() -> None:
    assert lines.maps(charts(*power("a"))) == []
    (found,) = lines.maps(charts(*power("b", "a")))
    assert [name for name, _ in found.rows] == ["a", "b"]
    assert (found.span, found.step_ms, found.title) == ((50.0, 70.0), 10_000, "GPU power")
    empty = [one(gpu.GPU_POWER.name, name, None, gpu="0") for name in ("a", "b")]
    assert lines.maps(charts(*empty)) == []


def test_a_node_with_two_gpus_has_two_rows() -> None:
    several = [one(gpu.GPU_POWER.name, "a", 1.0, gpu=number) for number in ("0", "1")]
    (found,) = lines.maps(charts(*several))
    assert [name for name, _ in found.rows] == ["a · 0", "a · 1"]


def test_a_long_run_has_columns_of_means() -> None:
    values = [float(place % 2) for place in range(2 * lines.MOST_COLUMNS - 1)]
    several = [one(gpu.GPU_POWER.name, name, *values, gpu="0") for name in ("a", "b")]
    several[0]["v"][0] = None
    (found,) = lines.maps(charts(*several))
    assert found.step_ms == 20_000
    assert found.rows[0][1][:2] == [1.0, 0.5]
    assert len(found.rows[0][1]) == lines.MOST_COLUMNS
    assert found.rows[1][1][-1] == 0.0


@pytest.mark.parametrize(
    ("high", "top"),
    [(1.0, 1.0), (0.9, 1.0), (3.0, 3.0), (3.1, 4.0), (7.4, 7.5), (26.0, 30.0), (262.0, 300.0), (4e3, 4e3)],
)
def test_axes_end_with_round_numbers(high: float, top: float) -> None:
    found, ticks = lines.nice(high)
    assert found == pytest.approx(top)
    assert ticks[0] == 0
    assert ticks[-1] == pytest.approx(top)
    assert 3 <= len(ticks) <= 4


def pixels(image: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of a picture's places in its palette."""
    assert image.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", image[16:24])
    data = image[image.index(b"IDAT") + 4 : image.index(b"IEND") - 8]
    raw = zlib.decompress(data)
    return width, height, [raw[row * (width + 1) + 1 : (row + 1) * (width + 1)] for row in range(height)]


def test_a_picture_has_a_pixel_for_each_number() -> None:
    width, height, rows = pixels(picture.png([[0.0, 5.0, 10.0], [None, 2.6, 99.0]], 0.0, 10.0))
    assert (width, height) == (3, 2)
    assert [list(row) for row in rows] == [[1, 17, 32], [0, 9, 32]]


def test_a_picture_of_one_value_is_of_middle_strength() -> None:
    assert [list(row) for row in pixels(picture.png([[4.0, 4.0]], 4.0, 4.0))[2]] == [[17, 17]]


def test_what_is_not_known_is_grey_and_the_least_is_faint() -> None:
    image = picture.png([[1.0]], 0.0, 1.0)
    place = image.index(b"tRNS") + 4
    assert list(image[place : place + 3]) == [115, 18, 26]
    assert image[place + picture.STEPS] == 255
    place = image.index(b"PLTE") + 4
    assert list(image[place : place + 6]) == [128, 128, 128, 52, 124, 209]
    assert picture.address(b"x") == "data:image/png;base64,eA=="


def drawn(*series: dict[str, Any], **shape: Any) -> tuple[str, Figures]:
    found = Figures(charts(*series), **shape)
    return inner(*found.html()), found


def test_a_curve_is_broken_where_nothing_is_known() -> None:
    """60 is 1.04 of 57.7: the axis ends there, so 30 is half way up; what stands alone is a dash as wide as its bin."""
    html, _ = drawn(one(cluster.RECORDED_DECODE.name, "d", 57.6, None, 30.0, 15.0))
    assert 'class="curve" d="M0 4.00L1 4.00M2.5 50.00L3.5 75.00"' in html
    assert "M2.5 100L2.5 50.00L3.5 75.00L3.5 100Z" in html
    assert "15.0 tok/s to 57.6 tok/s" in html


def test_bars_stand_for_themselves() -> None:
    html, _ = drawn(TOKENS, SECONDS)
    assert 'd="M2 100V25.00H3V100Z"' in html


def test_what_the_script_knows() -> None:
    _, found = drawn(DECODE, *power("a", "b"))
    data = found.data()
    assert data["span_ms"] == 40_000
    line, heat = data["plots"]
    assert (line["unit"], line["scale"], line["step_ms"], line["rows"], line["names"]) == (
        "tok/s",
        1.0,
        10_000,
        [[10.0, None, 30.0, 20.0]],
        None,
    )
    assert (heat["names"], heat["whole"], heat["rows"][0]) == (["a", "b"], True, [50.0, 60.0, None, 70.0])


def test_marks_trims_and_benchmarks_lie_on_the_axis() -> None:
    marks = [{"t": 1_020_000, "kind": "note", "text": "fan <on>"}]
    html, _ = drawn(DECODE, marks=marks, stretch=(1_010_000, 1_030_000), bands=[(1_010_000, 1_020_000)])
    assert (
        '<line x1="2.00" x2="2.00" y1="0" y2="100" class="mark"><title>00:00:20 fan &lt;on&gt;</title></line>' in html
    )
    assert '<rect x="0.00" y="0" width="1.00" height="100" class="cut">' in html
    assert '<rect x="3.00" y="0" width="1.00" height="100" class="cut">' in html
    assert '<rect x="1.00" y="0" width="1.00" height="100" class="bench">' in html
    whole, _ = drawn(DECODE, stretch=(1_000_000, 1_040_000), bands=[(1_000_000, 1_040_000)])
    assert "cut" not in whole
    assert "bench" not in whole


def test_grey_is_explained_where_it_is() -> None:
    assert "not known" in drawn(*power("a", "b"))[0]
    full = [one(gpu.GPU_POWER.name, name, 50.0, 51.0, gpu="0") for name in ("a", "b")]
    assert "not known" not in drawn(*full)[0]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (20.0, "", "20"),
        (0.5, "W", "0.5\u00a0W"),
        (4000.0, "tok/s", "4k\u00a0tok/s"),
        (2410.0, "", "2410"),
        (12_500.0, "", "12.5k"),
    ],
)
def test_labels_of_an_axis(value: float, unit: str, text: str) -> None:
    assert figures._tick(value, unit) == text


def test_tags_escape_and_leave_out() -> None:
    assert tag("p", "<b>", Html("<i></i>"), class_="a", title='"', hidden=False, data_x=None, open=True) == (
        '<p class="a" title="&quot;" open>&lt;b&gt;<i></i></p>'
    )
    assert shown({"value": None, "unit": "watts", "note": "off"}) == '<span class="unknown" title="off">–</span>'
    assert shown({"value": 0.01, "unit": "seconds", "relation": "<"}) == "&lt;\u00a010.0<i>ms</i>"
    assert shown(None) == '<span class="unknown">–</span>'
    assert tags.in_unit("2e9", "hertz") == "2000 MHz"
    assert tags.in_unit("many", "hertz") == "many"
    assert tags.in_unit("2e9", None) == "2e9"


def entry(key: str, value: float | None, **fields: Any) -> dict[str, Any]:
    return {"key": key, "label": key.title(), "value": value, "unit": Unit.SECONDS.value, **fields}


def test_latencies_are_a_matrix() -> None:
    known = [entry("ttft_mean", 1.0, label="TTFT, mean", count=70), entry("ttft_p95", 2.0, label="TTFT, p95")]
    html = sections.matrix(known)
    assert re.findall(r'data-key="([^"]+)" data-value="([^"]+)"', html) == [
        ("latency.ttft_mean", "1.0"),
        ("latency.ttft_p95", "2.0"),
    ]
    assert ">TTFT<" in html
    assert "of 70" in html


def test_many_of_a_kind_share_a_row_and_are_folded() -> None:
    few = [entry("cage", float(n), of=f"c{n}") for n in range(2)]
    some = [entry("cage", float(n), of=f"c{n}") for n in range(16)]
    lots = [entry("cage", float(n), of=f"c{n}") for n in range(17)]
    assert [len(list(sections.rows("fabric", several))) for several in (few, some, lots)] == [2, 1, 1]
    assert "details" not in next(iter(sections.rows("fabric", some)))
    assert "17 of them: 0.0 s to 16.0 s" in next(iter(sections.rows("fabric", lots)))
    assert next(iter(sections.rows("fabric", lots))).count("data-value") == 17


def test_what_is_not_known_is_one_sentence() -> None:
    own = [entry("a", None, note="off"), entry("b", None, note="off", of="x"), entry("c", None), entry("d", 1.0)]
    assert sections.unknown(own) == '<p class="note missing">A, B (x): off. C: not known.</p>'
    assert sections.unknown([entry("d", 1.0)]) == ""


def test_definitions_stand_once() -> None:
    def latency(name: str) -> list[dict[str, Any]]:
        return [entry(f"{name}_{level}", 1.0, definition=f"{name} {level}") for level in ("mean", "p50", "p95")]

    summary = [
        {"key": "speed", "entries": [entry("a", 1.0, definition="same"), entry("b", 1.0, definition="same")]},
        {"key": "speed2", "entries": [entry("c", None, definition="gone"), entry("d_on", 1.0, definition="node")]},
        {"key": "latency", "entries": [*latency("ttft"), *latency("itl")]},
    ]
    found = re.findall(r"<dd>([^<]*)</dd>", sections.definitions(summary))
    assert found == ["same", "ttft mean", "ttft p50", "ttft p95", "itl mean"]


def target(name: str, kind: str, url: str) -> TargetRow:
    return TargetRow(name, kind, url, 1000, "up", "", 0, 0, {})


CONTENT: dict[str, Any] = {
    "run": {"engines": ["head/0"], "deployment": "Kimi-K3", "nodes": None, "model": "org/Kimi-K3"},
    "fingerprint": [{"key": "nodes", "label": "Nodes", "value": "spark-02, spark-10"}],
    "summary": [
        {
            "key": "nodes",
            "entries": [entry("throttled_by", 1.0, of="thermal"), entry("power_mean_on", 1.0, of="spark-03")],
        }
    ],
    "charts": None,
    "events": [],
    "alerts": [],
}
TARGETS = [
    target("spark-01", "node", "http://10.1.2.3:9810/metrics"),
    target("head", "engine", "http://user@gpu-box.example:8000"),
]


def test_who_gets_which_number() -> None:
    assert anonymous.names(CONTENT, TARGETS) == {
        "spark-02": "node 1",
        "spark-10": "node 2",
        "spark-03": "node 3",
        "spark-01": "node 4",
        "head": "engine 1",
        "10.1.2.3:9810": "node 4",
        "10.1.2.3": "node 4",
        "gpu-box.example:8000": "engine 1",
        "gpu-box.example": "engine 1",
    }
    series = [{"target": name} for name in ("cluster", "deployment/x", "spark-02", "spark-05")]
    other = {**CONTENT, "charts": {"series": series}, "events": [{"target": "aux"}, {"target": ""}, {"target": "head"}]}
    assert {"spark-05": "node 6", "aux": "node 5"}.items() <= anonymous.names(other, TARGETS).items()
    run = {"engines": [], "deployment": "foreign:x", "nodes": ["b"]}
    foreign = {"run": run, "fingerprint": [{"key": "engines", "value": "h/0, h/1, bare"}]}
    assert anonymous.names({**CONTENT, **foreign}, []) == {
        "spark-03": "node 1",
        "b": "node 2",
        "h": "engine 1",
        "bare": "engine 2",
    }
    many = {**CONTENT, "fingerprint": [{"key": "nodes", "value": ", ".join(f"n{place}" for place in range(10))}]}
    assert anonymous.names(many, [])["n0"] == "node 01"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("spark-01 and SPARK-01.lab.example", "node 1 and node 1"),
        ("spark-010 is another", "spark-010 is another"),
        ("xspark-01", "xspark-01"),
        ("http://10.1.2.3:9810/metrics", "http://node 1/metrics"),
        ("http://me:secret@box.example:8000/v1 and HTTPS://SPARK-01:1", "http://(address)/v1 and HTTPS://node 1"),
        ("at 192.168.0.17:8000, [fe80::1:2]", "at (address), [(address)]"),
        ("2001:db8:0:1:2:3:4:5", "(address)"),
        ("mac 48:b0:2d:01:02:ff", "mac (address)"),
        ("GPU-4f6c2b1a-0000-1111-2222-333344445555 fell off", "(id) fell off"),
        ("driver 580.95.05, vbios 9B.0A.08.00.02, 98.00.00.01", "driver 580.95.05, vbios 9B.0A.08.00.02, 98.00.00.01"),
        ("at 12:30:45 Xid 79", "at 12:30:45 Xid 79"),
        ("256.1.1.1", "256.1.1.1"),
    ],
)
def test_names_wherever_they_stand(text: str, left: str) -> None:
    known = {"spark-01": "node 1", "10.1.2.3:9810": "node 1", "10.1.2.3": "node 1"}
    assert anonymous.replaced({"text": text, "list": [{"of": text}]}, known) == {"text": left, "list": [{"of": left}]}


def test_our_own_words_and_numbers_stay() -> None:
    found = anonymous.replaced(
        {"a": {"label": "node", "definition": "a node", "note": "node", "value": 1.5}}, {"node": "node 1"}
    )
    assert found == {"a": {"label": "node", "definition": "a node", "note": "node 1", "value": 1.5}}
    assert anonymous.replaced({"apart": {"spark": "x", "n": None}}, {"spark": "node 1"}) == {
        "apart": {"node 1": "x", "n": None}
    }
    assert anonymous.replaced({"a": "b"}, {}) == {"a": "b"}


def test_markdown_has_no_markup_of_others() -> None:
    assert markdown.plain("a|b *c*\n<d> @e #f") == r"a\|b \*c\* \<d\> \@e \#f"


def test_times() -> None:
    assert times.instant(1_796_000_000_000) == "2026-11-30 00:53:20 UTC"
    assert times.iso(1_796_000_000_123) == "2026-11-30T00:53:20.123+00:00"
    assert [text for _, text in times.labels(21_600_000)] == ["0", "1 h", "2 h", "3 h", "4 h", "5 h", "6 h"]
    assert [text for _, text in times.labels(17 * 604_800_000)] == ["0", *(f"{504 * place} h" for place in range(1, 6))]


def test_six_hours_of_sixteen_nodes_are_a_small_file() -> None:
    """At most 3 MB; most of it is numbers for the pointer."""
    count = 2_160
    values = [round(20 + 7 * ((place * 37) % 101) / 101, 3) for place in range(count)]
    kept = [one(kind.metric.name, "cluster", *values) for kind in lines.KINDS]
    kept += [one(kind.metric.name, f"n{node}", *values, gpu="0") for kind in lines.MAPS for node in range(16)]
    found = Figures(charts(*kept))
    html = inner(*found.html())
    assert html.count("<svg") == len(lines.KINDS)
    assert html.count("<img") == len(lines.MAPS)
    data = json.dumps(found.data(), separators=(",", ":"))
    assert len(html) + len(data) < 700_000


def quality(**own: float) -> str:
    entries = [entry(key, value, of="head") for key, value in own.items()]
    return tables.quality([{"key": "quality", "entries": [*entries, entry("events", 3.0)]}])


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (
            {"ticks_share": 1.0, "gaps": 0.0, "gap_seconds": 0.0, "restarts": 0.0},
            "every reading was there, without a gap or a restart",
        ),
        ({"ticks_share": 0.9, "gaps": 1.0, "gap_seconds": 14.0, "restarts": 0.0}, "head: 1 gap, 14.0 s in all"),
        (
            {"ticks_share": 0.9, "gaps": 2.0, "gap_seconds": 14.0, "restarts": 1.0},
            "head: 2 gaps, 14.0 s in all, 1 restart",
        ),
        ({"ticks_share": 1.0, "restarts": 2.0}, "head: 2 restarts"),
        ({"ticks_share": 0.99, "gaps": 0.0}, "head: 99.0 % of the readings"),
        ({}, ""),
    ],
)
def test_how_well_it_was_watched(own: dict[str, float], said: str) -> None:
    assert quality(**own) == said
