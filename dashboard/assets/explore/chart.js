// One chart of a view: its head, its canvas, what is said where there is nothing to draw, and its legend.

import { element, fitCanvas, setAttribute, setText } from "../live/dom.js";
import { exportAddress, questions, scopeText } from "./ask.js";
import { paint, paintLines } from "./colours.js";
import { drawChart, drawLines, LEFT, placer, RIGHT, valueAxis } from "./draw.js";
import { Feed } from "./feed.js";
import { text } from "./format.js";
import { Legend } from "./legend.js";
import { at, linesOf } from "./lines.js";
import { Pointer } from "./pointer.js";
import { lengthText, ticks } from "./time.js";
import { OVERLAYS } from "./view.js";

const SLOW_MS = 250, MOST_LINES = 64, OVER_WORDS = { day: "a day earlier", week: "a week earlier" };

export class Chart {
  // explorer: the page; metric: an entry of /api/v1/metrics.
  constructor(explorer, metric) {
    this.explorer = explorer;
    this.metric = metric;
    this.lines = [];
    this.earlier = [];
    this.strong = null;
    this.feed = new Feed(metric);
    this.build();
    this.legend = new Legend(this, this.box.querySelector(".explore-legend"));
    this.pointer = new Pointer(this, this.over);
    this.sizes = new ResizeObserver((entries) => {
      this.size = entries.at(-1).contentRect;
      this.draw();
    });
    this.sizes.observe(this.plot);
  }

  build() {
    this.box = element("section", "panel explore-chart");
    this.box.dataset.metric = this.metric.name;
    this.box.setAttribute("aria-label", this.metric.label);
    const head = element("div", "head"), row = element("div", "explore-row");
    const what = element("button", "explore-what", "?");
    what.type = "button";
    what.title = what.ariaLabel = `What is ${this.metric.label}?`;
    what.addEventListener("click", () => this.explorer.drawer.open(this.metric.name, what));
    this.of = element("span", "dimmed");
    this.how = element("span", "dimmed explore-how");
    this.csv = element("a", "plain", "CSV");
    this.csv.title = "Export what this chart shows";
    const gone = element("button", "plain", "×");
    gone.type = "button";
    gone.title = gone.ariaLabel = `Remove ${this.metric.label}`;
    gone.addEventListener("click", () => this.explorer.removeMetric(this.metric.name));
    head.append(element("h2", "", this.metric.label), what, this.of, this.how, this.csv, gone);
    this.plot = element("div", "explore-plot");
    this.canvas = element("canvas");
    this.over = element("canvas", "explore-over");
    this.word = element("span", "explore-unit");
    this.said = element("p", "nothing");
    this.said.hidden = true;
    this.plot.append(this.canvas, this.over, this.word, this.said);
    row.append(this.plot, element("div", "explore-legend"));
    this.box.append(head, row);
  }

  close() {
    this.sizes.disconnect();
    this.feed.stop();
    this.box.remove();
  }

  get width() {
    return Math.max(Math.floor((this.size?.width ?? 800) - LEFT - RIGHT), 60);
  }

  // The view has changed: what is known is drawn at once in the new range, what is asked for follows.
  async show(view, span) {
    setText(this.of, scopeText(view, this.metric) + (view.total && this.metric.across ? ` · ${this.metric.across}` : "") + (this.metric.kind === "histogram" ? ` · p${view.quantile * 100}` : ""));
    this.csv.href = exportAddress({ ...view, range: { start: span[0], end: span[1] } }, [this.metric]);
    const asked = questions(view, this.metric);
    this.draw();
    const slow = setTimeout(() => this.feed.pending && this.tell("loading", this.lines.length ? "" : "Loading …"), SLOW_MS);
    await this.take(this.feed.ask(asked, span, this.width, OVERLAYS[view.over] ?? 0));
    clearTimeout(slow);
  }

  // The newest part of a range that ends now.
  async follow(span) {
    await this.take(this.feed.follow(span, this.width));
  }

  async take(asking) {
    try {
      if (!(await asking)) return;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.failed = error;
      this.tell(error.status === 400 || error.status === 413 ? "much" : "error", error.message);
      if (error.status) this.lines = this.earlier = [];
      this.draw();
      return;
    }
    this.failed = null;
    this.gather();
    this.draw();
    this.legend.write(this.feed);
  }

  gather() {
    const { config, view } = this.explorer, total = this.metric.across ?? "all";
    const found = linesOf(this.feed.answer, total);
    this.lines = paintLines(found.slice(0, MOST_LINES), config.colours);
    this.left = found.length - this.lines.length;
    const before = this.feed.earlier ? linesOf(this.feed.earlier, total) : [];
    this.earlier = paintLines(before.slice(0, MOST_LINES), config.colours);
    this.shift = OVERLAYS[view.over] ?? 0;
    this.describe();
  }

