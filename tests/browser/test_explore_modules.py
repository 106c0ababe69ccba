"""Explore's pure functions, asked in the browser that runs them. Its zone is Europe/Berlin."""

from __future__ import annotations

import math
from typing import Any

import orjson
import pytest
from playwright.sync_api import Page

from dashboard.pages.explore import configuration
from telemetry import formatting
from telemetry.model import Unit
from tests.browser.conftest import MakeSite, Open

HOUR, DAY = 3_600_000, 86_400_000
NOV = 1_795_727_600_000
"""26 November 2026, 22:13:20 in Berlin (UTC+1): far from any change of the clocks."""
NIGHT = 1_792_879_200_000
"""25 October 2026, 00:00 in Berlin: the day of 25 hours."""
LATER = [False, True]
"""At two instants: not yet, and then."""
DEFAULTS = "{ metrics: ['a'], length: 900000 }"
LINE = "{ t: [0, 1000, 2000, 9000], mid: [1, null, 3, 4], gap: 2500 }"
ANSWER = "{ step_ms: 1000, series: [{ labels: { target: 'x' }, t: [0, 1000, 2000], v: [1, 2, 3] }] }"

VIEW = "{ nodes: ['n', 'o'], engines: [], deployments: [], labels: { gpu: '0' } }"

