// Cells by key, their reasons, the rows of "why this speed", and the sparkline.

import { element, fitCanvas, setAttribute, setCell, setText } from "./dom.js";
import { colour, onThemeChange } from "./theme.js";

// A latency of which too little was observed for a percentile is a mean, and its unit says so.
const MEAN = /\s?mean$/;

// A reason without what stands in brackets: where one points at it, all of it is told.
const shorter = (reason) => reason.replace(/ \(.*\)$/, "");

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
    this.panels = [...new Set([...this.readings.values()].map((place) => place.closest(".panel")))];
    this.statistics = [...root.querySelectorAll("[data-statistic]")];
    this.percentiles = [...root.querySelectorAll("[data-percentile]")];
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
    const keys = changed.cells ?? Object.keys(cells);
    for (const key of keys) this.setCell(key, cells[key]);
    if (keys.length) this.setStatistics(cells);
    if (keys.some((key) => this.readings.has(key))) this.setReasons(cells);
    if (changed.why ?? true) this.setRows();
    for (const place of this.names) {
      const name = this.state.message.points[place.dataset.pointName];
      setText(place, name ? place.dataset.before + name : "");
    }
    this.drawSpark();
  }

  setCell(key, [number, unit, ...rest]) {
    const [state, reason] = rest;
    for (const place of this.places.get(key) ?? []) {
      // Where nothing else stands in the line, the reason does.
      const told = state === "unknown" && reason && place.classList.contains("alone") ? shorter(reason) : number;
      setCell(place, [told, unit.replace(MEAN, ""), ...rest]);
    }
  }

  // The label tells what the number is; of a percentile that is a mean as well nothing is said twice.
  setStatistics(cells) {
    const mean = (key) => MEAN.test(cells[key]?.[1] ?? "");
    for (const place of this.statistics) setText(place, mean(place.dataset.statistic) ? "mean" : "p50");
    for (const place of this.percentiles) setAttribute(place, "hidden", mean(place.dataset.percentile) ? "true" : "");
  }

  // Why readings are unknown, each reason once in a panel (the others tell it where one points at them); and what is
  // lacking in those that are known, such as nodes in a sum.
  setReasons(cells) {
    const said = new Map(this.panels.map((panel) => [panel, new Set()]));
    for (const [key, reading] of this.readings) {
      const [, , state, reason] = cells[key] ?? ["", "", "ok", ""], seen = said.get(reading.closest(".panel"));
      const told = (state !== "ok" && reason) || "", again = state === "unknown" && seen.has(told);
      setAttribute(reading, "data-unknown", told ? "true" : "");
      setAttribute(reading, "title", told);
      setText(reading.querySelector("[data-reason]"), again ? "" : shorter(told));
      seen.add(told);
    }
  }

  setRows() {
    if (!this.why) return;
    const { why } = this.state.message;
    if (why.length !== this.rows.size || why.some((row) => !this.rows.has(row.key))) this.buildRows(why);
    const said = new Set();
    for (const row of why) {
      const reason = row.now === "–" && !said.has(row.reason) ? row.reason : "";
      said.add(reason);
      const line = this.rows.get(row.key);
      setAttribute(line, "data-level", row.level);
      setText(line.children[0].firstChild, row.label);
      setText(line.children[0].lastChild, shorter(reason) || (row.note ?? ""));
      ["now", "baseline", "change"].forEach((field, index) => setText(line.children[index + 1], row[field]));
      setAttribute(line, "title", row.reason || (row.hint ?? ""));
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
