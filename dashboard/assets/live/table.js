// The map's other face: every node and reading as a table, for eyes and for screen readers.

import { MARKS } from "./marks.js";
import { element, makeCell, setAttribute, setCell, setText } from "./dom.js";

const HEADS = {
  utilization: "Utilisation", power: "GPU power", temperature: "Temperature", clock: "SM clock",
  headroom: "Memory free", interconnect: "Interconnect",
};

export class NodeTable {
  constructor(root, state) {
    this.state = state;
    this.place = root.querySelector("[data-map-table]");
    this.map = root.querySelector("[data-map]");
    this.button = root.querySelector("[data-table-toggle]");
    this.button?.addEventListener("click", () => this.toggle());
  }

  close() {
    this.place?.replaceChildren();
    this.lines = null;
  }

  toggle() {
    const open = this.place.hidden;
    this.place.hidden = !open;
    this.map.hidden = open;
    this.button.setAttribute("aria-pressed", String(open));
    if (open) this.build();
  }

  update(changed) {
    if (!this.place || this.place.hidden) return;
    if (changed.shape || !this.lines) return this.build();
    for (const index of changed.nodes) this.fill(index);
  }

  build() {
    const { nodes } = this.state.message, keys = this.state.nodeCells;
    const table = element("table"), head = element("tr");
    for (const text of ["Node", "State", ...keys.map((key) => HEADS[key] ?? key)]) {
      const cell = element("th", "", text);
      cell.scope = "col";
      head.append(cell);
    }
    this.lines = nodes.map((node) => {
      const line = element("tr"), name = element("th"), link = element("a", "inside", node.name);
      link.href = "/node/" + encodeURIComponent(node.name);
      name.scope = "row";
      name.append(link);
      const state = element("td", "state");
      state.append(element("span", "mark"), element("span"));
      state.firstChild.ariaHidden = "true";
      line.append(name, state, ...keys.map(() => {
        const cell = element("td");
        cell.append(makeCell("cell"));
        return cell;
      }));
      return line;
    });
    const top = element("thead"), body = element("tbody");
    top.append(head);
    body.append(...this.lines);
    table.append(top, body);
    this.place.replaceChildren(table);
    nodes.forEach((_, index) => this.fill(index));
  }

  fill(index) {
    const node = this.state.message.nodes[index], line = this.lines[index];
    setAttribute(line, "data-level", node.level);
    setText(line.children[1].firstChild, MARKS[node.level] ?? "");
    setText(line.children[1].lastChild, node.text || node.state);
    node.cells.forEach((cell, at) => setCell(line.children[at + 2].firstChild, cell));
  }
}
