// Charts of the Node page: each asks /api/v1/series for its lines and keeps its zoom when new points come.

import { linesOf } from "../explore/lines.js";
import { element, setAttribute, setText } from "./dom.js";
import { instant, paint, stamp } from "./paint.js";
import { firstKnown, nameOf, reaches, wanted } from "./node_lines.js";
import { fit } from "./scale.js";
import { onThemeChange } from "./theme.js";
import { Thresholds } from "./thresholds.js";
import { hueAt, traces } from "./traces.js";
import { onDrawnByDash, tellZoomed } from "./zoom.js";

// A young store is shown over a shorter time, so that its lines are not a stroke at the edge.
const SPAN_MS = 3600000, LEAST_MS = 600000, POINTS = 240, YOUNG = 0.75, EVERY_MS = 10000, LOOK_MS = 200;

export class Charts {
  // root: the place of the charts; hubNow(): instant of the newest tick, because the browser's clock may be off.
  constructor(root, hubNow) {
    this.root = root;
    this.hubNow = hubNow;
    this.node = root.dataset.seriesNode;
    this.charts = [...root.querySelectorAll("[data-chart]")].map((box) => ({ box, ...JSON.parse(box.dataset.chart) }));
    this.backs = [...root.querySelectorAll("[data-back]")];
    for (const back of this.backs) back.addEventListener("click", () => this.live());
    this.zoom = null; // the stretch that was zoomed to, as Plotly's range
    this.before = []; // those that it was zoomed from
    this.began = Infinity; // the first instant of the last hour that any line has
    this.closed = false;
    this.forget = onThemeChange(() => this.charts.forEach((chart) => chart.graph && (paint(chart.graph), chart.answers && this.draw(chart))));
    this.thresholds = new Thresholds(this.charts, this.node, () => this.closed || this.charts.forEach((chart) => chart.graph && chart.answers && this.draw(chart)));
    this.find();
    this.run();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.forget();
    tellZoomed(false);
    this.charts.forEach((chart) => chart.graph && window.Plotly.purge(chart.graph));
  }

  async run() {
    clearTimeout(this.timer);
    // What was zoomed to does not change.
    if (!document.hidden && !this.zoom) await this.all();
    clearTimeout(this.timer);
    const soon = this.hubNow() === null ? LOOK_MS : EVERY_MS;
    if (!this.closed) this.timer = setTimeout(() => this.run(), soon);
  }

  // Of a young store once more: as finely as the shorter time can be shown.
  async all() {
    const newest = this.hubNow();
    if (newest !== null) this.thresholds.look([newest - SPAN_MS, newest]);
    const before = this.charts.some((chart) => chart.answers), load = () => Promise.all(this.charts.map((chart) => this.load(chart)));
    await load();
    const end = this.hubNow();
    if (!before && !this.closed && end !== null && end - this.start(end) < SPAN_MS * YOUNG) await load();
  }

  // Graphs appear when Plotly has loaded, often after the first answers.
  find() {
    for (const chart of this.charts) {
      const graph = chart.box.querySelector(".js-plotly-plot");
      if (chart.graph || !graph?._fullLayout?.xaxis || !graph.on || !window.Plotly) continue;
      chart.graph = graph;
      graph.on("plotly_relayout", (event) => {
        if ("xaxis.range[0]" in event) this.setZoom([event["xaxis.range[0]"], event["xaxis.range[1]"]], chart);
      });
      onDrawnByDash(graph);
      graph.on("plotly_doubleclick", () => this.out());
      if (chart.answers) this.draw(chart);
    }
    if (!this.closed && this.charts.some((chart) => !chart.graph)) setTimeout(() => this.find(), LOOK_MS);
  }

  async ask(line, [start, end]) {
    const query = new URLSearchParams({ metric: line.metric, node: this.node, start, end, points: POINTS });
    const answer = await fetch("/api/v1/series?" + query, { cache: "no-store" });
    return answer.ok ? [line, await answer.json()] : null;
  }

