"""The pure functions of the scripts, asked in the browser that runs them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import MakeSite, Open

CASES: list[tuple[str, str, Any]] = [
    ("tiles", "[1, 2, 3, 4, 5, 8, 9, 16].map(m.columns)", [1, 2, 3, 2, 5, 8, 5, 8]),
    ("tiles", "[17, 20, 24, 35, 64].map(m.columns)", [6, 5, 8, 7, 8]),
    ("tiles", "[17, 18, 20, 63, 64].map(m.narrowColumns)", [3, 3, 4, 3, 4]),
    ("tiles", "[1, 4, 5, 16, 17, 64].map(m.density)", ["large", "large", "full", "full", "compact", "compact"]),
    ("tiles", "m.shortNames(['spark-01', 'spark-02'])", ["spark-01", "spark-02"]),
    ("tiles", "m.shortNames(['gb10-rack-a-01', 'gb10-rack-a-12'])", ["01", "12"]),
    ("tiles", "m.shortNames(['spark-01', 'spark-02'], 4)", ["01", "02"]),
    ("tiles", "m.shortNames(['a-very-long-name'])", ["a-very-long-name"]),
    ("tiles", "m.shortNames(['alphabetical', 'beta'])", ["alphabetical", "beta"]),
    ("tiles", "m.brief('is throttling (software thermal)')", "throttling"),
    ("tiles", "m.brief('has a GPU at 87.0 °C')", "GPU at 87.0 °C"),
    ("tiles", "m.brief('has 1.6 GiB of memory left')", "1.6 GiB left"),
    ("title", "m.titleOf('21.4 tok/s · Tachograph', { stale: false }, true)", "21.4 tok/s · Tachograph"),
    ("title", "m.titleOf('21.4 tok/s · Tachograph', { stale: true }, true)", "⚠ Collector silent · Tachograph"),
    ("title", "m.titleOf('⚠ hot · Tachograph', { stale: true }, false)", "⚠ The server does not answer · Tachograph"),
    ("tiles", "m.brief('refuses the connection')", "refuses the connection"),
    ("age", "[0, 999, 59999, 60000, 3725000, 90000000].map(m.duration)",
     ["0 s", "0 s", "59 s", "1m 0s", "1h 2m", "1d 1h"]),
    ("plots", "new m.Grid([1000, 2000, 5000], 1000).place([1, 2, 3], 10)", [10, 20, None, None, 30]),
    ("plots", "new m.Grid([1000, 2000, 4000], 1000).place([1, 2, 4], 1)", [1, 2, 3, 4]),
    ("plots", "new m.Grid([1000, 2000, 4000], 1000).place([1, null, 4], 1)", [1, None, None, 4]),
    ("plots", "new m.Grid([1000, 2040, 2990], 1000).place([1, 2, 3], 1)", [1, 2, 3]),
    ("plots", "new m.Grid([1000, 2000], 1000).place([], 1)", [None, None]),
    ("plots", "(() => { const s = [[null, 1, null, 3], [null, 3, null, 5]]; m.closeSpans(s); return s; })()",
     [[0, 1, 2, 3], [0, 3, 2, 5]]),
    ("plots", "new m.Grid([1000, 2000, 4000], 1000).words(['a', null, 'b'], (w) => w ?? '?')", ["a", "?", " ", "b"]),
    ("scale", "[1, 37, 40, 41, 0.9].map((span) => m.roundStep(span))", [0.25, 10, 10, 20, 0.25]),
    ("scale", "m.roundStep(41, 9)", 5),
    ("scale", "m.limits([0, 436], true, 1, 9)", [0, 450, 50]),
    ("scale", "m.limits([3, null, 37], true, 1)", [0, 40, 10]),
    ("scale", "m.limits([0.00005], true, 1)", [0, 1, 0.25]),
    ("scale", "m.limits([null], true, 1)", [0, 1, 0.25]),
    ("scale", "m.limits([2400, 2400], false, 400)", [2200, 2600, 100]),
    ("scale", "m.limits([41, 69], false, 10)", [40, 70, 10]),
    ("scale", "(() => { const a = { range: [0, 105] }; m.fit(a, [[1]], 1); return a.range; })()", [0, 105]),
    ("scale", "(() => { const a = { rangemode: 'tozero' }; m.fit(a, [[null, 8]], 1); return a.dtick })()",
     2),
    ("scale", "(() => { const a = { rangemode: 'tozero' }; m.fit(a, [[null]], 1); return a.showticklabels })()", False),
    ("node_lines", "[['b', 'c'], ['d', 'e'], ['a', 'b']].map((r) => m.reaches({ x: ['b', 'f'], y: [1, null] }, r))",
     [True, False, True]),
    ("node_lines", "m.reaches({ x: ['a', 'd'], y: [1, 2] }, ['b', 'c'])", True),
    ("choice", "m.addressWith('http://a/?x=1', 'clock')", "http://a/?x=1&map=clock"),
    ("choice", "m.addressWith('http://a/?map=clock', 'power')", "http://a/"),
    ("ramp", "(() => { const p = document.createElement('p'); p.innerHTML = '<b></b><i></i>';"
     " return [[], [[5]]].map((rows) => { const w = { unit: 'W', low: null, high: null };"
     " m.makeRamp(w, rows, [], () => '#000000').legend(p); return p.hidden; }); })()",
     [True, False]),
    ("paint", "m.stamp(0).length", 23),
    ("traces", "m.parted([[[0, 1], [1000, 2]], [[5000, 3]]]).y", [1, 2, None, 3]),
    ("traces", "m.parted([[[0, 1], [1000, 2]], [[5000, 3]]]).x.map((x) => x.slice(-6))",
     ["00.000", "01.000", "05.000", "05.000"]),
    ("traces", "m.outline({ t: [0, 10], mid: [2, 3], low: [1, 2], high: [3, 5] }, [0, 1], 10)",
     [[0, 3], [10, 3], [10, 5], [20, 5], [20, 2], [10, 2], [10, 1], [0, 1], [0, 3]]),
    ("traces", "m.traces({ t: [0, 10], mid: [0, null], low: [0, null], high: [3, null], gap: 25 },"
     " { name: 'n', at: 1, width: 10, scale: 2, unit: 'W' }).map((one) => [one.y, one.name, one.meta.colour])",
     [[[6, 6, 0, 0, 6], None, "prefill"], [[0, 0], "n", "prefill"]]),
    ("traces", "m.traces({ t: [0, 10], mid: [4, 5], low: null, high: null, gap: 25 },"
     " { name: 'n', at: 8, width: 0, scale: 1, unit: 'W' }).map((one) => [one.y, one.line.dash])",
     [[[4, 5], "dot"]]),
    ("traces", "[[0, false], [7, false], [1, true]].map(([at, dashed]) => m.traces({ t: [0], mid: [4], low: null,"
     " high: null, gap: 25 }, { name: 'n', at, dashed, width: 0, scale: 1, unit: 'W' })[0].line.dash)",
     ["solid", "solid", "6px,6px"]),
    ("node_lines", "m.firstKnown({ t: [5, 6, 7], v: [null, 1, 2] })", 6),
    ("node_lines", "m.firstKnown({ t: [5, 6], min: [0, 0], max: [3, null], mean: [1, 1] })", 5),
    ("node_lines", "m.firstKnown({ t: [5], mean: [null] }) === Infinity", True),
]  # fmt: skip
STATE = """(() => {
  const state = new m.State();
  const nodes = ["a", "b"].map((name) => ({ name, level: "ok", cells: [["1", "W"], ["2", "%"]] }));
  const base = { tick: 1000, age_ms: 200, sentence: {}, cells: { x: ["1", "", "ok", ""], y: ["2", "", "ok", ""] },
    nodes, why: [{ key: "k", now: "1" }, { key: "l", now: "2" }], points: { decode: 1, prefills: [] },
    map: { power: [5, null] } };
  state.bootstrap({ ...base, history: { t: [0, 1000], points: { decode: [0, 1], prefill: [null, null] },
    map: { power: [[4, 5], [null, null]] }, node_cells: ["power"], map_metrics: [] } }, 50);
  const changed = state.merge({ ...base, tick: 2000, cells: { x: ["9", "", "ok", ""] },
    nodes: [{ index: 1, level: "critical", cells: { 1: ["3", "%"] } }], why: [{ key: "l", now: "7" }],
    points: { decode: 3, prefills: [[500, 1500, 750]] }, map: { power: [6, 7] } }, 1050);
  state.record(900000);
  return { changed, x: state.message.cells.x[0], y: state.message.cells.y[0],
    levels: state.message.nodes.map((n) => n.level),
    second: state.message.nodes.map((n) => n.cells.map((cell) => cell[0]).join()),
    why: state.message.why.map((row) => row.now), t: state.history.t, decode: state.history.points.decode,
    prefill: state.history.points.prefill, power: state.history.map.power, age: state.age(1550),
    interval: state.interval, gap: state.gapMs, other: state.merge({ ...base, nodes: [nodes[0]] }, 0).shape };
})()"""
MERGED = {
    "changed": {"shape": False, "cells": ["x"], "nodes": [1], "why": True},
    "x": "9",
    "y": "2",
    "levels": ["ok", "critical"],
    "second": ["1,2", "1,3"],
    "why": ["1", "7"],
    "t": [0, 1000, 2000],
    "decode": [0, 1, 3],
    "prefill": [None, 750, None],
    "power": [[4, 5, 6], [None, None, 7]],
    "age": 700,
    "interval": 1000,
    "gap": 2500,
    "other": True,
}
JUDGE = """(() => {
  const state = (age, level) => ({ age: () => age, message: { tick: 1, sentence: { level, text: "fine" } } });
  const said = (...parts) => { const s = m.judge(...parts, 0); return [s.level, s.text, s.stale]; };
  return [said(state(2999, "ok"), true), said(state(3000, "ok"), true), said(state(65000, "ok"), false),
    said(state(90000, "empty"), true), said({ age: () => null, message: null }, true),
    said({ age: () => null, message: { sentence: { level: "empty", text: "nothing" } } }, true),
    said({ age: () => null, message: null }, false)];
})()"""
JUDGED = [
    ["ok", "fine", False],
    ["critical", "Collector silent for 3 s", True],
    ["critical", "The server does not answer; numbers are from 1m 5s ago", True],
    ["empty", "fine", False],
    ["unknown", "Waiting for the first reading", False],
    ["empty", "nothing", False],
    ["critical", "The server does not answer", False],
]
RAMP = """(() => {
  const colour = (name) => ({ "map-low": "#000000", "map-high": "#ffffff", "map-none": "none" })[name];
  const fixed = m.makeRamp({ unit: "%", scale: 100, low: 0, high: 1 }, [], [], colour);
  const seen = m.makeRamp({ unit: "W", scale: 1, low: null, high: null }, [[50, null], [80, 60]], [90], colour);
  return [fixed.colour(0), fixed.colour(1), fixed.colour(2), fixed.colour(null), fixed.outside(2), fixed.text(0.5),
    seen.colour(50), seen.colour(90), seen.outside(91), seen.outside(49), seen.outside(70), seen.text(123.4),
    seen.text(10.45)];
})()"""
RAMPED = [
    "rgb(0,0,0)", "rgb(255,255,255)", "rgb(255,255,255)", "none", False, "50.0 %",
    "rgb(0,0,0)", "rgb(255,255,255)", True, True, False, "123 W", "10 W",
]  # fmt: skip
MORPH = """(() => {
  const page = document.createElement("div"), next = document.createElement("template");
  page.innerHTML = '<details open><summary>1</summary></details><p class="a">old</p><b>x</b>';
  const kept = page.firstChild;
  next.innerHTML = '<details><summary>2</summary></details><p title="t">new</p><i>y</i><u>z</u>';
  m.morph(page, next.content);
  const first = page.innerHTML;
  next.innerHTML = "<p>only</p>";
  m.morph(page, next.content);
  return [kept.isConnected || first.includes("<details open"), first, page.innerHTML];
})()"""
MORPHED = [
    True,
    '<details open=""><summary>2</summary></details><p title="t">new</p><i>y</i><u>z</u>',
    "<p>only</p>",
]
KEYED = """(() => {
  const page = document.createElement("div"), next = document.createElement("template");
  document.body.append(page);
  const show = (html) => { next.innerHTML = html; m.morph(page, next.content); };
  page.innerHTML = '<p data-key="a">a<input value="1"></p><p data-key="b">b<input value="2"></p>';
  const [a, b] = page.children, field = b.querySelector("input");
  field.focus(); field.value = "typed";
  show('<p data-key="c">c</p><p data-key="b">B<input value="3"></p><p data-key="a">a<input value="9"></p>');
  const order = [page.textContent, page.children[1] === b, page.children[2] === a, field.value,
    document.activeElement === field, a.querySelector("input").value];
  show('<i>x</i><p data-key="a">a<input value="1"></p>');
  order.push(page.children.length, page.children[1] === a, b.isConnected);
  page.remove();
  return order;
})()"""
IN_ORDER = ["cBa", True, True, "typed", True, "9", 2, True, False]
FIELDS = """(() => {
  const page = document.createElement("div"), next = document.createElement("template");
  const show = (html) => { next.innerHTML = html; m.morph(page, next.content); };
  const options = (at) => "<select>" + [1, 2, 3].map((n) =>
    `<option value="${n}"${n === at ? " selected" : ""}>${n}</option>`).join("") + "</select>";
  page.innerHTML = options(1);
  const list = page.firstChild, seen = [];
  list.value = "2";
  show(options(3)); seen.push(list.value);
  show(options(2)); show(options(1)); seen.push(list.value);
  const form = (value) => `<form><b data-said></b><input value="${value}"><button>x</button></form>`;
  page.innerHTML = form("60s");
  const [said, input, button] = page.firstChild.children;
  said.textContent = "no"; input.value = "5s"; button.disabled = true;
  show(form("90s")); seen.push(said.textContent, input.value, button.disabled);
  show(form("5s")); show(form("20s")); seen.push(input.value);
  return seen;
})()"""
KEPT = ["2", "1", "no", "5s", True, "20s"]


@pytest.mark.look
def test_pure_functions(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0, nodes=0, engines=False)
    page = open_page(site.address)
    cases = [
        *CASES,
        ("state", STATE, MERGED),
        ("age", JUDGE, JUDGED),
        ("ramp", RAMP, RAMPED),
        ("fragments", MORPH, MORPHED),
        ("fragments", KEYED, IN_ORDER),
        ("fragments", FIELDS, KEPT),
    ]
    for module, asked, answer in cases:
        found = page.evaluate(f"import('/assets/live/{module}.js').then((m) => {asked})")
        assert found == answer, asked
