// The live Plotly figure: filled once from what was recorded, then extended by one point per line and tick.

import { onThemeChange } from "./theme.js";
import { paint, stamp } from "./paint.js";

const SPAN_MS = 900000, GAP_MS = 2500, MOST_POINTS = 960;

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
      if (this.visible && this.stale) this.fill();
    });
    this.watcher.observe(this.box);
    this.finder = new MutationObserver(() => this.find());
    this.finder.observe(this.box, { childList: true, subtree: true, attributes: true, attributeFilter: ["class"] });
    this.find();
  }

  close() {
    this.forget();
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
    graph.on("plotly_doubleclick", () => this.live());
    this.fill();
  }

  setZoomed(zoomed) {
    this.zoomed = zoomed;
    if (this.back) this.back.hidden = !zoomed;
  }

  live() {
    this.setZoomed(false);
    this.fill();
  }

  update(changed) {
    if (!this.graph) return;
    if (changed.shape || this.stale) this.fill();
    else if (!this.visible) this.stale = true;
    else this.extend();
  }

  range(tick) {
    return [stamp(tick - SPAN_MS), stamp(tick)];
  }

  // All of the recorded points, with a break where ticks are missing.
  fill() {
    const { history, message } = this.state;
    if (!this.graph || !message || !history) return;
    const times = [], rows = [];
    history.t.forEach((t, index) => {
      if (index && t - history.t[index - 1] > GAP_MS) times.push(stamp(history.t[index - 1] + 1), stamp(t - 1)), rows.push(null, null);
      times.push(stamp(t));
      rows.push(index);
    });
    const lines = this.graph.data.map(({ meta }) => {
      const values = history.points[meta.point] ?? [];
      return rows.map((index) => (index === null ? null : scaled(values[index], meta.scale)));
    });
    this.middle = this.closeSpans(lines);
    this.last = history.t.at(-1) ?? null;
    this.stale = false;
    const layout = this.zoomed ? {} : { "xaxis.range": this.range(message.tick) };
    const zoomed = this.zoomed;
    paint(this.graph, { x: lines.map(() => times.slice()), y: lines }, layout).then(() => this.setZoomed(zoomed));
  }

  extend() {
    const { tick, points } = this.state.message, graph = this.graph;
    const gap = this.last !== null && tick - this.last > GAP_MS;
    const x = gap ? [stamp(this.last + 1), stamp(tick - 1), stamp(tick)] : [stamp(tick)];
    const y = graph.data.map(({ meta }) => {
      const value = scaled(points[meta.point], meta.scale);
      return gap ? [null, null, value] : [value];
    });
    this.middle = this.closeSpans(y, this.middle);
    if (!this.zoomed) graph.layout.xaxis.range = this.range(tick);
    this.last = tick;
    window.Plotly.extendTraces(graph, { x: y.map(() => x.slice()), y }, [...y.keys()], MOST_POINTS);
  }

  // Plotly fills a span straight across missing points: where its edges are unknown, both take the last middle, so that
  // nothing is left to fill. Returns the middle to go on from.
  closeSpans(lines, middle = 0) {
    const [lower, upper] = lines.filter((_, index) => this.graph.data[index].meta.span);
    if (!upper) return middle;
    for (let at = 0; at < lower.length; at++) {
      if (lower[at] !== null && upper[at] !== null) middle = (lower[at] + upper[at]) / 2;
      else lower[at] = upper[at] = middle;
    }
    return middle;
  }
}

function scaled(value, scale) {
  return value === null || value === undefined ? null : value * scale;
}
