// A state, or the bits of a mask, around an alert: one row per series, each stretch under its name, that which the rule
// asks for in the colour of the alert.

import { LEFT, RIGHT } from "../explore/margins.js";
import { telling } from "../explore/lines.js";
import { setText } from "../live/dom.js";
import { colour } from "../live/theme.js";
import { Plot } from "./plot.js";

const ROW = 22, MOST = 4, PAD = 6;
// What is drawn paler: a state in which nothing is done, and no bit of a mask.
const QUIET = new Set(["idle", "asleep", "stopped", "unknown", "none"]);
const COLOURS = { critical: "critical", warning: "warning" };

// Which stretch an instant lies in, null where it lies in none.
export function spanAt(spans, instant) {
  return spans.find(([from, to]) => instant >= from && instant < to) ?? null;
}

// What a row is called among the others: "" where it is the only one.
export function rowName(labels, keys) {
  return keys.map((key) => labels[key]).filter(Boolean).join(" ");
}

// The first of the keys, as many of them as tell all rows apart: the name of a target does where each has a model, too.
export function enough(rows, keys) {
  for (let count = 1; count < keys.length; count++) {
    const few = keys.slice(0, count);
    if (new Set(rows.map(({ labels }) => rowName(labels, few))).size === rows.length) return few;
  }
  return keys;
}

// A name in the room that there is, measured by widthOf(text).
export function shortened(name, room, widthOf) {
  let text = name;
  while (text.length > 1 && widthOf(text) > room) text = `${text.slice(0, -2).trimEnd()}…`;
  return text;
}

// Rows that say something: the alert's own, and those that are not all the while what it is when it fired.
export function telltale(lines) {
  const plain = lines.find((line) => line.own)?.spans[0]?.[2];
  const apart = lines.filter((line) => line.own || line.spans.length > 1 || line.spans.some(([, , word, wrong]) => wrong || word !== plain));
  return (apart.length ? apart : lines).slice(0, MOST);
}

export class SpanChart extends Plot {
  show(chart, found) {
    this.chart = chart;
    this.rows = telltale(chart.lines);
    this.keys = enough(chart.lines, telling(chart.lines.map((row) => row.labels)));
    this.alert = found.alert;
    this.plot.style.height = `${this.rows.length * ROW}px`;
    const others = chart.lines.length - this.rows.length;
    this.name(chart, others ? `${others} more ${others === 1 ? "is" : "are"} alike` : "");
    this.draw();
  }

  draw() {
    const context = this.chart && this.begin(this.canvas);
    if (!context) return;
    context.textBaseline = "middle";
    this.rows.forEach((row, at) => this.row(context, row, at * ROW));
    context.globalAlpha = 1;
    this.labels();
    this.drawOver();
  }

  row(context, { spans, labels }, top) {
    const end = this.size.width - RIGHT;
    for (const [from, to, word, wrong] of spans) {
      const left = Math.max(this.x(from), LEFT), right = Math.min(this.x(to), end);
      if (right <= left) continue;
      const hue = wrong ? colour(COLOURS[this.alert.severity] ?? "accent") : colour("dim");
      context.globalAlpha = wrong ? 0.3 : QUIET.has(word) ? 0.07 : 0.18;
      context.fillStyle = hue;
      context.fillRect(left, top + 2, Math.max(right - left - 1, 1), ROW - 4); // a line of ground between two
      context.globalAlpha = 1;
      context.fillStyle = wrong ? hue : colour("dim");
      context.textAlign = "left";
      if (context.measureText(word).width + 2 * PAD < right - left) context.fillText(word, left + PAD, top + ROW / 2);
    }
    const name = rowName(labels, this.keys);
    context.fillStyle = colour("dim");
    context.textAlign = "right";
    const shown = shortened(name, LEFT - PAD, (text) => context.measureText(text).width);
    if (shown) context.fillText(shown, LEFT - PAD, top + ROW / 2);
  }

  tell(instant) {
    const told = this.rows.map(({ spans }) => spanAt(spans, instant)?.[2]).filter(Boolean);
    setText(this.value, [...new Set(told)].join(" · ") || "–");
  }
}
