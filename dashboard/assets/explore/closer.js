// A stretch of what a chart has, chosen to be looked at closer: dragged, by keys, and out again, as on every chart of
// time. For charts that have all of their numbers already, so that nothing is asked and no address changes.

import { tellZoomed } from "../live/zoom.js";

const DRAG = 5, DEEPEST = 30, LEAST_MS = 2000;

// A stretch in its order within the whole; null where there is next to nothing of it.
export function within(pair, [first, last]) {
  const [from, to] = pair.map((one) => Math.min(Math.max(one, first), last)).sort((a, b) => a - b);
  return to - from >= LEAST_MS ? [from, to] : null;
}

export class Closer {
  // host: whole (all that can be shown), cursor (null: none), point(instant), closer() after another stretch was chosen.
  constructor(host) {
    Object.assign(this, { host, trail: [], brush: null });
  }

  get zoomed() {
    return this.trail.length > 0;
  }

  get span() {
    return this.trail.at(-1) ?? this.host.whole;
  }

  zoom(pair) {
    const span = within(pair, this.host.whole);
    if (span) this.change([...this.trail, span].slice(-DEEPEST));
  }

  // One step out.
  out() {
    if (this.zoomed) this.change(this.trail.slice(0, -1));
  }

  change(trail) {
    this.trail = trail;
    tellZoomed(this.zoomed);
    this.host.closer();
  }

  close() {
    if (this.zoomed) tellZoomed(false);
  }

  // place: what is dragged over; instant(event): what lies below the pointer.
  listen(place, instant) {
    let from, start;
    const end = () => ([from, this.brush] = [undefined, null]);
    place.addEventListener("pointerdown", (event) => {
      if (event.button || !this.host.whole) return;
      [from, start] = [event.clientX, instant(event)];
      place.setPointerCapture(event.pointerId);
      this.host.point(start);
    });
    place.addEventListener("pointermove", (event) => {
      if (!this.host.whole) return;
      const dragged = from !== undefined && (this.brush || Math.abs(event.clientX - from) > DRAG);
      this.brush = dragged ? [start, instant(event)] : null;
      this.host.point(instant(event));
    });
    place.addEventListener("pointerup", () => {
      const { brush } = this;
      end();
      if (brush) this.zoom(brush);
    });
    place.addEventListener("pointercancel", () => (end(), this.host.point(null)));
    place.addEventListener("pointerleave", () => from === undefined && this.host.point(null));
    place.addEventListener("dblclick", () => this.out());
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("blur", () => this.host.point(null));
  }

  key(event) {
    const { host, span } = this;
    if (!span || event.ctrlKey || event.metaKey || event.altKey) return;
    const [start, end] = span, at = host.cursor ?? (start + end) / 2, go = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (go) host.point(Math.min(Math.max(at + (go * (end - start)) / 150, start), end));
    else if (event.key === "+" || event.key === "=") this.zoom([at - (at - start) / 2, at + (end - at) / 2]);
    else if (event.key === "-") this.out();
    else if (event.key === "Escape") host.point(null);
    else return;
    event.preventDefault();
  }
}
