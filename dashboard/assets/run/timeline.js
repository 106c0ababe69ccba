// The timeline of a run: one canvas of lanes over one map of nodes, one above it for what moves, and the names beside.

import { element, fitCanvas, setAttribute, setText } from "../live/dom.js";
import { makeRamp } from "../live/ramp.js";
import { colour, onThemeChange } from "../live/theme.js";
import { shortNames } from "../live/tiles.js";
import { drawStill } from "./draw.js";
import { layOut, sides } from "./lanes.js";
import { Limits } from "./limits.js";
import { Marks } from "./marks.js";
import { drawMoving } from "./over.js";
import { Pointer } from "./pointer.js";
import { beside, Readout } from "./readout.js";
import { across, episodes, gather, prefillAxis, upright } from "./scales.js";
import { Switch } from "./switch.js";

// What stands beside the timeline in the window, before its width is known.
const AROUND = 66;

export class Timeline {
  // page: takes what is picked: zoom, out, pick, choose, readings.
  constructor(page) {
    this.page = page;
    this.box = element("section", "panel run-timeline");
    this.box.setAttribute("aria-label", "Timeline");
    this.plot = element("div", "run-plot");
    this.still = element("canvas");
    this.moving = element("canvas", "run-over");
    this.moving.setAttribute("aria-label", "Timeline of the run. Arrow keys move the cursor, Enter shows all nodes at that moment, plus and minus zoom.");
    this.names = element("div", "run-names");
    this.head = element("div", "run-map-head");
    this.nodeHead = element("h3", "run-node-head");
    this.said = element("p", "nothing");
    this.switch = new Switch((key) => page.choose(key));
    this.marks = new Marks((instant) => page.pick(instant, null));
    this.title = element("b");
    this.head.append(this.title, this.switch.scale, this.switch.box);
    this.plot.append(this.still, this.moving, this.marks.box, this.names, this.head, this.nodeHead, this.said);
    this.box.append(this.plot);
    this.pixels = document.createElement("canvas");
    this.readout = new Readout(this.box);
    this.pointer = new Pointer(this, this.moving);
    this.limits = new Limits(() => this.draw());
    this.forget = onThemeChange(() => this.draw());
    // The canvas itself is watched: whatever gave it another size than it was drawn at, it is drawn again.
    this.sizes = new ResizeObserver((entries) => this.sized(entries.at(-1).contentRect));
    this.sizes.observe(this.still);
    this.dense();
  }

  close() {
    this.forget();
    this.sizes.disconnect();
    this.unwatch();
  }

  sized({ width, height }) {
    if (!width || (width === this.width && height === this.scene?.size.height)) return;
    if (width !== this.width) this.page.resized();
    this.width = width;
    this.draw();
  }

  // Another screen, or another zoom, has more or fewer pixels for the same size.
  dense() {
    const media = matchMedia(`(resolution: ${devicePixelRatio}dppx)`), again = () => (this.dense(), this.draw());
    media.addEventListener("change", again, { once: true });
    this.unwatch = () => media.removeEventListener("change", again);
  }

  // How many bins the plot can show.
  get points() {
    const width = this.width ?? innerWidth - AROUND, { left, right } = sides(width);
    return Math.min(Math.max(Math.floor(width - left - right), 120), 1200);
  }

  say(sentence) {
    setText(this.said, sentence);
    this.said.hidden = !sentence;
  }

  // answer: of /timeline; node: of /node, null where none is chosen.
  show(answer, node) {
    this.answer = answer;
    this.node = node;
    this.limits.ask(answer.lines, node?.lines);
    this.draw();
  }

  draw() {
    const { answer } = this;
    if (!answer || !this.width) return;
    this.scene = this.compose(answer, this.width);
    const { size, layout, reading } = this.scene;
    this.plot.style.height = `${size.height}px`;
    const context = fitCanvas(this.still, size);
    if (!context) return;
    this.scene.context = context;
    drawStill(this.scene);
    this.drawMoving();
    this.place(layout);
    this.switch.write(answer.readings, reading, this.scene.ramp);
    setText(this.title, "Nodes");
    this.marks.write(answer.marks, this.scene, this.page.now());
    this.say(answer.why);
    if (!this.readout.box.hidden) this.tell();
  }

