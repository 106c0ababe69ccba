// All values at the crosshair's instant, of all charts, in one place: a row per line, a column per chart.

import { element, setText } from "../live/dom.js";
import { instantText, lengthText } from "./time.js";

const MOST_ROWS = 17, MOST_LINES = 3, EDGE = 16, SMALL = { width: 320, height: 160 };

// The values of one target's lines in one cell. single: the only chart has room for the span of a bin.
export function said(lines, single) {
  const words = lines.slice(0, MOST_LINES).map((line) => line.text + (single ? line.span ?? "" : ""));
  return words.join(" · ") + (lines.length > MOST_LINES ? " …" : "");
}

export class Readout {
  constructor(place) {
    this.box = element("div", "explore-readout");
    this.box.hidden = true;
    this.box.setAttribute("aria-live", "polite");
    this.head = element("p");
    this.table = element("table");
    this.more = element("p", "note");
    this.box.append(this.head, this.table, this.more);
    place.append(this.box);
  }

  hide() {
    this.box.hidden = true;
  }

  // charts: those of the view; by: the one that the pointer is over.
  show(instant, charts, by, now) {
    const columns = charts.filter((chart) => chart.lines.length);
    if (!columns.length) return this.hide();
    const values = columns.map((chart) => chart.valuesAt(instant)), own = values[Math.max(columns.indexOf(by), 0)];
    const near = [...own].find(([, lines]) => lines.some((line) => line.name === by?.near?.name))?.[0];
    const names = this.pick([...new Set(values.flatMap((one) => [...one.keys()]))], own, near);
    const bin = by?.bin ? ` · ${lengthText(by.bin)} per point` : "";
    setText(this.head, instantText(Math.floor(instant / 1000) * 1000, now) + bin); // as the axis says it
    this.write(columns, names, values, near);
    setText(this.more, this.left ? `and ${this.left} more` : "");
    this.box.hidden = false;
    this.put(instant, by ?? columns[0]);
  }

  // Where there are too many: those around the one that the pointer is on.
  pick(names, values, near) {
    this.left = Math.max(names.length - MOST_ROWS, 0);
    if (!this.left) return names;
    const largest = (name) => Math.max(...(values.get(name) ?? []).map((line) => line.value ?? -Infinity), -Infinity);
    const sorted = names.sort((a, b) => largest(b) - largest(a));
    const first = Math.max(Math.min(sorted.indexOf(near) - Math.floor(MOST_ROWS / 2), sorted.length - MOST_ROWS), 0);
    return sorted.slice(first, first + MOST_ROWS);
  }

  write(columns, names, values, near) {
    const head = element("tr"), single = columns.length === 1;
    head.append(element("th"), ...columns.map((chart) => element("th", "", chart.metric.label)));
    const rows = names.map((name) => {
      const row = element("tr", name === near ? "near" : ""), title = element("th"), swatch = element("span", "swatch");
      const found = values.map((one) => one.get(name) ?? []);
      const [first] = found.find((lines) => lines.length);
      swatch.style.background = `var(--${first.colour})`;
      swatch.dataset.dash = first.dash;
      title.append(swatch, name);
      row.append(title, ...found.map((lines) => element("td", "", said(lines, single))));
      return row;
    });
    this.table.replaceChildren(head, ...rows);
  }

  // A small one beside the crosshair, on the side with more room. A large one would hide the lines that are read: it stands
  // over the legends, or on the other side where it would reach the crosshair. On a phone at the bottom (by the style sheet).
  put(instant, chart) {
    const [start, end] = chart.explorer.span, plot = chart.over.getBoundingClientRect(), size = this.box.getBoundingClientRect();
    const x = plot.left + ((instant - start) / (end - start)) * plot.width;
    const top = Math.min(Math.max(plot.top, 56), Math.max(innerHeight - size.height - 8, 56));
    this.box.style.left = `${Math.max(leftOf(x, size, plot, innerWidth), 8)}px`;
    this.box.style.top = `${top}px`;
  }
}

// Where the readout's left edge is, for a crosshair at x.
export function leftOf(x, size, plot, width) {
  const small = size.width <= SMALL.width && size.height <= SMALL.height;
  if (small) return x > width / 2 ? x - size.width - EDGE : x + EDGE;
  const over = width - size.width - EDGE;
  return x + EDGE <= over ? over : Math.min(plot.left, x - size.width - EDGE);
}
