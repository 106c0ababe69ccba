// One chart of a view: its head, its canvas, what is said where there is nothing to draw, and its legend.

import { fitCanvas, setAttribute, setText } from "../live/dom.js";
import { isRate, questions, scopeText } from "./ask.js";
import { paint, paintLines } from "./colours.js";
import { drawChart, valueAxis } from "./draw.js";
import { LEFT, RIGHT } from "./margins.js";
import { exportAddress } from "./export.js";
import { Feed } from "./feed.js";
import { text } from "./format.js";
import { frame } from "./frame.js";
import { Legend } from "./legend.js";
import { firedOf, limitsOf } from "./limits.js";
import { at, linesOf, ofName } from "./lines.js";
import { drawOver } from "./over.js";
import { Pointer } from "./pointer.js";
import { ticks } from "./time.js";
import { OVERLAYS } from "./view.js";
import { howWords, mannerWords, nothingText } from "./words.js";

const SLOW_MS = 250, MOST_LINES = 64;

export class Chart {
  // explorer: the page; metric: an entry of /api/v1/metrics.
  constructor(explorer, metric) {
    this.explorer = explorer;
    this.metric = metric;
    this.lines = [];
    this.earlier = [];
    this.strong = null;
    this.feed = new Feed(metric);
    Object.assign(this, frame(this));
    this.legend = new Legend(this, this.place);
    this.pointer = new Pointer(this, this.over);
    this.sizes = new ResizeObserver((entries) => {
      const size = entries.at(-1).contentRect;
      if (!size.width) return; // the table stands in its place
      this.size = size;
      this.draw();
    });
    this.sizes.observe(this.plot);
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
    setText(this.of, [scopeText(view, this.metric), ...mannerWords(view, this.metric)].join(" · "));
    const asked = questions(view, this.metric);
    this.kind = isRate(view, this.metric) ? "ratio" : this.metric.kind;
    this.draw();
    const slow = setTimeout(() => this.feed.pending && this.tell("loading", this.lines.length ? "" : "Loading …"), SLOW_MS);
    await this.take(this.feed.ask(asked, span, this.width, OVERLAYS[view.over] ?? 0));
    clearTimeout(slow);
  }

  get states() {
    return this.metric.states;
  }

  get unit() {
    return this.feed.answer?.unit ?? this.metric.unit;
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
      if (error.status) this.clear();
      this.draw();
      return;
    }
    this.failed = null;
    this.csv.hidden = !exportAddress(this.explorer.view, [this.metric], this.feed.span, this.feed.drawn);
    this.csv.href = exportAddress(this.explorer.view, [this.metric], this.feed.span, this.feed.drawn);
    this.gather();
    this.draw();
    this.legend.write(this.feed);
  }

  // Nothing is shown of a view that was refused: numbers of the one before would pass for its own.
  clear() {
    this.lines = this.earlier = [];
    this.csv.hidden = true;
    setText(this.how, "");
    this.legend.clear();
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
    setText(this.how, howWords(this).join(" · "));
    this.tell(...(this.lines.length ? ["", ""] : ["empty", nothingText(this.metric, this.feed.answer)]));
  }

  tell(state, sentence) {
    setAttribute(this.box, "data-state", state);
    setText(this.said, sentence);
    this.said.hidden = !sentence;
  }

  // Lines that the legend has not taken away.
  shown(lines = this.lines) {
    const { only, hide } = this.explorer.view, isolated = only && ofName(this.lines, only);
    return lines.filter((line) => (isolated ? isolated(line) : !hide.includes(line.name)));
  }

  get bin() {
    return this.feed.answer?.fold ? this.feed.answer.step_ms : 0;
  }

  // Names of the lines that stand out are drawn above the others, and wider.
  standOut(names) {
    this.far = new Set(names);
    this.draw();
  }

  draw() {
    const context = this.size && fitCanvas(this.canvas, this.size);
    if (!context) return;
    const { explorer } = this, span = explorer.span, lines = this.shown(), earlier = this.shown(this.earlier);
    const shifted = [span[0] - (this.shift ?? 0), span[1] - (this.shift ?? 0)];
    const both = [...lines, ...earlier.map((line) => ({ ...line, t: line.t.map((t) => t + (this.shift ?? 0)) }))];
    this.axis = valueAxis(shifted[0] === span[0] ? lines : both, span, this.bin, this.unit, explorer.view.fit, this.size.height);
    setText(this.word, this.axis.unit);
    drawChart(context, {
      size: this.size, lines, far: this.far, earlier, shift: this.shift ?? 0, span, width: this.bin, axis: this.axis,
      ticks: ticks(span, this.width), paint, strong: this.strong, notes: explorer.notes.made(), holes: this.feed.answer?.damaged ?? [],
      limits: limitsOf(this), fired: firedOf(this), now: explorer.now(),
      font: "12px " + getComputedStyle(document.documentElement).getPropertyValue("--sans"),
    });
    this.drawOver();
  }

  drawOver() {
    const context = this.size && fitCanvas(this.over, this.size);
    if (context && this.axis) drawOver(context, this);
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
    const { colour, dash } = line;
    if (index < 0) return { text: "–", value: null, colour, dash };
    const relation = line.relation?.[index], sign = relation === "<" || relation === ">" ? relation + "\u00a0" : "";
    const said = (value) => text(value, this.unit, this.states);
    const span = line.low && line.low[index] !== line.high[index] ? ` (${said(line.low[index])} – ${said(line.high[index])})` : "";
    return { text: sign + said(line.mid[index]), span, value: line.mid[index], colour, dash };
  }
}