  compose(answer, width) {
    const { left, right } = sides(width), wide = width - left - right, span = [answer.start, Math.max(answer.end, answer.start + 1)];
    const readings = this.node ? answer.readings.filter(({ key }) => this.node.lines[key]) : [];
    const layout = layOut({ overview: answer.overview !== null, count: answer.map.nodes.length, readings });
    const data = new Map();
    for (const lane of layout.lanes) if (lane.lines) data.set(lane.key, this.lane(lane, lane.reading ? this.node.lines : answer.lines, span));
    const reading = answer.readings.find(({ key }) => key === answer.map.key);
    return {
      answer, left, right, wide, span, layout, data, reading, node: this.node?.node, paint: colour, pixels: this.pixels,
      size: { width, height: layout.height }, place: across(span, left, wide), overview: this.overview(answer, left, wide),
      ramp: makeRamp(reading, answer.map.v, [], colour), font: getComputedStyle(document.documentElement).getPropertyValue("--sans"),
    };
  }

  lane(lane, answers, span) {
    const data = gather(lane, answers, span);
    data.limits = this.limits.of(data.metrics);
    if (!lane.prefills) return data;
    const found = episodes(this.answer.prefills), axis = prefillAxis(found, span);
    return { ...data, prefill: found.length ? { found, axis, y: axis && upright(axis, lane.top, lane.height) } : null };
  }

  overview(answer, left, wide) {
    if (answer.overview === null) return null;
    const lane = { lines: [["whole", "Decode", "decode"]], unit: "tokens_per_second" };
    return { ...gather(lane, { whole: answer.overview }, answer.run), run: answer.run, place: across(answer.run, left, wide) };
  }

  // Names of the nodes as buttons beside their rows, the switch above them, and the head of the chosen node's charts.
  place({ map, node, lanes }) {
    const { nodes } = this.answer.map, names = shortNames(nodes), text = JSON.stringify([nodes, map, this.width, this.page.view.node]);
    this.head.style.top = `${map.head}px`;
    this.nodeHead.style.top = `${node.head}px`;
    this.nodeHead.hidden = !lanes.some((lane) => lane.reading);
    setText(this.nodeHead, this.node ? this.node.node : "");
    if (text === this.placed) return;
    this.placed = text;
    this.names.style.top = `${map.top}px`;
    this.names.replaceChildren(...nodes.map((name, at) => {
      const made = element("button", "", names[at]);
      made.type = "button";
      made.title = name;
      made.style.height = `${map.row}px`;
      setAttribute(made, "aria-pressed", String(name === this.page.view.node));
      made.addEventListener("click", () => this.page.pick(null, name));
      return made;
    }));
  }

  drawMoving() {
    const context = this.scene && fitCanvas(this.moving, this.scene.size);
    if (!context) return;
    const { cursor, brush, row } = this.pointer, { view } = this.page;
    drawMoving({ ...this.scene, context }, { cursor, brush, row, moment: view.at, picked: this.answer.map.nodes.indexOf(view.node) });
  }

  // The cursor, and what is said beside it. event: of the pointer, none of the keyboard.
  point(event) {
    this.spot = event ? { x: event.clientX, y: event.clientY } : null;
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      this.drawMoving();
      this.tell();
    });
  }

  tell() {
    const { cursor, brush } = this.pointer;
    if (cursor === null && !brush) return this.readout.hide();
    this.readout.show(this.scene, this.pointer, this.page.now(), this.spot ?? beside(this.moving, this.scene.place.x(cursor)));
  }

  zoom(from, to) {
    this.readout.hide();
    this.page.zoom(from, to);
  }

  out() {
    this.page.out();
  }

  escape() {
    this.pointer.leave();
    this.page.unpick();
  }

  pick(instant, row) {
    this.page.pick(instant, row >= 0 ? this.answer.map.nodes[row] : null);
  }
}
