// Models in the list of runs: a bar that leaves one of them, and their runs under a heading each.
// The grid knows no groups, so headings are rows of ours, put in front of their runs after every sorting.

import { modelOf } from "./columns.js";

export function heading(model) {
  return { key: `group ${model}`, group: model, count: 0, tags: [], name: "", model, live: false };
}

export function isHeading(node) {
  return node?.data?.group !== undefined;
}

// Those that go on stand on top, however the list is sorted; a heading stands where its first run would. Changes the list.
export function arrange(nodes) {
  const headings = new Map(nodes.filter(isHeading).map((node) => [node.data.group, node]));
  const rows = nodes.filter((node) => !isHeading(node));
  rows.sort((one, other) => Number(other.data.live) - Number(one.data.live));
  const groups = new Map();
  for (const node of rows) {
    const model = headings.size ? modelOf(node.data) : "";
    if (!groups.has(model)) groups.set(model, []);
    groups.get(model).push(node);
  }
  const sorted = [];
  for (const [model, own] of groups) {
    const head = headings.get(model);
    if (head) {
      head.data.count = own.length;
      sorted.push(head);
    }
    sorted.push(...own);
  }
  nodes.splice(0, nodes.length, ...sorted);
}

// The bar: all models with how many runs each has, and a switch for the headings. changed({model, grouped}).
export class Models {
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    this.model = null;
    this.grouped = false;
  }

  draw(runs) {
    const counts = new Map();
    for (const run of runs) counts.set(modelOf(run), (counts.get(modelOf(run)) ?? 0) + 1);
    if (this.model !== null && !counts.has(this.model)) this.choose({ model: null });
    const told = JSON.stringify([[...counts], this.model, this.grouped]);
    if (told === this.told) return;
    this.told = told;
    const sorted = [...counts].sort((one, other) => other[1] - one[1]);
    const chips = sorted.map(([model, count]) => this.button(`${model || "model not known"} ${count}`, this.model === model, { model: this.model === model ? null : model }));
    const all = this.button(`All ${runs.length}`, this.model === null, { model: null });
    const group = this.button("Group by model", this.grouped, { grouped: !this.grouped });
    group.classList.add("apart-left");
    this.place.hidden = !runs.length;
    this.place.replaceChildren(...(sorted.length > 1 ? [all, ...chips, group] : []));
  }

  button(label, pressed, change) {
    const node = document.createElement("button");
    Object.assign(node, { type: "button", className: "plain", textContent: label, title: label, ariaPressed: String(pressed) });
    node.addEventListener("click", () => this.choose(change));
    return node;
  }

  choose(change) {
    Object.assign(this, change);
    this.changed(this);
  }
}
