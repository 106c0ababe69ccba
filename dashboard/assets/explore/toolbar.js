// What is shown, of what, when, and how: the two lines above the charts.

import { element, setAttribute, setText } from "../live/dom.js";
import { Exports } from "./export.js";
import { Picker } from "./picker.js";
import { Ranges } from "./ranges.js";
import { Scopes } from "./scopes.js";
import { OVERLAYS, QUANTILES } from "./view.js";

function button(label, title, click) {
  const made = element("button", "plain", label);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", click);
  return made;
}

// A group of buttons of which one is chosen. entries: [[value, label, title]].
export function choice(label, entries, choose) {
  const group = element("div", "switch");
  group.setAttribute("role", "radiogroup");
  group.setAttribute("aria-label", label);
  for (const [value, text, title] of entries) {
    const one = button(text, title ?? "", () => choose(value));
    one.className = "";
    one.dataset.value = value;
    one.setAttribute("role", "radio");
    group.append(one);
  }
  group.mark = (value) => {
    for (const one of group.children) setAttribute(one, "aria-checked", String(one.dataset.value === String(value)));
  };
  return group;
}

export class Toolbar {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("section", "panel explore-toolbar");
    this.box.setAttribute("aria-label", "What is shown");
    this.picker = new Picker(explorer);
    this.scopes = new Scopes(explorer);
    this.ranges = new Ranges(explorer);
    this.total = choice("Lines", [["", "Each", "One line for each"], ["1", "Total", "One line over all"]], (value) => explorer.go({ total: value === "1" }));
    this.quantile = choice("Percentile", QUANTILES.map((value) => [value, `p${value * 100}`]), (quantile) => explorer.go({ quantile }));
    this.over = choice("Compare with", [["", "–", "No comparison"], ...Object.keys(OVERLAYS).map((word) => [word, word, `The same stretch a ${word} earlier, dashed`])], (over) => explorer.go({ over }));
    this.fit = button("Fit", "Let the value axes begin near the lines, not at 0", () => explorer.look({ fit: !explorer.view.fit }));
    this.table = button("Table", "Numbers of what is shown", () => explorer.look({ table: !explorer.view.table }));
    this.note = button("Annotate", "Write down what happened", () => explorer.notes.open(this.note));
    this.exports = new Exports(explorer);
    this.counts = choice("Counters", [["", "Rate", "What counters grow by per second"], ["1", "Count", "Counters as they stand"]], (value) => explorer.go({ counts: value === "1" }));
    this.clear = button("Show all lines", "", () => explorer.look({ only: "", hide: [] }));
    this.said = element("p", "note explore-said");
    const first = element("div", "explore-line"), second = element("div", "explore-line");
    const earlier = element("span", "explore-group");
    earlier.append(element("span", "label", "Earlier"), this.over);
    const last = element("span", "explore-group explore-last");
    last.append(this.fit, this.table, this.note, this.exports.place);
    first.append(this.picker.box, this.scopes.box, this.total, this.counts, this.quantile, this.clear);
    second.append(this.ranges.box, earlier, last);
    this.box.append(first, second, this.said);
  }

  say(sentence) {
    setText(this.said, sentence);
  }

  write() {
    const { view, charts, unknown, catalogue } = this.explorer;
    this.picker.write();
    this.scopes.write();
    this.ranges.write();
    this.total.mark(view.total ? "1" : "");
    this.quantile.mark(view.quantile);
    this.quantile.hidden = !charts.some((chart) => chart.metric.kind === "histogram");
    this.counts.mark(view.counts ? "1" : "");
    this.counts.hidden = !charts.some((chart) => chart.metric.kind === "counter");
    this.over.mark(view.over);
    this.clear.hidden = !view.only && !view.hide.length;
    setAttribute(this.fit, "aria-pressed", String(view.fit));
    setAttribute(this.table, "aria-pressed", String(view.table));
    if (unknown?.length) this.say(`There is no metric “${unknown[0].slice(0, 80)}”.`);
    else this.say(view.unread || (catalogue.size && !charts.length ? "Nothing is chosen yet: add a metric." : ""));
  }
}