  // The last hour, or what was zoomed to, as finely as it was recorded or as the chart can show it.
  async load(chart) {
    const end = this.hubNow(), { zoom } = this;
    if (end === null) return;
    const span = zoom ? [Math.floor(instant(zoom[0])), Math.ceil(instant(zoom[1]))] : [this.start(end), end];
    let answers;
    try {
      answers = (await Promise.all(chart.lines.map((line) => this.ask(line, span)))).filter(Boolean);
    } catch {
      return; // the server is away: the header says so, and the chart keeps what it has
    }
    if (zoom !== this.zoom) return; // asked for another stretch meanwhile
    if (!zoom) this.began = Math.min(this.began, ...answers.flatMap(([, answer]) => answer.series).map(firstKnown));
    chart.answers = answers;
    chart.end = span[1];
    if (!this.closed && chart.graph) this.draw(chart);
  }

  // From when on to draw: where the first of all lines begins, within bounds that are the same for all charts.
  start(end) {
    if (this.began === Infinity) return end - SPAN_MS;
    return Math.max(end - SPAN_MS, Math.min(end - LEAST_MS, this.began));
  }

  draw(chart) {
    const { answers, end, graph } = chart;
    if (!graph.data) return; // the page was left, and Dash has emptied the graph
    const told = answers.flatMap(([line, answer]) => linesOf(answer, "").filter((one) => wanted(one, line)).map((one) => [line, answer, one]));
    const made = told.flatMap(([line, answer, one], at) =>
      traces(one, { name: nameOf(line, one.labels), at, dashed: line.dashed, width: answer.fold ? answer.step_ms : 0, scale: chart.scale, unit: chart.unit }));
    // Grounds below all lines.
    made.sort((a, b) => Boolean(b.meta.ground) - Boolean(a.meta.ground));
    graph.data.splice(0, graph.data.length, ...made);
    this.tell(chart);
    fit(graph.layout.yaxis, made.map((one) => one.y), chart.least);
    const range = this.zoom ?? [stamp(this.start(end)), stamp(end)];
    const lines = told.map(([line, , one], at) => ({ metric: line.metric, labels: one.labels, hue: hueAt(at) }));
    graph.layout.shapes = this.thresholds.of(chart, lines, range.map(instant));
    Object.assign(graph.layout.xaxis, { range, autorange: false });
    if (chart.painted) window.Plotly.redraw(graph);
    else window.Plotly.redraw(graph).then(() => (chart.painted = paint(graph)));
    this.keys(chart, made.filter((one) => !one.meta.ground));
  }

  tell(chart) {
    const { zoom } = this, known = chart.graph.data.some((one) => !zoom || reaches(one, zoom));
    let place = chart.box.querySelector(".nothing");
    if (!place) chart.box.append((place = element("p", "nothing")));
    place.hidden = known;
    setText(place, known ? "" : "nothing was recorded in " + (zoom ? "this stretch" : "the last hour"));
    setAttribute(chart.box, "data-nothing", known ? "" : "true");
  }

  keys(chart, lines) {
    const text = lines.map((one) => one.name).join("|");
    if (chart.keys === text) return;
    chart.keys = text;
    chart.box.querySelector(".keys").replaceChildren(
      ...lines.map((one) => {
        const key = element("span", "legend"), swatch = element("span", one.line.dash === "solid" ? "swatch" : "swatch dotted");
        swatch.style.background = `var(--${one.meta.colour})`;
        key.append(swatch, element("span", "", one.name));
        return key;
      }),
    );
  }

  setZoom(range, by = null) {
    if (by) this.before.push(this.zoom);
    this.zoom = range;
    this.backs.forEach((back) => (back.hidden = false));
    tellZoomed(true);
    for (const chart of this.charts) {
      if (chart.graph && chart.answers) this.tell(chart);
      if (chart === by || !chart.graph) continue;
      chart.graph.layout.xaxis.range = range.slice();
      chart.graph.layout.xaxis.autorange = false;
      window.Plotly.redraw(chart.graph);
    }
    this.thresholds.look(range.map(instant));
    // What is known stands at once in the new range; the finer lines follow.
    this.charts.forEach((chart) => this.load(chart));
  }

  // One step out; from the first zoom back to live.
  out() {
    const range = this.before.pop();
    if (range) this.setZoom(range);
    else this.live();
  }

  live() {
    this.zoom = null;
    this.before = [];
    this.backs.forEach((back) => (back.hidden = true));
    tellZoomed(false);
    this.run();
  }
}