CASES: list[tuple[str, str, Any]] = [
    # An alert among the events stands where it fired, and says since when it was wrong.
    ("rules", f"m.firedText({{ title: 'GPU hot', began: {NOV}, fired: {NOV + 60_000} }})",
     "GPU hot fired; it was wrong since 26 Nov 22:13:20"),
    ("rules", f"m.firedText({{ title: 'Xid', began: {NOV}, fired: {NOV} }})", "Xid fired"),
    # What an address says, and back.
    ("view", f"m.write(m.parse('', {DEFAULTS}))", "?metric=a&start=-15m"),
    ("view", f"m.write(m.parse('?metric=b,c,b&node=n1,n2&engine=e&deployment=d&label=gpu:0,cage:p:1&start=-1h"
     f"&total=1&counts=1&quantile=0.95&over=week&only=n1&hide=x,y&fit=1&table=1', {DEFAULTS}))",
     "?metric=b,c&node=n1,n2&engine=e&deployment=d&label=gpu:0,cage:p:1&start=-1h&total=1&counts=1&quantile=0.95&over=week"
     "&only=n1&hide=x,y&fit=1&table=1"),
    ("view", f"m.write(m.parse('?metric=&start=2026-11-30T07:00:00Z&end=2026-11-30T08:00:00.500Z', {DEFAULTS}))",
     "?metric=&start=2026-11-30T07%3A00%3A00Z&end=2026-11-30T08%3A00%3A00.500Z".replace("%3A", ":")),
    ("view", f"m.parse('?start={NOV}&end={NOV + HOUR}', {DEFAULTS}).range", {"start": NOV, "end": NOV + HOUR}),
    ("view", f"m.parse('?start={NOV}', {DEFAULTS}).range", {"length": 900_000}),
    ("view", f"m.parse('?start={NOV}&end={NOV + 1999}', {DEFAULTS}).range", {"length": 900_000}),
    ("view", f"m.parse('?start=2026-11-30T07:00&end=2026-11-30T08:00', {DEFAULTS}).range", {"length": 900_000}),
    ("view", f"m.parse('?start=-1s', {DEFAULTS}).range", {"length": 2000}),
    ("view", f"['', '?start=-7d', '?start={NOV}&end={NOV + HOUR}'].map((s) => m.parse(s, {DEFAULTS}).unread)",
     ["", "", ""]),
    ("view", f"['?start=2026-13-01', '?start=-20y', '?start=-5m&end=-10m'].map((s) => m.parse(s, {DEFAULTS}).unread"
     ".split(' is no ')[0])", ["“start=2026-13-01”", "“start=-20y”", "“end=-10m”"]),
    ("view", f"['?end={NOV}', '?start={NOV}', '?start={NOV}&end={NOV}'].map((s) => m.parse(s, {DEFAULTS}).unread)",
     ["“end” needs a “start” that is an instant.", "“start” as an instant needs an “end”.",
      "The end must be after the start."]),
    # Of five alike and one far from them the one; of two far ones the farther first; of four lines none can be told.
    ("apart", "m.apart([['a', 10], ['b', 11], ['c', 12], ['d', 11], ['e', 10.5], ['f', 30]])", ["f"]),
    ("apart", "m.apart([['a', 10], ['b', 10], ['c', 10], ['d', 10], ['e', 4], ['f', 30]])", ["f", "e"]),
    ("apart", "m.apart([['a', 10], ['b', 10], ['c', 10], ['d', 30]])", []),
    ("apart", "m.apart([['a', 10], ['b', 10], ['c', 10], ['d', 10], ['e', 10.29]])", []),
    ("apart", "m.apart([['a', 10], ['b', 10], ['c', 10], ['d', null], ['e', 30]])", []),
    ("apart", "m.apart([['a', 10], ['b', 11], ['c', 12], ['d', 13], ['e', 17]])", []),
    ("view", f"[m.parse('?over=year&quantile=2&total=2', {DEFAULTS})].map((v) => [v.over, v.quantile, v.total])[0]",
     ["", "0.5", False]),
    ("view", f"m.parse('?metric=' + Array.from('abcdefghijklmn').join(), {DEFAULTS}).metrics.length", 12),
    ("view", "['-90s', '-15m', '-2h', '-1d', '-5ms', '15m', '-15x', null].map(m.lengthOf)",
     [90_000, 900_000, 7_200_000, DAY, 5, None, None, None]),
    ("view", "[90000, 900000, 7200000, 86400000, 1500].map(m.lengthWord)", ["-90s", "-15m", "-2h", "-1d", "-1500ms"]),
    ("view", "m.spanOf({ length: 1000 }, 5000)", [4000, 5000]),
    ("view", "m.spanOf({ start: 1, end: 2 }, 5000)", [1, 2]),
    ("view", "m.rangeFrom(9000, 1000, 100000)", {"start": 1000, "end": 9000}),
    ("view", "m.rangeFrom(5000, 5100, 100000)", {"start": 4050, "end": 6050}),
    ("view", "m.rangeFrom(8000, 12000, 10000)", {"start": 6000, "end": 10000}),
    ("view", "m.rangeFrom(-5000, 5000, 10000)", {"start": 0, "end": 5000}),
    ("view", "m.wider({ length: 1000 }, 9)", {"length": 3000}),
    ("view", "m.wider({ start: 10000, end: 20000 }, 100000)", {"start": 0, "end": 30000}),
    ("view", "m.wider({ start: 10000, end: 20000 }, 21000)", {"start": 0, "end": 21000}),
    ("view", "m.moved({ start: 10000, end: 20000 }, -0.5, 100000)", {"start": 5000, "end": 15000}),
    # Instants and ticks.
    ("time", f"m.instantText({NOV}, {NOV})", "26 Nov 22:13:20"),
    ("time", f"m.instantText({NOV + 7}, {NOV + 400 * DAY})", "26 Nov 2026 22:13:20.007"),
    ("time", f"m.instantText({NOV + 7}, {NOV}, false)", "26 Nov 22:13"),
    ("time", f"m.spanText([{NOV}, {NOV + HOUR}], {NOV})", "26 Nov 22:13:20 – 23:13:20"),
    ("time", f"m.spanText([{NOV}, {NOV + 2 * HOUR}], {NOV})", "26 Nov 22:13:20 – 27 Nov 00:13:20"),
    ("time", "[900, 1000, 118000, 900000, 7200000, 86400000, 604800000, 5400000, 172799999].map(m.lengthText)",
     ["0.9 s", "1 s", "1 min 58 s", "15 min", "2 h", "1 day", "7 days", "1 h 30 min", "2 days"]),
    ("time", f"m.inputText({NOV})", "2026-11-26T22:13:20"),
    ("time", "m.fromInput('2026-11-26T22:13:20')", NOV),
    ("time", "m.fromInput('')", None),
    ("time", f"m.ticks([{NOV}, {NOV + 900_000}], 800).map((tick) => tick.label)",
     ["22:14", "22:16", "22:18", "22:20", "22:22", "22:24", "22:26", "22:28"]),
    ("time", f"m.ticks([{NOV}, {NOV + 30_000}], 400).map((tick) => tick.label)",
     ["22:13:20", "22:13:30", "22:13:40", "22:13:50"]),
    ("time", f"m.ticks([{NOV}, {NOV + 6 * HOUR}], 320).map((tick) => tick.label)", ["27 Nov", "02:00", "04:00"]),
    ("time", f"m.ticks([{NOV}, {NOV + 21 * DAY}], 320).map((tick) => tick.label)", ["30 Nov", "7 Dec", "14 Dec"]),
    ("time", f"m.ticks([{NOV}, {NOV + 365 * DAY}], 480).map((tick) => tick.label)",
     ["2027", "Apr", "Jul", "Oct"]),
    # The day on which the clocks are put back: 3-hour steps of the clock, of which one lasts four.
    ("time", f"m.ticks([{NIGHT}, {NIGHT + 12 * HOUR}], 400).map(({{ t, label }}) => [(t - {NIGHT}) / {HOUR}, label])",
     [[0, "25 Oct"], [4, "03:00"], [7, "06:00"], [10, "09:00"]]),
    # Lines.
    ("lines", "m.telling([{ target: 'a', gpu: '0', cage: 'p0' }, { target: 'b', gpu: '0', cage: 'p1' }])",
     ["target", "cage"]),
    ("lines", "m.linesOf({ step_ms: 1000, series: [{ labels: { target: 'a', gpu: '0' }, t: [0], v: [1] },"
     " { labels: { target: 'a', gpu: '1' }, t: [0], v: [2] }, { labels: { target: 'b', gpu: '0' }, t: [0], v: [null] }"
     "] }, 'sum').map((line) => line.name)", ["gpu 0", "gpu 1"]),
    ("lines", "m.linesOf({ step_ms: 1000, series: ['n10 p0', 'n2 p1', 'n2 p0'].map((word) => ({ labels: { target:"
     " word.split(' ')[0], cage: word.split(' ')[1] }, t: [0], v: [1] })) }, '').map((line) => line.name)",
     ["n2 p0", "n2 p1", "n10 p0"]),
    ("lines", "m.linesOf({ step_ms: 1000, series: [{ labels: {}, t: [0], v: [1] }] }, 'sum')[0].name", "sum"),
    ("lines", "m.linesOf({ step_ms: 1000, series: [{ labels: { target: 'deployment/K' }, t: [0], v: [1] }] }, '')"
     "[0].name", "K"),
    ("lines", "((l) => [l.mid, l.low, l.high])(m.linesOf({ step_ms: 9, fold: 'max', series: [{ labels: {}, t: [0],"
     " min: [1], max: [5], mean: [2] }] }, '')[0])", [[5], [1], [5]]),
    ("lines", "m.gapOf([0, 1, 2, 3], [1, 1, 1, 1], 1000)", 2500),
    ("lines", "[2500, 2501].map((now) => m.isPast({ t: [0], mid: [1], gap: 2500 }, now))", LATER),
    ("lines", "[3500, 3501].map((now) => m.isPast({ t: [0, 1000, 9000], mid: [1, 2, null], gap: 2500 }, now))", LATER),
    ("lines", "m.isPast({ t: [0, 1000], mid: [null, null], gap: 2500 }, 9000)", False),
    ("lines", "m.gapOf([0, 1000, 2000, 3000, 4000, 5000, 10000], [1, null, null, null, null, 1, 1], 1000)", 12500),
    ("lines", f"[0, 400, 1400, 1600, 3200, 3300, 8000, 12000].map((t) => m.at({LINE}, t))",
     [0, 0, 2, 2, 2, -1, 3, -1]),
    ("lines", "[-1, 0, 999, 1000, 2500].map((t) => m.at({ t: [0, 1000], mid: [1, null] }, t, 1000))",
     [-1, 0, 0, -1, -1]),
    ("lines", f"m.reach([{LINE}], [500, 8000])", [3, 3]),
    ("lines", f"m.reach([{LINE}], [2500, 8000])", None),
    ("lines", "m.reach([{ t: [0, 1000], mid: [2, 2], low: [0, 1], high: [9, 3] }], [500, 2000], 1000)", [0, 9]),
    ("lines", f"m.extended({ANSWER}, {{ step_ms: 1000, series: [{{ labels: {{ target: 'x' }}, t: [2000, 3000],"
     " v: [7, 8] }, { labels: { target: 'y' }, t: [3000], v: [9] }] }, 2000, 1000).series.map((s) => [s.t, s.v])",
     [[[1000, 2000, 3000], [2, 7, 8]], [[3000], [9]]]),
    ("lines", f"m.extended({ANSWER}, {{ step_ms: 1000, series: [] }}, 2000, 0).series.map((s) => s.v)", [[1, 2]]),
    ("lines", f"m.extended({ANSWER}, {{ step_ms: 2000, series: [] }}, 2000, 0)", None),
    ("lines", f"m.extended({ANSWER}, {{ step_ms: 1000, fold: 'mean', series: [] }}, 2000, 0)", None),
    ("lines", "m.joined([{ step_ms: 1, series: [] }, { step_ms: 5, unit: 'w', series: [1] }])",
     {"step_ms": 5, "unit": "w", "series": [1]}),
    ("lines", "m.joined([{ step_ms: 1, damaged: [{ from: 0, to: 9 }], series: [] }, { step_ms: 1, damaged: [{ from: 0,"
     " to: 9 }, { from: 9, to: 18 }], series: [] }]).damaged", [{"from": 0, "to": 9}, {"from": 9, "to": 18}]),
    ("lines", f"m.extended({{ ...{ANSWER}, damaged: [{{ from: 0, to: 900 }}, {{ from: 900, to: 1800 }}] }},"
     f" {ANSWER}, 2000, 1000).damaged", [{"from": 900, "to": 1800}]),
    ("lines", f"'damaged' in m.extended({ANSWER}, {ANSWER}, 2000, 1000)", False),
    ("lines", "((l) => [l.mid, l.low, l.high])(m.linesOf({ step_ms: 9, fold: 'mean', series: [{ labels: {}, t: [0],"
     " min: [null], max: [null], mean: [2] }] }, '')[0])", [[2], None, None]),
    # The newest values are the last of all; what they exceed grows at once, with its sign, and a line may be new.
    ("feed", "((of) => (m.renew(of, { series: ["
     "{ labels: { at: 'inside' }, stats: { min: 2, max: 3, relation: '>', last: 3, last_relation: '<' } },"
     "{ labels: { at: 'beyond' }, stats: { min: 0, max: 9, relation: '>', last: 8, last_relation: '>' } },"
     "{ labels: { at: 'blank' }, stats: { min: 2, max: 3, last: 3 } },"
     "{ labels: { at: 'gone' }, stats: { min: null, max: null, last: null } },"
     "{ labels: { at: 'new' }, stats: { min: 1, mean: 2, max: 3, last: 1 } }] }),"
     " [...of].map(([key, { min, mean, max, relation, last, last_relation }]) =>"
     " [JSON.parse(key).at, min, mean, max, relation ?? '', last, last_relation ?? ''])))"
     "(m.statsOf({ series: ['inside', 'beyond', 'gone'].map((at) => ({ labels: { at },"
     " stats: { min: 1, mean: 2, max: 4, relation: '<', last: 2 } }))"
     ".concat({ labels: { at: 'blank' }, stats: { min: null, mean: null, max: null, last: null } }) }, [0, 1]).of)",
     [["inside", 1, 2, 4, "<", 3, "<"], ["beyond", 0, 2, 9, ">", 8, ">"], ["gone", 1, 2, 4, "<", 2, ""],
      ["blank", 2, None, 3, "", 3, ""], ["new", 1, None, 3, "", 1, ""]]),
    # Drawing.
    ("bands", "[[], [3], [5, 1, 3], [4, 2]].map(m.median)", [0, 3, 3, 4]),
    # A bin between 2 and 8 that reaches from 1 to 11: three beyond the line; one at an end; one beside a gap.
    ("bands", "((l) => [0, 1, 2].map((at) => m.beyond(l, at)))"
     "({ mid: [2, 5, 8], low: [2, 1, 4], high: [9, 11, 8] })", [4, 3, 1]),
    ("bands", "m.beyond({ mid: [null, 5, null], low: [null, 1, null], high: [null, 7, null] }, 1)", 4),
    # Of spans of 4, 5 and 5 pixels the usual one is 5: what reaches 10 pixels beyond is usual, what reaches 11 is not.
    ("bands", "m.told([[0, 0, 1, 4, 10], [1, 0, 1, 5, 11], [2, 0, 1, 5, 0]])",
     [[[0, 0, 1, 4, 10], [2, 0, 1, 5, 0]], [[1, 0, 1, 5, 11]]]),
    ("bands", "m.told([[0, 0, 1, 1, 6], [1, 0, 1, 1, 7]])", [[[0, 0, 1, 1, 6]], [[1, 0, 1, 1, 7]]]),
    ("bands", "m.envelope([[3, 10, 2, 5, 0], [4, 4, 2, 7, 0], [5, 4, 2, 6, 0], [9, 1, 1, 1, 0]])",
     [[3, 10, 1, 5], [4, 4, 1, 11], [5, 4, 1, 7], [6, 4, 1, 6], [9, 1, 1, 1]]),
    ("bands", "m.envelope([[0, 1, 2, 3, 0], [2, 1, 2, 3, 0]])", [[0, 1, 4, 3]]),
    ("bands", "m.envelope([])", []),
    ("draw", f"m.path({LINE}, [0, 2], 0)", [[0, 1], [2000, 3]]),
    ("draw", f"m.path({LINE}, [0, 2], 500)", [[0, 1], [2000, 1], [2000, 3], [2500, 3]]),
    ("draw", f"m.path({LINE}, [3, 3], 500)", [[9000, 4], [9500, 4]]),
    ("draw", f"m.runs({LINE}, [0, 9000], 0)", [[0, 2], [3, 3]]),
    ("draw", f"m.runs({LINE}, [5000, 9000], 0)", [[3, 3]]),
    ("draw", "[[0.5, 0.25], [20, 10], [-2, 1], [0.001, 0.0005]].map((a) => m.tickText(...a))",
     ["0.50", "20", "−2", "0.0010"]),
    ("strip", "m.marks([{ t: 0 }, { t: 5 }, { t: 50 }], [0, 100], 100).map(([x, some]) => [x, some.length])",
     [[0, 2], [50, 1]]),
    ("colours", "m.paintLines([['a', 'p'], ['a', 'q'], ['b', 'p'], ['c', 'p']].map(([target, name]) => ({ name:"
     " target + name, labels: { target } })), ['x', 'y']).map((l) => l.colour + l.dash)", ["x0", "x1", "y0", "x1"]),
    ("colours", "m.paintLines([{ name: 'b', labels: { target: 't' } }, { name: 'a', labels: { target: 't' } }],"
     " ['x', 'y']).map((l) => l.colour)", ["y", "x"]),
    # Questions.
    ("ask", "m.questions({ nodes: ['n'], engines: ['e', 'f'], deployments: [], labels: { gpu: '0' }, total: true,"
     " quantile: '0.95' }, { name: 'x', scope: 'node', labels: ['gpu'], kind: 'gauge' })",
     [{"metric": "x", "total": "1", "label": "gpu:0", "node": "n"}]),
    ("ask", "m.questions({ nodes: ['n'], engines: ['e', 'f'], deployments: [], labels: { gpu: '0' }, total: false,"
     " quantile: '0.95' }, { name: 'x', scope: 'engine', labels: [], kind: 'histogram' })",
     [{"metric": "x", "quantile": "0.95", "engine": "e,f"}]),
    ("ask", "m.questions({ nodes: ['n'], engines: ['e'], deployments: ['d'], labels: {} },"
     " { name: 'x', scope: 'target', labels: [], kind: 'gauge' })",
     [{"metric": "x", "node": "n"}, {"metric": "x", "engine": "e"}]),
    ("ask", "[false, true].map((counts) => m.questions({ nodes: [], engines: [], deployments: [], labels: {}, counts },"
     " { name: 'x', scope: 'node', labels: [], kind: 'counter' })[0])",
     [{"metric": "x", "rate": "1"}, {"metric": "x"}]),
    ("export", f"m.exportWords({VIEW}, [{{ name: 'x', scope: 'node', labels: ['gpu'], kind: 'gauge' }}], [0, 1000],"
     " { points: '9' })",
     {"metric": "x", "node": "n,o", "start": "1970-01-01T00:00:00.000Z", "end": "1970-01-01T00:00:01.000Z",
      "label": "gpu:0", "points": "9"}),
    ("export", f"m.exportWords({VIEW}, [{{ name: 'x', scope: 'engine', labels: [], kind: 'counter' }}], [0, 1], null)",
     {"metric": "x", "start": "1970-01-01T00:00:00.000Z", "end": "1970-01-01T00:00:00.001Z", "rate": "1", "raw": "1",
      "gzip": "1"}),
    ("export", f"m.exportWords({VIEW}, [{{ name: 'x', scope: 'node', labels: ['gpu'], kind: 'gauge' }}, {{ name: 'y',"
     " scope: 'engine', labels: [], kind: 'gauge' }], [0, 1], { points: '9' })", None),
    ("export", f"m.exportWords({VIEW}, [{{ name: 'x', scope: 'node', labels: ['gpu'], kind: 'gauge' }}, {{ name: 'y',"
     " scope: 'node', labels: ['gpu'], kind: 'counter' }], [0, 1], { points: '9' })", None),
    ("export", f"m.exportAddress({VIEW}, [], [0, 1], {{ points: '9' }})", None),
    ("export", "['csv', 'sqlite', 'parquet'].map((form) => m.inForm('/api/v1/export.csv?metric=x&raw=1&gzip=1', form))",
     ["/api/v1/export.csv?metric=x&raw=1&gzip=1", "/api/v1/export.sqlite?metric=x&raw=1",
      "/api/v1/export.parquet?metric=x&raw=1"]),
    # The count over all members is asked for anew: one that is away is not in the newest part, and would be missing.
    ("feed", "Promise.all([['counter', { total: '1' }], ['counter', { total: '1', rate: '1' }], ['counter', {}],"
     " ['gauge', { total: '1' }]].map(([kind, words]) => Object.assign(new m.Feed({ kind }), { answer: {}, span: [0,"
     " 100000], questions: [words], ask: () => 'anew', all: () => Promise.reject('part') }).follow([1000, 101000], 9)"
     ".catch((told) => told)))", ["anew", "part", "part", "part"]),
    ("feed", "[null, { fold: 'mean', step_ms: 11000 }, { step_ms: 1000 }].map((answer) =>"
     " Object.assign(new m.Feed(), { answer, points: 60 }).drawn)", [None, {"step": "11000ms"}, {"points": "60"}]),
    ("ask", "m.questions({ nodes: ['n'], engines: [], deployments: [], labels: {} },"
     " { name: 'x', scope: 'cluster', labels: [], kind: 'ratio' })", [{"metric": "x"}]),
    ("ask", "m.scopeText({ nodes: ['a', 'b'], engines: ['e'], deployments: [], labels: { gpu: '0' } },"
     " { scope: 'node', labels: ['gpu'] })", "a, b · gpu 0"),
    ("ask", "m.scopeText({ nodes: ['a', 'b', 'c', 'd'], engines: [], deployments: [], labels: {} },"
     " { scope: 'node', labels: [] })", "4 of nodes"),
    ("ask", "m.scopeText({ nodes: ['a'], engines: [], deployments: [], labels: {} }, { scope: 'engine', labels: [] })",
     "all engines"),
    ("picker", "m.found([{ label: 'GPU power', name: 'gpu_power_watts', help: 'h', group: 'gpu' }, { label: 'ITL',"
     " name: 'i', help: 'power', group: 'latency' }, { label: 'x', name: 'y', help: '', group: 'gpu' }],"
     " [['latency', 'Latency'], ['gpu', 'GPU']], 'POW').map(([title, some]) => [title, some.length])",
     [["Latency", 1], ["GPU", 1]]),
    ("picker", "((all) => all.map((one) => m.called(one, all)))([['a', 'counter', 'tokens'],"
     " ['a', 'ratio', 'per_second'], ['b', 'gauge', 'bytes'], ['b', 'ratio', 'ratio'], ['c', 'histogram', 's'],"
     " ['c', 'state', 's'], ['d', 'gauge', 's']]"
     ".map(([label, kind, unit], at) => ({ label, kind, unit, name: String(at) })))",
     ["a (counter)", "a (rate)", "b (amount)", "b (share)", "c (distribution)", "c (rate)", "d"]),
    ("picker", "m.found([{ label: 'a', name: 'a', help: '', group: 'new' }], [], 'gpu')", []),
    ("scopes", "m.scopeWords({ nodes: ['a', 'b', 'c'], engines: [], deployments: [], labels: { gpu: '0' } })",
     "a and 2 more, gpu 0"),
    ("scopes", "m.scopeWords({ nodes: [], engines: [], deployments: [], labels: {} })", "everything"),
    ("readout", "m.said([1, 2, 3, 4].map((n) => ({ text: String(n), span: '!' })), false)", "1 · 2 · 3 …"),
    # Small: beside the crosshair. Large: over the legends at the right; else left of the crosshair.
    ("readout", "[[100, 200], [900, 200], [100, 500], [950, 500], [950, 950]].map(([x, width]) =>"
     " m.leftOf(x, { width, height: 100 }, { left: 30 }, 1440))", [116, 684, 924, 30, -16]),
    ("readout", "m.leftOf(100, { width: 200, height: 161 }, { left: 30 }, 1440)", 1224),
    ("lines", "(['spark-1', 'spark-1 p0', 'spark-2 p0', 'spark', 'x']).map((name) => {"
     " const lines = [['spark-1 p0', 'spark-1'], ['spark-1 p1', 'spark-1'], ['spark-2', 'spark-2'], ['all', undefined]]"
     ".map(([name, target]) => ({ name, labels: { target } })); const means = m.ofName(lines, name);"
     " return means && lines.filter(means).map((line) => line.name); })",
     [["spark-1 p0", "spark-1 p1"], ["spark-1 p0"], ["spark-2"], None, None]),
    ("readout", "m.said([{ text: '1', span: ' (0 – 2)' }], true)", "1 (0 – 2)"),
    ("link", "m.rangeOf(['2026-11-26T22:00:00', '2026-11-26 22:15:00'], false)", {"start": "-900s"}),
    ("link", "m.rangeOf(['2026-11-26T22:00:00', '2026-11-26 22:15:00.5'], true)",
     {"start": "2026-11-26T21:00:00.000Z", "end": "2026-11-26T21:15:00.500Z"}),
]  # fmt: skip

