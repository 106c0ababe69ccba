// The live Plotly figure, drawn from what was recorded whenever it has moved by a pixel.
//
// Lines are evenly spaced (x0, dx) with nulls for missing ticks: Plotly then parses one instant per line instead of 900.

import { onThemeChange } from "./theme.js";
import { paint, stamp } from "./paint.js";
import { fit } from "./scale.js";
import { onDrawnByDash, tellZoomed } from "./zoom.js";

// Shortest reach of an axis in its unit.
const LEAST = 1;

export class Plots {
  constructor(root, state) {
    this.state = state;
    this.box = root.querySelector("[data-plots]");
    this.zoomed = false;
    this.visible = true;
    this.stale = true;
    this.back = this.box?.querySelector("[data-back]");
    this.back?.addEventListener("click", () => this.live());
    this.forget = onThemeChange(() => this.graph && paint(this.graph));
    if (!this.box) return;
    this.watcher = new IntersectionObserver((entries) => {
      this.visible = entries.at(-1).isIntersecting;
      if (this.visible && this.stale) this.draw();
    });
    this.watcher.observe(this.box);
    this.finder = new MutationObserver(() => this.find());
    this.finder.observe(this.box, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
    this.find();
  }

  close() {
    this.forget();
    tellZoomed(false);
    this.finder?.disconnect();
    this.watcher?.disconnect();
    if (this.graph) window.Plotly.purge(this.graph);
    this.graph = null;
  }

  find() {
    const graph = this.box.querySelector(".js-plotly-plot");
    if (this.graph || !graph?._fullLayout?.xaxis || !graph.on || !window.Plotly) return;
    this.finder.disconnect();
    this.graph = graph;
    graph.on("plotly_relayout", (event) => {
      if ("xaxis.range[0]" in event || "xaxis.range" in event) this.setZoomed(true);
    });
    onDrawnByDash(graph);
    graph.on("plotly_doubleclick", () => this.live());
    paint(graph).then(() => this.draw());
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
  label(grid) {
    const { points } = this.state.history;
    for (const trace of this.graph.data) {
      const { names, between, scale } = trace.meta;
      if (names) trace.text = grid.words(points[names] ?? [], (name) => (name ? " " + name : " "));
      if (!between) continue;
      const [low, high] = between.map((point) => grid.place(points[point] ?? [], scale));
      trace.text = low.map((least, at) => (least === null ? " " : ` (${least.toFixed(0)}–${high[at].toFixed(0)})`));
    }
  }

  update(changed) {
    if (!this.graph) return;
    const moved = this.state.message.tick - this.drawn;
    const span = this.zoomed ? this.state.span / 10 : this.state.span;
    this.stale = true;
    if (this.visible && (changed.shape || !(moved < span / this.graph._fullLayout._size.w))) this.draw();
  }

  draw() {
    const { history, message } = this.state, graph = this.graph;
    if (!graph?.data || !message || !history) return;
    const grid = new Grid(history.t, this.state.interval);
    graph.data.forEach((trace) => {
      trace.x0 = stamp(grid.start);
      trace.dx = grid.step;
      trace.y = grid.place(history.points[trace.meta.point] ?? [], trace.meta.scale);
    });
    this.label(grid);
    for (const name of Object.keys(graph._fullLayout).filter((key) => /^yaxis\d*$/.test(key))) {
      const lines = graph.data.filter((trace) => trace.yaxis === name.replace("axis", "")).map((trace) => trace.y);
      fit(graph.layout[name], lines, LEAST);
    }
    closeSpans(graph.data.filter((trace) => trace.meta.span).map((trace) => trace.y));
    if (!this.zoomed) {
      graph.layout.xaxis.range = [stamp(message.tick - this.state.span), stamp(message.tick)];
      graph.layout.xaxis.autorange = false;
    }
    this.drawn = message.tick;
    this.stale = false;
    window.Plotly.redraw(graph);
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
