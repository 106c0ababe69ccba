// Runs laid over each other on one relative time axis, one number at a time, published results beside them as bands.

import { tickText, valueAxis } from "../explore/draw.js";
import { Closer } from "../explore/closer.js";
import { text, useTables } from "../explore/format.js";
import { binsIn, extent, offsets, offsetText, valueAt } from "./axis.js";
import { bandText, mark, svg } from "./published.js";

const LEFT = 56, TOP = 20, BOTTOM = 24, HEIGHT = 280, EDGE = 12, MARK = 18;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

function element(name, properties, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

// The steps of a curve as a path; a bin that is not known leaves a hole.
function path(bins, x, y) {
  let drawn = "", open = false;
  for (const [from, to, value] of bins) {
    if (value !== null) drawn += `${open ? "L" : "M"}${x(from).toFixed(1)} ${y(value).toFixed(1)}L${x(to).toFixed(1)} ${y(value).toFixed(1)}`;
    open = value !== null;
  }
  return drawn;
}

export class Overlay {
  constructor(place) {
    this.place = place;
    useTables(JSON.parse(place.dataset.tables));
    this.chart = element("div", { className: "overlay-chart" });
    this.keys = element("ul", { className: "overlay-keys" });
    this.switches = element("div", { className: "overlay-switches", role: "group", ariaLabel: "What is drawn" });
    this.at = element("span", { className: "note overlay-at" });
    place.querySelector("[data-overlay-chart]").replaceChildren(this.chart);
    place.querySelector("[data-overlay-switches]").replaceChildren(this.switches);
    place.querySelector("[data-overlay-keys]").replaceChildren(this.keys, this.at);
    Object.assign(this, { whole: null, cursor: null, offset: () => 0, steps: new Closer(this) });
    this.chart.tabIndex = 0;
    this.steps.listen(this.chart, (event) => this.offset(event.clientX - this.chart.getBoundingClientRect().left));
    // Its height is its own doing: drawn again for that, a cursor would be gone that somebody has just set.
    this.watch = new ResizeObserver(() => this.chart.clientWidth !== this.wide && this.draw());
    this.watch.observe(this.chart);
    this.load();
  }

  async load() {
    try {
      const answer = await fetch(this.place.dataset.overlay, { cache: "no-store" });
      // What cannot be compared has no course: the part above says why.
      if (!answer.ok && answer.status < 500 && !this.found) this.place.hidden = true;
      if (this.closed || !answer.ok) return;
      this.found = await answer.json();
      this.show();
    } catch {
      // The server is away: the header says so, and the chart keeps what it has.
    }
    if (!this.closed && (!this.found || this.found.runs.some((run) => run.live))) this.timer = setTimeout(() => this.load(), 10000);
  }

  show() {
    const { curves } = this.found, kinds = new Map(curves.map((one) => [one.metric, one.label]));
    if (!kinds.has(this.metric)) this.metric = kinds.keys().next().value ?? null;
    this.switches.replaceChildren(
      ...[...kinds].map(([metric, label]) => {
        const button = element("button", { type: "button", className: "plain", textContent: label });
        button.setAttribute("aria-pressed", String(metric === this.metric));
        button.addEventListener("click", () => ((this.metric = metric), this.show()));
        return button;
      }),
    );
    this.draw();
  }

  get span() {
    return this.steps.span;
  }

  closer() {
    this.draw();
  }

  // The metric's curves, in the order of the runs, each with its run and the place of its colour.
  curves() {
    return this.found.runs.flatMap((run, place) => {
      const curve = this.found.curves.find((one) => one.run === run.id && one.metric === this.metric);
      return curve ? [{ ...curve, name: run.name, place: (place % 8) + 1 }] : [];
    });
  }

  bands() {
    const key = this.curves()[0]?.published;
    if (!key) return [];
    const known = this.found.references.filter((one) => one[key]).slice(0, Math.max(Math.floor(this.chart.clientWidth / 4 / MARK), 3));
    return known.map((one, at) => ({ letter: LETTERS[at % 26], name: one.name, band: one[key], peak: one.peak }));
  }

  draw() {
    if (!this.found) return;
    const curves = this.curves(), wide = (this.wide = this.chart.clientWidth);
    this.whole = extent(curves);
    this.cursor = null;
    this.label(null);
    if (!this.whole || wide < 80) {
      this.chart.replaceChildren(element("p", { className: "note", textContent: "Nothing is kept of their course." }));
      return;
    }
    const shown = curves.map((one) => binsIn(one, this.span));
    const lines = shown.map((bins) => ({ t: bins.map(([from]) => from), mid: bins.map(([, , value]) => value), low: null, high: null }));
    for (const { band, peak } of this.bands()) lines.push({ t: [this.span[0]], mid: [Math.max(band[1], peak?.[1] ?? 0)], low: null, high: null });
    const axis = valueAxis(lines, this.span, 0, curves[0].unit, false);
    const bands = this.bands();
    this.right = bands.length ? EDGE + bands.length * MARK : EDGE;
    this.x = (offset) => LEFT + ((offset - this.span[0]) / (this.span[1] - this.span[0])) * (wide - LEFT - this.right);
    this.offset = (x) => this.span[0] + Math.min(Math.max((x - LEFT) / (wide - LEFT - this.right), 0), 1) * (this.span[1] - this.span[0]);
    const y = (value) => TOP + (1 - (value * axis.scale - axis.low) / (axis.high - axis.low)) * (HEIGHT - TOP - BOTTOM);
    this.mark = svg("line", { y1: TOP, y2: HEIGHT - BOTTOM, x1: -9, x2: -9, class: "overlay-cursor" });
    this.brush = svg("rect", { y: TOP, height: HEIGHT - BOTTOM - TOP, x: 0, width: 0, class: "overlay-brush" });
    this.chart.replaceChildren(
      svg("svg", { width: wide, height: HEIGHT, role: "img", "aria-label": `${curves[0].label} of ${curves.map((one) => one.name).join(", ")}. Arrow keys move the cursor, plus and minus zoom.` },
        this.grid(axis, y, wide), ...this.published(y, wide), ...curves.map((one, at) => svg("path", { d: path(shown[at], this.x, y), class: `overlay-line line-${one.place}` })), this.brush, this.mark),
    );
  }

  grid(axis, y, wide) {
    const group = svg("g", { class: "overlay-grid" });
    for (let value = axis.low; value <= axis.high + axis.step / 2; value += axis.step) {
      const level = Math.round(y(value / axis.scale)) + 0.5;
      group.append(svg("line", { x1: LEFT, x2: wide - this.right, y1: level, y2: level }), svg("text", { x: LEFT - 6, y: level + 4, "text-anchor": "end" }, tickText(value, axis.step)));
    }
    group.append(svg("text", { x: LEFT, y: 12 }, axis.unit));
    for (const offset of offsets(this.span, wide - LEFT - this.right, 90)) {
      const x = Math.round(this.x(offset)) + 0.5, end = x > wide - this.right - 28 ? "end" : "middle";
      group.append(svg("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }), svg("text", { x, y: HEIGHT - 8, "text-anchor": end }, offsetText(offset)));
    }
    return group;
  }

  published(y, wide) {
    return this.bands().map((one, at) => mark(one, wide - this.right + EDGE + (at + 0.5) * MARK, y, HEIGHT - 8));
  }

  // The cursor, null for none, and the stretch that is being chosen.
  point(offset) {
    if (!this.whole || !this.mark) return;
    this.cursor = offset;
    for (const end of ["x1", "x2"]) this.mark.setAttribute(end, offset === null ? -9 : this.x(offset));
    const [from, to] = (this.steps.brush ?? [0, 0]).map(this.x);
    this.brush.setAttribute("x", Math.min(from, to));
    this.brush.setAttribute("width", Math.abs(to - from));
    this.label(offset);
  }

  label(offset) {
    const unit = this.curves()[0]?.unit;
    this.at.textContent = offset === null ? "" : `at ${offsetText(offset)}`;
    this.keys.replaceChildren(
      ...this.curves().map((one) => {
        const value = offset === null ? "" : text(valueAt(one, offset), unit);
        return element("li", {}, element("span", { className: `overlay-key line-${one.place}` }), element("span", { textContent: one.name }), element("b", { textContent: value }));
      }),
      ...this.bands().map((one) => element("li", { className: "note" }, element("b", { textContent: one.letter }), ` ${bandText(one)}`)),
    );
  }

  close() {
    this.closed = true;
    this.steps.close();
    clearTimeout(this.timer);
    this.watch.disconnect();
  }
}

let overlay = null;

// place: the chart's element, null where another page stands.
export function mount(place) {
  const same = place && overlay && place === overlay.place && place.dataset.overlay === overlay.address;
  if (same || (!place && !overlay)) return;
  overlay?.close();
  overlay = place ? new Overlay(place) : null;
  if (overlay) overlay.address = place.dataset.overlay;
}
