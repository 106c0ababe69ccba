// Node × time: one row per node, one column of pixels per tick, on canvas. The switch chooses the reading.

import { clockText } from "../explore/time.js";
import { Choice } from "./choice.js";
import { fitCanvas, setText } from "./dom.js";
import { makeRamp, ROW_UNKNOWN } from "./ramp.js";
import { NodeTable } from "./table.js";
import { onThemeChange, colour } from "./theme.js";
import { shortNames } from "./tiles.js";

// Each name of up to so many nodes stands on the map, whatever room the tiles take that have much to say.
const AXIS_PX = 18, ALL_NAMED = 16, NAME_PX = 12, FONT = "12px system-ui, sans-serif";

// Height of a row where there is room to spare.
function mostRow(count) {
  return count === 1 ? 72 : count <= 4 ? 40 : 28;
}

export class FleetMap {
  constructor(root, state) {
    this.state = state;
    this.box = root.querySelector("[data-map]");
    if (!this.box) return;
    this.canvas = this.box.querySelector("canvas");
    this.tip = this.box.querySelector(".tip");
    this.scale = root.querySelector("[data-map-scale]");
    this.choice = new Choice(root.querySelector("[data-map-switch]"), state, () => this.redraw());
    this.table = new NodeTable(root, state);
    this.pixels = document.createElement("canvas");
    this.forget = onThemeChange(() => this.redraw());
    this.sizes = new ResizeObserver((entries) => {
      this.size = entries.at(-1).contentRect;
      this.redraw();
    });
    this.sizes.observe(this.box);
    this.box.addEventListener("pointermove", (event) => this.hover(event));
    this.box.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  close() {
    this.forget?.();
    this.sizes?.disconnect();
    this.choice?.close();
    this.table?.close();
    this.pixels = this.context = null;
  }

  get metric() {
    return this.choice.metric;
  }

  update(changed) {
    if (!this.box) return;
    this.table.update(changed);
    if (changed.shape) {
      this.choice.build();
      this.redraw();
    } else this.advance();
  }

  // Everything again from what was recorded.
  redraw() {
    const { history, message } = this.state, metric = this.metric;
    this.ramp = null;
    this.span = this.state.span;
    if (!metric || !message || !this.size || !this.measure(message.nodes)) return;
    const rows = history.map[metric.key] ?? [];
    this.ramp = makeRamp(metric, rows, message.map[metric.key] ?? [], colour);
    this.pixels.width = this.columns;
    this.pixels.height = message.nodes.length;
    this.last = null;
    history.t.forEach((t, index) => this.column(t, (node) => rows[node]?.[index] ?? null));
    this.column(message.tick, (node) => message.map[metric.key]?.[node] ?? null);
    this.show();
  }

  advance() {
    const { message } = this.state;
    if (!this.size?.width) return;
    if (!this.ramp || message.nodes.length !== this.pixels.height || this.span !== this.state.span) return this.redraw();
    const values = message.map[this.metric.key] ?? [];
    if (values.some((value) => value !== null && this.ramp.outside(value))) return this.redraw();
    this.column(message.tick, (node) => values[node] ?? null);
    this.show();
  }

  measure(nodes) {
    const most = nodes.length * mostRow(nodes.length) + AXIS_PX + "px";
    if (this.box.style.maxHeight !== most) this.box.style.maxHeight = most;
    const least = nodes.length <= ALL_NAMED ? nodes.length * NAME_PX + AXIS_PX + "px" : "";
    if (this.box.style.minHeight !== least) this.box.style.minHeight = least;
    this.context = fitCanvas(this.canvas, this.size);
    if (!this.context || !nodes.length) return false;
    this.context.font = FONT;
    this.names = shortNames(nodes.map((node) => node.name));
    this.left = Math.min(110, Math.max(...this.names.map((name) => this.context.measureText(name).width))) + 8;
    this.width = this.size.width - this.left;
    this.row = Math.min(mostRow(nodes.length), (this.size.height - AXIS_PX) / nodes.length);
    this.columns = Math.max(1, Math.round(this.width * (devicePixelRatio || 1)));
    return this.width > 20;
  }

  // One tick's column; columns between two punctual ticks are filled, a gap stays empty.
  column(t, value) {
    const bin = Math.floor((t / this.span) * this.columns), context = this.pixels.getContext("2d");
    const moved = this.last === null ? 1 : bin - this.last.bin;
    if (moved < 0) return;
    if (moved > 0 && this.last !== null) {
      context.globalCompositeOperation = "copy";
      context.drawImage(this.pixels, -moved, 0);
      context.globalCompositeOperation = "source-over";
    }
    const wide = this.last !== null && t - this.last.t <= this.state.gapMs ? Math.max(1, moved) : 1;
    for (let node = 0; node < this.pixels.height; node++) {
      context.fillStyle = this.ramp.colour(value(node));
      context.fillRect(this.columns - wide, node, wide, 1);
    }
    this.last = { bin, t };
  }

  show() {
    const { context, size, left, width, row } = this, high = row * this.names.length;
    context.clearRect(0, 0, size.width, size.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.pixels, left, 0, width, high);
    context.fillStyle = colour("panel");
    if (row >= 8) for (let at = 1; at < this.names.length; at++) context.fillRect(left, Math.round(at * row) - 1, width, 1);
    context.font = FONT;
    context.fillStyle = colour("dim");
    context.textBaseline = "middle";
    const every = Math.ceil(NAME_PX / row);
    this.names.forEach((name, at) => at % every === 0 && context.fillText(name, 0, (at + Math.min(every, this.names.length - at) / 2) * row, left - 6));
    const third = this.span / 180000;
    [`−${3 * third} min`, `−${2 * third}`, `−${third}`, "now"].forEach((text, index) => {
      context.textAlign = ["left", "center", "center", "right"][index];
      context.fillText(text, left + (width * index) / 3, high + AXIS_PX / 2 + 1);
    });
    context.textAlign = "left";
    this.ramp.legend(this.scale);
  }

  hover(event) {
    if (!this.ramp) return;
    const bounds = this.canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left - this.left, node = Math.floor((event.clientY - bounds.top) / this.row);
    this.tip.hidden = x < 0 || node < 0 || node >= this.names.length;
    if (this.tip.hidden) return;
    const at = this.last.t - (1 - x / this.width) * this.span;
    setText(this.tip, `${this.state.message.nodes[node].name} · ${clockText(at)} · ${this.valueAt(node, at)}`);
    this.tip.style.transform = `translate(${Math.min(event.clientX - bounds.left + 12, bounds.width - this.tip.offsetWidth)}px, ${event.clientY - bounds.top + 14}px)`;
  }

  valueAt(node, at) {
    const { history } = this.state, metric = this.metric;
    let index = history.t.findIndex((t) => t >= at);
    if (index < 0) index = history.t.length - 1;
    const value = Math.abs((history.t[index] ?? 0) - at) <= this.state.gapMs ? history.map[metric.key]?.[node]?.[index] : null;
    return value === null || value === undefined ? ROW_UNKNOWN : this.ramp.text(value);
  }
}
