// Mouse, finger and keys on a chart: the crosshair, the stretch that is dragged, and the ways in and out.

import { placer } from "./draw.js";
import { LEFT, RIGHT } from "./margins.js";
import { at } from "./lines.js";

const DRAG = 5, NEAR = 40;

export class Pointer {
  constructor(chart, canvas) {
    this.chart = chart;
    this.canvas = canvas;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${chart.metric.label}. Arrow keys move the crosshair, plus and minus zoom, shift and arrows move the range.`);
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.up(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
    canvas.addEventListener("pointerleave", () => this.from === undefined && chart.explorer.point(null));
    canvas.addEventListener("dblclick", () => chart.explorer.out());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => chart.explorer.point(null));
  }

  place() {
    return placer(this.chart.size, this.chart.explorer.span, this.chart.axis);
  }

  instant(event) {
    const { width } = this.chart.size, x = Math.min(Math.max(event.offsetX, LEFT), width - RIGHT);
    return this.place().instant(x);
  }

  down(event) {
    if (event.button || !this.chart.axis) return;
    this.from = event.offsetX;
    this.start = this.instant(event);
    this.canvas.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.chart.axis || !this.chart.size) return;
    const { explorer } = this.chart, instant = this.instant(event);
    const dragged = this.from !== undefined && Math.abs(event.offsetX - this.from) > DRAG;
    explorer.brush = dragged ? [this.start, instant] : explorer.brush && this.from !== undefined ? [this.start, instant] : null;
    this.chart.near = explorer.brush ? null : this.nearest(event.offsetY, instant);
    explorer.point(instant, this.chart);
  }

  up(event) {
    if (this.from === undefined) return;
    const { explorer } = this.chart, brush = explorer.brush;
    this.from = undefined;
    explorer.brush = null;
    if (brush && Math.abs(brush[0] - brush[1]) > 0) explorer.zoom(brush);
    else explorer.point(this.instant(event), this.chart);
  }

  cancel() {
    this.from = undefined;
    this.chart.explorer.brush = null;
    this.chart.explorer.point(null);
  }

  // The line whose value at this instant is nearest to the pointer.
  nearest(y, instant) {
    const { chart } = this, place = this.place();
    let best = null, least = NEAR;
    for (const line of chart.shown()) {
      const index = at(line, instant, chart.bin);
      if (index < 0) continue;
      const far = Math.abs(place.y(line.mid[index]) - y);
      if (far < least) [best, least] = [line, far];
    }
    return best;
  }

  key(event) {
    const { explorer } = this.chart, [start, end] = explorer.span, step = (end - start) / this.chart.width;
    const at = explorer.cursor ?? (start + end) / 2;
    const go = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (go && event.shiftKey) explorer.shift(go / 2);
    else if (go) explorer.point(Math.min(Math.max(at + go * step * 4, start), end), this.chart);
    else if (event.key === "+" || event.key === "=") explorer.zoom([at - (at - start) / 2, at + (end - at) / 2]);
    else if (event.key === "-") explorer.out();
    else if (event.key === "Escape") explorer.point(null);
    else return;
    event.preventDefault();
  }
}
