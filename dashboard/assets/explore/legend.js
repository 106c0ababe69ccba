// The legend beside a chart: which line is which, and least, mean, most and newest of what is on the screen. A click on
// a name isolates its line, a click on its mark hides it. Lines that stand out come first.

import { element, setAttribute, setText } from "../live/dom.js";
import { shortNames } from "../live/tiles.js";
import { apart } from "./apart.js";
import { text } from "./format.js";
import { isPast } from "./lines.js";

const HEADS = ["min", "mean", "max"], WHOLE = "Over the whole stretch, also while nothing happened", FAR = "Its mean stands out from those of the others";
const PAST = "Not known now; the newest value of the stretch was ";

export class Legend {
  constructor(chart, place) {
    this.chart = chart;
    this.place = place;
    this.rows = new Map();
    this.table = element("table");
    this.body = element("tbody");
    const head = element("thead"), line = element("tr");
    this.now = element("th", "", "now");
    this.count = element("th");
    line.append(this.count, ...HEADS.map((word) => Object.assign(element("th", "", word), { title: WHOLE })), this.now);
    head.append(line);
    this.table.append(head, this.body);
    place.append(this.table);
    this.listen();
  }

  listen() {
    const { explorer } = this.chart;
    this.body.addEventListener("click", (event) => {
      const button = event.target.closest("button"), name = button?.closest("tr").dataset.name;
      if (!button) return;
      if (button.matches(".explore-mark") || event.ctrlKey || event.metaKey || event.shiftKey) explorer.hide(name);
      else explorer.isolate(name);
    });
    this.body.addEventListener("pointerover", (event) => explorer.highlight(event.target.closest("tr")?.dataset.name ?? null));
    this.body.addEventListener("pointerleave", () => explorer.highlight(null));
  }

  // Rows for the lines there are; the numbers follow when the server has worked them out.
  async write(feed) {
    const { lines, explorer } = this.chart;
    setText(this.now, explorer.view.range.length ? "now" : "last");
    if ([...this.rows.keys()].join("\n") !== lines.map((line) => line.name).join("\n")) this.build(lines);
    this.mark();
    try {
      const stats = await feed.summarise(feed.span);
      if (stats) this.fill(stats);
    } catch (error) {
      if (error.name !== "AbortError") this.fill({ of: new Map() });
    }
  }

  clear() {
    this.build([]);
  }

  build(lines) {
    this.rows.clear();
    this.far = "";
    const short = shortNames(lines.map((line) => line.name));
    for (const [at, line] of lines.entries()) {
      const row = element("tr"), head = element("th"), mark = element("button", "explore-mark"), name = element("button", "explore-name", line.name);
      row.dataset.name = line.name;
      mark.type = name.type = "button";
      mark.style.setProperty("--mark", `var(--${line.colour})`);
      mark.dataset.dash = line.dash;
      name.title = line.name;
      name.dataset.short = short[at]; // what a phone has room for
      head.scope = "row";
      head.append(mark, name);
      row.append(head, ...[...HEADS, "last"].map(() => element("td", "", "")));
      this.rows.set(line.name, row);
    }
    this.body.replaceChildren(...this.rows.values());
    setText(this.count, lines.length > 1 ? `${lines.length} lines` : "");
  }

  mark() {
    const seen = new Set(this.chart.shown().map((line) => line.name)), { only } = this.chart.explorer.view;
    for (const [name, row] of this.rows) {
      setAttribute(row, "data-hidden", seen.has(name) ? "" : "true");
      const [mark, title] = row.firstElementChild.children;
      setAttribute(mark, "aria-label", `${seen.has(name) ? "Hide" : "Show"} ${name}`);
      setAttribute(mark, "aria-pressed", String(!seen.has(name)));
      setAttribute(title, "aria-pressed", String(only === name));
    }
  }

  fill(stats) {
    const { lines, explorer } = this.chart, live = Boolean(explorer.view.range.length), now = explorer.now();
    for (const line of lines) {
      const found = stats.of.get(JSON.stringify(line.labels)) ?? {}, cells = this.rows.get(line.name)?.children;
      if (!cells) continue;
      const words = told(found, this.chart), last = words.at(-1), past = live && isPast(line, now);
      [...words.slice(0, -1), past ? "–" : last].forEach((word, at) => setText(cells[at + 1], word));
      setAttribute(cells[words.length], "title", past ? PAST + last : "");
    }
    this.order(this.chart.metric.kind === "state" ? [] : apart(lines.map((line) => [line.name, stats.of.get(JSON.stringify(line.labels))?.mean])));
  }

  // Those that stand out, first and marked, here and on the chart.
  order(far) {
    if (far.join("\n") === this.far) return;
    this.far = far.join("\n");
    const first = far.map((name) => this.rows.get(name)).filter(Boolean);
    this.body.replaceChildren(...first, ...[...this.rows.values()].filter((row) => !first.includes(row)));
    for (const row of this.rows.values()) {
      setAttribute(row, "data-far", first.includes(row) ? "true" : "");
      row.title = first.includes(row) ? FAR : "";
    }
    this.chart.standOut(far);
  }
}

const sign = (relation) => (relation === "<" || relation === ">" ? relation + "\u00a0" : "");

// [min, mean, max, last] as text. A state has no mean and no order, and a percentile's mean is none. The least of
// percentiles is at most what stands here: it may lie below the first edge.
export function told(found, { kind, unit, states }) {
  const say = (value, mark = "") => (value === null || value === undefined ? "–" : mark + text(value, unit, states));
  if (kind === "state") return ["–", "–", "–", say(found.last)];
  const last = say(found.last, sign(found.last_relation));
  if (kind === "histogram") return [say(found.min, "≤\u00a0"), "–", say(found.max, sign(found.relation)), last];
  return [say(found.min), kind === "counter" ? "–" : say(found.mean), say(found.max), last];
}
