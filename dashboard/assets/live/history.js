// Charts of the Node page: each asks /api/v1/series for its lines and keeps its zoom when new points come.

import { element, setText } from "./dom.js";
import { instant, paint, stamp } from "./paint.js";
import { fit } from "./scale.js";
import { colour, onThemeChange } from "./theme.js";
import { onDrawnByDash, tellZoomed } from "./zoom.js";

// A young store is shown over a shorter time, so that its lines are not a stroke at the edge.
const SPAN_MS = 3600000, LEAST_MS = 600000, POINTS = 240, EVERY_MS = 10000, LOOK_MS = 200;
const COLOURS = ["decode", "prefill", "util", "dim", "text"];
const PATTERNS = ["solid", "dot"];

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
    this.closed = false;
    this.forget = onThemeChange(() => this.charts.forEach((chart) => chart.graph && paint(chart.graph)));
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
    if (!document.hidden && !this.zoom) await Promise.all(this.charts.map((chart) => this.load(chart)));
    clearTimeout(this.timer);
    const soon = this.hubNow() === null ? LOOK_MS : EVERY_MS;
    if (!this.closed) this.timer = setTimeout(() => this.run(), soon);
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
    const span = zoom ? [Math.floor(instant(zoom[0])), Math.ceil(instant(zoom[1]))] : [end - SPAN_MS, end];
    let answers;
    try {
      answers = (await Promise.all(chart.lines.map((line) => this.ask(line, span)))).filter(Boolean);
    } catch {
      return; // the server is away: the header says so, and the chart keeps what it has
    }
    if (zoom !== this.zoom) return; // asked for another stretch meanwhile
    chart.answers = answers;
    chart.end = span[1];
    if (!this.closed && chart.graph) this.draw(chart);
  }

  // From when on to draw: where the first of all lines begins, within bounds that are the same for all charts.
  start(end) {
    const lines = this.charts.flatMap((chart) => chart.answers ?? []).flatMap(([, answer]) => answer.series);
    const first = Math.min(...lines.map(firstKnown));
    return Math.max(end - SPAN_MS, Math.min(end - LEAST_MS, first));
  }

  draw(chart) {
    const { answers, end, graph } = chart;
    if (!graph.data) return; // the page was left, and Dash has emptied the graph
    const lines = answers.flatMap(([line, answer]) => answer.series.filter((one) => wanted(one, line)).map((one) => [line, one]));
    const shown = lines.filter(([, one]) => (one.v ?? one.max ?? one.mean).some((value) => value !== null));
    const traces = shown.map(([line, one], at) => trace(chart, line, one, at, shown.length));
    graph.data.splice(0, graph.data.length, ...traces);
    this.tell(chart);
    fit(graph.layout.yaxis, traces.map((one) => one.y), chart.least);
    graph.layout.xaxis.range = this.zoom ?? [stamp(this.start(end)), stamp(end)];
    graph.layout.xaxis.autorange = false;
    if (chart.painted) window.Plotly.redraw(graph);
    else window.Plotly.redraw(graph).then(() => (chart.painted = paint(graph)));
    this.keys(chart, traces);
  }

  tell(chart) {
    const { zoom } = this, traces = chart.graph.data, known = traces.some((one) => !zoom || reaches(one, zoom));
    let place = chart.box.querySelector(".nothing");
    if (!place) chart.box.append((place = element("p", "nothing")));
    place.hidden = known;
    setText(place, known ? "" : "nothing was recorded in " + (zoom ? "this stretch" : "the last hour"));
    if (known) delete chart.box.dataset.nothing;
    else chart.box.dataset.nothing = "true";
  }

  keys(chart, traces) {
    const text = traces.map((one) => one.name).join("|");
    if (chart.keys === text) return;
    chart.keys = text;
    chart.box.querySelector(".keys").replaceChildren(
      ...traces.map((one) => {
        const key = element("span", "legend"), swatch = element("span", "swatch");
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

// Instant of a line's first value, Infinity where it has none.
export function firstKnown(series) {
  const values = series.v ?? series.max ?? series.mean, at = values.findIndex((value) => value !== null);
  return at < 0 ? Infinity : series.t[at];
}

// Whether a trace has a point, or a line between two, within a range of Plotly's.
export function reaches({ x, y }, range) {
  const [from, to] = range.map((instant) => instant.replace(" ", "T"));
  return x.some((instant, at) => {
    const next = y[at + 1] === null || y[at + 1] === undefined ? instant : x[at + 1];
    return y[at] !== null && instant <= to && next >= from;
  });
}

function wanted(series, line) {
  return Object.entries(line.only).every(([label, values]) => values.includes(series.labels[label]));
}

// The short name and the labels that tell its lines apart; a label that the chart chose says nothing new.
function nameOf(line, labels) {
  const told = Object.entries(labels).filter(([key, value]) => key !== "target" && !(key in line.only) && !(key === "gpu" && value === "0"));
  return [line.label, ...told.map(([, value]) => value.replaceAll("_", " "))].filter(Boolean).join(" ");
}

// A reduced line touches each bin's least and its most, so that peaks survive; first the one that is nearer to where the
// line comes from, or a calm line would look like a saw.
export function touch(low, high, before) {
  if (low === high || low === null) return [low];
  return before !== null && Math.abs(before - high) < Math.abs(before - low) ? [high, low] : [low, high];
}

function trace(chart, line, series, at) {
  const x = [], y = [], { t } = series, low = series.min ?? series.mean, high = series.max ?? series.mean;
  let before = null;
  t.forEach((tick, index) => {
    const values = series.v ? [series.v[index]] : touch(low[index], high[index], before);
    before = values.at(-1);
    for (const value of values) {
      x.push(stamp(tick));
      y.push(value === null ? null : value * chart.scale);
    }
  });
  const name = COLOURS[at % COLOURS.length];
  return {
    type: "scatter", mode: "lines", name: nameOf(line, series.labels), x, y, connectgaps: false,
    line: { width: 1.3, dash: PATTERNS[Math.floor(at / COLOURS.length) % PATTERNS.length], color: colour(name) },
    hovertemplate: `%{y:.4~g} ${chart.unit}`, meta: { colour: name },
  };
}
