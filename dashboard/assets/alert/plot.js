// What both kinds of an alert's charts have: head, canvases, the labels of the time axis, and the pointer.

import { LEFT, RIGHT } from "../explore/margins.js";
import { ticks } from "../explore/time.js";
import { element, fitCanvas, setText } from "../live/dom.js";
import { colour } from "../live/theme.js";

const LABEL_PX = 72;

export class Plot {
  // evidence: the page; large: whether it is of what the rule read.
  constructor(evidence, large) {
    this.evidence = evidence;
    this.box = element("figure", large ? "evidence-chart large" : "evidence-chart");
    const head = element("figcaption"), plot = element("div", "evidence-plot");
    this.title = element("h3");
    this.unit = element("span", "note");
    this.value = element("b", "evidence-value");
    head.append(this.title, this.unit, this.value);
    this.canvas = element("canvas");
    this.over = element("canvas", "evidence-over");
    this.axis = element("div", "evidence-axis");
    this.axis.setAttribute("aria-hidden", "true");
    this.plot = plot;
    plot.append(this.canvas, this.over);
    this.box.append(head, plot, this.axis);
    this.listen();
    this.sizes = new ResizeObserver((entries) => {
      this.size = entries.at(-1).contentRect;
      this.draw();
    });
    this.sizes.observe(plot);
  }

  close() {
    this.sizes.disconnect();
    this.box.remove();
  }

  get span() {
    return this.evidence.span;
  }

  get width() {
    return this.size.width - LEFT - RIGHT;
  }

  x(instant) {
    return LEFT + ((instant - this.span[0]) / (this.span[1] - this.span[0])) * this.width;
  }

  listen() {
    const { over, evidence } = this;
    over.tabIndex = 0;
    evidence.steps.listen(over, (event) => this.instant(event.offsetX));
  }

  instant(x) {
    const part = Math.min(Math.max((x - LEFT) / this.width, 0), 1);
    return this.span[0] + part * (this.span[1] - this.span[0]);
  }

  // A context to draw on, null while there is no size.
  begin(canvas) {
    const context = this.size && fitCanvas(canvas, this.size);
    if (!context) return null;
    context.clearRect(0, 0, this.size.width, this.size.height);
    context.font = "12px " + getComputedStyle(document.documentElement).getPropertyValue("--sans");
    return context;
  }

  labels() {
    const found = ticks(this.span, this.width, LABEL_PX), text = JSON.stringify([found, this.width]);
    if (text === this.labelled) return;
    this.labelled = text;
    this.axis.replaceChildren(...found.map(({ t, label }) => {
      const made = element("span", "", label);
      made.style.left = `${this.x(t)}px`;
      return made;
    }));
  }

  // The stretch that is being chosen, and the crosshair; returns the context, null where there is none.
  drawOver() {
    const context = this.begin(this.over), { cursor, steps } = this.evidence;
    if (context && steps.brush) this.drawBrush(context, steps.brush.map((instant) => this.x(instant)));
    if (!context || cursor === null) return null;
    context.fillStyle = colour("text");
    context.globalAlpha = 0.6;
    context.fillRect(Math.round(this.x(cursor)), 0, 1, this.size.height);
    context.globalAlpha = 1;
    return context;
  }

  drawBrush(context, [from, to]) {
    context.fillStyle = colour("accent");
    context.globalAlpha = 0.16;
    context.fillRect(Math.min(from, to), 0, Math.abs(to - from), this.size.height);
    context.globalAlpha = 1;
  }

  name(chart, unit) {
    setText(this.title, chart.label);
    setText(this.unit, unit);
    this.over.setAttribute("role", "img");
    this.over.setAttribute("aria-label", `${chart.label} around the alert. Arrow keys move the crosshair, plus and minus zoom.`);
  }
}
