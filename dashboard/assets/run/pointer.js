// Mouse, finger and keys on a timeline: the cursor, the stretch that is dragged, the moment and the node that are picked.

import { rowAt } from "./lanes.js";

const DRAG = 5, TWICE_MS = 230;

export class Pointer {
  constructor(timeline, canvas) {
    Object.assign(this, { timeline, canvas, cursor: null, brush: null, row: -1 });
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    const on = (name, act) => canvas.addEventListener(name, (event) => timeline.scene && act(event));
    on("pointerdown", (event) => this.down(event));
    on("pointermove", (event) => this.move(event));
    on("pointerup", (event) => this.up(event));
    on("pointercancel", () => this.cancel());
    on("pointerleave", () => this.from === undefined && this.leave());
    on("dblclick", () => (clearTimeout(this.picking), timeline.out()));
    on("keydown", (event) => this.key(event));
    on("blur", () => this.leave());
  }

  // The instant under the pointer, as the overview or the other lanes count it.
  instant(event, overview = false) {
    const { scene } = this.timeline, x = Math.min(Math.max(event.offsetX, scene.left), scene.left + scene.wide);
    return (overview ? scene.overview.place : scene.place).instant(x);
  }

  inOverview(event) {
    const { scene } = this.timeline, lane = scene.layout.lanes[0];
    return lane.key === "overview" && event.offsetY >= lane.top && event.offsetY <= lane.top + lane.height;
  }

  down(event) {
    if (event.button) return;
    this.overview = this.inOverview(event);
    this.from = { x: event.offsetX, t: this.instant(event, this.overview) };
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    const dragging = this.from !== undefined, overview = dragging ? this.overview : this.inOverview(event), instant = this.instant(event, overview);
    if (dragging && (this.brush || Math.abs(event.offsetX - this.from.x) > DRAG)) this.brush = { from: this.from.t, to: instant, overview };
    this.cursor = overview ? null : instant;
    this.row = dragging ? -1 : rowAt(this.timeline.scene.layout.map, event.offsetY);
    this.timeline.point(event);
  }

  up(event) {
    if (this.from === undefined) return;
    const { brush } = this;
    this.from = undefined;
    this.brush = null;
    if (brush) return void this.timeline.zoom(brush.from, brush.to);
    if (this.overview) return void this.timeline.point();
    const instant = this.instant(event), row = rowAt(this.timeline.scene.layout.map, event.offsetY);
    clearTimeout(this.picking);
    this.picking = setTimeout(() => this.timeline.pick(instant, row), event.detail > 1 ? 0 : TWICE_MS);
    if (event.detail > 1) clearTimeout(this.picking);
  }

  cancel() {
    this.from = undefined;
    this.brush = null;
    this.leave();
  }

  leave() {
    this.cursor = null;
    this.row = -1;
    this.timeline.point();
  }

  key(event) {
    const { timeline, canvas } = this, { span, wide } = timeline.scene, [start, end] = span, step = (end - start) / wide;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== canvas) return;
    const at = this.cursor ?? (start + end) / 2, go = { ArrowLeft: -4, ArrowRight: 4 }[event.key];
    if (go) {
      this.cursor = Math.min(Math.max(at + go * step, start), end);
      timeline.point();
    } else if (event.key === "Enter") timeline.pick(at, -1);
    else if (event.key === "+" || event.key === "=") timeline.zoom(at - (at - start) / 2, at + (end - at) / 2);
    else if (event.key === "-") timeline.out();
    else if (event.key === "Escape") timeline.escape();
    else return;
    event.preventDefault();
  }
}