  describe() {
    const { answer } = this.feed, { view } = this.explorer;
    const words = [];
    if (answer.fold) words.push(`${answer.fold === "last" ? "newest" : answer.fold}, least and most of ${lengthText(answer.step_ms)}`);
    if (answer.window_ms) words.push(`trailing ${lengthText(answer.window_ms)}`);
    if (view.over) words.push(this.earlier.length ? `dashed: ${OVER_WORDS[view.over]}` : `nothing was recorded ${OVER_WORDS[view.over]}`);
    if (this.left) words.push(`${this.left} more lines are not drawn: choose a node or a label, or Total`);
    setText(this.how, words.join(" · "));
    this.tell(...(this.lines.length ? ["", ""] : ["empty", this.nothing()]));
  }

  nothing() {
    const { metric } = this;
    if (metric.kind === "histogram" && this.feed.answer.series.length) return "Too few requests in this stretch for a percentile.";
    return this.feed.answer.series.length ? "It was read, but had no value in this stretch." : "Nothing was recorded of this in this stretch.";
  }

  tell(state, sentence) {
    setAttribute(this.box, "data-state", state);
    setText(this.said, sentence);
    this.said.hidden = !sentence;
  }

  // Lines that the legend has not taken away.
  shown(lines = this.lines) {
    const { only, hide } = this.explorer.view;
    const isolated = only && this.lines.some((line) => line.name === only);
    return lines.filter((line) => (isolated ? line.name === only : !hide.includes(line.name)));
  }

  get bin() {
    return this.feed.answer?.fold ? this.feed.answer.step_ms : 0;
  }

  draw() {
    const context = this.size && fitCanvas(this.canvas, this.size);
    if (!context) return;
    const { explorer } = this, span = explorer.span, lines = this.shown(), earlier = this.shown(this.earlier);
    const shifted = [span[0] - (this.shift ?? 0), span[1] - (this.shift ?? 0)];
    const both = [...lines, ...earlier.map((line) => ({ ...line, t: line.t.map((t) => t + (this.shift ?? 0)) }))];
    this.axis = valueAxis(shifted[0] === span[0] ? lines : both, span, this.bin, this.metric.unit, explorer.view.fit);
    setText(this.word, this.axis.unit);
    drawChart(context, {
      size: this.size, lines, earlier, shift: this.shift ?? 0, span, width: this.bin, axis: this.axis,
      ticks: ticks(span, this.width), paint, strong: this.strong, notes: explorer.notes.made(),
      font: "12px " + getComputedStyle(document.documentElement).getPropertyValue("--sans"),
    });
    this.drawOver();
  }

  // Crosshair, the dots on it, and the stretch that is being chosen.
  drawOver() {
    const context = this.size && fitCanvas(this.over, this.size);
    if (!context || !this.axis) return;
    const { cursor, brush, span } = this.explorer, place = placer(this.size, span, this.axis);
    context.clearRect(0, 0, this.size.width, this.size.height);
    if (brush) {
      const [from, to] = brush.map(place.x);
      context.fillStyle = paint("accent");
      context.globalAlpha = 0.16;
      context.fillRect(Math.min(from, to), 0, Math.abs(to - from), this.size.height);
      context.globalAlpha = 1;
    }
    if (cursor === null || cursor < span[0] || cursor > span[1]) return;
    if (this.near) drawLines(context, { lines: [{ ...this.near, low: null }], span, width: this.bin, place, paint, strong: this.near.name });
    context.fillStyle = paint("text");
    context.globalAlpha = 0.6;
    context.fillRect(Math.round(place.x(cursor)), 0, 1, this.size.height);
    context.globalAlpha = 1;
    for (const line of this.shown()) {
      const index = at(line, cursor, this.bin);
      if (index < 0) continue;
      context.fillStyle = paint(line.colour);
      context.beginPath();
      context.arc(place.x(line.t[index] + this.bin / 2), place.y(line.mid[index]), line === this.near ? 4 : 2.5, 0, 7);
      context.fill();
    }
  }

  // {who → [{name, text, value, colour}]} at an instant: the lines of each target together, else each by its name.
  valuesAt(instant) {
    const found = new Map();
    for (const line of this.shown()) {
      const who = line.labels.target?.replace(/^deployment\//, "") ?? line.name;
      found.set(who, [...(found.get(who) ?? []), { name: line.name, ...this.valueOf(line, at(line, instant, this.bin)) }]);
    }
    return found;
  }

  valueOf(line, index) {
    if (index < 0) return { text: "–", value: null, colour: line.colour };
    const relation = line.relation?.[index], sign = relation === "<" || relation === ">" ? relation + "\u00a0" : "";
    const said = (value) => text(value, this.metric.unit, this.metric.states);
    const span = line.low && line.low[index] !== line.high[index] ? ` (${said(line.low[index])} – ${said(line.high[index])})` : "";
    return { text: sign + said(line.mid[index]), span, value: line.mid[index], colour: line.colour };
  }
}
