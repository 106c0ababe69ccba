// The view as a table: an instant per row, a line per column, for eyes, screen readers and copying.

import { element, setAttribute } from "../live/dom.js";
import { at } from "./lines.js";
import { instantText } from "./time.js";

const ROWS = 60, COLUMNS = 40;

export class TableView {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("section", "panel explore-table table");
    this.box.hidden = true;
    this.box.tabIndex = 0;
    this.box.setAttribute("aria-label", "Table of what is shown");
  }

  write() {
    const { view, charts, span } = this.explorer;
    this.box.hidden = !view.table;
    setAttribute(this.explorer.place, "data-table", view.table ? "true" : "");
    if (!view.table) return this.box.replaceChildren();
    const columns = charts.flatMap((chart) => chart.shown().map((line) => [chart, line])), shown = columns.slice(0, COLUMNS);
    const table = element("table"), left = columns.length - shown.length;
    table.append(this.head(shown), this.body(shown, span));
    const note = `${ROWS} instants of the stretch, newest first` + (left ? `; ${left} more lines are not in it` : "") + ". CSV has every one.";
    this.box.replaceChildren(element("p", "note", note), table);
  }

  // Metrics, and below them the lines of each.
  head(columns) {
    const head = element("thead"), above = element("tr"), below = element("tr"), instant = element("th", "", "Instant");
    instant.rowSpan = 2;
    above.append(instant);
    for (const chart of new Set(columns.map(([one]) => one))) {
      const cell = element("th", "", chart.metric.label);
      cell.colSpan = columns.filter(([one]) => one === chart).length;
      cell.scope = "colgroup";
      above.append(cell);
    }
    below.append(...columns.map(([, line], index) => element("th", this.firsts(columns, index), line.name)));
    for (const cell of [instant, ...below.children]) cell.scope = "col";
    head.append(above, below);
    return head;
  }

  firsts(columns, index) {
    return columns[index - 1]?.[0] === columns[index][0] ? "" : "first";
  }

  body(columns, [start, end]) {
    const body = element("tbody"), step = Math.max((end - start) / ROWS, 1000);
    for (let instant = end; instant > start; instant -= step) {
      const row = element("tr"), when = element("th", "", instantText(Math.round(instant / 1000) * 1000, this.explorer.now()));
      when.scope = "row";
      row.append(when, ...columns.map(([chart, line], index) => element("td", this.firsts(columns, index), chart.valueOf(line, at(line, instant, chart.bin)).text)));
      body.append(row);
    }
    return body;
  }
}
