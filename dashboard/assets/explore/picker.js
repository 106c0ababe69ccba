// The chosen metrics, and a searchable list of the catalogue to add others.

import { element, setText } from "../live/dom.js";
import { Pop } from "./pop.js";
import { MOST_METRICS } from "./view.js";

const SORTS = { counter: "counter", gauge: "amount", histogram: "distribution" };

// What a metric is called in the list: where another one has its label, with what sort of number it is.
export function called(metric, all) {
  if (!all.some((one) => one.label === metric.label && one.name !== metric.name)) return metric.label;
  return `${metric.label} (${SORTS[metric.kind] ?? (metric.unit === "ratio" ? "share" : "rate")})`;
}

// Metrics whose label, name or help have every word of what was typed, by group, in the groups' order.
export function found(metrics, groups, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const hit = metrics.filter(({ label, name, help, group }) => {
    const text = `${label} ${name} ${name.replaceAll("_", " ")} ${help} ${group}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const titles = new Map(groups), known = [...new Set([...groups.map(([group]) => group), ...hit.map((one) => one.group)])];
  const sorted = known.map((group) => [titles.get(group) ?? group, hit.filter((one) => one.group === group)]);
  return sorted.filter(([, members]) => members.length);
}

export class Picker {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = element("div", "explore-metrics");
    this.chosen = element("ul", "explore-chosen");
    this.pop = new Pop("+ Metric", "explore-picker", (box) => this.open(box));
    this.box.append(this.chosen, this.pop.place);
    this.search = Object.assign(element("input"), { type: "search", placeholder: "Search: power, ttft, fabric …" });
    this.search.setAttribute("aria-label", "Search metrics");
    this.search.addEventListener("input", () => this.list());
    this.search.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== "ArrowDown") return;
      event.preventDefault();
      const first = this.results.querySelector("input");
      if (event.key === "Enter") first?.click();
      else first?.focus();
    });
    this.results = element("div", "explore-results");
    this.results.addEventListener("change", (event) => this.toggle(event.target));
    this.results.addEventListener("keydown", (event) => this.step(event));
  }

  open(box) {
    if (!box.firstChild) box.append(this.search, this.results);
    this.search.value = "";
    this.list();
  }

  list() {
    const { catalogue, view, config } = this.explorer;
    const groups = found([...catalogue.values()], config.groups, this.search.value).map(([title, members]) => {
      const group = element("fieldset");
      group.append(element("legend", "", title), ...members.map((metric) => this.entry(metric, view.metrics)));
      return group;
    });
    this.results.replaceChildren(...(groups.length ? groups : [element("p", "note", "No metric has all of these words.")]));
  }

  entry(metric, chosen) {
    const { catalogue } = this.explorer, label = element("label"), box = Object.assign(element("input"), { type: "checkbox", value: metric.name });
    box.checked = chosen.includes(metric.name);
    box.disabled = !box.checked && chosen.length >= MOST_METRICS;
    label.title = metric.help;
    label.append(box, element("span", "", called(metric, [...catalogue.values()])), element("small", "dimmed", metric.name));
    return label;
  }

  toggle(box) {
    if (box.checked) this.explorer.addMetric(box.value);
    else this.explorer.removeMetric(box.value);
    const full = this.explorer.view.metrics.length >= MOST_METRICS;
    for (const one of this.results.querySelectorAll("input")) one.disabled = full && !one.checked;
  }

  step(event) {
    const go = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!go) return;
    event.preventDefault();
    const all = [...this.results.querySelectorAll("input")], next = all[all.indexOf(document.activeElement) + go];
    (next ?? this.search).focus();
  }

  write() {
    const { view, catalogue } = this.explorer, text = view.metrics.join();
    if (this.written === text && this.known === catalogue.size) return;
    Object.assign(this, { written: text, known: catalogue.size });
    const chips = view.metrics.map((name) => {
      const chip = element("li"), gone = element("button", "", "×");
      gone.type = "button";
      gone.ariaLabel = `Remove ${catalogue.get(name)?.label ?? name}`;
      gone.addEventListener("click", () => this.explorer.removeMetric(name));
      chip.append(element("span", "", catalogue.get(name)?.label ?? name), gone);
      return chip;
    });
    this.chosen.replaceChildren(...chips);
    setText(this.pop.button, view.metrics.length ? "+ Metric" : "Choose metrics");
  }
}