WITH_TABLES: list[tuple[str, str, Any]] = [
    ("format", "m.text(3, 'state', ['ok', 'lost'])", "–"),
    ("format", "m.text(1, 'state', ['ok', 'lost'])", "lost"),
    ("format", "[0.0000005, 0.002, 0, 3, 299, 300, 20000, 500000].map((v) => m.axisUnit(v, 'seconds').unit)",
     ["µs", "ms", "s", "s", "s", "min", "h", "d"]),
    ("format", "[[999, 'watts'], [1000, 'watts'], [5e9, 'bytes'], [4e6, 'tokens'], [2.4e9, 'hertz']]"
     ".map((a) => m.axisUnit(...a).unit)", ["W", "kW", "GiB", "M tokens", "MHz"]),
    ("format", "m.axisUnit(2048, 'bytes').scale", 1 / 1024),
    ("legend", "m.told({ min: 1, mean: 2, max: 3, last: 4 }, { kind: 'gauge', unit: 'watts' })",
     ["1\u00a0W", "2\u00a0W", "3\u00a0W", "4\u00a0W"]),
    ("legend", "m.told({ min: 1, mean: 2, max: 3, last: null }, { kind: 'counter', unit: 'tokens' })[1]", "–"),
    ("legend", "m.told({ min: 1, mean: 2, max: 9, relation: '>', last: 1, last_relation: '<' },"
     " { kind: 'histogram', unit: 'seconds' })",
     ["≤\u00a01.0\u00a0s", "–", ">\u00a09.0\u00a0s", "<\u00a01.0\u00a0s"]),
    ("legend", "m.told({ min: 0, mean: 0, max: 1, last: 1 }, { kind: 'state', unit: 'state', states: ['a', 'b'] })",
     ["–", "–", "–", "b"]),
    ("legend", "m.told({}, { kind: 'gauge', unit: 'watts' })", ["–", "–", "–", "–"]),
    ("draw", "((a) => [a.low, a.high, a.step, a.unit])(m.valueAxis([{ t: [0], mid: [72] }], [0, 1], 0, 'watts'))",
     [0, 80, 20, "W"]),
    ("draw", "((a) => [a.low, a.high])(m.valueAxis([{ t: [0, 1], mid: [60, 72] }], [0, 1], 0, 'watts', true))",
     [60, 75]),
    ("draw", "((a) => [a.low, a.high])(m.valueAxis([{ t: [0], mid: [2.4e9] }], [0, 1], 0, 'hertz'))", [2200, 2600]),
    ("draw", "((a) => [a.low, a.high])(m.valueAxis([], [0, 1], 0, 'watts'))", [0, 1]),
    # What is counted in ones has no quarters; means of counts, and what is measured, have.
    ("draw", "[['count', 1], ['state', 1], ['count', 0.8], ['watts', 1]].map(([unit, v]) => "
     "((a) => [a.low, a.high, a.step])(m.valueAxis([{ t: [0, 1], mid: [0, v], low: null, high: null }], [0, 1], 0,"
     " unit)))",
     [[0, 1, 1], [0, 1, 1], [0, 0.8, 0.2], [0, 1, 0.25]]),
    ("draw", "((a) => [a.low, a.high])(m.valueAxis([{ t: [0], mid: [0.00002] }], [0, 1], 0, 'ratio'))", [0, 0.002]),
]  # fmt: skip


