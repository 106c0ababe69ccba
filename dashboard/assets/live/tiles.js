// One tile per node in three densities: large up to 4, full up to 16, compact beyond.

import { MARKS } from "./marks.js";
import { element, makeCell, setAttribute, setCell, setText } from "./dom.js";

const LABELS = {
  utilization: "util", power: "power", temperature: "temp", clock: "clock", headroom: "free", interconnect: "fabric",
};
const SHOWN = {
  large: Object.keys(LABELS),
  full: ["utilization", "power", "temperature", "headroom", "interconnect"],
  compact: ["power"],
};

export function density(count) {
  return count <= 4 ? "large" : count <= 16 ? "full" : "compact";
}

// Tiles per row so that the last row is not an orphan.
export function narrowColumns(count) {
  return fewestMissing(count, [4, 3]);
}

function fewestMissing(count, choices) {
  const missing = (wide) => (wide - (count % wide)) % wide;
  return choices.reduce((best, wide) => (missing(wide) < missing(best) ? wide : best));
}

export function columns(count) {
  if (count <= 3) return count;
  if (count === 4) return 2;
  if (count <= 8) return count;
  if (count <= 16) return Math.ceil(count / 2);
  return fewestMissing(count, [8, 7, 6, 5]);
}

// Names without what they all begin with, where they would be longer than `most` letters.
export function shortNames(names, most = 10) {
  if (Math.max(0, ...names.map((name) => name.length)) <= most || names.length < 2) return names;
  let common = names[0];
  for (const name of names) while (!name.startsWith(common)) common = common.slice(0, -1);
  const cut = common.search(/[^-._/]*$/);
  return names.map((name) => (cut > 1 ? name.slice(cut) : name));
}

// As much of a problem's words as a tile has room for: "is throttling (software thermal)" is "throttling", "has 1.6 GiB of
// memory left" is "1.6 GiB left".
export function brief(text) {
  return text.replace(/^(is|has an?|has) /, "").replace(/ \(.*\)$/, "").replace(/ of memory left$/, " left");
}

export class Tiles {
  constructor(root, state) {
    this.root = root.querySelector("[data-tiles]");
    this.state = state;
    this.tiles = [];
  }

  // Dash keeps hold of pages that it has left: what was built here goes.
  close() {
    this.root?.replaceChildren();
    this.tiles = [];
  }

  update(changed) {
    if (!this.root) return;
    const { nodes, sentence } = this.state.message;
    if (changed.shape || this.tiles.length !== nodes.length) this.build(nodes);
    for (const index of changed.nodes ?? nodes.keys()) this.fill(this.tiles[index], nodes[index]);
    if (this.worst === sentence.worst) return;
    this.worst = sentence.worst;
    this.tiles.forEach((tile, index) => setAttribute(tile.link, "data-worst", nodes[index].name === sentence.worst ? "true" : ""));
  }

  build(nodes) {
    const kind = density(nodes.length), wide = columns(nodes.length), readings = this.state.nodeCells;
    this.kind = kind;
    this.worst = undefined;
    this.shown = SHOWN[kind].map((key) => readings.indexOf(key)).filter((at) => at >= 0);
    this.root.className = "tiles " + kind;
    this.root.style.setProperty("--wide", wide);
    this.root.style.setProperty("--narrow", narrowColumns(nodes.length));
    const names = shortNames(nodes.map((node) => node.name), kind === "compact" ? 4 : 10);
    this.tiles = nodes.map((node, index) => this.tile(node, names[index], readings));
    const parts = [];
    this.tiles.forEach((tile, index) => {
      if (kind === "full" && index % wide === 0) parts.push(this.labels(this.shown.map((at) => readings[at])));
      parts.push(tile.link);
    });
    this.root.replaceChildren(...parts);
  }

  labels(keys) {
    const column = element("div", "tile-labels");
    column.setAttribute("aria-hidden", "true");
    column.append(element("span", "name"), ...keys.map((key) => element("span", key, LABELS[key])), element("span", "said"));
    return column;
  }

  tile(node, name, readings) {
    const link = element("a", "tile");
    link.href = "/node/" + encodeURIComponent(node.name);
    link.title = node.name;
    link.setAttribute("aria-label", node.name);
    const head = element("span", "name"), mark = element("em"), label = element("strong", "", name);
    head.append(label, mark);
    const cells = this.shown.map((at) => makeCell("cell " + readings[at]));
    const said = element("span", "said");
    link.append(head);
    cells.forEach((cell, position) => {
      if (this.kind !== "large") return link.append(cell);
      const pair = element("span", "pair");
      pair.append(element("small", "", LABELS[readings[this.shown[position]]]), cell);
      link.append(pair);
    });
    link.append(said);
    return { link, mark, cells, said };
  }

  fill(tile, node) {
    setAttribute(tile.link, "data-level", node.level);
    const told = node.text ? `${node.name}: ${node.text}` : node.name;
    setAttribute(tile.link, "title", told);
    setAttribute(tile.link, "aria-label", told);
    setText(tile.mark, MARKS[node.level] ?? "");
    setText(tile.said, brief(node.text));
    const lost = node.text !== "" && this.shown.every((at) => node.cells[at][2] === "unknown");
    setAttribute(tile.link, "data-lost", lost ? "true" : "");
    this.shown.forEach((at, position) => setCell(tile.cells[position], node.cells[at]));
  }
}
