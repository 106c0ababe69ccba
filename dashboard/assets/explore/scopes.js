// Of what: nodes, engines and deployments, and the labels that the lines on the screen carry.

import { element, setText } from "../live/dom.js";
import { Pop } from "./pop.js";

const KINDS = [["nodes", "Nodes"], ["engines", "Engines"], ["deployments", "Deployments"]];

// The button's words: what the view is limited to.
export function scopeWords(view) {
  const named = KINDS.flatMap(([kind]) => view[kind]), labels = Object.entries(view.labels).map(([key, value]) => `${key} ${value}`);
  const shown = named.length > 2 ? [`${named[0]} and ${named.length - 1} more`] : named;
  return [...shown, ...labels].join(", ") || "everything";
}

export class Scopes {
  constructor(explorer) {
    this.explorer = explorer;
    this.pop = new Pop("Of: everything", "explore-scopes", (box) => this.open(box));
    this.box = this.pop.place;
    this.pop.box.addEventListener("change", (event) => this.change(event.target));
  }

  write() {
    setText(this.pop.button, "Of: " + scopeWords(this.explorer.view));
  }

  async open(box) {
    if (!this.known) box.replaceChildren(element("p", "note", "Loading …"));
    try {
      const answer = await fetch("/api/v1/status", { cache: "no-store" });
      this.known = await answer.json();
    } catch {
      if (!this.known) return box.replaceChildren(element("p", "note", "The server does not answer."));
    }
    const kinds = KINDS.map(([kind, title]) => this.kind(kind, title)).filter(Boolean);
    const every = element("button", "plain", "Everything");
    every.type = "button";
    every.addEventListener("click", () => {
      this.pop.close();
      this.explorer.go({ nodes: [], engines: [], deployments: [], labels: {} });
    });
    box.replaceChildren(every, ...kinds, ...this.labels());
  }

  kind(kind, title) {
    const names = [...new Set([...this.known[kind].map((one) => one.name), ...this.explorer.view[kind]])];
    if (!names.length) return null;
    const group = element("fieldset");
    group.append(element("legend", "", title), ...names.map((name) => {
      const label = element("label"), box = Object.assign(element("input"), { type: "checkbox", value: name });
      box.dataset.kind = kind;
      box.checked = this.explorer.view[kind].includes(name);
      label.append(box, element("span", "", name));
      return label;
    }));
    return group;
  }

  // One value of each label that tells lines of the charts apart.
  labels() {
    const { charts, view } = this.explorer, values = new Map();
    for (const { labels } of charts.flatMap((chart) => chart.lines))
      for (const [key, value] of Object.entries(labels)) if (key !== "target") values.set(key, (values.get(key) ?? new Set()).add(value));
    for (const [key, value] of Object.entries(view.labels)) values.set(key, (values.get(key) ?? new Set()).add(value));
    const several = [...values].filter(([key, some]) => some.size > 1 || key in view.labels);
    return several.map(([key, some]) => {
      const label = element("label", "explore-label"), select = element("select");
      select.dataset.label = key;
      select.append(new Option("any", ""), ...[...some].sort().map((value) => new Option(value, value)));
      select.value = view.labels[key] ?? "";
      label.append(element("span", "", key), select);
      return label;
    });
  }

  change(input) {
    const { view } = this.explorer, { kind, label } = input.dataset;
    if (label) {
      const { [label]: _, ...others } = view.labels;
      this.explorer.go({ labels: input.value ? { ...others, [label]: input.value } : others });
    } else if (kind) {
      const others = view[kind].filter((name) => name !== input.value);
      this.explorer.go({ [kind]: input.checked ? [...others, input.value] : others });
    }
  }
}
