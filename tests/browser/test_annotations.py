"""What people wrote down stands on the Cluster page's plots and on a node's charts, as it does in Explore."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from telemetry.catalog import gpu
from tests.browser.conftest import MakeSite, Open, wait_for_charts
from tests.web.world import constant, tick

NOTES = """[{ t: 1000, end: null, text: "new kernel" },
  { t: 1040, end: 1090, text: "drained <b> & the fans of all nodes cleaned" },
  { t: 500, end: 1010, text: "began before" },
  { t: 500, end: 999, text: "over" }, { t: 1101, end: null, text: "later" }]"""
SHAPES = f"m.noteShapes({NOTES}, [1000, 1100], (name) => name, true)"
DRAWN = """(() => {
  const done = [], put = { measureText: (text) => ({ width: text.length * WIDE }),
    set fillStyle(name) { done.push(name); },
    strokeText: () => done.push("halo"), fillRect: (...where) => done.push(where),
    fillText: (...where) => done.push(where) };
  m.drawNotes(put, NOTES, { span: [1000, 1100], l: 50, w: 200, plots: PLOTS }, (name) => name);
  return done;
})()"""
TWELVE = "[{ t: 1060, end: null, text: 'twelve signs' }]"
CASES: list[tuple[str, Any]] = [
    (
        f"{SHAPES}.map((one) => [one.type, one.layer])",
        [["line", "above"], ["rect", "below"], ["line", "above"], ["rect", "below"]],
    ),
    (f"{SHAPES}.map((one) => Date.parse(one.x1 + 'Z') - Date.parse(one.x0 + 'Z'))", [0, 50, 0, 510]),
    (
        f"{SHAPES}.filter((one) => one.label).map((one) => one.label.text)",
        ["new kernel", "drained &lt;b> &amp; the fans of a…"],
    ),
    (f"{SHAPES}.filter((one) => one.label).map((one) => one.label.xanchor)", ["left", "left"]),
    ("m.noteShapes([{ t: 1080, end: null, text: 'x' }], [1000, 1100], (name) => name, true)[0].label.xanchor", "right"),
    ("m.short('a'.repeat(28)).length", 28),
    ("m.short('a'.repeat(29))", "a" * 27 + "…"),
    (
        DRAWN.replace("WIDE", "1").replace("PLOTS", "[[20, 300]]").replace("NOTES", NOTES),
        # A line each, a ground for each stretch; of what began before only its ground, up to where it ended; words that
        # would stand on others are left out.
        [
            "accent", [50, 20, 1, 300], "halo", ["new kernel", 54, 21],
            "accent", [130, 20, 100, 300], [130, 20, 1, 300], "halo", ["drained <b> & the fans of a…", 134, 21],
            "accent", [50, 20, 20, 300],
        ],
    ),
    (
        DRAWN.replace("WIDE", "1").replace("PLOTS", "[[20, 30], [70, 40]]").replace("NOTES", f"{NOTES}.slice(0, 1)"),
        ["accent", [50, 20, 1, 30], [50, 70, 1, 40], "halo", ["new kernel", 54, 21]],
    ),
    (
        DRAWN.replace("WIDE", "6").replace("PLOTS", "[[20, 300]]").replace("NOTES", TWELVE),
        ["accent", [170, 20, 1, 300], "halo", ["twelve signs", 174, 21]],
    ),
    (
        DRAWN.replace("WIDE", "7").replace("PLOTS", "[[20, 300]]").replace("NOTES", TWELVE),
        ["accent", [170, 20, 1, 300], "halo", ["twelve signs", 82, 21]],
    ),
]  # fmt: skip


@pytest.mark.live
def test_lines_grounds_and_words(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    for asked, answer in CASES:
        assert page.evaluate(f"import('/assets/live/notes.js').then((m) => {asked})") == answer, asked


def annotate(page: Page, at_ms: int, text: str) -> None:
    page.evaluate(
        """([start, text]) => fetch("/api/v1/annotations", {
          method: "POST", headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ start, end: null, text }) })""",
        [at_ms, text],
    )


LISTEN = """() => {
  window.written = new Set();
  const write = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...where) {
    window.written.add(text);
    write.call(this, text, ...where);
  };
}"""


@pytest.mark.live
def test_an_annotation_stands_on_cluster_and_on_node(make_site: MakeSite, open_page: Open) -> None:
    site = make_site(ticks=0)
    site.world.set("spark-02", gpu.GPU_TEMPERATURE, constant(88.0))
    site.run(120)
    page = open_page(f"{site.address}/status")
    annotate(page, tick(60), "fans cleaned")
    page.add_init_script(f"({LISTEN})()")
    page.goto(site.address)
    wait_for_charts(page)
    site.tick()  # what is beside the numbers is asked for with the first tick after the plots stand
    page.wait_for_function("() => window.written.has('fans cleaned')")
    page.goto(f"{site.address}/node/spark-02")
    shapes = "[...document.querySelectorAll('[data-chart] .js-plotly-plot')].map((one) => one.layout.shapes ?? [])"
    lines = f"{shapes}.map((some) => some.filter((one) => one.xref === 'x').map((one) => one.label?.text))"
    page.wait_for_function(f"() => {lines}.filter((texts) => texts.length).length === 10")
    assert page.evaluate(lines) == [["fans cleaned"], *9 * [[""]]]


LIMITS = """{ hot: [{ title: "Hot", value: 1 }, { title: "NVMe hot", value: 2, labels: { sensor: ["nvme", "nvme_2"] } },
  { title: "NIC hot", value: 3, labels: { sensor: ["mlx5"] } }], low: [{ title: "Low", value: 4 }] }"""
LINES = """[{ metric: "hot", labels: { sensor: "nvme" }, hue: "a" },
  { metric: "hot", labels: { sensor: "spbm" }, hue: "b" },
  { metric: "low", labels: {}, hue: "c" }]"""


@pytest.mark.live
def test_a_limit_of_one_line_has_its_colour_and_says_whose_it_is(make_site: MakeSite, open_page: Open) -> None:
    page = open_page(make_site(ticks=0, nodes=0, engines=False).address)
    module = "import('/assets/live/thresholds.js')"
    told = f"m.limitsOfLines({LIMITS}, LINES).map((one) => [one.title, one.hue ?? null])"
    asked = f"{module}.then((m) => {told})"
    # No line is the NIC's: no limit of it.
    found = page.evaluate(asked.replace("LINES", LINES))
    assert found == [["Hot", None], ["NVMe hot (nvme)", "a"], ["Low", "c"]]
    alone = page.evaluate(asked.replace("LINES", f"{LINES}.slice(0, 1)"))
    assert alone == [["Hot", None], ["NVMe hot", None]]
    limit = "[{ value: 1, title: 'x', severity: 'warning', HUE }]"
    ink = f"{module}.then((m) => m.shapes({limit}, [0, 2], 1, (name) => name)[0])"
    for hue, colour in (("hue: 'a'", "a"), ("", "warning")):
        shape = page.evaluate(ink.replace("HUE", hue))
        assert (shape["line"]["color"], shape["label"]["font"]["color"]) == (colour, colour)