def asked_of(page: Page, cases: list[tuple[str, str, Any]], before: str = "null") -> list[str]:
    """What the page answers differently from what is expected; `before` is done first."""
    wrong = []
    for module, asked, answer in cases:
        script = (
            f"(async () => {{ {before}; const m = await import('/assets/explore/{module}.js'); return {asked}; }})()"
        )
        found = page.evaluate(script)
        numeric = isinstance(found, float) or (isinstance(found, list) and all(isinstance(one, float) for one in found))
        if found != (pytest.approx(answer) if numeric else answer):
            wrong.append(f"{module}: {asked} is {found}, not {answer}")
    return wrong


@pytest.mark.look
def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    tables = f"(await import('/assets/explore/format.js')).useTables({orjson.dumps(configuration()).decode()})"
    wrong = [*asked_of(page, CASES), *asked_of(page, WITH_TABLES, tables)]
    assert not wrong, "\n".join(wrong)


def numbers() -> list[float]:
    """Values of every size, on both sides of every rounding that the formatter does."""
    edges = [0.0, 0.05, 0.95, 1.0, 9.95, 59.95, 60.0, 99.94, 99.95, 100.0, 999.4, 999.5, 1000.0, 1023.5, 1024.0]
    sizes = [base * 10**power for base in (1.0, 1.5, 3.14159, 9.9951) for power in range(-9, 19, 1)]
    times = [3599.4, 3599.6, 86399.0, 86400.0 * 364.99, 86400.0 * 365, 86400.0 * 365 * 999.9, 1e12]
    found = [*edges, *sizes, *times]
    return [*found, *(-value for value in found[1:40])]


@pytest.mark.look
def test_numbers_read_as_the_server_writes_them(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    tables = orjson.dumps(configuration()).decode()
    values = numbers()
    found = page.evaluate(
        f"import('/assets/explore/format.js').then((m) => {{ m.useTables({tables}); return "
        f"{orjson.dumps([unit.value for unit in Unit]).decode()}.map((unit) => [...{orjson.dumps(values).decode()}, "
        "null, NaN, Infinity, -Infinity].map((value) => m.show(value, unit))); })"
    )
    asked = [*values, None, math.nan, math.inf, -math.inf]
    for unit, shown in zip(Unit, found, strict=True):
        for value, pair in zip(asked, shown, strict=True):
            assert tuple(pair) == formatting.show(value, unit), (value, unit)
