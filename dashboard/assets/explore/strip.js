// The one time axis above all charts: labels, the crosshair's instant, and marks of what happened.

import { element, fitCanvas, setAttribute, setText } from "../live/dom.js";
import { paint } from "./colours.js";
import { LEFT, RIGHT } from "./margins.js";
import { clockText, dayText, DAY, instantText, lengthText, ticks } from "./time.js";

const NEAR_PX = 10;

// Events that would stand on one another as one mark: [[x, [events]]].
export function marks(events, [start, end], width) {
  const groups = [];
  for (const event of events) {
    const x = Math.min(Math.max(((event.t - start) / (end - start)) * width, 0), width), last = groups.at(-1);
    if (last && x - last[0] < NEAR_PX) last[1].push(event);
    else groups.push([x, [event]]);
  }
  return groups;
}

export class Strip {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("div", "explore-strip");
    this.plot = element("div", "explore-axis");
    this.canvas = element("canvas");
    this.marks = element("div", "explore-marks");
    this.flag = element("span", "explore-flag");
    this.flag.hidden = true;
    this.plot.append(this.canvas, this.marks, this.flag);
    this.said = element("button", "plain");
    this.said.type = "button";
    this.said.addEventListener("click", () => explorer.notes.open(this.said));
    this.box.append(this.plot, this.said);
    new ResizeObserver((entries) => {
      this.size = entries.at(-1).contentRect;
      this.write();
    }).observe(this.plot);
  }

  write() {
    const context = this.size && this.explorer.span && fitCanvas(this.canvas, this.size);
    if (!context) return;
    const { span } = this.explorer, width = this.size.width - LEFT - RIGHT;
    const x = (instant) => LEFT + ((instant - span[0]) / (span[1] - span[0])) * width;
    context.clearRect(0, 0, this.size.width, this.size.height);
    context.font = "12px " + getComputedStyle(document.documentElement).getPropertyValue("--sans");
    context.fillStyle = paint("dim");
    context.textBaseline = "bottom";
    for (const { t, label } of ticks(span, width)) {
      const at = x(t), half = context.measureText(label).width / 2;
      context.textAlign = "left";
      context.fillText(label, Math.min(Math.max(at - half, 0), this.size.width - 2 * half), this.size.height - 5);
      context.fillRect(Math.round(at), this.size.height - 4, 1, 4);
    }
    this.mark(span, width);
  }

  mark(span, width) {
    const { cut } = this.explorer.notes, events = this.explorer.notes.all();
    const found = marks(events.filter((event) => event.t >= span[0] && event.t <= span[1]), span, width);
    setText(this.said, events.length ? `${cut ? "the newest " : ""}${events.length} ${events.length === 1 ? "event" : "events"}` : "no events");
    setAttribute(this.said, "data-none", events.length ? "" : "true");
    const text = found.map(([at, some]) => [at.toFixed(0), ...some.map((event) => event.text)].join()).join("|");
    if (text === this.marked) return;
    this.marked = text;
    this.marks.replaceChildren(...found.map(([at, some]) => {
      const made = element("button", some.some((event) => event.id) ? "mine" : "");
      made.type = "button";
      made.style.left = `${LEFT + at}px`;
      made.title = made.ariaLabel = some.slice(0, 6).map((event) => `${instantText(event.t, this.explorer.now())} ${event.target ?? ""} ${event.text}`).join("\n") + (some.length > 6 ? `\nand ${some.length - 6} more` : "");
      made.addEventListener("click", () => this.explorer.notes.open(made));
      return made;
    }));
  }

  point(cursor, brush) {
    const { span } = this.explorer, width = this.size ? this.size.width - LEFT - RIGHT : 0;
    this.flag.hidden = cursor === null || !width;
    if (this.flag.hidden) return;
    const text = brush ? lengthText(Math.abs(brush[1] - brush[0])) : span[1] - span[0] > 2 * DAY ? `${dayText(cursor)} ${clockText(cursor, false)}` : clockText(cursor);
    setText(this.flag, text);
    this.flag.style.transform = `translateX(${LEFT + ((cursor - span[0]) / (span[1] - span[0])) * width}px) translateX(-50%)`;
  }
}
