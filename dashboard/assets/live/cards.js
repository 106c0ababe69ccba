// Cells by key, their reasons, the rows of "why this speed", and the sparkline.

import { element, fitCanvas, setAttribute, setCell, setText } from "./dom.js";
import { colour, onThemeChange } from "./theme.js";

// Most that the sparkline shows.
const SPARK_MS = 300000;

export class Cards {
  constructor(root, state) {
    this.state = state;
    this.places = new Map();
    for (const place of root.querySelectorAll("[data-cell]")) {
      const key = place.dataset.cell;
      this.places.set(key, [...(this.places.get(key) ?? []), place]);
    }
    this.readings = new Map([...root.querySelectorAll("[data-reading]")].map((place) => [place.dataset.reading, place]));
    this.names = [...root.querySelectorAll("[data-point-name]")];
    this.why = root.querySelector("[data-why]");
    this.spark = root.querySelector("[data-spark]");
    this.forget = onThemeChange(() => this.drawSpark());
    this.sizes = new ResizeObserver((entries) => {
      this.size = entries.at(-1).contentRect;
      this.drawSpark();
    });
    if (this.spark) this.sizes.observe(this.spark);
    this.rows = new Map();
  }

  close() {
    this.forget();
    this.sizes.disconnect();
    this.why?.replaceChildren();
  }

  update(changed) {
    const { cells } = this.state.message;
    for (const key of changed.cells ?? Object.keys(cells)) this.setCell(key, cells[key]);
    if (changed.why ?? true) this.setRows();
    for (const place of this.names) {
      const name = this.state.message.points[place.dataset.pointName];
      setText(place, name ? place.dataset.before + name : "");
    }
    this.drawSpark();
  }

  setCell(key, cell) {
    for (const place of this.places.get(key) ?? []) setCell(place, cell);
    const reading = this.readings.get(key);
    if (!reading) return;
    const unknown = cell[2] === "unknown" && cell[3];
    setAttribute(reading, "data-unknown", unknown ? "true" : "");
    setText(reading.querySelector("[data-reason]"), unknown ? cell[3] : "");
  }

  setRows() {
    if (!this.why) return;
    const { why } = this.state.message;
    if (why.length !== this.rows.size || why.some((row) => !this.rows.has(row.key))) this.buildRows(why);
    for (const row of why) {
      const line = this.rows.get(row.key);
      setAttribute(line, "data-level", row.level);
      setText(line.children[0].firstChild, row.label);
      setText(line.children[0].lastChild, row.now === "–" ? row.reason : "");
      ["now", "baseline", "change"].forEach((field, index) => setText(line.children[index + 1], row[field]));
      setAttribute(line, "title", row.reason);
    }
  }

  buildRows(why) {
    this.rows = new Map(
      why.map((row) => {
        const line = element("tr"), head = element("th");
        head.scope = "row";
        head.append(element("span"), element("small"));
        line.append(head, element("td", "now"), element("td", "baseline"), element("td", "change"));
        return [row.key, line];
      }),
    );
    this.why.replaceChildren(...this.rows.values());
  }

  drawSpark() {
    const { history, message } = this.state;
    const context = this.spark && history && message && fitCanvas(this.spark, this.size);
    if (!context) return;
    const { width, height } = this.size;
    context.clearRect(0, 0, width, height);
    const times = history.t, values = history.points[this.spark.dataset.spark] ?? [];
    const span = Math.min(SPARK_MS, this.state.span), start = message.tick - span, first = times.findIndex((t) => t >= start);
    if (first < 0) return;
    const most = Math.max(1e-9, ...values.slice(first).filter((value) => value !== null));
    const line = new Path2D();
    let last = null;
    for (let index = first; index < times.length; index++) {
      const value = values[index] ?? null;
      const x = ((times[index] - start) / span) * (width - 4), y = height - 2 - (value / most) * (height - 4);
      if (value === null) last = null;
      else {
        if (last === null || times[index] - last > this.state.gapMs) line.moveTo(x, y);
        else line.lineTo(x, y);
        last = times[index];
      }
    }
    context.strokeStyle = colour("decode");
    context.lineWidth = 1.5;
    context.stroke(line);
  }
}
