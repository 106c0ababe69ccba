// The live Plotly figure, drawn from what was recorded whenever it has moved by a pixel. Dash has no part in it, so that
// it stands before Dash does.
//
// Lines are evenly spaced (x0, dx) with nulls for missing ticks: Plotly then parses one instant per line instead of 900.

import { element } from "./dom.js";
import { leave, plotly, take } from "./figure.js";
import { Fired } from "./fired.js";
import { dress, paint, stamp } from "./paint.js";
import { fit } from "./scale.js";
import { onThemeChange } from "./theme.js";
import { tellZoomed, unhover } from "./zoom.js";

// Shortest reach of an axis in its unit.
const LEAST = 1;
// What one label of the time axis needs, and what stands beside the plots, in pixels.
const LABEL_PX = 64, BESIDE_PX = 88;
const HEARD = ["plotly_relayout", "plotly_doubleclick", "plotly_afterplot"];

export class Plots {
  constructor(root, state) {
    this.state = state;
    this.box = root.querySelector("[data-plots]");
    this.place = this.box?.querySelector("[data-figure]");
    this.zoomed = false;
    this.visible = true;
    this.stale = true;
    this.back = this.box?.querySelector("[data-back]");
    this.back?.addEventListener("click", () => this.live());
    this.forget = onThemeChange(() => this.graph && (paint(this.graph), this.fired.draw(this.graph)));
    if (!this.box) return;
    this.fired = new Fired(this.box);
    this.watcher = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible && this.stale) this.draw();
    });
    this.watcher.observe(this.box);
    this.sizes = new ResizeObserver((entries) => this.resize(entries.at(-1).contentRect));
    this.sizes.observe(this.place);
    const before = take();
    if (before) this.adopt(before.graph, before.zoomed);
    else plotly().then(() => this.begin());
  }

  close() {
    this.forget();
    tellZoomed(false);
    this.sizes?.disconnect();
    this.watcher?.disconnect();
    this.fired?.close();
    this.closed = true;
    if (!this.graph) return;
    for (const name of HEARD) this.graph.removeAllListeners(name);
    leave(this.graph, this.zoomed);
    this.graph = null;
  }

  // The first drawing: once Plotly is there, and what was recorded.
  begin() {
    const { history, message } = this.state;
    if (this.graph || this.closed || !window.Plotly || !message) return;
    if (message.tick !== null && !history.t.length) return;
    const figure = JSON.parse(this.place.dataset.figure), graph = element("div", "plot");
    dress(figure);
    this.write(figure);
    this.place.append(graph);
    window.Plotly.newPlot(graph, figure.data, figure.layout, figure.config);
    this.listen(graph);
  }

  // The graph of the page before, as it is.
  adopt(graph, zoomed) {
    this.place.append(graph);
    this.listen(graph);
    this.setZoomed(zoomed);
  }

  listen(graph) {
    this.graph = graph;
    graph.on("plotly_relayout", (event) => {
      if (!("xaxis.range[0]" in event || "xaxis.range" in event)) return;
      this.setZoomed(true);
      unhover(graph);
    });
    graph.on("plotly_doubleclick", () => this.live());
    graph.on("plotly_afterplot", () => this.fired.draw(graph));
    this.fired.draw(graph);
  }

  resize({ width, height }) {
    this.wide = width || this.wide;
    const drawn = this.graph?._fullLayout;
    if (!drawn || !width || (Math.abs(drawn.width - width) < 1 && Math.abs(drawn.height - height) < 1)) return;
    window.Plotly.Plots.resize(this.graph);
  }

  setZoomed(zoomed) {
    this.zoomed = zoomed;
    tellZoomed(zoomed);
    if (this.back) this.back.hidden = !zoomed;
  }

  live() {
    this.setZoomed(false);
    this.draw();
  }

  // What the hover box says beside a number: the span of the nodes, or who the busiest is.
  label(data, grid) {
    const { points } = this.state.history;
    for (const trace of data) {
      const { names, between, scale } = trace.meta;
      if (names) trace.text = grid.words(points[names] ?? [], (name) => (name ? " " + name : " "));
      if (!between) continue;
      const [low, high] = between.map((point) => grid.place(points[point] ?? [], scale));
      trace.text = low.map((least, at) => (least === null ? " " : ` (${least.toFixed(0)}–${high[at].toFixed(0)})`));
    }
  }

  update(changed) {
    if (!this.place) return;
    if (!this.graph) return this.begin();
    this.fired.look(this.state.message, this.state.span, () => this.graph);
    const moved = this.state.message.tick - this.drawn;
    const span = this.zoomed ? this.state.span / 10 : this.state.span;
    this.stale = true;
    if (this.visible && (changed.shape || !(moved < span / this.graph._fullLayout._size.w))) this.draw();
  }

  draw() {
    if (!this.graph || !this.state.message) return;
    this.write(this.graph);
    window.Plotly.redraw(this.graph);
  }

  // What was recorded, into a figure's data and layout.
  write({ data, layout }) {
    const { history, message } = this.state;
    const grid = new Grid(history.t, this.state.interval);
    data.forEach((trace) => {
      trace.x0 = stamp(grid.start);
      trace.dx = grid.step;
      trace.y = grid.place(history.points[trace.meta.point] ?? [], trace.meta.scale);
    });
    this.label(data, grid);
    for (const name of Object.keys(layout).filter((key) => /^yaxis\d*$/.test(key))) {
      const lines = data.filter((trace) => trace.yaxis === name.replace("axis", "")).map((trace) => trace.y);
      fit(layout[name], lines, LEAST);
    }
    closeSpans(data.filter((trace) => trace.meta.span).map((trace) => trace.y));
    if (!this.zoomed && message.tick !== null) {
      layout.xaxis.range = [stamp(message.tick - this.state.span), stamp(message.tick)];
      layout.xaxis.autorange = false;
    }
    this.wide ??= this.place.clientWidth;
    layout.xaxis.nticks = Math.max(2, Math.min(7, Math.floor((this.wide - BESIDE_PX) / LABEL_PX)));
    this.drawn = message.tick;
    this.stale = false;
  }
}

// Ticks on an even grid. A slot between two ticks that are no gap apart takes the middle, as a line would.
export class Grid {
  constructor(ticks, step) {
    this.start = ticks[0] ?? Date.now();
    this.step = step;
    this.slots = ticks.map((t) => Math.round((t - this.start) / step));
  }

  // Words of every slot that a tick falls into.
  words(values, write) {
    const line = new Array((this.slots.at(-1) ?? -1) + 1).fill(" ");
    this.slots.forEach((slot, index) => (line[slot] = write(values[index])));
    return line;
  }

  place(values, scale) {
    const line = new Array((this.slots.at(-1) ?? -1) + 1).fill(null);
    this.slots.forEach((slot, index) => {
      const value = values[index] ?? null, before = index ? this.slots[index - 1] : slot;
      if (value === null) return;
      line[slot] = value * scale;
      if (slot - before === 2 && line[before] !== null) line[slot - 1] = (line[slot] + line[before]) / 2;
    });
    return line;
  }
}

// Plotly fills a span straight across missing points: where its edges are unknown both take the last middle, so that
// nothing is left to fill.
export function closeSpans([lower, upper]) {
  if (!upper) return;
  let middle = 0;
  for (let at = 0; at < lower.length; at++) {
    if (lower[at] !== null && upper[at] !== null) middle = (lower[at] + upper[at]) / 2;
    else lower[at] = upper[at] = middle;
  }
}
